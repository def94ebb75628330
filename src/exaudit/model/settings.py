"""How a model is to be made: everything that training is told, in one frozen object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from exaudit._device import check_precision
from exaudit.data.words import check_cut
from exaudit.errors import SettingError
from exaudit.head.network import POOLS
from exaudit.head.training import TrainingConfig

__all__ = ["Settings"]

# What a model that goes on from another has from it.
INHERITED = (
    "tokens", "encoder", "layers", "max_length", "vocabulary", "word_dimension", "word_vectors", "filters", "widths",
    "passage", "positive",
)  # fmt: skip
BOUNDARIES = ("f0.5", "f1", "documents", "zero")
PASSAGE = 256  # word pieces
# The least that a number may be.
LEAST = {
    "max_length": 1, "vocabulary": 0, "word_dimension": 1, "filters": 1, "passage": 0, "epochs": 1, "batch_size": 1,
    "seed": 0,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Settings:
    """See `exaudit.Labeler` for what each of them means; the names and the defaults are the same."""

    tokens: str = "words"
    encoder: str = "minilm"
    layers: Sequence[int] | None = None
    max_length: int | None = None
    tune_encoder: bool = False
    pretrain: bool | None = None
    vocabulary: int = 7500
    word_dimension: int = 300
    word_vectors: str | None = None
    filters: int = 1000
    widths: Sequence[int] = (1,)
    dropout: float = 0.5
    pool: str | None = None
    passage: int | None = None
    loss: str = "document"
    min_max: str | None = None
    epochs: int | None = None
    batch_size: int = 50
    learning_rate: float = 1.0
    recipe: str = "stable"
    boundary: str | None = None
    select: str | None = None
    positive: str | None = None
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    cache: str | None = None

    def __post_init__(self) -> None:
        check_cut(self.tokens)
        check_precision(self.precision)
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise SettingError(f"`{name}` is {value}; it must be {least} or more")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"`dropout` is {self.dropout}; it must be at least 0 and below 1")
        if not 0 < self.learning_rate < math.inf:
            raise SettingError(f"`learning_rate` is {self.learning_rate}; it must be above 0")
        if not len(self.widths) or min(self.widths) < 1:
            raise SettingError(f"`widths` are {list(self.widths)}; give widths of 1 or more")
        if self.pool not in (None, *POOLS):
            raise SettingError(f"`pool` is {self.pool!r}; use {' or '.join(POOLS)}")
        if self.passage and tuple(self.widths) != (1,):
            raise SettingError("`passage` is for filters of width 1: leave it out, or `widths`")
        if self.boundary not in (None, *BOUNDARIES):
            raise SettingError(f"`boundary` is {', '.join(BOUNDARIES[:-1])} or zero, not {self.boundary!r}")
        if self.tune_encoder and self.word_vectors is not None:
            raise SettingError(
                "word vectors go beside a frozen encoder: leave out `word_vectors` or `tune_encoder`"
            )
        self.training()  # says what is wrong with the rest

    def training(self) -> TrainingConfig:
        """How the head is trained."""
        return TrainingConfig(
            loss=self.loss,
            epochs=self.head_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            clip=3.0 if self.recipe == "stable" else None,
            min_max=self.min_max or ("words" if self.recipe == "stable" else "padded"),
            recipe=self.recipe,
            select=self.select,
            seed=self.seed,
        )

    @property
    def head_epochs(self) -> int:
        """The paper's 20, or 12 with a falling rate: longer, the training documents are learnt by heart, and their
        exemplars no longer stand for new ones. Few on a tuned encoder, whose features already hold the answer."""
        if self.epochs is not None:
            return self.epochs
        if self.tune_encoder:
            return 2 if self.loss == "token" else 4
        return 12 if self.recipe == "stable" else 20

    @property
    def head_pool(self) -> str:
        """Where encoder and tokens are trained together, each token does best by itself; everywhere else, max."""
        return self.pool or ("none" if self.loss == "token" and self.tune_encoder else "max")

    @property
    def head_passage(self) -> int:
        """Pieces of a passage. Hundreds of words that compete for the same filters leave most of them without a score.
        A tuned encoder has no need of passages: it carries what it finds to every word."""
        if self.passage is not None:
            return self.passage
        plain = self.recipe == "stable" and not self.tune_encoder and tuple(self.widths) == (1,)
        return PASSAGE if plain else 0

    @property
    def encoder_precision(self) -> str:
        """What the encoder reads in; the paper's figures stay the same on every machine."""
        return "float32" if self.precision == "auto" and self.recipe == "paper" else self.precision

    @property
    def word_boundary(self) -> str:
        """How the boundary of the words is set, where no token labels set it."""
        if self.loss != "document":  # the other losses put it at zero
            return "zero"
        return self.boundary or ("f0.5" if self.recipe == "stable" else "zero")

    @property
    def scores_words_alone(self) -> bool:
        """Whether nothing stands against scoring each word by its own filters."""
        return tuple(self.widths) == (1,) and self.pool in (None, "none")

    def inheriting(self, other: Settings) -> Self:
        """The same, with what a model that goes on from another has from it."""
        return replace(self, **{name: getattr(other, name) for name in INHERITED})

    def to_json(self) -> dict[str, Any]:
        """Settings as JSON keeps them, without what belongs to one machine."""
        plain: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            value = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
            plain[field.name] = value.item() if isinstance(value, np.generic) else value  # of a grid search
        return plain | {"device": "auto", "cache": None, "word_vectors": None}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> tuple[Self, list[str]]:
        """What `to_json` gave, by this version or another, and the names of settings that no longer exist."""
        value = {"tokens": "whitespace"} | value  # the only way until 0.1
        if "rehearse" in value:  # until 0.1
            value["pretrain"] = value.pop("rehearse")
        if value.get("teachers") == 1:  # 0.1 wrote this into every folder
            del value["teachers"]
        known = {field.name for field in fields(cls)}
        return cls(**{k: v for k, v in value.items() if k in known}), sorted(set(value) - known)
