"""Our rows beside the paper's, from results made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exaudit.experiments.paper import paper_tables
from exaudit.experiments.paper_comparison import PaperComparison, compare_with_paper
from exaudit.experiments.step_result import StepResult


def test_rows_stand_in_the_papers_order_then_ours(comparison: PaperComparison) -> None:
    printed = [row.name for row in paper_tables()["fce-zero-shot"].rows]
    assert [row.name for row in comparison.table("fce-zero-shot").rows] == [*printed, "ours only", "ours too"]


def test_rows_are_means_over_seeds_beside_the_paper(comparison: PaperComparison) -> None:
    row = comparison.table("fce-zero-shot").row("uniCNN")
    assert row is not None
    assert row.ours == (86.5, 46.5, 36.5, 41.0)
    assert list(row.by_seed.items()) == [(1, (87.0, 46.0, 37.0, 42.0)), (3, (86.0, 47.0, 36.0, 40.0))]
    assert row.paper == (86.28, 47.67, 36.7, 41.47)
    assert row.differences == pytest.approx((0.22, -1.17, -0.2, -0.47))
    assert row.why is None


def test_a_figure_without_a_seed_is_of_the_first(comparison: PaperComparison) -> None:
    row = comparison.table("fce-zero-shot").row("cnn")
    assert row is not None
    assert row.by_seed == {1: (84.24, 20.43, None, 29.0)}
    assert row.differences == pytest.approx((0.0, 0.0, None, -0.13))


@pytest.mark.parametrize(
    ("name", "cited", "why"),
    [
        ("LSTM+S*", True, None),
        ("CNN", False, "frozen only"),
        ("Random", False, "not run yet"),
        ("ours too", False, "no time"),
        ("ours only", False, None),
    ],
)
def test_every_row_has_figures_or_a_reason(
    comparison: PaperComparison, name: str, cited: bool, why: str | None
) -> None:
    row = comparison.table("fce-zero-shot").row(name)
    assert row is not None
    assert (row.cited, row.why) == (cited, why)


def test_a_row_that_one_step_has_is_not_missing_because_another_has_it_not() -> None:
    with_row, without = StepResult(), StepResult()
    with_row.add_row("fce-zero-shot", "CNN", 1, 2, 3, 4)
    without.add_missing("fce-zero-shot", "CNN", "frozen only")
    for figures in ([with_row, without], [without, with_row]):
        row = compare_with_paper(figures).table("fce-zero-shot").row("CNN")
        assert row is not None
        assert row.why is None
        assert row.ours == (1, 2, 3, 4)


def test_only_experiments_that_were_begun_are_shown(comparison: PaperComparison) -> None:
    assert comparison.experiments == ("fce",)
    ids = [table.id for table in (*comparison.tables, *comparison.ngram_tables)]
    assert {id for id in ids if id != "fce-figure-3"} == {t for t in paper_tables() if t.startswith("fce")}
    assert {finding.claim.experiment for finding in comparison.findings} == {"fce"}


def test_tables_that_only_we_have_have_a_title_and_columns(comparison: PaperComparison) -> None:
    table = comparison.table("fce-figure-3")
    assert table.title.startswith("Figure 3")
    assert table.rows[0].ours == (10, 20, 30, None, None), "a row may end early"
    assert table.rows[0].paper is None
    result = StepResult()
    result.add_row("fce-unheard-of", "a", 1, 2)
    unknown = compare_with_paper([result]).table("fce-unheard-of")
    assert (unknown.title, unknown.columns) == ("fce-unheard-of", ("1", "2"))


def test_a_row_with_too_many_values_is_refused() -> None:
    result = StepResult()
    result.add_row("fce-zero-shot", "uniCNN", 1, 2, 3, 4, 5)
    with pytest.raises(ValueError, match="fce-zero-shot, uniCNN: 5 values for 4 columns"):
        compare_with_paper([result])


def ngrams(side: str | None, end: str, *rows: tuple[str, float, int]) -> list[dict[str, Any]]:
    return [{"name": n, "side": side, "end": end, "score": s, "frequency": f} for n, s, f in rows]


def test_ngrams_stand_beside_the_papers_the_most_extreme_first() -> None:
    result = StepResult()
    result.ngrams["fce-unigrams"] = [
        *ngrams(None, "top", ("b", 1.0, 2), ("a", 9.0, 1)),
        *ngrams(None, "lowest", ("d", -1.0, 4), ("c", -9.0, 3)),
    ]
    (table,) = compare_with_paper([result]).ngram_tables
    top, lowest = table.rankings
    assert [gram.name for gram in top.ours] == ["a", "b"]
    assert [gram.name for gram in top.paper][:2] == ["wating", "noize"]
    assert [gram.name for gram in lowest.ours] == ["c", "d"]
    assert [(g.name, g.score, g.frequency) for g in lowest.paper][:2] == [
        ("Lorca", -3.1, 1),
        ("Martial", -3.0, 1),
    ]
    assert table.why is None


def test_ngrams_of_two_sides_are_kept_apart_and_missing_ones_say_why() -> None:
    result = StepResult()
    result.ngrams["annotation-unigrams"] = ngrams("Rev.", "top", ("bad", 2.0, 5))
    result.add_missing("annotation-5grams", "all", "too few words")
    unigrams, fives = compare_with_paper([result]).ngram_tables
    assert [(r.side, r.end, len(r.ours), len(r.paper)) for r in unigrams.rankings] == [
        ("Orig.", "top", 0, 10),
        ("Orig.", "lowest", 0, 10),
        ("Rev.", "top", 1, 10),
        ("Rev.", "lowest", 0, 10),
    ]
    assert fives.why == "too few words"
    assert all(gram.frequency is None for ranking in fives.rankings for gram in ranking.paper)


def test_json_holds_everything(comparison: PaperComparison) -> None:
    value = json.loads(json.dumps(comparison.to_json()))
    table = next(t for t in value["tables"] if t["id"] == "fce-zero-shot")
    row = next(r for r in table["rows"] if r["name"] == "uniCNN")
    assert row == {
        "name": "uniCNN",
        "ours": [86.5, 46.5, 36.5, 41.0],
        "paper": [86.28, 47.67, 36.7, 41.47],
        "difference": [0.22, -1.17, -0.2, -0.47],
        "seeds": {"1": [87.0, 46.0, 37.0, 42.0], "3": [86.0, 47.0, 36.0, 40.0]},
        "cited": False,
        "why": None,
    }
    claim = next(c for c in value["claims"] if c["id"] == "zero-shot")
    assert claim["verdict"] == "in part"
    assert claim["cases"][0] == {
        "name": "F1", "seed": 3, "value": 10.0, "low": 5.0, "high": 15.0, "verdict": "holds",
        "note": "", "counts": True,
    }  # fmt: skip
