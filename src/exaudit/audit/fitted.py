"""What is fitted on held-out documents and kept in the model folder: knn.json and admission.json.

Both come once for each class that words are decided for. Of two classes that is one, and the files are as ever
(schema 1); of more, they hold lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from exaudit._checksum import read_sealed, write_sealed
from exaudit.audit.edits import label_of
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames, LabelSet
from exaudit.decide.admission import Admission, AdmissionKind
from exaudit.decide.fitting import fit_knn
from exaudit.decide.knn import KNN, Kind
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import DataError, ExauditError, ModelError, SupportError
from exaudit.metrics import Counts, token_metrics
from exaudit.model.folder import note_fitted, read_description
from exaudit.model.scores import Scores, TokenScores

__all__ = [
    "ClassKNN",
    "FittedAdmission",
    "FittedKNN",
    "Searched",
    "document_from",
    "load_fitted",
    "plain_document",
    "save_fitted",
]

SCHEMA = 2  # 1: two classes only
T = TypeVar("T")
Searched = tuple[
    Scores, tuple[Neighbours, ...]
]  # a document and, for each class, the exemplars of its tokens


@dataclass(frozen=True)
class ClassKNN:
    """The K-NN of one class, and how well it stands in for the model."""

    knn: KNN
    delta: int  # sign mismatches with the model on K-NN dev
    epoch: int
    metrics: dict[str, dict[str, float]] | None = (
        None  # of model and K-NN on K-NN dev, where labels are known
    )


@dataclass(frozen=True)
class FittedKNN:
    """The K-NN of each class, and what they were fitted on."""

    views: tuple[ClassKNN, ...]
    tokens: int  # of K-NN dev
    dev_documents: tuple[str, ...]  # ids of K-NN dev, on which admission is fitted
    support_version: str
    boundaries: tuple[float, ...]  # the model's, for tokens

    @classmethod
    def fit(
        cls,
        documents: Sequence[Searched],
        labels: LabelSet,
        *,
        kind: Kind,
        k: int,
        use_token_labels: bool,
        epochs: int,
        recipe: str,
        seed: int,
        support_version: str,
        boundaries: tuple[float, ...],
    ) -> FittedKNN:
        """Fit a K-NN to the model's decisions: one half of the documents teaches, the other (K-NN dev) chooses."""
        reports = [
            fit_knn(
                *_flat(documents, c),
                kind=kind,
                k=k,
                use_token_labels=use_token_labels,
                epochs=epochs,
                recipe=recipe,
                seed=seed,
            )
            for c in range(len(labels.views))
        ]
        dev = [
            documents[int(place)] for place in reports[0].dev_documents
        ]  # of one seed: the same for all classes
        return cls(
            views=tuple(
                ClassKNN(report.knn, report.delta, report.epoch, _metrics(dev, c, report.knn, names))
                for c, (report, names) in enumerate(zip(reports, labels.views, strict=True))
            ),
            tokens=reports[0].tokens,
            dev_documents=tuple(scores.document.id for scores, _ in dev),
            support_version=support_version,
            boundaries=boundaries,
        )

    @property
    def knns(self) -> tuple[KNN, ...]:
        return tuple(view.knn for view in self.views)

    @property
    def agreement(self) -> float:
        """The share of decisions on K-NN dev that are the model's, over all classes."""
        return 1.0 - sum(view.delta for view in self.views) / (self.tokens * len(self.views))

    def to_json(self) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {
            "knn": [view.knn.to_json() for view in self.views],
            "delta": [view.delta for view in self.views],
            "tokens": [self.tokens],
            "agreement": [self.agreement],
            "epoch": [view.epoch for view in self.views],
            "metrics": [view.metrics for view in self.views],
            "support_version": [self.support_version],
            "boundary": list(self.boundaries),
            "dev_documents": [list(self.dev_documents)],
        }
        shared = {"tokens", "agreement", "support_version", "dev_documents"}
        one = len(self.views) == 1
        plain = {name: each[0] if one or name in shared else each for name, each in columns.items()}
        return {"schema": 1 if one else SCHEMA, **plain}

    def save(self, folder: Path) -> None:
        save_fitted(folder / "knn.json", self.to_json())

    @classmethod
    def load(cls, folder: Path, classes: int) -> FittedKNN | None:
        """The K-NN of a model folder; None where none was fitted."""
        return load_fitted(folder / "knn.json", cls._from_json, classes, "exaudit knn fit")

    @classmethod
    def _from_json(cls, value: dict[str, Any], classes: int) -> FittedKNN:
        columns = (_each(value[name], classes) for name in ("knn", "delta", "epoch", "metrics"))
        return cls(
            views=tuple(
                ClassKNN(KNN.from_json(knn), int(delta), int(epoch), metrics)
                for knn, delta, epoch, metrics in zip(*columns, strict=True)
            ),
            tokens=int(value["tokens"]),
            dev_documents=tuple(str(id) for id in value["dev_documents"]),
            support_version=str(value["support_version"]),
            boundaries=tuple(float(boundary) for boundary in _each(value["boundary"], classes)),
        )

    def check_boundaries(self, boundaries: tuple[float, ...]) -> None:
        """Refuse a K-NN that approximates decisions the model no longer makes."""
        if boundaries != self.boundaries:
            then, now = (", ".join(f"{b:g}" for b in each) for each in (self.boundaries, boundaries))
            raise SupportError(
                f"the K-NN was fitted when the decision boundary of the tokens was {then}; now it is "
                f"{now}: fit the K-NN again (exaudit knn fit)"
            )


