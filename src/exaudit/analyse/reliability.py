"""When can the predictions be trusted? Right and wrong answers by the magnitude of the output, and by distance.

After figures 3 and 4 and the quantile table of the paper, for the model and, where a K-NN was fitted, for the K-NN
and for the approximation (how often the K-NN has the model's sign). F0.5 and accuracy need token labels; without
them, documents and the approximation are judged alone. Of more than two classes, each is judged by itself against the
rest, and the documents also by how sure the classes are that they were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.decisions import true_classes
from exaudit.audit.audited import Audited, MultiAudited
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames, LabelSet
from exaudit.metrics import Counts
from exaudit.model.scores import Scores, TokenScores

__all__ = ["Admitted", "Bin", "Measured", "MultiReliability", "Reliability", "histogram"]

Floats = NDArray[np.float64]
Targets = NDArray[np.int8]
BINS = 5


@dataclass(frozen=True, slots=True)
class Bin:
    """A slice of the predictions, with the smallest magnitude in it."""

    n: int
    threshold: float
    accuracy: float
    f05: float

    def to_json(self) -> dict[str, float]:
        return {"n": self.n, "threshold": self.threshold, "accuracy": self.accuracy, "f0.5": self.f05}


@dataclass(frozen=True)
class Measured:
    """Outputs beside what they should have said: the truth or, for the approximation, the model's decision.

    Ties in magnitude are broken by `draws`, numbers that depend on the documents' ids alone, so that neither the
    order of the file nor the truth decides which of many equal outputs falls into which bin.
    """

    name: str
    output: Floats  # (N,) counted from the decision boundary
    right: Targets  # (N,) 0 or 1
    draws: NDArray[np.uint64]  # (N,)
    trust: Floats | None = None  # (N,) what to sort by, if not the magnitude

    @property
    def decided(self) -> Targets:
        return (self.output > 0).astype(np.int8)

    def by_trust(self) -> NDArray[np.intp]:
        """Positions, the most trustworthy first."""
        return np.lexsort((self.draws, -(np.abs(self.output) if self.trust is None else self.trust)))

    def of_class(self, target: int) -> Measured:
        """The predictions of one class."""
        mine = self.decided == target
        trust = None if self.trust is None else self.trust[mine]
        return replace(
            self, output=self.output[mine], right=self.right[mine], draws=self.draws[mine], trust=trust
        )

    def bins(self, count: int = BINS) -> list[Bin]:
        """Bins of equal n, from the smallest magnitudes to the largest, both classes together."""
        return [self._bin(part) for part in np.array_split(self.by_trust()[::-1], count) if len(part)]

    def quantiles(self, count: int = 4) -> list[Bin]:
        """Cumulative: the most certain 1/count of the predictions, then 2/count, and so on to all."""
        order = self.by_trust()
        ends = [round(len(order) * part / count) for part in range(1, count + 1)]
        return [self._bin(order[:end]) for end in ends if end]

    def _bin(self, part: NDArray[np.intp]) -> Bin:
        counts = Counts.of(self.decided[part], self.right[part])
        return Bin(len(part), float(np.abs(self.output[part]).min()), counts.accuracy, counts.f(0.5))


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many answers the admission limits let through, and how right those are."""

    n: int
    total: int
    accuracy: float | None
    f05: float | None

    def to_json(self) -> dict[str, float | None]:
        share = self.n / max(1, self.total)
        return {
            "n": self.n,
            "total": self.total,
            "share": share,
            "accuracy": self.accuracy,
            "f0.5": self.f05,
        }


@dataclass
class _Gathered:
    """Columns over all documents."""

    document_output: list[float] = field(default_factory=list)
    document_right: list[int] = field(default_factory=list)
    document_draws: list[int] = field(default_factory=list)
    document_admitted: list[bool | None] = field(default_factory=list)
    score: list[Floats] = field(default_factory=list)
    truth: list[Targets | None] = field(default_factory=list)
    knn: list[Floats] = field(default_factory=list)
    distance: list[Floats] = field(default_factory=list)
    admitted: list[NDArray[np.bool_]] = field(default_factory=list)
    draws: list[NDArray[np.uint64]] = field(default_factory=list)


