"""A file becomes documents: the format is told by the ending or by the first lines, or named by the caller."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import PurePath
from typing import Any

from exaudit.data.arrow import arrow_records, folder_records, parquet_records
from exaudit.data.columns import LABEL_NAMES, TEXT_NAMES, find_column, listed
from exaudit.data.conll import read_conll
from exaudit.data.document import Document
from exaudit.data.excel import is_workbook, read_excel
from exaudit.data.frames import table_records
from exaudit.data.jsonl import read_jsonl
from exaudit.data.labelled import labelled
from exaudit.data.lines import LABELLED_LINE, read_labelled_lines, read_plain_lines
from exaudit.data.notes import Notes
from exaudit.data.records import Record, read_records
from exaudit.data.source import Line, check_path, read_lines
from exaudit.data.table import read_table, split_row
from exaudit.data.words import check_cut
from exaudit.errors import DataError, SettingError

__all__ = ["FORMATS", "checked", "iter_documents", "read_documents"]

TEXT_FORMATS = ("jsonl", "csv", "tsv", "conll", "lines", "text")
FORMATS = (*TEXT_FORMATS, "parquet", "arrow", "excel", "dataset")
ENDINGS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json-lines": "jsonl", ".jsonlines": "jsonl",
    ".csv": "csv", ".conll": "conll",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".xlsx": "excel", ".xlsm": "excel",
}  # fmt: skip
COMPRESSED = {".gz", ".xz", ".bz2"}
HEAD = 1000  # lines looked at to tell formats apart

Source = str | os.PathLike[str] | Any  # a path, or a table in memory


def iter_documents(
    source: Source,
    *,
    format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    columns: str | Sequence[str] | None = None,
    label_separator: str | None = None,
    token_labels: str | os.PathLike[str] | None = None,
    tokens: str = "words",
    encoding: str | None = None,
    need_labels: bool = False,
    skip_unlabelled: bool = False,
    untold: str | None = None,
    notes: Notes | None = None,
) -> Iterator[Document]:
    """Documents of a file, one by one; `-` reads standard input (JSONL unless `format` says otherwise).

    Parameters
    ----------
    source
        A file, a folder of `Dataset.save_to_disk`, or a table in memory: a data frame, a data set of `datasets`,
        an Arrow table. Text files may be compressed (.gz, .xz, .bz2).
    format
        jsonl, csv, tsv, conll (`token<TAB>label` lines), lines (`0 text` or `1 text`), text (no labels), parquet,
        arrow (also Feather), excel or dataset (the folder).
    text_column, label_column, id_column
        Columns of a table, or fields of JSONL; the usual names are found without them.
    columns
        Names of all columns of a table without a header, such as "id,label,text".
    label_separator
        What separates the labels of a document that may have several, such as "|".
    token_labels
        A file parallel to `lines`, with a label per word.
    tokens
        How texts become tokens: "words" (punctuation stands by itself, HTML is left out) or "whitespace". Documents
        that have tokens, or token labels, keep theirs; those labels are per word between white space.
    encoding
        Of a text file; by default UTF-8, or what the file looks like.
    need_labels
        Documents without a label are an error, which says how many there are. An empty cell, `nan`, `None`, `NA`,
        `N/A` and `null` are no label.
    skip_unlabelled
        Leave such documents out, and say how many.
    untold
        The format of a file that does not tell its own.
    notes
        Collects what was skipped; without it, that is issued as `DataWarning` at the end.
    """
    if format is not None and format not in FORMATS:
        raise SettingError(f"there is no format {format!r}; choose one of {', '.join(FORMATS)}")
    check_cut(tokens)
    if label_separator is not None and not label_separator.strip(" "):
        raise SettingError("the label separator is blank; give a sign such as '|'")
    own = Notes() if notes is None else notes
    names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else columns
    fields: dict[str, Any] = {
        "text_column": text_column,
        "label_column": label_column,
        "id_column": id_column,
        "need_labels": need_labels,
        "label_separator": label_separator,
    }
    lines: Iterator[Line] = iter(())
    if isinstance(source, str | os.PathLike):
        own.path = source
        check_path(source)
        kind = format or _find_binary_format(source)
        if kind is None or kind in TEXT_FORMATS:
            read = read_lines(source, own, encoding)
            head = list(islice(read, HEAD))
            start = [text for _, text in head]
            kind = kind or _find_format(source, start, names, text_column, label_column, untold)
            lines = chain(head, read)
        elif str(source) == "-":
            raise DataError(f"standard input is read as text; save {kind} to a file and give that", source)
    else:
        own.path = kind = type(source).__name__
    own.format = kind
    _check_options(kind, names, token_labels, encoding, label_separator)
    if kind in TEXT_FORMATS:
        documents = _read_text(own, lines, names, token_labels, encoding, fields)
    elif kind == "excel":
        documents = read_excel(source, own, columns=names, **fields)
    else:
        documents = read_records(_records(source, kind), own, word="column", **fields)
    for document in labelled(documents, own, need_labels=need_labels, skip_unlabelled=skip_unlabelled):
        yield document.recut(tokens)  # cut at white space so far
    if notes is None:
        own.issue_warnings()


def read_documents(source: Source, **options: Any) -> list[Document]:
    """All documents of a file or of a table in memory, checked as a whole: there are some, and no two share an id.
    Labels that differ in case alone are one, in its commonest spelling.

    Takes the options of `iter_documents`.
    """
    notes = options.pop("notes", None)
    own = Notes() if notes is None else notes
    documents = list(checked(iter_documents(source, notes=own, **options), source))
    if notes is None:
        own.issue_warnings()
    return own.spellings.unified(documents)


def checked(documents: Iterable[Document], source: Source) -> Iterator[Document]:
    """The documents of a file as they come, if there are some and no two share an id."""
    path = source if isinstance(source, str | os.PathLike) else type(source).__name__
    lines: dict[int, int] = {}  # by the hash of the id: texts of millions of documents need not be kept
    for document in documents:
        line = lines.setdefault(hash(document.id), document.line)
        if line != document.line:
            raise DataError(
                f"two documents have the id {document.id!r}, in lines {line} and {document.line}; make "
                "the ids unique, or name another column with `id_column` ('' numbers the documents)",
                path,
                document.line,
            )
        yield document
    if not lines:
        raise DataError("there are no documents in this file", path)


def _find_binary_format(path: str | os.PathLike[str]) -> str | None:
    """The format of a folder, or of a file that is no text; None: lines of text, or nothing that can be read."""
    if os.path.isdir(path):
        return "dataset"
    ending = ENDINGS.get(PurePath(path).suffix.lower())
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        start = file.read(6)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start == b"ARROW1" or start.startswith(b"\xff\xff\xff\xff"):
        return "arrow"
    if start.startswith(b"PK") and is_workbook(path):
        return "excel"
    return None if ending in TEXT_FORMATS else ending


def _check_options(
    format: str,
    columns: Sequence[str] | None,
    token_labels: str | os.PathLike[str] | None,
    encoding: str | None,
    label_separator: str | None,
) -> None:
    """Refuse what the format has no use for."""
    if columns is not None and format not in ("csv", "tsv", "excel"):
        raise SettingError(f"`columns` goes with tables (csv, tsv, excel), not with {format}")
    if token_labels is not None and format != "lines":
        raise SettingError(f"`token_labels` goes with the format `lines`, not with {format}")
    if encoding is not None and format not in TEXT_FORMATS:
        raise SettingError(f"`encoding` goes with files of text, not with {format}")
    if label_separator is not None and format in ("lines", "text"):
        raise SettingError(f"`label_separator` goes with tables, jsonl and conll, not with {format}")


def _records(source: Source, format: str) -> Iterator[Record]:
    if format == "parquet":
        return parquet_records(source)
    if format == "arrow":
        return arrow_records([source])
    return folder_records(source) if format == "dataset" else table_records(source)


def _read_text(
    notes: Notes,
    lines: Iterator[Line],
    columns: Sequence[str] | None,
    token_labels: str | os.PathLike[str] | None,
    encoding: str | None,
    fields: dict[str, Any],
) -> Iterator[Document]:
    if notes.format == "jsonl":
        return read_jsonl(lines, notes, **fields)
    if notes.format in ("csv", "tsv"):
        delimiters = "\t" if notes.format == "tsv" else ",;\t"
        return read_table(lines, notes, delimiters=delimiters, columns=columns, **fields)
    if notes.format == "conll":
        return read_conll(lines, notes, fields["label_separator"])
    if notes.format == "text":
        if fields["need_labels"]:
            raise DataError("the format `text` has no labels; use `lines`, csv, tsv or jsonl", notes.path)
        return read_plain_lines(lines, notes)
    if token_labels is None:
        return read_labelled_lines(lines, notes)
    label_notes = Notes(token_labels, keep_going=notes.keep_going)
    label_notes.problems = notes.problems  # one count for both files; their lines are parallel
    return read_labelled_lines(lines, notes, read_lines(token_labels, label_notes, encoding))


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
        f"pass `format`, one of {', '.join(FORMATS)}",
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
        "`format=tsv` (with `text_column`, or `columns` if there is no header) or `format=conll`",
        path,
        1,
    )
