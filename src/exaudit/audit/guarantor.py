"""Making a promise about the answers that are admitted, and keeping it when the support set changes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from exaudit.audit.calibration import made_for, refuse_seen, seen_in
from exaudit.audit.editor import OverlapWarning
from exaudit.audit.fitted import Searched
from exaudit.audit.fitter import Fitter, K
from exaudit.audit.policy import Policy
from exaudit.audit.profile import figures
from exaudit.audit.promise import Answered, Made, Promise
from exaudit.audit.signals import signals_of
from exaudit.data.document import Document
from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.risk import Goal
from exaudit.errors import SettingError, SupportError
from exaudit.model.digests import digest, unpack
from exaudit.model.documents import as_documents
from exaudit.model.scores import Scores

__all__ = ["Admit", "Guarantor"]

Admit = Literal["promise", "mean"]
MOST = 2000  # documents to come that are looked at; of more, so many are drawn


class Guarantor(Fitter):
    """Promises something about the model's answers, for the model, K-NN and support set as they are."""

    def fit_promise(
        self,
        documents: Sequence[Any],
        goal: Goal | None = None,
        *,
        add: bool = False,
        like: Sequence[Any] | None = None,
    ) -> Promise:
        """Promise something about the answers that are admitted, and keep the promise in the model folder.

        Parameters
        ----------
        documents
            Labelled documents, of the kind that is to be labelled, which neither the model nor the support set has
            seen. With token labels, words are promised something, too.
        goal
            What is to be promised; what was promised before, if there is a promise.
        add
            Add the documents to those that the promise rests on now, rather than to start anew.
        like
            Documents to come, without labels, where these are others: the promise is for documents like them. Those to
            calibrate on are weighed to look like them, by estimated weights; with `add` as before, if not given.
        """
        kept = self.promise if add or goal is None else None  # one that is damaged may be made anew
        if add and kept is None:
            raise SupportError("there is no promise to add documents to; leave out `add`")
        if goal is None and kept is None:
            raise SettingError("say what to promise: give `risk`, as in 0.05")
        given = as_documents(documents, cut=self.model.settings.tokens)
        refuse_seen(given, self.model, self.support if self.has_support else None)
        if "digests" not in self.model.record:
            warnings.warn(
                "the model was trained by an earlier exaudit and does not tell by which documents, so that it could "
                "not be checked whether these are among them",
                OverlapWarning,
                stacklevel=2,
            )
        if add and kept is not None:
            old = {digest(document) for document in kept.calibration}
            given = [*kept.calibration, *(document for document in given if digest(document) not in old)]
        goal = goal or (kept.goal if kept is not None else Goal(0.05))
        if like is None and add and kept is not None and kept.target is not None:
            like = kept.target.documents
        target = None if like is None else self._to_come(like, given)
        return self._keep(self._promised(given, goal, target))

    def check_promise(self, *, keep: bool = True) -> str | None:
        """Check the promise again where the support set, the K-NN or the precision has changed since; what that
        changes, in words.

        With `keep` the model folder has the promise as it is now; otherwise only this auditor has.
        """
        kept = self.promise
        if kept is None or kept.made == (made := self._made()):
            return None
        if made.model != kept.made.model:
            raise SupportError(
                "the promise was made before the model was trained again, or its decision boundaries were moved, and "
                "does not hold for it as it is now; make it again (exaudit admission fit)"
            )
        documents = kept.calibration
        in_support = seen_in(self.support, documents) if self.has_support else set()
        left = [document for document in documents if digest(document) not in in_support]
        target = None if kept.target is None else self._to_come(kept.target.documents, left)
        anew = self._promised(left, kept.goal, target)
        self._promise = self._keep(anew) if keep else anew
        gone = len(documents) - len(left)
        told = anew.change_since(kept)
        if made.precision != kept.made.precision:
            told += f"; texts are read in {made.precision} now, and were in {kept.made.precision}"
        return told + (f"; {gone} that are in the support set now were left out" if gone else "")

    def promises(self, admit: bool | Admit) -> bool:
        """Whether it is the promise that decides what is admitted, rather than the limits."""
        return admit == "promise" or (admit is True and self.promise is not None)

    def _made(self) -> Made:
        """What a promise would be made for now."""
        if not self.has_support:
            return made_for(self.model, self._place, None, ())
        self.support.refresh()
        return made_for(
            self.model, self._place, self.support.version, () if self.knn is None else self.knn.knns
        )

    def _to_come(self, like: Sequence[Any], calibration: Sequence[Document]) -> list[Document]:
        """Documents to come, without their labels: those that nothing has seen, drawn where there are many."""
        given = as_documents(like, cut=self.model.settings.tokens)
        seen = {digest(document) for document in calibration} | unpack(self.model.record.get("digests", ""))
        if self.has_support:
            seen |= seen_in(self.support, given)
        new = [replace(each, label=None, token_labels=None) for each in given if digest(each) not in seen]
        order = np.random.default_rng(0).permutation(len(new))[:MOST]
        return [new[n] for n in sorted(order.tolist())]

    def _promised(
        self, documents: Sequence[Document], goal: Goal, target: Sequence[Document] | None = None
    ) -> Promise:
        """A promise that rests on these documents, for those of the target."""
        made = self._made()
        knns = self._need_knn().knns if made.knns else ()
        k = 0 if made.support_version is None else knns[0].k if knns else min(K, len(self.support))
        limits = self._limits_beside(knns)
        calibrated, by_limits = list[Answered](), list[bool | None]()
        for scores, near in self._answers(documents, k):
            calibrated.append(self._answered(scores, near, knns, weighed=target is not None))
            by_limits.append(None if limits is None else limits.audited(scores, near).admitted)
        new = None
        if target is not None:
            answers = self._answers(target, k) if target else ()
            new = [self._answered(scores, near, knns, weighed=True) for scores, near in answers]
        return Promise.fit(calibrated, self.labels, goal, made=made, k=k, by_limits=by_limits, new=new)

    def _answers(self, documents: Sequence[Document], k: int) -> Iterable[Searched]:
        if k:
            return self._searched(documents, k)
        return ((scores, ()) for scores in self.model.label(documents))

    def _answered(
        self, scores: Scores, near: tuple[Neighbours, ...], knns: Sequence[KNN], *, weighed: bool
    ) -> Answered:
        distances = near[0].distances[:, 0] if near else None
        looks = figures(scores, self.model, distances) if weighed else {}
        return Answered(scores.document, signals_of(scores, near, knns, self.labels), looks)

    def _limits_beside(self, knns: tuple[KNN, ...]) -> Policy | None:
        """The mean limits, where they fit the K-NN and the support set as they are."""
        limits = self.admission if knns else None
        if limits is None or not limits.fits(knns) or limits.is_stale(self.support.version):
            return None
        return Policy(self.labels, "knn", knns, limits.views)

    def _keep(self, promise: Promise) -> Promise:
        if self._place is not None:
            promise.save(self._place.folder)
        self._promise = promise
        return promise
