"""CSV and TSV: one document a row, with named columns."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exaudit.data.columns import ID_NAMES, LABEL_NAMES, TEXT_NAMES, find_column, listed
from exaudit.data.document import Document
from exaudit.data.notes import NO_WORDS, Notes
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
        layout = _Layout.find(names, text_column, label_column, id_column, need_labels)
    except DataError as error:
        raise DataError(str(error), notes.path, first[0]) from None
    notes.columns = {
        role: names[place]
        for role, place in (("text", layout.text), ("label", layout.label), ("id", layout.id))
        if place is not None
    }
    rows = _Rows(lines, notes, delimiter, layout)
    if columns is not None:
        cells = split_row(first[1], delimiter) or []
        if [cell.strip().casefold() for cell in cells] == [name.casefold() for name in columns]:
            notes.warn("the first line repeats the column names; skipped as a header", first[0])
        else:
            rows.push(first)
    for number, (line, cells) in enumerate(rows, start=1):
        document = _document(cells, line, number, layout, notes, need_labels)
        if document is not None:
            if document.label is not None:
                rows.labels.add(document.label)
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
            f"{what}; columns found: {listed(found)}; name one with --text-column, or, if the file has no header, "
            "all of them with --columns"
        )
    for delimiter, cells in splits:
        if len(cells) == len(columns):
            return delimiter, list(columns)
    raise DataError(
        f"--columns names {len(columns)} columns, but the first row has {len(found)}: {listed(found)}; "
        "name every column, in order"
    )


@dataclass(frozen=True)
class _Layout:
    """Where the text, the label and the id stand in a row."""

    names: tuple[str, ...]
    text: int
    label: int | None
    id: int | None

    @classmethod
    def find(
        cls,
        names: Sequence[str],
        text_column: str | None,
        label_column: str | None,
        id_column: str | None,
        need_labels: bool,
    ) -> _Layout:
        def place(role: str, wanted: str | None, usual: Sequence[str], needed: bool) -> int | None:
            found = None if wanted == "" else find_column(names, wanted, usual)
            if found is None and (needed or wanted):
                what = f"no column {wanted!r}" if wanted else f"no column of a usual name holds the {role}"
                raise DataError(f"{what}; columns found: {listed(names)}; name one with --{role}-column")
            return found

        text = place("text", text_column, TEXT_NAMES, True)
        label = place("label", label_column, LABEL_NAMES, need_labels)
        id_ = place("id", id_column, ID_NAMES, False)
        given = [found for found in (text, label, id_) if found is not None]
        if text is None or len(set(given)) < len(given):
            raise DataError(f"text, label and id must be different columns; columns found: {listed(names)}")
        return cls(tuple(names), text, label, id_)


class _Rows:
    """Rows as (line, cells). A quoted field may run over several lines, but not over what is plainly another row."""

    def __init__(self, lines: Iterator[Line], notes: Notes, delimiter: str, layout: _Layout) -> None:
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


def _document(
    cells: list[str], line: int, number: int, layout: _Layout, notes: Notes, need_labels: bool
) -> Document | None:
    text = cells[layout.text]
    if not text.split():
        notes.warn(NO_WORDS, line)
        return None
    label = None if layout.label is None else cells[layout.label].strip() or None
    if layout.label is not None and label is None:
        if need_labels:
            notes.error(
                "a row has no label",
                line,
                detail=f"column {layout.names[layout.label]!r} is blank",
                advice="fill it in or remove the row",
            )
            return None
        notes.warn("a document has no label", line)
    id_ = "" if layout.id is None else cells[layout.id].strip()
    if layout.id is not None and not id_:
        notes.warn("a document has no id; numbered", line)
    used = {layout.text, layout.label, layout.id}
    meta = {name: cells[i] for i, name in enumerate(layout.names) if i not in used and name}
    return Document.from_text(text, id=id_ or str(number), label=label, meta=meta, line=line)
