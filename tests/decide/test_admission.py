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

from exaudit.decide import KNN, Admission, DocumentLimits, Neighbours, TokenLimits
from exaudit.errors import ModelError, SettingError, SupportError

Make = Callable[..., Neighbours]
MEAN_KNN = KNN("dist", 4, tau=5.0, gamma=0.8, beta=-0.1)
FIRST = KNN("equal", 1, gamma=0.0)  # output is tanh(s) of the nearest exemplar: easy to write by hand


def by_hand(rows: list[tuple[float, float, int]]) -> Neighbours:
    """One exemplar per token: (distance, output of FIRST, label of its document)."""
    distances, outputs, labels = (np.array(column)[:, None] for column in zip(*rows, strict=True))
    zeros = np.zeros((len(rows), 1), dtype=np.int64)
    return Neighbours(distances, np.arctanh(outputs), labels, zeros, zeros)


def admission(distance: Any = (20.0, 40.0), output: Any = (-0.5, 0.7), kind: Any = "both") -> Admission:
    return Admission(kind, TokenLimits(distance, output), FIRST.fingerprint(), "v7")


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), quantile=st.none() | st.floats(0.01, 1))
def test_token_limits_are_the_papers(
    make_neighbours: Make, seed: int, n: int, quantile: float | None
) -> None:
    near = make_neighbours(n, 4, seed)
    scores = np.random.default_rng(seed).normal(size=n)
    outputs = MEAN_KNN.output(near)
    wanted: dict[int, tuple[Any, Any]] = {}
    for sign in (-1, 1):
        distances, margins = [], []
        for i in range(n):
            predicted = 1 if outputs[i] > 0 else -1
            if predicted == sign and predicted == (1 if scores[i] > 0 else -1):
                distances.append(float(near.distances[i, 0]))
                margins.append(sign * float(outputs[i]))
        if not distances:
            wanted[sign] = (None, None)
        elif quantile is None:
            wanted[sign] = (sum(distances) / len(distances), sign * sum(margins) / len(margins))
        else:  # the tightest limit that this share of them stays within
            need = math.ceil(quantile * len(distances) - 1e-9)
            wanted[sign] = (sorted(distances)[need - 1], sign * sorted(margins, reverse=True)[need - 1])
    if wanted[-1] == wanted[1] == (None, None):
        with pytest.raises(SupportError, match="agrees with the model on no token"):
            TokenLimits.fit(MEAN_KNN, near, scores, quantile=quantile)
        return
    limits = TokenLimits.fit(MEAN_KNN, near, scores, quantile=quantile)
    for index, sign in enumerate((-1, 1)):
        assert limits.distance[index] == pytest.approx(wanted[sign][0])
        assert limits.output[index] == pytest.approx(wanted[sign][1])


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["distance", "magnitude", "both"]),
    distance=st.tuples(*[st.none() | st.floats(0, 60)] * 2),
    margin=st.tuples(*[st.floats(0, 1.5)] * 2),
)
def test_masks_are_the_rules_and_every_refusal_has_a_reason(
    make_neighbours: Make, seed: int, kind: Any, distance: Any, margin: tuple[float, float]
) -> None:
    near = make_neighbours(25, 4, seed)
    output: list[float | None] = [-margin[0], margin[1]]
    output = [None if distance[i] is None else output[i] for i in (0, 1)]
    limits = TokenLimits(distance, (output[0], output[1]))
    result = Admission(kind, limits, MEAN_KNN.fingerprint(), "1").tokens(MEAN_KNN, near)
    f = MEAN_KNN.output(near)
    for i in range(25):
        index = int(f[i] > 0)
        sign = 1 if f[i] > 0 else -1
        far, weak = limits.distance[index], limits.output[index]
        admitted = far is not None and weak is not None
        if far is not None and kind in ("distance", "both"):
            admitted = admitted and sign == near.labels[i, 0] and float(near.distances[i, 0]) <= far
        if weak is not None and kind in ("magnitude", "both"):
            admitted = admitted and (f[i] >= weak if sign > 0 else f[i] <= weak)
        assert result.admitted[i] == admitted
        reason = result.reason(i)
        assert reason is None if admitted else reason


@given(seed=st.integers(0, 10**6), looser=st.floats(0, 30), weaker=st.floats(0, 1))
def test_looser_limits_admit_no_fewer(make_neighbours: Make, seed: int, looser: float, weaker: float) -> None:
    near = make_neighbours(60, 4, seed)
    tight = Admission("both", TokenLimits((12.0, 15.0), (-0.6, 0.5)), MEAN_KNN.fingerprint(), "1")
    loose = replace(
        tight, token_limits=TokenLimits((12 + looser, 15 + looser), (-0.6 + weaker, 0.5 - weaker))
    )
    before, after = tight.tokens(MEAN_KNN, near).admitted, loose.tokens(MEAN_KNN, near).admitted
    assert not (before & ~after).any()
    alone = [replace(tight, kind=kind).tokens(MEAN_KNN, near).admitted for kind in ("distance", "magnitude")]
    assert (before == (alone[0] & alone[1])).all()  # type: ignore[operator]


