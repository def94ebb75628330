"""Decisions against the truth: documents and tokens, with baselines and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.labels import LabelNames
from exaudit.errors import DataError
from exaudit.metrics import Counts, bootstrap, document_metrics, token_metrics
from exaudit.model.scores import TokenScores

__all__ = ["Evaluation"]


@dataclass(frozen=True)
class Evaluation:
    """Decisions and truth of a set of documents. Token parts are None where token labels are not known."""

    documents: NDArray[np.int8]  # (documents,) decided
    document_truth: NDArray[np.int8]
    tokens: list[NDArray[np.int8]] | None  # one array a document
    token_truth: list[NDArray[np.int8]] | None

    @classmethod
    def of(cls, labelled: Iterable[TokenScores], names: LabelNames) -> Evaluation:
        """Compare with the labels that the documents carry; documents without a label are an error."""
        decided, truth, tokens, token_truth = [], [], [], []
        for scores in labelled:
            target = names.document_target(scores.document)
            if target is None:
                raise DataError(
                    f"document {scores.document.id!r} has no label to compare with", line=scores.document.line
                )
            decided.append(scores.decision)
            truth.append(target)
            targets = names.token_targets(scores.document)
            if targets is not None:
                tokens.append(scores.decisions.astype(np.int8))
                token_truth.append(targets)
        if not decided:
            raise DataError("there is no document to evaluate on")
        known = len(tokens) == len(decided)
        return cls(
            np.array(decided, dtype=np.int8),
            np.array(truth, dtype=np.int8),
            tokens if known else None,
            token_truth if known else None,
        )

    def only(self, documents: Sequence[bool], tokens: Sequence[NDArray[np.bool_]]) -> Evaluation:
        """The documents and the tokens that were admitted, each judged by themselves."""
        kept = np.array(documents, dtype=bool)
        decided, truth = (
            None if arrays is None else [values[mask] for values, mask in zip(arrays, tokens, strict=True)]
            for arrays in (self.tokens, self.token_truth)
        )
        return Evaluation(self.documents[kept], self.document_truth[kept], decided, truth)

    def document_metrics(self) -> dict[str, float]:
        return document_metrics(Counts.of(self.documents, self.document_truth))

    def token_metrics(self) -> dict[str, float] | None:
        if self.tokens is None or self.token_truth is None:
            return None
        return token_metrics(Counts.of(np.concatenate(self.tokens), np.concatenate(self.token_truth)))

    def random(self, seed: int = 0) -> Evaluation:
        """A fair coin for every document and every token."""
        draws = np.random.default_rng(seed)
        tokens = (
            None
            if self.tokens is None
            else [draws.integers(0, 2, len(t)).astype(np.int8) for t in self.tokens]
        )
        coins = draws.integers(0, 2, len(self.documents)).astype(np.int8)
        return Evaluation(coins, self.document_truth, tokens, self.token_truth)

    def majority(self) -> Evaluation:
        """The larger document class for every document and every token."""
        value = np.int8(2 * int(self.document_truth.sum()) >= len(self.document_truth))
        tokens = None if self.tokens is None else [np.full(len(t), value) for t in self.tokens]
        return Evaluation(np.full(len(self.documents), value), self.document_truth, tokens, self.token_truth)

    def intervals(
        self, *, draws: int = 1000, seed: int = 0
    ) -> dict[str, dict[str, tuple[float, float]] | None]:
        """95% bootstrap intervals, drawn over documents."""
        pairs = zip(self.documents, self.document_truth, strict=True)
        counts = [Counts.of(np.atleast_1d(d), np.atleast_1d(t)) for d, t in pairs]
        result: dict[str, dict[str, tuple[float, float]] | None] = {
            "document": bootstrap(document_metrics, counts, draws=draws, seed=seed) if counts else None,
            "token": None,
        }
        if self.tokens is not None and self.token_truth is not None:
            tokens = [Counts.of(d, t) for d, t in zip(self.tokens, self.token_truth, strict=True)]
            result["token"] = bootstrap(token_metrics, tokens, draws=draws, seed=seed)
        return result

    def to_json(self, *, ci: bool = False) -> dict[str, Any]:
        result: dict[str, Any] = {"document": self.document_metrics(), "token": self.token_metrics()}
        if ci:
            result["ci"] = self.intervals()
        return result

    def render(self, *, ci: bool = False) -> str:
        """The same as a table for people, in percent."""
        rows = [("model", self), ("random", self.random()), ("majority", self.majority())]
        intervals = self.intervals() if ci else None
        lines: list[str] = []
        for level, own in (("document", self.document_metrics()), ("token", self.token_metrics())):
            if own is None:
                lines += ["", "no token labels: the token decisions cannot be scored"]
                continue
            lines += ["", f"{level + 's':<12}" + "".join(f"{name:>11}" for name in own)]
            for name, evaluation in rows:
                values = evaluation.document_metrics() if level == "document" else evaluation.token_metrics()
                lines.append(f"  {name:<10}" + "".join(f"{100 * v:>11.2f}" for v in (values or {}).values()))
            spans = None if intervals is None else intervals[level]
            if spans is not None:
                cells = [f"{100 * low:.1f}-{100 * high:.1f}" for low, high in spans.values()]
                lines.append(f"  {'95% ci':<10}" + "".join(f"{cell:>11}" for cell in cells))
        return "\n".join(lines[1:])
