"""Training the head on frozen features, checkpointed every epoch.

The paper trains with a constant rate and keeps the epoch with the best dev F1. That choice is noisy: the token
decisions of neighbouring epochs differ widely while their document F1 does not. The default here, `stable`, lets the
rate fall to zero and judges, in each epoch, an average of the weights so far; `paper` is the original recipe, as the
paper's code has it: the epoch is chosen by the final linear layer, whatever the loss (`exaudit.head.criteria`), and
gradients are not clipped (the code means to, but its optimiser has used up the list of parameters by then).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from exaudit._progress import progress
from exaudit.errors import SettingError
from exaudit.head.adadelta import Adadelta
from exaudit.head.batch import Batch
from exaudit.head.checkpoint import History, TrainingState, copy_weights
from exaudit.head.confidence import Confidence
from exaudit.head.criteria import CRITERIA, is_better, linear_f1
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.losses import document_loss, min_max_loss, token_loss
from exaudit.head.network import Head, class_scores
from exaudit.metrics import averaged, best_offset, columns, document_metrics, f_beta, token_metrics

__all__ = [
    "TrainingConfig",
    "batch_loss",
    "check_finite",
    "decided",
    "evaluate",
    "scored",
    "scored_batch",
    "train",
]

LOSSES = ("document", "min-max", "token")
RECIPES = ("stable", "paper")
MIN_MAX = ("words", "padded")
_MEMORY = 0.7  # how much of the average of earlier epochs is kept: about three epochs count


@dataclass(frozen=True)
class TrainingConfig:
    """`select` chooses the epoch on dev; None takes what fits the loss. `min_max` is how that loss is computed: over
    the words, or as the paper's code does, where padding takes part."""

    loss: str = "document"
    epochs: int = 20
    batch_size: int = 50
    learning_rate: float = 1.0
    clip: float | None = 3.0
    min_max: str = "words"
    recipe: str = "stable"  # or "paper"
    select: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise SettingError(f"unknown loss {self.loss!r}; use one of {', '.join(LOSSES)}")
        if self.select is not None and self.select not in CRITERIA:
            raise SettingError(
                f"cannot choose the epoch by {self.select!r}; use one of {', '.join(CRITERIA)}"
            )
        if self.recipe not in RECIPES:
            raise SettingError(f"unknown recipe {self.recipe!r}; use one of {', '.join(RECIPES)}")
        if self.min_max not in MIN_MAX:
            raise SettingError(f"`min_max` is {self.min_max!r}; use one of {', '.join(MIN_MAX)}")
        if self.epochs < 1 or self.batch_size < 1:
            raise SettingError("training needs at least one epoch and one document a batch")

    @property
    def criterion(self) -> str:
        if self.select is not None or self.loss == "token":
            return self.select or "token-f0.5"
        return "f1" if self.stable else "linear-f1"

    @property
    def stable(self) -> bool:
        return self.recipe == "stable"

    @property
    def settling(self) -> int:
        """Epochs that cannot be chosen: with a high rate a lucky dev score says little of the tokens."""
        return (self.epochs + 1) // 2 if self.stable else 0

    @property
    def by_tokens(self) -> bool:
        """After min-max or token training the final layer drifts: a document is positive if one of its tokens is."""
        return self.loss != "document"


