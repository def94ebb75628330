"""Comparing new documents with those that the model was calibrated on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exaudit.audit.drift import COMMAND, RATE, Drift, DriftReference, check_enough, check_rate, find_drift
from exaudit.audit.editor import Editor
from exaudit.audit.profile import Profile
from exaudit.errors import SettingError
from exaudit.model.documents import as_documents

__all__ = ["Monitor"]


class Monitor(Editor):
    """Tells whether documents are like those that the model is meant for, without labels."""

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
