"""One training run: the settings, the documents, and the parts that do not depend on the recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exaudit.data.labels import LabelSet
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head
from exaudit.head.training import train
from exaudit.model.excess import Excess
from exaudit.model.options import RunOptions
from exaudit.model.parts import new_head
from exaudit.model.settings import Settings
from exaudit.model.split import Split

__all__ = ["Job", "Trained"]


@dataclass(frozen=True)
class Trained:
    """What a recipe makes: an encoder that is frozen from now on, a head, and how it came about."""

    encoder: Transformer | None
    head: Head
    dev: LabelledFeatures  # the dev documents as this encoder reads them
    history: dict[str, Any]
    tuning: dict[str, Any] | None = None  # None: the encoder is as it came
    excess: tuple[
        Excess, ...
    ] = ()  # for each class, as the untuned teacher sees it; empty where there is none


@dataclass(frozen=True)
class Job:
    """What every recipe works on."""

    settings: Settings
    options: RunOptions
    labels: LabelSet
    data: Split
    dev: Split
    vocabulary: Vocabulary | None

    def new_head(self, encoder: Transformer | None, *, pool: str | None = None) -> Head:
        return new_head(self.settings, self.labels, encoder, self.vocabulary, pool=pool)

    def encoded(self, encoder: Transformer | None) -> tuple[LabelledFeatures, LabelledFeatures]:
        """Training and dev documents as an encoder reads them."""
        return self.data.encoded(self.settings, encoder), self.dev.encoded(self.settings, encoder)

    def train_head(
        self, head: Head, data: LabelledFeatures, dev: LabelledFeatures, checkpoint: Path | None
    ) -> dict[str, Any]:
        """Train in place; gives the history."""
        options = self.options
        history = train(
            head,
            data,
            dev,
            self.settings.training(),
            checkpoint=checkpoint,
            resume=options.resume,
            report=options.report,
        )
        return history.to_json()