def train(
    head: Head,
    data: LabelledFeatures,
    dev: LabelledFeatures,
    config: TrainingConfig,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> History:
    """Train `head` in place and leave it with the weights of the epoch that did best on dev.

    With `checkpoint`, the whole state is written there after every epoch; `resume` goes on from it and ends with
    the same weights as a run that was never stopped: each epoch draws its random numbers from (seed, epoch) alone.
    """
    if config.loss == "token" and (data.token_targets is None or dev.token_targets is None):
        raise SettingError("`loss=token` needs token labels in the training and in the dev documents")
    if config.criterion == "token-f0.5" and dev.token_targets is None:
        raise SettingError("`select=token-f0.5` needs token labels in the dev documents")
    state = TrainingState(head, Adadelta(head.parameters(), lr=config.learning_rate))
    identity = _identity(head, data, dev, config)
    if resume and checkpoint is not None and checkpoint.exists():
        state.restore(checkpoint, identity)
    history = state.history
    for epoch in range(len(history.epochs) + 1, config.epochs + 1):
        if config.stable:
            state.optimizer.lr = config.learning_rate * (1 - (epoch - 1) / config.epochs)
        loss = _epoch(head, data, config, state.optimizer, epoch)
        weights = state.averaged(_MEMORY if config.stable and epoch > 1 else 0.0)
        with _weights(head, weights):
            record = {"epoch": epoch, "loss": loss, **evaluate(head, dev, by_tokens=config.by_tokens)}
        check_finite(record["dev_loss"], epoch)
        history.epochs.append(record)
        if (
            history.best == 0
            or epoch <= config.settling
            or is_better(record, history.kept, config.criterion, paper=not config.stable)
        ):
            history.best, state.best = epoch, weights
        if checkpoint is not None:
            state.save(checkpoint, identity)
        if report is not None:
            report(record)
    head.load_state_dict(state.best)
    return history


def _epoch(
    head: Head, data: LabelledFeatures, config: TrainingConfig, optimizer: Adadelta, epoch: int
) -> float:
    head.train()
    device = head.weight.device
    draws = np.random.default_rng([config.seed, epoch])
    generator = torch.Generator(device=device).manual_seed(int(draws.integers(2**62)))
    order = draws.permutation(len(data))
    steps = range(0, len(order), config.batch_size)
    losses = []
    for start in progress(steps, unit="batch", desc=f"epoch {epoch}"):
        indices = order[start : start + config.batch_size].tolist()
        batch = data.batch(indices)
        loss = batch_loss(
            head, batch, data, indices, config.loss, generator, padded=config.min_max == "padded"
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step(clip=config.clip)
        losses.append(loss.detach())
    return check_finite(float(torch.stack(losses).mean()), epoch)


def check_finite(loss: float, epoch: int, advice: str = "try a smaller `learning_rate`") -> float:
    """The loss, if it is a number to go on with: after one that is not, every weight is lost."""
    if not math.isfinite(loss):
        raise SettingError(
            f"the loss is {loss} in epoch {epoch}, so that nothing can be learnt any more; {advice}, look for odd "
            "texts (exaudit data check), and make sure that the encoder is not damaged"
        )
    return loss


def batch_loss(
    head: Head,
    batch: Batch,
    data: LabelledFeatures,
    indices: Sequence[int],
    loss: str,
    generator: torch.Generator | None = None,
    *,
    padded: bool = False,
) -> Tensor:
    """The loss of one mini-batch; `padded` is about min-max."""
    if loss == "document":
        targets = torch.from_numpy(data.targets[list(indices)]).to(batch.device)  # (B,) or (B, C)
        g, _ = head.pooled(batch)
        return document_loss(head.document_logits(batch, head.drop(g, generator)), targets)
    _, contributions = head(batch, generator)
    scores = class_scores(contributions, head.config.outputs)  # s+- (T, K)
    if loss == "min-max":
        of_class = torch.from_numpy(data.class_targets(head.config.classes)[list(indices)])  # (B, K)
        return min_max_loss(batch, scores, of_class.to(batch.device), padded=padded)
    return token_loss(scores, data.piece_targets(batch, indices))


def scored(
    head: Head, data: LabelledFeatures, *, batch_size: int = 200
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """s+- of every document (K,) and of its words (N, K), in order."""
    head.eval()
    for start in range(0, len(data), batch_size):
        yield from scored_batch(head, data.batch(range(start, min(start + batch_size, len(data)))))


def scored_batch(head: Head, batch: Batch) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """The same of the documents of a batch."""
    parts = head.decompose(batch)
    outputs, scores = (
        class_scores(part, head.config.outputs).float().cpu().numpy() for part in (parts.logits, parts.scores)
    )  # (B, K), (W, K)
    for b, (first, last) in enumerate(pairwise(batch.word_bounds.tolist())):
        yield outputs[b], scores[first:last]


def decided(outputs: NDArray[np.floating], head: Head) -> NDArray[np.bool_]:
    """Which classes the documents are decided to be of, given their outputs (D, K), less the boundaries."""
    if head.config.outputs == "independent" or outputs.shape[1] == 1:
        return outputs > 0  # (D, K)
    return np.asarray(outputs.argmax(1)[:, None] == np.arange(outputs.shape[1]))  # (D, K) one of them


def evaluate(
    head: Head,
    dev: LabelledFeatures,
    *,
    by_tokens: bool,
    word_boundaries: Sequence[float] = (0.0,),
    document_boundaries: Sequence[float] = (0.0,),
    confidence: Confidence | None = None,
) -> dict[str, Any]:
    """Document metrics, mean document loss, and token metrics where token labels are known.

    confidence : where words are decided less the doubt about their documents.
    """
    logits, scores = zip(*scored(head, dev), strict=True)
    boundaries = np.array(word_boundaries, np.float32)  # (K,), in the precision of the scores
    outputs = (
        np.array([s.max(0) for s in scores]) - boundaries
        if by_tokens
        else np.array(logits) - np.array(document_boundaries, np.float32)
    )  # (D, K)
    of_class = dev.class_targets(head.config.classes)  # (D, K)
    right = decided(outputs, head)
    with np.errstate(invalid="ignore"):  # a loss that is no number is told of by those who asked
        losses = np.logaddexp(0, np.where(of_class == 1, -outputs, outputs))
    result: dict[str, Any] = {
        "dev_loss": float(losses.mean()),
        "document": averaged(columns(right, of_class), document_metrics)
        | {"accuracy": float((right == of_class).all(1).mean())},
        "linear_f1": linear_f1(np.array(logits), of_class, decided(np.array(logits), head)),
    }
    if dev.token_targets is not None:
        if confidence is not None:
            doubts = confidence.doubt(outputs).astype(np.float32)  # (D, K)
            scores = tuple(own - less for own, less in zip(scores, doubts, strict=True))
        words, truth = np.concatenate(scores), np.concatenate(dev.token_targets)  # (W, K) each
        result["token"] = averaged(columns(words > boundaries, truth), token_metrics)
        known = [k for k in range(truth.shape[1]) if truth[:, k].any()] or [0]
        best = [f_beta(words[:, k] > best_offset(words[:, k], truth[:, k]), truth[:, k], 0.5) for k in known]
        result["token_best_f0.5"] = float(np.mean(best))
    return result


def _identity(head: Head, data: LabelledFeatures, dev: LabelledFeatures, config: TrainingConfig) -> str:
    digest = hashlib.sha256(json.dumps([head.config.to_json(), asdict(config)], sort_keys=True).encode())
    for part in (data, dev):
        digest.update(part.targets.tobytes() + part.word_counts.tobytes())
    return digest.hexdigest()


@contextmanager
def _weights(head: Head, weights: dict[str, Tensor]) -> Iterator[None]:
    """Lend the head other weights for a while."""
    own = copy_weights(head)
    head.load_state_dict(weights)
    try:
        yield
    finally:
        head.load_state_dict(own)
