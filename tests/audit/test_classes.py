"""Audits of more than two classes, and of documents with several labels: every class by itself, literally."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.audit import Audited, Auditor, MultiAudited
from exaudit.audit.audited import AuditedScores
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.decide.risk import Goal
from exaudit.errors import DataError, ModelError, SettingError, SupportError
from exaudit.model.digests import digest, unpack
from exaudit.model.folder import save_model
from exaudit.model.model import Model
from exaudit.model.scores import MultiScores, Scores, TokenScores
from exaudit.support.history import Edit
from exaudit.support.memory import MemorySupportSet
from tiny import cued, tiny_labeler

NAMES = ("food", "price", "staff")
Task = tuple[Model, list[Document], list[Document], list[Document]]


@pytest.fixture(scope="module", params=["multiclass", "multilabel"])
def task(request: pytest.FixtureRequest) -> Task:
    """A model, and documents for the support set, for fitting and to be labelled."""
    several = request.param == "multilabel"
    train, dev, test = (cued(count, several=several, seed=seed) for seed, count in enumerate((150, 40, 20)))
    labeler = tiny_labeler(filters=24, epochs=12, learning_rate=5.0, batch_size=5, boundary="zero")
    return labeler.fit(train, dev=dev).model_, train[:60], dev, test


def over(model: Model, documents: list[Document]) -> Auditor:
    labels = model.labels
    auditor = Auditor(
        model, MemorySupportSet.create(width=model.width, labels=labels.names, kind=labels.kind)
    )
    auditor.build(documents)
    return auditor


@pytest.fixture
def auditor(task: Task) -> Auditor:
    model, support, _, _ = task
    return over(model, support)


def several(audited: list[AuditedScores]) -> list[MultiAudited]:
    assert all(isinstance(one, MultiAudited) for one in audited)
    return [one for one in audited if isinstance(one, MultiAudited)]


def lines(auditor: Auditor, documents: list[Document], **options: Any) -> list[dict[str, Any]]:
    return [one.to_json(auditor.labels) for one in auditor.label(documents, nearest=True, **options)]


def above(views: tuple[TokenScores, ...], n: int) -> list[float]:
    """s+- of each class, counted from the class's boundary."""
    return [float(view.positive[n] - view.negative[n] - np.float32(view.offset)) for view in views]


def reference(task: Task, k: int) -> list[tuple[list[float], list[Any]]]:
    """Of every token the scores of each class, and (distance, s, Y, y of each class) of its neighbours, brute force."""
    model, support, _, test = task
    rows: list[tuple[Any, list[float], list[int], list[int]]] = []
    for one in model.label(support, exemplars=True):
        assert one.exemplars is not None
        label, marks = one.document.label, one.document.token_labels
        assert label is not None
        assert marks is not None
        labels = (label,) if isinstance(label, str) else label
        for n in range(len(one.document.tokens)):
            scores = above(one.views, n)
            Y = [1 if name in labels else -1 for name in NAMES]
            y = [1 if name == marks[n] else -1 for name in NAMES]
            rows.append((one.exemplars[n].astype(np.float64), scores, Y, y))
    found = []
    for one in model.label(test, exemplars=True):
        assert one.exemplars is not None
        for n in range(len(one.document.tokens)):
            query = one.exemplars[n].astype(np.float64)
            near = sorted((float(((query - r) ** 2).sum()), place) for place, (r, *_) in enumerate(rows))[:k]
            neighbours = [(math.sqrt(d), *rows[place][1:]) for d, place in near]
            found.append((above(one.views, n), neighbours))
    return found


