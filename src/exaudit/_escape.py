"""Texts of users on their way out: a terminal, a page, JSON or a spreadsheet shows them, and never obeys them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from exaudit._files import to_json

__all__ = ["csv_text", "json_text", "visible"]

JOINERS = "\u200c\u200d"  # they shape words of many scripts, and emoji; alone of the invisible ones they stay
# Beside ASCII's signs, the wide ones, which some spreadsheets take for them.
FORMULA = re.compile(r"[=+\-@\t\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


def visible(text: str) -> str:
    r"""What would steer a terminal, turn the writing direction or hide shows as its number: \x1b, \u202e.

    Tabs and line ends stay; other blanks become spaces.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\t\n" or c in JOINERS else " " if c.isspace() else _number(c)
        for c in text
    )


def json_text(value: Any, **options: Any) -> str:
    """JSON that is as readable as its texts, with the unseen characters of these as numbers: nothing is lost."""
    text = to_json(value, **options)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" or c in JOINERS else json.dumps(c)[1:-1] for c in text)


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table with a header. A text that a spreadsheet would compute gets an apostrophe, as OWASP advises."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace(
        "\r", "\n"
    )  # Python does not quote a bare \r, which may end a row
    return "'" + text if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _number(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
