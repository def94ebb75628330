"""What separates corpus A from corpus B: train on part of both, and look at the rest through the model.

A is the negative class and B the positive one, so the words that are decided positive are those that give B away.
Where documents come in pairs (an original and its revision), a pair never straddles the split, and the decided
words can be compared with the words that truly differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from exaudit.analyse.features import Features
from exaudit.data.diff import FORMER, Diff
from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.metrics import Counts, bootstrap, token_metrics, wilson
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.scores import TokenScores
from exaudit.model.settings import Settings
from exaudit.model.train import train

__all__ = ["Comparison", "Split", "compare", "for_comparison", "mark_sides", "split_by_group"]

SIDES = ("A", "B")
FEW = 6  # labels that are worth a row each
EPOCHS = 20  # of a head over a frozen encoder: what sets corpora apart is faint, and 12 do not find it all
ENOUGH = 30  # pairs, or single documents, to draw an interval from


@dataclass(frozen=True, slots=True)
class Split:
    train: list[Document]
    dev: list[Document]
    test: list[Document]


@dataclass(frozen=True)
class Comparison:
    """The answer: can A and B be told apart, and by what?"""

    model: Model
    names: tuple[str, str]  # of A and B, for people
    split: Split
    labelled: list[TokenScores]  # the test documents
    features: Features
    group: str | None

    @property
    def counts(self) -> Counts:
        return Counts.of(
            np.array([s.decision for s in self.labelled]),
            np.array([_side(s.document) for s in self.labelled]),
        )

    @property
    def chance(self) -> float:
        """The accuracy of always naming the larger side."""
        share = sum(_side(d) for d in self.split.test) / len(self.split.test)
        return max(share, 1 - share)

    def interval(self) -> tuple[float, float]:
        """95% of the accuracy, drawing whole pairs where there are pairs; of few, by Wilson's rule."""
        groups: dict[str, list[TokenScores]] = {}
        for scores in self.labelled:
            groups.setdefault(_group(scores.document, self.group), []).append(scores)
        counts = [
            Counts.of(np.array([s.decision for s in one]), np.array([_side(s.document) for s in one]))
            for one in groups.values()
        ]
        if len(counts) < ENOUGH:  # drawn from a few that are all right, an interval would have no width
            return wilson(self.counts.accuracy, len(counts))
        return bootstrap(lambda c: {"accuracy": c.accuracy}, counts)["accuracy"]

    def found(self) -> dict[str, float] | None:
        """How the decided words compare with those that truly differ; None where no document has its pair."""
        (view,) = self.model.labels.views
        known = [
            (s, targets) for s in self.labelled if (targets := view.token_targets(s.document)) is not None
        ]
        if not known:
            return None
        decided = np.concatenate([s.decisions for s, _ in known])
        return token_metrics(Counts.of(decided, np.concatenate([t for _, t in known])))

    def by_side(self) -> dict[str, tuple[float, int]]:
        """Accuracy on the documents of each side, and their number."""
        result = {}
        for side, name in enumerate(self.names):
            right = [s.decision == side for s in self.labelled if _side(s.document) == side]
            result[name] = (sum(right) / max(1, len(right)), len(right))
        return result

    def by_label(self) -> dict[str, tuple[float, int]]:
        """Accuracy within each label that the documents had before they were A or B, where they had some."""
        right: dict[str, list[bool]] = {}
        for scores in self.labelled:
            label = scores.document.meta.get(FORMER)
            if label:
                right.setdefault(label, []).append(scores.decision == _side(scores.document))
        few = len(right) <= FEW and sum(map(len, right.values())) == len(self.labelled)
        return {label: (sum(r) / len(r), len(r)) for label, r in sorted(right.items())} if few else {}

    def to_json(self) -> dict[str, Any]:
        low, high = self.interval()
        return {
            "a": self.names[0],
            "b": self.names[1],
            "documents": {part: len(getattr(self.split, part)) for part in ("train", "dev", "test")},
            "accuracy": self.counts.accuracy,
            "interval": [low, high],
            "chance": self.chance,
            "by_side": {name: {"accuracy": a, "documents": n} for name, (a, n) in self.by_side().items()},
            "by_label": {name: {"accuracy": a, "documents": n} for name, (a, n) in self.by_label().items()},
            "diffs_found": self.found(),
        }


