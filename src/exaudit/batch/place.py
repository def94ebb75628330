"""Where a model is, for workers that load it themselves, wherever they run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exaudit.audit.auditor import Auditor
from exaudit.audit.edits import exemplars_of
from exaudit.data.document import Document
from exaudit.model.folder import load_model
from exaudit.model.model import Model
from exaudit.model.scores import Scores
from exaudit.support.exemplars import SupportBatch

__all__ = ["WorkerModel"]


@dataclass(frozen=True)
class WorkerModel:
    """A model folder and how it is read. Paths are whole ones, good on every machine that shares the file system."""

    folder: str
    support: str | None = None
    stream: bool = False
    device: str = "auto"
    encoder: str | None = None
    precision: str | None = None

    @classmethod
    def of(
        cls, folder: Path, *, support: str | None = None, encoder: str | None = None, **options: Any
    ) -> WorkerModel:
        whole = None if support is None or "://" in support else str(Path(support).resolve())
        at = str(Path(encoder).resolve()) if encoder is not None and Path(encoder).exists() else encoder
        return cls(str(folder.resolve()), support=whole or support, encoder=at, **options)

    def load(self) -> Model:
        return load_model(
            Path(self.folder), device=self.device, encoder=self.encoder, precision=self.precision
        )

    def open(self) -> Auditor:
        """With its support set, in whose precision texts are read."""
        return Auditor.open(
            self.folder,
            support=self.support,
            stream=self.stream,
            device=self.device,
            encoder=self.encoder,
            precision=self.precision,
        )

    def scorer(self) -> Callable[[Sequence[Document]], list[Scores]]:
        """Loads the model; what it gives labels documents."""
        return self.load().label

    def exemplar_maker(self) -> Callable[[Sequence[Document]], SupportBatch]:
        """Loads the model; what it gives makes exemplars of labelled documents."""
        with warnings.catch_warnings():  # the command warns, once
            warnings.simplefilter("ignore")
            return exemplars_of(self.open().model)