@dataclass(frozen=True)
class FittedAdmission:
    """Admission limits of each class, with the documents they were fitted on, so that they can be fitted again."""

    views: tuple[Admission, ...]
    documents: tuple[Document, ...]
    use_count: bool = False

    @classmethod
    def fit(
        cls,
        dev: Sequence[Searched],
        labels: LabelSet,
        knns: Sequence[KNN],
        *,
        kind: AdmissionKind,
        quantile: float | None,
        use_count: bool,
        recipe: str,
        support_version: str,
    ) -> FittedAdmission:
        """Limits from the documents of K-NN dev; those of documents only where every document has a label."""
        admissions = []
        for c, (knn, names) in enumerate(zip(knns, labels.views, strict=True)):
            neighbours, margins, of_token = _flat(dev, c)
            admission = Admission.fit(
                knn,
                neighbours,
                margins,
                support_version=support_version,
                kind=kind,
                quantile=quantile,
                recipe=recipe,
            )
            targets = [names.document_target(scores.document) for scores, _ in dev]
            if None not in targets:
                correct = [
                    scores.views[c].decision == target
                    for (scores, _), target in zip(dev, targets, strict=True)
                ]
                admission = admission.fit_documents(knn, neighbours, of_token, correct, use_count=use_count)
            admissions.append(admission)
        kept = (replace(scores.document, label=label_of(scores.document, labels)) for scores, _ in dev)
        return cls(tuple(admissions), tuple(kept), use_count)

    @property
    def kind(self) -> AdmissionKind:
        return self.views[0].kind

    @property
    def quantile(self) -> float | None:
        return self.views[0].quantile

    @property
    def recipe(self) -> str:
        return self.views[0].recipe

    @property
    def support_version(self) -> str:
        return self.views[0].support_version

    def fits(self, knns: Sequence[KNN]) -> bool:
        """Whether the limits were fitted for these very K-NNs."""
        return [view.knn for view in self.views] == [knn.fingerprint() for knn in knns]

    def is_stale(self, support_version: str) -> bool:
        """Whether the support set has changed since the limits were fitted."""
        return support_version != self.support_version

    def save(self, folder: Path) -> None:
        limits = [view.to_json() for view in self.views]
        value = {
            "schema": 1 if len(limits) == 1 else SCHEMA,
            "admission": limits[0] if len(limits) == 1 else limits,
            "use_count": self.use_count,
            "documents": [plain_document(document) for document in self.documents],
        }
        save_fitted(folder / "admission.json", value)

    @classmethod
    def load(cls, folder: Path, classes: int) -> FittedAdmission | None:
        """The limits of a model folder; None where none were fitted."""
        return load_fitted(folder / "admission.json", cls._from_json, classes, "exaudit admission fit")

    @classmethod
    def _from_json(cls, value: dict[str, Any], classes: int) -> FittedAdmission:
        admissions = tuple(Admission.from_json(each) for each in _each(value["admission"], classes))
        documents = tuple(document_from(each) for each in value["documents"])
        return cls(admissions, documents, bool(value["use_count"]))


