"""The paper's files: `0 text` or `1 text` a line, with an optional parallel file of token labels. And plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from exaudit.data.document import Document
from exaudit.data.notes import NO_WORDS, Notes
from exaudit.data.source import Line

__all__ = ["LABELLED_LINE", "read_labelled_lines", "read_plain_lines"]

LABELLED_LINE = re.compile(r"([01])(?: (.*))?", re.DOTALL)


def read_labelled_lines(
    lines: Iterator[Line], notes: Notes, token_labels: Iterator[Line] | None = None
) -> Iterator[Document]:
    """One document a line: its label, a space, its text. Line n of `token_labels` has a label for each word."""
    for number, text, labels in _in_parallel(lines, notes, token_labels):
        match = LABELLED_LINE.fullmatch(text)
        if match is None and text.strip():
            notes.error(
                "a line does not start with its label",
                number,
                detail=repr(text[:60]),
                advice="write `0 text` or `1 text`, or pass another `format`",
            )
            continue
        words = match[2].split() if match is not None and match[2] else []
        if labels is not None and len(labels) != len(words):
            notes.error(
                "the token labels do not fit the text",
                number,
                detail=f"{len(labels)} labels for {len(words)} words",
                advice="give one label per word, separated by spaces, in the same line of the `token_labels` file",
            )
            continue
        if match is None or not words:
            notes.warn(NO_WORDS, number)
            continue
        yield Document.from_text(
            match[2], id=str(number), label=match[1], token_labels=labels, line=number, cut="whitespace"
        )


def read_plain_lines(lines: Iterator[Line], notes: Notes) -> Iterator[Document]:
    """One document a line, without labels."""
    for number, text in lines:
        text = text.rstrip("\r\n")
        if not text.split():
            notes.warn(NO_WORDS, number)
            continue
        yield Document.from_text(text, id=str(number), line=number, cut="whitespace")


def _in_parallel(
    lines: Iterator[Line], notes: Notes, token_labels: Iterator[Line] | None
) -> Iterator[tuple[int, str, list[str] | None]]:
    if token_labels is None:
        for number, text in lines:
            yield number, text.rstrip("\r\n"), None
        return
    for line, labels in zip_longest(lines, token_labels):
        if line is None or labels is None:
            number, left = line or labels
            if left.strip():
                notes.error(
                    "the file and its token labels differ in length",
                    number,
                    detail=f"the {'token labels end' if labels is None else 'documents end'} before line {number}",
                    advice="give one line of token labels per document",
                )
            return
        yield line[0], line[1].rstrip("\r\n"), labels[1].split()
