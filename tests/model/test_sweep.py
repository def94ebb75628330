"""How much of the evidence goes with the strongest words, on documents whose evidence is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.model import choices
from exaudit.model import sweep as module
from exaudit.model.choices import Known, _by_erasure_and_excess
from exaudit.model.sweep import EFFECTS, SHARES, Sweep


@dataclass
class Additive:
    """Stands in for a model whose output is the sum of what its words weigh, and no less than `floor`."""

    weights: dict[str, list[float]]
    floor: float = -np.inf
    read: list[int] = field(default_factory=list)

    def outputs(
        self, documents: Sequence[Document], erased: Sequence[NDArray[np.bool_]], *, desc: str | None = None
    ) -> NDArray[np.float64]:
        self.read.append(len(documents))
        found = []
        for document, flags in zip(documents, erased, strict=True):
            left = [self.weights[word] for word, gone in zip(document.tokens, flags, strict=True) if not gone]
            found.append(np.maximum(np.sum(left, 0), self.floor))
        return np.array(found)


def made(
    model: Additive, texts: Sequence[str]
) -> tuple[list[Document], list[NDArray[Any]], NDArray[np.float64]]:
    documents = [Document.from_tokens(text.split()) for text in texts]
    scores = [np.array([model.weights[word] for word in d.tokens]) for d in documents]
    return documents, scores, np.array([own.sum(0) for own in scores])


def test_lies_between_the_words_that_are_needed_and_the_rest() -> None:
    model = Additive({"cue": [8.0], "hint": [0.2], "the": [-0.1]})
    texts = ["the the cue " + "the " * 20 + "hint"] * 10 + ["the " * 23 + "hint"] * 10
    documents, scores, outputs = made(model, texts)
    found = Sweep.over(model, documents, scores, outputs, np.array([[1]] * 10 + [[0]] * 10))  # type: ignore[arg-type]
    assert found is not None
    assert found.tells
    assert found.few
    assert 0.2 <= found.boundary(0.88)[0] < 8
    assert found.boundary(0.8)[0] >= found.boundary(0.88)[0]


def test_finds_one_word_in_a_thousand() -> None:
    others = {f"w{n}": [n * 1e-6 * (-1) ** n] for n in range(1500)}
    model = Additive(others | {"cue": [8.0], "not": [-1.0]})
    texts = [f"{' '.join(others)} {last}" for last in ["cue"] * 10 + ["not"] * 10]
    documents, scores, outputs = made(model, texts)
    found = Sweep.over(model, documents, scores, outputs, np.array([[1]] * 10 + [[0]] * 10))  # type: ignore[arg-type]
    assert found is not None
    for effect in EFFECTS.values():
        assert max(others.values())[0] < found.boundary(effect)[0] < 8


def test_goes_down_where_many_words_say_the_same() -> None:
    model = Additive({"fine": [1.0], "nice": [0.8], "film": [0.0]})
    texts = ["fine nice film film " * 6] * 8 + ["film film film film " * 6] * 8
    documents, scores, outputs = made(model, texts)
    found = Sweep.over(model, documents, scores, outputs, np.array([[1]] * 8 + [[0]] * 8))  # type: ignore[arg-type]
    assert found is not None
    assert found.boundary(0.88)[0] < 0.8


def test_effects_are_the_fall_beyond_random_words_by_hand() -> None:
    draws = np.random.default_rng(2)
    model = Additive({str(n): [float(w)] for n, w in enumerate(draws.normal(0, 1, 60))})
    texts = [" ".join(map(str, draws.integers(0, 60, 30))) for _ in range(12)]
    documents, scores, outputs = made(model, texts)
    truth = (outputs > np.median(outputs)).astype(int)
    found = Sweep.over(model, documents, scores, outputs, truth)  # type: ignore[arg-type]
    assert found is not None
    mine = [i for i in range(12) if truth[i, 0]]
    order = [i for i, _ in np.random.default_rng(0).permutation(np.argwhere(truth)).tolist()]
    assert sorted(order) == mine
    pool = np.concatenate([scores[i][:, 0] for i in mine])
    whole = np.mean([outputs[i, 0] for i in mine])
    without = np.mean([outputs[i, 0] for i in range(12) if not truth[i, 0]])
    coins = np.random.default_rng(0)
    at_random = [coins.permutation(30) for _ in order]
    gains = []
    for share, boundary in zip(SHARES, found.boundaries[:, 0], strict=False):
        assert boundary == pytest.approx(np.quantile(pool, 1 - share))
        left, control = [], []
        for i, places in zip(order, at_random, strict=True):
            own = scores[i][:, 0]
            gone = places < (own > boundary).sum()
            left.append(sum(s for s in own if s <= boundary))
            control.append(sum(s for s, g in zip(own, gone, strict=True) if not g))
        gains.append((np.mean(control) - np.mean(left)) / (whole - without))
    assert found.peak == pytest.approx(max(gains))
    expected = [max(0.0, *gains[: n + 1], 0.0) / max(gains) for n in range(len(gains))]
    assert found.effects.tolist() == pytest.approx(expected)
    assert len(gains) == len(SHARES) or gains[-1] < 0.8 * max(gains)


def test_where_outputs_stay_high_the_fall_is_over_all_the_same() -> None:
    model = Additive({"cue": [8.0], "the": [0.0], "not": [-4.0]}, floor=2.0)
    texts = ["the the cue " + "the " * 20] * 10 + ["the " * 22 + "not"] * 10
    documents, scores, _ = made(model, texts)
    outputs = np.array([[8.0]] * 10 + [[-4.0]] * 10)
    found = Sweep.over(model, documents, scores, outputs, np.array([[1]] * 10 + [[0]] * 10))  # type: ignore[arg-type]
    assert found is not None
    assert 0.3 < found.peak <= 0.5
    assert found.needed == pytest.approx(1, abs=0.05)
    assert found.few
    assert found.left == 1 - found.peak
    assert found.effects[-1] == 1
    assert 0 <= found.boundary(0.88)[0] < 8


@pytest.mark.parametrize(
    ("cues", "floor", "hidden"), [(1, -np.inf, 1 / 9), (40, -np.inf, 0.5), (1, 4.0, 0.3), (1, 1.0, 2 / 9)]
)
@pytest.mark.parametrize("shown", [1.0, 0.5])
def test_between_erasure_and_excess(
    cues: int, floor: float, hidden: float, shown: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half way where all needed words show. The less is left without them, the fewer others are thought to hide. Where
    it takes many, excess alone."""
    texts = ["the " * 300 + "cue " * cues] * 10 + ["the " * 300 + "not"] * 10
    model = Additive({"cue": [8.0 / cues], "the": [0.0], "not": [-1.0]}, floor)
    documents, scores, _ = made(model, texts)
    outputs = np.array([[8.0]] * 10 + [[-1.0]] * 10)  # the way from the one to the other is 9
    truth = np.array([[1]] * 10 + [[0]] * 10)
    excess, asked = {"f1": (-100.0,), "f0.5": (-50.0,)}, []

    def by_excess(words: Any, shown: Any, of_class: Any, hidden: float) -> dict[str, tuple[float, ...]]:
        asked.append(hidden)
        return excess

    monkeypatch.setattr(choices, "_by_excess", by_excess)
    monkeypatch.setattr(
        choices, "shown", lambda known: np.concatenate([np.full((len(s), 1), shown) for s in known.scores])
    )
    found = _by_erasure_and_excess(Known(model, documents, scores, outputs, truth), scores, ())  # type: ignore[arg-type]
    sweep = Sweep.over(model, documents, scores, outputs, truth)  # type: ignore[arg-type]
    assert found is not None
    assert sweep is not None
    assert asked == [pytest.approx(hidden)]
    part = 0 if cues == 40 else shown / 2
    for name, effect in (("f1", 0.95), ("f0.5", 0.85)):
        erasure = sweep.boundary(effect)[0]
        assert 0 <= erasure < 8 / cues
        assert found[name] == pytest.approx((part * erasure + (1 - part) * excess[name][0],))


