"""Documents with the nearest exemplars of their tokens, from a support set that may be edited meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit._progress import progress
from exaudit.audit.edits import chunks
from exaudit.audit.evidence import Exemplar, exemplars_of
from exaudit.audit.index import ExemplarIndex
from exaudit.data.document import Document
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SettingError
from exaudit.model.labeler import Labeler, as_documents
from exaudit.model.scores import TokenScores
from exaudit.support.support_set import SupportSet

__all__ = ["Neighbourhood", "each_apart", "parts", "vectors_of"]

_TOKENS, _DOCUMENTS = 1 << 16, 2048  # labelled and searched at once


class Neighbourhood:
    """A model and a support set to search. The vectors are read at the first search; edits are followed at the next."""

    def __init__(self, labeler: Labeler, support: SupportSet, *, stream: bool = False) -> None:
        self.labeler, self.support = labeler, support
        self._stream = stream
        self._index: ExemplarIndex | None = None
        self._lock = threading.RLock()

    @contextmanager
    def index(self) -> Iterator[ExemplarIndex]:
        """The index, up to date, for as long as the block lasts."""
        with self._lock:
            self.support.refresh()
            if self._index is None:
                device = self.labeler.head_.weight.device
                self._index = ExemplarIndex(self.support, device=device, stream=self._stream)
            self._index.follow(self.support)
            yield self._index

    def neighbours(self, scores: Sequence[TokenScores], k: int) -> Neighbours:
        """The k nearest exemplars of every token of documents labelled with `exemplars=True`."""
        with self.index() as index:
            return index.neighbours(vectors_of(scores), k, offset=self.labeler.offset_)

    def search(
        self, documents: Iterable[Any], k: int, *, nearest: bool = False, total: int | None = None
    ) -> Iterator[tuple[TokenScores, Neighbours, tuple[Exemplar, ...]]]:
        """Documents with the exemplars of their tokens, the nearest of them in their documents where asked for."""
        with progress(total=total, unit="doc", desc="audit") as bar:
            for part in parts(_each(documents)):
                scores = self.labeler.label(part, exemplars=True)
                with self.index() as index:
                    found = self.neighbours(scores, k)
                    firsts = exemplars_of(self.support, index, found.take(1)) if nearest else []
                for one, mine in each_apart(scores):
                    yield one, found[mine], tuple(first for (first,) in firsts[mine])
                bar.update(len(part))


def parts(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """As many documents as are labelled and searched at once."""
    return chunks(documents, tokens=_TOKENS, documents_at_most=_DOCUMENTS)


def vectors_of(scores: Sequence[TokenScores]) -> npt.NDArray[np.float32]:
    vectors = [one.exemplars for one in scores if one.exemplars is not None]
    if not vectors or len(vectors) < len(scores):
        raise SettingError("there are no exemplar vectors: label the documents with exemplars=True")
    return np.concatenate(vectors)  # (N, M)


def each_apart(scores: Sequence[TokenScores]) -> Iterator[tuple[TokenScores, slice]]:
    """Each document without its vectors, which are large, and where its tokens are among all."""
    start = 0
    for one in scores:
        stop = start + len(one.document.tokens)
        yield replace(one, exemplars=None), slice(start, stop)
        start = stop


def _each(documents: Iterable[Any]) -> Iterator[Document]:
    for number, item in enumerate(documents, 1):
        (document,) = as_documents([item])
        yield document if isinstance(item, Document) else replace(document, id=str(number))
