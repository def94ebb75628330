"""Original against revised reviews, end to end on the made-up corpora."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.analyse.features import Features
from exaudit.data.document import Document
from exaudit.experiments import annotation as module
from exaudit.experiments.annotation import annotation
from exaudit.experiments.corpora import read_reviews
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.run import Run, RunSettings
from exaudit.experiments.step_result import StepResult
from exaudit.metrics import Difference
from exaudit.model.labeler import Labeler

SETTINGS = RunSettings(encoder="none", epochs=12, filters=40)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("results"), data, SETTINGS, device="cpu")


@pytest.fixture(scope="module")
def found(run: Run) -> list[StepResult]:
    return list(annotation(run))


def table(found: list[StepResult], name: str) -> dict[str, list[float]]:
    steps = [figures.tables.get(name, {}) for figures in found]
    return {row: [float(v or 0) for v in values] for rows in steps for row, values in rows.items()}


@pytest.mark.parametrize("name", ["annotation-domain", "annotation-contrast", "annotation-top"])
def test_rows_and_columns_are_the_papers(found: list[StepResult], name: str) -> None:
    paper = paper_tables()[name]
    rows = table(found, name)
    assert set(rows) == {row.name for row in paper.rows}
    assert {len(values) for values in rows.values()} == {len(paper.columns)}


@pytest.mark.parametrize("name", ["annotation-unigrams", "annotation-5grams"])
def test_as_many_ngrams_as_in_the_paper(found: list[StepResult], name: str) -> None:
    (rows,) = [figures.ngrams[name] for figures in found if name in figures.ngrams]
    expected = Counter((row.side, row.end) for row in paper_tables()[name].rows)
    assert Counter((row["side"], row["end"]) for row in rows) == expected
    for side, end in expected:
        scores = [row["score"] for row in rows if (row["side"], row["end"]) == (side, end)]
        assert scores == sorted(scores, reverse=end == "top")


@pytest.mark.parametrize(
    ("name", "other"), [("annotation-domain", "Rev."), ("annotation-contrast", "Contrast")]
)
def test_subsets_add_up(found: list[StepResult], name: str, other: str) -> None:
    rows = table(found, name)
    right = {row: accuracy * n / 100 for row, (accuracy, n) in rows.items()}
    whole = f"Orig.+{other}"
    assert rows[whole][1] == 80

    def adds_up(row: str, *parts: str) -> None:
        assert rows[row][1] == sum(rows[part][1] for part in parts)
        assert right[row] == pytest.approx(sum(right[part] for part in parts), abs=1e-3)

    adds_up(whole, "Orig.", other)
    adds_up(whole, f"({whole}) and Neg.", f"({whole}) and Pos.")
    for side in ("Orig.", other):
        adds_up(side, f"{side} and Neg.", f"{side} and Pos.")
    for sentiment in ("Neg.", "Pos."):
        adds_up(f"({whole}) and {sentiment}", f"Orig. and {sentiment}", f"{other} and {sentiment}")


def test_accuracy_is_that_of_the_saved_model(run: Run, found: list[StepResult]) -> None:
    labeler = Labeler.load(run.folder / "models" / "annotation", device="cpu")
    rows = table(found, "annotation-domain")
    reviews = read_reviews(run.data)
    for side, documents, name in (("A", reviews.orig.test, "Orig."), ("B", reviews.rev.test, "Rev.")):
        for label in ("Negative", "Positive"):
            texts = [d.text for d in documents if d.label == label]
            hits = sum(said == side for said in labeler.predict(texts))
            assert rows[f"{name} and {label[:3]}."] == [pytest.approx(100 * hits / len(texts)), len(texts)]


def test_tokens_are_judged_by_what_was_revised(run: Run, found: list[StepResult]) -> None:
    """By hand: revisions of the sample change words in place, so position by position."""
    labeler = Labeler.load(run.folder / "models" / "annotation", device="cpu")
    reviews = read_reviews(run.data)
    said = changed = both = 0
    for original, revision in zip(reviews.orig.test, reviews.rev.test, strict=True):
        said += int(labeler.label([original.text])[0].decisions.sum())
        for a, b, decided in zip(
            original.tokens, revision.tokens, labeler.label([revision.text])[0].decisions, strict=True
        ):
            said, changed, both = said + int(decided), changed + (a != b), both + int(decided and a != b)
    rows = table(found, "annotation-tokens")
    assert rows["model"][:2] == pytest.approx([100 * both / said, 100 * both / changed], abs=1e-3)
    assert rows["model, boundary tuned on dev"][2] > rows["Random"][2] + 20
    kinds = ("model", "model, boundary tuned on dev", "Random")
    assert set(rows) == {kind + place for kind in kinds for place in ("", " | Contrast")}


def test_the_revisers_favourite_words_are_found(found: list[StepResult]) -> None:
    claim = found[0].claims["re-edits-detectable"]["Orig.+Rev., accuracy over one half"]
    assert claim["low"] > 10
    unigrams = found[2].ngrams["annotation-unigrams"]
    top = [row["name"] for row in unigrams if row["side"] == "Rev." and row["end"] == "top"]
    assert {"terrible", "great"} < set(top)
    first, second = (table(found, "annotation-top")[f"{n} revised review"][0] for n in ("first", "second"))
    assert first >= second > 0


def test_a_finished_run_trains_nothing_again(
    run: Run, found: list[StepResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("exaudit.experiments.run.train", fail)
    assert list(annotation(run)) == found
    (run.folder / "steps" / "annotation-contrast.json").unlink()  # as if killed before it was done
    again = list(annotation(run))[1]
    assert (again.tables, again.claims) == (found[1].tables, found[1].claims)


def test_the_model_is_trained_as_in_the_paper(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def model(self: Run, name: str, train: list[Document], dev: list[Document], **settings: Any) -> None:
        asked.update(settings, train=train, dev=dev)

    monkeypatch.setattr(Run, "model", model)
    module._model(Run(tmp_path, run.data, RunSettings(tune_encoder=True)), read_reviews(run.data))
    train, dev = asked.pop("train"), asked.pop("dev")
    assert asked == {"positive": "B", "data": "reviews", "tune_encoder": True}
    assert Counter(d.label for d in train) == {"A": 100, "B": 100}
    assert Counter(d.label for d in dev) == {"A": 40, "B": 40}


def test_diffs_go_from_the_revision_to_the_original() -> None:
    original = Document.from_text(
        "a good film , really", id="1", label="Positive", token_labels=list("01000")
    )
    revision = Document.from_text("a very bad film", id="2", label="Negative", token_labels=list("0000"))
    a, b = module._marked([original], [revision])
    assert (a.label, a.token_labels, a.meta["former_label"]) == ("A", tuple("00000"), "Positive")
    assert (b.label, b.token_labels, b.meta["former_label"]) == ("B", tuple("0111"), "Negative")


def test_pairs_are_drawn_together() -> None:
    always_one = np.array([[True, False] * 50, [False, True] * 50])  # one right in every pair
    assert module._over_half(always_one) == Difference(0.0, 0.0, 0.0)
    some = module._over_half(np.array([[True, True] * 50, [True, False] * 50]))
    assert some.value == 0.25
    assert 0.15 < some.low < 0.25 < some.high < 0.35


def test_negative_over_positive() -> None:
    negative = np.array([[True, False, True, False], [False, True, False, True]])
    right = np.array([[True, False, True, True], [False, True, False, True]])
    # negative reviews: right in all four pairs; positive ones: in the last pair alone
    assert module._negative_over_positive(right, negative).value == 0.75
    assert module._negative_over_positive(right, ~negative).value == -0.75


def test_a_review_that_is_not_found_is_said_to_be_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Features, "documents", lambda self, target, **_: [])
    figures = module._words(run, read_reviews(run.data))
    assert "annotation-top" not in figures.tables
    assert set(figures.missing["annotation-top"]) == {"first revised review", "second revised review"}


def test_a_tenth_of_the_data(data: Path, tmp_path: Path) -> None:
    run = Run(tmp_path, data, RunSettings(encoder="none", epochs=1, filters=10, fast=True), device="cpu")
    rows = table(list(annotation(run)), "annotation-domain")
    assert rows["Orig.+Rev."][1] == 8