def test_where_no_word_shows_erasure_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Additive({"cue": [8.0], "the": [0.0], "not": [-1.0]})
    documents, scores, outputs = made(model, ["the " * 30 + "cue"] * 10 + ["the " * 30 + "not"] * 10)
    truth = np.array([[1]] * 10 + [[0]] * 10)
    monkeypatch.setattr(choices, "shown", lambda known: np.zeros((20 * 31, 1)))
    found = _by_erasure_and_excess(Known(model, documents, scores, outputs, truth), scores, ())  # type: ignore[arg-type]
    sweep = Sweep.over(model, documents, scores, outputs, truth)  # type: ignore[arg-type]
    assert sweep is not None
    assert found == {name: sweep.boundary(effect) for name, effect in EFFECTS.items()}


def test_erasing_that_changes_nothing_tells_nothing() -> None:
    model = Additive({"a": [0.0], "b": [0.0]}, floor=3.0)
    documents, scores, _ = made(model, ["a b a"] * 4)
    outputs = np.array([[3.0], [3.0], [-3.0], [-3.0]])
    found = Sweep.over(model, documents, scores, outputs, np.array([[1], [1], [0], [0]]))  # type: ignore[arg-type]
    assert found is not None
    assert not found.tells


@pytest.mark.parametrize("seed", range(5))
def test_a_model_that_does_not_tell_documents_apart_tells_nothing_of_words(seed: int) -> None:
    draws = np.random.default_rng(seed)
    model = Additive({str(n): [float(w)] for n, w in enumerate(draws.normal(0, 1, 60))})
    documents, scores, outputs = made(
        model, [" ".join(map(str, draws.integers(0, 60, 30))) for _ in range(80)]
    )
    by_lot = (draws.random((80, 1)) < 0.5).astype(int)
    wrong = (outputs < np.median(outputs)).astype(int)
    for truth in (by_lot, wrong):
        found = Sweep.over(model, documents, scores, outputs, truth)  # type: ignore[arg-type]
        assert found is None


