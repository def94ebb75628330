"""CoNLL-like files: one token a line, its label in the last column, a blank line between documents.

Lines such as `# id = 7` before the first token of a document are about the document, as in CoNLL-U.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from exaudit.data.columns import LABEL_NAMES
from exaudit.data.document import Document, Label
from exaudit.data.notes import Notes
from exaudit.data.source import Line
from exaudit.data.spelling import split_names

__all__ = ["read_conll"]

TOKEN_HEADERS = {"token", "tokens", "word", "form"}
LABEL_HEADERS = {*LABEL_NAMES, "tag", "token_label", "error"}
COMMENT = re.compile(r"# (?P<name>\w+) = (?P<value>[^\t]*)")


def read_conll(lines: Iterator[Line], notes: Notes, label_separator: str | None = None) -> Iterator[Document]:
    """Documents with token labels, or without where the file has the tokens alone.

    The first line says how all lines are written: columns are split at tabs, or at spaces where it has no tab.
    """
    separator: str | None = "\t"
    width = 0
    number = start = 0
    tokens: list[str] = []
    labels: list[Label] = []
    meta: dict[str, str] = {}

    def document() -> Document:
        more = {name: value for name, value in meta.items() if name != "id"}
        return Document.from_tokens(
            tokens,
            id=meta.get("id", str(number)),
            token_labels=labels if width > 1 else None,
            meta=more,
            line=start,
        )

    for line, text in lines:
        text = text.rstrip("\r\n")
        if not text.strip(" \t\r"):
            if tokens:
                yield document()
                tokens, labels, meta = [], [], {}
            continue
        if separator == "\t" and not tokens and (told := COMMENT.fullmatch(text)):
            meta[told["name"]] = told["value"].strip()
            continue
        if not width:
            separator = "\t" if "\t" in text else None
            width = len(text.split(separator))
            notes.columns = {"token": "1"} | ({"token label": str(width)} if width > 1 else {})
            first = [cell.strip().casefold() for cell in text.split(separator)]
            if width > 1 and first[0] in TOKEN_HEADERS and first[-1] in LABEL_HEADERS:
                notes.warn("the first line names the columns; skipped as a header", line)
                continue
        cells = text.split(separator)
        problem = ""
        if len(cells) != width:
            problem = f"{len(cells)} columns where the first line has {width}: {text[:60]!r}"
        elif not cells[0].strip():
            problem = f"no token: {text[:60]!r}"
        elif not cells[-1].strip():
            problem = f"no label: {text[:60]!r}"
        if not tokens:
            start = line
            number += 1
        if problem:
            notes.error(
                "a line is not a token and its label",
                line,
                detail=problem,
                advice="write token<TAB>label in each line and blank lines between documents",
            )
            continue
        tokens.append(cells[0])
        label = cells[-1].strip()
        several = label_separator is not None and label_separator in label
        labels.append(split_names(label, str(label_separator)) if several else label)
    if tokens:
        yield document()
