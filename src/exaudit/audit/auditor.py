"""The auditor that users import: every decision of the model tied to examples in its support set."""

from __future__ import annotations

import copy
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from exaudit.audit import edits
from exaudit.audit.audited import AuditedScores, Rule, check_rule
from exaudit.audit.calibration import made_for, refuse_seen, seen_in
from exaudit.audit.drift import COMMAND, RATE, Drift, DriftReference, check_enough, check_rate, find_drift
from exaudit.audit.evidence import Evidence, FoundExemplars
from exaudit.audit.fitted import FittedAdmission, FittedKNN, Searched
from exaudit.audit.index import ExemplarIndex
from exaudit.audit.neighbourhood import Neighbourhood, each_apart, parts, vectors_of
from exaudit.audit.place import ModelPlace
from exaudit.audit.policy import Policy
from exaudit.audit.preview import Preview
from exaudit.audit.profile import Profile
from exaudit.audit.promise import Calibrated, Made, Promise, Verdict
from exaudit.audit.signals import signals_of
from exaudit.audit.staleness import Staleness
from exaudit.data.document import Document, Label
from exaudit.data.labels import LabelSet
from exaudit.decide.admission import AdmissionKind
from exaudit.decide.knn import Kind
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.risk import Goal
from exaudit.errors import PrecisionWarning, SettingError, SupportError
from exaudit.model.digests import digest
from exaudit.model.documents import as_documents
from exaudit.model.model import Model
from exaudit.model.scores import Scores, TokenScores
from exaudit.support.history import Edit
from exaudit.support.memory import MemorySupportSet
from exaudit.support.support_set import SupportSet

__all__ = ["Auditor", "OverlapWarning"]

Admit = Literal["promise", "mean"]
K = 8
CHUNK = 2048  # documents looked up together


class OverlapWarning(UserWarning):
    """Documents to fit or to score on are in the support set themselves: each finds itself, at distance 0."""