def test_words_that_take_documents_far_beyond_the_others_are_not_trusted() -> None:
    model = Additive({"loud": [9.0], "cue": [2.0], "the": [0.0]})
    texts = ["loud cue " + "the " * 20] * 10 + ["loud the " + "the " * 20] * 10
    documents, scores, outputs = made(model, texts)
    found = Sweep.over(model, documents, scores, outputs, np.array([[1]] * 10 + [[0]] * 10))  # type: ignore[arg-type]
    assert found is not None
    assert found.peak > 2
    assert found.left == 0
    assert not found.few


def test_needs_documents_with_and_without_the_class() -> None:
    model = Additive({"a": [1.0]})
    documents, scores, outputs = made(model, ["a a", "a"])
    for truth in ([[1], [1]], [[0], [0]]):
        assert Sweep.over(model, documents, scores, outputs, np.array(truth)) is None  # type: ignore[arg-type]


def test_classes_have_boundaries_of_their_own() -> None:
    model = Additive({"x": [5.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "the": [-0.1, -0.1, -0.1]})
    texts = ["x " + "the " * 15] * 6 + ["y " + "the " * 15] * 6
    documents, scores, outputs = made(model, texts)
    truth = np.array([[1, 0, 0]] * 6 + [[0, 1, 0]] * 6)
    found = Sweep.over(model, documents, scores, outputs, truth)  # type: ignore[arg-type]
    assert found is not None
    first, second, absent = found.boundary(0.88)
    assert -0.1 <= first < 5
    assert -0.1 <= second < 1
    assert min(first, second) <= absent <= max(first, second)


def test_reads_no_more_documents_than_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DOCUMENTS", 7)
    texts = ["cue the the the"] * 30 + ["the the"] * 30
    read = []
    for times in (1, 2):
        model = Additive({"cue": [8.0], "the": [-0.1]})
        documents, scores, outputs = made(model, texts)
        truth = np.array([[1]] * 30 + [[0]] * 30)
        Sweep.over(model, documents, scores, outputs, truth, times=times)  # type: ignore[arg-type]
        read.append(sum(model.read))
        assert read[-1] <= times * 7 * 2 * 5, "of four words none or up to four go, and nothing is read twice"
    assert read[1] > 1.5 * read[0]
