"""A comparison of two corpora as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exaudit.analyse.comparison import Comparison
from exaudit.analyse.features import By
from exaudit.analyse.report.blocks import Block, Cell, Documents, Page, Section, Table, Text, Words
from exaudit.analyse.report.documents import BUDGET, Shelf
from exaudit.analyse.report.feature_tables import feature_data, feature_section
from exaudit.data.labels import LabelSet

__all__ = ["compare_page"]

LONG = 120  # words of a typical document that are shown


def compare_page(
    comparison: Comparison,
    *,
    sizes: Sequence[int] = (1, 2, 3, 4, 5),
    by: By = "total",
    top: int = 15,
    budget: int = BUDGET,
) -> Page:
    a, b = comparison.names
    low, high = comparison.interval()
    accuracy, chance = comparison.counts.accuracy, comparison.chance
    verdict = (
        "They can be told apart."
        if low > chance
        else "That is no better than chance: nothing below is a finding."
    )
    summary = (
        f"A is {a}, B is {b}. Trained on {len(comparison.split.train):,} documents, with "
        f"{len(comparison.split.dev):,} to choose the epoch; judged on {len(comparison.split.test):,} others.",
        f"{100 * accuracy:.1f}% of those are told apart rightly (95% interval {100 * low:.1f} to {100 * high:.1f}; "
        f"chance {100 * chance:.1f}). {verdict}",
    )
    rows: tuple[tuple[Cell, ...], ...] = (
        ("all", 100 * accuracy, len(comparison.labelled)),
        *((name, 100 * right, n) for name, (right, n) in comparison.by_side().items()),
        *((f"labelled {name}", 100 * right, n) for name, (right, n) in comparison.by_label().items()),
    )
    blocks: list[Block] = [
        Table("Accuracy on held-out documents, in percent", ("", "accuracy", "documents"), rows, 1)
    ]
    found = comparison.found()
    if found is not None:
        blocks += [
            Text(
                f"Of the words of B that truly differ from their pair in A, {100 * found['recall']:.1f}% are found; of "
                f"the words decided to be of B, {100 * found['precision']:.1f}% truly differ. The model was never told."
            ),
            Table(
                "Words that truly differ, in percent",
                tuple(found),
                (tuple(100 * v for v in found.values()),),
                1,
            ),
        ]
    shelf = Shelf.of(comparison.labelled, comparison.model.labels, budget=budget)
    shelf = replace(shelf, labels=LabelSet.binary(f"A ({a})", f"B ({b})"))
    data = comparison.to_json() | {
        "features": feature_data(comparison.features, sizes=sizes, by=by, top=top),
    }
    sections = (
        Section("Can they be told apart?", tuple(blocks)),
        feature_section(comparison.features, sizes=sizes, by=by, top=top),
        _typical(comparison),
        Section("The documents", (Documents(shelf),)),
    )
    return Page(f"What separates {a} from {b}", summary, sections, data)


def _typical(comparison: Comparison) -> Section:
    """The most typical documents of each side that are predicted rightly, with their words marked."""
    by_id = {scores.document.id: scores for scores in comparison.labelled}
    blocks: list[Block] = [
        Text("Ranked by score per word. Filled: decided to be of B; underlined: truly differs from the pair.")
    ]
    for side in (1, 0):
        rows: list[tuple[Cell, ...]] = []
        for ranked in comparison.features.documents(side, truth=side, top=5):
            scores = by_id[ranked.id]
            true = comparison.model.labels.views[0].token_targets(scores.document)
            shown = slice(0, LONG)
            marks = None if true is None else true[shown].tolist()
            words = Words.of(scores.document.tokens[shown], scores.decisions[shown].tolist(), marks)
            rows.append((ranked.id, ranked.normalised, words))
        caption = f"Most typical of {'AB'[side]}, {comparison.names[side]}"
        blocks.append(Table(caption, ("id", "score per word", "text"), tuple(rows), digits=3))
    return Section("Typical documents", tuple(blocks))