@dataclass(frozen=True)
class Reliability:
    """All that is asked about the answers on one file, for one class against the rest."""

    names: LabelNames
    documents: Measured | None
    tokens: tuple[Measured, ...]  # model, K-NN and nearest distance, against token labels
    approximation: Measured | None  # the K-NN against the model
    distances: Floats | None  # (N,) to the nearest exemplar
    admitted_documents: Admitted | None
    admitted_tokens: Admitted | None

    @classmethod
    def of(cls, labelled: Iterable[TokenScores], names: LabelNames) -> Reliability:
        """From labelled (or, for the K-NN, audited) documents."""
        g = _Gathered()
        for scores in labelled:
            _gather(g, scores, names)
        documents = None
        if g.document_right and len(g.document_right) == len(g.document_output):
            documents = Measured(
                "model",
                np.array(g.document_output),
                np.array(g.document_right, dtype=np.int8),
                np.array(g.document_draws, dtype=np.uint64),
            )
        return cls(
            names,
            documents,
            tuple(_tokens(g)),
            _approximation(g),
            np.concatenate(g.distance) if g.distance else None,
            _admitted_documents(g, documents),
            _admitted_tokens(g),
        )

    def to_json(self) -> dict[str, Any]:
        parts = [*([self.documents] if self.documents else []), *self.tokens]
        names = ["documents", *(f"tokens, {m.name}" for m in self.tokens)][0 if self.documents else 1 :]
        value: dict[str, Any] = {}
        if self.approximation is not None:
            parts, names = [*parts, self.approximation], [*names, "approximation"]
        for name, part in zip(names, parts, strict=True):
            value[name] = {
                "bins": [b.to_json() for b in part.bins()],
                "cumulative": {
                    self.names.name(target): [b.to_json() for b in part.of_class(target).quantiles()]
                    for target in (0, 1)
                },
            }
        for name, admitted in (("documents", self.admitted_documents), ("tokens", self.admitted_tokens)):
            if admitted is not None:
                value[f"admitted {name}"] = admitted.to_json()
        if self.distances is not None:
            edges = np.quantile(self.distances, [0, 0.25, 0.5, 0.75, 1])
            value["distance quartiles"] = [round(float(edge), 3) for edge in edges]
        return value


@dataclass(frozen=True)
class MultiReliability:
    """The same for more than two classes, or several labels.

    `given` has, for each class, the documents that were given it, by its output: right where they truly have it.
    """

    labels: LabelSet
    given: tuple[Measured, ...]  # empty where the labels of documents are not known
    classes: tuple[Reliability, ...]
    admitted_documents: Admitted | None

    @classmethod
    def of(cls, labelled: Sequence[Scores], labels: LabelSet) -> MultiReliability:
        classes = (
            Reliability.of((scores.views[c] for scores in labelled), view)
            for c, view in enumerate(labels.views)
        )
        return cls(labels, tuple(_given(labelled, labels)), tuple(classes), _admitted(labelled, labels))

    @property
    def documents(self) -> Measured | None:
        """All answers on documents together, by how sure the decided class is."""
        if not self.given:
            return None
        output, right, draws = (
            np.concatenate([getattr(one, part) for one in self.given])
            for part in ("output", "right", "draws")
        )
        return Measured("model", output, right, draws) if len(output) else None

    def to_json(self) -> dict[str, Any]:
        """`documents`: accuracy by how sure the decided class is, of all and by class; `classes`: each against the
        rest, as of two classes."""
        value: dict[str, Any] = {}
        if (documents := self.documents) is not None:
            of_class = dict(zip(self.labels.names, self.given, strict=True))
            value["documents"] = {
                "bins": _plain(documents.bins()),
                "cumulative": _plain(documents.quantiles()),
                "by_class": {name: _plain(one.quantiles()) for name, one in of_class.items()},
            }
        if self.admitted_documents is not None:
            value["admitted documents"] = self.admitted_documents.to_json()
        views = zip(self.labels.names, self.classes, strict=True)
        return value | {"classes": {name: one.to_json() for name, one in views}}


def histogram(groups: Sequence[Floats], count: int = 24) -> tuple[Floats, list[Floats]]:
    """Centres of equal bins over all groups, and for each group the share of its values in each bin.

    Values beyond the 99.5th percentile are counted in the last bin, so that a few of them do not flatten the rest.
    """
    values = np.concatenate([*groups])
    low, high = float(values.min()), float(np.quantile(values, 0.995))
    edges = np.linspace(low, high if high > low else low + 1.0, count + 1)
    shares = [np.histogram(np.minimum(group, edges[-1]), edges)[0] / max(1, len(group)) for group in groups]
    return (edges[:-1] + edges[1:]) / 2, shares


