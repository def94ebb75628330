"""How the evidence decides: the rule in force, the K-NN it needs, and admission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from exaudit.audit.audited import Audited, AuditedScores, MultiAudited, Rule
from exaudit.audit.evidence import Evidence, Exemplar, FoundExemplars
from exaudit.audit.profile import figures
from exaudit.audit.promise import Promise
from exaudit.audit.signals import signals_of
from exaudit.data.labels import LabelSet
from exaudit.decide.admission import Admission
from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.rules import exag, exat
from exaudit.model.model import Model
from exaudit.model.scores import MultiScores, Scores, TokenScores

__all__ = ["Policy"]

A = TypeVar("A", Audited, MultiAudited)


@dataclass(frozen=True)
class Policy:
    """Scores are counted from the model's decision boundary throughout, so that its decisions are their signs.

    What is fitted, and all evidence, comes once for each class of `labels.views`.
    """

    labels: LabelSet
    rule: Rule | None = None
    knns: tuple[KNN, ...] = ()
    admissions: tuple[Admission, ...] = ()
    promise: Promise | None = None  # in force instead of the limits
    model: Model | None = None  # which a promise needs that weighs documents by what they look like
    has_token_labels: bool = False  # whether any exemplar of the support set has one

    @property
    def k(self) -> int:
        """How many exemplars each token needs."""
        return max([*(knn.k for knn in self.knns), 0 if self.promise is None else self.promise.k, 1])

    def audited(
        self,
        scores: Scores,
        neighbours: Sequence[Neighbours],
        nearest: Sequence[tuple[Exemplar, ...]] = (),
    ) -> AuditedScores:
        """The decisions on one document, given the exemplars of its tokens (and the nearest, in their documents); none
        where there is no support set."""
        views = tuple(
            self._view(c, view, neighbours[c] if neighbours else None, nearest[c] if nearest else ())
            for c, view in enumerate(scores.views)
        )
        if isinstance(scores, TokenScores):
            return views[0] if self.promise is None else self._promised(views[0], neighbours, self.promise)
        admitted, reason = self._whole(scores, views)
        joint = MultiAudited(
            scores.document, views, scores.one_of, scores.exemplars, admitted=admitted, reason=reason
        )
        return joint if self.promise is None else self._promised(joint, neighbours, self.promise)

    def _promised(self, audited: A, neighbours: Sequence[Neighbours], promise: Promise) -> A:
        """The same with what the promise lets through."""
        near = [own.take(promise.k) for own in neighbours] if promise.k else []
        signals = signals_of(audited, near, self.knns if promise.made.knns else (), self.labels, truth=False)
        looks = None if promise.target is None or self.model is None else figures(audited, self.model)
        document, words = promise.verdicts(signals, self.labels, looks)
        return replace(
            audited,
            admission=words,
            admitted=bool(document.admitted[0]),
            reason=document.reason(0),
            promise=promise.told(),
        )

    def evidence(
        self,
        scores: Scores,
        asked: Sequence[int],
        near: Sequence[Neighbours],
        exemplars: FoundExemplars,
        *,
        k: int,
        about: int | None = None,
    ) -> list[Evidence]:
        """What there is to say about some tokens of a document, given the exemplars of just these.

        Of more than two classes it is about those that the token carries, or the one that comes nearest; or about
        the one asked for.
        """
        carried = _classes(scores) if about is None else [(about,)] * len(scores.document.tokens)
        return [
            self._evidence(scores, n, c, near[c][i : i + 1], exemplars, i, k)
            for i, n in enumerate(asked)
            for c in carried[n]
        ]

    def _evidence(
        self, scores: Scores, n: int, c: int, near: Neighbours, exemplars: FoundExemplars, i: int, k: int
    ) -> Evidence:
        """Of token n and class c, whose exemplars were found as the i-th."""
        view, knn = scores.views[c], self.knns[c] if self.knns else None
        names = self.labels.views[c].negative, self.labels.views[c].positive
        explanation = weights = refusal = None
        if knn is not None:
            explanation, weights = knn.explain(near, 0, names=names), knn.weights(near)[0]
            if self.admissions:
                refusal = self.admissions[c].tokens(knn, near).reason(0, names=names)
        return Evidence(
            position=n,
            token=scores.document.tokens[n],
            score=float(view.margins[n]),
            decision=int(view.decisions[n]),
            exemplars=exemplars.of(i, c, k=k, weights=weights),
            explanation=explanation,
            refusal=refusal,
            about=None if isinstance(scores, TokenScores) else names[1],
        )

    def _view(
        self, c: int, scores: TokenScores, neighbours: Neighbours | None, nearest: tuple[Exemplar, ...]
    ) -> Audited:
        """The decisions of one class."""
        ruled = output = tokens = admitted = reason = None
        if neighbours is None:
            return Audited(**_plain(scores))
        if self.rule == "exag":
            ruled = exag(scores.margins, neighbours)
        elif self.rule == "exat":
            ruled = exat(scores.margins, neighbours, has_token_labels=self.has_token_labels)
        if self.knns:
            knn = self.knns[c]
            output = knn.output(neighbours)
            if self.rule == "knn":
                ruled = knn.decide(output) > 0
            output = output - knn.offset
            if self.admissions:
                tokens = self.admissions[c].tokens(knn, neighbours)
                if self.admissions[c].document_limits is not None:
                    of_token = np.zeros(len(neighbours), np.int64)
                    whole = self.admissions[c].documents(tokens.admitted, of_token, 1)
                    admitted, reason = bool(whole.admitted[0]), whole.reason(0)
        return Audited(
            **_plain(scores),
            rule=self.rule,
            ruled=ruled,
            neighbours=neighbours,
            nearest=nearest,
            knn=output,
            admission=tokens,
            admitted=admitted,
            reason=reason,
        )

    def _whole(self, scores: MultiScores, views: Sequence[Audited]) -> tuple[bool | None, str | None]:
        """Whether a document's answer is admitted, and why not: by the classes that it consists of."""
        deciding = scores.decided or (int(scores.outputs.argmax()),)
        if any(views[c].admitted is None for c in deciding):
            return None, None
        refused = [f"{self.labels.names[c]}: {views[c].reason}" for c in deciding if not views[c].admitted]
        return not refused, "; ".join(refused) or None


def _plain(scores: TokenScores) -> dict[str, Any]:
    return {field.name: getattr(scores, field.name) for field in fields(TokenScores)}


def _classes(scores: Scores) -> list[tuple[int, ...]]:
    """The classes that each token carries, or the one that comes nearest."""
    if isinstance(scores, TokenScores):
        return [(0,)] * len(scores.document.tokens)
    nearest = scores.margins.argmax(1).tolist()  # (N,)
    return [classes or (c,) for classes, c in zip(scores.word_classes, nearest, strict=True)]
