"""The auditor that users import: every decision of the model tied to examples in its support set."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exaudit.audit.audited import AuditedScores, Rule, check_rule
from exaudit.audit.editor import OverlapWarning
from exaudit.audit.evidence import Evidence, FoundExemplars
from exaudit.audit.fitter import K
from exaudit.audit.guarantor import Admit, Guarantor
from exaudit.audit.index import Index
from exaudit.audit.monitor import Monitor
from exaudit.audit.neighbourhood import each_apart, parts, vectors_of
from exaudit.audit.part import Verdict
from exaudit.audit.policy import Policy
from exaudit.audit.preview import Preview
from exaudit.audit.staleness import Staleness
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SettingError, SupportError
from exaudit.model.documents import as_documents
from exaudit.model.scores import Scores, TokenScores
from exaudit.support.history import Edit
from exaudit.support.memory import MemorySupportSet

__all__ = ["Admit", "Auditor", "OverlapWarning"]


class Auditor(Guarantor, Monitor):
    """A model together with its support set: exemplars, decision rules, the K-NN, admission, and edits.

    The vectors are read at the first search and kept in memory. Edits, including those of other processes, take
    effect at the next search. All scores are relative to the model's decision boundary, so their signs are its
    decisions.

    Examples
    --------
    >>> auditor = Auditor.open("model/")
    >>> auditor.build(documents, reason="first set")
    >>> auditor.fit_knn(dev)
    >>> auditor.label(["There are some informations ."], rule="exag")[0].decisions
    >>> auditor.explain("There are some informations .", token=3)
    """

    def neighbours(self, scores: Sequence[Scores], k: int = K) -> tuple[Neighbours, ...]:
        """The k nearest exemplars of every token of documents labelled with `exemplars=True`, as each class sees them
        (of two classes, the positive one)."""
        return self._near.neighbours(scores, k)

    def label(
        self,
        documents: Sequence[Any],
        *,
        rule: Rule | None = None,
        admit: bool | Admit = False,
        nearest: bool = False,
    ) -> list[AuditedScores]:
        """Decide every document and word: by the model, or by `rule` (exag, exat, knn).

        Parameters
        ----------
        documents
            Texts, lists of tokens, or Documents.
        rule
            The decision rule; None keeps the model's decisions.
        admit
            Say which answers can be relied on: by the promise, which is about the model's own answers, or, where none
            was made or with "mean", by the limits, which are about the K-NN's, so that its decisions are used unless
            another rule is given.
        nearest
            Return the nearest exemplar of each token, in its document.
        """
        return list(self.iter_label(documents, rule=rule, admit=admit, nearest=nearest))

    def iter_label(
        self,
        documents: Iterable[Any],
        *,
        rule: Rule | None = None,
        admit: bool | Admit = False,
        nearest: bool = False,
        total: int | None = None,
    ) -> Iterator[AuditedScores]:
        """Like `label`, one document at a time."""
        policy = self._policy(rule, admit)
        if policy.promise is not None and not self.has_support:
            for plain in self.model.iter_label(documents):
                yield policy.audited(plain, ())
            return
        for scores, neighbours, firsts in self._near.search(
            documents, policy.k, nearest=nearest, total=total
        ):
            audited = policy.audited(scores, neighbours, firsts)
            yield audited if self.verified else replace(audited, verified=False)

    def explain(
        self, document: Any, token: int, *, about: str | None = None, k: int | None = None
    ) -> Evidence:
        """Why one token (counted from 0) was decided as it was: its exemplars and the K-NN's whole sum.

        Parameters
        ----------
        about
            The class to explain, if there are more than two; the strongest by default.
        k
            Exemplars to show; those of the K-NN by default.
        """
        scores, view, policy = self._scored(document, [token]), self._view_of(about), self._fitted_policy()
        with self._near.index() as index:
            k = k or (policy.k if policy.knns else min(K, len(index)))
            offsets = self.model.word_boundaries
            near = index.neighbours(vectors_of([scores])[[token]], max(k, policy.k), offsets=offsets)
            exemplars = FoundExemplars(self.support, index, near)
        return policy.evidence(scores, [token], near, exemplars, k=k, about=view)[0]

    def audit(
        self,
        document: Any,
        tokens: Sequence[int] | None = None,
        *,
        about: str | None = None,
        k: int | None = None,
    ) -> tuple[AuditedScores, list[Evidence]]:
        """A document with its decisions, and the evidence for some of its tokens: by default the positive ones and, if
        the document is negative, those that speak for the negative class.

        Parameters
        ----------
        about
            The class to explain, if there are more than two; those that were decided on by default.
        k
            Exemplars to show per token; those of the K-NN by default.
        """
        scores, view, policy = (
            self._scored(document, tokens or ()),
            self._view_of(about),
            self._fitted_policy(),
        )
        decided = [own.decisions for c, own in enumerate(scores.views) if view in (None, c)]
        if isinstance(scores, TokenScores) and not scores.decision:
            decided.append(scores.evidence < 0)
        asked = np.flatnonzero(np.any(decided, axis=0)).tolist() if tokens is None else list(tokens)
        with self._near.index() as index:
            k = k or (policy.k if policy.knns else min(K, len(index)))
            found = self._near.neighbours([scores], max(k, policy.k))
            near = [own[np.array(asked, np.int64)] for own in found]
            exemplars = FoundExemplars(self.support, index, near)
        evidence = policy.evidence(scores, asked, near, exemplars, k=k, about=view)
        audited = policy.audited(replace(scores, exemplars=None), found)
        if isinstance(verdict := audited.admission, Verdict):
            evidence = [replace(each, refusal=verdict.reason(each.position)) for each in evidence]
        return audited if self.verified else replace(audited, verified=False), evidence

    def preview(
        self, edit: Callable[[Auditor], Edit], documents: Sequence[Any], *, rule: Rule | None = None
    ) -> Preview:
        """Which decisions on the documents an edit would flip; nothing is written.

        Parameters
        ----------
        edit
            A function that makes the edit on the auditor it is given.
        documents
            The documents to decide before and after the edit.
        rule
            By default the K-NN, or ExAG if none was fitted. The model's own decisions never change.

        Examples
        --------
        >>> auditor.preview(lambda trial: trial.relabel("d7", "negative"), documents)
        """
        rule = rule or ("exag" if self.knn is None else "knn")
        policy = self._policy(rule, admit=False)
        before: list[AuditedScores] = []
        after: list[AuditedScores] = []
        with self._near.index() as index:
            trial = copy.copy(self)
            trial._support, trial._neighbourhood = MemorySupportSet.preview(self.support), None
            made = edit(trial)
            for part in parts(as_documents(documents, cut=self.model.settings.tokens)):
                scores = self.model.label(part, exemplars=True)
                before += self._decided(policy, index, scores)
                with index.trying(trial.support) as tried:
                    trying = replace(policy, has_token_labels=tried.has_token_labels)
                    after += self._decided(trying, tried, scores)
        return Preview.of(made, rule, before, after, self.labels)

    def staleness(self) -> Staleness | None:
        """None where the limits fit the support set as it is; otherwise they are fitted anew, to compare."""
        policy, kept = self._policy("knn", admit="mean"), self._need_admission()
        self.support.refresh()
        if not kept.is_stale(self.support.version):
            return None
        anew = self._fitted_admission(kept.documents, kept.kind, kept.quantile, kept.use_count, kept.recipe)
        return Staleness(policy, kept, anew, self.support.version)

    def _decided(self, policy: Policy, index: Index, scores: Sequence[Scores]) -> list[AuditedScores]:
        views = index.neighbours(vectors_of(scores), policy.k, offsets=self.model.word_boundaries)
        return [policy.audited(one, [found[mine] for found in views]) for one, mine in each_apart(scores)]

    def _scored(self, document: Any, tokens: Sequence[int]) -> Scores:
        """One document with its vectors; the tokens asked for must be there."""
        (scores,) = self.model.label(as_documents([document], cut=self.model.settings.tokens), exemplars=True)
        for n in tokens:
            if not 0 <= n < len(scores.document.tokens):
                count = len(scores.document.tokens)
                raise SettingError(f"the document has {count} tokens, from 0; there is no token {n}")
        return scores

    def _view_of(self, name: str | None) -> int | None:
        names = [view.positive for view in self.labels.views]
        if name is None:
            return None
        if name not in names:
            raise SettingError(f"words are not decided for {name!r}; they are for {', '.join(names)}")
        return names.index(name)

    def _policy(self, rule: Rule | None, admit: bool | Admit) -> Policy:
        check_rule(rule)
        if self.promises(admit):
            return self._promising(rule)
        if admit is True and self.admission is None:
            raise SupportError(
                "nothing is promised about the answers of this model, and no admission limits were fitted; make a "
                "promise first (exaudit admission fit MODEL FILE --risk 0.05)"
            )
        rule = "knn" if admit and rule is None else rule
        has_token_labels = False
        if rule == "exat":
            with self._near.index() as index:
                has_token_labels = index.has_token_labels
        return Policy(
            self.labels,
            rule,
            knns=self._need_knn().knns if admit or rule == "knn" else (),
            admissions=self._need_admission().views if admit else (),
            has_token_labels=has_token_labels,
        )

    def _promising(self, rule: Rule | None) -> Policy:
        """The model's own decisions, with the promise as it holds for the support set as it is."""
        if rule is not None:
            raise SettingError(
                f"the promise is about the model's own answers, not those of {rule}; leave out `rule`, or admit by the "
                'limits ("mean")'
            )
        self.check_promise(keep=False)
        if self.promise is None:
            raise SupportError("no promise was made yet; make one first (exaudit admission fit --risk 0.05)")
        knns = self._need_knn().knns if self.promise.made.knns else ()
        return Policy(self.labels, knns=knns, promise=self.promise, model=self.model)

    def _fitted_policy(self) -> Policy:
        """The model's own decisions, with all that was fitted to say about them."""
        knns = () if self.knn is None else self._need_knn().knns
        if self.promise is not None and self.promise.made == self._made():
            return Policy(self.labels, knns=knns, promise=self.promise, model=self.model)
        limits = self.admission if knns else None
        if limits is not None and not limits.fits(knns):
            limits = None  # of an earlier K-NN
        return Policy(self.labels, knns=knns, admissions=() if limits is None else limits.views)
