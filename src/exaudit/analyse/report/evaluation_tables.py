"""Decisions against the truth as a section."""

from __future__ import annotations

from exaudit.analyse.evaluation import Evaluation
from exaudit.analyse.report.blocks import Block, Cell, Section, Table, Text

__all__ = ["evaluation_section"]


def evaluation_section(evaluation: Evaluation) -> Section:
    """Metrics with baselines and intervals."""
    intervals = evaluation.intervals()
    blocks: list[Block] = []
    for level, name in (("document", "Documents"), ("token", "Words")):
        own = evaluation.document_metrics() if level == "document" else evaluation.token_metrics()
        if own is None:
            blocks.append(Text("No word labels are known, so the decisions on words cannot be scored."))
            continue
        rows: list[tuple[Cell, ...]] = []
        for who, one in (
            ("model", evaluation),
            ("random", evaluation.random()),
            ("majority", evaluation.majority()),
        ):
            values = one.document_metrics() if level == "document" else one.token_metrics()
            rows.append((who, *(100 * v for v in (values or {}).values())))
        spans = intervals[level] or {}
        rows.append(
            ("95% interval", *(f"{100 * low:.1f} to {100 * high:.1f}" for low, high in spans.values()))
        )
        blocks.append(Table(f"{name}, in percent", ("", *own), tuple(rows), digits=1))
    return Section("How right the model is", tuple(blocks))
