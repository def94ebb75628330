"""Excel workbooks (.xlsx): one document a row of the first sheet, with named columns, read row by row."""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from itertools import chain, islice
from typing import Any

from exaudit.data.bomb import check_archive
from exaudit.data.document import Document
from exaudit.data.layout import Layout
from exaudit.data.notes import Notes
from exaudit.data.spelling import number_name
from exaudit.errors import DataError

__all__ = ["is_workbook", "read_excel"]

ROWS = 1000  # in memory at a time
BROKEN = (zipfile.BadZipFile, zlib.error, SyntaxError, LookupError, ValueError, TypeError, EOFError)

Row = tuple[int, list[str]]


def is_workbook(path: str | os.PathLike[str]) -> bool:
    """Whether a zip archive is a workbook."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_excel(
    path: str | os.PathLike[str],
    notes: Notes,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    need_labels: bool = False,
    label_separator: str | None = None,
) -> Iterator[Document]:
    """Documents of a sheet; the first row that is not empty names the columns, unless `columns` does."""
    rows = _rows(path, notes)
    first = next(rows, None)
    if first is None:
        return
    line, names = first[0], [name.strip() for name in first[1]]
    if columns is not None:
        if len(columns) < len(names):
            raise DataError(
                f"`columns` names {len(columns)} columns, but the first row has {len(names)}", path, line
            )
        names = list(columns)
        rows = chain([first], rows)
    try:
        layout = Layout.find(names, text_column, label_column, id_column, need_labels, label_separator)
    except DataError as error:
        raise DataError(str(error), path, line) from None
    notes.columns = layout.roles()
    for number, (line, cells) in enumerate(rows, start=1):
        cells += [""] * (len(names) - len(cells))
        document = layout.document(cells, line, number, notes)
        if document is not None:
            yield document


def _rows(path: str | os.PathLike[str], notes: Notes) -> Iterator[Row]:
    """Rows that are not empty, with their numbers in the sheet and their cells as text."""
    try:
        import openpyxl
    except ImportError:
        raise DataError(
            "Excel files need openpyxl (pip install 'exaudit[excel]'); or save the sheet as CSV", path
        ) from None
    try:
        with open(path, "rb") as file:
            with zipfile.ZipFile(file) as archive:
                check_archive(archive)
            with warnings.catch_warnings(action="ignore"):  # about styles, which do not concern us
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            if len(book.worksheets) > 1:
                notes.warn(
                    f"the workbook has {len(book.worksheets)} sheets; only the first, {sheet.title!r}, is read"
                )
            sheet.reset_dimensions()  # some programs write wrong ones
            rows = enumerate(sheet.iter_rows(values_only=True), start=1)
            while chunk := _take(rows):
                for line, cells in chunk:
                    texts = [_text(cell) for cell in cells]
                    while texts and not texts[-1].strip():
                        texts.pop()
                    if texts:
                        yield line, texts
    except FileNotFoundError:
        raise DataError("there is no such file; check the path", path) from None
    except DataError as error:
        raise error.at(path) from None
    except (*BROKEN, OSError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise DataError(f"this is not an Excel workbook (.xlsx), or it is damaged ({reason})", path) from None


def _take(rows: Iterator[Any]) -> list[Any]:
    with warnings.catch_warnings(action="ignore"):
        return list(islice(rows, ROWS))


def _text(value: Any) -> str:
    """What a cell shows, more or less."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return number_name(value)
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return str(value)
