"""Every kind of edit against a model in plain Python, for both kinds of set."""

from __future__ import annotations

import copy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exaudit.data.document import Document
from exaudit.errors import SupportError
from exaudit.support.exemplars import SupportBatch
from exaudit.support.header import SupportHeader
from exaudit.support.memory import MemorySupportSet
from exaudit.support.store import LanceSupportSet
from exaudit.support.support_set import SupportSet

LABELS = ("negative", "positive")
BatchOf = Callable[..., SupportBatch]


class Model:
    """A list of documents, copied before each edit."""

    def __init__(self) -> None:
        self.documents: list[dict[str, Any]] = []
        self.next_row = self.next_number = 0
        self.done: list[list[dict[str, Any]]] = []
        self.undone: list[list[dict[str, Any]]] = []

    def edit(self) -> None:
        self.done.append(copy.deepcopy(self.documents))
        self.undone = []

    def add(self, batch: SupportBatch) -> None:
        self.edit()
        new = {document.id for document in batch.documents}
        self.documents = [document for document in self.documents if document["id"] not in new]
        start = 0
        for document in batch.documents:
            part = slice(start, start := start + len(document.tokens))
            self.documents.append(
                {
                    "id": document.id,
                    "number": self.next_number,
                    "row": self.next_row,
                    "label": LABELS.index(document.label) * 2 - 1,
                    "token_labels": batch.token_labels[part].tolist(),
                    "scores": batch.scores[part].tolist(),
                    "vectors": batch.vectors[part].tolist(),
                    "tokens": document.tokens,
                }
            )
            self.next_number += 1
            self.next_row += len(document.tokens)

    def find(self, id: str) -> dict[str, Any]:
        return next(document for document in self.documents if document["id"] == id)

    def check(self, support: SupportSet) -> None:
        live = support.exemplars()
        tokens = [(document, i) for document in self.documents for i in range(len(document["tokens"]))]
        assert live.row.tolist() == [document["row"] + i for document, i in tokens]
        assert live.labels[:, 0].tolist() == [document["label"] for document, _ in tokens]
        assert live.document.tolist() == [document["number"] for document, _ in tokens]
        assert live.position.tolist() == [i for _, i in tokens]
        for name in ("token_labels", "scores"):
            assert getattr(live, name)[:, 0].tolist() == [document[name][i] for document, i in tokens]
        assert live.vectors is not None
        assert live.vectors.tolist() == [document["vectors"][i] for document, i in tokens]
        assert support.ids == tuple(document["id"] for document in self.documents)
        for document in self.documents[-2:]:
            told = support.document(document["id"])
            assert (told.number, told.row, told.tokens) == tuple(
                document[k] for k in ("number", "row", "tokens")
            )
            assert told.label == LABELS[(document["label"] + 1) // 2]
            assert told.token_labels == tuple(document["token_labels"])
            assert told.meta == {"from": document["id"]}


def run(model: Model, supports: list[SupportSet], batch_of: BatchOf, op: str, a: int, b: int) -> None:
    """One random edit of the model and of the sets; what is impossible must be refused by the sets."""
    ids = [document["id"] for document in model.documents]
    id = ids[a % len(ids)] if ids else "nobody"
    action: Callable[[SupportSet], Any]
    possible = bool(ids)
    if op == "add":
        batch = batch_of([f"d{(a + i) % 12}" for i in range(b % 3 + 1)], salt=a)
        there = {document.id for document in batch.documents} & set(ids)
        action = lambda s: s.add(batch, replace=b % 2 == 0)  # noqa: E731
        if possible := (not there or b % 2 == 0):
            model.add(batch)
    elif op == "relabel":
        label = LABELS[b % 2]
        action = lambda s: s.relabel_document(id, label)  # noqa: E731
        if possible := possible and model.find(id)["label"] != LABELS.index(label) * 2 - 1:
            model.edit()
            model.find(id)["label"] *= -1
    elif op == "token":
        y = b % 3 - 1
        position = a % 5
        action = lambda s: s.relabel_token(id, position, {-1: 0, 0: None, 1: 1}[y])  # noqa: E731
        known = model.find(id)["token_labels"] if ids else []
        if possible := position < len(known) and known[position] != y:
            model.edit()
            model.find(id)["token_labels"][position] = y
    elif op == "remove":
        gone = list(dict.fromkeys([id, ids[b % len(ids)]])) if ids else [id]
        action = lambda s: s.remove(gone)  # noqa: E731
        if possible:
            model.edit()
            model.documents = [document for document in model.documents if document["id"] not in gone]
    elif op == "compact":
        action = lambda s: s.compact()  # noqa: E731
        model.done, model.undone, possible = [], [], True
    else:
        source, target = (model.done, model.undone) if op == "undo" else (model.undone, model.done)
        action = lambda s: getattr(s, op)()  # noqa: E731
        if possible := bool(source):
            target.append(model.documents)
            model.documents = source.pop()
    for support in supports:
        if possible:
            edit = action(support)
            assert (edit.version, edit.number) == (support.version, support.number)
        else:
            with pytest.raises(SupportError):
                action(support)


OPS = st.sampled_from(["add", "add", "relabel", "token", "remove", "undo", "undo", "redo", "compact"])


@given(st.lists(st.tuples(OPS, st.integers(0, 99), st.integers(0, 99)), min_size=4, max_size=14))
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_random_edits(batch_of: BatchOf, ops: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = MemorySupportSet.create(width=4, labels=LABELS)
        stored = LanceSupportSet.create(folder + "/support", width=4, labels=LABELS, model="")
        model, names = Model(), {}
        for op, a, b in ops:
            run(model, [memory, stored], batch_of, op, a, b)
            model.check(memory)
            model.check(stored)
            assert memory.version == stored.version
            content = repr(model.documents)
            assert names.setdefault(stored.version, content) == content  # equal names, equal content ...
            assert len(set(names.values())) == len(names)  # ... and the other way round
        again = LanceSupportSet.open(folder + "/support")
        model.check(again)
        assert again.version == memory.version
        again.verify()
        assert [replace(e, when="") for e in again.log()] == [replace(e, when="") for e in memory.log()]


def test_add_then_remove_is_as_before(support: SupportSet, batch_of: BatchOf) -> None:
    support.add(batch_of(["a", "b"]))
    before, version = support.exemplars(), support.version
    support.add(batch_of(["c"], tokens=3))
    assert support.version != version
    support.remove("c")
    after = support.exemplars()
    assert support.version == version
    for name in ("row", "scores", "labels", "token_labels", "document", "position", "vectors"):
        assert getattr(before, name).tobytes() == getattr(after, name).tobytes()


def test_history(support: SupportSet, batch_of: BatchOf) -> None:
    support.add(batch_of(["a", "b"], tokens=2), author="ann", reason="first")
    support.tag("start")
    old = support.document("a").label
    new = LABELS[1 - LABELS.index(old)]
    support.relabel_document("a", new, author="bob", reason="wrong")
    y = support.document("b").token_labels[1]
    support.relabel_token("b", 1, 1 if y < 1 else 0)
    support.remove("a")
    log = support.log()
    assert [edit.kind for edit in log] == ["create", "add", "tag", "relabel", "relabel", "remove"]
    assert (log[1].who, log[1].why, log[1].documents_added) == ("ann", "first", 2)
    assert (log[3].who, log[3].documents_relabelled, log[4].tokens_relabelled) == ("bob", 1, 1)
    assert log[3].what == f"relabelled document 'a' from {old!r} to {new!r}"
    assert log[5].documents_removed == 1

    assert support.diff(1, 3).relabelled == (("a", old, new),)
    assert support.diff(3, "start").relabelled == (("a", new, old),)
    assert support.diff(log[1].version).removed == ("a",)
    assert support.diff(5, 0).removed == ("b",)
    assert support.diff(0, 1).added == ("a", "b")
    assert support.diff(3, 4).tokens == (("b", 1, y, 1 if y < 1 else -1),)

    changes = support.changes(1)
    assert (changes.added.tolist(), changes.removed.tolist(), changes.relabelled.tolist()) == (
        [],
        [0, 1],
        [3],
    )
    assert support.changes(0).added.tolist() == [2, 3]


def test_changes_lead_an_index_through_the_edits(support: SupportSet, batch_of: BatchOf) -> None:
    vectors: dict[int, list[float]] = {}
    seen = support.number
    edits: list[Callable[[], Any]] = [
        lambda: support.add(batch_of(["a", "b", "c"], tokens=2)),
        lambda: support.remove(["b"]),
        lambda: support.add(batch_of(["c", "d"], tokens=2, salt=1), replace=True),
        lambda: support.undo(),
        lambda: support.undo(),
        lambda: support.compact(),
    ]
    for edit in edits:
        edit()
        changes = support.changes(seen)
        for row in changes.removed.tolist():
            del vectors[row]
        vectors |= dict(zip(changes.added.tolist(), support.vectors(changes.added).tolist(), strict=True))
        seen = support.number
        live = support.exemplars()
        assert live.vectors is not None
        assert sorted(vectors) == live.row.tolist()
        assert [vectors[row] for row in live.row.tolist()] == live.vectors.tolist()


def test_tagged_versions_survive_compaction(support: SupportSet, batch_of: BatchOf) -> None:
    support.add(batch_of(["a", "b", "c"], tokens=2))
    support.tag("kept")
    support.relabel_token("a", 0, 0 if support.document("a").token_labels[0] != -1 else 1)
    support.remove(["a", "b"])
    support.add(batch_of(["d"], tokens=2))
    support.remove("d")
    support.compact()
    with pytest.raises(SupportError, match="given up when the support set was compacted"):
        support.diff(4)
    with pytest.raises(SupportError, match="nothing to undo since the support set was compacted"):
        support.undo()
    assert support.diff("kept").removed == ("a", "b")
    support.untag("kept")
    support.compact()
    with pytest.raises(SupportError, match="given up"):
        support.diff(1)
    support.verify()
    assert support.ids == ("c",)
    assert len(support.log()) == 10


def test_preview_changes_nothing(support: SupportSet, batch_of: BatchOf) -> None:
    support.add(batch_of(["a", "b"], tokens=2))
    version, number = support.version, support.number
    preview = MemorySupportSet.preview(support)
    preview.remove("a")
    preview.add(batch_of(["c"], tokens=1))
    preview.verify()
    assert preview.ids == ("b", "c")
    assert preview.exemplars().row.tolist() == [2, 3, 4]
    assert [document.id for document in preview.documents([2, 1])] == ["c", "b"]
    preview.undo()
    preview.undo()
    assert preview.version == version
    support.refresh()
    assert (support.version, support.number, support.ids) == (version, number, ("a", "b"))


def test_vectors_in_any_order(support: SupportSet, batch_of: BatchOf) -> None:
    for i in range(4):
        support.add(batch_of([f"{i}{j}" for j in range(5)]))
    support.remove(["00", "12", "13"])
    live = support.exemplars()
    assert live.vectors is not None
    rows = np.random.default_rng(0).integers(0, len(live), 7)
    assert support.vectors(live.row[rows]).tobytes() == live.vectors[rows].tobytes()
    twice = live.row[[2, 2, 1, 0, 2]]
    assert support.vectors(twice).tobytes() == live.vectors[[2, 2, 1, 0, 2]].tobytes()
    with pytest.raises(SupportError):
        support.vectors([support.row_count])


def test_float16(batch_of: BatchOf, tmp_path: Any) -> None:
    for support in (
        MemorySupportSet.create(width=4, labels=LABELS, dtype="float16"),
        LanceSupportSet.create(tmp_path / "s", width=4, labels=LABELS, model="m", dtype="float16"),
    ):
        batch = batch_of(["a", "b"], tokens=3)
        support.add(batch)
        vectors = support.exemplars().vectors
        assert vectors is not None
        assert vectors.dtype == np.float16
        assert vectors.tobytes() == batch.vectors.astype(np.float16).tobytes()
        with pytest.raises(SupportError, match="keep this support set in float32"):
            support.add(
                SupportBatch([Document.from_text("x", id="x", label="negative")], np.full((1, 4), 1e6), [0.0])
            )


def test_bad_input(support: SupportSet, batch_of: BatchOf) -> None:
    support.add(batch_of(["a", "b"], tokens=2))
    good = batch_of(["c"], tokens=2)
    before, count = support.version, len(support.log())

    def document(label: str | None) -> list[Document]:
        return [Document.from_text("x y", id="c", label=label)]

    for message, wrong in {
        "width 4, these have the shape": replace(good, vectors=np.zeros((2, 5))),
        "have 2 tokens, but there are 3 vectors": replace(good, vectors=np.zeros((3, 4))),
        "infinite or not a number": replace(good, scores=np.array([np.nan, 0])),
        "not a number": replace(good, vectors=np.full((2, 4), np.inf)),
        "token labels in a support set": replace(good, token_labels=np.array([0, 2])),
        "has the label 'maybe'": replace(good, documents=document("maybe")),
        "has no label": replace(good, documents=document(None)),
        "have the id 'c'": replace(
            good,
            documents=document("negative") * 2,
            vectors=np.zeros((4, 4)),
            scores=np.zeros(4),
            token_labels=None,
        ),
        "no documents": replace(good, documents=[]),
        "document 'a' is in the support set already": batch_of(["a"]),
    }.items():
        with pytest.raises(SupportError, match=message):
            support.add(wrong)
    attempts: dict[str, Callable[[], Any]] = {
        "there is no document 'z'": lambda: support.remove(["a", "z"]),
        "no document 'y'": lambda: support.relabel_document("y", "negative"),
        "the new label has the label 'x'": lambda: support.relabel_document("a", "x"),
        "is labelled .* already": lambda: support.relabel_document("a", support.document("a").label),
        "has 2 tokens, from 0; there is no token 2": lambda: support.relabel_token("a", 2, 1),
        "no token -1": lambda: support.relabel_token("a", -1, 1),
        "a token label is 0, 1 or None": lambda: support.relabel_token("a", 0, -1),
        "no documents to remove": lambda: support.remove([]),
        "nothing to redo": lambda: support.redo(),
        "no version 9": lambda: support.diff(9),
        "no version named 'x'": lambda: support.untag("x"),
        "give it a word": lambda: support.tag("12"),
        "no document number 7": lambda: support.documents([7]),
    }
    for message, attempt in attempts.items():
        with pytest.raises(SupportError, match=message):
            attempt()
    assert (support.version, len(support.log())) == (before, count)


def test_header() -> None:
    header = SupportHeader(4, LABELS, "m")
    header.check("here", width=4, labels=LABELS, model="m")
    for message, other in {
        "belongs to another model": {"model": "n"},
        "width 4, the model's are 5": {"width": 5},
        "labelled 'negative' / 'positive', the model 'positive' / 'negative'": {"labels": LABELS[::-1]},
    }.items():
        with pytest.raises(SupportError, match=message):
            header.check("here", **other)  # type: ignore[arg-type]
    for wrong in ({"width": 0}, {"dtype": "float64"}, {"labels": ("a", "a")}):
        with pytest.raises(SupportError):
            SupportHeader(**{"width": 4, "labels": LABELS, "model": "m", **wrong})  # type: ignore[arg-type]


def test_sets_in_memory_need_no_lance() -> None:
    """Experiments run where only numpy is installed."""
    code = "import sys; sys.modules['lance'] = sys.modules['pyarrow'] = None; import exaudit.support.memory"
    code += "; import exaudit.support.build"
    subprocess.run([sys.executable, "-c", code], check=True)