def _gather(g: _Gathered, scores: TokenScores, names: LabelNames) -> None:
    document = scores.document
    draw = _draw(document)
    target = names.document_target(document)
    g.document_output.append(scores.output)
    g.document_draws.append(draw)
    if target is not None:
        g.document_right.append(target)
    g.score.append(scores.margins.astype(np.float64))
    g.truth.append(names.token_targets(document))
    g.draws.append(np.random.default_rng(draw).integers(0, 2**63, len(document.tokens)).astype(np.uint64))
    if isinstance(scores, Audited):
        g.document_admitted.append(scores.admitted)
        if scores.knn is not None:
            g.knn.append(scores.knn)
        if scores.neighbours is not None:
            g.distance.append(scores.neighbours.distances[:, 0].astype(np.float64))
        if scores.admitted_tokens is not None:
            g.admitted.append(scores.admitted_tokens)


def _draw(document: Document) -> int:
    return int.from_bytes(blake2b(document.id.encode(errors="replace"), digest_size=8).digest(), "little")


def _plain(bins: Sequence[Bin]) -> list[dict[str, float]]:
    """Bins of answers that all say yes, of which an F says nothing."""
    return [{"n": b.n, "threshold": b.threshold, "accuracy": b.accuracy} for b in bins]


def _given(labelled: Sequence[Scores], labels: LabelSet) -> Iterable[Measured]:
    """For each class, the documents that were given it."""
    truth = [true_classes(scores.document, labels) for scores in labelled]
    if None in truth:
        return
    for c in range(len(labels)):
        mine = [(s, c in (t or ())) for s, t in zip(labelled, truth, strict=True) if c in s.decided]
        # The winner of a tie leads by nothing, and was given nevertheless.
        output = np.maximum([s.views[c].output for s, _ in mine], np.finfo(np.float64).tiny)
        yield Measured(
            "model",
            output,
            np.array([right for _, right in mine], dtype=np.int8),
            np.array([_draw(s.document) for s, _ in mine], dtype=np.uint64),
        )


def _admitted(labelled: Sequence[Scores], labels: LabelSet) -> Admitted | None:
    """The admitted documents of several classes; right are those whose classes are all right."""
    known = [s for s in labelled if isinstance(s, MultiAudited) and s.admitted is not None]
    if not known or len(known) < len(labelled):
        return None
    kept = [scores for scores in known if scores.admitted]
    truth = [true_classes(scores.document, labels) for scores in kept]
    if None in truth or not kept:
        return Admitted(len(kept), len(known), None, None)
    right = sum(scores.decided == classes for scores, classes in zip(kept, truth, strict=True))
    return Admitted(len(kept), len(known), right / len(kept), None)


def _tokens(g: _Gathered) -> Iterable[Measured]:
    truth = [t for t in g.truth if t is not None]
    if not truth or len(truth) < len(g.truth):
        return
    right, draws = np.concatenate(truth), np.concatenate(g.draws)
    yield Measured("model", np.concatenate(g.score), right, draws)
    if len(g.knn) == len(truth):
        output = np.concatenate(g.knn)
        yield Measured("K-NN", output, right, draws)
        if len(g.distance) == len(truth):
            yield Measured("K-NN, nearest exemplars first", output, right, draws, -np.concatenate(g.distance))


def _approximation(g: _Gathered) -> Measured | None:
    if not g.knn or len(g.knn) < len(g.score):
        return None
    model = (np.concatenate(g.score) > 0).astype(np.int8)
    return Measured("approximation", np.concatenate(g.knn), model, np.concatenate(g.draws))


def _admitted_documents(g: _Gathered, documents: Measured | None) -> Admitted | None:
    known = [admitted for admitted in g.document_admitted if admitted is not None]
    if not known or len(known) < len(g.document_output):
        return None
    mask = np.array(known)
    if documents is None:
        return Admitted(int(mask.sum()), len(mask), None, None)
    counts = Counts.of(documents.decided[mask], documents.right[mask])
    return Admitted(int(mask.sum()), len(mask), counts.accuracy, counts.f(0.5))


def _admitted_tokens(g: _Gathered) -> Admitted | None:
    if not g.admitted or len(g.admitted) < len(g.score):
        return None
    mask = np.concatenate(g.admitted)
    truth = [t for t in g.truth if t is not None]
    if len(truth) < len(g.truth):
        return Admitted(int(mask.sum()), len(mask), None, None)
    counts = Counts.of(np.concatenate(g.knn)[mask] > 0, np.concatenate(truth)[mask])
    return Admitted(int(mask.sum()), len(mask), counts.accuracy, counts.f(0.5))
