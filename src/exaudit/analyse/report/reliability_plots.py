"""Reliability as plots and tables, after figures 3 and 4 and the quantile table of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.reliability import Admitted, Measured, MultiReliability, Reliability, histogram
from exaudit.analyse.report.blocks import Block, Cell, Fold, Plot, Section, Series, Table

__all__ = ["multi_reliability_sections", "reliability_sections"]

ENOUGH = 5  # answers to draw a line of
MOST = 5  # classes with a line each
ADMITTED = ("", "answers", "n", "share", "accuracy", "F0.5")
SHARES = tuple(n / 20 for n in range(1, 21))


def reliability_sections(
    reliability: Reliability,
    *,
    reference: NDArray[np.float64] | None = None,
    limits: Sequence[tuple[float, str]] = (),
    of: str = "",
) -> list[Section]:
    """Bins by magnitude, cumulative quartiles, distances, and admitted share against accuracy.

    of : stands behind what is plotted, such as ", sports".
    """
    sections: list[Section] = []
    blocks: list[Block] = []
    if (documents := reliability.documents) is not None:
        blocks = [
            _bin_plot("Documents", [documents], "accuracy"),
            _quartiles("Documents", reliability, [documents]),
        ]
        sections.append(Section("Reliability of the documents' labels", tuple(blocks)))
    by_magnitude = [m for m in reliability.tokens if m.trust is None]
    blocks = []
    if by_magnitude:
        blocks += [_bin_plot(f"Words{of}", by_magnitude, metric) for metric in ("f05", "accuracy")]
    if reliability.approximation is not None:
        blocks += _approximation_plots(reliability)
    if by_magnitude:
        blocks.append(_quartiles(f"Words{of}", reliability, by_magnitude))
    if blocks:
        sections.append(Section("Reliability of the decisions on words", tuple(blocks)))
    blocks = _coverage(reliability, of)
    if blocks:
        sections.append(Section("Answering less, more rightly", tuple(blocks)))
    if reliability.distances is not None:
        sections.append(
            Section("How near the support set is", (_distances(reliability.distances, reference, limits),))
        )
    return sections


def multi_reliability_sections(
    reliability: MultiReliability, *, reference: NDArray[np.float64] | None = None
) -> list[Section]:
    """The documents by how sure their class is; the words of each class folded; distances once."""
    names = reliability.labels.names
    sections: list[Section] = []
    if (documents := reliability.documents) is not None:
        given = {
            name: one for name, one in zip(names, reliability.given, strict=True) if len(one.output) >= ENOUGH
        }
        blocks: list[Block] = [
            _sureness_plot({"all classes": documents} | (given if len(given) <= MOST else {}))
        ]
        blocks.append(
            _sureness_table({"all classes": documents} | dict(zip(names, reliability.given, strict=True)))
        )
        blocks.append(_coverage_plot("documents", [documents], "accuracy"))
        if (admitted := reliability.admitted_documents) is not None:
            (row,) = [row for row in _admitted_rows("documents", admitted, None) if row[1] == "admitted"]
            blocks.append(Table("Admitted answers, in percent", ADMITTED[:-1], (row[:-1],), digits=1))
        sections.append(Section("Reliability of the documents' labels", tuple(blocks)))
    folds: list[Block] = []
    for name, one in zip(names, reliability.classes, strict=True):
        words = replace(one, documents=None, admitted_documents=None, distances=None)
        own = [block for section in reliability_sections(words, of=f", {name}") for block in section.blocks]
        if own:
            folds.append(Fold(f"Words, {name}", tuple(own)))
    if folds:
        sections.append(Section("Reliability of the decisions on words", tuple(folds)))
    if (distances := reliability.classes[0].distances) is not None:  # the same in all views
        sections.append(Section("How near the support set is", (_distances(distances, reference, ()),)))
    return sections


def _sureness_plot(measured: Mapping[str, Measured]) -> Plot:
    """A line for all classes together and, where they are few, one for each."""
    series = []
    for name, one in measured.items():
        bins = one.bins()
        series.append(Series(name, tuple(map(float, range(len(bins)))), tuple(b.accuracy for b in bins)))
    first, last = (series[0].y[i] for i in (0, -1))
    return Plot(
        "Documents: accuracy by the output of the decided class",
        f"{len(next(iter(measured.values())).output):,} answers sorted by the output of the class that was decided, "
        f"into {len(series[0].x)} bins of equal size. From the smallest to the largest, the accuracy goes from "
        f"{_two(first)} to {_two(last)}.",
        "bins by the output of the decided class, largest last",
        "accuracy",
        tuple(series),
        y_range=(0.0, 1.0),
        x_names=tuple(_ordinal(n + 1) for n in range(len(series[0].x))),
    )


def _sureness_table(measured: Mapping[str, Measured]) -> Table:
    """How right the surest quarter, half and all of the answers of a class are."""
    rows: list[tuple[Cell, ...]] = []
    for name, one in measured.items():
        by_n = {b.n: 100 * b.accuracy for b in one.quantiles()}
        n = len(one.output)
        rows.append((name, n, *(by_n.get(round(n * part / 4)) for part in (1, 2, 4))))
    columns = ("decided", "documents", "surest quarter", "surest half", "all")
    return Table("Documents: accuracy of the surest answers, in percent", columns, tuple(rows), digits=1)


def _bin_plot(what: str, measured: Sequence[Measured], metric: str) -> Plot:
    label = "F0.5" if metric == "f05" else "accuracy"
    series, count = [], 0
    for one in measured:
        bins = one.bins()
        count = max(count, len(bins))
        series.append(
            Series(one.name, tuple(map(float, range(len(bins)))), tuple(getattr(b, metric) for b in bins))
        )
    first, last = (series[-1].y[i] for i in (0, -1))
    n = len(measured[0].output)
    return Plot(
        f"{what}: {label} by magnitude of the output",
        f"{n:,} predictions sorted by magnitude into {count} bins of equal size, both classes together. From the "
        f"smallest to the largest, the {label} of the {series[-1].name} goes from {first:.2f} to {last:.2f}.",
        "bins by magnitude of the output, largest last",
        label,
        tuple(series),
        y_range=(0.0, 1.0),
        x_names=tuple(_ordinal(n + 1) for n in range(count)),
    )


def _approximation_plots(reliability: Reliability) -> list[Block]:
    """As the paper's figure 3: the approximation beside the truth, for each class the K-NN predicts."""
    assert reliability.approximation is not None
    truth = next((m for m in reliability.tokens if m.name == "K-NN"), None)
    blocks: list[Block] = []
    for target in (1, 0):
        name = reliability.names.name(target)
        beside = [("K-NN against the model", reliability.approximation.of_class(target))]
        if truth is not None:
            beside.insert(0, ("K-NN against the truth", truth.of_class(target)))
        if len(beside[0][1].output) < 5:
            continue
        series = tuple(
            Series(who, tuple(map(float, range(len(bins)))), tuple(b.accuracy for b in bins))
            for who, bins in ((who, one.bins()) for who, one in beside)
        )
        blocks.append(
            Plot(
                f"Approximation beside the truth where the K-NN says {name}",
                f"Accuracy of {len(beside[0][1].output):,} predictions in five bins by magnitude of the K-NN output, "
                "against the model that the K-NN stands for and, where word labels are known, against the truth.",
                "bins by magnitude of the K-NN output, largest last",
                "accuracy",
                series,
                y_range=(0.0, 1.0),
                x_names=tuple(_ordinal(n + 1) for n in range(len(series[0].x))),
            )
        )
    return blocks


