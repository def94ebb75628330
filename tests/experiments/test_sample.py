"""The made-up corpora: all readers of the experiments read them, and find what the paper's data have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.experiments import corpora
from exaudit.experiments.sample import write_corpora


def labels(documents: Sequence[Document]) -> Counter[str | None]:
    return Counter(document.label for document in documents)


def test_fce(data: Path) -> None:
    fce = corpora.read_fce(data)
    assert [len(part) for part in (fce.train, fce.dev, fce.test)] == [300, 60, 60]
    for part in (fce.train, fce.dev, fce.test):
        assert 0.4 < labels(part)["i"] / len(part) < 0.8
        assert all(("i" in (d.token_labels or ())) == (d.label == "i") for d in part)
    texts = [d.text for part in (fce.train, fce.dev, fce.test) for d in part]
    assert len(set(texts)) == len(texts)


def test_news(data: Path) -> None:
    news = corpora.read_news(data)
    # of 300 sentences a tenth for test and one for dev; the rest, and the supplement of 60, for support
    assert (len(news.test), len(news.support), news.genuine) == (30, 300, 240)
    assert all(set(d.token_labels or ()) == {"c"} for d in (*news.test, *news.support))
    fce = corpora.read_fce(data)
    learners = {d.tokens for part in (fce.train, fce.dev, fce.test) for d in part}
    texts = [d.tokens for d in (*news.test, *news.support)]
    assert len(set(texts)) == len(texts)
    assert learners.isdisjoint(texts)


def test_news_of_full_size_is_divided_as_in_the_paper(tmp_path: Path) -> None:
    folder = tmp_path / "news_1b"
    folder.mkdir()
    for n, name in enumerate(("10_11", "12_13")):
        lines = (f"{n} {i}\n" for i in range(12_000))
        (folder / f"1bw_heldout_{name}.tokens").write_text("".join(lines), encoding="utf-8")
    news = corpora.read_news(tmp_path)
    assert (len(news.test), len(news.support), news.genuine) == (2000, 20_000, 20_000)


def test_reviews(data: Path) -> None:
    reviews = corpora.read_reviews(data)
    for part, size in (("train", 100), ("dev", 40), ("test", 40)):
        orig, rev = getattr(reviews.orig, part), getattr(reviews.rev, part)
        assert labels(orig) == labels(rev) == {"Negative": size // 2, "Positive": size // 2}
        for a, b in zip(orig, rev, strict=True):
            assert {a.label, b.label} == {"Negative", "Positive"}
            assert a.meta["batch_id"] == b.meta["batch_id"]
            changed = {str(d.label): (d.token_labels or ()).count("1") for d in (a, b)}
            assert changed["Negative"] == 0
            assert 0 < changed["Positive"] < len(a.tokens) / 2


def test_a_revision_has_the_opposite_words(data: Path) -> None:
    reviews = corpora.read_reviews(data)
    a, b = reviews.orig.train[2], reviews.rev.train[2]
    assert (a.label, b.label) == ("Positive", "Negative")
    differing = [(x, y) for x, y in zip(a.tokens, b.tokens, strict=True) if x != y]
    assert differing == [("dreadful", "good"), ("an", "a"), ("elegant", "terrible"),
                         ("mouth-watering.", "bad."), ("great,", "bad,")]  # fmt: skip


def test_the_large_set_holds_the_originals_and_more_without_the_leaks(data: Path) -> None:
    reviews = corpora.read_reviews(data)
    assert len(reviews.orig_19k) == 100 + 320
    assert len(reviews.shared) == 100
    held_out = {d.text for split in (reviews.orig, reviews.rev) for d in (*split.dev, *split.test)}
    assert held_out.isdisjoint(d.text for d in reviews.orig_19k)
    assert 0.4 < labels(reviews.orig_19k)["Positive"] / 420 < 0.6


def test_contrast_set(data: Path) -> None:
    contrast, reviews = corpora.read_contrast(data), corpora.read_reviews(data)
    assert [d.text for d in contrast.original] == [d.text for d in reviews.orig.test]
    for a, b in zip(contrast.original, contrast.revised, strict=True):
        assert {a.label, b.label} == {"Negative", "Positive"}
        assert ((a if a.label == "Positive" else b).token_labels or ()).count("1") > 0
    differing = sum(
        a.text != b.text for a, b in zip(contrast.revised, reviews.rev.test, strict=True)
    )  # by other people
    assert differing > 20


def test_tweets_are_balanced_and_not_neutral(data: Path) -> None:
    tweets = corpora.read_tweets(data)
    assert labels(tweets) == {"Negative": 40, "Positive": 40}
    assert len({d.id for d in tweets}) == 80


def test_a_tenth_has_both_classes_of_everything(data: Path) -> None:
    fce, reviews = corpora.read_fce(data, fast=True), corpora.read_reviews(data, fast=True)
    parts = [fce.train, fce.dev, fce.test, reviews.orig_19k, corpora.read_tweets(data, fast=True)]
    parts += [part for s in (reviews.orig, reviews.rev) for part in (s.train, s.dev, s.test)]
    assert all(len(labels(part)) == 2 for part in parts)
    assert len(reviews.orig.train) == len(reviews.shared) == 10
    assert corpora.read_news(data, fast=True).test
    assert corpora.read_contrast(data, fast=True).revised


def test_the_same_seed_gives_the_same_bytes(data: Path, tmp_path: Path) -> None:
    def contents(folder: Path) -> dict[str, bytes]:
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    again = contents(write_corpora(tmp_path / "again"))
    assert len(again) == 13
    assert again == contents(data)
    other = contents(write_corpora(tmp_path / "other", seed=1))
    assert all(other[name] != again[name] for name in again)


def test_a_corpus_that_is_missing_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="exaudit data fetch imdb_cad"):
        corpora.read_reviews(tmp_path)
