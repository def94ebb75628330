"""Decisions against the truth as a section."""

from __future__ import annotations

from exaudit.analyse.evaluation import Evaluation
from exaudit.analyse.report.blocks import Block, Cell, Section, Table, Text

__all__ = ["evaluation_section"]


def evaluation_section(model: Evaluation, knn: Evaluation | None = None) -> Section:
    """Metrics of the model and, on words, of the K-NN, with baselines and the model's intervals."""
    intervals = model.intervals()
    blocks: list[Block] = []
    for level, name in (("document", "Documents"), ("token", "Words")):
        own = _metrics(model, level)
        if own is None:
            blocks.append(Text("No word labels are known, so the decisions on words cannot be scored."))
            continue
        rows: list[tuple[Cell, ...]] = [("model", *own.values())]
        spans = intervals[level] or {}
        rows.append(
            ("  95% interval", *(f"{100 * low:.1f} to {100 * high:.1f}" for low, high in spans.values()))
        )
        others = {"random": model.random(), "majority": model.majority()}
        if knn is not None and level == "token":
            others = {"K-NN": knn, **others}
        rows += [(who, *(_metrics(one, level) or {}).values()) for who, one in others.items()]
        blocks.append(Table(f"{name}, in percent", ("", *own), tuple(rows), digits=1))
    return Section("How right the model is", tuple(blocks))


def _metrics(evaluation: Evaluation, level: str) -> dict[str, float] | None:
    values = evaluation.document_metrics() if level == "document" else evaluation.token_metrics()
    return None if values is None else {name: 100 * value for name, value in values.items()}
