"""StepResult 3 and 4 as SVG: panels with a title each, side by side."""

from __future__ import annotations

import re
from html import escape

from exaudit.analyse.report.blocks import Plot, Series
from exaudit.analyse.report.svg import WIDTH, svg
from exaudit.experiments.pages import picture
from exaudit.experiments.paper_comparison import PaperComparison, Row, Table

__all__ = ["reliability_figures"]

TITLE = 24  # height of a panel's title
NAMES = {"truth": "against the truth", "approximation": "against the model (the approximation)"}


def reliability_figures(comparison: PaperComparison) -> dict[str, str]:
    """File names and contents of the figures that the run has rows for."""
    panels = {"fce-figure-3": _by_class, "fce-figure-4": _by_model}
    return {
        picture(table.id): _grid(table, panels[table.id](table), across=3)
        for table in comparison.tables
        if table.id in panels and any(row.ours for row in table.rows)
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


def _grid(table: Table, plots: list[Plot], *, across: int) -> str:
    """All panels in one picture, on white, so that it can be read on any page."""
    drawn = [svg(plot, n) for n, plot in enumerate(plots)]
    heights = [float(re.search(r'viewBox="0 0 \S+ (\S+)"', one)[1]) for one in drawn]  # type: ignore[index]
    height = max(heights, default=0.0) + TITLE
    down = -(-len(plots) // across)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * across} {height * down:g}" '
        f'font-family="system-ui, sans-serif" font-size="15" fill="#222">',
        f"<title>{escape(table.title)}</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for n, (plot, one, own) in enumerate(zip(plots, drawn, heights, strict=True)):
        x, y = WIDTH * (n % across), height * (n // across)
        parts.append(
            f'<text x="{x + WIDTH / 2:g}" y="{y + TITLE - 6:g}" text-anchor="middle" font-weight="600">'
            f"{escape(plot.title)}</text>"
        )
        place = f'<svg x="{x}" y="{y + TITLE:g}" width="{WIDTH}" height="{own:g}" '
        parts.append(one.replace("<svg ", place, 1))
    return "\n".join([*parts, "</svg>"]) + "\n"
