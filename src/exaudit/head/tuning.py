"""Tuning the Transformer itself, before it is frozen and the head is trained on it.

The head sits on the encoder while it is tuned, so that the gradient speaks of tokens; afterwards that head may be
thrown away. AdamW with a linear warm-up and decay, one rate for the encoder and a larger one for the head.

Every batch is read twice (unless `agreement` is 0), under other dropout, and what the two readings disagree on is a
loss of its own (R-Drop): few documents are otherwise soon known by heart.

A step on long documents may need more memory than there is: their gradients are then added up part by part.

The weights still fluctuate in the last steps, the more the fewer documents there are. Their mean may take the place of
the last ones (`averaged`; as in stochastic weight averaging, Izmailov et al., 2018, but with a falling rate).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from exaudit._device import rounded_products
from exaudit.errors import SettingError
from exaudit.head.course import Course
from exaudit.head.labelled import DocumentFeatures, LabelledFeatures
from exaudit.head.losses import disagreement, document_loss, min_max_loss, token_loss
from exaudit.head.network import Head, class_scores
from exaudit.head.training import check_finite
from exaudit.head.tuning_state import TuningCheckpoint, TuningState

__all__ = ["TunableEncoder", "TuningConfig", "tune"]


class TunableFeatures(DocumentFeatures, Protocol):
    """What tuning needs of `exaudit.encode.transformer.OnTheFlyFeatures`."""

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The pieces of each document (D,)."""

    @property
    def at_once(self) -> int:
        """How many pieces should be in memory together, with all that their gradients need."""


class TunableEncoder(Protocol):
    """What tuning needs of `exaudit.encode.transformer.Transformer`."""

    module: nn.Module

    @property
    def dtype(self) -> str: ...

    def tunable(self, token_lists: Sequence[Sequence[str]]) -> AbstractContextManager[TunableFeatures]: ...


@dataclass(frozen=True)
class TuningConfig:
    """How the encoder is tuned. `loss` may join several of document, min-max and token with a plus sign."""

    loss: str = "document+min-max"
    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 5e-5
    head_learning_rate: float = 1e-3
    warm_up: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    agreement: float = 1.0  # weight of the disagreement of two readings; 0 reads once
    averaged: float = 0.0  # the part of the steps, the last ones, whose weights are averaged in the end
    seed: int = 0

    @property
    def losses(self) -> list[str]:
        return self.loss.split("+")

    @property
    def readings(self) -> int:
        """How often a batch is read at every step."""
        return 2 if self.agreement else 1

    def work(self, word_counts: npt.NDArray[np.int64]) -> int:
        """How many words are read in all."""
        return int(word_counts.sum()) * self.readings * self.epochs

    def __post_init__(self) -> None:
        unknown = set(self.losses) - {"document", "min-max", "token"}
        if not 0 <= self.averaged <= 1:
            raise SettingError(f"`averaged` is {self.averaged}; it is a part of the steps, from 0 to 1")
        if unknown or self.epochs < 1:
            raise SettingError(f"cannot tune with loss {self.loss!r} for {self.epochs} epochs")


