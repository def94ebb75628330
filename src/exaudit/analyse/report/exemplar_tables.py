"""Exemplar tables as a section, line by line as in the paper's appendix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exaudit.analyse.exemplars import ExemplarRow, ExemplarTable
from exaudit.analyse.report.blocks import Block, Cell, Section, Table, Text, Word, Words

__all__ = ["exemplar_section"]

LONG = 120  # words of an exemplar's document that are shown
UNKNOWN = "The token labels of this document are not known."

Line = tuple[Cell, ...]


def exemplar_section(tables: Sequence[ExemplarTable], *, binary: bool = True) -> Section:
    """For each document its truth and decisions; for each word to check the same of its exemplar's document."""
    what = "positive" if binary else "to carry the document's class"
    blocks: list[Block] = [
        Text(
            f"Each word that is decided {what}, or truly is, with the word of the support set that is nearest to it, "
            "the distance between the two, and the whole text in which that word stands. Documents are drawn at random."
        ),
        _legend("positive" if binary else "as the class"),
    ]
    for table in tables:
        said = f"predicted {table.predicted}" + ("" if table.truth is None else f", truly {table.truth}")
        tags = {row.position: str(row.position) for row in table.rows}
        lines: list[Line] = [
            ("True", _true(table.document.tokens, table.token_truth, tags)),
            ("Pred.", Words.of(table.document.tokens, table.decisions, tags=tags, underline=True)),
        ]
        for row in table.rows:
            lines += _exemplar(row)
        blocks.append(Table(f"Document {table.document.id}: {said}", ("line", "text"), tuple(lines)))
    return Section("Exemplars", tuple(blocks))


def _legend(what: str) -> Table:
    def sign(underline: bool = False, **marks: Any) -> Words:
        return Words((Word("word", **marks),), underline)

    lines: tuple[Line, ...] = (
        (
            sign(tag="3"),
            "the document's word at place 3, counted from 0; in the lines below it, its exemplar",
        ),
        (sign(true=True), f"in a line True: labelled {what}"),
        (sign(tag="?"), "in a line True: the label of this word is not known"),
        (
            sign(True, decided=True),
            f"in a line Pred.: decided {what}; of an exemplar's text, by the model itself",
        ),
        ("…", f"words left out: of a long text, the {LONG} words around the exemplar are shown"),
    )
    return Table("How to read the lines", ("sign", "meaning"), lines)


def _exemplar(row: ExemplarRow) -> list[Line]:
    e, name = row.exemplar, f"Exemplar [{row.position}]"
    tags = {e.position: str(row.position)}
    true = _true(e.tokens, e.token_labels, tags)
    predicted = Words.of(e.tokens, row.predictions, tags=tags, underline=True)
    return [
        (f"{name} Dist.", f"{e.distance:.2f} (document {e.id}, labelled {e.label}; score {e.score:+.2f})"),
        (f"{name} True", _around(true, e.position) if isinstance(true, Words) else true),
        (f"{name} Pred.", _around(predicted, e.position)),
    ]


def _true(tokens: Sequence[str], labels: Sequence[int | None] | None, tags: dict[int, str]) -> Words | str:
    """The words with what is known of their truth."""
    if labels is None or all(label is None for label in labels):
        return UNKNOWN
    unknown = {n: tags.get(n, "") + "?" for n, label in enumerate(labels) if label is None}
    return Words.of(tokens, None, labels, tags=tags | unknown)


def _around(text: Words, position: int) -> Words:
    """The words around one, with marks where text was left out."""
    words = text.words
    first = max(0, min(position - LONG // 2, len(words) - LONG))
    last = first + LONG
    before = (Word("…"),) if first else ()
    after = (Word("…"),) if last < len(words) else ()
    return Words(before + words[first:last] + after, text.underline)