def compare(
    a: Sequence[Document],
    b: Sequence[Document],
    *,
    settings: Settings,
    names: tuple[str, str] = SIDES,
    group: str | None = None,
    test: tuple[Sequence[Document], Sequence[Document]] | None = None,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> Comparison:
    """Train on A against B and judge it on documents it has not seen.

    group : a column; documents of A and B with the same value belong together and are split together.
    test : the held-out documents of A and B; by default a fifth of the groups.
    """
    documents = mark_sides(a, b, group)
    if test is None:
        split = split_by_group(documents, group, seed=settings.seed)
    else:
        part = split_by_group(documents, group, seed=settings.seed, test=0.0)
        held_out = mark_sides(*test, group)
        _check_apart(documents, held_out)
        split = Split(part.train, part.dev, held_out)
    for name, part_documents in (("training", split.train), ("dev", split.dev), ("held-out", split.test)):
        if len({_side(d) for d in part_documents}) < 2:
            raise DataError(
                f"the {name} documents are all of one side ({len(part_documents)} documents); give more documents, "
                "or other pairs"
            )
    # The labels of words are for judging alone: training sees which side a document is from, and nothing else.
    seen, dev = ([d.without_token_labels() for d in part] for part in (split.train, split.dev))
    model = train(for_comparison(settings), seen, dev, options=RunOptions(report=report, group=group))
    scores = model.iter_label(split.test, total=len(split.test))
    labelled = [view for one in scores for view in one.views]  # of two classes, one
    return Comparison(model, names, split, labelled, Features.of(labelled, model), group)


def for_comparison(settings: Settings) -> Settings:
    """The settings with what telling A from B needs, where they leave it open."""
    epochs = settings.epochs
    if epochs is None and not settings.tune_encoder:
        epochs = EPOCHS
    return replace(settings, positive="B", select=settings.select or "accuracy", epochs=epochs)


def mark_sides(a: Iterable[Document], b: Iterable[Document], group: str | None) -> list[Document]:
    """All documents with A or B as their label, ids made unique, and the true diffs where pairs are known.

    As in the paper's section 6, the diff goes from B (the revision) to A (the original).
    """
    sides = [
        [
            replace(
                d,
                id=f"{side}-{d.id}",
                label=side,
                token_labels=None,
                meta={FORMER: _former(d), **d.meta},
            )
            for d in documents
        ]
        for side, documents in zip(SIDES, (a, b), strict=True)
    ]
    if group is None:
        return [*sides[0], *sides[1]]
    originals: dict[str, list[Document]] = {}
    for document in sides[0]:
        originals.setdefault(_group(document, group), []).append(document)
    revised = {_group(document, group) for document in sides[1]}
    marked = [
        replace(d, token_labels=("0",) * len(d.tokens)) if _group(d, group) in revised else d
        for d in sides[0]
    ]
    for document in sides[1]:
        partners = originals.get(_group(document, group), [])
        if len(partners) == 1:
            labels = Diff.between(document.tokens, partners[0].tokens).labels
            document = replace(document, token_labels=tuple(map(str, labels)))
        marked.append(document)
    return marked


def split_by_group(
    documents: Sequence[Document], group: str | None, *, seed: int, test: float = 0.2, dev: float = 0.1
) -> Split:
    """Whole groups (or single documents) go to one part each, by a draw that the order of the file does not change."""
    names = {_group(document, group) for document in documents}
    order = sorted(names, key=lambda name: blake2b(f"{seed}\0{name}".encode(errors="replace")).digest())
    first, second = round(len(order) * test), round(len(order) * (test + dev))
    place = {name: 2 if n < first else 1 if n < second else 0 for n, name in enumerate(order)}
    parts: tuple[list[Document], list[Document], list[Document]] = ([], [], [])
    for document in documents:
        parts[place[_group(document, group)]].append(document)
    return Split(*parts)


def _former(document: Document) -> str:
    """The label that makes room for A or B, as a column; of several, all."""
    label = document.label or ""
    return label if isinstance(label, str) else ", ".join(label)


def _group(document: Document, group: str | None) -> str:
    if group is None:
        return document.id
    value = document.meta.get(group)
    if value is None and group == "id":
        value = document.id.partition("-")[2]  # without the side
    if value is None:
        raise DataError(
            f"document {document.id!r} has no column {group!r} to group it by; columns beside text, label and id: "
            f"{', '.join(map(repr, document.meta)) or 'none'}",
            line=document.line or None,
        )
    return value.strip()


def _check_apart(seen: Sequence[Document], held_out: Sequence[Document]) -> None:
    texts = {d.tokens for d in seen}
    again = [d for d in held_out if d.tokens in texts]
    if again:
        raise DataError(
            f"{len(again)} of the {len(held_out)} held-out documents are in the training files too, the first of "
            f"them {again[0].id!r}; the accuracy would flatter: remove them"
        )


def _side(document: Document) -> int:
    return int(document.label == "B")
