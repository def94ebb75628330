"""Rehearsal: changed words are learnt, and the dev documents say whether that was to the point."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.data.changes import Changer
from exaudit.encode.features import Features
from exaudit.errors import SettingError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, HeadConfig
from exaudit.head.tuning import tune
from exaudit.model import teaching
from exaudit.model.labeler import Labeler
from tiny import reviews, tiny_bert, tiny_labeler


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoders") / "bert")


def fit(bert: Path, **settings: Any) -> Labeler:
    documents = reviews(40)
    options = {"work": settings.pop("work", None), "resume": settings.pop("resume", False)}
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1, **settings)
    return model.fit(documents[:30], dev=documents[30:], **options)


@pytest.mark.parametrize(("order", "kept"), [(0.9, True), (0.55, False)])
def test_a_rehearsal_is_kept_where_it_tells_the_dev_documents_apart(
    bert: Path, order: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teaching, "_order", lambda *_: (order, 0.5))
    model = fit(bert)
    record = model.record_["tuning"]["rehearsal"]
    assert record["kept"] == kept
    assert record["dev_order"] == order
    assert record["texts"] == teaching.ROUNDS * sum(d.label == "negative" for d in reviews(40)[:30])
    other = fit(bert, rehearse=False)
    same = model.encoder_.fingerprint == other.encoder_.fingerprint
    assert same == (not kept)  # what was dropped leaves no trace
    assert other.record_["tuning"]["rehearsal"] is None


def test_more_than_chance_is_asked_of_few_documents(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "_order", lambda *_: (0.7, 0.75))
    assert not fit(bert).record_["tuning"]["rehearsal"]["kept"]
    assert fit(bert, rehearse=True).record_["tuning"]["rehearsal"]["kept"]  # as told


def test_a_stopped_run_does_not_rehearse_again(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def counted(*arguments: Any, **options: Any) -> None:
        told.append("tune")
        if len(told) == 3:
            raise KeyboardInterrupt
        tune(*arguments, **options)

    monkeypatch.setattr("exaudit.model.tuned.tune", counted)
    with pytest.raises(KeyboardInterrupt):
        fit(bert, rehearse=True, work=tmp_path)
    resumed = fit(bert, rehearse=True, work=tmp_path, resume=True)
    assert len(told) == 4  # rehearsal, teacher, half a student; a student
    whole = fit(bert, rehearse=True)
    assert resumed.encoder_.fingerprint == whole.encoder_.fingerprint


def test_another_teacher_does_not_take_the_head_of_the_first(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter(range(10))

    def stopped(*arguments: Any, **options: Any) -> None:
        if next(turns) == 1:  # the student's
            raise KeyboardInterrupt
        tune(*arguments, **options)

    monkeypatch.setattr("exaudit.model.tuned.tune", stopped)
    with pytest.raises(KeyboardInterrupt):
        fit(bert, rehearse=False, work=tmp_path)
    resumed, whole = (
        fit(bert, rehearse=True, work=tmp_path, resume=True),
        fit(bert, rehearse=True),
    )
    assert resumed.record_["history"] == whole.record_["history"]


def test_a_falsehood_of_numpy_is_no_default(bert: Path, tmp_path: Path) -> None:
    model = fit(bert, rehearse=np.False_)
    assert model.record_["tuning"]["rehearsal"] is None
    model.save(tmp_path / "model")
    assert Labeler.load(tmp_path / "model", device="cpu").rehearse is False


def test_changed_texts_are_the_negative_ones_over_and_over(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [tuple("abc"), tuple("defgh")]
    draws = np.random.default_rng(0)
    part = teaching._changed(texts, Changer(texts, seed=1), draws)
    assert len(part.documents) == 20
    for document, marks, count, target in zip(
        part.documents,
        part.labels.token_targets or [],
        part.labels.word_counts,
        part.labels.targets,
        strict=True,
    ):
        assert len(document.tokens) == len(marks) == count
        assert target == marks.any()
    for most in (17, 1):
        monkeypatch.setattr(teaching, "WORDS", most)
        fewer = teaching._changed(texts, Changer(texts, seed=1), draws)
        assert len(fewer.documents) == (1 if most == 1 else pytest.approx(4, abs=1))


def test_some_of_many_texts_come_from_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[str(n)] * 10 for n in range(100)]
    draws = np.random.default_rng(0)
    assert teaching._some(texts, draws) is texts
    monkeypatch.setattr(teaching, "WORDS", 305)
    some = teaching._some(texts, draws)
    assert len(some) == len({text[0] for text in some}) == 30
    assert sum(int(text[0]) for text in some) / 30 == pytest.approx(49.5, abs=15)
    monkeypatch.setattr(teaching, "WORDS", 3)
    assert len(teaching._some(texts, draws)) == 1


def test_documents_are_compared_with_those_of_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a count over all pairs, and what chance does to it."""
    draws = np.random.default_rng(0)
    count = 50
    lengths = draws.integers(1, 12, count)
    targets = draws.integers(0, 2, count)
    outputs = draws.integers(-2, 2, count) + targets  # with ties
    dev = LabelledFeatures(Features.of_words([]), lengths, targets)
    words = [np.full(length, value, np.float32) for length, value in zip(lengths, outputs, strict=True)]
    monkeypatch.setattr(teaching, "scored", lambda *_: [(0.0, own) for own in words])
    head = Head(HeadConfig(features=1, vocabulary=0, word_dimension=1, filters=1))

    by_length = sorted(range(count), key=lambda i: lengths[i])
    groups = [by_length[i : i + teaching.ALIKE] for i in range(0, count, teaching.ALIKE)]
    won = [
        1.0 if outputs[i] > outputs[j] else 0.5 if outputs[i] == outputs[j] else 0.0
        for group in groups
        for i, j in product(group, group)
        if targets[i] > targets[j]
    ]
    order, chance = teaching._order(head, dev)
    assert order == pytest.approx(np.mean(won))

    shuffled = []
    for _ in range(2000):
        values = draws.random((count, 1))
        monkeypatch.setattr(teaching, "scored", lambda *_, v=values: [(0.0, own) for own in v])
        shuffled.append(teaching._order(head, dev)[0])
    assert chance == pytest.approx(0.5 + 2 * np.std(shuffled), abs=0.01)
    mixed = [np.array([9.0, -9.0]), np.array([0.1, 0.1])]  # one word in two; two, but only just
    monkeypatch.setattr(teaching, "scored", lambda *_: [(0.0, own) for own in mixed])
    two = LabelledFeatures(Features.of_words([]), np.array([2, 2]), np.array([0, 1]))
    assert teaching._order(head, two)[0] == 1.0
    one = LabelledFeatures(Features.of_words([]), lengths, np.zeros(count, np.int64))
    monkeypatch.setattr(teaching, "scored", lambda *_: [(0.0, own) for own in words])
    assert teaching._order(head, one) == (0.5, 1.0)  # nothing to compare: nothing is kept


@pytest.mark.parametrize("settings", [{"tune_encoder": False}, {"loss": "token"}, {"pool": "max"}])
def test_rehearsal_without_a_student(bert: Path, settings: dict[str, Any]) -> None:
    chosen = {"encoder": str(bert), "tune_encoder": True, "rehearse": True} | settings
    with pytest.raises(SettingError, match="--rehearse goes with --tune-encoder"):
        tiny_labeler(epochs=1, **chosen).fit(reviews(20))
