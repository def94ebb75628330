"""Features: n-gram and document scores against a literal recount."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import several
from hypothesis import given
from hypothesis import strategies as st
from several import ONE_OF, SEVERAL, drawn

from exaudit.analyse.features import Features
from exaudit.analyse.report.feature_tables import feature_data, feature_rows, feature_tables
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.errors import SettingError
from exaudit.model.scores import TokenScores

LABELS = LabelSet.binary("neg", "pos")
BIAS = (0.25, -0.5)


def scored(
    text: str, contributions: Sequence[float], *, id: str = "1", predicted: int = 1, label: str | None = None
) -> TokenScores:
    """A document whose words contribute so much to the predicted class, and twice that to the other."""
    document = Document.from_text(text, id=id, label=label)
    own = np.array(contributions, dtype=np.float32)
    negative, positive = (2 * own, own) if predicted else (own, 2 * own)
    return TokenScores(
        document,
        1.0 if predicted else -1.0,
        negative + np.float32(BIAS[0]),
        positive + np.float32(BIAS[1]),
    )


def features(*labelled: TokenScores) -> Features:
    result = Features(LABELS, BIAS)
    for scores in labelled:
        result.add(scores)
    return result


documents = st.lists(
    st.tuples(
        st.lists(
            st.tuples(st.sampled_from(["a", "b", "c", "d"]), st.integers(-4, 4)), min_size=1, max_size=9
        ),
        st.integers(0, 1),
        st.sampled_from(["neg", "pos", None]),
    ),
    min_size=1,
    max_size=8,
)


def build(rows: list[tuple[list[tuple[str, int]], int, str | None]]) -> list[TokenScores]:
    return [
        scored(
            " ".join(w for w, _ in words),
            [s / 4 for _, s in words],
            id=f"d{n}",
            predicted=predicted,
            label=label,
        )
        for n, (words, predicted, label) in enumerate(rows)
    ]


@given(documents, st.integers(1, 5), st.integers(0, 1), st.sampled_from([None, 0, 1]))
def test_ngram_scores_equal_a_literal_recount(
    rows: list[tuple[list[tuple[str, int]], int, str | None]], size: int, target: int, truth: int | None
) -> None:
    totals: dict[tuple[str, ...], float] = defaultdict(float)
    occurrences: dict[tuple[str, ...], int] = defaultdict(int)
    frequency: dict[tuple[str, ...], int] = defaultdict(int)
    for words, predicted, label in rows:
        if truth is not None and label != LABELS.names[truth]:
            continue
        for start in range(len(words) - size + 1):
            gram = tuple(word for word, _ in words[start : start + size])
            frequency[gram] += 1
            if predicted == target:
                occurrences[gram] += 1
                totals[gram] += sum(score for _, score in words[start : start + size]) / 4
    made = features(*build(rows))
    for lowest in (False, True):
        for by in ("total", "mean"):
            found = made.ngrams(size, target, truth=truth, by=by, top=10**6, lowest=lowest)
            for gram in found:
                assert gram.total == pytest.approx(totals[gram.tokens], abs=1e-5)
                assert gram.occurrences == occurrences[gram.tokens]
                assert gram.frequency == frequency[gram.tokens]
            values = [gram.score(by) for gram in found]
            assert values == sorted(values, reverse=not lowest)
            if size == 1:  # nothing overlaps, so all are shown
                assert {gram.tokens for gram in found} == set(occurrences)


@given(documents)
def test_a_documents_score_is_the_sum_of_its_unigrams(
    rows: list[tuple[list[tuple[str, int]], int, str | None]],
) -> None:
    for scores in build(rows):
        made = features(scores)
        (document,) = made.documents(scores.decision)
        unigrams = made.ngrams(1, scores.decision, by="total", top=10**6)
        assert document.score == sum(gram.total for gram in unigrams)
        own = scores.positive - BIAS[1] if scores.decision else scores.negative - BIAS[0]
        assert document.score == pytest.approx(float(own.sum()), abs=1e-5)
        assert document.normalised == document.score / len(scores.document.tokens)


@given(documents, st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(
    rows: list[tuple[list[tuple[str, int]], int, str | None]], draws: random.Random
) -> None:
    labelled = build(rows)
    shuffled = labelled.copy()
    draws.shuffle(shuffled)
    one, other = features(*labelled), features(*shuffled)
    for size in (1, 2, 5):
        for target in (0, 1):
            for lowest in (False, True):
                asked = {"top": 5, "lowest": lowest}
                assert one.ngrams(size, target, **asked) == other.ngrams(size, target, **asked)  # type: ignore[arg-type]
    for target in (0, 1):
        assert one.documents(target) == other.documents(target)


def test_sums_of_awkward_numbers_are_exact_in_any_order() -> None:
    values = np.random.default_rng(0).normal(0, 30, 4000).astype(np.float32)
    texts = [scored("w x", [v, -v / 3], id=str(n)) for n, v in enumerate(values)]
    forward, backward = features(*texts), features(*texts[::-1])
    assert forward.ngrams(1, 1, by="mean") == backward.ngrams(1, 1, by="mean")
    (w,) = [gram for gram in forward.ngrams(1, 1) if gram.text == "w"]
    assert w.mean == pytest.approx(float(values.astype(np.float64).mean()), abs=2e-6)


def test_overlapping_ngrams_of_equal_score_are_shown_once() -> None:
    made = features(scored("it was a very bad film in the end", [0, 0, 0, 0, 3, 0, 0, 0, 0]))
    top = made.ngrams(3, 1, by="mean")
    assert [gram.text for gram in top] == ["a very bad", "film in the", "it was a"]
    assert [gram.mean for gram in top] == [3, 0, 0]
    apart = features(scored("one bad a b two awful", [0, 3, 0, 0, 0, 3]))
    assert [gram.text for gram in apart.ngrams(2, 1, by="mean", top=2)] == ["bad a", "two awful"]


def test_ties_stand_in_the_order_of_the_alphabet() -> None:
    made = features(scored("pear apple fig", [1, 1, 1]))
    assert [gram.text for gram in made.ngrams(1, 1)] == ["apple", "fig", "pear"]
    assert [gram.text for gram in made.ngrams(1, 1, lowest=True, top=2)] == ["apple", "fig"]


def test_errors_are_the_split_of_the_other_class() -> None:
    made = features(
        scored("good fun", [2, 1], id="right", label="pos"),
        scored("good grief", [1, 3], id="wrong", label="neg"),
        scored("grief", [5], id="no", predicted=0, label="neg"),
    )
    (grief, good) = made.ngrams(1, 1, truth=0, by="total")
    assert (grief.text, grief.total, grief.occurrences, grief.frequency) == ("grief", 3, 1, 2)
    assert (good.text, good.total) == ("good", 1)
    assert [d.id for d in made.documents(1, truth=0)] == ["wrong"]
    assert (made.count(1), made.count(1, 0), made.count(0, 1)) == (2, 1, 0)


def test_documents_by_raw_and_by_normalised_score() -> None:
    made = features(scored("a b c d", [1, 1, 1, 1], id="long"), scored("e", [3], id="short"))
    assert [d.id for d in made.documents(1, normalise=False)] == ["long", "short"]
    assert [d.id for d in made.documents(1)] == ["short", "long"]
    assert [d.id for d in made.documents(1, lowest=True, top=1)] == ["long"]
    assert made.documents(1)[1].text == "a b c d"
    assert made.documents(0) == []


def test_rare_ngrams_can_be_left_out() -> None:
    made = features(scored("odd word word", [9, 1, 1]))
    assert [gram.text for gram in made.ngrams(1, 1, minimum=2)] == ["word"]


def test_rounding_noise_of_the_bias_is_no_score() -> None:
    """A word that no filter chose has the bias as its score, up to the last bit of a mean over pieces."""
    scores = scored("x y", [0, 0])
    noisy = TokenScores(scores.document, 1.0, scores.negative, np.nextafter(scores.positive, np.float32(9)))
    assert [gram.total for gram in features(noisy).ngrams(1, 1)] == [0, 0]


def test_documents_may_come_after_questions() -> None:
    made = features()
    assert (made.ngrams(1, 1), made.documents(1), made.has_truth) == ([], [], False)
    made.add(scored("x y", [1, 2]))
    assert made.ngrams(1, 1)[0].text == "y"
    made.add(scored("z", [3], id="2"))
    assert made.ngrams(1, 1)[0].text == "z"


def test_bad_questions() -> None:
    made = features(scored("x", [1]))
    assert made.ngrams(2, 1) == []
    with pytest.raises(SettingError, match="1 or more, not 0"):
        made.ngrams(0, 1)
    with pytest.raises(SettingError, match="total or mean"):
        made.ngrams(1, 1, by="sum")  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [ONE_OF, SEVERAL], ids=["multiclass", "multilabel"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_any_number_of_classes_equals_a_slow_recount(labels: LabelSet, size: int) -> None:
    labelled = drawn(labels, 60)
    labelled[7] = replace(labelled[7], document=replace(labelled[7].document, label=None, token_labels=None))
    made = Features(labels, several.BIAS)
    for scores in labelled:
        made.add(scores)
    for target, name in enumerate(labels.names):
        for truth in (None, 0, 1, 2, "other"):
            totals: dict[tuple[str, ...], float] = defaultdict(float)
            occurrences: dict[tuple[str, ...], int] = defaultdict(int)
            frequency: dict[tuple[str, ...], int] = defaultdict(int)
            documents = []
            for scores in labelled:
                label = scores.document.label
                has = (label,) if isinstance(label, str) else label
                if truth == "other" and (has is None or name in has):
                    continue
                if isinstance(truth, int) and (has is None or labels.names[truth] not in has):
                    continue
                words = scores.document.tokens
                own = scores.views[target].positive - several.BIAS[target]
                for start in range(len(words) - size + 1):
                    gram = words[start : start + size]
                    frequency[gram] += 1
                    if target in scores.decided:
                        occurrences[gram] += 1
                        totals[gram] += float(own[start : start + size].sum())
                if target in scores.decided:
                    documents.append((scores.document.id, float(own.sum())))
            found = made.ngrams(size, target, truth=truth, by="total", top=10**6)  # type: ignore[arg-type]
            for gram in found:
                expected = totals[gram.tokens], occurrences[gram.tokens], frequency[gram.tokens]
                assert (gram.total, gram.occurrences, gram.frequency) == expected
            if size == 1:
                assert {gram.tokens for gram in found} == set(occurrences)
            ranked = made.documents(target, truth=truth, normalise=False, top=10**6)  # type: ignore[arg-type]
            assert sorted((d.id, d.score) for d in ranked) == sorted(documents)
            assert made.count(target, truth) == len(documents)  # type: ignore[arg-type]


def test_a_document_with_several_classes_is_counted_once_in_the_frequency() -> None:
    made = Features(SEVERAL, several.BIAS)
    for outputs in ([1, 1, -1], [-1, -1, -1]):
        made.add(several.scored("x", [[1, 2, 3]], outputs, labels=SEVERAL, label=("food", "travel")))
    for target, total in ((0, 0.75), (1, 2.5)):
        (gram,) = made.ngrams(1, target)
        assert (gram.total, gram.occurrences, gram.frequency) == (total, 1, 2)
    assert made.ngrams(1, 2) == []
    assert made.documents(0)[0].truth == (0, 2)
    assert made.count(1, "other") == 1


def test_tables_name_the_classes() -> None:
    made = Features(ONE_OF, several.BIAS)
    for scores in drawn(ONE_OF):
        made.add(scores)
    data = feature_data(made, sizes=(1,), by="mean", top=3)
    assert list(data) == list(ONE_OF.names)
    assert list(data["sport"]) == ["all", "truly sport", "truly another class"]
    counts = {among: split["documents"] for among, split in data["sport"].items()}
    assert counts["all"] == counts["truly sport"] + counts["truly another class"] > 0
    assert list(feature_data(made, sizes=(1,), by="mean", top=3, targets=[2])) == ["travel"]
    captions = [table.caption for table in feature_tables(made, sizes=(1,), by="mean", top=3)]
    assert "Unigrams of documents wrongly predicted travel, by mean score" in captions
    rows = list(feature_rows(data))
    assert {row["predicted"] for row in rows} == set(ONE_OF.names)
