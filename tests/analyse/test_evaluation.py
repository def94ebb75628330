"""Evaluation: per-class figures, averages and confusions as scikit-learn has them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import several
from scored import LABELS, scored
from several import NAMES, ONE_OF, SEVERAL, drawn
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, fbeta_score

from exaudit.analyse.evaluation import Evaluation
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.errors import DataError
from exaudit.model.scores import MultiScores

KINDS = pytest.mark.parametrize("labels", [ONE_OF, SEVERAL], ids=["multiclass", "multilabel"])


def document_tables(labelled: list[MultiScores]) -> tuple[np.ndarray, np.ndarray]:
    """Truth and decisions (D, C), read off word by word."""

    def names(document: Document) -> tuple[str, ...]:
        assert document.label is not None
        return (document.label,) if isinstance(document.label, str) else document.label

    truth = [[int(name in names(s.document)) for name in NAMES] for s in labelled]
    decided = [[int(c in s.decided) for c in range(len(NAMES))] for s in labelled]
    return np.array(truth), np.array(decided)


def word_tables(labelled: list[MultiScores]) -> tuple[np.ndarray, np.ndarray]:
    truth = [[int(tag == name) for name in NAMES] for s in labelled for tag in s.document.token_labels or ()]
    decided = [[int(c in own) for c in range(len(NAMES))] for s in labelled for own in s.word_classes]
    return np.array(truth), np.array(decided)


@KINDS
@pytest.mark.parametrize("level", ["document", "token"])
def test_figures_are_those_of_scikit_learn(labels: LabelSet, level: str) -> None:
    labelled = drawn(labels)
    evaluation = Evaluation.of(labelled, labels)
    truth, decided = (document_tables if level == "document" else word_tables)(labelled)
    wanted = classification_report(truth, decided, target_names=NAMES, output_dict=True, zero_division=0.0)
    rows = evaluation.by_class(level)  # type: ignore[arg-type]
    assert rows is not None
    for c, name in enumerate(NAMES):
        assert rows[name]["precision"] == pytest.approx(wanted[name]["precision"])
        assert rows[name]["recall"] == pytest.approx(wanted[name]["recall"])
        assert rows[name]["f1"] == pytest.approx(wanted[name]["f1-score"])
        assert rows[name]["support"] == wanted[name]["support"]
        assert rows[name]["decided"] == decided[:, c].sum()
        half = fbeta_score(truth[:, c], decided[:, c], beta=0.5, zero_division=0.0)
        assert level == "document" or rows[name]["f0.5"] == pytest.approx(half)
    metrics = evaluation.metrics(level)  # type: ignore[arg-type]
    assert metrics is not None
    assert metrics["macro_f1"] == pytest.approx(wanted["macro avg"]["f1-score"])
    assert metrics["macro_precision"] == pytest.approx(wanted["macro avg"]["precision"])
    assert metrics["micro_f1"] == pytest.approx(wanted["micro avg"]["f1-score"])
    assert 0 < metrics["macro_f1"] < 1
    if level == "document":
        assert metrics["accuracy"] == pytest.approx(accuracy_score(truth, decided))


def test_of_classes_that_exclude_each_other_a_word_counts_for_one() -> None:
    both = several.scored("x", [[2.0, 1.0, 0.0]], [1, -1, -1], label="food", token_labels=["food"])
    lowered = tuple(type(v)(v.document, v.output, v.negative, v.positive, offset=-1.5) for v in both.views)
    both = MultiScores(both.document, lowered, one_of=True)
    assert both.decisions.tolist() == [[True, True, False]]
    rows = Evaluation.of([both], ONE_OF).by_class("token")
    assert rows is not None
    assert [rows[name]["decided"] for name in NAMES] == [1, 0, 0]


def test_the_confusion_matrix_is_scikit_learns() -> None:
    labelled = drawn(ONE_OF)
    truth, decided = (table.argmax(1) for table in document_tables(labelled))
    wanted = confusion_matrix(truth, decided)
    evaluation = Evaluation.of(labelled, ONE_OF)
    table = evaluation.confusion()
    assert table is not None
    assert table.tolist() == wanted.tolist()
    assert evaluation.to_json()["confusion"] == wanted.tolist()
    first = evaluation.confusions()[0]
    off = wanted - np.diag(np.diag(wanted))
    assert first.documents == off.max()
    assert wanted[NAMES.index(first.truth), NAMES.index(first.decided)] == off.max()
    assert Evaluation.of(drawn(SEVERAL), SEVERAL).confusion() is None


@KINDS
def test_baselines_decide_as_the_kind_allows(labels: LabelSet) -> None:
    evaluation = Evaluation.of(drawn(labels, 200), labels)
    chance, common = evaluation.random(), evaluation.majority()
    assert chance.tokens is not None
    words = np.concatenate(chance.tokens)
    if labels.kind == "multiclass":
        assert (chance.documents.sum(1) == 1).all()
        assert set(words.sum(1).tolist()) == {0, 1}
        assert chance.documents.mean(0) == pytest.approx([1 / 3] * 3, abs=0.1)
        assert words.mean(0) == pytest.approx([1 / 4] * 3, abs=0.05)
        assert (common.documents == np.eye(3)[evaluation.document_truth.sum(0).argmax()]).all()
    else:
        assert words.mean(0) == pytest.approx([1 / 2] * 3, abs=0.05)
        assert (common.documents == (evaluation.document_truth.mean(0) >= 0.5)).all()


@KINDS
def test_intervals_are_drawn_over_documents(labels: LabelSet) -> None:
    evaluation = Evaluation.of(drawn(labels), labels)
    found = evaluation.intervals(draws=60)
    generator, n = np.random.default_rng(0), len(evaluation.documents)
    values = []
    for _ in range(60):
        rows = generator.integers(0, n, n)
        values.append((evaluation.documents[rows] == evaluation.document_truth[rows]).all(1).mean())
    assert found["document"] is not None
    assert found["document"]["accuracy"] == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
    for level in ("document", "token"):
        metrics, spans = evaluation.metrics(level), found[level]  # type: ignore[arg-type]
        assert metrics is not None
        assert spans is not None
        assert set(spans) == set(metrics)
        assert all(low <= metrics[name] <= high for name, (low, high) in spans.items())


@KINDS
def test_what_is_printed(labels: LabelSet) -> None:
    evaluation = Evaluation.of(drawn(labels), labels)
    text = evaluation.render(ci=True)
    for told in ("macro prec.", "micro f1", "documents by class", "tokens by class", "majority", "95% ci"):
        assert told in text
    assert ("decided class (columns)" in text) == (labels.kind == "multiclass")
    data = json.loads(json.dumps(evaluation.to_json(ci=True)))
    assert (data["kind"], data["classes"]) == (labels.kind, list(NAMES))
    assert set(data["by_class"]["token"]) == set(NAMES)
    assert set(data["ci"]["document"]) == set(data["document"])


def test_many_classes_are_told_by_their_commonest_confusions() -> None:
    labels = LabelSet("multiclass", tuple(f"class {c}" for c in range(30)))
    labelled = []
    for n in range(60):
        outputs = [-1.0] * 30
        outputs[0 if n < 40 else n % 30] = 1.0  # the first forty are taken for class 0
        own = [[0.0] * 30]
        labelled.append(
            several.scored(
                "x", own, outputs, labels=labels, id=str(n), label=f"class {n % 3 if n < 40 else n % 30}"
            )
        )
    text = Evaluation.of(labelled, labels).render()
    assert "the commonest first" in text
    assert text.splitlines()[-2:] == ["  class 1 taken for class 0: 13", "  class 2 taken for class 0: 13"]
    assert "no token labels" in text


def test_only_what_is_admitted_is_judged() -> None:
    labelled = drawn(ONE_OF, 10)
    kept = [n % 2 == 0 for n in range(10)]
    masks = [np.arange(len(s.document.tokens)) % 2 == 0 for s in labelled]
    part = Evaluation.of(labelled, ONE_OF).only(kept, masks)
    assert part.documents.tolist() == Evaluation.of(labelled[::2], ONE_OF).documents.tolist()
    assert part.tokens is not None
    assert sum(map(len, part.tokens)) == sum(int(mask.sum()) for mask in masks)


def test_two_classes_are_judged_by_the_positive_one() -> None:
    labelled = [
        scored("a b", [1, -1], id="1", output=1.0, label="pos", token_labels=[1, 1]),
        scored("a", [1], id="2", output=1.0, label="neg", token_labels=[0]),
        scored("a", [-1], id="3", output=-1.0, label="neg", token_labels=[0]),
    ]
    assert Evaluation.of(labelled, LABELS).to_json() == {
        "document": {"accuracy": 2 / 3, "precision": 0.5, "recall": 1.0, "f1": 2 / 3, "mcc": 0.5},
        "token": {"precision": 0.5, "recall": 0.5, "f1": 0.5, "f0.5": 0.5, "mcc": 0.0},
    }


def test_bad_input() -> None:
    with pytest.raises(DataError, match="document '1' has no label to compare with"):
        Evaluation.of([several.scored("x", [[0, 0, 0]], [1, 0, 0])], ONE_OF)
    with pytest.raises(DataError, match="no document to evaluate on"):
        Evaluation.of([], ONE_OF)
    with pytest.raises(DataError, match="unknown label 'music'"):
        Evaluation.of([several.scored("x", [[0, 0, 0]], [1, 0, 0], label="music")], ONE_OF)