def save_fitted(path: Path, value: dict[str, Any]) -> None:
    write_sealed(path, value)
    note_fitted(path.parent, path.name)


def load_fitted(
    path: Path, parse: Callable[[dict[str, Any], int], T], classes: int, command: str
) -> T | None:
    try:
        value = read_sealed(path)
        if value["schema"] > SCHEMA:
            raise ModelError(f"{path} was written by a newer exaudit; install that, or run `{command}` again")
        return parse(value, classes)
    except FileNotFoundError:
        if path.name in _noted(path.parent):
            raise ModelError(f"{path} is missing; restore it, or run `{command}` again") from None
        return None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} is damaged ({error!r}); run `{command}` again") from error
    except ExauditError as error:
        raise ModelError(f"{path}: {error}") from error


def _noted(folder: Path) -> Sequence[str]:
    """What was fitted for a model. It is asked for again and again, so its weights are not read for it."""
    try:
        return tuple(read_sealed(folder / "model.json").get("fitted", ()))
    except (OSError, ValueError, TypeError, AttributeError):
        return tuple(read_description(folder).get("fitted", ()))  # which says what is wrong


def _each(value: Any, classes: int) -> list[Any]:
    """What is kept once for each class: the value itself where there is one class."""
    each = [value] if classes == 1 else value
    if not isinstance(each, list) or len(each) != classes:
        raise ValueError(f"it is not for a model of {classes} classes")
    return each


def plain_document(document: Document) -> dict[str, Any]:
    label = list(document.label) if isinstance(document.label, tuple) else document.label
    return {"id": document.id, "text": document.text, "tokens": list(document.tokens), "label": label}


def document_from(value: dict[str, Any]) -> Document:
    tokens, of_tokens = value["tokens"], value.get("token_labels")
    return Document(
        str(value["id"]),
        str(value["text"]),
        tuple(tokens),
        _label(value["label"]),
        None if of_tokens is None else tuple(_label(label) for label in of_tokens),
    )


def _label(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _flat(
    searched: Sequence[Searched], c: int
) -> tuple[Neighbours, npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """All tokens in a row, as class c sees them: their exemplars, their margins, and the place of their document."""
    if not searched:
        raise DataError("there is no document to fit on")
    near = [neighbours[c] for _, neighbours in searched]
    margins = np.concatenate([scores.views[c].margins for scores, _ in searched])
    return Neighbours.concatenate(near), margins, np.repeat(np.arange(len(near)), [len(own) for own in near])


def _metrics(
    dev: Sequence[Searched], c: int, knn: KNN, names: LabelNames
) -> dict[str, dict[str, float]] | None:
    """Token metrics of the model and of the K-NN, where the token labels of all documents are known."""
    truth = [names.token_targets(scores.document) for scores, _ in dev]
    known = np.concatenate([t for t in truth if t is not None] or [np.zeros(0, np.int8)])
    if any(t is None for t in truth) or not len(known):
        return None
    views: list[TokenScores] = [scores.views[c] for scores, _ in dev]
    ours = knn.predict(Neighbours.concatenate([neighbours[c] for _, neighbours in dev])) > 0
    return {
        "model": token_metrics(Counts.of(np.concatenate([view.decisions for view in views]), known)),
        "knn": token_metrics(Counts.of(ours, known)),
    }
