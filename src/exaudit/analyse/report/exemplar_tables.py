"""Exemplar tables as a section, like those of the paper's appendix."""

from __future__ import annotations

from collections.abc import Sequence

from exaudit.analyse.exemplars import ExemplarTable
from exaudit.analyse.report.blocks import Block, Cell, Section, Table, Text, Words

__all__ = ["exemplar_section"]


def exemplar_section(tables: Sequence[ExemplarTable]) -> Section:
    """The paper's appendix: sentence, prediction, truth, and the exemplar's sentence, prediction, truth, distance."""
    blocks: list[Block] = [
        Text(
            "Words that are decided (filled) or truly so (underlined), each with the word of the support set that is "
            "nearest to it. Documents are drawn at random."
        )
    ]
    for table in tables:
        said = f"predicted {table.predicted}" + ("" if table.truth is None else f", truly {table.truth}")
        sentence = Words.of(table.document.tokens, table.decisions, table.token_truth)
        rows: list[tuple[Cell, ...]] = [("sentence", sentence, None, None, None, None)]
        for row in table.rows:
            e = row.exemplar
            around = Words.of(*_window(e.tokens, e.position))
            truth = "unknown" if e.token_label is None else "yes" if e.token_label else "no"
            rows.append((f"{row.position + 1}: {row.token}", around, e.distance, e.label, e.score, truth))
        columns = ("word", "text", "distance", "exemplar's document", "exemplar's score", "exemplar truly so")
        blocks.append(Table(f"Document {table.document.id}: {said}", columns, tuple(rows)))
    return Section("Exemplars", tuple(blocks))


def _window(tokens: Sequence[str], position: int, width: int = 12) -> tuple[list[str], None, None, int]:
    """The words around one, with marks where text was left out."""
    first, last = max(0, position - width), min(len(tokens), position + width + 1)
    words = [*(["…"] if first else []), *tokens[first:last], *(["…"] if last < len(tokens) else [])]
    return words, None, None, position - first + int(first > 0)
