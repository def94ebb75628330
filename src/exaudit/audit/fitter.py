"""Fitting the K-NN and the admission limits, which are kept in the model folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exaudit.audit.editor import Editor
from exaudit.audit.fitted import FittedAdmission, FittedKNN, Searched
from exaudit.data.document import Document
from exaudit.decide.admission import AdmissionKind
from exaudit.decide.knn import Kind
from exaudit.errors import SupportError
from exaudit.model.documents import as_documents

__all__ = ["Fitter", "K"]

K = 8  # exemplars of a token, unless told otherwise


class Fitter(Editor):
    """Fits what decides by the exemplars, on held-out documents."""

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

    def _searched(self, documents: Sequence[Document], k: int) -> list[Searched]:
        found = self._near.search(documents, k, total=len(documents))
        searched = [(scores, neighbours) for scores, neighbours, _ in found]
        self.wait_verified()  # what is fitted on this stays
        return searched

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
