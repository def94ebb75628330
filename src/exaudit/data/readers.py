"""A file becomes documents: the format is told by the ending or by the first lines, or named by the caller."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import PurePath
from typing import Any

from exaudit.data.columns import LABEL_NAMES, TEXT_NAMES, find_column, listed
from exaudit.data.conll import read_conll
from exaudit.data.document import Document
from exaudit.data.jsonl import read_jsonl
from exaudit.data.lines import LABELLED_LINE, read_labelled_lines, read_plain_lines
from exaudit.data.notes import Notes
from exaudit.data.source import Line, read_lines
from exaudit.data.table import read_table, split_row
from exaudit.errors import DataError, SettingError

__all__ = ["FORMATS", "iter_documents", "read_documents"]

FORMATS = ("jsonl", "csv", "tsv", "conll", "lines", "text")
ENDINGS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json-lines": "jsonl", ".jsonlines": "jsonl",
    ".csv": "csv", ".conll": "conll",
}  # fmt: skip
COMPRESSED = {".gz", ".xz", ".bz2"}
HEAD = 1000  # lines looked at to tell formats apart


def iter_documents(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    token_labels: str | os.PathLike[str] | None = None,
    need_labels: bool = False,
    untold: str | None = None,
    notes: Notes | None = None,
) -> Iterator[Document]:
    """Documents of a file, one by one; `-` reads standard input (JSONL unless `format` says otherwise).

    Parameters
    ----------
    path
        The file; it may be compressed (.gz, .xz, .bz2).
    format
        jsonl, csv, tsv, conll (`token<TAB>label` lines), lines (`0 text` or `1 text`) or text (no labels).
    text_column, label_column, id_column
        Columns of a table, or fields of JSONL; the usual names are found without them.
    columns
        Names of all columns of a table without a header, such as "id,label,text".
    token_labels
        A file parallel to `lines`, with a label per word.
    need_labels
        A document without a label is an error.
    untold
        The format of a file that does not tell its own.
    notes
        Collects what was skipped; without it, that is issued as `DataWarning` at the end.
    """
    if format is not None and format not in FORMATS:
        raise SettingError(f"there is no format {format!r}; choose one of {', '.join(FORMATS)}")
    own = Notes() if notes is None else notes
    own.path = path
    names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else columns
    lines = read_lines(path, own)
    head = list(islice(lines, HEAD))
    own.format = format or _find_format(
        path, [text for _, text in head], names, text_column, label_column, untold
    )
    if names is not None and own.format not in ("csv", "tsv"):
        raise SettingError(f"--columns goes with tables (csv, tsv), not with {own.format}")
    if token_labels is not None and own.format != "lines":
        raise SettingError(f"--token-labels goes with the format `lines`, not with {own.format}")
    fields: dict[str, Any] = {
        "text_column": text_column,
        "label_column": label_column,
        "id_column": id_column,
        "need_labels": need_labels,
    }
    yield from _read(own, chain(head, lines), names, token_labels, fields)
    if notes is None:
        own.issue_warnings()


def read_documents(path: str | os.PathLike[str], **options: Any) -> list[Document]:
    """All documents of a file, checked as a whole: there are some, and no two share an id.

    Takes the options of `iter_documents`.
    """
    documents = list(iter_documents(path, **options))
    if not documents:
        raise DataError("there are no documents in this file", path)
    lines: dict[str, int] = {}
    for document in documents:
        if document.id in lines:
            raise DataError(
                f"two documents have the id {document.id!r}, in lines {lines[document.id]} and {document.line}; make "
                "the ids unique, or name another column with --id-column ('' numbers the documents)",
                path,
                document.line,
            )
        lines[document.id] = document.line
    return documents


def _read(
    notes: Notes,
    lines: Iterator[Line],
    columns: Sequence[str] | None,
    token_labels: str | os.PathLike[str] | None,
    fields: dict[str, Any],
) -> Iterator[Document]:
    if notes.format == "jsonl":
        return read_jsonl(lines, notes, **fields)
    if notes.format in ("csv", "tsv"):
        delimiters = "\t" if notes.format == "tsv" else ",;\t"
        return read_table(lines, notes, delimiters=delimiters, columns=columns, **fields)
    if notes.format == "conll":
        return read_conll(lines, notes)
    if notes.format == "text":
        if fields["need_labels"]:
            raise DataError("the format `text` has no labels; use `lines`, csv, tsv or jsonl", notes.path)
        return read_plain_lines(lines, notes)
    if token_labels is None:
        return read_labelled_lines(lines, notes)
    label_notes = Notes(token_labels, keep_going=notes.keep_going)
    label_notes.problems = notes.problems  # one count for both files; their lines are parallel
    return read_labelled_lines(lines, notes, read_lines(token_labels, label_notes))


def _find_format(
    path: str | os.PathLike[str],
    head: Sequence[str],
    columns: Sequence[str] | None,
    text_column: str | None,
    label_column: str | None,
    untold: str | None,
) -> str:
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    ending = suffixes[-1] if suffixes else ""
    rows = [line for line in head if line.strip()]
    if columns is not None:
        return "csv" if ending == ".csv" or not any("\t" in row for row in rows[:1]) else "tsv"
    if str(path) == "-":
        return "jsonl"
    if ending in ENDINGS:
        return ENDINGS[ending]
    if not rows:
        raise DataError("the file holds blank lines only; give one with documents in it", path)
    if ending not in (".tsv", ".tab"):
        if rows[0].lstrip().startswith("{"):
            return "jsonl"
        if ending == ".json":
            raise DataError(
                "JSON must have one object per line (JSONL); convert a JSON array with `jq -c '.[]' FILE`",
                path,
                1,
            )
        if all(LABELLED_LINE.fullmatch(row.rstrip("\r\n")) for row in rows):
            return "lines"
    if "\t" in rows[0] or ending in (".tsv", ".tab"):
        return _find_tab_format(path, head, rows, text_column, label_column)
    if untold is not None:
        return untold
    raise DataError(
        f"cannot tell the format from the ending {ending!r} or the first line {rows[0].strip()[:60]!r}; "
        f"pass --format, one of {', '.join(FORMATS)}",
        path,
        1,
    )


def _find_tab_format(
    path: str | os.PathLike[str],
    head: Sequence[str],
    rows: Sequence[str],
    text_column: str | None,
    label_column: str | None,
) -> str:
    """A table with a header, or a token a line? Blank lines between two-column lines mark the latter."""
    header = [cell.strip() for cell in split_row(rows[0], "\t") or [rows[0]]]
    has_text = find_column(header, text_column, TEXT_NAMES) is not None
    has_label = find_column(header, label_column, LABEL_NAMES) is not None
    is_conll = len(rows) < len(head) and all(row.count("\t") == 1 for row in rows)
    if has_text and not is_conll:
        return "tsv"
    if is_conll and not (has_text and has_label):
        return "conll"
    raise DataError(
        f"cannot tell whether this is a table or has a token in each line; its first line has {listed(header)}; pass "
        "--format tsv (with --text-column, or --columns if there is no header) or --format conll",
        path,
        1,
    )