@pytest.mark.parametrize("kind", ["dist", "const", "equal"])
def test_every_class_is_decided_as_in_the_paper(auditor: Auditor, task: Task, kind: Any) -> None:
    _, _, dev, test = task
    knns = auditor.fit_knn(dev, kind=kind, k=3, epochs=5).knns
    expected = reference(task, 3)

    def decisions(rule: Any) -> list[list[bool]]:
        return [row for one in several(auditor.label(test, rule=rule)) for row in one.decisions.tolist()]

    def literal(borne_out: Callable[[Any, int], bool]) -> list[list[bool]]:
        return [[s[c] > 0 and borne_out(near[0], c) for c in range(3)] for s, near in expected]

    assert decisions(None) == literal(lambda near, c: True)
    assert decisions("exag") == literal(lambda near, c: near[1][c] > 0 and near[2][c] == 1)
    assert decisions("exat") == literal(lambda near, c: near[1][c] > 0 and near[3][c] == 1)
    outputs = []
    for _, near in expected:
        outputs.append([])
        for c, knn in enumerate(knns):
            raw = {
                "dist": [math.exp(-d / knn.tau) for d, *_ in near],
                "const": [math.exp(w / knn.tau) for w in knn.raw_weights],
                "equal": [1.0, 1.0, 1.0],
            }[kind]
            terms = (
                w / sum(raw) * (math.tanh(s[c]) + knn.gamma * Y[c])
                for w, (_, s, Y, _) in zip(raw, near, strict=True)
            )
            outputs[-1].append(knn.beta + sum(terms))
    audited = several(auditor.label(test, rule="knn"))
    ours = np.concatenate([one.knn for one in audited if one.knn is not None])
    assert ours == pytest.approx(np.array(outputs), abs=1e-5)
    assert decisions("knn") == (ours > 0).tolist()
    assert np.any(decisions(None), axis=0).all()
    for one in audited:
        assert one.knn is not None
        for n, classes in enumerate(one.word_classes):
            strongest = [c for c in np.argsort(-one.knn[n], kind="stable").tolist() if one.knn[n, c] > 0]
            assert list(classes) == (strongest[:1] if one.one_of else strongest)


def test_boundaries_count_class_by_class(auditor: Auditor, task: Task) -> None:
    model, _, _, test = task
    moved = Auditor(replace(model, word_boundaries=(0.5, -0.5, 0.1)), auditor.support)
    at_zero = Auditor(replace(model, word_boundaries=(0.0, 0.0, 0.0)), auditor.support)
    plain = several(at_zero.label(test, rule="exag"))
    for one, old in zip(several(moved.label(test, rule="exag")), plain, strict=True):
        for c, boundary in enumerate((0.5, -0.5, 0.1)):
            near, before = one.views[c].neighbours, old.views[c].neighbours
            assert near is not None
            assert before is not None
            assert np.array_equal(near.scores, before.scores - np.float32(boundary))
            expected = (one.views[c].scores > np.float32(boundary)) & (near.scores[:, 0] > 0)
            assert np.array_equal(one.decisions[:, c], expected & (near.labels[:, 0] == 1))


def test_the_strongest_class_is_admitted_or_refused(auditor: Auditor, task: Task) -> None:
    _, _, dev, test = task
    auditor.fit_knn(dev, k=3, epochs=3)
    limits = auditor.fit_admission(dev, quantile=0.9).views
    documents = several(auditor.label(test, admit=True))
    told = lines(auditor, test, admit=True)
    assert {one.admitted for one in documents} <= {True, False}
    for one, line in zip(documents, told, strict=True):
        assert one.knn is not None
        assert one.admitted_tokens is not None
        for n, token in enumerate(line["tokens"]):
            outputs = token["knn"]
            strongest = max(NAMES, key=lambda name: outputs[name])
            c = NAMES.index(strongest)
            near = one.views[c].neighbours
            assert near is not None
            sign = 1 if outputs[strongest] > 0 else -1
            farthest, weakest = (
                pair[sign > 0] for pair in (limits[c].token_limits.distance, limits[c].token_limits.output)
            )
            admitted = (
                farthest is not None
                and weakest is not None
                and near.distances[n, 0] <= farthest
                and near.labels[n, 0] == sign
                and sign * outputs[strongest] >= sign * weakest
            )
            assert token["admitted"] == bool(one.admitted_tokens[n]) == admitted
            assert (token["reason"] is None) == admitted
            if not admitted and f"K-NN says {strongest}" not in token["reason"]:
                assert sign < 0 or "limit" in token["reason"] or "needs" in token["reason"]
        decided = one.decided or (int(np.argmax([view.output for view in one.views])),)
        shares = []
        for c in decided:
            own = one.views[c].admitted_tokens
            document_limits = limits[c].document_limits
            assert own is not None
            assert document_limits is not None
            shares.append(own.sum() / len(own) > document_limits.share)
        assert line["admitted"] == one.admitted == all(shares)
        assert (line["reason"] is None) == line["admitted"]
        if line["reason"]:
            assert line["reason"].startswith(NAMES[decided[shares.index(False)]] + ": ")
    answers = [token["admitted"] for line in told for token in line["tokens"]]
    assert {True, False} == set(answers)


