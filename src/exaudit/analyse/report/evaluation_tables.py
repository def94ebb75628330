"""Decisions against the truth as a section."""

from __future__ import annotations

from exaudit.analyse.evaluation import SHOWN, Evaluation, Level
from exaudit.analyse.report.blocks import Block, Cell, Matrix, Section, Table, Text

__all__ = ["evaluation_section"]


def evaluation_section(model: Evaluation, knn: Evaluation | None = None) -> Section:
    """Metrics of the model and, on words, of the K-NN, with baselines and the model's intervals."""
    intervals = model.intervals()
    blocks: list[Block] = []
    levels: tuple[tuple[Level, str], ...] = (("document", "Documents"), ("token", "Words"))
    for level, name in levels:
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
        columns = ("", *(title.replace("_", " ") for title in own))
        blocks.append(Table(f"{name}, in percent", columns, tuple(rows), digits=1))
        if model.labels.kind != "binary":
            blocks.append(_by_class(model, level, name))
        if level == "document":
            blocks += _confusion(model)
    return Section("How right the model is", tuple(blocks))


def _by_class(evaluation: Evaluation, level: Level, name: str) -> Table:
    classes = evaluation.by_class(level) or {}
    rows: list[tuple[Cell, ...]] = []
    for title, values in classes.items():
        cells = (value if isinstance(value, int) else 100 * value for value in values.values())
        rows.append((title, *cells))
    what = name.lower()
    columns = [{"support": f"{what} truly so", "decided": f"{what} decided so"}.get(title, title)
               for title in next(iter(classes.values()))]  # fmt: skip
    return Table(f"{name} by class, in percent", ("class", *columns), tuple(rows), digits=1)


def _confusion(evaluation: Evaluation) -> list[Block]:
    """Which classes are taken for which: all of them, or where they are many, the commonest mistakes."""
    table = evaluation.confusion()
    if table is None:
        return []
    if len(table) <= SHOWN:
        caption = "Documents by true class (rows) and decided class (columns)"
        return [Matrix(caption, evaluation.labels.names, tuple(map(tuple, table.tolist())))]
    rows = tuple(evaluation.confusions())
    return [Table("The commonest mistakes", ("truly", "decided", "documents"), rows)] if rows else []


def _metrics(evaluation: Evaluation, level: Level) -> dict[str, float] | None:
    values = evaluation.metrics(level)
    return None if values is None else {name: 100 * value for name, value in values.items()}
