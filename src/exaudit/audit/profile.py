"""What documents look like to a model and its support set: a row of figures for each, without labels.

length      words
unknown     share of the words that have no embedding (of a model with a vocabulary)
pieces      word pieces per word (of a model with a Transformer)
distance    median distance of the words to their nearest exemplars (with a support set)
far         the distance that a tenth of the words exceeds (likewise)
score       the document's output; of several classes, the largest
margin      how far that is from the decision boundary
flagged     share of the words that are decided to carry a class
content     the mean exemplar vector in a few random directions: what the words are, seen by the model
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit._progress import progress
from exaudit.audit.audited import Audited
from exaudit.audit.neighbourhood import Neighbourhood, each_apart, parts
from exaudit.encode.words import UNKNOWN
from exaudit.model.documents import each_document
from exaudit.model.model import Model
from exaudit.model.scores import Scores

__all__ = ["DIRECTIONS", "MEASURES", "Profile", "directions", "figures"]

MEASURES = ("length", "unknown", "pieces", "distance", "far", "score", "margin", "flagged")
DISTANCES = ("distance", "far")
DIRECTIONS = 16  # of the content
BEGINNING = 24  # words of a document that are shown
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Profile:
    """The figures of D documents, in columns that have names; and their content, where vectors were at hand."""

    ids: tuple[str, ...]
    names: tuple[str, ...]  # K of MEASURES
    values: Floats  # (D, K)
    content: Floats | None = None  # (D, DIRECTIONS)
    texts: tuple[str, ...] = ()  # how each begins; not kept in a folder

    @classmethod
    def of(
        cls, model: Model, documents: Iterable[Any], *, near: Neighbourhood | None = None, desc: str = "drift"
    ) -> Profile:
        """Label the documents, look up their exemplars where there is a support set, and measure them."""
        ids, texts, rows, content = list[str](), list[str](), list[dict[str, float]](), list[Floats]()
        with progress(unit="doc", desc=desc) as bar:
            for part in parts(each_document(documents, cut=model.settings.tokens)):
                scores = model.label(part, exemplars=True)
                distances = None if near is None else near.neighbours(scores, 1)[0].distances[:, 0]
                for one, (plain, mine) in zip(scores, each_apart(scores), strict=True):
                    assert one.exemplars is not None
                    ids.append(one.document.id)
                    texts.append(" ".join(one.document.tokens[:BEGINNING]))
                    rows.append(figures(plain, model, None if distances is None else distances[mine]))
                    content.append(directions(one.exemplars))
                bar.update(len(part))
        names = tuple(rows[0]) if rows else ()
        values = np.array([list(row.values()) for row in rows], np.float64).reshape(len(rows), len(names))
        return cls(tuple(ids), names, values, np.array(content).reshape(len(rows), -1), tuple(texts))

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> Floats:
        return self.values[:, self.names.index(name)]

    def only(self, names: Sequence[str]) -> Profile:
        """The same with these columns alone."""
        columns = [self.names.index(name) for name in names]
        return Profile(self.ids, tuple(names), self.values[:, columns], self.content, self.texts)

    def rows(self, places: Sequence[int] | NDArray[np.intp]) -> Profile:
        """The same of some of the documents."""
        content = None if self.content is None else self.content[places]
        texts = tuple(self.texts[i] for i in places) if self.texts else ()
        return Profile(tuple(self.ids[i] for i in places), self.names, self.values[places], content, texts)


def figures(scores: Scores, model: Model, distances: NDArray[np.float32] | None = None) -> dict[str, float]:
    """The figures of one document by name. Audited documents bring the distances of their words."""
    tokens, view = scores.document.tokens, scores.views[0]
    if distances is None and isinstance(view, Audited) and view.neighbours is not None:
        distances = view.neighbours.distances[:, 0]
    count = max(1, len(tokens))
    found: dict[str, float] = {"length": len(tokens)}
    if model.vocabulary is not None:
        found["unknown"] = float((model.vocabulary.ids(tokens) == UNKNOWN).sum()) / count
    if model.encoder is not None:
        pieces = model.encoder.pieces([tokens])
        found["pieces"] = len(pieces.ids) / max(1, len(np.unique(pieces.words)))
    if distances is not None:
        there = distances if len(distances) else np.zeros(1)
        found["distance"], found["far"] = (float(q) for q in np.quantile(there, (0.5, 0.9)))
    output = max(own.output for own in scores.views)
    found["score"], found["margin"] = output, abs(output)
    flagged = np.any([own.margins > 0 for own in scores.views], axis=0)  # (N,)
    found["flagged"] = float(flagged.sum()) / count
    return {name: _rounded(value) for name, value in found.items()}


def directions(vectors: NDArray[np.float32]) -> Floats:
    """The mean of the vectors (N, M) in random directions, which keep distances about as they are."""
    if not len(vectors):
        return np.zeros(DIRECTIONS)
    return np.array([_rounded(x) for x in vectors.mean(0, dtype=np.float64) @ _random(vectors.shape[1])])


@cache
def _random(width: int) -> Floats:
    """The same directions for every document, now and later (M, DIRECTIONS)."""
    return np.asarray(np.random.default_rng(0).standard_normal((width, DIRECTIONS)) / np.sqrt(width))


def _rounded(value: float) -> float:
    """Six digits, of kept and of new documents alike, so that equal figures stay equal in a file."""
    return float(f"{value:.6g}")