def _quartiles(what: str, reliability: Reliability, measured: Sequence[Measured]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in measured:
        for target in (1, 0):
            quartiles = one.of_class(target).quantiles()
            for n, q in enumerate(quartiles, 1):
                f05 = 100 * q.f05 if target == 1 else None
                rows.append(
                    (one.name, reliability.names.name(target), n, q.threshold, f05, 100 * q.accuracy, q.n)
                )
    columns = ("", "prediction", "quartiles", "magnitude at least", "F0.5", "accuracy", "n")
    return Table(f"{what}: cumulative by quartile of the magnitude, from the largest", columns, tuple(rows))


def _coverage(reliability: Reliability, of: str = "") -> list[Block]:
    blocks: list[Block] = []
    if reliability.documents is not None:
        blocks.append(_coverage_plot("documents", [reliability.documents], "accuracy"))
    if reliability.tokens:
        blocks.append(_coverage_plot("words", reliability.tokens, "f05", of))
    rows: list[tuple[Cell, ...]] = []
    for name, admitted, measured in (
        ("documents", reliability.admitted_documents, [reliability.documents]),
        ("words", reliability.admitted_tokens, [m for m in reliability.tokens if m.name == "K-NN"]),
    ):
        if admitted is not None:
            rows += _admitted_rows(name, admitted, measured[0] if measured else None)
    if rows:
        blocks.append(
            Table("Admitted answers beside all answers, in percent", ADMITTED, tuple(rows), digits=1)
        )
    return blocks


def _admitted_rows(name: str, admitted: Admitted, every: Measured | None) -> list[tuple[Cell, ...]]:
    def percent(value: float | None) -> float | None:
        return None if value is None else 100 * value

    whole = None if every is None else every.bins(1)[0]
    accuracy, f05 = (None, None) if whole is None else (100 * whole.accuracy, 100 * whole.f05)
    share = 100 * admitted.n / max(1, admitted.total)
    empty = admitted.n == 0
    return [
        (name, "all", admitted.total, 100.0, accuracy, f05),
        (
            name,
            "admitted",
            admitted.n,
            share,
            None if empty else percent(admitted.accuracy),
            None if empty else percent(admitted.f05),
        ),
    ]


def _coverage_plot(what: str, measured: Sequence[Measured], metric: str, of: str = "") -> Plot:
    label = "F0.5" if metric == "f05" else "accuracy"
    series = tuple(
        Series(
            one.name if one.trust is not None else f"{one.name}, largest magnitudes first",
            tuple(100 * share for share in SHARES),
            tuple(_at(one, metric)),
        )
        for one in measured
    )
    told = [line for line, one in zip(series, measured, strict=True) if one.trust is None][-1]
    tenth, whole = told.y[1], told.y[-1]
    return Plot(
        f"{label.capitalize()} of the {what} that are answered{of}",
        f"Answering only the most certain part. {told.name}: {_two(tenth)} on the first tenth, {_two(whole)} on all.",
        "share answered, in percent",
        label,
        series,
        y_range=(0.0, 1.0),
    )


def _at(measured: Measured, metric: str) -> list[float | None]:
    cumulative = {round(b.n): b for b in measured.quantiles(len(SHARES))}
    n = len(measured.output)
    found = [cumulative.get(round(n * part / len(SHARES))) for part in range(1, len(SHARES) + 1)]
    return [None if b is None else float(getattr(b, metric)) for b in found]


def _distances(
    distances: NDArray[np.float64], reference: NDArray[np.float64] | None, limits: Sequence[tuple[float, str]]
) -> Plot:
    groups = [distances] if reference is None else [distances, reference]
    centres, shares = histogram(groups)
    names = ["this file", "in-domain documents"]
    medians = " and ".join(f"{np.median(g):.1f} ({name})" for g, name in zip(groups, names, strict=False))
    return Plot(
        "Distance of each word to its nearest exemplar",
        f"Share of the words in each bin of distance. Medians: {medians}. Words far from every exemplar are unlike "
        "what the support set holds. The last bin holds all beyond it.",
        "distance",
        "share of the words",
        tuple(
            Series(name, tuple(map(float, centres)), tuple(map(float, share)))
            for name, share in zip(names, shares, strict=False)
        ),
        kind="bars" if reference is None else "lines",
        marks=tuple(limits),
    )


def _two(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _ordinal(n: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(n, f"{n}th")
