"""Learning the K-NN's parameters from the model's own predictions: no ground-truth label of a token is used.

The paper names no optimiser; its code takes Adadelta at rate 1.0, which trains the head. Here that takes steps of a
thousandth: with 200 FCE dev documents to learn from (a small head, K = 8, dist, three seeds) 40 epochs ended at 68 to
70% agreement, still rising, where Adam at 0.05 had 83 to 84%; with six times the steps the two came out alike. So Adam
is the default, and the recipe `paper` is the code to the letter: Adadelta over tau itself, the last of the epochs that
are equally good, matches that count as a loss of zero while only mismatches teach, and for `const` a first tau of 5 and
a loss of the weights that is divided by K + 1 once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from exaudit.decide.knn import KNN, Kind, evidence, knn_output, knn_weights
from exaudit.decide.neighbours import Neighbours, per_token
from exaudit.decide.rules import sgn
from exaudit.errors import SettingError, SupportError

__all__ = ["Epoch", "KNNReport", "approximation_loss", "fit_knn", "weights_loss"]

Index = npt.NDArray[np.int64]
RATES = {"stable": 0.05, "paper": 1.0}  # of Adam, and of Adadelta


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the learning half: its mean loss, and then delta on K-NN dev."""

    number: int
    loss: float | None  # None: no token was left to learn from
    delta: int
    mismatches_only: bool


@dataclass(frozen=True, slots=True, eq=False)
class KNNReport:
    """The K-NN that training chose, and how it came about."""

    knn: KNN
    delta: int  # sign mismatches with the model on K-NN dev
    tokens: int  # of K-NN dev
    epoch: int
    history: tuple[Epoch, ...]
    dev_documents: npt.NDArray[Any]  # the ids that were K-NN dev: admission limits are fitted on these

    @property
    def agreement(self) -> float:
        """Share of K-NN dev tokens with the model's sign."""
        return 1.0 - self.delta / self.tokens


def approximation_loss(output: Tensor, scores: Tensor, counted: Tensor | None = None) -> Tensor:
    """L^KNN: cross-entropy of the K-NN's output against the model's soft decision, averaged over the tokens.

    counted : 1 for tokens that count; the others are averaged over as well, with a loss of 0.
    """
    return binary_cross_entropy_with_logits(output, torch.sigmoid(scores), counted)


def weights_loss(raw_weights: Tensor) -> Tensor:
    """L_mm of `const`: pushes the smallest weight down, the largest up, and each above the next."""
    decreasing = logsigmoid(raw_weights[:-1] - raw_weights[1:]).sum()
    # log(1 - sigmoid(w)) is logsigmoid(-w)
    total = -logsigmoid(-raw_weights.min()) - logsigmoid(raw_weights.max()) - decreasing
    return total / (len(raw_weights) + 1)


