"""Documents with the nearest exemplars of their tokens, from a support set that may be edited meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit._progress import progress
from exaudit.audit.edits import chunks
from exaudit.audit.evidence import Exemplar, FoundExemplars
from exaudit.audit.index import ExemplarIndex, Index
from exaudit.data.document import Document
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SettingError
from exaudit.model.documents import each_document
from exaudit.model.model import Model
from exaudit.model.scores import Scores
from exaudit.support.support_set import SupportSet

__all__ = ["MakeIndex", "Neighbourhood", "each_apart", "parts", "vectors_of"]

MakeIndex = Callable[[SupportSet], Index]
_TOKENS, _DOCUMENTS = 1 << 16, 2048  # labelled and searched at once


class Neighbourhood:
    """A model and a support set to search. The vectors are read at the first search; edits are followed at the next.

    index : makes the index of the support set; by default it is in this process.
    """

    def __init__(
        self, model: Model, support: SupportSet, *, stream: bool = False, index: MakeIndex | None = None
    ) -> None:
        self.model, self.support = model, support
        self._make = index or (lambda set_: ExemplarIndex(set_, device=model.device, stream=stream))
        self._index: Index | None = None
        self._lock = threading.RLock()

    @contextmanager
    def index(self) -> Iterator[Index]:
        """The index, up to date, for as long as the block lasts."""
        with self._lock:
            self.support.refresh()
            if self._index is None:
                self._index = self._make(self.support)
            self._index.follow(self.support)
            yield self._index

    @property
    def verified(self) -> bool:
        """Whether all that was read of the support set was compared with its fingerprints."""
        return self._index is None or self._index.verified

    def wait(self) -> None:
        """Wait until it was; raise a SupportError where the support set is damaged."""
        if self._index is not None:
            self._index.wait()

    def acknowledge(self) -> None:
        """Have an edit followed now, where it is to be before it is acknowledged."""
        if self._index is not None and self._index.eager:
            with self.index():
                pass

    def neighbours(self, scores: Sequence[Scores], k: int) -> tuple[Neighbours, ...]:
        """The k nearest exemplars of every token of documents labelled with `exemplars=True`, for each class."""
        with self.index() as index:
            return index.neighbours(vectors_of(scores), k, offsets=self.model.word_boundaries)

    def search(
        self, documents: Iterable[Any], k: int, *, nearest: bool = False, total: int | None = None
    ) -> Iterator[tuple[Scores, tuple[Neighbours, ...], tuple[tuple[Exemplar, ...], ...]]]:
        """Documents with the exemplars of their tokens, as each class sees them; the nearest in their documents, where
        asked for."""
        with progress(total=total, unit="doc", desc="audit") as bar:
            for part in parts(each_document(documents, cut=self.model.settings.tokens)):
                scores = self.model.label(part, exemplars=True)
                with self.index() as index:
                    views = self.neighbours(scores, k)
                    exemplars = FoundExemplars(self.support, index, views) if nearest else None
                for one, mine in each_apart(scores):
                    firsts = (
                        ()
                        if exemplars is None
                        else tuple(
                            tuple(exemplars.of(n, c, k=1)[0] for n in range(mine.start, mine.stop))
                            for c in range(len(views))
                        )
                    )
                    yield one, tuple(found[mine] for found in views), firsts
                bar.update(len(part))


def parts(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """As many documents as are labelled and searched at once."""
    return chunks(documents, tokens=_TOKENS, documents_at_most=_DOCUMENTS)


def vectors_of(scores: Sequence[Scores]) -> npt.NDArray[np.float32]:
    vectors = [one.exemplars for one in scores if one.exemplars is not None]
    if not vectors or len(vectors) < len(scores):
        raise SettingError("there are no exemplar vectors: label the documents with exemplars=True")
    return np.concatenate(vectors)  # (N, M)


def each_apart(scores: Sequence[Scores]) -> Iterator[tuple[Scores, slice]]:
    """Each document without its vectors, which are large, and where its tokens are among all."""
    start = 0
    for one in scores:
        stop = start + len(one.document.tokens)
        yield replace(one, exemplars=None), slice(start, stop)
        start = stop
