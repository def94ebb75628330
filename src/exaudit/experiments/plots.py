"""Figures 2 and 3 as SVG: panels with a title each, side by side."""

from __future__ import annotations

from exaudit.analyse.report.blocks import Plot, Series
from exaudit.analyse.report.svg import panels
from exaudit.experiments.pages import picture
from exaudit.experiments.paper_comparison import PaperComparison, Row, Table

__all__ = ["reliability_figures"]

NAMES = {"truth": "against the truth", "approximation": "against the model (the approximation)"}


def reliability_figures(comparison: PaperComparison) -> dict[str, str]:
    """File names and contents of the figures that the run has rows for."""
    makers = {"fce-figure-2": _by_class, "fce-figure-3": _by_model}
    return {
        picture(table.id): panels(table.title, makers[table.id](table), across=3)
        for table in comparison.tables
        if table.id in makers and any(row.ours for row in table.rows)
    }


def _by_class(table: Table) -> list[Plot]:
    """A panel for each class and model: the K-NN against the truth and against the model."""
    panels: dict[tuple[str, str], list[Series]] = {}
    for row in table.rows:
        model, target, what = row.name.split(" | ")
        panels.setdefault((target, model), []).append(_series(NAMES[what], row))
    return [
        _plot(f"{model}, K-NN says {target}", "F0.5" if target == "1" else "accuracy", series, "K-NN output")
        for (target, model), series in sorted(panels.items(), key=lambda item: item[0][0], reverse=True)
    ]


def _by_model(table: Table) -> list[Plot]:
    """A panel for each model: its own output and the K-NN's."""
    panels: dict[str, list[Series]] = {}
    for row in table.rows:
        model, _, output = row.name.partition(" | ")
        panels.setdefault(model, []).append(_series(f"by the output of the {output}", row))
    return [_plot(model, "F0.5", series, "output") for model, series in panels.items()]


def _series(name: str, row: Row) -> Series:
    ours = row.ours or ()
    return Series(name, tuple(map(float, range(len(ours)))), ours)


def _plot(title: str, y: str, series: list[Series], sorted_by: str) -> Plot:
    described = "; ".join(
        f"{one.name}: " + ", ".join("none" if v is None else f"{v:.1f}" for v in one.y) for one in series
    )
    count = max(len(one.x) for one in series)
    return Plot(
        title,
        f"{y} in percent, bin by bin. {described}.",
        f"bins by magnitude of the {sorted_by}, largest last",
        f"{y}, in percent",
        tuple(series),
        y_range=(0.0, 100.0),
        x_names=tuple(str(n + 1) for n in range(count)),
    )