def fit_knn(
    neighbours: Neighbours,
    model_scores: npt.ArrayLike,
    document_of_token: npt.ArrayLike,
    *,
    kind: Kind = "dist",
    k: int = 8,
    use_token_labels: bool = False,
    epochs: int = 40,
    batch_documents: int = 50,
    learning_rate: float | None = None,
    recipe: str = "stable",
    seed: int = 0,
) -> KNNReport:
    """Fit a K-NN to reproduce the sign of `model_scores`.

    Half of the documents teach; the other half, K-NN dev, choose the epoch with the fewest sign mismatches (delta),
    the first of equals. After an epoch above the minimum only mismatching tokens teach, until a new minimum.

    recipe : "stable", by Adam; or "paper", by Adadelta, as the paper's code does.
    """
    if recipe not in RATES:
        raise SettingError(f"unknown recipe {recipe!r} of a K-NN; use one of {', '.join(RATES)}")
    paper = recipe == "paper"
    learning_rate = RATES[recipe] if learning_rate is None else learning_rate
    scores = per_token(model_scores, neighbours, "model scores")
    knn = KNN.initial(kind, k, use_token_labels=use_token_labels, paper=paper)
    if epochs < 1 or batch_documents < 1 or learning_rate <= 0:
        raise SettingError(
            "epochs and documents per batch must be 1 or more, and the learning rate above zero"
        )
    if use_token_labels and not neighbours.take(k).token_labels.any():
        raise SupportError("no exemplar found has a token label: use the document labels instead")
    rng = np.random.default_rng(seed)
    learn, dev, dev_documents = _halves(np.asarray(document_of_token), len(neighbours), rng)

    target = torch.tensor(scores)  # (N,)
    sign = sgn(scores)  # (N,)
    distances, exemplar_scores, labels = evidence(neighbours, k, use_token_labels)  # (N, K) each
    dev_neighbours = neighbours[dev]
    # tau must stay above zero, so its logarithm is what Adam learns.
    free_tau, gamma, beta, raw_weights = (
        torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for value in (knn.tau if paper else np.log(knn.tau), knn.gamma, knn.beta, knn.raw_weights)
    )
    optimiser_of = torch.optim.Adadelta if paper else torch.optim.Adam
    optimiser = optimiser_of([free_tau, gamma, beta, raw_weights], lr=learning_rate)

    def tau() -> Tensor:
        return free_tau if paper else free_tau.exp()

    history: list[Epoch] = []
    chosen, delta_min, mismatches_only = 0, len(dev) + 1, False
    for number in range(1, epochs + 1):
        losses = []
        for tokens in _batches(learn, batch_documents, rng):
            weights = knn_weights(kind, distances[tokens], tau(), raw_weights)  # (B, K)
            output = knn_output(weights, exemplar_scores[tokens], labels[tokens], gamma, beta)  # (B,)
            counted = None
            if mismatches_only:
                wrong = (output > 0) != (target[tokens] > 0)  # (B,)
                if paper:
                    counted = wrong.double()  # (B,)
                elif not wrong.any():
                    continue
                else:
                    tokens, output = tokens[wrong], output[wrong]
            loss = approximation_loss(output, target[tokens], counted)
            if kind == "const":
                scale = 1 / (k + 1) if paper else 1.0
                loss = (scale * weights_loss(raw_weights) + loss) / 2
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(loss.item())
        candidate = replace(
            knn,
            tau=knn.tau if kind == "equal" else tau().item(),  # `equal` has no tau to learn
            gamma=gamma.item(),
            beta=beta.item(),
            raw_weights=tuple(raw_weights.tolist()),
        )
        delta = int((candidate.predict(dev_neighbours) != sign[dev]).sum())
        history.append(Epoch(number, float(np.mean(losses)) if losses else None, delta, mismatches_only))
        if delta < delta_min or (paper and delta == delta_min):
            best, chosen, delta_min, mismatches_only = candidate, number, delta, False
        elif delta > delta_min:
            mismatches_only = True
    return KNNReport(best, delta_min, len(dev), chosen, tuple(history), dev_documents)


def _halves(
    documents: npt.NDArray[Any], tokens: int, rng: np.random.Generator
) -> tuple[list[Index], Index, Any]:
    """Tokens of each learning document; tokens of K-NN dev; ids of its documents, sorted."""
    if documents.shape != (tokens,):
        raise SettingError(
            f"the document of each token: shape {documents.shape}, but there are {tokens} tokens"
        )
    names, of_token = np.unique(documents, return_inverse=True)
    if len(names) < 2:
        raise SettingError(
            f"a K-NN needs two documents or more (half to learn, half to choose), not {len(names)}"
        )
    order = rng.permutation(len(names))
    learn, dev = order[: len(names) // 2], np.sort(order[len(names) // 2 :])
    tokens_of = np.split(np.argsort(of_token, kind="stable"), np.bincount(of_token).cumsum()[:-1])
    return [tokens_of[d] for d in learn], np.flatnonzero(np.isin(of_token, dev)), names[dev]


def _batches(documents: list[Index], size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """The tokens of `size` shuffled documents at a time."""
    order = rng.permutation(len(documents))
    for start in range(0, len(order), size):
        yield torch.from_numpy(np.concatenate([documents[d] for d in order[start : start + size]]))
