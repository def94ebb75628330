"""Rehearsal: changed words are learnt, and the dev documents say whether that was to the point."""

from __future__ import annotations

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
from exaudit.model import rehearsal
from exaudit.model.labeler import Labeler
from tiny import reviews, tiny_bert, tiny_labeler


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoders") / "bert")


def fit(bert: Path, **settings: Any) -> Labeler:
    documents = reviews(40)
    options = {name: settings.pop(name) for name in ("work", "resume", "clean") if name in settings}
    model = tiny_labeler(**{"encoder": str(bert), "tune_encoder": True, "epochs": 1} | settings)
    return model.fit(documents[:30], dev=documents[30:], **options)


@pytest.mark.parametrize(("order", "kept"), [(0.9, True), (0.55, False)])
def test_a_rehearsal_is_kept_where_it_tells_the_dev_documents_apart(
    bert: Path, order: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "_order", lambda *_: (order, 0.5))
    model = fit(bert)
    record = model.record_["tuning"]["rehearsal"]
    assert record["kept"] == kept
    assert record["dev_order"] == order
    assert record["texts"] == rehearsal.ROUNDS * sum(d.label == "negative" for d in reviews(40)[:30])
    other = fit(bert, rehearse=False)
    same = model.encoder_.fingerprint == other.encoder_.fingerprint
    assert same == (not kept)  # what was dropped leaves no trace
    assert other.record_["tuning"]["rehearsal"] is None


