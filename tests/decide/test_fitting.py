from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from exaudit.decide import KNN, KNNReport, Neighbours, fit_knn, fitting, sgn
from exaudit.errors import SettingError, SupportError

Make = Callable[..., Neighbours]
TRUTH = {
    "dist": KNN("dist", 6, tau=2.0, gamma=0.3, beta=-0.4),
    "const": KNN("const", 6, tau=1.0, gamma=0.3, beta=-0.4, raw_weights=(2.0, 1.0, 0.5, 0.0, -0.5, -2.0)),
    "equal": KNN("equal", 6, gamma=0.3, beta=-0.4),
}


def task(
    make_neighbours: Make, *, kind: str = "dist", noise: float = 0.0, n: int = 3000, seed: int = 1
) -> tuple[Neighbours, Any, Any]:
    """Tokens of 200 documents whose model is itself a K-NN, plus noise."""
    near = make_neighbours(n, 6, seed, unknown=False)
    rng = np.random.default_rng(seed)
    scores = TRUTH[kind].output(near) + noise * rng.normal(size=n)
    return near, scores, np.sort(rng.integers(0, 200, n))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@given(st.lists(st.tuples(st.floats(-8, 8), st.floats(-8, 8)), min_size=1, max_size=8))
def test_approximation_loss_is_the_papers(pairs: list[tuple[float, float]]) -> None:
    slow = 0.0
    for f, s in pairs:
        slow += -sigmoid(s) * math.log(sigmoid(f)) - (1 - sigmoid(s)) * math.log(1 - sigmoid(f))
    f_all, s_all = torch.tensor(pairs, dtype=torch.float64).unbind(dim=1)
    assert fitting.approximation_loss(f_all, s_all).item() == pytest.approx(slow / len(pairs), rel=1e-9)


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=8))
def test_weights_loss_is_the_papers(raw: list[float]) -> None:
    slow = -math.log(1 - sigmoid(min(raw))) - math.log(sigmoid(max(raw)))
    for k in range(len(raw) - 1):
        slow -= math.log(sigmoid(raw[k] - raw[k + 1]))
    slow /= len(raw) + 1
    assert fitting.weights_loss(torch.tensor(raw, dtype=torch.float64)).item() == pytest.approx(
        slow, rel=1e-9
    )


@pytest.mark.parametrize("kind", ["dist", "const", "equal"])
def test_the_first_step_has_the_papers_loss(make_neighbours: Make, kind: Any) -> None:
    near, scores, documents = task(make_neighbours, n=300)
    report = fit_knn(near, scores, documents, kind=kind, k=6, epochs=1, batch_documents=1000)  # one step
    learning = ~np.isin(documents, report.dev_documents)
    start = KNN.initial(kind, 6)
    slow = 0.0
    for f, s in zip(start.output(near[learning]), scores[learning], strict=True):
        slow += -sigmoid(s) * math.log(sigmoid(f)) - (1 - sigmoid(s)) * math.log(1 - sigmoid(f))
    slow /= learning.sum()
    if kind == "const":
        raw = torch.tensor(start.raw_weights, dtype=torch.float64)
        slow = 0.5 * (fitting.weights_loss(raw).item() + slow)
    assert report.history[0].loss == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("kind", ["dist", "const", "equal"])
def test_a_fit_reproduces_the_model_and_reports_the_truth(make_neighbours: Make, kind: Any) -> None:
    near, scores, documents = task(make_neighbours, kind=kind)
    report = fit_knn(near, scores, documents, kind=kind, k=6, seed=3)
    dev = np.isin(documents, report.dev_documents)
    start = KNN.initial(kind, 6)
    assert report.delta == (report.knn.predict(near[dev]) != sgn(scores[dev])).sum()
    assert report.delta < 0.5 * (start.predict(near[dev]) != sgn(scores[dev])).sum()
    assert report.tokens == dev.sum()
    assert report.agreement == pytest.approx(1 - report.delta / dev.sum())
    assert len(report.dev_documents) == math.ceil(len(np.unique(documents)) / 2)
    assert report.agreement > 0.97
    assert report.knn.gamma == pytest.approx(0.3, abs=0.1)
    assert report.knn.beta == pytest.approx(-0.4, abs=0.1)
    if kind == "const":
        assert list(report.knn.raw_weights) == sorted(report.knn.raw_weights, reverse=True)


def test_the_epoch_and_the_mismatch_mode_follow_the_paper(make_neighbours: Make) -> None:
    near, scores, documents = task(make_neighbours, noise=0.5)
    report = fit_knn(near, scores, documents, k=6, epochs=30)
    lowest, mode, chosen, modes = math.inf, False, 0, []
    for epoch in report.history:
        modes.append(mode)
        if epoch.delta < lowest:
            lowest, chosen, mode = epoch.delta, epoch.number, False
        elif epoch.delta > lowest:
            mode = True
    assert [epoch.mismatches_only for epoch in report.history] == modes
    assert (report.delta, report.epoch) == (lowest, chosen)
    assert [epoch.number for epoch in report.history] == list(range(1, 31))
    assert any(modes)
    assert not all(modes[1:])


