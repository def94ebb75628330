"""The auditor against a literal reference, and the promises about edits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.audit import Auditor, Exemplar, OverlapWarning
from exaudit.audit import edits as edits_module
from exaudit.audit.edits import chunks, documents_key
from exaudit.data.document import Document
from exaudit.errors import DataError, ModelError, SettingError, SupportError
from exaudit.model.folder import save_model
from exaudit.model.labeler import Labeler
from exaudit.model.model import Model
from exaudit.support.build import Build
from exaudit.support.history import Edit
from exaudit.support.memory import MemorySupportSet
from exaudit.support.search import ExactSearch

Splits = dict[str, list[Document]]
Lines = list[dict[str, Any]]


def lines(auditor: Auditor, documents: list[Document], **options: Any) -> Lines:
    """All that labelling says, to the last digit."""
    return [one.to_json(auditor.labels) for one in auditor.label(documents, nearest=True, **options)]


# -- decisions against a slow, literal reference --------------------------------------------------------


def nearest(trained: Model, support: list[Document], documents: list[Document], k: int) -> list[Any]:
    """(score, then for each neighbour: distance, s, Y, y) of every token, by brute force in float64."""
    rows: list[tuple[Any, float, int, int]] = []
    for one in trained.label(support, exemplars=True):
        y_of = trained.labels.views[0].token_targets(one.document)
        assert one.exemplars is not None
        assert y_of is not None
        Y = 1 if one.document.label == trained.labels.names[1] else -1
        for n in range(len(one.document.tokens)):
            rows.append((one.exemplars[n].astype(np.float64), float(one.scores[n]), Y, 2 * int(y_of[n]) - 1))
    found = []
    for one in trained.label(documents, exemplars=True):
        assert one.exemplars is not None
        for n in range(len(one.document.tokens)):
            query = one.exemplars[n].astype(np.float64)
            near = sorted(
                (float(((query - r) ** 2).sum()), place, s, Y, y) for place, (r, s, Y, y) in enumerate(rows)
            )
            found.append((float(one.scores[n]), [(math.sqrt(d), s, Y, y) for d, _, s, Y, y in near[:k]]))
    return found


@pytest.mark.parametrize("kind", ["dist", "const", "equal"])
def test_decisions_are_the_papers(auditor: Auditor, trained: Model, splits: Splits, kind: Any) -> None:
    fitted = auditor.fit_knn(splits["dev"], kind=kind, k=3, epochs=5)
    knn, documents = fitted.knns[0], splits["test"][:6]
    reference = nearest(trained, splits["train"][:60], documents, 3)

    def decisions(rule: Any) -> list[bool]:
        return [bool(d) for one in auditor.label(documents, rule=rule) for d in one.decisions]

    assert decisions(None) == [s > 0 for s, _ in reference]
    assert decisions("exag") == [s > 0 and near[0][1] > 0 and near[0][2] == 1 for s, near in reference]
    assert decisions("exat") == [s > 0 and near[0][1] > 0 and near[0][3] == 1 for s, near in reference]
    outputs = []
    for _, near in reference:
        if kind == "dist":
            raw = [math.exp(-d / knn.tau) for d, _, _, _ in near]
        elif kind == "const":
            raw = [math.exp(w / knn.tau) for w in knn.raw_weights]
        else:
            raw = [1.0, 1.0, 1.0]
        terms = (
            w / sum(raw) * (math.tanh(s) + knn.gamma * Y) for w, (_, s, Y, _) in zip(raw, near, strict=True)
        )
        outputs.append(knn.beta + sum(terms))
    ours = [float(v) for one in auditor.label(documents, rule="knn") for v in one.knn]  # type: ignore[union-attr]
    assert ours == pytest.approx(outputs, abs=1e-5)
    assert decisions("knn") == [value > 0 for value in ours]
    assert {True, False} == set(decisions(None))


def test_rules_only_take_positives_away(auditor: Auditor, splits: Splits) -> None:
    model = np.concatenate([one.decisions for one in auditor.label(splits["test"])])
    for rule in ("exag", "exat"):
        ruled = np.concatenate([one.decisions for one in auditor.label(splits["test"], rule=rule)])
        assert not (ruled & ~model).any()
        assert ruled.sum() < model.sum()


def moved(auditor: Auditor, boundary: float) -> Auditor:
    """The same with another decision boundary of the words."""
    return Auditor(replace(auditor.model, word_boundaries=(boundary,)), auditor.support)


def test_boundary_counts_for_exemplars_too(auditor: Auditor, splits: Splits) -> None:
    """A lower boundary makes more words positive, here and in the support set."""
    for one in moved(auditor, -0.2).label(splits["test"][:5], rule="exag"):
        assert one.neighbours is not None
        support = auditor.support.exemplars(vectors=False)
        raw = support.scores[np.searchsorted(support.row, one.neighbours.rows), 0]
        assert np.array_equal(one.neighbours.scores, raw - np.float32(-0.2))
        expected = (
            (one.scores > -0.2) & (raw[:, 0] - np.float32(-0.2) > 0) & (one.neighbours.labels[:, 0] == 1)
        )
        assert np.array_equal(one.decisions, expected)


def test_supervised_models_take_token_labels(splits: Splits) -> None:
    small = {"encoder": "none", "filters": 8, "vocabulary": 100, "word_dimension": 8, "device": "cpu"}
    labeler = Labeler(**small, epochs=1, loss="token").fit(splits["train"][:40], dev=splits["dev"][:10])
    support = MemorySupportSet.create(width=8, labels=("negative", "positive"))
    auditor = Auditor(labeler.model_, support)
    auditor.build(splits["train"][:20])
    assert auditor.fit_knn(splits["dev"], k=2, epochs=1).knns[0].use_token_labels
    auditor.relabel_token(splits["train"][0].id, 0, None)  # one exemplar without: document labels for all
    assert not auditor.fit_knn(splits["dev"], k=2, epochs=1).knns[0].use_token_labels


# -- edits ----------------------------------------------------------------------------------------------


def flipped(auditor: Auditor, id: str) -> str:
    label = auditor.support.document(id).label
    negative, positive = auditor.labels.names
    return negative if label == positive else positive


EDITS: dict[str, Callable[[Auditor, Splits], Edit]] = {
    "add": lambda a, s: a.add(s["train"][60:80]),
    "replace": lambda a, s: a.add([replace(s["train"][70], id=s["train"][3].id)], replace=True),
    "relabel": lambda a, s: a.relabel(s["train"][0].id, flipped(a, s["train"][0].id)),
    "token": lambda a, s: a.relabel_token(s["train"][0].id, 0, 1),
    "remove": lambda a, s: a.remove([d.id for d in s["train"][:25]]),
    "build": lambda a, s: a.build(s["train"][100:130], everything=True),
}


@pytest.mark.parametrize(("edit", "kept"), [*((edit, "disk") for edit in EDITS), ("add", "memory")])
def test_undo_restores_every_prediction(
    trained: Model, model: Path, splits: Splits, edit: str, kept: str
) -> None:
    if kept == "memory":
        support = MemorySupportSet.create(width=20, labels=("negative", "positive"))
        auditor = Auditor(trained, support)
    else:
        auditor = Auditor.open(model, device="cpu")
    auditor.build(splits["train"][:60])
    auditor.fit_knn(splits["dev"], k=4, epochs=3)
    auditor.fit_admission(splits["dev"])

    def everything() -> list[Lines]:
        chosen: list[dict[str, Any]] = [{"rule": "exag"}, {"rule": "exat"}, {"rule": "knn", "admit": True}]
        return [lines(auditor, splits["test"], **options) for options in chosen]

    before = everything()
    EDITS[edit](auditor, splits)
    after = everything()
    assert edit == "token" or after != before
    auditor.undo()
    assert everything() == before
    auditor.redo()
    assert everything() == after
    again = Auditor(auditor.model, auditor.support)  # a new index over the same set says the same
    again._knn, again._admission = auditor.knn, auditor.admission
    assert lines(again, splits["test"], rule="knn", admit=True) == after[2]


def test_add_then_remove_restores_every_prediction(auditor: Auditor, splits: Splits) -> None:
    auditor.fit_knn(splits["dev"], k=4, epochs=3)
    before = lines(auditor, splits["test"], rule="knn")
    new = splits["train"][60:80]
    auditor.add(new)
    assert lines(auditor, splits["test"], rule="knn") != before
    auditor.remove([document.id for document in new])
    assert lines(auditor, splits["test"], rule="knn") == before


def test_large_additions_go_in_parts(
    auditor: Auditor, splits: Splits, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = MemorySupportSet.preview(auditor.support)
    at_once = Auditor(auditor.model, one)
    at_once.add(splits["train"][60:120])
    monkeypatch.setattr("exaudit.audit.edits._ADD_TOKENS", 10)
    auditor.add(splits["train"][60:120])
    assert auditor.support.ids == at_once.support.ids
    assert lines(auditor, splits["test"], rule="exag") == lines(at_once, splits["test"], rule="exag")


def test_edits_of_another_process_are_followed(model: Path, splits: Splits) -> None:
    one, other = Auditor.open(model, device="cpu"), Auditor.open(model, device="cpu")
    one.build(splits["train"][:60])
    before = lines(other, splits["test"], rule="exag")
    one.remove([document.id for document in splits["train"][:30]])
    after = lines(one, splits["test"], rule="exag")
    assert lines(other, splits["test"], rule="exag") == after != before
    one.support.compact()
    one.add(splits["train"][100:110])
    assert lines(other, splits["test"], rule="exag") == lines(one, splits["test"], rule="exag")


# -- previews -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "rule"), [*((edit, rule) for edit in EDITS for rule in ("exag", "knn")), ("token", "exat")]
)
def test_preview_tells_what_really_flips(auditor: Auditor, splits: Splits, edit: str, rule: Any) -> None:
    auditor.fit_knn(splits["dev"], k=2, epochs=3)
    version, number = auditor.support.version, auditor.support.number
    before, said = auditor.label(splits["test"], rule=rule), lines(auditor, splits["test"], rule=rule)
    told = auditor.preview(lambda trial: EDITS[edit](trial, splits), splits["test"], rule=rule)
    assert (auditor.support.version, auditor.support.number) == (version, number)
    assert lines(auditor, splits["test"], rule=rule) == said
    done = EDITS[edit](auditor, splits)
    after = auditor.label(splits["test"], rule=rule)
    flips = {
        (old.document.id, n, old.document.tokens[n], int(old.decisions[n]), int(new.decisions[n]))
        for old, new in zip(before, after, strict=True)
        for n in range(len(old.decisions))
        if old.decisions[n] != new.decisions[n]
    }
    assert {(f.id, f.position, f.token, f.before, f.after) for f in told.flips} == flips
    assert (told.edit.what, told.documents) == (done.what, len(splits["test"]))
    if edit in ("remove", "build") and rule == "exag":
        assert flips


# -- evidence -------------------------------------------------------------------------------------------


def test_explain_adds_up(auditor: Auditor, splits: Splits) -> None:
    document = splits["test"][0]
    plain = auditor.explain(document, 2)
    assert plain.explanation is None
    assert len(plain.exemplars) == 8
    fitted = auditor.fit_knn(splits["dev"], k=5, epochs=3)
    evidence = auditor.explain(document, 2, k=7)
    assert (evidence.token, len(evidence.exemplars)) == (document.tokens[2], 7)
    sum_ = evidence.explanation
    assert sum_ is not None
    assert sum_.beta == fitted.knns[0].beta
    assert sum_.output == pytest.approx(sum_.beta + sum(t.weight * (t.tanh + t.label) for t in sum_.terms))
    (audited,) = auditor.label([document], rule="knn")
    assert audited.knn is not None
    assert sum_.output == pytest.approx(audited.knn[2], rel=1e-6)
    weights = [exemplar.weight for exemplar in evidence.exemplars]
    assert sum(w for w in weights if w is not None) == pytest.approx(1)
    assert weights[5:] == [None, None]
    for exemplar, term in zip(evidence.exemplars, sum_.terms, strict=False):
        kept = auditor.support.document(exemplar.id)
        assert exemplar.tokens == kept.tokens
        assert kept.row + exemplar.position == exemplar.row == term.row
        assert exemplar.distance == pytest.approx(term.distance)
        assert math.tanh(exemplar.score) == pytest.approx(term.tanh, rel=1e-6)
        assert fitted.knns[0].gamma * (1 if exemplar.label == "positive" else -1) == pytest.approx(term.label)
    json.dumps(evidence.to_json())
    with pytest.raises(SettingError, match="no token 99"):
        auditor.explain(document, 99)


def test_a_document_finds_itself(auditor: Auditor, splits: Splits) -> None:
    evidence = auditor.explain(splits["train"][5], 1, k=1)
    assert evidence.exemplars[0].distance == pytest.approx(0, abs=1e-5)
    assert evidence.exemplars[0].token == splits["train"][5].tokens[1]


@pytest.mark.parametrize("boundary", [0.0, -0.2])
def test_exemplars_bring_their_whole_document(auditor: Auditor, splits: Splits, boundary: float) -> None:
    """Decisions and truth of the exemplar's document are those of labelling that document again."""
    auditor.remove(
        [document.id for document in splits["train"][3:9]]
    )  # places in the columns are no rows now
    auditor = moved(auditor, boundary)
    again = {one.document.id: one for one in auditor.model.label(splits["train"][:60])}
    found = [(one, near) for one in auditor.label(splits["test"], nearest=True) for near in one.nearest]
    for one, near in found:
        literal = again[near.id]
        assert near.tokens == literal.document.tokens
        assert near.decisions(one.offset) == tuple(int(s > boundary) for s in literal.scores)
        assert near.decisions(one.offset)[near.position] == near.prediction
        assert near.token_labels == tuple(int(y) for y in literal.document.token_labels or ())
        assert near.token_label == near.token_labels[near.position]
    assert {0, 1} == {d for _, near in found for d in near.decisions(boundary)}
    assert {0, 1} == {y for _, near in found for y in near.token_labels}
    assert any(near.decisions(0.0) != near.decisions(-0.2) for _, near in found)


