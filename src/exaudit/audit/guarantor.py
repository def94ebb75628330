"""Making a promise about the answers that are admitted, and keeping it when the support set changes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

from exaudit.audit.calibration import made_for, refuse_seen, seen_in
from exaudit.audit.editor import OverlapWarning
from exaudit.audit.fitter import Fitter, K
from exaudit.audit.policy import Policy
from exaudit.audit.promise import Calibrated, Made, Promise
from exaudit.audit.signals import signals_of
from exaudit.data.document import Document
from exaudit.decide.risk import Goal
from exaudit.errors import SettingError, SupportError
from exaudit.model.digests import digest
from exaudit.model.documents import as_documents

__all__ = ["Admit", "Guarantor"]

Admit = Literal["promise", "mean"]


class Guarantor(Fitter):
    """Promises something about the model's answers, for the model, K-NN and support set as they are."""

    def fit_promise(
        self, documents: Sequence[Any], goal: Goal | None = None, *, add: bool = False
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
        return self._keep(self._promised(given, goal))

    def check_promise(self, *, keep: bool = True) -> str | None:
        """Check the promise again where the support set or the K-NN has changed since; what that changes, in words.

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
        in_support = seen_in(self.support, kept.calibration) if self.has_support else set()
        left = [document for document in kept.calibration if digest(document) not in in_support]
        anew = self._promised(left, kept.goal)
        self._promise = self._keep(anew) if keep else anew
        gone = len(kept.calibration) - len(left)
        return anew.change_since(kept) + (
            f"; {gone} that are in the support set now were left out" if gone else ""
        )

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

    def _promised(self, documents: Sequence[Document], goal: Goal) -> Promise:
        """A promise that rests on these documents."""
        made = self._made()
        k, calibrated, by_limits = 0, list[Calibrated](), list[bool | None]()
        if made.support_version is None:
            for scores in self.model.label(documents):
                calibrated.append((scores.document, signals_of(scores, (), (), self.labels)))
        else:
            knns = self._need_knn().knns if made.knns else ()
            k = knns[0].k if knns else min(K, len(self.support))
            limits = self.admission if knns else None
            fitting = limits is not None and limits.fits(knns) and not limits.is_stale(self.support.version)
            beside = (
                Policy(self.labels, "knn", knns, limits.views) if limits is not None and fitting else None
            )
            for scores, near in self._searched(documents, k):
                calibrated.append((scores.document, signals_of(scores, near, knns, self.labels)))
                by_limits.append(None if beside is None else beside.audited(scores, near).admitted)
        return Promise.fit(calibrated, self.labels, goal, made=made, k=k, by_limits=by_limits)

    def _keep(self, promise: Promise) -> Promise:
        if self._place is not None:
            promise.save(self._place.folder)
        self._promise = promise
        return promise
