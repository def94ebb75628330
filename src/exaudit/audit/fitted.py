"""What is fitted on held-out documents and kept in the model folder: knn.json and admission.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from exaudit._files import read_json, write_json
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.decide.admission import Admission, AdmissionKind
from exaudit.decide.fitting import fit_knn
from exaudit.decide.knn import KNN, Kind
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import DataError, ExauditError, ModelError, SupportError
from exaudit.metrics import Counts, token_metrics
from exaudit.model.scores import TokenScores

__all__ = ["FittedAdmission", "FittedKNN", "Searched"]

SCHEMA = 1
T = TypeVar("T")
Searched = tuple[TokenScores, Neighbours]  # a document and the exemplars of its tokens


@dataclass(frozen=True)
class FittedKNN:
    """A K-NN, what it was fitted on, and how well it stands in for the model."""

    knn: KNN
    delta: int  # sign mismatches with the model on K-NN dev
    tokens: int  # of K-NN dev
    epoch: int
    dev_documents: tuple[str, ...]  # ids of K-NN dev, on which admission is fitted
    support_version: str
    boundary: float  # the model's decision boundary for tokens
    metrics: dict[str, dict[str, float]] | None = (
        None  # of model and K-NN on K-NN dev, where labels are known
    )

    @classmethod
    def fit(
        cls,
        documents: Sequence[Searched],
        names: LabelNames,
        *,
        kind: Kind,
        k: int,
        use_token_labels: bool,
        epochs: int,
        seed: int,
        support_version: str,
        boundary: float,
    ) -> FittedKNN:
        """Fit a K-NN to the model's decisions: one half of the documents teaches, the other (K-NN dev) chooses."""
        neighbours, margins, of_token = _flat(documents)
        report = fit_knn(
            neighbours,
            margins,
            of_token,
            kind=kind,
            k=k,
            use_token_labels=use_token_labels,
            epochs=epochs,
            seed=seed,
        )
        dev = [documents[int(place)] for place in report.dev_documents]
        return cls(
            knn=report.knn,
            delta=report.delta,
            tokens=report.tokens,
            epoch=report.epoch,
            dev_documents=tuple(scores.document.id for scores, _ in dev),
            support_version=support_version,
            boundary=boundary,
            metrics=_metrics(dev, report.knn, names),
        )

    @property
    def agreement(self) -> float:
        return 1.0 - self.delta / self.tokens

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "knn": self.knn.to_json(),
            "delta": self.delta,
            "tokens": self.tokens,
            "agreement": self.agreement,
            "epoch": self.epoch,
            "metrics": self.metrics,
            "support_version": self.support_version,
            "boundary": self.boundary,
            "dev_documents": list(self.dev_documents),
        }

    def save(self, folder: Path) -> None:
        write_json(folder / "knn.json", self.to_json())

    @classmethod
    def load(cls, folder: Path) -> FittedKNN | None:
        """The K-NN of a model folder; None where none was fitted."""
        return _load(folder / "knn.json", cls._from_json, "exaudit knn fit")

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> FittedKNN:
        return cls(
            knn=KNN.from_json(value["knn"]),
            delta=int(value["delta"]),
            tokens=int(value["tokens"]),
            epoch=int(value["epoch"]),
            dev_documents=tuple(str(id) for id in value["dev_documents"]),
            support_version=str(value["support_version"]),
            boundary=float(value["boundary"]),
            metrics=value["metrics"],
        )

    def check_boundary(self, boundary: float) -> None:
        """Refuse a K-NN that approximates decisions the model no longer makes."""
        if boundary != self.boundary:
            raise SupportError(
                f"the K-NN was fitted when the decision boundary of the tokens was {self.boundary:g}; now it is "
                f"{boundary:g}: fit the K-NN again (exaudit knn fit)"
            )


@dataclass(frozen=True)
class FittedAdmission:
    """Admission limits with the documents they were fitted on, so that they can be fitted again after an edit."""

    admission: Admission
    documents: tuple[Document, ...]
    use_count: bool = False

    @classmethod
    def fit(
        cls,
        dev: Sequence[Searched],
        names: LabelNames,
        knn: KNN,
        *,
        kind: AdmissionKind,
        quantile: float | None,
        use_count: bool,
        support_version: str,
    ) -> FittedAdmission:
        """Limits from the documents of K-NN dev; those of documents only where every document has a label."""
        neighbours, margins, of_token = _flat(dev)
        admission = Admission.fit(
            knn, neighbours, margins, support_version=support_version, kind=kind, quantile=quantile
        )
        targets = [names.document_target(scores.document) for scores, _ in dev]
        if None not in targets:
            correct = [scores.decision == target for (scores, _), target in zip(dev, targets, strict=True)]
            admission = admission.fit_documents(knn, neighbours, of_token, correct, use_count=use_count)
        kept = (
            replace(scores.document, label=None if target is None else names.name(target))
            for (scores, _), target in zip(dev, targets, strict=True)
        )
        return cls(admission, tuple(kept), use_count)

    def save(self, folder: Path) -> None:
        value = {
            "schema": SCHEMA,
            "admission": self.admission.to_json(),
            "use_count": self.use_count,
            "documents": [_plain(document) for document in self.documents],
        }
        write_json(folder / "admission.json", value)

    @classmethod
    def load(cls, folder: Path) -> FittedAdmission | None:
        """The limits of a model folder; None where none were fitted."""
        return _load(folder / "admission.json", cls._from_json, "exaudit admission fit")

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> FittedAdmission:
        documents = tuple(_document(each) for each in value["documents"])
        return cls(Admission.from_json(value["admission"]), documents, bool(value["use_count"]))


def _load(path: Path, parse: Callable[[dict[str, Any]], T], command: str) -> T | None:
    try:
        value = read_json(path)
        if value["schema"] > SCHEMA:
            raise ModelError(f"{path} was written by a newer exaudit; install that, or run `{command}` again")
        return parse(value)
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} is damaged ({error!r}); run `{command}` again") from error
    except ExauditError as error:
        raise ModelError(f"{path}: {error}") from error


def _plain(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": document.text,
        "tokens": list(document.tokens),
        "label": document.label,
    }


def _document(value: dict[str, Any]) -> Document:
    tokens: Sequence[str] = value["tokens"]
    return Document(str(value["id"]), str(value["text"]), tuple(tokens), value["label"])


def _flat(
    searched: Sequence[Searched],
) -> tuple[Neighbours, npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """All tokens in a row: their exemplars, their margins, and the place of their document."""
    if not searched:
        raise DataError("there is no document to fit on")
    lengths = [len(neighbours) for _, neighbours in searched]
    return (
        Neighbours.concatenate([neighbours for _, neighbours in searched]),
        np.concatenate([scores.margins for scores, _ in searched]),
        np.repeat(np.arange(len(searched)), lengths),
    )


def _metrics(dev: Sequence[Searched], knn: KNN, names: LabelNames) -> dict[str, dict[str, float]] | None:
    """Token metrics of the model and of the K-NN, where the token labels of all documents are known."""
    truth = [names.token_targets(scores.document) for scores, _ in dev]
    known = np.concatenate([t for t in truth if t is not None] or [np.zeros(0, np.int8)])
    if any(t is None for t in truth) or not len(known):
        return None
    model = np.concatenate([scores.decisions for scores, _ in dev])
    ours = knn.predict(Neighbours.concatenate([neighbours for _, neighbours in dev])) > 0
    return {
        "model": token_metrics(Counts.of(model, known)),
        "knn": token_metrics(Counts.of(ours, known)),
    }
