"""A model folder and the support set that belongs to it: found, created, and checked to fit together."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exaudit.data.labels import LabelSet
from exaudit.errors import ModelError
from exaudit.model.folder import load_model, read_description
from exaudit.model.model import Model
from exaudit.support.support_set import SupportSet

__all__ = ["ModelPlace"]

# A support set in memory needs no Lance, so the store is imported when a stored set is opened.


@dataclass(frozen=True)
class ModelPlace:
    """Where a model and its support set are."""

    folder: Path
    location: str  # of the support set
    labels: LabelSet
    width: int  # M
    fingerprint: str  # of all that the exemplar vectors depend on

    @classmethod
    def of(cls, model: str | os.PathLike[str], support: str | os.PathLike[str] | None = None) -> ModelPlace:
        """Read the description of a model folder; its support set is in `support/` unless told otherwise."""
        folder = Path(model)
        description = read_description(folder)
        location = os.fspath(folder / "support" if support is None else support)
        try:
            head = description["head"]
            labels = LabelSet.from_json(description["labels"])
            width = head["filters"] * len(head["widths"])
            return cls(folder, location, labels, width, _fingerprint(description))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{folder} is damaged ({error!r}); restore the folder or train again") from error

    def load_model(self, *, device: str, encoder: str | None, precision: str | None = None) -> Model:
        return load_model(self.folder, device=device, encoder=encoder, precision=precision)

    def has_support(self) -> bool:
        from exaudit.support.store import LanceSupportSet

        return LanceSupportSet.exists(self.location)

    def open_support(self) -> SupportSet:
        """The support set, if it was made with this very model."""
        from exaudit.support.store import LanceSupportSet

        return LanceSupportSet.open(
            self.location,
            width=self.width,
            labels=self.labels.names,
            kind=self.labels.kind,
            model=self.fingerprint,
        )

    def create_support(self, *, dtype: str, precision: str, author: str | None, reason: str) -> SupportSet:
        from exaudit.support.store import LanceSupportSet

        return LanceSupportSet.create(
            self.location,
            width=self.width,
            labels=self.labels.names,
            kind=self.labels.kind,
            model=self.fingerprint,
            dtype=dtype,
            precision=precision,
            author=author,
            reason=reason,
        )


def _fingerprint(description: dict[str, Any]) -> str:
    """Head, words and encoder; not the decision boundary, which moves without touching a vector."""
    encoder = description["encoder"]
    told = {
        "files": description["files"],
        "head": {key: description["head"][key] for key in ("filters", "widths", "pool")},
        "encoder": None if encoder is None else {k: v for k, v in encoder.items() if k != "name"},
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]