def test_json_lines_name_the_classes(auditor: Auditor, task: Task) -> None:
    model, _, _, test = task
    auditor.fit_knn(task[2], k=2, epochs=2)
    for line, document in zip(lines(auditor, test, rule="knn"), test, strict=True):
        json.dumps(line)
        for n, token in enumerate(line["tokens"]):
            exemplar = token["exemplar"]
            kept = auditor.support.document(exemplar["id"])
            assert kept.tokens[exemplar["position"]] == exemplar["token"]
            assert list(exemplar["scores"]) == list(token["knn"]) == list(NAMES)
            own = kept.token_labels[exemplar["position"]]
            assert exemplar["token_label"] == ([] if own == "none" else [own])
            predicted = sorted(
                (n for n in NAMES if exemplar["scores"][n] > 0), key=lambda n: -exemplar["scores"][n]
            )
            carried = [name for name in NAMES if token["knn"][name] > 0]
            if model.labels.kind == "multiclass":
                assert exemplar["label"] == kept.label
                assert exemplar["prediction"] == (predicted[0] if predicted else None)
                best = max(carried, key=lambda name: token["knn"][name]) if carried else None
                assert token["label"] == best
            else:
                assert tuple(exemplar["label"]) == kept.label
                assert exemplar["prediction"] == predicted
                assert token["label"] == carried
            assert token["text"] == document.tokens[n]