def test_a_score_at_the_boundary_is_not_above_it(auditor: Auditor, splits: Splits) -> None:
    document, kept = splits["test"][0], auditor.support.exemplars(vectors=False)
    for position in range(len(document.tokens)):
        (near,) = auditor.explain(document, position, k=1).exemplars
        boundary = near.score  # of the exemplar itself, since the boundary was 0
        (near,) = moved(auditor, boundary).explain(document, position, k=1).exemplars
        row = near.row - near.position
        scores = kept.scores[row : row + len(near.tokens), 0].tolist()
        assert near.decisions(boundary) == tuple(int(s > boundary) for s in scores)
        assert near.decisions(boundary)[near.position] == near.prediction == 0


def test_exemplars_show_edits_of_token_labels_at_once(auditor: Auditor, splits: Splits) -> None:
    def nearest() -> Exemplar:
        (one,) = auditor.label([splits["test"][0]], nearest=True)
        return one.nearest[2]

    before = nearest()
    other = (before.position + 1) % len(before.tokens)
    for position in (before.position, other):
        for label in (None, 1 - int(before.token_labels[position] or 0)):
            auditor.relabel_token(before.id, position, label)
            literal = [label if n == position else y for n, y in enumerate(before.token_labels)]
            assert nearest().token_labels == tuple(literal)
            assert nearest().token_label == literal[before.position]
        auditor.undo()
        auditor.undo()
        assert nearest() == before
    auditor.remove(before.id)
    assert nearest().id != before.id
    assert nearest().token_labels == tuple(
        {-1: 0, 1: 1}[y] for y in auditor.support.document(nearest().id).token_labels
    )


