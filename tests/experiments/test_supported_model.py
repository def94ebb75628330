"""Documents under a model and its support set, counted again word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pytest
from sklearn.metrics import f1_score, fbeta_score

from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.experiments.recipe import OURS
from exaudit.experiments.scoring import Scored, TokenEvaluation, score
from exaudit.experiments.supported_model import Searched, SupportedModel
from exaudit.metrics import Counts, Difference, best_offset
from exaudit.model.model import Model
from exaudit.model.scores import TokenScores
from tiny import tiny_labeler

QUICK = replace(OURS, knn_epochs={"sentences": 5})


def learners(count: int, start: int = 0) -> list[Document]:
    return sample_documents("learner", count, seed=3, start=start)


def never(*_: object, **__: object) -> NoReturn:
    raise AssertionError("this was done before")


@pytest.fixture(scope="module")
def model() -> Model:
    labeler = tiny_labeler(epochs=8, learning_rate=5.0, batch_size=5, boundary="zero")
    labeler.fit([d.without_token_labels() for d in learners(150)], dev=learners(30, 150))
    return replace(labeler.model_, word_boundaries=(0.05,))  # so that a margin is not a score


@pytest.fixture(scope="module")
def support() -> list[Document]:
    return learners(60)


@pytest.fixture(scope="module")
def searched(model: Model, support: list[Document]) -> Searched:
    return SupportedModel(model, support).search(learners(40, 200))


def test_scored_documents_are_the_models_own(model: Model) -> None:
    documents = learners(20, 200)
    scored = score(model, documents)
    labelled = model.label(documents)
    assert scored.margins.tolist() == [
        m for one in labelled for m in (one.scores - np.float32(0.05)).tolist()
    ]
    assert scored.truth.tolist() == [int(label == "i") for d in documents for label in d.token_labels or ()]
    assert scored.targets.tolist() == [int(d.label == "i") for d in documents]
    assert scored.ends.tolist() == [sum(len(d.tokens) for d in documents[:n]) for n in range(21)]
    assert scored.document_of_token.tolist() == [n for n, d in enumerate(documents) for _ in d.tokens]
    right = [one.decision == int(d.label == "i") for one, d in zip(labelled, documents, strict=True)]
    assert scored.correct.tolist() == right
    assert scored.accuracy == sum(right) / 20
    decisions = [one.decision for one in labelled]
    assert scored.document_f1() == pytest.approx(f1_score(scored.targets, decisions, zero_division=0))


def test_documents_without_token_labels_have_no_truth(model: Model) -> None:
    some = [*learners(2), learners(1, 2)[0].without_token_labels()]
    assert score(model, some).truth.size == 0


def counted(scored: Scored, said: Sequence[bool], true: Sequence[bool], only: Sequence[bool]) -> list[Counts]:
    """Word by word."""
    table, word = [], 0
    for one in scored.scores:
        tp = fp = fn = tn = 0
        for _ in one.document.tokens:
            if only[word]:
                tp += said[word] and true[word]
                fp += said[word] and not true[word]
                fn += not said[word] and true[word]
                tn += not said[word] and not true[word]
            word += 1
        table.append(Counts(tp, fp, fn, tn))
    return table


def test_decisions_are_judged_word_by_word(searched: Searched) -> None:
    rng = np.random.default_rng(0)
    n = len(searched.margins)
    said, only, right = (rng.random(n) < 0.5 for _ in range(3))
    model, truth, every = searched.margins > 0, searched.truth > 0, np.ones(n, bool)
    assert 0 < model.sum() < n
    assert list(searched.evaluate().documents) == counted(searched, model, truth, every)
    assert list(searched.evaluate(said).documents) == counted(searched, said, truth, every)
    assert list(searched.evaluate(said, only=only).documents) == counted(searched, said, truth, only)
    assert list(searched.evaluate(said, truth=right).documents) == counted(searched, said, right, every)
    judged = searched.evaluate(said)
    assert judged.total == Counts.of(said, truth)
    assert judged.percent("f0.5", "recall") == pytest.approx(
        [100 * fbeta_score(truth, said, beta=0.5), 100 * (said & truth).sum() / truth.sum()]
    )


def test_one_way_over_another_is_the_difference_on_the_same_documents(searched: Searched) -> None:
    truth = searched.truth > 0
    perfect, model = searched.evaluate(truth), searched.evaluate()
    better = perfect.gain_over(model)
    assert better.value == pytest.approx(1 - model.metrics()["f0.5"])
    assert 0 < better.low <= better.value <= better.high <= 1
    assert perfect.gain_over(perfect) == Difference(0, 0, 0)
    precision = perfect.gain_over(model, "precision")
    assert precision.value == pytest.approx(1 - model.metrics()["precision"])
    with pytest.raises(ValueError, match="cannot be compared"):
        perfect.gain_over(TokenEvaluation(model.documents[1:]))


def brute(model: Model, support: Sequence[Document], queries: Sequence[TokenScores]) -> list[list[int]]:
    """The eight nearest words of the support set for every word, by float64 distances to all of them."""
    vectors = np.concatenate([np.asarray(s.exemplars) for s in model.label(support, exemplars=True)])
    near = []
    for one in queries:
        for vector in np.asarray(one.exemplars):
            squares = ((vectors.astype(np.float64) - vector.astype(np.float64)) ** 2).sum(1)
            near.append(np.argsort(squares, kind="stable")[:8].tolist())
    return near


@pytest.fixture(scope="module")
def words(model: Model, support: list[Document]) -> dict[str, list[Any]]:
    """Every word of the support set: its score, its document's label, its own label."""
    labelled = model.label(support)
    return {
        "score": [s for one in labelled for s in one.margins.tolist()],
        "document": [d.label for d in support for _ in d.tokens],
        "own": [label for d in support for label in d.token_labels or ()],
    }


