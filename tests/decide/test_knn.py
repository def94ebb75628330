from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.decide import KNN, Neighbours
from exaudit.errors import ModelError, SettingError, SupportError

Make = Callable[..., Neighbours]
KINDS = ("dist", "const", "equal")
numbers = st.floats(-3, 3)


def some_knn(kind: Any, k: int, seed: int = 0, **more: Any) -> KNN:
    rng = np.random.default_rng(seed)
    tau, gamma, beta = float(rng.uniform(0.1, 20)), float(rng.normal()), float(rng.normal())
    raw = tuple(rng.normal(size=k).tolist()) if kind == "const" else ()
    return KNN(kind, k, tau, gamma, beta, raw, **more)


def slow_weights(knn: KNN, distances: list[float]) -> list[float]:
    if knn.kind == "equal":
        return [1 / knn.k] * knn.k
    inside = (
        [-d / knn.tau for d in distances] if knn.kind == "dist" else [w / knn.tau for w in knn.raw_weights]
    )
    top = max(inside)
    parts = [math.exp(x - top) for x in inside]
    return [part / sum(parts) for part in parts]


def slow_output(knn: KNN, near: Neighbours, i: int) -> float:
    labels = near.token_labels if knn.use_token_labels else near.labels
    weights = slow_weights(knn, near.distances[i, : knn.k].tolist())
    total = knn.beta
    for k in range(knn.k):
        total += weights[k] * (math.tanh(float(near.scores[i, k])) + knn.gamma * int(labels[i, k]))
    return total