# -- fitting --------------------------------------------------------------------------------------------


def test_fitted_parts_are_kept_in_the_folder(model: Path, splits: Splits) -> None:
    auditor = Auditor.open(model, device="cpu")
    auditor.build(splits["train"][:60])
    fitted = auditor.fit_knn(splits["dev"], k=4, epochs=3)
    assert fitted.views[0].metrics is not None
    assert len(fitted.dev_documents) == 20
    limits = auditor.fit_admission(splits["dev"], quantile=0.9, use_count=True)
    assert [d.id for d in limits.documents] == [
        d.id for d in splits["dev"] if d.id in set(fitted.dev_documents)
    ]
    again = Auditor.open(model, device="cpu")
    assert again.knn == fitted
    assert again.admission is not None
    assert again.admission.views == limits.views
    options: dict[str, Any] = {"rule": "exag", "admit": True}
    assert lines(again, splits["test"], **options) == lines(auditor, splits["test"], **options)


def test_fitted_on_half_of_dev_literally(auditor: Auditor, splits: Splits) -> None:
    """delta and the token limits, recounted over K-NN dev."""
    fitted = auditor.fit_knn(splits["dev"], k=3, epochs=4)
    limits = auditor.fit_admission(splits["dev"], kind="distance").views[0]
    dev = [d for d in splits["dev"] if d.id in fitted.dev_documents]
    wrong, far = 0, {-1: [], 1: []}  # type: ignore[var-annotated]
    for one in auditor.label(dev, rule="knn"):
        assert one.knn is not None
        assert one.neighbours is not None
        for n, score in enumerate(one.scores):
            model, knn = (1 if score > 0 else -1), (1 if one.knn[n] > 0 else -1)
            wrong += model != knn
            if model == knn:
                far[knn].append(float(one.neighbours.distances[n, 0]))
    assert fitted.views[0].delta == wrong
    for index, sign in enumerate((-1, 1)):
        expected = pytest.approx(sum(far[sign]) / len(far[sign]), abs=1e-6) if far[sign] else None
        assert limits.token_limits.distance[index] == expected