def test_exemplars_are_the_nearest_words_of_the_support_set(
    model: Model, support: list[Document], searched: Searched, words: dict[str, list[Any]]
) -> None:
    expected = brute(model, support, searched.scores)
    vectors = np.concatenate([np.asarray(s.exemplars) for s in model.label(support, exemplars=True)])
    queries = np.concatenate([np.asarray(s.exemplars) for s in searched.scores])
    assert searched.neighbours.rows.shape == (len(searched.margins), 8)
    for word, rows in enumerate(expected):
        distances = np.sqrt(((vectors[rows].astype(np.float64) - queries[word]) ** 2).sum(1))
        np.testing.assert_allclose(searched.neighbours.distances[word], distances, atol=1e-4)
        own = searched.neighbours.rows[word]
        assert searched.neighbours.labels[word].tolist() == [
            1 if words["document"][r] == "i" else -1 for r in own
        ]
        assert searched.neighbours.token_labels[word].tolist() == [
            1 if words["own"][r] == "i" else -1 for r in own
        ]
        np.testing.assert_allclose(
            searched.neighbours.scores[word], [words["score"][r] for r in own], atol=1e-6
        )


def test_rules_decide_by_the_nearest_word(searched: Searched, words: dict[str, list[Any]]) -> None:
    nearest = searched.neighbours.rows[:, 0].tolist()
    positive = [margin > 0 for margin in searched.margins.tolist()]
    borne_out = [p and words["score"][r] > 0 for p, r in zip(positive, nearest, strict=True)]
    exag = [b and words["document"][r] == "i" for b, r in zip(borne_out, nearest, strict=True)]
    exat = [b and words["own"][r] == "i" for b, r in zip(borne_out, nearest, strict=True)]
    assert searched.exag().tolist() == exag
    assert searched.exat().tolist() == exat
    assert 0 < sum(exat) <= sum(exag) < sum(positive), "the rules have something to decide"


def test_the_support_set_grows_and_scored_documents_are_not_scored_again(
    model: Model, support: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    more, documents = learners(20, 300), learners(10, 200)
    supported = SupportedModel(model, support)
    before = supported.search(documents)
    supported.add(more)
    with monkeypatch.context() as patch:
        patch.setattr(Model, "iter_label", never)
        after = supported.search(Scored(before.scores, before.truth, before.targets))
    assert (after.neighbours.distances <= before.neighbours.distances + 1e-6).all()
    vectors = [
        np.concatenate([np.asarray(s.exemplars) for s in model.label(part, exemplars=True)])
        for part in (support, more)
    ]
    both = np.concatenate(vectors).astype(np.float64)
    queries = np.concatenate([np.asarray(s.exemplars) for s in before.scores]).astype(np.float64)
    nearest = [np.sqrt(((both - q) ** 2).sum(1).min()) for q in queries]
    np.testing.assert_allclose(after.neighbours.distances[:, 0], nearest, atol=1e-4)
    assert (after.neighbours.rows[:, 0] >= len(vectors[0])).any(), "some word has found a new neighbour"


def test_some_of_the_documents_are_what_they_are_among_all(searched: Searched) -> None:
    part = searched.subset(np.array([7, 2, 30]))
    assert [one.document.id for one in part.scores] == [searched.scores[n].document.id for n in (2, 7, 30)]
    ends = searched.ends
    places = np.concatenate([np.arange(ends[n], ends[n + 1]) for n in (2, 7, 30)])
    assert part.truth.tolist() == searched.truth[places].tolist()
    assert part.margins.tolist() == searched.margins[places].tolist()
    assert part.neighbours.rows.tolist() == searched.neighbours.rows[places].tolist()
    assert part.targets.tolist() == searched.targets[[2, 7, 30]].tolist()
    every = searched.evaluate().documents
    assert part.evaluate().documents == (every[2], every[7], every[30])


def test_the_k_nn_takes_the_models_place(searched: Searched) -> None:
    report = searched.fit_knn(QUICK, "sentences", "dist", 8)
    knn = report.knn
    near = searched.neighbours
    outputs = []
    for n in range(len(near)):
        weights = np.exp(-near.distances[n].astype(np.float64) / knn.tau)
        weights /= weights.sum()
        votes = np.tanh(near.scores[n].astype(np.float64)) + knn.gamma * near.labels[n]
        outputs.append(knn.beta + float((weights * votes).sum()))
    assert searched.knn(knn).tolist() == [output > 0 for output in outputs]
    held = searched.subset(report.dev_documents)
    assert report.agreement == pytest.approx((held.knn(knn) == (held.margins > 0)).mean())
    assert knn.offset == 0


def test_the_boundary_of_a_supervised_k_nn_is_the_best_on_the_half_that_chose(searched: Searched) -> None:
    report = searched.fit_knn(QUICK, "sentences", "dist", 8, supervised=True)
    assert report.knn.use_token_labels
    held = searched.subset(report.dev_documents)
    reached = held.evaluate(held.knn(report.knn)).metrics()["f0.5"]
    output = report.knn.output(held.neighbours)
    best = best_offset(output, held.truth)
    assert reached == pytest.approx(held.evaluate(output > best).metrics()["f0.5"])
    assert reached >= max(held.evaluate(output > edge).metrics()["f0.5"] for edge in output) - 1e-12


def test_measured_outputs_come_with_the_same_draws_every_time(searched: Searched) -> None:
    output = searched.margins.astype(np.float64)
    one, two = (searched.measured(output, searched.truth, "model") for _ in range(2))
    assert one.draws.tolist() == two.draws.tolist()
    assert one.output.tolist() == output.tolist()
    assert one.right.tolist() == searched.truth.tolist()
