"""Pseudo-labels: token labels made from a model's own decisions and the labels of the documents, for a second model to
learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Opinion", "joint_scores", "leave_out", "pseudo_labels"]

POSSIBLE = 0.25  # a word this likely to be there on account of the class is no example of one that is not
FEW_ERRORS = 0.05  # fewer of a teacher's documents that are wrong tell no more about its words


@dataclass(frozen=True)
class Opinion:
    """What a teacher makes of the words, and how often it is wrong about documents."""

    scores: Sequence[NDArray[np.floating]]  # of the words of each document (N, K)
    boundaries: NDArray[np.floating]  # (E, K) estimates of where the words begin that its decisions need
    error: float  # of its decisions on documents it did not learn from

    def share(self, words: NDArray[np.floating], k: int) -> float:
        """Of the words (W,) of the documents of a class: those that its decisions need, one at least. Of estimates, the
        geometric mean."""
        shares = (words > self.boundaries[:, k : k + 1]).mean(1)  # (E,)
        return float(np.exp(np.log(np.maximum(shares, 1 / len(words))).mean()))


def joint_scores(opinions: Sequence[Opinion], targets: NDArray[np.integer]) -> list[NDArray[np.float64]]:
    """What several teachers make of the words together (N, K): above zero where a word is one to learn from.

    Scores of different teachers have different units, so ranks are compared: how few words of the documents of the
    class have such a score. A teacher counts for more the fewer words its decisions need, and the fewer of them are
    wrong: the weights are (share x error)^-2. Errors below `FEW_ERRORS` all count alike: where documents are told apart
    with ease, the teacher that is right about the last of them may read the label off words that do not carry it. So
    many words are learnt from as the weighted geometric mean of the teachers' shares allows.
    """
    lengths = [len(own) for own in opinions[0].scores]
    joint = [np.full((length, targets.shape[1]), -1.0) for length in lengths]
    for k in range(targets.shape[1]):
        rows = [i for i in np.flatnonzero(targets[:, k] > 0).tolist() if lengths[i]]
        if not rows:
            continue
        words = [np.concatenate([own.scores[i][:, k] for i in rows]) for own in opinions]  # (W,) each
        shares = np.array([own.share(of, k) for own, of in zip(opinions, words, strict=True)])
        weights = (shares * [max(own.error, FEW_ERRORS) for own in opinions]) ** -2.0
        weights /= weights.sum()
        rarity = sum(weight * -np.log(_rank(of)) for weight, of in zip(weights, words, strict=True))  # (W,)
        share = np.exp((weights * np.log(shares)).sum())
        above = rarity - np.quantile(rarity, 1 - share)
        for i, own in zip(rows, np.split(above, np.cumsum([lengths[i] for i in rows])[:-1]), strict=True):
            joint[i][:, k] = own
    return joint


def _rank(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """The share of scores that are no lower."""
    ordered = np.sort(scores)
    return (len(scores) - np.searchsorted(ordered, scores)) / len(scores)


def pseudo_labels(
    scores: Sequence[NDArray[np.floating]], targets: NDArray[np.integer]
) -> list[NDArray[np.int8]]:
    """The decisions s+- > 0 (N, K) for each document, overruled by its labels (K,) where those know better.

    A document without a class has no token of that class; one with the class has at least one: the one with the
    largest score, where none is decided so.
    """
    made = []
    for own, target in zip(scores, targets, strict=True):
        labels = ((own > 0) & (target > 0)).astype(np.int8)  # (N, K)
        if len(own):
            missing = np.flatnonzero((target > 0) & ~labels.any(0))  # classes
            labels[own[:, missing].argmax(0), missing] = 1
        made.append(labels)
    return made


def leave_out(
    labels: Sequence[NDArray[np.int8]],
    shown: Sequence[NDArray[np.floating]],
    scores: Sequence[NDArray[np.floating]],
) -> list[NDArray[np.int8]]:
    """The same labels (N, K), with -1 for words that may carry the label though no decision needs them.

    A currency sign may tell a sentence by itself. The number after it is more common in documents of the class, but no
    decision needs it. A student that is told that it does not carry the label learns what sets the two apart; so it is
    told nothing. At most as many words are left out as have a positive label, those with the highest scores: where
    evidence is dense, nearly all words of a document are in excess a little.

    Parameters
    ----------
    shown
        How likely each word is to be there on account of each class (N, K), 0 in documents of others.
    scores
        What that rests on (N, K): it rises with them, in steps.
    """
    made = [own.copy() for own in labels]
    for k in range(labels[0].shape[1] if labels else 0):
        possible = [
            (own[:, k] == 0) & (parts[:, k] > POSSIBLE) for own, parts in zip(labels, shown, strict=True)
        ]
        rising = np.sort(np.concatenate([own[mine, k] for own, mine in zip(scores, possible, strict=True)]))
        most = sum(int(own[:, k].sum()) for own in labels)
        least = rising[-most - 1] if most < len(rising) else -np.inf
        for own, mine, score in zip(made, possible, scores, strict=True):
            own[mine & (score[:, k] > least), k] = -1
    return made