def test_staleness(auditor: Auditor, splits: Splits) -> None:
    auditor.fit_knn(splits["dev"], k=3, epochs=3)
    auditor.fit_admission(splits["dev"], kind="distance")
    assert auditor.staleness() is None
    auditor.remove([d.id for d in splits["train"][:50]])
    version = auditor.support.version
    stale = auditor.staleness()
    assert stale is not None
    assert auditor.support.version == version
    old = auditor.label(splits["test"], admit=True)
    for one in old:
        stale.count(one)
    assert auditor.admission is not None
    assert auditor.admission == stale.fitted  # nothing was kept
    text = stale.render()
    auditor.fit_admission(splits["dev"], kind="distance")
    assert auditor.admission.views == stale.refitted.views
    new = auditor.label(splits["test"], admit=True)
    flips = sum(
        int((a.admitted_tokens != b.admitted_tokens).sum())  # type: ignore[union-attr]
        for a, b in zip(old, new, strict=True)
    )
    assert (stale.flipped_tokens, stale.tokens) == (flips, sum(len(one.scores) for one in old))
    assert stale.flipped_documents == sum(a.admitted != b.admitted for a, b in zip(old, new, strict=True))
    assert flips > 0
    assert f"otherwise {flips} of {stale.tokens} tokens" in text
    assert auditor.staleness() is None
    auditor.undo()
    assert auditor.staleness() is not None