@given(
    kind=st.sampled_from(KINDS),
    k=st.integers(1, 6),
    extra=st.integers(0, 3),
    n=st.integers(0, 12),
    seed=st.integers(0, 10**6),
    use_token_labels=st.booleans(),
)
def test_output_is_the_papers_formula(
    make_neighbours: Make, kind: str, k: int, extra: int, n: int, seed: int, use_token_labels: bool
) -> None:
    near = make_neighbours(n, k + extra, seed)
    knn = some_knn(kind, k, seed, use_token_labels=use_token_labels)
    weights, output = knn.weights(near), knn.output(near)
    assert weights.shape == (n, k)
    assert output.shape == (n,)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    for i in range(n):
        np.testing.assert_allclose(weights[i], slow_weights(knn, near.distances[i, :k].tolist()), rtol=1e-9)
        assert output[i] == pytest.approx(slow_output(knn, near, i), rel=1e-9, abs=1e-12)
        assert knn.predict(near)[i] == (1 if output[i] > 0 else -1)
        explanation = knn.explain(near, i)
        assert explanation.output == output[i]
        assert explanation.beta + sum(term.term for term in explanation.terms) == pytest.approx(
            output[i], abs=1e-12
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_has_the_same_output_in_any_company(make_neighbours: Make, kind: str) -> None:
    near, knn = make_neighbours(5000, 8), some_knn(kind, 8)
    whole = knn.output(near)
    assert all(whole[i] == knn.output(near[i : i + 1])[0] for i in range(0, 5000, 41))
    assert (whole[123:1000] == knn.output(near[123:1000])).all()


def test_extreme_temperatures(make_neighbours: Make) -> None:
    near = make_neighbours(40, 5)
    sharp = KNN("dist", 5, tau=1e-9).weights(near)
    assert np.isfinite(sharp).all()
    nearest = near.distances == near.distances[:, :1]
    np.testing.assert_allclose(sharp, nearest / nearest.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(KNN("dist", 5, tau=1e9).weights(near), 0.2, rtol=1e-6)


def test_starting_values() -> None:
    assert KNN.initial("dist", 8) == KNN("dist", 8, tau=10.0, gamma=1.0, beta=0.0)
    assert KNN.initial("const", 5).raw_weights == (2.0, 0.5, 0.0, -0.5, -1.0)
    assert KNN.initial("const", 1).raw_weights == (2.0,)


def test_explanation_names_each_exemplar() -> None:
    near = Neighbours([[3.0, 4.0]], [[1.0, -1.0]], [[1, -1]], [[0, 1]], [[70, 30]])  # type: ignore[arg-type]
    explanation = KNN("equal", 2, gamma=0.5, beta=-0.25).explain(near, 0, names=("fine", "faulty"))
    first, second = explanation.terms
    assert (first.row, first.distance, first.weight, first.label) == (70, 3.0, 0.5, 0.5)
    assert first.tanh == pytest.approx(math.tanh(1))
    assert second.term == pytest.approx(0.5 * (math.tanh(-1) - 0.5))
    assert (explanation.output, explanation.prediction) == (pytest.approx(-0.25), -1)
    page = explanation.render(texts=["some informations"])
    assert " ".join(page.splitlines()[1].split()) == "1 70 3.00 0.500 +0.762 +0.500 +0.631 some informations"
    assert page.splitlines()[-2].split() == ["beta", "-0.250"]
    assert " ".join(page.splitlines()[-1].split()) == "output -0.250 <= 0: fine"
    heading, first_line, *_, beta_line, output_line = page.splitlines()
    ends = {first_line.index("+0.631") + 6, beta_line.index("-0.250") + 6, output_line.index("-0.250") + 6}
    assert ends == {len(heading)}  # the last column lines up with its heading
    assert json.loads(json.dumps(explanation.to_json()))["terms"][1]["row"] == 30
    with pytest.raises(SettingError, match="token 1 asked for"):
        KNN("equal", 2).explain(near, 1)


def test_the_decision_boundary_moves_predictions_not_outputs(make_neighbours: Make) -> None:
    near, knn = make_neighbours(60, 3), some_knn("dist", 3)
    output = knn.output(near)
    moved = replace(knn, offset=float(np.median(output)))
    assert (moved.output(near) == output).all()
    assert (moved.predict(near) == np.where(output > np.median(output), 1, -1)).all()


@given(kind=st.sampled_from(KINDS), k=st.integers(1, 9), seed=st.integers(0, 10**6), offset=numbers)
def test_json_round_trip_is_exact(kind: str, k: int, seed: int, offset: float) -> None:
    knn = some_knn(kind, k, seed, use_token_labels=bool(seed % 2), offset=offset)
    again = KNN.from_json(json.loads(json.dumps(knn.to_json())))
    assert again == knn
    assert again.fingerprint() == knn.fingerprint()


def test_the_fingerprint_tells_parameters_apart() -> None:
    assert len({KNN("dist", 8, tau=t).fingerprint() for t in (1.0, math.nextafter(1.0, 2), 2.0)}) == 3


@pytest.mark.parametrize(
    "change", [{"tau": 0}, {"tau": "x"}, {"kind": "best"}, {"raw_weights": [1.0]}, {"more": 1}]
)
def test_damaged_json(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="K-NN"):
        KNN.from_json({**KNN.initial("dist", 3).to_json(), **change})
    with pytest.raises(ModelError, match="K-NN"):
        KNN.from_json(None)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "nearest"}, "not one of dist, const, equal"),
        ({"k": 0}, "1 or more"),
        ({"tau": 0.0}, "tau above zero"),
        ({"tau": -1.0}, "tau above zero"),
        ({"gamma": math.nan}, "finite"),
        ({"raw_weights": (1.0,)}, "has 0 learned weights, not 1"),
        ({"kind": "const", "raw_weights": (1.0,)}, "has 3 learned weights, not 1"),
    ],
)
def test_bad_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        KNN(**{"kind": "dist", "k": 3, **settings})


def test_k_larger_than_what_was_found(make_neighbours: Make) -> None:
    with pytest.raises(SupportError, match=r"K = 8 .* only 5"):
        KNN("equal", 8).output(make_neighbours(4, 5))
