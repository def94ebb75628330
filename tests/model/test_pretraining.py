"""Pre-training on synthetic errors: changed words are learnt, and dev documents say whether that was to the point."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.data.changes import Changer
from exaudit.data.document import Document
from exaudit.encode.features import Features
from exaudit.errors import DataError, SettingError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, HeadConfig
from exaudit.head.tuning import tune
from exaudit.model import pretraining
from exaudit.model.labeler import Labeler
from tiny import reviews, tiny_bert, tiny_labeler


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoders") / "bert")


def fit(bert: Path, **settings: Any) -> Labeler:
    documents = reviews(40)
    options = {name: settings.pop(name) for name in ("work", "resume") if name in settings}
    model = tiny_labeler(**{"encoder": str(bert), "tune_encoder": True, "epochs": 1} | settings)
    return model.fit(documents[:30], dev=documents[30:], **options)


def stopped_at(turn: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tuning is interrupted at one turn; the list grows with every turn."""
    told: list[str] = []

    def counted(*arguments: Any, **options: Any) -> None:
        told.append("tune")
        if len(told) == turn:
            raise KeyboardInterrupt
        tune(*arguments, **options)

    monkeypatch.setattr("exaudit.model.tuning.tune", counted)
    return told


@pytest.mark.parametrize(("order", "kept"), [(0.9, True), (0.55, False)])
def test_it_is_kept_where_it_tells_the_dev_documents_apart(
    bert: Path, order: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretraining, "_order", lambda *_: (order, 0.5))
    model = fit(bert)
    record = model.model_.record["tuning"]["pretraining"]
    assert record["kept"] == kept
    assert record["dev_order"] == order
    assert record["texts"] == pretraining.ROUNDS * sum(d.label == "negative" for d in reviews(40)[:30])
    other = fit(bert, pretrain=False)
    same = model.model_.encoder.fingerprint == other.model_.encoder.fingerprint
    assert same == (not kept)  # what was dropped leaves no trace
    assert other.model_.record["tuning"]["pretraining"] is None


