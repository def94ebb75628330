"""The documents that a promise is for, where they are not like those that it is fitted on (covariate shift).

Of the calibration documents those are drawn, each with a chance that grows with its weight, that look like the target
together. They are as good as a sample of it (rejection sampling), so that the same exact bounds hold: PAC prediction
sets under covariate shift (Park et al., 2022). The weights come from the documents that shape the trust, not from those
that bound the risk, so that for documents distributed as the weights say, the promise is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from exaudit.audit.fitted import document_from, plain_document
from exaudit.data.document import Document
from exaudit.decide.density_ratio import DensityRatio, heaviest
from exaudit.errors import DataError
from exaudit.model.digests import digest

__all__ = ["Figures", "Target"]

Figures = dict[str, float]  # what a document looks like: see exaudit.audit.profile
FEWEST = 30  # documents that a weight can be estimated from


@dataclass(frozen=True)
class Target:
    """Documents without labels, and how much more often those like a calibration document occur among them."""

    documents: tuple[Document, ...]
    measures: tuple[str, ...]
    ratio: DensityRatio
    heaviest: float  # weight; documents above it are out of reach

    @classmethod
    def fit(cls, documents: Sequence[Document], new: Sequence[Figures], old: Sequence[Figures]) -> Target:
        """From the figures of the documents, and of calibration documents that the risk is not bounded on."""
        if len(documents) < FEWEST:
            raise DataError(
                f"{len(documents)} documents that nothing has seen yet are too few to tell what the documents to come "
                f"look like; give at least {FEWEST}, which need no labels"
            )
        measures = tuple(new[0])
        rows = [np.array([[each[name] for name in measures] for each in part]) for part in (old, new)]
        ratio = DensityRatio.fit(*rows)
        return cls(tuple(documents), measures, ratio, heaviest(ratio(rows[0])))

    def weight(self, figures: Figures) -> float:
        """How much more often documents like this one occur in the target than where the promise is fitted."""
        return float(self.ratio(np.array([[figures[name] for name in self.measures]]))[0])

    def draws(self, document: Document, figures: Figures) -> bool:
        """Whether a calibration document is one of those that stand for the target. Its words alone decide on its luck,
        so that nobody can try again."""
        weight = self.weight(figures)
        return weight <= self.heaviest and _luck(document) * self.heaviest < weight

    def refusal(self, figures: Figures) -> str | None:
        """Why nothing can be said about a document: there are too few like it where the promise was fitted."""
        weight = self.weight(figures)
        if weight <= self.heaviest:
            return None
        return (
            f"documents like this one are {weight:.3g} times as frequent as where the promise was fitted, and it "
            f"reaches no further than {self.heaviest:.3g} times"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "measures": list(self.measures),
            "ratio": asdict(self.ratio),
            "heaviest": self.heaviest,
            "documents": [plain_document(document) for document in self.documents],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Target:
        return cls(
            tuple(document_from(each) for each in value["documents"]),
            tuple(map(str, value["measures"])),
            DensityRatio.from_json(value["ratio"]),
            float(value["heaviest"]),
        )


def _luck(document: Document) -> float:
    """A number from 0 to 1, as good as drawn."""
    return int(blake2b(digest(document).encode(), digest_size=6, person=b"luck").hexdigest(), 16) / 2.0**48