def test_more_than_chance_is_asked_of_few_documents(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_order", lambda *_: (0.7, 0.75))
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
    part = rehearsal._part(rehearsal._changed(texts, Changer(texts, seed=1), draws))
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
        monkeypatch.setattr(rehearsal, "WORDS", most)
        fewer = rehearsal._changed(texts, Changer(texts, seed=1), draws)
        assert len(fewer) == (1 if most == 1 else pytest.approx(4, abs=1))


def test_some_of_many_texts_come_from_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [[str(n)] * 10 for n in range(100)]
    draws = np.random.default_rng(0)
    assert rehearsal._some(texts, draws) is texts
    monkeypatch.setattr(rehearsal, "WORDS", 305)
    some = rehearsal._some(texts, draws)
    assert len(some) == len({text[0] for text in some}) == 30
    assert sum(int(text[0]) for text in some) / 30 == pytest.approx(49.5, abs=15)
    monkeypatch.setattr(rehearsal, "WORDS", 3)
    assert len(rehearsal._some(texts, draws)) == 1


def test_documents_are_compared_with_those_of_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a count over all pairs, and what chance does to it."""
    draws = np.random.default_rng(0)
    count = 50
    lengths = draws.integers(1, 12, count)
    targets = draws.integers(0, 2, count)
    outputs = draws.integers(-2, 2, count) + targets  # with ties
    dev = LabelledFeatures(Features.of_words([]), lengths, targets)
    words = [np.full(length, value, np.float32) for length, value in zip(lengths, outputs, strict=True)]
    monkeypatch.setattr(rehearsal, "scored", lambda *_: [(0.0, own) for own in words])
    head = Head(HeadConfig(features=1, vocabulary=0, word_dimension=1, filters=1))

    by_length = sorted(range(count), key=lambda i: lengths[i])
    groups = [by_length[i : i + rehearsal.ALIKE] for i in range(0, count, rehearsal.ALIKE)]
    won = [
        1.0 if outputs[i] > outputs[j] else 0.5 if outputs[i] == outputs[j] else 0.0
        for group in groups
        for i, j in product(group, group)
        if targets[i] > targets[j]
    ]
    order, chance = rehearsal._order(head, dev)
    assert order == pytest.approx(np.mean(won))

    shuffled = []
    for _ in range(2000):
        values = draws.random((count, 1))
        monkeypatch.setattr(rehearsal, "scored", lambda *_, v=values: [(0.0, own) for own in v])
        shuffled.append(rehearsal._order(head, dev)[0])
    assert chance == pytest.approx(0.5 + 2 * np.std(shuffled), abs=0.01)
    mixed = [np.array([9.0, -9.0]), np.array([0.1, 0.1])]  # one word in two; two, but only just
    monkeypatch.setattr(rehearsal, "scored", lambda *_: [(0.0, own) for own in mixed])
    two = LabelledFeatures(Features.of_words([]), np.array([2, 2]), np.array([0, 1]))
    assert rehearsal._order(head, two)[0] == 1.0
    one = LabelledFeatures(Features.of_words([]), lengths, np.zeros(count, np.int64))
    monkeypatch.setattr(rehearsal, "scored", lambda *_: [(0.0, own) for own in words])
    assert rehearsal._order(head, one) == (0.5, 1.0)  # nothing to compare: nothing is kept


@pytest.mark.parametrize("settings", [{"tune_encoder": False}, {"loss": "min-max"}, {"pool": "max"}])
def test_rehearsal_without_a_student(bert: Path, settings: dict[str, Any]) -> None:
    chosen = {"encoder": str(bert), "tune_encoder": True, "rehearse": True} | settings
    with pytest.raises(SettingError, match="--rehearse goes with --tune-encoder"):
        tiny_labeler(epochs=1, **chosen).fit(reviews(20))


CLEAN = [
    tuple(f"the soup {word} warm today and so was the bread .".split()) for word in ("is", "was", "seems")
]


def test_clean_texts_are_rehearsed_with_beside_token_labels(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[tuple[str, ...]]] = []

    def watched(encoder: Any, head: Any, texts: Any, *rest: Any, **options: Any) -> None:
        seen.append(list(texts))
        tune(encoder, head, texts, *rest, **options)

    monkeypatch.setattr("exaudit.model.tuned.tune", watched)
    monkeypatch.setattr(rehearsal, "_order", lambda *_: (0.9, 0.5))
    plain = fit(bert, loss="token")
    assert len(seen) == 1  # no rehearsal unless there is more to rehearse with than the labelled documents
    assert plain.record_["tuning"]["rehearsal"] is None
    model = fit(bert, loss="token", clean=CLEAN, work=tmp_path / "work")
    own = sum(d.label == "negative" for d in reviews(40)[:30])
    assert [len(texts) for texts in seen[1:]] == [rehearsal.ROUNDS * (own + len(CLEAN)), 30]
    assert sum("soup" in text or "bread" in text for text in seen[1]) > rehearsal.ROUNDS
    record = model.record_["tuning"]["rehearsal"]
    assert (record["clean"], record["kept"]) == (3, True)
    assert model.encoder_.fingerprint != plain.encoder_.fingerprint
    again = fit(bert, loss="token", clean=CLEAN, work=tmp_path / "work", resume=True)
    assert len(seen) == 3  # nothing was tuned again
    assert again.encoder_.fingerprint == model.encoder_.fingerprint
    fit(bert, loss="token", clean=CLEAN[:2], work=tmp_path / "work", resume=True)
    assert len(seen) == 5  # other texts, another rehearsal

    model.save(tmp_path / "model")
    assert (
        "encoder tuned after a rehearsal with 3 clean texts" in (tmp_path / "model" / "README.md").read_text()
    )


def test_clean_texts_that_do_not_help_leave_no_trace(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_order", lambda *_: (0.55, 0.5))
    dropped, plain = fit(bert, loss="token", clean=CLEAN), fit(bert, loss="token")
    assert not dropped.record_["tuning"]["rehearsal"]["kept"]
    assert dropped.encoder_.fingerprint == plain.encoder_.fingerprint
    kept = fit(bert, loss="token", rehearse=True)  # as told, with the labelled documents alone
    assert kept.record_["tuning"]["rehearsal"]["clean"] == 0
    assert kept.encoder_.fingerprint != plain.encoder_.fingerprint


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "go with --tune-encoder and --loss token, and not with --init"),
        ({"loss": "token", "tune_encoder": False}, "go with --tune-encoder and --loss token"),
        ({"loss": "token", "pool": "max"}, "and not with --init, --pool max or filters wider than one"),
        ({"loss": "token", "rehearse": False}, "leave --clean or --no-rehearse out"),
    ],
)
def test_clean_texts_without_a_rehearsal(bert: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        fit(bert, clean=CLEAN, **settings)


def test_texts_of_the_positive_class_or_of_none_known_are_not_clean(bert: Path) -> None:
    positive = next(d for d in reviews(40) if d.label == "positive")
    bare = Document("bare", "", positive.tokens, None, positive.token_labels)
    for one in (positive, bare):
        with pytest.raises(DataError, match=f"the clean text '{one.id}' has the label of the positive class"):
            fit(bert, loss="token", clean=[one])
    with pytest.raises(DataError, match="document 'x' has the unknown label '1'"):
        fit(bert, loss="token", clean=[Document("x", "", CLEAN[0], "1")])
    with pytest.raises(SettingError, match="clean is one string"):
        fit(bert, loss="token", clean="the soup is warm .")


def test_dev_documents_of_one_class_cannot_judge_a_rehearsal(bert: Path) -> None:
    documents = reviews(40)
    train, dev = documents[:30], [d for d in documents[30:] if d.label == "negative"]
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1, loss="token")
    with pytest.raises(DataError, match="all of one class, and cannot tell whether a rehearsal"):
        model.fit(train, dev=dev, clean=CLEAN)
    assert (
        model.set_params(rehearse=True)
        .fit(train, dev=dev, clean=CLEAN)
        .record_["tuning"]["rehearsal"]["kept"]
    )


def test_a_rehearsal_needs_texts(bert: Path) -> None:
    wrong = [
        Document(d.id, d.text, d.tokens, None, d.token_labels) for d in reviews(60) if d.label == "positive"
    ]
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1, loss="token", rehearse=True)
    with pytest.raises(DataError, match="there is nothing to rehearse with"):
        model.fit(wrong[:20], dev=wrong[20:])
