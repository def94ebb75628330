"""CSV and TSV: one document a row, with named columns."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence

from exaudit.data.columns import TEXT_NAMES, find_column, listed
from exaudit.data.document import Document
from exaudit.data.layout import Layout
from exaudit.data.notes import Notes
from exaudit.data.source import Line
from exaudit.errors import DataError

__all__ = ["read_table", "split_row"]

LONGEST_FIELD = 10_000  # lines; a quoted field beyond that has lost its closing quote
QUOTES_ADVICE = 'write a quote inside a quoted field twice (""), or quote the whole field'


def split_row(line: str, delimiter: str) -> list[str] | None:
    """The cells of one line by the rules of csv; None if a quote is left open or stands where it must not."""
    if '"' not in line:
        return line.rstrip("\r\n").split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def read_table(
    lines: Iterator[Line],
    notes: Notes,
    *,
    delimiters: str,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    need_labels: bool = False,
    label_separator: str | None = None,
) -> Iterator[Document]:
    """Documents of a table. The delimiter is the first of `delimiters` that fits the first row.

    `columns` names the columns of a file without a header. An `id_column` of "" numbers the documents.
    """
    csv.field_size_limit(2**31 - 1)  # the module's own limit, 128 KiB, is less than a long document
    first = next((line for line in lines if line[1].strip()), None)
    if first is None:
        return
    try:
        delimiter, names = _find_delimiter(first[1], delimiters, text_column, columns)
        layout = Layout.find(names, text_column, label_column, id_column, need_labels, label_separator)
    except DataError as error:
        raise DataError(str(error), notes.path, first[0]) from None
    notes.columns = layout.roles()
    rows = _Rows(lines, notes, delimiter, layout)
    if columns is not None:
        cells = split_row(first[1], delimiter) or []
        if [cell.strip().casefold() for cell in cells] == [name.casefold() for name in columns]:
            notes.warn("the first line repeats the column names; skipped as a header", first[0])
        else:
            rows.push(first)
    for number, (line, cells) in enumerate(rows, start=1):
        document = layout.document(cells, line, number, notes)
        if document is not None:
            if layout.label is not None and document.label:
                rows.labels.add(cells[layout.label].strip())
            yield document


def _find_delimiter(
    first: str, delimiters: str, text_column: str | None, columns: Sequence[str] | None
) -> tuple[str, list[str]]:
    """The delimiter by which the first row makes sense, and the names of the columns."""
    splits = [(delimiter, split_row(first, delimiter) or [first.strip()]) for delimiter in delimiters]
    _, found = max(splits, key=lambda split: len(split[1]))
    if columns is None:
        for delimiter, cells in splits:
            names = [cell.strip() for cell in cells]
            if find_column(names, text_column, TEXT_NAMES) is not None:
                return delimiter, names
        what = (
            "no column of a usual name holds the text"
            if text_column is None
            else f"no column {text_column!r}"
        )
        raise DataError(
            f"{what}; columns found: {listed(found)}; name one with `text_column`, or, if the file has no header, "
            "all of them with `columns`"
        )
    for delimiter, cells in splits:
        if len(cells) == len(columns):
            return delimiter, list(columns)
    raise DataError(
        f"`columns` names {len(columns)} columns, but the first row has {len(found)}: {listed(found)}; "
        "name every column, in order"
    )


class _Rows:
    """Rows as (line, cells). A quoted field may run over several lines, but not over what is plainly another row."""

    def __init__(self, lines: Iterator[Line], notes: Notes, delimiter: str, layout: Layout) -> None:
        self.labels: set[str] = set()  # seen so far: the mark by which a swallowed row is recognised
        self._lines, self._notes, self._delimiter, self._layout = lines, notes, delimiter, layout
        self._pushed: deque[Line] = deque()

    def push(self, *lines: Line) -> None:
        self._pushed.extendleft(reversed(lines))

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        width, tabs = len(self._layout.names), self._delimiter == "\t"
        while (line := self._next_line()) is not None:
            number, text = line
            if not text.strip("\r\n"):
                continue
            cells = split_row(text, self._delimiter) or self._read_over_lines(line)
            if cells is None:
                cells = text.rstrip("\r\n").split(self._delimiter)
                if not tabs or len(cells) != width:
                    continue  # reported already
                self._notes.warn("a quote does not follow the rules of csv; kept as written", number)
            if len(cells) != width:
                self._notes.error(
                    "a row has the wrong number of columns",
                    number,
                    detail=f"{len(cells)} instead of {width} ({listed(self._layout.names)})",
                    advice=f"quote text that contains {self._delimiter!r}, or complete the row",
                )
                continue
            yield number, cells

    def _next_line(self) -> Line | None:
        return self._pushed.popleft() if self._pushed else next(self._lines, None)

    def _read_over_lines(self, first: Line) -> list[str] | None:
        """The row that starts in `first` and goes on in the lines after it; None if its quotes are wrong."""
        taken: list[Line] = []
        stop: Line | None = None
        begun = next(csv.reader([first[1]], delimiter=self._delimiter))
        column = len(begun) - 1  # whose quote is open
        if self._layout.label is not None and self._layout.label < column:
            self.labels.add(begun[self._layout.label].strip())

        def pull() -> Iterator[str]:
            nonlocal stop
            yield first[1]
            while len(taken) < LONGEST_FIELD and (line := self._next_line()) is not None:
                if self._is_row(line[1], column):
                    stop = line
                    self.push(line)
                    return
                taken.append(line)
                yield line[1]

        try:
            return next(csv.reader(pull(), delimiter=self._delimiter, strict=True))
        except csv.Error as error:
            self.push(*taken)
            literal = first[1].rstrip("\r\n").split(self._delimiter)
            if self._delimiter == "\t" and len(literal) == len(self._layout.names):
                return None  # TSV is often written without quoting: the caller keeps the quotes
            if "expected after" in str(error):
                end = taken[-1][0] if taken else first[0]
                detail = f"text goes on after the closing quote in line {end}"
            elif stop is not None:
                detail = (
                    f"the quote opened here is not closed before line {stop[0]}, which looks like another row"
                )
            elif len(taken) >= LONGEST_FIELD:
                detail = f"the quote opened here is not closed within {LONGEST_FIELD:,} lines"
            else:
                detail = "the quote opened here is not closed until the end of the file"
            self._notes.error("a stray quote", first[0], detail=detail, advice=QUOTES_ADVICE)
            return None

    def _is_row(self, line: str, column: int) -> bool:
        """Whether a line inside a quoted field of this column looks like a row of its own."""
        if '"' in line and column == 0:
            return False  # the line that rightly ends a first column has as many cells as a row
        tabs, label = self._delimiter == "\t", self._layout.label
        cells = split_row(line, self._delimiter) or (line.rstrip("\r\n").split("\t") if tabs else [])
        if len(cells) != len(self._layout.names) or len(cells) == 1:
            return False
        # Prose may hold as many delimiters as a row, but hardly a known label in its place. Where there is no label to
        # go by, tabs are rare enough in prose; commas are not.
        return tabs if label is None else cells[label].strip() in self.labels