def test_what_each_epoch_learns_from(make_neighbours: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    near, scores, documents = task(make_neighbours, noise=0.5)
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    real = fitting.approximation_loss

    def spy(output: torch.Tensor, target: torch.Tensor, counted: None) -> torch.Tensor:
        assert counted is None
        seen.append((output.detach().numpy(), target.numpy()))
        return real(output, target)

    monkeypatch.setattr(fitting, "approximation_loss", spy)
    report = fit_knn(near, scores, documents, k=6, epochs=12, batch_documents=50)
    learning = ~np.isin(documents, report.dev_documents)
    batches = math.ceil(len(np.unique(documents[learning])) / 50)
    assert len(seen) == 12 * batches  # noise leaves mismatches in every batch
    for epoch in report.history:
        part = seen[(epoch.number - 1) * batches : epoch.number * batches]
        outputs, targets = (np.concatenate(column) for column in zip(*part, strict=True))
        if epoch.mismatches_only:
            assert (sgn(outputs) != sgn(targets)).all()
        else:
            assert sorted(targets) == sorted(
                scores[learning]
            )  # each learning token once, no token of K-NN dev
    assert any(epoch.mismatches_only for epoch in report.history)


def test_ties_and_epochs_with_nothing_to_learn_from(
    make_neighbours: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, _, documents = task(make_neighbours)
    deltas = iter([5, 5, 9, 7, 5, 4, 6])  # a tie with the minimum neither enters nor leaves the mode
    real = KNN.predict

    def predict(knn: KNN, neighbours: Neighbours) -> Any:
        signs = real(knn, neighbours).copy()
        signs[:] = 1
        signs[: next(deltas)] = -1
        return signs

    monkeypatch.setattr(KNN, "predict", predict)
    # The first steps keep every output above zero, as the model's: nothing is left to learn from.
    high = replace_scores(near, 9.0)
    report = fit_knn(high, np.full(len(near), 9.0), documents, k=6, epochs=7)
    assert [epoch.loss is None for epoch in report.history] == [False, False, False, True, True, True, False]
    assert (report.epoch, report.delta) == (6, 4)


def replace_scores(near: Neighbours, score: float) -> Neighbours:
    return replace(near, scores=np.full_like(near.scores, score), labels=np.ones_like(near.labels))


def test_same_seed_same_bits_and_other_seed_other_halves(make_neighbours: Make) -> None:
    near, scores, documents = task(make_neighbours, noise=1.0, n=1000)

    def fit(seed: int) -> KNNReport:
        return fit_knn(near, scores, documents, k=4, epochs=5, seed=seed)

    state = torch.random.get_rng_state()
    first, again, other = fit(0), fit(0), fit(1)
    assert first.knn == again.knn
    assert first.history == again.history
    assert set(first.dev_documents) != set(other.dev_documents)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_document_names_may_be_strings_and_tokens_in_any_order(make_neighbours: Make) -> None:
    near, scores, documents = task(make_neighbours, n=400)
    order = np.random.default_rng(0).permutation(400)
    names = np.array([f"doc-{d}" for d in documents])
    report = fit_knn(near[order], scores[order], names[order], k=3, epochs=2)
    assert set(report.dev_documents) < set(names)
    scores.flags.writeable = False
    assert fit_knn(near, scores, names, k=3, epochs=2).tokens == np.isin(names, report.dev_documents).sum()


def test_token_labels_can_take_the_place_of_document_labels(make_neighbours: Make) -> None:
    near = make_neighbours(2000, 5, 2)
    truth = KNN("equal", 5, gamma=1.5, beta=0.1, use_token_labels=True)
    documents = np.arange(2000) // 10
    scores = truth.output(near)
    assert fit_knn(near, scores, documents, kind="equal", k=5, use_token_labels=True).agreement > 0.97
    assert fit_knn(near, scores, documents, kind="equal", k=5).agreement < 0.9
    bare = replace(near, token_labels=np.zeros_like(near.token_labels))
    with pytest.raises(SupportError, match="token label"):
        fit_knn(bare, scores, documents, k=5, use_token_labels=True)


def test_bad_input(make_neighbours: Make) -> None:
    near, scores, documents = make_neighbours(6, 3), np.ones(6), np.array([0, 0, 1, 1, 2, 2])
    with pytest.raises(SupportError, match=r"K = 4 .* only 3"):
        fit_knn(near, scores, documents, k=4)
    with pytest.raises(SettingError, match="but there are 6 tokens"):
        fit_knn(near, scores[:5], documents, k=2)
    with pytest.raises(SettingError, match="document of each token"):
        fit_knn(near, scores, documents[:5], k=2)
    with pytest.raises(SettingError, match="two documents or more"):
        fit_knn(near, scores, np.zeros(6, dtype=int), k=2)
    with pytest.raises(SettingError, match="two documents or more"):
        fit_knn(near[:0], [], [], k=2)
    with pytest.raises(SettingError, match="token 2 is not a finite number"):
        fit_knn(near, [1, 1, np.nan, 1, 1, 1], documents, k=2)
    with pytest.raises(SettingError, match="epochs"):
        fit_knn(near, scores, documents, k=2, epochs=0)
    with pytest.raises(SettingError, match="not one of"):
        fit_knn(near, scores, documents, kind="best", k=2)  # type: ignore[arg-type]


# -- the recipe of the paper's code, against a slow copy of it ---------------------------------------------------


def adadelta_by_hand(near: Neighbours, scores: Any, documents: Any, kind: str, k: int, epochs: int) -> tuple:
    """Every epoch's parameters and delta, as the paper's code trains them; halves and orders are those of fit_knn."""
    rng = np.random.default_rng(0)
    names = np.unique(documents)
    order = rng.permutation(len(names))
    learn, dev = names[order[: len(names) // 2]], names[np.sort(order[len(names) // 2 :])]
    tau = torch.nn.Parameter(torch.tensor(5.0 if kind == "const" else 10.0, dtype=torch.float64))
    gamma = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
    bias = torch.nn.Parameter(torch.tensor(0.0, dtype=torch.float64))
    support = torch.linspace(1.0, -1.0, k, dtype=torch.float64)
    support[0] = 2.0
    support = torch.nn.Parameter(support)
    optimizer = torch.optim.Adadelta([tau, gamma, bias, support], 1.0)
    criterion = torch.nn.BCEWithLogitsLoss(reduction="none")
    distances, logits, labels = (
        torch.from_numpy(part[:, :k].astype(np.float64))
        for part in (near.distances, near.scores, near.labels)
    )

    def output(tokens: Any) -> torch.Tensor:
        terms = torch.tanh(logits[tokens]) + gamma * labels[tokens]
        if kind == "equal":
            return terms.mean(1) + bias
        if kind == "const":
            weights = torch.exp(support / tau) / torch.exp(support / tau).sum()
            return (weights * terms).sum(1) + bias
        weights = torch.exp(-1 * distances[tokens] / tau)
        return (weights / weights.sum(1, keepdim=True) * terms).sum(1) + bias

    target, best, best_epoch, found = torch.from_numpy(scores), math.inf, -1, []
    dev_tokens = np.flatnonzero(np.isin(documents, dev))
    for epoch in range(epochs):
        shuffled = rng.permutation(len(learn))
        for start in range(0, len(learn), 50):
            chunk = [learn[d] for d in shuffled[start : start + 50]]
            tokens = np.concatenate([np.flatnonzero(documents == d) for d in chunk])
            optimizer.zero_grad()
            predicted = output(tokens)
            loss = criterion(predicted, torch.sigmoid(target[tokens]))
            if epoch != 0 and best_epoch != epoch - 1:
                loss = (torch.ne(torch.sign(predicted), torch.sign(target[tokens])) * loss).mean()
            else:
                loss = loss.mean()
            if kind == "const":
                limits = torch.cat([support[:-1] - support[1:], support.min()[None], support.max()[None]])
                wanted = torch.ones(k + 1, dtype=torch.float64)
                wanted[-2] = 0.0
                loss = (loss + (1 / len(limits)) * criterion(limits, wanted).mean()) / 2
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            delta = int(((output(dev_tokens) > 0) != (target[dev_tokens] > 0)).sum())
        if delta <= best:
            best, best_epoch = delta, epoch
            kept = (tau.item(), gamma.item(), bias.item(), *support.tolist())
        found.append(delta)
    return found, best_epoch + 1, kept


@pytest.mark.parametrize("kind", ["dist", "const", "equal"])
def test_the_paper_recipe_is_the_papers_code(make_neighbours: Make, kind: Any) -> None:
    near, scores, documents = task(make_neighbours, kind=kind, noise=0.5, n=1200)
    report = fit_knn(near, scores, documents, kind=kind, k=6, epochs=25, recipe="paper")
    deltas, epoch, (tau, gamma, beta, *weights) = adadelta_by_hand(near, scores, documents, kind, 6, 25)
    assert [one.delta for one in report.history] == deltas
    assert any(one.mismatches_only for one in report.history)
    assert report.epoch == epoch
    assert report.knn.gamma == pytest.approx(gamma, abs=1e-9)
    assert report.knn.beta == pytest.approx(beta, abs=1e-9)
    if kind != "equal":
        assert report.knn.tau == pytest.approx(tau, abs=1e-9)
    if kind == "const":
        assert report.knn.raw_weights == pytest.approx(tuple(weights), abs=1e-9)


def test_an_unknown_recipe_of_a_knn(make_neighbours: Make) -> None:
    near, scores, documents = task(make_neighbours, n=100)
    with pytest.raises(SettingError, match="unknown recipe 'sgd' of a K-NN; use one of stable, paper"):
        fit_knn(near, scores, documents, recipe="sgd")
