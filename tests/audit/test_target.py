"""A promise for documents that are not like those to calibrate on: kept where only the mix of documents has shifted."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pytest

from exaudit.audit.promise import Answered, Made, Promise
from exaudit.audit.signals import Signals
from exaudit.audit.target import Target
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.decide.risk import Goal
from exaudit.errors import DataError, SupportError

LABELS = LabelSet.binary("no", "yes")
GOAL = Goal(0.2, 0.9)
SHIFT = 0.8
ROUNDS = 24
Floats = npt.NDArray[np.float64]


def chance_wrong(x: Floats, margin: Floats) -> Floats:
    """The larger x is, the more answers are wrong, at any margin."""
    return np.minimum(1.0, 0.6 * (1 - margin) ** 2 * np.exp(x - 0.5))


def answered(n: int, shift: float, draws: np.random.Generator) -> list[Answered]:
    """Documents that look like x, a number of mean `shift`, and the model's answers on them."""
    x, margins = draws.normal(shift, 1, n), draws.random(n)
    right = draws.random(n) >= chance_wrong(x, margins)
    none = np.zeros((0, 2)), np.zeros(0, np.int64)  # of its words
    return [
        Answered(
            Document.from_text(f"{draws.integers(1 << 60)}", id=str(i), label=LABELS.names[i % 2]),
            Signals(np.array([margins[i], 0.0]), i % 2, *none, bool(right[i])),
            {"x": float(x[i])},
        )
        for i in range(n)
    ]


def promise(calibrated: list[Answered], new: list[Answered] | None = None) -> Promise | None:
    try:
        return Promise.fit(calibrated, LABELS, GOAL, made=Made("", "float32", (), None), k=0, new=new)
    except SupportError:
        return None


def true_risk(made: Promise, draws: np.random.Generator) -> float:
    """Of the target: the chance that an answer which is let through is wrong."""
    x, margins, n = draws.normal(SHIFT, 1, 20_000), draws.random(20_000), 20_000
    said, part = np.arange(n) % 2, made.parts["documents"]
    trust = part.trust(np.stack([margins, np.zeros(n)], 1), said)
    through = part.through(GOAL, trust, said, np.arange(n))
    if made.target is not None:
        through &= made.target.ratio(x[:, None]) <= made.target.heaviest
    return float(chance_wrong(x, margins)[through].mean()) if through.any() else 0.0


def test_the_promise_is_kept_under_a_known_shift_where_one_without_weights_breaks() -> None:
    draws, broken, plain, met = np.random.default_rng(0), 0, 0, 0
    for n in range(ROUNDS):
        calibrated, new = answered(600, 0.0, draws), answered(300, SHIFT, draws)
        made = promise(calibrated, new)
        broken += made is not None and true_risk(made, draws) > GOAL.risk
        met += made is not None
        if n < ROUNDS // 4:
            without = promise(calibrated)
            plain += without is not None and true_risk(without, draws) > GOAL.risk
    assert broken / ROUNDS <= 1 - GOAL.confidence + 2 * np.sqrt(0.1 * 0.9 / ROUNDS)
    assert plain == ROUNDS // 4
    assert met > 0.8 * ROUNDS


def test_the_documents_that_are_drawn_look_like_the_target_and_luck_is_in_their_words() -> None:
    draws = np.random.default_rng(1)
    old, new = answered(6000, 0.0, draws), answered(3000, SHIFT, draws)
    target = Target.fit([each.document for each in new], *([each.figures for each in x] for x in (new, old)))
    drawn = [each.figures["x"] for each in old if target.draws(each.document, each.figures)]
    within = [x for x in (each.figures["x"] for each in new) if target.refusal({"x": x}) is None]
    assert np.mean(drawn) == pytest.approx(np.mean(within), abs=0.08)
    assert np.std(drawn) == pytest.approx(np.std(within), abs=0.08)
    assert target.weight({"x": SHIFT / 2}) == pytest.approx(1.0, abs=0.1)  # where both are as frequent
    again = Target.from_json(json.loads(json.dumps(target.to_json())))
    assert (again.ratio, again.heaviest, again.measures) == (target.ratio, target.heaviest, ("x",))
    assert [again.draws(each.document, each.figures) for each in old] == [
        target.draws(each.document, each.figures) for each in old
    ]


def test_documents_out_of_reach_are_refused_with_the_reason() -> None:
    draws = np.random.default_rng(2)
    made = promise(answered(600, 0.0, draws), answered(300, SHIFT, draws))
    assert made is not None
    safe = Signals(np.array([0.99, 0.0]), 1, np.zeros((0, 2)), np.zeros(0, np.int64))
    assert made.verdicts(safe, LABELS, {"x": 0.5})[0].admitted.all()
    (verdict, _) = made.verdicts(safe, LABELS, {"x": 3.5})
    assert not verdict.admitted.any()
    assert verdict.reason(0) is not None
    assert "times as frequent as where the promise was fitted" in str(verdict.reason(0))
    (line,) = made.sentences(LABELS)
    assert f"{made.drawn} of the 600 that it was fitted on stand for them" in line
    assert (
        "on documents like the 300 new ones, if only the mix of documents has shifted and the estimated"
        in line
    )
    assert made.told()["weighted"]


def test_too_few_are_refused() -> None:
    draws = np.random.default_rng(3)
    with pytest.raises(DataError, match="20 documents that nothing has seen yet are too few to tell"):
        promise(answered(200, 0.0, draws), answered(20, 0.0, draws))
    with pytest.raises(DataError, match=r"\d+ of 100 documents look like the new ones and are too few"):
        promise(answered(100, 0.0, draws), answered(200, 2.0, draws))
    with pytest.raises(DataError, match="none of the new documents is like those to calibrate on"):
        promise(answered(100, 0.0, draws), answered(200, 12.0, draws))
