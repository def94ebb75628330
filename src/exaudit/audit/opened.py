"""A model and its support set, each opened when it is first needed, and what was fitted to them."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Self

from exaudit.audit.drift import DriftReference
from exaudit.audit.fitted import FittedAdmission, FittedKNN
from exaudit.audit.neighbourhood import MakeIndex, Neighbourhood
from exaudit.audit.place import ModelPlace
from exaudit.audit.promise import Promise
from exaudit.data.labels import LabelSet
from exaudit.errors import PrecisionWarning, SettingError, SupportError
from exaudit.model.model import Model
from exaudit.support.support_set import SupportSet

__all__ = ["Opened"]


class Opened:
    """What an auditor has at hand. Weights, support set, vectors and what was fitted are read when first needed."""

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
        index: MakeIndex | None = None,
    ) -> None:
        """A model and a support set at hand; use `open` for those of a model folder."""
        if place is None and (model is None or support is None):
            raise SettingError("an Auditor needs a model and a support set; or use Auditor.open(folder)")
        self._place, self._support = place, support
        self._device, self._encoder, self._precision = device, encoder, precision
        self._stream, self._index = stream, index
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
        index: MakeIndex | None = None,
    ) -> Self:
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
        index
            Makes the index that is searched: `exaudit.cluster.search.ShardedIndex` spreads it over a Ray cluster.
        """
        place = ModelPlace.of(model, support)
        return cls(
            place=place, device=device, encoder=encoder, precision=precision, stream=stream, index=index
        )

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

    @property
    def _near(self) -> Neighbourhood:
        with self._lock:
            if self._neighbourhood is None:
                self._neighbourhood = Neighbourhood(
                    self.model, self.support, stream=self._stream, index=self._index
                )
            return self._neighbourhood

    def _support_version(self) -> str | None:
        """None without a support set."""
        if self._support is None and self._place is not None and not self._place.has_support():
            return None
        self.support.refresh()
        return self.support.version

    def _need_knn(self) -> FittedKNN:
        if self.knn is None:
            raise SupportError("no K-NN was fitted for this model yet; fit one first (exaudit knn fit)")
        self.knn.check_boundaries(self.model.word_boundaries)
        return self.knn

    def _need_admission(self) -> FittedAdmission:
        if self.admission is None:
            raise SupportError("no admission limits were fitted yet; fit them first (exaudit admission fit)")
        return self.admission


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
