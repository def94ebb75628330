"""What is fitted on top of a support set and kept in the model folder: knn.json and admission.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from exaudit._files import read_json, write_json
from exaudit.data.document import Document
from exaudit.decide.admission import Admission
from exaudit.decide.knn import KNN
from exaudit.errors import ExauditError, ModelError, SupportError

__all__ = ["FittedAdmission", "FittedKNN"]

SCHEMA = 1
T = TypeVar("T")


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
