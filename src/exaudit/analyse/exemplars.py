"""Exemplar tables, as in the paper's appendix: a sentence, and the sentences its decisions rest on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from exaudit.audit.audited import Audited
from exaudit.audit.evidence import Exemplar
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames, LabelSet
from exaudit.model.scores import Scores

__all__ = ["ExemplarRow", "ExemplarTable", "choose"]


@dataclass(frozen=True, slots=True)
class ExemplarRow:
    """A token that is decided positive, or truly is, with its nearest exemplar."""

    position: int
    token: str
    decided: int
    true: int | None
    exemplar: Exemplar
    predictions: tuple[int, ...]  # the model's own, on the exemplar's document

    def to_json(self) -> dict[str, Any]:
        return {
            "position": self.position,
            "token": self.token,
            "prediction": self.decided,
            "truth": self.true,
            "exemplar": {
                **self.exemplar.to_json(document=True),
                "predictions": list(self.predictions),
                "token_labels": list(self.exemplar.token_labels),
            },
        }


@dataclass(frozen=True, slots=True)
class ExemplarTable:
    """One document with a row for each token worth checking, for one class."""

    document: Document
    predicted: str
    truth: str | None
    decisions: tuple[int, ...]
    token_truth: tuple[int, ...] | None
    rows: tuple[ExemplarRow, ...]

    @classmethod
    def of(cls, scores: Audited, names: LabelNames) -> ExemplarTable:
        """The tokens that the paper shows: those decided positive, and the true ones that were missed."""
        decisions = scores.decisions.astype(int).tolist()
        targets = names.token_targets(scores.document)
        truth = None if targets is None else [int(t) for t in targets]
        wanted = [n for n in range(len(decisions)) if decisions[n] or (truth is not None and truth[n])]
        rows = tuple(
            ExemplarRow(
                n,
                scores.document.tokens[n],
                decisions[n],
                None if truth is None else truth[n],
                scores.nearest[n],
                scores.nearest[n].decisions(scores.offset),
            )
            for n in wanted
        )
        target = names.document_target(scores.document)
        return cls(
            scores.document,
            names.name(scores.decision),
            None if target is None else names.name(target),
            tuple(decisions),
            None if truth is None else tuple(truth),
            rows,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.document.id,
            "tokens": list(self.document.tokens),
            "predictions": list(self.decisions),
            "token_labels": None if self.token_truth is None else list(self.token_truth),
            "predicted": self.predicted,
            "label": self.truth,
            "rows": [row.to_json() for row in self.rows],
        }


def choose(labelled: Iterable[Scores], labels: LabelSet, *, count: int = 10) -> list[tuple[Scores, int]]:
    """Documents for exemplar tables, each with the number of the view to look at it by.

    They are those with something to check, drawn by their ids, so in no one's favour. Of several classes, a document is
    looked at by those that it was given, and the classes take turns.
    """
    found: list[list[Scores]] = [[] for _ in labels.views]
    for scores in labelled:
        for k, (view, names) in enumerate(zip(scores.views, labels.views, strict=True)):
            if labels.kind == "binary" or k in scores.decided:
                truth = names.token_targets(scores.document)
                if bool(view.decisions.any()) or (truth is not None and bool(np.any(truth))):
                    found[k].append(scores)

    def draw(scores: Scores) -> bytes:
        return blake2b(scores.document.id.encode(errors="replace"), digest_size=8).digest()

    ranked = [(n, k, s) for k, own in enumerate(found) for n, s in enumerate(sorted(own, key=draw))]
    turns = sorted(ranked, key=lambda one: one[:2])[:count]
    return [(scores, k) for _, k, scores in sorted(turns, key=lambda one: (one[1], one[0]))]