def tune(
    encoder: TunableEncoder,
    head: Head,
    token_lists: Sequence[Sequence[str]],
    labelled: LabelledFeatures,
    config: TuningConfig,
    *,
    groups: Sequence[str] | None = None,
    course: Course | None = None,
    checkpoint: TuningCheckpoint | None = None,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Tune encoder and head in place. `labelled` gives the labels; its features are not read.

    groups : documents of one group come one after another, so mostly in one batch: what an original and its
        revision share then pulls both ways and cancels, and what sets them apart is left.
    course : what this is a part of, to be told of every step.
    checkpoint : where a run that is stopped finds what it has done.
    """
    course = course or Course(config.work(labelled.word_counts))
    course.begin()
    head.sparse_gradients = False  # AdamW takes dense gradients only
    encoder.module.train()
    head.train()
    torch.manual_seed(config.seed)  # the encoder's own dropout draws from the global generator
    with encoder.tunable(token_lists) as features:
        data = replace(labelled, features=features)
        optimizer = _optimizer(encoder.module, head, config)
        steps = -(-len(data) // config.batch_size) * config.epochs
        schedule = _schedule(optimizer, steps, config)
        state = TuningState(encoder.module, head, optimizer, schedule)
        if config.averaged:
            state.averaged_from = min(steps, 1 + math.floor((1 - config.averaged) * steps))
        done = 0 if checkpoint is None else state.restore(checkpoint)
        course.skip(config.work(labelled.word_counts) // config.epochs * done)
        for epoch in range(1 + done, config.epochs + 1):
            loss = _epoch(encoder, head, data, features, config, state, epoch, groups, course)
            if report is not None:
                report({"tuning_epoch": epoch, "loss": loss})
            if checkpoint is not None and checkpoint.is_due:
                state.save(checkpoint, epoch)
        state.settle()
    encoder.module.eval()
    head.eval()
    head.sparse_gradients = True


def _epoch(
    encoder: TunableEncoder,
    head: Head,
    data: LabelledFeatures,
    features: TunableFeatures,
    config: TuningConfig,
    state: TuningState,
    epoch: int,
    groups: Sequence[str] | None,
    course: Course,
) -> float:
    """The mean loss."""
    device, weights = head.weight.device, [*encoder.module.parameters(), *head.parameters()]
    draws = np.random.default_rng([config.seed, epoch, 1])
    generator = torch.Generator(device=device).manual_seed(int(draws.integers(2**62)))
    order = _order(draws, len(data), groups)
    losses: list[torch.Tensor] = []
    with course.bar(f"tuning {epoch}/{config.epochs}") as bar:
        for start in range(0, len(order), config.batch_size):
            indices = order[start : start + config.batch_size]
            state.optimizer.zero_grad()
            with rounded_products(device, encoder.dtype):
                losses.append(_add_gradients(head, data, features, indices.tolist(), config, generator))
            nn.utils.clip_grad_norm_(weights, config.clip)
            state.step()
            words = config.readings * int(data.word_counts[indices].sum())
            course.step(words, wait=losses[-1].item)
            bar.update(words)
    return check_finite(
        float(torch.stack(losses).mean()), epoch, "tune in full precision (`precision=float32`)"
    )


def _order(draws: np.random.Generator, count: int, groups: Sequence[str] | None) -> npt.NDArray[np.int64]:
    """A random order of the documents, or of their groups."""
    if groups is None:
        return draws.permutation(count)
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    parts = list(members.values())
    return np.concatenate([np.array(parts[i], np.int64) for i in draws.permutation(len(parts))])


def _add_gradients(
    head: Head,
    data: LabelledFeatures,
    features: TunableFeatures,
    indices: Sequence[int],
    config: TuningConfig,
    generator: torch.Generator,
) -> torch.Tensor:
    """The loss of a batch, whose gradients are added to those of the weights: in parts, if need be."""
    lengths, losses = features.lengths, []
    pieces = max(1, int(lengths[indices].sum()))
    for part in _parts(indices, lengths, features.at_once // config.readings):
        shares = Shares(len(part) / len(indices), int(lengths[part].sum()) / pieces)
        loss = _loss(head, data, part, config, generator, shares)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.detach())
    return torch.stack(losses).sum()


def _parts(indices: Sequence[int], lengths: npt.NDArray[np.int64], most: int) -> Iterator[list[int]]:
    """Documents one after another, as many at a time as have `most` pieces; one at least."""
    part: list[int] = []
    for i in indices:
        if part and lengths[[*part, i]].sum() > most:
            yield part
            part = []
        part.append(i)
    yield part


class Shares(NamedTuple):
    """What a part has of its batch: losses are means, some over documents and some over pieces."""

    documents: float
    pieces: float


def _loss(
    head: Head,
    data: LabelledFeatures,
    indices: Sequence[int],
    config: TuningConfig,
    generator: torch.Generator,
    shares: Shares = Shares(1.0, 1.0),  # noqa: B008 (it never changes)
) -> torch.Tensor:
    if config.agreement:
        indices = [*indices, *indices]
    batch = data.batch(indices)
    targets = torch.from_numpy(data.targets[list(indices)]).to(batch.device)  # (B,) or (B, C)
    logits, contributions = head(batch, generator)
    scores = class_scores(contributions, head.config.outputs)  # s+- (T, K)
    terms = []
    if config.agreement and "document" in config.losses:
        apart = disagreement(*class_scores(logits, head.config.outputs).chunk(2))
        terms.append(shares.documents * config.agreement * apart)
    if config.agreement and "token" in config.losses:
        terms.append(shares.pieces * config.agreement * disagreement(*scores.chunk(2)))
    if "document" in config.losses:
        terms.append(shares.documents * document_loss(logits, targets))
    if "min-max" in config.losses:
        of_class = torch.from_numpy(data.class_targets(head.config.classes)[list(indices)])  # (B, K)
        terms.append(shares.documents * min_max_loss(batch, scores, of_class.to(batch.device)))
    if "token" in config.losses:
        terms.append(shares.pieces * token_loss(scores, data.piece_targets(batch, indices)))
    return torch.stack(terms).sum()


def _optimizer(module: nn.Module, head: Head, config: TuningConfig) -> torch.optim.AdamW:
    decayed = [p for p in module.parameters() if p.ndim > 1]
    plain = [p for p in module.parameters() if p.ndim <= 1]  # biases and layer norms are not decayed
    groups = [
        {"params": decayed, "lr": config.learning_rate, "weight_decay": config.weight_decay},
        {"params": plain, "lr": config.learning_rate, "weight_decay": 0.0},
        {"params": list(head.parameters()), "lr": config.head_learning_rate, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, fused=True)


def _schedule(
    optimizer: torch.optim.AdamW, total: int, config: TuningConfig
) -> torch.optim.lr_scheduler.LambdaLR:
    warm = max(1, int(config.warm_up * total))
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (total - step) / max(1, total - warm))
    )
