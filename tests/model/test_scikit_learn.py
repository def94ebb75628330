"""scikit-learn's contract: its own checks, and the tools that people put a classifier into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from exaudit.errors import DataError
from exaudit.model.labeler import Labeler
from tiny import cued, tiny_labeler


class NumbersAsWords(Labeler):
    """A Labeler over tables of numbers, which is what scikit-learn's checks have: each row becomes a text.

    A cell is written as its column and a coarse value, several times over with shades, so that near values share words.
    """

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.spread_ = X.std(0) + 1e-9
        self.middle_ = X.mean(0)
        if len(set(y.tolist())) < 2:
            raise ValueError("Classifier can't train when only one class is present.")
        super().fit(self._words(X), y, dev=(self._words(X), y), **options)
        return self

    def iter_label(self, X: Iterable[Any], **options: Any) -> Any:
        check_is_fitted(self)
        if isinstance(X, list) and X and isinstance(X[0], str):
            return super().iter_label(X, **options)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return super().iter_label(self._words(X), **options)

    def _words(self, X: Any) -> list[str]:
        places = np.rint(2 * (X - self.middle_) / self.spread_).clip(-6, 6).astype(int)
        return [
            " ".join(f"c{c}v{v + d}" for c, v in enumerate(row) for d in (-1, 0, 1))
            for row in places.tolist()
        ]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array = False, False
        tags.input_tags.two_d_array = True
        tags.classifier_tags.multi_label = False  # the checks' tables are one-dimensional in y here
        return tags


NOT_MET = {
    "check_methods_sample_order_invariance": "sums of float32 in other batches differ in the last digits",
    "check_methods_subset_invariance": "sums of float32 in other batches differ in the last digits",
}


@parametrize_with_checks(
    [
        NumbersAsWords(
            encoder="none",
            vocabulary=500,
            word_dimension=16,
            filters=30,
            epochs=30,
            batch_size=10,
            learning_rate=3.0,
            device="cpu",
            cache="",
        )
    ],
    expected_failed_checks=lambda estimator: NOT_MET,
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def data() -> tuple[list[str], list[str]]:
    """Reviews whose positive ones name the food."""
    documents = cued(90)
    return [d.text for d in documents], ["positive" if d.label == "food" else "negative" for d in documents]


def quick(**options: Any) -> Labeler:
    return tiny_labeler(**{"epochs": 6, "batch_size": 10, "filters": 30, "learning_rate": 3.0} | options)


@pytest.mark.parametrize("names", [("bad", "good"), ("good", "bad"), ("no", "yes"), ("yes", "no")])
def test_classes_are_sorted_and_columns_follow(data: Any, names: tuple[str, str]) -> None:
    """Whatever the classes are called: a good classifier ranks well, in scikit-learn's order."""
    texts, labels = data
    y = [names[label == "positive"] for label in labels]
    model = quick().fit(texts, y)
    assert model.classes_.tolist() == sorted(names)
    scores, probability = model.decision_function(texts), model.predict_proba(texts)
    truth = np.array(y) == model.classes_[1]
    assert roc_auc_score(truth, scores) > 0.9
    np.testing.assert_allclose(probability.sum(1), 1)
    assert roc_auc_score(truth, probability[:, 1]) > 0.9
    assert (model.classes_[(scores > 0).astype(int)] == model.predict(texts)).all()


def test_cross_validation_and_grids(data: Any) -> None:
    texts, labels = data
    folds = StratifiedKFold(3)
    assert cross_val_score(quick(), texts, labels, scoring="roc_auc", cv=folds).mean() > 0.75
    grid = GridSearchCV(quick(), {"filters": [5, 30], "dropout": [np.float64(0.2)]}, cv=folds)
    grid.fit(texts, labels)
    assert grid.best_score_ > 0.6
    assert grid.best_estimator_.get_params()["filters"] in (5, 30)