@pytest.mark.parametrize(("orders", "kept"), [((0.54,), False), ((0.56, 0.7), True), ((0.56, 0.58), False)])
def test_a_trial_comes_first_where_there_is_much_to_read(
    bert: Path, orders: tuple[float, ...], kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(orders)
    monkeypatch.setattr(pretraining, "_order", lambda *_: (next(looks), 0.5))
    monkeypatch.setattr(pretraining, "TRIAL", 50)
    model = fit(bert)
    record = model.model_.record["tuning"]["pretraining"]
    assert next(looks, None) is None
    assert record["kept"] == kept
    assert record["dev_order"] == orders[-1]
    if len(orders) == 1:
        assert record["trial_alone"]
        assert record["texts"] < 50
        assert record["batch_size"] == 1  # texts: more would be too few steps
        assert model.model_.encoder.fingerprint == fit(bert, pretrain=False).model_.encoder.fingerprint
    else:  # what the trial learnt is not gone on with
        monkeypatch.setattr(pretraining, "TRIAL", 200_000)
        monkeypatch.setattr(pretraining, "_order", lambda *_: (orders[-1], 0.5))
        assert model.model_.encoder.fingerprint == fit(bert).model_.encoder.fingerprint


def test_a_trial_on_few_dev_documents_tells_nothing(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([0.5, 0.9])
    monkeypatch.setattr(pretraining, "_order", lambda *_: (next(looks), 0.7))  # by chance up to 0.7
    monkeypatch.setattr(pretraining, "TRIAL", 50)
    record = fit(bert).model_.record["tuning"]["pretraining"]
    assert record["kept"]
    assert record["trial_order"] == 0.5


def test_a_stopped_trial_is_not_done_again(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = stopped_at(2, monkeypatch)
    monkeypatch.setattr(pretraining, "_order", lambda *_: (0.56, 0.5))
    monkeypatch.setattr(pretraining, "TRIAL", 50)
    with pytest.raises(KeyboardInterrupt):
        fit(bert, work=tmp_path)
    resumed = fit(bert, work=tmp_path, resume=True)
    assert len(told) == 5  # trial, half of pre-training; pre-training, teacher, student
    whole = fit(bert)
    assert resumed.model_.encoder.fingerprint == whole.model_.encoder.fingerprint


def test_pretraining_that_is_asked_for_has_no_trial(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "TRIAL", 50)
    monkeypatch.setattr(pretraining, "_order", lambda *_: (0.5, 0.5))
    record = fit(bert, pretrain=True).model_.record["tuning"]["pretraining"]
    assert record["kept"]
    assert record["texts"] > 100


def test_the_texts_of_a_trial_come_from_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "TRIAL", 305)
    changed = [([str(n)] * 10, [0] * 10) for n in range(1000)]
    some = pretraining._trial(changed, np.random.default_rng(0))
    assert len(some) == len({words[0] for words, _ in some}) == 30
    assert sum(int(words[0]) for words, _ in some) / 30 == pytest.approx(499.5, abs=150)
    monkeypatch.setattr(pretraining, "TRIAL", 3)
    assert len(pretraining._trial(changed, np.random.default_rng(0))) == 1


def test_more_than_chance_is_asked_of_few_documents(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "_order", lambda *_: (0.7, 0.75))
    assert not fit(bert).model_.record["tuning"]["pretraining"]["kept"]
    assert fit(bert, pretrain=True).model_.record["tuning"]["pretraining"]["kept"]  # as told


def test_a_stopped_run_does_not_do_it_again(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = stopped_at(3, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        fit(bert, pretrain=True, work=tmp_path)
    resumed = fit(bert, pretrain=True, work=tmp_path, resume=True)
    assert len(told) == 4  # pre-training, teacher, half a student; a student
    whole = fit(bert, pretrain=True)
    assert resumed.model_.encoder.fingerprint == whole.model_.encoder.fingerprint


def test_another_teacher_does_not_take_the_head_of_the_first(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter(range(10))

    def stopped(*arguments: Any, **options: Any) -> None:
        if next(turns) == 1:  # the student's
            raise KeyboardInterrupt
        tune(*arguments, **options)

    monkeypatch.setattr("exaudit.model.tuning.tune", stopped)
    with pytest.raises(KeyboardInterrupt):
        fit(bert, pretrain=False, work=tmp_path)
    resumed, whole = (
        fit(bert, pretrain=True, work=tmp_path, resume=True),
        fit(bert, pretrain=True),
    )
    assert resumed.model_.record["history"] == whole.model_.record["history"]


def test_a_falsehood_of_numpy_is_no_default(bert: Path, tmp_path: Path) -> None:
    model = fit(bert, pretrain=np.False_)
    assert model.model_.record["tuning"]["pretraining"] is None
    model.save(tmp_path / "model")
    assert Labeler.load(tmp_path / "model", device="cpu").pretrain is False


def test_changed_texts_are_the_negative_ones_over_and_over(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [tuple("abc"), tuple("defgh")]
    draws = np.random.default_rng(0)
    split = pretraining._split(pretraining._changed(texts, Changer(texts, seed=1), draws))
    assert len(split.documents) == 20
    for document, marks, count, target in zip(
        split.documents,
        split.labels.token_targets or [],
        split.labels.word_counts,
        split.labels.targets,
        strict=True,
    ):
        assert len(document.tokens) == len(marks) == count
        assert target == marks.any()
    for most in (17, 1):
        monkeypatch.setattr(pretraining, "WORDS", most)
        fewer = pretraining._changed(texts, Changer(texts, seed=1), draws)
        assert len(fewer) == (1 if most == 1 else pytest.approx(4, abs=1))


def test_some_of_many_texts_come_from_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[str(n)] * 10 for n in range(100)]
    draws = np.random.default_rng(0)
    assert pretraining._some(texts, draws) is texts
    monkeypatch.setattr(pretraining, "WORDS", 305)
    some = pretraining._some(texts, draws)
    assert len(some) == len({text[0] for text in some}) == 30
    assert sum(int(text[0]) for text in some) / 30 == pytest.approx(49.5, abs=15)
    monkeypatch.setattr(pretraining, "WORDS", 3)
    assert len(pretraining._some(texts, draws)) == 1


def test_documents_are_compared_with_those_of_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a count over all pairs, and what chance does to it."""
    draws = np.random.default_rng(0)
    count = 50
    lengths = draws.integers(1, 12, count)
    targets = draws.integers(0, 2, count)
    outputs = draws.integers(-2, 2, count) + targets  # with ties
    dev = LabelledFeatures(Features.of_words([]), lengths, targets)
    words = [np.full(length, value, np.float32) for length, value in zip(lengths, outputs, strict=True)]
    monkeypatch.setattr(pretraining, "scored", lambda *_: [(0.0, own) for own in words])
    head = Head(HeadConfig(features=1, vocabulary=0, word_dimension=1, filters=1))

    by_length = sorted(range(count), key=lambda i: lengths[i])
    groups = [by_length[i : i + pretraining.ALIKE] for i in range(0, count, pretraining.ALIKE)]
    won = [
        1.0 if outputs[i] > outputs[j] else 0.5 if outputs[i] == outputs[j] else 0.0
        for group in groups
        for i, j in product(group, group)
        if targets[i] > targets[j]
    ]
    order, chance = pretraining._order(head, dev)
    assert order == pytest.approx(np.mean(won))

    shuffled = []
    for _ in range(2000):
        values = draws.random((count, 1))
        monkeypatch.setattr(pretraining, "scored", lambda *_, v=values: [(0.0, own) for own in v])
        shuffled.append(pretraining._order(head, dev)[0])
    assert chance == pytest.approx(0.5 + 2 * np.std(shuffled), abs=0.01)
    mixed = [np.array([9.0, -9.0]), np.array([0.1, 0.1])]  # one word in two; two, but only just
    monkeypatch.setattr(pretraining, "scored", lambda *_: [(0.0, own) for own in mixed])
    two = LabelledFeatures(Features.of_words([]), np.array([2, 2]), np.array([0, 1]))
    assert pretraining._order(head, two)[0] == 1.0
    one = LabelledFeatures(Features.of_words([]), lengths, np.zeros(count, np.int64))
    monkeypatch.setattr(pretraining, "scored", lambda *_: [(0.0, own) for own in words])
    assert pretraining._order(head, one) == (0.5, 1.0)  # nothing to compare: nothing is kept


@pytest.mark.parametrize("settings", [{"tune_encoder": False}, {"loss": "min-max"}, {"pool": "max"}])
def test_it_goes_with_a_student(bert: Path, settings: dict[str, Any]) -> None:
    chosen = {"encoder": str(bert), "tune_encoder": True, "pretrain": True} | settings
    with pytest.raises(SettingError, match="`pretrain` goes with `tune_encoder`"):
        tiny_labeler(epochs=1, **chosen).fit(reviews(20))


def test_token_labels_go_without_it_unless_asked(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "_order", lambda *_: (0.55, 0.5))
    plain, asked = fit(bert, loss="token"), fit(bert, loss="token", pretrain=True)
    assert plain.model_.record["tuning"]["pretraining"] is None
    assert asked.model_.record["tuning"]["pretraining"]["kept"]
    assert asked.model_.encoder.fingerprint != plain.model_.encoder.fingerprint


def test_dev_documents_of_one_class_cannot_judge_it(bert: Path) -> None:
    documents = reviews(40)
    train, dev = documents[:30], [d for d in documents[30:] if d.label == "negative"]
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1)
    assert model.fit(train, dev=dev).model_.record["tuning"]["pretraining"] is None
    asked = model.set_params(pretrain=True).fit(train, dev=dev)
    assert asked.model_.record["tuning"]["pretraining"]["kept"]


def test_it_is_for_two_classes(bert: Path) -> None:
    documents = [replace(d, label=f"class {n % 3}", token_labels=None) for n, d in enumerate(reviews(30))]
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1)
    assert model.fit(documents[:20], dev=documents[20:]).model_.record["tuning"]["pretraining"] is None
    with pytest.raises(SettingError, match="about two classes"):
        model.set_params(pretrain=True).fit(documents[:20], dev=documents[20:])


def test_it_needs_texts(bert: Path) -> None:
    wrong = [
        Document(d.id, d.text, d.tokens, None, d.token_labels) for d in reviews(60) if d.label == "positive"
    ]
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1, loss="token", pretrain=True)
    with pytest.raises(DataError, match="there is nothing to pre-train on"):
        model.fit(wrong[:20], dev=wrong[20:])
