"""Support sets of more than two classes: labels as names, signs and numbers, edits and their way back, storage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data.document import Document
from exaudit.errors import SupportError
from exaudit.support.exemplars import SupportBatch
from exaudit.support.header import SupportHeader, number_of, signs_of
from exaudit.support.memory import MemorySupportSet
from exaudit.support.store import LanceSupportSet
from exaudit.support.summary import summary
from exaudit.support.support_set import SupportSet

CLASSES = ("food", "price", "staff")


def batch(kind: str, count: int = 5, *, seed: int = 0) -> SupportBatch:
    """Documents of three tokens; every second has no token labels."""
    rng = np.random.default_rng(seed)
    documents, signs = [], []
    for n in range(count):
        names = tuple(name for name in CLASSES if rng.random() < 0.5)
        label = names if kind == "multilabel" else CLASSES[n % 3]
        documents.append(Document.from_tokens(["a", "b", "c"], id=f"{seed}-{n}", label=label))
        signs.append(np.zeros((3, 3)) if n % 2 else np.where(rng.random((3, 3)) < 0.3, 1, -1))
    scores = rng.standard_normal((3 * count, 3), dtype=np.float32)
    vectors = rng.standard_normal((3 * count, 4), dtype=np.float32)
    return SupportBatch(documents, vectors, scores, np.concatenate(signs))


def create(kind: Any, where: Path | None = None) -> SupportSet:
    if where is None:
        return MemorySupportSet.create(width=4, labels=CLASSES, kind=kind, model="m")
    return LanceSupportSet.create(where, width=4, labels=CLASSES, kind=kind, model="m")


@given(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=70))
def test_numbers_and_signs(signs: list[int]) -> None:
    number = number_of(signs)
    assert signs_of(number, len(signs)).tolist() == signs
    assert number == (sum(2**k for k, sign in enumerate(signs) if sign > 0) or -1)
    assert number_of([0] * len(signs)) == 0
    assert signs_of(0, len(signs)).tolist() == [0] * len(signs)
    assert json.loads(json.dumps(number)) == number


def test_names() -> None:
    binary = SupportHeader(4, ("bad", "good"), "m")
    assert [binary.document_number(name, "d") for name in binary.labels] == [-1, 1]
    assert [binary.token_number(label) for label in (0, 1, None, "bad", "good")] == [-1, 1, 0, -1, 1]
    assert [binary.token_text(number) for number in (-1, 0, 1)] == ["0", "unknown", "1"]
    one = SupportHeader(4, CLASSES, "m", kind="multiclass")
    assert [one.document_number(name, "d") for name in CLASSES] == [1, 2, 4]
    assert [one.document_label(number) for number in (1, 2, 4)] == list(CLASSES)
    assert [one.token_number(label) for label in ("price", "none", (), None)] == [2, -1, -1, 0]
    assert [one.token_label(number) for number in (2, -1, 0)] == ["price", "none", "unknown"]
    several = SupportHeader(4, CLASSES, "m", kind="multilabel")
    assert several.document_number(("staff", "food"), "d") == 5
    assert [several.document_label(number) for number in (5, -1)] == [("food", "staff"), ()]
    assert several.token_number(("price", "staff")) == 6
    assert several.token_label(6) == "price + staff"
    assert several.token_labels(np.array([[1, -1, 1], [0, 0, 0], [-1, -1, -1]], np.int8)) == (
        "food + staff",
        "unknown",
        "none",
    )


@pytest.mark.parametrize("kind", ["multiclass", "multilabel"])
@pytest.mark.parametrize("stored", [False, True])
def test_edits_and_their_way_back(tmp_path: Path, kind: str, stored: bool) -> None:
    support = create(kind, tmp_path / "support" if stored else None)
    given = batch(kind)
    support.add(given)
    live = support.exemplars()
    assert np.array_equal(live.scores, given.scores)
    assert np.array_equal(live.token_labels, given.token_labels)
    for row, number in enumerate(live.document.tolist()):
        label = given.documents[number].label
        assert label is not None
        assert live.labels[row].tolist() == [1 if name in label else -1 for name in CLASSES]
    other = ("food", "staff") if kind == "multilabel" else "staff"
    was = support.document("0-0").label
    versions = [support.version]
    edits: list[Callable[[], Any]] = [
        lambda: support.relabel_document("0-0", other),
        lambda: support.relabel_token("0-1", 2, "food"),
        lambda: support.relabel_token("0-1", 2, "none"),
        lambda: support.relabel_token("0-2", 0, None),
        lambda: support.remove("0-3"),
        lambda: support.add(batch(kind, 2, seed=1)),
    ]
    for edit in edits:
        edit()
        versions.append(support.version)
    assert len(set(versions)) == len(versions)
    assert support.document("0-0").label == other
    assert support.document("0-1").token_labels == ("unknown", "unknown", "none")
    assert support.document("0-2").token_labels[0] == "unknown"
    difference = support.diff(1)
    assert difference.relabelled == (("0-0", was, other),)
    assert difference.tokens[0] == ("0-1", 2, "unknown", "none")
    assert support.changes(1).relabelled.tolist() == [0, 1, 2, 5, 6]
    support.verify()
    if stored:
        again = LanceSupportSet.open(tmp_path / "support", labels=CLASSES, kind=kind)  # type: ignore[arg-type]
        assert again.version == support.version
        for name in ("scores", "labels", "token_labels", "vectors"):
            assert np.array_equal(getattr(again.exemplars(), name), getattr(support.exemplars(), name))
        again.verify()
        with pytest.raises(SupportError, match=f"is {kind}, the model binary"):
            LanceSupportSet.open(tmp_path / "support", kind="binary")
    for version in versions[-2::-1]:
        support.undo()
        assert support.version == version
    support.redo()
    assert support.version == versions[1]
    support.compact()
    support.verify()
    assert summary(support)["labels"] == {
        name: int((support.exemplars().labels[::3, c] > 0).sum()) for c, name in enumerate(CLASSES)
    }
    assert summary(support)["labelled_tokens"] == 9


def test_what_does_not_fit() -> None:
    support, several = create("multiclass"), create("multilabel")
    support.add(batch("multiclass"))
    several.add(batch("multilabel"))
    attempts: dict[str, Callable[[], Any]] = {
        "has 2 labels; it must have one of 'food', 'price' and 'staff'": lambda: support.relabel_document(
            "0-0", ("food", "price")
        ),
        "has the label 'odd'": lambda: several.relabel_document("0-0", ("odd",)),
        "is labelled 'food' already": lambda: support.relabel_document("0-0", "food"),
        "a token has one label at most": lambda: support.relabel_token("0-0", 0, ("food", "price")),
        "none or None \\(unknown\\), not 'odd'": lambda: support.relabel_token("0-0", 0, "odd"),
        "not 1": lambda: several.relabel_token("0-0", 0, 1),
        "token 0 of document '0-1' is labelled unknown already": lambda: support.relabel_token(
            "0-1", 0, None
        ),
        "several different document labels": lambda: SupportHeader(4, ("a", "a"), "m", kind="multilabel"),
        r"\(15, 2\) scores and \(15, 3\) token labels; \(15, 3\) are needed": lambda: support.add(
            SupportBatch(batch("multiclass").documents, np.zeros((15, 4)), np.zeros((15, 2)))
        ),
        "known for all classes or for none": lambda: support.add(
            SupportBatch(
                batch("multiclass").documents, np.zeros((15, 4)), np.zeros((15, 3)), np.eye(15, 3, dtype=int)
            )
        ),
    }
    for message, attempt in attempts.items():
        with pytest.raises(SupportError, match=message):
            attempt()


def test_two_classes_are_written_as_ever(stored: LanceSupportSet) -> None:
    stored.relabel_token("a", 0, {-1: 1, 0: 1, 1: 0}[int(stored.document("a").token_labels[0])])
    created, _, relabelled = map(json.loads, stored._log.rows(["entry"])["entry"].to_pylist())
    assert created["header"] == {
        "width": 4,
        "labels": ["negative", "positive"],
        "model": "m",
        "dtype": "float32",
    }
    assert relabelled["token_labels"][0][3] in (-1, 1)
    schema = stored._documents.latest().schema
    types = {name: str(schema.field(name).type) for name in ("label", "token_labels", "scores")}
    assert types == {"label": "int8", "token_labels": "list<item: int8>", "scores": "list<item: float>"}


def edited(support: SupportSet, op: str, a: int) -> bool:
    """One edit of a set of the classes negative and positive; whether it could be made."""
    names = ("negative", "positive")
    id = support.ids[a % len(support.ids)] if support.ids else "nobody"
    try:
        if op == "add":
            rng = np.random.default_rng(a)
            scores, signs = rng.standard_normal(2), rng.choice([-1, 0, 1], 2)
            if support.header.kind == "multiclass":  # a column for each
                scores, signs = (np.stack([-column, column], 1) for column in (scores, signs))
            document = Document.from_tokens(["x", "y"], id=str(a), label=names[a % 2])
            support.add(SupportBatch([document], rng.standard_normal((2, 2)), scores, signs))
        elif op == "relabel":
            support.relabel_document(id, names[a % 2])
        elif op == "token":
            support.relabel_token(id, a % 2, [None, "negative", "positive"][a % 3])
        elif op == "remove":
            support.remove(id)
        else:
            support.undo()
    except SupportError:
        return False
    return True


OPS = st.sampled_from(["add", "add", "relabel", "token", "remove", "undo"])


@given(st.lists(st.tuples(OPS, st.integers(0, 30)), min_size=3, max_size=12))
def test_two_classes_come_out_the_same_as_two_of_many(ops: list[tuple[str, int]]) -> None:
    """A set of two classes, and the same set as one of classes that exclude each other: its second column."""
    names = ("negative", "positive")
    binary = MemorySupportSet.create(width=2, labels=names)
    general = MemorySupportSet.create(width=2, labels=names, kind="multiclass")
    for op, a in ops:
        assert edited(binary, op, a) == edited(general, op, a)
        one, two = binary.exemplars(), general.exemplars()
        for name in ("scores", "labels", "token_labels"):
            assert np.array_equal(getattr(one, name)[:, 0], getattr(two, name)[:, 1])
            assert np.array_equal(getattr(one, name)[:, 0], -getattr(two, name)[:, 0])
        assert [binary.document(id).label for id in binary.ids] == [
            general.document(id).label for id in general.ids
        ]