def test_admission_says_why(auditor: Auditor, splits: Splits) -> None:
    auditor.fit_knn(splits["dev"], k=3, epochs=3)
    auditor.fit_admission(splits["dev"])
    for line in lines(auditor, splits["test"], admit=True):
        assert (line["reason"] is None) == line["admitted"]
        for token in line["tokens"]:
            assert (token["reason"] is None) == token["admitted"]
            assert token["label"] == int(token["knn"] > 0)  # the K-NN decides where no other rule is given


def test_documents_in_the_set_themselves(auditor: Auditor, splits: Splits) -> None:
    with pytest.warns(OverlapWarning, match="40 of the 40 documents"):
        auditor.fit_knn(splits["train"][:40], k=2, epochs=1)
    with pytest.warns(OverlapWarning, match="20 of the 20"):
        auditor.fit_admission(splits["train"][:40])
    numbered = [replace(d, id=splits["train"][i].id) for i, d in enumerate(splits["dev"])]
    assert auditor.overlap(numbered) == []  # the same ids, but other texts: no warning
    with pytest.warns(OverlapWarning, match=f"3 of the {3 + len(numbered)} documents"):
        assert list(auditor.watch_overlap(iter([*numbered, *splits["train"][:3]]))) == [
            *numbered,
            *splits["train"][:3],
        ]
    auditor.fit_knn(numbered, k=2, epochs=1)