EDITS: dict[str, Callable[[Auditor, list[Document]], Edit]] = {
    "relabel": lambda a, d: a.relabel(d[0].id, ("staff",) if a.labels.kind == "multilabel" else "staff"),
    "token": lambda a, d: a.relabel_token(d[0].id, 0, "price"),
    "unknown": lambda a, d: a.relabel_token(d[0].id, 0, None),
    "remove": lambda a, d: a.remove([document.id for document in d[:25]]),
    "replace": lambda a, d: a.add([replace(d[1], id=d[0].id)], replace=True),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("rule", ["exag", "exat", "knn"])
def test_previews_and_undo(auditor: Auditor, task: Task, edit: str, rule: Any) -> None:
    _, support, dev, test = task
    auditor.fit_knn(dev, k=2, epochs=2)
    before = lines(auditor, test, rule=rule)
    told = auditor.preview(lambda trial: EDITS[edit](trial, support), test, rule=rule)
    assert lines(auditor, test, rule=rule) == before
    EDITS[edit](auditor, support)
    after = lines(auditor, test, rule=rule)

    def classes(token: dict[str, Any]) -> tuple[str, ...]:
        label = token["label"]
        return tuple(label) if isinstance(label, list) else () if label is None else (label,)

    flips = {
        (old["id"], n, classes(a), classes(b))
        for old, new in zip(before, after, strict=True)
        for n, (a, b) in enumerate(zip(old["tokens"], new["tokens"], strict=True))
        if classes(a) != classes(b)
    }
    assert {(f.id, f.position, f.before, f.after) for f in told.flips} == flips
    json.dumps(told.to_json())
    assert flips or (edit, rule) != ("remove", "knn")
    auditor.undo()
    assert lines(auditor, test, rule=rule) == before
    auditor.redo()
    assert lines(auditor, test, rule=rule) == after


def test_evidence_is_about_a_class(auditor: Auditor, task: Task) -> None:
    _, _, dev, test = task
    fitted = auditor.fit_knn(dev, k=3, epochs=3)
    auditor.fit_admission(dev)
    for document in test[:6]:
        audited, evidence = auditor.audit(document)
        assert isinstance(audited, MultiAudited)
        carried = [(n, NAMES[c]) for n, own in enumerate(audited.word_classes) for c in own]
        assert [(each.position, each.about) for each in evidence] == carried
        for each in evidence:
            c = NAMES.index(each.about or "")
            sum_ = each.explanation
            assert sum_ is not None
            assert sum_.beta == fitted.knns[c].beta
            assert sum_.output == pytest.approx(sum_.beta + sum(term.term for term in sum_.terms))
            assert str(sum_).endswith(f": {each.about}" if sum_.prediction > 0 else f": not {each.about}")
            for exemplar, term in zip(each.exemplars, sum_.terms, strict=True):
                kept = auditor.support.document(exemplar.id).label
                assert exemplar.label == kept
                assert math.tanh(exemplar.score) == pytest.approx(term.tanh, rel=1e-6)
                assert term.label == pytest.approx(fitted.knns[c].gamma * (1 if each.about in kept else -1))
            assert each.to_json()["class"] == each.about
    plain = auditor.explain(test[0], 0)
    scores = several(auditor.label(test[:1]))[0]
    strongest = scores.word_classes[0] or (int(scores.margins[0].argmax()),)
    assert plain.about == NAMES[strongest[0]]
    assert auditor.explain(test[0], 0, about="staff").about == "staff"
    with pytest.raises(SettingError, match="not decided for 'odd'; they are for food, price, staff"):
        auditor.explain(test[0], 0, about="odd")


def test_all_is_kept_in_the_folder(task: Task, tmp_path: Path) -> None:
    model, support, dev, test = task
    save_model(model, tmp_path / "model")
    auditor = Auditor.open(tmp_path / "model", device="cpu")
    auditor.build(support)
    fitted, limits = auditor.fit_knn(dev, k=3, epochs=2), auditor.fit_admission(dev)
    assert all(view.metrics is not None for view in fitted.views)
    again = Auditor.open(tmp_path / "model", device="cpu")
    assert again.knn == fitted
    assert again.admission is not None
    assert again.admission.views == limits.views
    assert [document.label for document in again.admission.documents] == [
        document.label for document in dev if document.id in fitted.dev_documents
    ]
    assert lines(again, test, admit=True) == lines(auditor, test, admit=True)
    assert lines(over_memory := over(model, support), test, rule="exag") == lines(again, test, rule="exag")
    assert over_memory.support.version == again.support.version
    assert again.staleness() is None
    again.remove([document.id for document in support[:40]])
    old = again.label(test, admit=True)
    stale = again.staleness()
    assert stale is not None
    for one in old:
        stale.count(one)
    again.fit_admission(dev)
    new = again.label(test, admit=True)
    flips = sum(int((a.admitted_tokens != b.admitted_tokens).sum()) for a, b in zip(old, new, strict=True))  # type: ignore[union-attr]
    assert stale.flipped_tokens == flips
    assert stale.flipped_documents == sum(a.admitted != b.admitted for a, b in zip(old, new, strict=True))
    told = stale.render()
    for name in NAMES:
        assert f"  not {name}: K-NN output at most" in told
        assert f"  document, {name}: admitted share above" in told
    value = json.loads((tmp_path / "model" / "knn.json").read_text())
    (tmp_path / "model" / "knn.json").write_text(
        json.dumps(value | {"delta": value["delta"][:2], "checksum": None})
    )
    with pytest.raises(ModelError, match="not for a model of 3 classes"):
        Auditor.open(tmp_path / "model").knn  # noqa: B018
    (tmp_path / "model" / "knn.json").write_text(json.dumps(value | {"delta": 7, "checksum": None}))
    with pytest.raises(ModelError, match="not for a model of 3 classes"):
        Auditor.open(tmp_path / "model").knn  # noqa: B018


def test_what_does_not_fit(auditor: Auditor, task: Task) -> None:
    with pytest.raises(DataError, match="unknown label 'odd'"):
        auditor.add([Document.from_text("a b", id="x", label="odd")])
    with pytest.raises(DataError, match="unknown token label 'odd'"):
        auditor.add([Document.from_text("a b", id="x", label="food", token_labels=["odd", "O"])])
    with pytest.raises(DataError, match="has no label"):
        auditor.add([Document.from_text("a b", id="x")])
    if auditor.labels.kind == "multiclass":
        with pytest.raises(DataError, match="has 2 of the classes"):
            auditor.add([Document.from_text("a b", id="x", label=("food", "staff"))])
    else:
        auditor.add([Document.from_text("a b", id="x", label=())])
        assert auditor.support.document("x").label == ()
    with pytest.raises(SupportError, match="not 1"):
        auditor.relabel_token(task[1][0].id, 0, 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoOfMany(Model):
    """A model of two classes that tells of each of them, as if there were more."""

    binary: Model

    def label(self, documents: Any, *, exemplars: bool = False) -> list[Scores]:
        found: list[Scores] = []
        for one in self.binary.label(documents, exemplars=exemplars):
            assert isinstance(one, TokenScores)
            other = TokenScores(one.document, -one.output, one.positive, one.negative, -one.offset)
            found.append(
                MultiScores(one.document, (other, replace(one, exemplars=None)), True, one.exemplars)
            )
        return found


def test_two_classes_are_the_same_as_two_of_many(trained: Model, splits: dict[str, list[Document]]) -> None:
    """A model of two classes, and the same model as one of classes that exclude each other: its second view."""
    boundary = 0.05
    binary = replace(trained, word_boundaries=(boundary,))
    both = {"labels": LabelSet("multiclass", trained.labels.names), "word_boundaries": (-boundary, boundary)}
    general = TwoOfMany(**vars(binary) | both, binary=binary)
    support, dev, test = splits["train"][:60], splits["dev"], splits["test"]
    dev, support, test = (
        [
            replace(
                d,
                token_labels=tuple({"0": "negative", "1": "positive"}[str(y)] for y in d.token_labels or ()),
            )
            for d in part
        ]
        for part in (dev, support, test)
    )
    one, two = over(binary, support), over(general, support)
    for auditor in (one, two):
        auditor.fit_knn(dev, k=3, epochs=4)
        auditor.fit_admission(dev)
    assert one.knn is not None
    assert two.knn is not None
    assert one.admission is not None
    assert two.admission is not None
    assert one.knn.views[0] == two.knn.views[1]
    for name in ("token_limits", "document_limits", "knn"):
        assert getattr(one.admission.views[0], name) == getattr(two.admission.views[1], name)
    for options in ({"rule": "exag"}, {"rule": "exat"}, {"admit": True}):
        for a, b in zip(one.label(test, **options), two.label(test, **options), strict=True):  # type: ignore[arg-type]
            view = b.views[1]
            assert isinstance(a, Audited)
            assert np.array_equal(a.decisions, view.decisions)
            assert a.output == view.output
            assert a.admitted == view.admitted
            for mine, theirs in ((a.knn, view.knn), (a.admitted_tokens, view.admitted_tokens)):
                assert (mine is None) == (theirs is None)
                assert mine is None or np.array_equal(mine, theirs)  # type: ignore[arg-type]


def test_drift(task: Task, auditor: Auditor) -> None:
    """The score of a document is that of its strongest class; a word of any class is flagged."""
    model, _, dev, test = task
    auditor.fit_drift(dev)
    reference = auditor.drift_reference().profile
    for n, scores in enumerate(model.label(dev)):
        assert isinstance(scores, MultiScores)
        assert reference.column("score")[n] == pytest.approx(scores.outputs.max(), rel=1e-4)
        assert reference.column("flagged")[n] == pytest.approx(scores.decisions.any(1).mean(), rel=1e-4)
    assert not auditor.drift(test).detected
    strange = [Document.from_text("soup zyx waiter bill " * 9, id=str(n)) for n in range(25)]
    assert auditor.drift(strange).detected


def test_a_promise_is_about_all_classes_of_a_document(auditor: Auditor, task: Task) -> None:
    model, _, dev, test = task
    auditor.fit_knn(dev)
    new = [replace(d, id=f"new-{d.id}") for d in cued(300, several=model.labels.kind == "multilabel", seed=9)]
    seen = unpack(model.record["digests"])
    promise = auditor.fit_promise([d for d in new if digest(d) not in seen], Goal(0.4, 0.8))
    assert promise.sentences(auditor.labels)[0].startswith("of the admitted documents, at most 40% are wrong")
    for one, line in zip(
        several(auditor.label(test, admit=True)), lines(auditor, test, admit=True), strict=True
    ):
        assert line["admitted"] == one.admitted
        assert (line["reason"] is None) == one.admitted
        words = [token["admitted"] for token in line["tokens"]]
        assert one.admitted_tokens is not None
        assert words == one.admitted_tokens.tolist()
    with pytest.raises(SettingError, match="is about one positive class, and the model has 3"):
        auditor.fit_promise([d for d in new if digest(d) not in seen], Goal(0.4, aim="recall"))
