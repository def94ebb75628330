"""What the model says of one document: the decision, and a score for every word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.data.labels import LabelNames

__all__ = ["TokenScores"]


@dataclass(frozen=True)
class TokenScores:
    """A document with its score and the contribution scores of its N words.

    `output` decides the document: the logit difference less the documents' boundary, or, where the model was
    fine-tuned on tokens, the largest token score less theirs. Positive means the positive class; zero does not. A
    word is positive where s+- exceeds `offset`.
    """

    document: Document
    output: float
    negative: NDArray[np.float32]  # (N,) s-
    positive: NDArray[np.float32]  # (N,) s+
    offset: float = 0.0
    exemplars: NDArray[np.float32] | None = None  # (N, M) r_n

    @property
    def scores(self) -> NDArray[np.float32]:
        """s+- = s+ - s-."""
        return self.positive - self.negative

    @property
    def margins(self) -> NDArray[np.float32]:
        """How far each score lies above the decision boundary: positive where the word is decided positive."""
        return self.scores - np.float32(self.offset)

    @property
    def decisions(self) -> NDArray[np.bool_]:
        return self.margins > 0

    @property
    def decision(self) -> int:
        """1 if the document is of the positive class, else 0."""
        return int(self.output > 0)

    def to_json(self, names: LabelNames) -> dict[str, Any]:
        """The line that `exaudit label` writes."""
        rows = zip(self.document.tokens, self.document.spans(), self.margins.tolist(), strict=True)
        return {
            "id": self.document.id,
            "label": names.name(self.decision),
            "score": float(self.output),
            "tokens": [
                {"text": text, "start": start, "end": end, "score": score, "label": int(score > 0)}
                for text, (start, end), score in rows
            ],
        }
