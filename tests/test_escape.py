"""Texts on their way out: shown as they are, never obeyed."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit._escape import csv_text, json_text, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – text, 中文, עברית", "plain – text, 中文, עברית"),
        ("a\tb\nc", "a\tb\nc"),
        ("red \x1b[31m", "red \\x1b[31m"),
        ("one byte \x9b2J", "one byte \\x9b2J"),
        ("turned \u202etxt.exe", "turned \\u202etxt.exe"),
        ("hidden \U000e0041", "hidden \\U000e0041"),
        ("non\u00a0breaking", "non breaking"),
        ("می\u200cخواهم 👩\u200d💻", "می\u200cخواهم 👩\u200d💻"),  # joiners shape words and emoji
    ],
)
def test_what_is_unseen_shows_as_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_json_loses_nothing_and_hides_nothing(text: str) -> None:
    written = json_text({"text": text})
    assert json.loads(written) == {"text": text}
    assert all(c.isprintable() or c in "\u200c\u200d" for c in written)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\n=1"),
        ("a\r=1\r\nb", "a\n=1\nb"),
        ("＝1", "'＝1"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        (-0.25, "-0.25"),
        (7, "7"),
        (None, ""),
        ("a = b", "a = b"),
        ('two\n"lines", =1', 'two\n"lines", =1'),
    ],
)
def test_a_spreadsheet_computes_no_text(cell: object, written: str) -> None:
    text = csv_text(("text", "n"), [{"text": cell, "n": 1}])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["text", "n"], [written, "1"]]