@pytest.mark.parametrize("quantile", [0.5, 0.9, 1.0])
def test_a_quantile_is_the_share_it_keeps(make_neighbours: Make, quantile: float) -> None:
    near = make_neighbours(500, 4, unknown=False)
    scores = MEAN_KNN.output(near)  # every approximation is correct
    fitted = Admission.fit(MEAN_KNN, near, scores, support_version="1", quantile=quantile, kind="magnitude")
    kept = fitted.tokens(MEAN_KNN, near).admitted
    for positive in (False, True):
        assert quantile <= kept[(scores > 0) == positive].mean() <= min(1, quantile + 0.02)


def test_reasons_in_words_and_numbers() -> None:
    near = by_hand([
        (10.0, 0.9, 1),
        (52.06, 0.9, 1),
        (10.0, 0.9, -1),
        (10.0, 0.31, 1),
        (10.0, -0.31, -1),
        (40.01, 0.9, 1),
        (52.06, 0.31, 0),
    ])  # fmt: skip
    result = admission().tokens(FIRST, near)
    assert result.admitted.tolist() == [True] + [False] * 6
    assert [result.reason(i) for i in range(7)] == [
        None,
        "nearest exemplar at 52.1, limit 40.0",
        "K-NN says positive but the nearest exemplar's document is negative",
        "K-NN output 0.31, needs at least 0.70",
        "K-NN output -0.31, needs at most -0.50",
        "nearest exemplar at 40.01, limit 40.00",
        "K-NN says positive but the nearest exemplar's document has no label; nearest exemplar at 52.1, limit 40.0; "
        "K-NN output 0.31, needs at least 0.70",
    ]
    assert result.reason(2, names=("fine", "faulty")) == (
        "K-NN says faulty but the nearest exemplar's document is fine"
    )
    unseen = admission((20.0, None), (-0.5, None)).tokens(FIRST, near)
    assert "never said rightly" in str(unseen.reason(0))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
def test_document_limits_are_the_papers(documents: list[tuple[int, int, bool]]) -> None:
    of_token, mask = [], []
    for d, (yes, no, _) in enumerate(documents):
        of_token += [d] * (yes + no)
        mask += [True] * yes + [False] * no
    admitted, right = np.array(mask, dtype=bool), [correct for *_, correct in documents]
    order = np.random.default_rng(0).permutation(len(of_token))
    admitted, positions = admitted[order], np.array(of_token, dtype=np.int64)[order]
    if not any(right):
        with pytest.raises(SupportError, match="right on no document"):
            DocumentLimits.fit(admitted, positions, right)
        return
    limits = DocumentLimits.fit(admitted, positions, right, use_count=True)
    shares = [yes / (yes + no) if yes + no else 0.0 for yes, no, _ in documents]
    assert limits.share == max(
        [share for share, correct in zip(shares, right, strict=True) if not correct], default=0
    )
    counts = [yes for yes, _, correct in documents if correct]
    mean = sum(counts) / len(counts)
    deviation = math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts))
    assert limits.count == pytest.approx((mean - deviation, mean + deviation))

    by_share = replace(admission(), document_limits=replace(limits, count=None))
    result = by_share.documents(admitted, positions, len(documents))
    assert result.admitted.tolist() == [share > limits.share for share in shares]
    assert not (result.admitted & ~np.array(right)).any()  # every admitted dev document is right
    by_both = replace(by_share, document_limits=limits).documents(admitted, positions, len(documents))
    assert limits.count is not None
    for d, (yes, *_) in enumerate(documents):
        assert by_both.admitted[d] == (shares[d] > limits.share and limits.count[0] <= yes <= limits.count[1])
        reason = by_both.reason(d)
        assert reason is None if by_both.admitted[d] else reason


def test_document_reasons() -> None:
    of_token = np.array([0] * 120 + [1] * 10 + [3] * 10)
    admitted = np.zeros(140, dtype=bool)
    admitted[:3] = admitted[120:128] = admitted[130] = True
    limits = DocumentLimits(0.1, (2.0, 6.5))
    result = replace(admission(), document_limits=limits).documents(admitted, of_token, 4)
    assert [result.reason(d) for d in range(4)] == [
        "3 of 120 tokens admitted (2.5%), needs more than 10.0%",
        "8 tokens admitted, needs 2.0 to 6.5",
        "the document has no tokens",
        "1 of 10 tokens admitted (10.0%), needs more than 10.0%; 1 tokens admitted, needs 2.0 to 6.5",
    ]


def test_fit_documents_counts_the_admitted_tokens() -> None:
    near = by_hand(
        [(1.0, 0.9, 1), (1.0, 0.9, 1), (90.0, 0.9, 1), (1.0, 0.9, 1), (90.0, 0.9, 1), (90.0, 0.9, 1)]
    )
    fitted = admission().fit_documents(FIRST, near, [0, 0, 0, 1, 1, 1], [True, False])
    assert fitted.document_limits == DocumentLimits(1 / 3)
    result = fitted.documents(fitted.tokens(FIRST, near).admitted, [0, 0, 0, 1, 1, 1], 2)
    assert result.admitted.tolist() == [True, False]


