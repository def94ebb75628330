"""The auditor that users import: every decision of the model tied to examples in its support set."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit._progress import progress
from exaudit.audit import fitting
from exaudit.audit.audited import Audited, Rule, check_rule
from exaudit.audit.building import chunks
from exaudit.audit.evidence import Evidence, Exemplar, exemplars_of
from exaudit.audit.fitted import FittedAdmission, FittedKNN
from exaudit.audit.index import ExemplarIndex
from exaudit.audit.keeper import Keeper
from exaudit.audit.policy import Policy
from exaudit.audit.preview import Preview
from exaudit.audit.staleness import Staleness
from exaudit.data.document import Document
from exaudit.decide.admission import AdmissionKind
from exaudit.decide.knn import Kind
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SettingError, SupportError
from exaudit.model.labeler import as_documents
from exaudit.model.scores import TokenScores
from exaudit.support.history import Edit
from exaudit.support.memory import MemorySupportSet

__all__ = ["Auditor", "OverlapWarning"]

_TOKENS, _DOCUMENTS = 1 << 16, 2048  # labelled and searched at once
K = 8


class OverlapWarning(UserWarning):
    """Documents to fit or to score on are in the support set themselves: each finds itself, at distance 0."""


class Auditor(Keeper):
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

    _index: ExemplarIndex | None = None
    _knn: FittedKNN | None = None
    _admission: FittedAdmission | None = None

    @property
    def knn(self) -> FittedKNN | None:
        """The K-NN of the model folder, if one was fitted."""
        if self._knn is None and self._place is not None:
            self._knn = FittedKNN.load(self._place.folder)
        return self._knn

    @property
    def admission(self) -> FittedAdmission | None:
        """The admission limits of the model folder, if they were fitted."""
        if self._admission is None and self._place is not None:
            self._admission = FittedAdmission.load(self._place.folder)
        return self._admission

    # -- evidence and decisions --------------------------------------------------------------------------

    def neighbours(self, scores: Sequence[TokenScores], k: int = K) -> Neighbours:
        """The k nearest exemplars of every token of documents labelled with `exemplars=True`."""
        with self._lock:
            return self._near(self._following(), scores, k)

    def label(
        self,
        documents: Sequence[Any],
        *,
        rule: Rule | None = None,
        admit: bool = False,
        nearest: bool = False,
    ) -> list[Audited]:
        """Decide every document and word: by the model, or by `rule` (exag, exat, knn).

        Parameters
        ----------
        documents
            Texts, lists of tokens, or Documents.
        rule
            The decision rule; None keeps the model's decisions.
        admit
            Say which answers can be relied on. Admission is about the K-NN's answers, so its decisions are used
            unless another rule is given.
        nearest
            Return the nearest exemplar of each token, in its document.
        """
        return list(self.iter_label(documents, rule=rule, admit=admit, nearest=nearest))

    def iter_label(
        self,
        documents: Iterable[Any],
        *,
        rule: Rule | None = None,
        admit: bool = False,
        nearest: bool = False,
        total: int | None = None,
    ) -> Iterator[Audited]:
        """Like `label`, one document at a time."""
        policy = self._policy(rule, admit)
        for scores, neighbours, firsts in self._searched(documents, policy.k, nearest=nearest, total=total):
            yield policy.audited(scores, neighbours, firsts)

    def explain(self, document: Any, token: int, *, k: int | None = None) -> Evidence:
        """Why one token (counted from 0) was decided as it was: its exemplars and the K-NN's whole sum."""
        scores = self._scored(document, [token])
        with self._lock:
            index = self._following()
            k, most, policy = self._auditing(index, k)
            found = index.neighbours(_vectors([scores])[[token]], most, offset=scores.offset)
            return self._evidence(scores, [token], index, found, k, policy)[0]

    def audit(
        self, document: Any, tokens: Sequence[int] | None = None, *, k: int | None = None
    ) -> tuple[Audited, list[Evidence]]:
        """A document with its decisions, and the evidence for some of its tokens (the positive ones by default)."""
        scores = self._scored(document, tokens or ())
        asked = np.flatnonzero(scores.decisions).tolist() if tokens is None else list(tokens)
        with self._lock:
            index = self._following()
            k, most, policy = self._auditing(index, k)
            found = self._near(index, [scores], most)
            near = found[np.array(asked, np.int64)]
            evidence = self._evidence(scores, asked, index, near, k, policy)
        return policy.audited(replace(scores, exemplars=None), found), evidence

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
        before: list[Audited] = []
        after: list[Audited] = []
        with self._lock:
            index = self._following()
            trial = copy.copy(self)
            trial._support, trial._index = MemorySupportSet.preview(self.support), None
            made = edit(trial)
            for part in chunks(as_documents(documents), tokens=_TOKENS, documents_at_most=_DOCUMENTS):
                scores = self.labeler.label(part, exemplars=True)
                before += self._decided(policy, index, scores)
                with index.trying(trial.support) as tried:
                    after += self._decided(replace(policy, has_token_labels=_labelled(tried)), tried, scores)
        return Preview.of(made, rule, before, after)

    # -- fitting -------------------------------------------------------------------------------------------

    def fit_knn(
        self,
        documents: Sequence[Any],
        *,
        kind: Kind = "dist",
        k: int = K,
        use_token_labels: bool | None = None,
        epochs: int = 40,
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
        seed
            Of the split and of the order.
        """
        dev = as_documents(documents)
        self.warn_of_overlap(dev)
        searched = [(scores, near) for scores, near, _ in self._searched(dev, k, total=len(dev))]
        if use_token_labels is None:
            supervised = self.labeler.record_.get("loss") == "token"
            use_token_labels = supervised and bool(self._following().exemplars.token_labels.all())
        self._knn = fitting.fit_knn(
            searched,
            self.names,
            kind=kind,
            k=k,
            use_token_labels=use_token_labels,
            epochs=epochs,
            seed=seed,
            support_version=self.support.version,
            boundary=self.labeler.offset_,
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
    ) -> FittedAdmission:
        """Fit the admission limits and keep them in the model folder.

        Of the documents only those count that were K-NN dev when the K-NN was fitted, so give the same ones. The
        limits for documents need document labels.
        """
        wanted = set(self._need_knn().dev_documents)
        dev = [document for document in as_documents(documents) if document.id in wanted]
        if len(dev) < len(wanted):
            raise SupportError(
                f"only {len(dev)} of the {len(wanted)} documents that were K-NN dev are given; fit the limits on the "
                "documents that the K-NN was fitted on, or fit the K-NN on these first"
            )
        self.warn_of_overlap(dev)
        self._admission = self._fitted_admission(dev, kind, quantile, use_count)
        if self._place is not None:
            self._admission.save(self._place.folder)
        return self._admission

    def staleness(self) -> Staleness | None:
        """None where the limits fit the support set as it is; otherwise they are fitted anew, to compare."""
        knn, kept = self._need_knn().knn, self._need_admission()
        self.support.refresh()
        if not kept.admission.is_stale(self.support.version):
            return None
        old = kept.admission
        new = self._fitted_admission(kept.documents, old.kind, old.quantile, kept.use_count)
        return Staleness(knn, old, new.admission, self.support.version)

    def warn_of_overlap(self, documents: Sequence[Document]) -> None:
        """Warn where documents to be judged by the support set are in it themselves."""
        if same := self.overlap(documents):
            warnings.warn(
                f"{len(same)} of the {len(documents)} documents (such as {same[0]!r}) are in the support set "
                "themselves and will find themselves there; use documents that are not",
                OverlapWarning,
                stacklevel=3,
            )

    # -- inside --------------------------------------------------------------------------------------------

    def _following(self) -> ExemplarIndex:
        """The index, up to date."""
        with self._lock:
            support = self.support
            support.refresh()
            if self._index is None:
                device = self.labeler.head_.weight.device
                self._index = ExemplarIndex(support, device=device, stream=self._stream)
            self._index.follow(support)
            return self._index

    def _near(self, index: ExemplarIndex, scores: Sequence[TokenScores], k: int) -> Neighbours:
        return index.neighbours(_vectors(scores), k, offset=self.labeler.offset_)

    def _searched(
        self, documents: Iterable[Any], k: int, *, nearest: bool = False, total: int | None = None
    ) -> Iterator[tuple[TokenScores, Neighbours, tuple[Exemplar, ...]]]:
        """Documents with the exemplars of their tokens, the nearest of them in their documents where asked for."""
        parts = chunks(_each(documents), tokens=_TOKENS, documents_at_most=_DOCUMENTS)
        with progress(total=total, unit="doc", desc="audit") as bar:
            for part in parts:
                scores = self.labeler.label(part, exemplars=True)
                with self._lock:
                    index = self._following()
                    found = self._near(index, scores, k)
                    firsts = exemplars_of(self.support, index, found.take(1)) if nearest else []
                for one, mine in _apart(scores):
                    yield one, found[mine], tuple(first for (first,) in firsts[mine])
                bar.update(len(part))

    def _scored(self, document: Any, tokens: Sequence[int]) -> TokenScores:
        """One document with its vectors; the tokens asked for must be there."""
        (scores,) = self.labeler.label(as_documents([document]), exemplars=True)
        for n in tokens:
            if not 0 <= n < len(scores.document.tokens):
                count = len(scores.document.tokens)
                raise SettingError(f"the document has {count} tokens, from 0; there is no token {n}")
        return scores

    def _auditing(self, index: ExemplarIndex, k: int | None) -> tuple[int, int, Policy]:
        """Exemplars to show, exemplars to find, and all that was fitted, for the model's own decisions."""
        knn = None if self.knn is None else self._need_knn().knn
        limits = None if knn is None or self.admission is None else self.admission.admission
        if limits is not None and knn is not None and limits.knn != knn.fingerprint():
            limits = None  # of an earlier K-NN
        policy = Policy(None, knn, limits, False)
        shown = k or (min(K, len(index)) if knn is None else knn.k)
        return shown, max(shown, policy.k), policy

    def _evidence(
        self,
        scores: TokenScores,
        asked: Sequence[int],
        index: ExemplarIndex,
        found: Neighbours,
        k: int,
        policy: Policy,
    ) -> list[Evidence]:
        """What there is to say about some tokens, of which `found` has the exemplars."""
        knn, names = policy.knn, (self.names.negative, self.names.positive)
        limits = None if knn is None or policy.admission is None else policy.admission.tokens(knn, found)
        weights = None if knn is None else knn.weights(found)
        return [
            Evidence(
                position=n,
                token=scores.document.tokens[n],
                score=float(scores.margins[n]),
                decision=int(scores.decisions[n]),
                exemplars=exemplars[:k],
                explanation=None if knn is None else knn.explain(found, i),
                refusal=None if limits is None else limits.reason(i, names=names),
            )
            for i, (n, exemplars) in enumerate(
                zip(asked, exemplars_of(self.support, index, found, weights), strict=True)
            )
        ]

    def _decided(self, policy: Policy, index: ExemplarIndex, scores: list[TokenScores]) -> list[Audited]:
        found = self._near(index, scores, policy.k)
        return [policy.audited(one, found[mine]) for one, mine in _apart(scores)]

    def _policy(self, rule: Rule | None, admit: bool) -> Policy:
        check_rule(rule)
        rule = "knn" if admit and rule is None else rule
        return Policy(
            rule,
            knn=self._need_knn().knn if admit or rule == "knn" else None,
            admission=self._need_admission().admission if admit else None,
            has_token_labels=rule == "exat" and _labelled(self._following()),
        )

    def _need_knn(self) -> FittedKNN:
        if self.knn is None:
            raise SupportError("no K-NN was fitted for this model yet; fit one first (exaudit knn fit)")
        self.knn.check_boundary(self.labeler.offset_)
        return self.knn

    def _need_admission(self) -> FittedAdmission:
        if self.admission is None:
            raise SupportError("no admission limits were fitted yet; fit them first (exaudit admission fit)")
        return self.admission

    def _fitted_admission(
        self, documents: Sequence[Document], kind: AdmissionKind, quantile: float | None, use_count: bool
    ) -> FittedAdmission:
        knn = self._need_knn().knn
        limits = fitting.fit_admission(
            [(scores, near) for scores, near, _ in self._searched(documents, knn.k, total=len(documents))],
            self.names,
            knn,
            kind=kind,
            quantile=quantile,
            use_count=use_count,
            support_version=self.support.version,
        )
        targets = [self.names.document_target(document) for document in documents]
        kept = [
            replace(document, label=None if target is None else self.names.name(target))
            for document, target in zip(documents, targets, strict=True)
        ]
        return FittedAdmission(limits, tuple(kept), use_count)


def _each(documents: Iterable[Any]) -> Iterator[Document]:
    for number, item in enumerate(documents, 1):
        (document,) = as_documents([item])
        yield document if isinstance(item, Document) else replace(document, id=str(number))


def _labelled(index: ExemplarIndex) -> bool:
    return bool(index.exemplars.token_labels.any())


def _vectors(scores: Sequence[TokenScores]) -> npt.NDArray[np.float32]:
    vectors = [one.exemplars for one in scores if one.exemplars is not None]
    if not vectors or len(vectors) < len(scores):
        raise SettingError("there are no exemplar vectors: label the documents with exemplars=True")
    return np.concatenate(vectors)  # (N, M)


def _apart(scores: Sequence[TokenScores]) -> Iterator[tuple[TokenScores, slice]]:
    """Each document without its vectors, which are large, and where its tokens are among all."""
    start = 0
    for one in scores:
        stop = start + len(one.document.tokens)
        yield replace(one, exemplars=None), slice(start, stop)
        start = stop