# -- building -------------------------------------------------------------------------------------------


def test_chunks(splits: Splits) -> None:
    parts = list(chunks(splits["train"], tokens=100, documents_at_most=5))
    assert [d for part in parts for d in part] == splits["train"]
    assert max(map(len, parts)) <= 5
    assert all(sum(len(d.tokens) for d in part) <= 100 or len(part) == 1 for part in parts)
    assert list(chunks([])) == []
    key = documents_key(splits["dev"])
    assert key == documents_key(list(splits["dev"]))
    assert key != documents_key([replace(splits["dev"][0], label="x"), *splits["dev"][1:]])


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_stopped_build_goes_on(
    model: Path, splits: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    monkeypatch.setattr(edits_module, "_TOKENS", 150)
    documents = splits["train"][:60]
    whole = Auditor.open(model, support=tmp_path / "whole", device="cpu")
    whole.build(documents)
    add, count = Build.add, 0

    def failing(self: Build, batch: Any) -> None:
        nonlocal count
        if count == stop:
            raise OSError(28, "No space left on device")
        count += 1
        add(self, batch)

    monkeypatch.setattr(Build, "add", failing)
    with pytest.raises(OSError, match="No space"):
        Auditor.open(model, device="cpu").build(documents)
    left = Auditor.open(model, device="cpu")
    assert left.support.ids == ()
    with pytest.raises(SupportError, match="empty"):
        left.label(splits["test"], rule="exag")
    monkeypatch.setattr(Build, "add", add)
    labelled: list[str] = []
    label = Model.label

    def counting(self: Model, X: Any, **options: Any) -> Any:
        labelled.extend(d.id for d in X)
        return label(self, X, **options)

    monkeypatch.setattr(Model, "label", counting)
    left.build(documents)
    assert len(labelled) == len(documents) - sum(len(c) for c in list(chunks(documents))[:stop])
    assert left.support.version == whole.support.version
    left.support.verify()
    assert left.build(documents) == left.support.log()[-1]  # stopped after the end: nothing is left to do
    assert left.support.number == 1


def test_build_refuses(model: Path, splits: Splits, tmp_path: Path) -> None:
    auditor = Auditor.open(model, device="cpu")
    with pytest.raises(SupportError, match="build one first"):
        auditor.label(splits["test"], rule="exag")
    with pytest.raises(DataError, match="has no label"):
        auditor.build([Document.from_text("no label", id="x")])
    with pytest.raises(DataError, match="unknown label 'odd'"):
        auditor.build([Document.from_text("a b", id="x", label="odd")])
    with pytest.raises(DataError, match="same id"):
        auditor.build([splits["train"][0], splits["train"][0]])
    assert not (model / "support").exists()  # nothing was made
    auditor.build(splits["train"][:5])
    with pytest.raises(SupportError, match="5 documents already"):
        auditor.build(splits["train"][:6])
    with pytest.raises(SupportError, match="is in the support set already \\(1 of 2 are\\)"):
        auditor.add(splits["train"][4:6])
    auditor.build(splits["train"][:6], everything=True, dtype="float32")
    assert auditor.support.ids == tuple(d.id for d in splits["train"][:6])


def test_another_model_or_label_set(model: Path, trained: Model, splits: Splits, tmp_path: Path) -> None:
    Auditor.open(model, device="cpu").build(splits["train"][:5])
    small = {"encoder": "none", "filters": 20, "vocabulary": 50, "word_dimension": 8, "device": "cpu"}
    other = Labeler(**small, epochs=1).fit(splits["train"][:40], dev=splits["dev"][:10])
    other.save(tmp_path / "other")
    auditor = Auditor.open(tmp_path / "other", support=model / "support", device="cpu")
    with pytest.raises(SupportError, match="belongs to another model"):
        auditor.label(splits["test"], rule="exag")
    named = [replace(d, label={"negative": "bad", "positive": "yes"}[d.label or ""]) for d in splits["train"]]
    Labeler(**small, epochs=1).fit(named[:40], dev=named[40:60]).save(tmp_path / "named")
    auditor = Auditor.open(tmp_path / "named", support=model / "support", device="cpu")
    with pytest.raises(SupportError, match="another model"):
        auditor.relabel(splits["train"][0].id, "bad")
    # the boundary may move, the vectors are the same
    save_model(replace(trained, word_boundaries=(0.5,)), tmp_path / "moved")
    auditor = Auditor.open(tmp_path / "moved", support=model / "support", device="cpu")
    assert len(auditor.label(splits["test"][:2], rule="exag")) == 2


def test_wide_filters_have_no_exemplars(splits: Splits, tmp_path: Path) -> None:
    wide = Labeler(
        encoder="none", filters=4, widths=(1, 2), vocabulary=50, word_dimension=4, epochs=1, device="cpu"
    )
    wide.fit(splits["train"][:20], dev=splits["dev"][:10]).save(tmp_path / "wide")
    with pytest.raises(SettingError, match="width 1"):
        Auditor.open(tmp_path / "wide", device="cpu").build(splits["train"][:5])
    assert not (tmp_path / "wide" / "support").exists()


def test_bad_requests(auditor: Auditor, trained: Model, splits: Splits, model: Path) -> None:
    documents = splits["test"][:2]
    with pytest.raises(SupportError, match="no K-NN was fitted"):
        auditor.label(documents, rule="knn")
    with pytest.raises(SettingError, match="no decision rule 'exax'"):
        auditor.label(documents, rule="exax")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="exemplars=True"):
        auditor.neighbours(trained.label(documents), 1)
    with pytest.raises(SupportError, match="from 1 to 100"):
        auditor.neighbours(trained.label(documents, exemplars=True), 101)
    auditor.fit_knn(splits["dev"], k=2, epochs=1)
    with pytest.raises(SupportError, match="no admission limits"):
        auditor.label(documents, admit=True)
    with pytest.raises(SupportError, match="only 0 of the 20"):
        auditor.fit_admission(splits["test"])
    auditor.fit_admission(splits["dev"])
    auditor.fit_knn(splits["dev"], k=3, epochs=1)
    with pytest.raises(SupportError, match="another K-NN"):
        auditor.label(documents, admit=True)
    other = moved(auditor, 0.125)
    other._knn = auditor.knn
    with pytest.raises(SupportError, match=r"was 0; now it is 0\.125"):
        other.label(documents, rule="knn")
    with pytest.raises(SettingError, match="needs a model"):
        Auditor()
    (model / "knn.json").write_text("{")
    with pytest.raises(ModelError, match=r"knn\.json is damaged"):
        Auditor.open(model).knn  # noqa: B018
    (model / "admission.json").write_text('{"schema": 99}')
    with pytest.raises(ModelError, match="newer exaudit"):
        Auditor.open(model).admission  # noqa: B018


def test_many_documents_are_one_search(
    auditor: Auditor, trained: Model, splits: Splits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A streamed support set is read for all of them together, and answers as one in memory does."""
    streamed = Auditor(trained, auditor.support, stream=True)
    search, asked = ExactSearch.search, []
    monkeypatch.setattr(
        ExactSearch,
        "search",
        lambda self, queries, k: (asked.append(len(queries)), search(self, queries, k))[1],
    )
    found = streamed.label(splits["test"], rule="exag")
    assert asked == [sum(len(document.tokens) for document in splits["test"])]
    expected = auditor.label(splits["test"], rule="exag")
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.neighbours.rows, other.neighbours.rows)
        np.testing.assert_array_equal(one.neighbours.distances, other.neighbours.distances)