class Auditor:
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

    def __init__(
        self,
        model: Model | None = None,
        support: SupportSet | None = None,
        *,
        place: ModelPlace | None = None,
        device: str = "auto",
        encoder: str | None = None,
        precision: str | None = None,
        stream: bool = False,
    ) -> None:
        """A model and a support set at hand; use `open` for those of a model folder."""
        if place is None and (model is None or support is None):
            raise SettingError("an Auditor needs a model and a support set; or use Auditor.open(folder)")
        self._place, self._support = place, support
        self._device, self._encoder, self._precision, self._stream = device, encoder, precision, stream
        self._model = model if model is None or support is None else _alike(model, support)
        self._neighbourhood: Neighbourhood | None = None
        self._knn: FittedKNN | None = None
        self._admission: FittedAdmission | None = None
        self._drift: DriftReference | None = None
        self._promise: Promise | None = None
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls,
        model: str | os.PathLike[str],
        *,
        support: str | os.PathLike[str] | None = None,
        device: str = "auto",
        encoder: str | None = None,
        precision: str | None = None,
        stream: bool = False,
    ) -> Auditor:
        """The auditor of a model folder. Weights, support set and vectors are read when first needed.

        Parameters
        ----------
        model
            The model folder.
        support
            Folder or object-store URL of the support set; `<model>/support` by default.
        device
            auto, cpu or cuda.
        encoder
            Where the model's Transformer is now, if it has moved.
        precision
            What the Transformer reads in, if not what the model says, until there is a support set: texts are read in
            the precision of the set that they are compared with.
        stream
            Leave the vectors on disk and search them in blocks.
        """
        place = ModelPlace.of(model, support)
        return cls(place=place, device=device, encoder=encoder, precision=precision, stream=stream)

    @property
    def model(self) -> Model:
        """The model, which reads texts in the precision of the support set."""
        with self._lock:
            if self._model is None:
                assert self._place is not None
                model = self._place.load_model(
                    device=self._device, encoder=self._encoder, precision=self._precision
                )
                there = self._support is not None or self._place.has_support()
                self._model = _alike(model, self.support) if there else model
            return self._model

    @property
    def support(self) -> SupportSet:
        with self._lock:
            if self._support is None:
                assert self._place is not None
                self._support = self._place.open_support()
            return self._support

    @property
    def labels(self) -> LabelSet:
        return self.model.labels if self._place is None else self._place.labels

    @property
    def knn(self) -> FittedKNN | None:
        """The K-NN of the model folder, if one was fitted."""
        if self._knn is None and self._place is not None:
            self._knn = FittedKNN.load(self._place.folder, len(self.labels.views))
        return self._knn

    @property
    def admission(self) -> FittedAdmission | None:
        """The admission limits of the model folder, if they were fitted."""
        if self._admission is None and self._place is not None:
            self._admission = FittedAdmission.load(self._place.folder, len(self.labels.views))
        return self._admission

    @property
    def promise(self) -> Promise | None:
        """The promise of the model folder about what is admitted, if one was made."""
        if self._promise is None and self._place is not None:
            self._promise = Promise.load(self._place.folder, len(self.labels.views))
        return self._promise

    @property
    def has_support(self) -> bool:
        """Whether there is a support set."""
        return self._support is not None or (self._place is not None and self._place.has_support())

    @property
    def verified(self) -> bool:
        """Whether all that was read of the support set was compared with the fingerprints taken when it was added.

        A small set is, before the first answer. A large one is compared in the background: answers given meanwhile say
        that they are not `verified`, and once damage is found the next question is a SupportError.
        """
        return self._neighbourhood is None or self._neighbourhood.verified

    def wait_verified(self) -> None:
        """Wait until it was; raise a SupportError where the support set is damaged."""
        if self._neighbourhood is not None:
            self._neighbourhood.wait()

    def prepare(self) -> None:
        """Read the vectors now rather than at the first question, and fit the search to them.

        What is fitted to a large set in a folder is saved there, so that other processes need not do it again.
        """
        with self._near.index() as index:
            index.prepare()

    # -- evidence and decisions --------------------------------------------------------------------------

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

    # -- fitting -------------------------------------------------------------------------------------------

    def fit_knn(
        self,
        documents: Sequence[Any],
        *,
        kind: Kind = "dist",
        k: int = K,
        use_token_labels: bool | None = None,
        epochs: int = 40,
        recipe: str = "stable",
        seed: int = 0,
    ) -> FittedKNN:
        """Fit the K-NN on held-out documents and keep it in the model folder. Their labels are not used.

        Parameters
        ----------
        documents
            Held-out documents: one half to learn from, the other (K-NN dev) to choose the epoch.
        kind
            How exemplars are weighted: dist, const or equal.
        k
            Exemplars per token.
        use_token_labels
            Use the exemplars' token labels in the label term. By default only if the model was trained on token
            labels and every exemplar has one.
        epochs
            Passes over the first half.
        recipe
            "stable", by Adam; or "paper", by Adadelta at rate 1.0, as the paper's code does.
        seed
            Of the split and of the order.
        """
        dev = as_documents(documents, cut=self.model.settings.tokens)
        self.warn_of_overlap(dev)
        searched = self._searched(dev, k)
        if use_token_labels is None:
            supervised = self.model.settings.loss == "token"
            use_token_labels = supervised and bool(self.support.exemplars(vectors=False).token_labels.all())
        self._knn = FittedKNN.fit(
            searched,
            self.labels,
            kind=kind,
            k=k,
            use_token_labels=use_token_labels,
            epochs=epochs,
            recipe=recipe,
            seed=seed,
            support_version=self.support.version,
            boundaries=self.model.word_boundaries,
        )
        if self._place is not None:
            self._knn.save(self._place.folder)
        return self._knn

    def fit_admission(
        self,
        documents: Sequence[Any],
        *,
        kind: AdmissionKind = "both",
        quantile: float | None = None,
        use_count: bool = False,
        recipe: str = "stable",
    ) -> FittedAdmission:
        """Fit the admission limits and keep them in the model folder.

        Of the documents only those count that were K-NN dev when the K-NN was fitted, so give the same ones. The
        limits for documents need document labels. With `recipe` "paper" the means are those of the paper's code:
        distances only of tokens whose nearest exemplar's document has the label that the K-NN says, and counts only of
        documents with an admitted token.
        """
        wanted = set(self._need_knn().dev_documents)
        dev = [
            document
            for document in as_documents(documents, cut=self.model.settings.tokens)
            if document.id in wanted
        ]
        if len(dev) < len(wanted):
            raise SupportError(
                f"only {len(dev)} of the {len(wanted)} documents that were K-NN dev are given; fit the limits on the "
                "documents that the K-NN was fitted on, or fit the K-NN on these first"
            )
        self.warn_of_overlap(dev)
        self._admission = self._fitted_admission(dev, kind, quantile, use_count, recipe)
        if self._place is not None:
            self._admission.save(self._place.folder)
        return self._admission

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

    def staleness(self) -> Staleness | None:
        """None where the limits fit the support set as it is; otherwise they are fitted anew, to compare."""
        policy, kept = self._policy("knn", admit=True), self._need_admission()
        self.support.refresh()
        if not kept.is_stale(self.support.version):
            return None
        anew = self._fitted_admission(kept.documents, kept.kind, kept.quantile, kept.use_count, kept.recipe)
        return Staleness(policy, kept, anew, self.support.version)

    def warn_of_overlap(self, documents: Sequence[Document]) -> None:
        """Warn where documents to be judged by the support set are in it themselves."""
        for _ in self.watch_overlap(documents):
            pass

    def watch_overlap(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents as they come; at their end the same warning."""
        rest, count, same = iter(documents), 0, list[str]()
        while chunk := list(islice(rest, CHUNK)):
            same += self.overlap(chunk)
            count += len(chunk)
            yield from chunk
        if same:
            warnings.warn(
                f"{len(same)} of the {count} documents (such as {same[0]!r}) are in the support set "
                "themselves and will find themselves there; use documents that are not",
                OverlapWarning,
                stacklevel=3,
            )

    # -- drift ---------------------------------------------------------------------------------------------

    def drift(
        self,
        documents: Sequence[Any],
        *,
        reference: Sequence[Any] | None = None,
        keep: bool = False,
        rate: float = RATE,
    ) -> Drift:
        """Whether documents are like those that the model was calibrated on. No labels are needed.

        Parameters
        ----------
        documents
            At least 20 of them, none in the support set.
        reference
            Documents to compare with; by default those that were kept, or those that admission was fitted on.
        keep
            Keep the reference's figures (no texts) in the model folder, for the next time.
        rate
            How often, at most, documents of the same source are reported to have drifted.
        """
        check_rate(rate)
        check_enough(len(documents), "the file has")
        known = self.drift_reference() if reference is None else self._drift_reference(reference)
        found = find_drift(known, self._profile(documents), rate=rate)
        if keep:
            self._keep_drift(known)
        return found

    def fit_drift(self, documents: Sequence[Any]) -> DriftReference:
        """Measure documents like those to come, and keep the figures (no texts) in the model folder: drift.json."""
        reference = self._drift_reference(documents)
        self._keep_drift(reference)
        return reference

    def drift_reference(self) -> DriftReference:
        """What new ones are compared with: what `fit_drift` kept, or the documents of the promise or the limits."""
        if self._drift is None and self._place is not None:
            self._drift = DriftReference.load(self._place.folder)
        if self._drift is None:
            if self.promise is None and self.admission is None:
                raise SettingError(
                    "there is nothing to compare with: no reference was kept for this model, and no admission limits "
                    f"were fitted; give documents like those it is meant for (`{COMMAND}`)"
                )
            limits = () if self.admission is None else self.admission.documents
            self._drift = self._drift_reference(limits if self.promise is None else self.promise.calibration)
        return self._drift.fitting(self.model, self._support_version())

    # -- edits ---------------------------------------------------------------------------------------------

    def build(
        self,
        documents: Sequence[Any],
        *,
        everything: bool = False,
        resume: bool = True,
        dtype: str | None = None,
        author: str | None = None,
        reason: str = "",
        batches: edits.Batches | None = None,
    ) -> Edit:
        """Make the support set from labelled documents; with `everything` in place of what is there.

        A build that was stopped, at any moment and by any means, goes on when it is started again with the same
        documents, and ends with the same set.

        batches : makes exemplars of parts of the documents, in their order, as the workers of a cluster do.
        """
        labelled = edits.labelled(documents, self.model)
        if self._support is None and self._place is not None and not self._place.has_support():
            self.model.label(labelled[:1], exemplars=True)  # a model without exemplars says so first
            self._support = self._place.create_support(
                dtype=dtype or "float32", precision=self.model.precision, author=author, reason=reason
            )
        elif dtype not in (None, self.support.header.dtype):
            raise SettingError(
                f"the support set keeps its vectors as {self.support.header.dtype}; leave out `dtype`, or remove the "
                "support set and build it anew"
            )
        return edits.build(
            self.model,
            self.support,
            labelled,
            everything=everything,
            resume=resume,
            author=author,
            reason=reason,
            batches=batches,
        )

    def add(
        self, documents: Sequence[Any], *, replace: bool = False, author: str | None = None, reason: str = ""
    ) -> Edit:
        """Add labelled documents, as one edit; with `replace` in place of those of the same id."""
        labelled = edits.labelled(documents, self.model)
        return edits.add(self.model, self.support, labelled, replace=replace, author=author, reason=reason)

    def relabel(self, id: str, label: Label, *, author: str | None = None, reason: str = "") -> Edit:
        """Change the label of a document of the support set; to several names where documents may have several."""
        return self.support.relabel_document(id, label, author=author, reason=reason)

    def relabel_token(
        self,
        id: str,
        position: int,
        label: int | Label | None,
        *,
        author: str | None = None,
        reason: str = "",
    ) -> Edit:
        """Change the label of one token (counted from 0); see `SupportSet.relabel_token`."""
        return self.support.relabel_token(id, position, label, author=author, reason=reason)

    def remove(self, ids: str | Sequence[str], *, author: str | None = None, reason: str = "") -> Edit:
        """Remove documents from the support set, all or none of them."""
        return self.support.remove(ids, author=author, reason=reason)

    def undo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Take back the last edit that stands."""
        return self.support.undo(author=author, reason=reason)

    def redo(self, *, author: str | None = None, reason: str = "") -> Edit:
        """Do again what was undone last."""
        return self.support.redo(author=author, reason=reason)

    def overlap(self, documents: Sequence[Document]) -> list[str]:
        """Ids of the documents that are in the support set with the same text."""
        return edits.overlap(self.support, documents)

    # -- inside --------------------------------------------------------------------------------------------

    @property
    def _near(self) -> Neighbourhood:
        with self._lock:
            if self._neighbourhood is None:
                self._neighbourhood = Neighbourhood(self.model, self.support, stream=self._stream)
            return self._neighbourhood

    def _drift_reference(self, documents: Sequence[Any]) -> DriftReference:
        check_enough(len(documents), "the reference has")
        return DriftReference.of(self._profile(documents), self.model, self._support_version())

    def _keep_drift(self, reference: DriftReference) -> None:
        self._drift = reference
        if self._place is not None:
            reference.save(self._place.folder)

    def _profile(self, documents: Sequence[Any]) -> Profile:
        given = as_documents(documents, cut=self.model.settings.tokens)
        if self._support_version() is None:
            return Profile.of(self.model, given)
        self.warn_of_overlap(given)
        profile = Profile.of(self.model, given, near=self._near)
        self.wait_verified()
        return profile

    def _support_version(self) -> str | None:
        """None without a support set."""
        if self._support is None and self._place is not None and not self._place.has_support():
            return None
        self.support.refresh()
        return self.support.version

    def _searched(self, documents: Sequence[Document], k: int) -> list[Searched]:
        found = self._near.search(documents, k, total=len(documents))
        searched = [(scores, neighbours) for scores, neighbours, _ in found]
        self.wait_verified()  # what is fitted on this stays
        return searched

    def _decided(self, policy: Policy, index: ExemplarIndex, scores: Sequence[Scores]) -> list[AuditedScores]:
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

    def _policy(self, rule: Rule | None, admit: bool | Admit) -> Policy:
        check_rule(rule)
        if self.promises(admit):
            return self._promising(rule)
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
        return Policy(self.labels, knns=knns, promise=self.promise)

    def _fitted_policy(self) -> Policy:
        """The model's own decisions, with all that was fitted to say about them."""
        knns = () if self.knn is None else self._need_knn().knns
        if self.promise is not None and self.promise.made == self._made():
            return Policy(self.labels, knns=knns, promise=self.promise)
        limits = self.admission if knns else None
        if limits is not None and not limits.fits(knns):
            limits = None  # of an earlier K-NN
        return Policy(self.labels, knns=knns, admissions=() if limits is None else limits.views)

    def _need_knn(self) -> FittedKNN:
        if self.knn is None:
            raise SupportError("no K-NN was fitted for this model yet; fit one first (exaudit knn fit)")
        self.knn.check_boundaries(self.model.word_boundaries)
        return self.knn

    def _need_admission(self) -> FittedAdmission:
        if self.admission is None:
            raise SupportError("no admission limits were fitted yet; fit them first (exaudit admission fit)")
        return self.admission

    def _fitted_admission(
        self,
        documents: Sequence[Document],
        kind: AdmissionKind,
        quantile: float | None,
        use_count: bool,
        recipe: str,
    ) -> FittedAdmission:
        knns = self._need_knn().knns
        return FittedAdmission.fit(
            self._searched(documents, knns[0].k),
            self.labels,
            knns,
            kind=kind,
            quantile=quantile,
            use_count=use_count,
            recipe=recipe,
            support_version=self.support.version,
        )


def _alike(model: Model, support: SupportSet) -> Model:
    """The model, made to read in the precision of a support set: vectors of two precisions are not to be compared."""
    precision = support.header.precision
    if model.encoder is None or model.precision == precision:
        return model
    warnings.warn(
        f"the support set was made in {precision}, so texts are read in {precision}, not in {model.precision}",
        PrecisionWarning,
        stacklevel=4,
    )
    return model.at(precision)
