"""The promise as a risk-coverage curve with its bound, the paper's limits beside it, and a table by predicted class."""

from __future__ import annotations

from typing import Any

from exaudit.analyse.report.blocks import Block, Cell, Plot, Section, Series, Table, Text
from exaudit.audit.part import Part
from exaudit.audit.promise import Promise
from exaudit.audit.signals import name_of
from exaudit.data.labels import LabelSet
from exaudit.decide.risk import Risk

__all__ = ["curves", "promise_section"]

EVERY = 4  # of the points of a curve, those that are drawn


def promise_section(promise: Promise, labels: LabelSet) -> Section:
    """What is promised about the admitted answers, and the calibration documents that it rests on."""
    told = [f"{line[0].upper()}{line[1:]}." for line in promise.sentences(labels)]
    blocks: list[Block] = [Text(" ".join(told))]
    for level, part in promise.parts.items():
        for kind, risk in part.risks.items():
            which = level if kind < 0 else f"{level} that are {name_of(kind, labels)}"
            blocks.append(
                _curve(which, risk, promise, promise.limits if level == "documents" and kind < 0 else None)
            )
        blocks.append(_by_class(level, part, labels))
    return Section("What is promised about the admitted answers", tuple(blocks))


def curves(promise: Promise) -> dict[str, list[dict[str, Any]]]:
    """The same for programs."""
    return {
        f"{level}, {kind}" if kind >= 0 else level: [
            {"coverage": point.coverage, "error": point.error, "bound": point.bound} for point in risk.levels
        ]
        for level, part in promise.parts.items()
        for kind, risk in part.risks.items()
    }


def _curve(what: str, risk: Risk, promise: Promise, limits: tuple[float, float] | None) -> Plot:
    points = risk.levels[EVERY - 1 :: EVERY] or risk.levels
    shares = tuple(100 * point.coverage for point in points)
    series = [
        Series("wrong", shares, tuple(point.error for point in points)),
        Series("bound", shares, tuple(point.bound for point in points)),
        Series("promised", shares, (promise.goal.risk,) * len(shares)),
    ]
    if limits is not None:
        series.append(Series("the limits of --rule mean", (100 * limits[0],), (limits[1],)))
    chosen = risk.level
    marks = () if chosen is None else ((100 * chosen.coverage, "admitted"),)
    told = (
        "No share of them can be admitted at the promised risk."
        if chosen is None
        else f"{100 * chosen.coverage:.1f}% are admitted, of which {100 * chosen.error:.2f}% were wrong; with "
        f"{100 * promise.goal.confidence:g}% confidence no more than {100 * chosen.bound:.2f}% are."
    )
    beside = (
        ""
        if limits is None
        else f" The limits admit {100 * limits[0]:.1f}%, {100 * limits[1]:.2f}% of them wrong."
    )
    return Plot(
        f"Risk and coverage: {what}",
        f"The share of wrong answers among the most trusted, on the {risk.documents:,} calibration documents that the "
        f"risk was bounded on. {told}{beside}",
        "share admitted, in percent",
        "share wrong",
        tuple(series),
        marks=marks,
        y_range=(0.0, max(0.1, min(1.0, 1.1 * max((point.error for point in risk.levels), default=0.0)))),
    )


def _by_class(level: str, part: Part, labels: LabelSet) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            name_of(kind, labels),
            n,
            admitted,
            100 * admitted / max(1, n),
            100 * wrong / admitted if admitted else None,
        )
        for kind, (n, admitted, wrong) in part.kinds.items()
    ]
    columns = ("predicted", "answers", "admitted", "coverage", "wrong")
    return Table(f"Admitted {level} by predicted class, in percent", columns, tuple(rows), digits=1)