def test_limits_know_what_they_were_fitted_on(make_neighbours: Make) -> None:
    near = make_neighbours(50, 4)
    fitted = Admission.fit(MEAN_KNN, near, np.ones(50), support_version="v7")
    assert not fitted.is_stale("v7")
    assert fitted.is_stale("v8")
    with pytest.raises(SupportError, match="another K-NN"):
        fitted.tokens(replace(MEAN_KNN, gamma=0.81), near)


@given(
    distance=st.tuples(*[st.none() | st.floats(0, 99)] * 2),
    share=st.none() | st.floats(0, 1),
    count=st.none() | st.tuples(st.floats(0, 9), st.floats(9, 99)),
    quantile=st.none() | st.floats(0.1, 1),
)
def test_json_round_trip_is_exact(distance: Any, share: Any, count: Any, quantile: Any) -> None:
    documents = None if share is None else DocumentLimits(share, count)
    output = tuple(None if limit is None else limit / 7 for limit in distance)
    before = replace(admission(distance, output), document_limits=documents, quantile=quantile)
    assert Admission.from_json(json.loads(json.dumps(before.to_json()))) == before


@pytest.mark.parametrize(
    "change", [{"kind": "all"}, {"token_limits": {}}, {"token_limits": {"distance": [1], "output": [1, 2]}}]
)
def test_damaged_json(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="damaged admission limits"):
        Admission.from_json({**admission().to_json(), **change})
    with pytest.raises(ModelError, match="damaged admission limits"):
        Admission.from_json(None)


def test_bad_input(make_neighbours: Make) -> None:
    near = make_neighbours(4, 4)
    with pytest.raises(SettingError, match="above 0 and at most 1"):
        TokenLimits.fit(MEAN_KNN, near, np.ones(4), quantile=0.0)
    with pytest.raises(SettingError, match="but there are 4 tokens"):
        TokenLimits.fit(MEAN_KNN, near, np.ones(3))
    with pytest.raises(SupportError, match="no token"):
        TokenLimits.fit(MEAN_KNN, near[:0], [])
    with pytest.raises(SupportError, match="no document limits"):
        admission().documents(np.ones(1, dtype=bool), [0], 1)
    with pytest.raises(SettingError, match="or neither"):
        TokenLimits((1.0, None), (-1.0, 1.0))
    with pytest.raises(SettingError, match="not one of distance"):
        admission(kind="none")
    with pytest.raises(SettingError, match="must be alike"):
        DocumentLimits.fit(np.ones(2, dtype=bool), [0], [True])
    for document in (-1, 1):
        with pytest.raises(SettingError, match="from 0 to 0"):
            DocumentLimits.fit(np.ones(1, dtype=bool), [document], [True])
    assert admission().tokens(FIRST, make_neighbours(0, 1)).admitted.shape == (0,)


@given(seed=st.integers(0, 10**6), n=st.integers(20, 60))
def test_the_paper_recipe_takes_distances_of_agreeing_matches_only(
    make_neighbours: Make, seed: int, n: int
) -> None:
    near = make_neighbours(n, 4, seed)
    scores = np.random.default_rng(seed).normal(size=n)
    outputs = MEAN_KNN.output(near)
    limits = TokenLimits.fit(MEAN_KNN, near, scores, paper=True)
    for index, sign in enumerate((-1, 1)):
        distances, margins = [], []
        for i in range(n):  # as the paper's code collects them
            approximation_is_correct = (outputs[i] > 0) == (scores[i] > 0)
            if approximation_is_correct and (outputs[i] > 0) == (sign > 0):
                margins.append(float(outputs[i]))
                if near.labels[i, 0] == sign:
                    distances.append(float(near.distances[i, 0]))
        if distances:
            assert limits.distance[index] == pytest.approx(sum(distances) / len(distances))
            assert limits.output[index] == pytest.approx(sum(margins) / len(margins))
        else:
            assert limits.distance[index] is None


def test_the_paper_recipe_counts_documents_with_an_admitted_token_only() -> None:
    of_token = np.repeat(np.arange(4), 4)
    admitted = np.array([0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0], dtype=bool)  # 0, 2, 4 and 1 of 4
    right = [True, True, True, False]
    assert DocumentLimits.fit(admitted, of_token, right, use_count=True).count == pytest.approx(
        (2 - math.sqrt(8 / 3), 2 + math.sqrt(8 / 3))
    )
    limits = DocumentLimits.fit(admitted, of_token, right, use_count=True, paper=True)
    assert limits.count == (2.0, 4.0)
    assert limits.share == 0.25


def test_the_recipe_is_kept(make_neighbours: Make) -> None:
    near = make_neighbours(30, 4, 0)
    fitted = Admission.fit(
        MEAN_KNN, near, np.random.default_rng(0).normal(size=30), support_version="", recipe="paper"
    )
    assert Admission.from_json(fitted.to_json()) == fitted
    earlier = {name: value for name, value in fitted.to_json().items() if name != "recipe"}
    assert Admission.from_json(earlier).recipe == "stable"
    with pytest.raises(SettingError, match="unknown recipe 'x' of admission"):
        replace(fitted, recipe="x")