def test_three_classes_in_cross_validation() -> None:
    documents = cued(90)
    texts, y = [d.text for d in documents], [d.label for d in documents]
    assert (
        cross_val_score(quick(epochs=20), texts, y, scoring="roc_auc_ovr", cv=StratifiedKFold(3)).mean() > 0.9
    )
    assert (
        cross_val_score(quick(epochs=20), texts, y, scoring="neg_log_loss", cv=StratifiedKFold(3)).mean() > -1
    )


def test_calibration_and_pipelines(data: Any) -> None:
    texts, labels = data
    calibrated = CalibratedClassifierCV(quick(), cv=3).fit(texts, labels)
    assert calibrated.predict_proba(texts).shape == (90, 2)
    lower = FunctionTransformer(lambda X: [text.lower() for text in X])
    pipeline = Pipeline([("lower", lower), ("label", quick())]).fit(texts, labels)
    assert pipeline.score(texts, labels) > 0.8
    copied = clone(pipeline.named_steps["label"])
    assert copied.get_params() == quick().get_params()
    with pytest.raises(NotFittedError):
        copied.predict(texts)


@pytest.mark.parametrize(
    ("values", "kind"),
    [((0, 1), "i"), ((7, 3), "i"), ((0.5, -1.5), "f"), ((False, True), "b"), (("x", "y"), "U")],
)
def test_labels_come_back_as_they_went_in(data: Any, values: tuple, kind: str, tmp_path: Any) -> None:
    texts, labels = data
    y = np.array([values[label == "positive"] for label in labels])
    model = quick(epochs=2).fit(texts, y)
    model.save(tmp_path / "model")
    for one in (model, Labeler.load(tmp_path / "model", device="cpu")):
        predicted = one.predict(texts)
        assert predicted.dtype.kind == one.classes_.dtype.kind == kind
        assert set(predicted.tolist()) <= set(values)
        assert one.classes_.tolist() == sorted(values)


def test_three_numbers_come_back_too(data: Any, tmp_path: Any) -> None:
    texts, _ = data
    y = [(10, 2, 1)[n % 3] for n in range(len(texts))]
    quick(epochs=1).fit(texts, y).save(tmp_path / "model")
    loaded = Labeler.load(tmp_path / "model", device="cpu")
    assert loaded.classes_.tolist() == [1, 2, 10]
    assert set(loaded.predict(texts).tolist()) <= {1, 2, 10}
    assert loaded.predict_proba(texts).shape == (90, 3)


def test_series_arrays_and_columns_of_frames(data: Any) -> None:
    texts, labels = data
    frame = pandas.DataFrame({"text": texts, "label": labels}, index=range(100, 190))
    models = [
        quick(epochs=2).fit(X, y)
        for X, y in (
            (texts, labels),
            (np.array(texts, dtype=object), np.array(labels)),
            (np.array(texts), pandas.Series(labels).astype("category")),
            (frame["text"], frame["label"]),
        )
    ]
    first = models[0].decision_function(texts)
    for model in models[1:]:
        np.testing.assert_array_equal(model.decision_function(frame["text"]), first)
    assert type_of_target(models[1].predict(texts)) == "binary"


def test_fit_changes_no_parameter(data: Any) -> None:
    texts, labels = data
    base = quick(epochs=1).fit(texts, labels)
    other = quick(epochs=1, loss="min-max", filters=7, vocabulary=3)
    before = other.get_params()
    other.fit(texts, labels, init=base)
    assert other.get_params() == before
    assert other.model_.settings.filters == 30  # what the model has from the one that it goes on from


def test_labels_of_two_kinds_are_refused(data: Any) -> None:
    texts, _ = data
    with pytest.raises(DataError, match="mixed kinds"):
        quick().fit(texts[:4], ["a", 1, "a", 1])


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.predict(["a"]),
        lambda m: m.predict_proba(["a"]),
        lambda m: m.decision_function(["a"]),
        lambda m: m.label(["a"]),
        lambda m: m.tune_boundary(["a"]),
        lambda m: m.save("nowhere"),
    ],
)
def test_everything_asks_for_fit_first(ask: Any) -> None:
    with pytest.raises(NotFittedError):
        ask(Labeler())
