"""Documents as they were looked up once: their scores and nearest exemplars, to be decided again and again.

What takes time is the encoding and the search. The decisions follow from their result and from the labels in the
support set, so an edit of labels, another rule or another boundary costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from exaudit.audit.audited import AuditedScores, Rule
from exaudit.audit.auditor import Auditor
from exaudit.audit.evidence import Evidence, FoundExemplars
from exaudit.audit.fitter import K
from exaudit.audit.guarantor import Admit
from exaudit.audit.neighbourhood import each_apart, vectors_of
from exaudit.audit.part import Verdict
from exaudit.audit.policy import Policy
from exaudit.audit.profile import directions
from exaudit.errors import SettingError, SupportError
from exaudit.model.documents import as_documents
from exaudit.model.scores import Scores

__all__ = ["Look", "Looks", "StaleLookError"]


class StaleLookError(SupportError):
    """Exemplars came or went since a document was looked up: it must be looked up again."""


@dataclass(frozen=True)
class Look:
    """A scored document, and the exemplars of its tokens."""

    scores: Scores  # without vectors
    distances: npt.NDArray[np.float32]  # (N, K); K is 0 where there is no support set
    rows: npt.NDArray[np.int64]  # (N, K)
    number: int  # of the last edit of the support set that it knows of; -1 without one
    content: npt.NDArray[np.float64] | None = None  # of its vectors, to tell drift; see `profile`


class Looks:
    """Looks documents up in the support set of an auditor, and decides what was looked up.

    Parameters
    ----------
    auditor
        The auditor of a model folder, which may be without a support set.
    has_support
        Whether there is one.
    """

    def __init__(self, auditor: Auditor, *, has_support: bool = True) -> None:
        self.auditor, self.has_support = auditor, has_support
        self._added: tuple[int, int, frozenset[int], bool] = (-1, -1, frozenset(), False)

    @property
    def k(self) -> int:
        """How many exemplars each token is looked up with."""
        knn = self.auditor.knn
        wanted = K if knn is None else max(each.k for each in knn.knns)
        return min(wanted, len(self.auditor.support)) if self.has_support else 0

    @property
    def _alone(self) -> bool:
        """Whether there is no support set, or an empty one, as a build that was stopped leaves it."""
        return not self.has_support or not len(self.auditor.support)

    def of(self, documents: Sequence[Any]) -> list[Look]:
        """Label and look up documents, all at once."""
        model = self.auditor.model
        wanted = as_documents(documents, cut=model.settings.tokens)
        if self._alone:
            return [
                Look(scores, *_nothing(len(scores.document.tokens)), -1) for scores in model.label(wanted)
            ]
        scores = model.label(wanted, exemplars=True)
        with self.auditor._near.index() as index:
            near = index.neighbours(vectors_of(scores), self.k, offsets=model.word_boundaries)[0]
            number = self.auditor.support.number
        contents = [directions(one.exemplars) for one in scores if one.exemplars is not None]
        return [
            Look(one, near.distances[mine], near.rows[mine], number, content)
            for (one, mine), content in zip(each_apart(scores), contents, strict=True)
        ]

    def holds(self, number: int, rows: npt.NDArray[np.int64]) -> bool:
        """Whether exemplars that were found at edit `number` are still the nearest: labels may have changed since, but
        none was removed, and none added."""
        if self._alone:
            return number == -1
        support = self.auditor.support
        if number == support.number:
            return True
        if number < 0 or not rows.shape[1]:
            return False
        if self._added[:2] != (number, support.number):
            changes = support.changes(number)
            removed = frozenset(changes.removed.tolist())
            self._added = number, support.number, removed, bool(len(changes.added))
        _, _, removed, added = self._added
        return not added and (not removed or not removed & set(np.unique(rows).tolist()))

    def decided(
        self,
        look: Look,
        rule: Rule | None = None,
        *,
        admit: Admit | Literal[False] = False,
        withdrawal: str | None = None,
    ) -> Scores | AuditedScores:
        """The decisions on a document by a rule, with what the support set says now.

        withdrawal : why the promise does not hold for it, where it does not.
        """
        return self.decide([look], rule, admit=admit, withdrawal=withdrawal)[0]

    def decide(
        self,
        looks: Sequence[Look],
        rule: Rule | None = None,
        *,
        admit: Admit | Literal[False] = False,
        withdrawal: str | None = None,
    ) -> Sequence[Scores | AuditedScores]:
        """The same of several documents, at less cost."""
        auditor = self.auditor
        if self._alone and admit != "promise":
            if rule is not None or admit:
                raise SupportError("there is no support set, so nothing but the model can decide")
            return [look.scores for look in looks]
        policy = _without(auditor._policy(rule, admit), withdrawal)
        if self._alone:
            return [policy.audited(look.scores, ()) for look in looks]
        if any(policy.k > look.rows.shape[1] for look in looks):
            raise SupportError(f"K = {policy.k} exemplars per token are needed; look the document up again")
        distances, rows = (
            np.concatenate([getattr(look, name) for look in looks]) for name in ("distances", "rows")
        )
        with auditor._near.index() as index:
            for look in looks:
                self._check(look)
            views = index.seen(distances, rows, offsets=auditor.model.word_boundaries)
        return [
            policy.audited(scores, [view[mine] for view in views])
            for scores, mine in each_apart([look.scores for look in looks])
        ]

    def evidence(
        self,
        look: Look,
        token: int,
        *,
        about: str | None = None,
        k: int | None = None,
        withdrawal: str | None = None,
    ) -> Evidence:
        """Why one token was decided as it was; see `Auditor.explain`, and for `withdrawal` see `decided`."""
        count = len(look.scores.document.tokens)
        if not 0 <= token < count:
            raise SettingError(f"the document has {count} tokens, from 0; there is no token {token}")
        auditor, mine = self.auditor, slice(token, token + 1)
        view = auditor._view_of(about)
        try:
            policy = _without(auditor._fitted_policy(), withdrawal)
        except SupportError:  # a K-NN of another boundary: the exemplars are the same without it
            policy = Policy(auditor.labels)
        with auditor._near.index() as index:
            self._check(look)
            offsets = auditor.model.word_boundaries
            near = index.seen(look.distances[mine], look.rows[mine], offsets=offsets)
            exemplars = FoundExemplars(auditor.support, index, near)
            verdict = None
            if policy.promise is not None:  # what is admitted of a word depends on the others
                whole = index.seen(look.distances, look.rows, offsets=offsets)
                verdict = policy.audited(look.scores, whole).admission
        k = k or (policy.k if policy.knns else look.rows.shape[1])
        found = policy.evidence(look.scores, [token], near, exemplars, k=k, about=view)[0]
        return replace(found, refusal=verdict.reason(token)) if isinstance(verdict, Verdict) else found

    def _check(self, look: Look) -> None:
        if not self.holds(look.number, look.rows):
            raise StaleLookError("the support set has other exemplars now; look the document up again")


def _without(policy: Policy, withdrawal: str | None) -> Policy:
    """The same where the promise was withdrawn."""
    if policy.promise is None or withdrawal is None:
        return policy
    return replace(policy, promise=policy.promise.withdrawn(withdrawal))


def _nothing(tokens: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """No exemplars for each token (N, 0)."""
    return np.zeros((tokens, 0), np.float32), np.zeros((tokens, 0), np.int64)
