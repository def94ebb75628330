"""Comparison: no pair straddles the split, and what truly differs is found."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.analyse.comparison import Comparison, compare, mark_sides, split_by_group
from exaudit.analyse.report import compare_page, render
from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.model.model import Model
from exaudit.model.settings import Settings
from exaudit.model.train import train

WORDS = ["room", "soup", "night", "table", "city", "train", "garden", "music", "street", "winter"]


def pairs(count: int, *, start: int = 0, mark: str = "awful") -> tuple[list[Document], list[Document]]:
    """Originals, and revisions in which one word became `mark`."""
    a, b = [], []
    for n in range(start, start + count):
        draws = random.Random(n)
        words = [draws.choice(WORDS) for _ in range(8)]
        revised = words.copy()
        revised[draws.randrange(8)] = mark
        a.append(Document.from_text(" ".join(words), id=str(n), meta={"pair": f"p{n}"}))
        b.append(Document.from_text(" ".join(revised), id=str(n), meta={"pair": f"p{n}"}))
    return a, b


def settings() -> Settings:
    return Settings(
        encoder="none", filters=50, epochs=12, batch_size=8, vocabulary=200, word_dimension=50, device="cpu"
    )


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    a, b = pairs(200)
    return compare(a, b, settings=settings(), names=("originals", "revisions"), group="pair")


@given(st.integers(0, 5), st.integers(12, 60), st.randoms(use_true_random=False))
def test_a_pair_never_straddles_the_split(seed: int, count: int, draws: random.Random) -> None:
    documents = mark_sides(*pairs(count), "pair")
    split = split_by_group(documents, "pair", seed=seed)
    parts = [{d.meta["pair"] for d in part} for part in (split.train, split.dev, split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == count
    assert len(split.test) == 2 * round(count * 0.2)
    shuffled = documents.copy()
    draws.shuffle(shuffled)
    again = split_by_group(shuffled, "pair", seed=seed)
    assert {d.id for d in again.test} == {d.id for d in split.test}


def test_sides_are_marked_with_the_diff_to_the_pair() -> None:
    a = [Document.from_text("one of my favorite films", id="1", label="Positive", meta={"pair": "x"})]
    b = [Document.from_text("one of my least favorite films", id="1", label="Negative", meta={"pair": "x"})]
    original, revised = mark_sides(a, b, "pair")
    assert (original.label, revised.label) == ("A", "B")
    assert original.id != revised.id
    assert original.token_labels == ("0",) * 5
    assert revised.token_labels == ("0", "0", "0", "1", "0", "0")
    assert [d.token_labels for d in mark_sides(a, b, None)] == [None, None]


def test_a_frozen_encoder_is_given_more_epochs_than_elsewhere() -> None:
    def epochs(own: Settings) -> list[int]:
        seen: list[int] = []
        compare(*pairs(20), settings=own, group="pair", report=lambda record: seen.append(record["epoch"]))
        return seen

    small = Settings(encoder="none", filters=5, vocabulary=50, word_dimension=5, device="cpu")
    assert epochs(small) == list(range(1, 21))
    assert epochs(replace(small, epochs=3)) == [1, 2, 3]


def test_a_pair_or_two_prove_nothing() -> None:
    few = compare(*pairs(10), settings=settings(), group="pair")
    assert len(few.labelled) == 4
    low, high = few.interval()
    assert low < 0.5 < high  # even if all four are right


def test_what_differs_is_found(comparison: Comparison) -> None:
    low, high = comparison.interval()
    assert low <= comparison.counts.accuracy <= high
    assert comparison.counts.accuracy > 0.9
    assert comparison.chance == 0.5
    top = comparison.features.ngrams(1, 1, by="total", top=1)
    assert top[0].text == "awful"
    found = comparison.found()
    assert found is not None
    assert found["recall"] > 0.85
    assert len(comparison.split.test) == 80


def test_accuracy_within_former_labels() -> None:
    a, b = pairs(60)
    a, b = ([replace(d, label="even" if int(d.id) % 2 == 0 else "odd") for d in side] for side in (a, b))
    result = compare(a, b, settings=settings(), group="pair")
    rows = result.by_label()
    assert set(rows) == {"even", "odd"}
    assert sum(n for _, n in rows.values()) == len(result.labelled)
    right = sum(accuracy * n for accuracy, n in rows.values())
    assert right / len(result.labelled) == pytest.approx(result.counts.accuracy)


def test_training_never_sees_the_labels_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Document] = []

    def spy(own: Settings, documents: list[Document], dev: list[Document], **options: Any) -> Model:
        seen.extend([*documents, *dev])
        return train(own, documents, dev, **options)

    monkeypatch.setattr("exaudit.analyse.comparison.train", spy)
    a, b = pairs(40)
    result = compare(a, b, settings=settings(), group="pair")
    assert seen
    assert all(d.token_labels is None for d in seen)
    assert all(d.token_labels is not None for d in result.split.test)


def test_a_page_of_each_format(comparison: Comparison) -> None:
    page = compare_page(comparison, sizes=(1, 2), top=5)
    assert "What separates originals from revisions" in render(page, "html")
    assert "awful" in render(page, "md")
    assert '"accuracy"' in render(page, "json")
    assert "chance 50.0" in page.summary[1]


def test_held_out_files_are_used_as_they_are() -> None:
    a, b = pairs(60)
    test = pairs(20, start=1000)
    result = compare(a, b, settings=settings(), group="pair", test=test)
    assert {d.meta["pair"] for d in result.split.test} == {d.meta["pair"] for d in test[0]}
    assert len(result.split.train) + len(result.split.dev) == 120


def test_without_pairs_no_diffs_are_claimed() -> None:
    a, b = pairs(60)
    result = compare(a[:30], b[30:], settings=settings())
    assert result.found() is None
    assert "truly differ" not in render(compare_page(result), "html").split("<h2>")[1]


def test_bad_input() -> None:
    a, b = pairs(30)
    with pytest.raises(DataError, match="in the training files too"):
        compare(a, b, settings=settings(), group="pair", test=(a[:2], b[:2]))
    with pytest.raises(DataError, match=r"no column 'batch' to group it by.*'pair'"):
        compare(a, b, settings=settings(), group="batch")
    with pytest.raises(DataError, match="all of one side"):
        compare(a[:2], b[:2], settings=settings(), group="pair")
