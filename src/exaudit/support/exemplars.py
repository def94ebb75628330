"""What a support set holds: documents, and one exemplar (vector, score, labels) for each of their tokens.

Scores and labels have a column for each of the K classes that words are decided for (one column of two classes): a
document label Y is -1 or +1, a token label y is -1, +1 or 0 (unknown). Plain numpy, so that search, rules and K-NN can
use exemplars where nothing else is installed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.data.document import Document, Label
from exaudit.errors import SupportError
from exaudit.support.header import SupportHeader, signs_of

__all__ = ["BatchIndex", "Exemplars", "SupportBatch", "SupportDocument"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class SupportDocument:
    """A document of the set, with its labels as they stand now. Its tokens are rows `row`, `row + 1`, ..."""

    number: int
    row: int
    id: str
    text: str
    tokens: tuple[str, ...]
    label: Label
    token_labels: tuple[int | str, ...]  # as `SupportHeader.token_label` tells them
    meta: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Exemplars:
    """The live tokens of a support set as columns, in ascending order of row.

    A row number belongs to one token for ever: it is never given to another, not even after removal.
    """

    row: npt.NDArray[np.int64]  # (S,)
    scores: npt.NDArray[np.float32]  # (S, K)
    labels: npt.NDArray[np.int8]  # (S, K) Y of the token's document
    token_labels: npt.NDArray[np.int8]  # (S, K) y, 0 where unknown
    document: npt.NDArray[np.int32]  # (S,) number of the token's document
    position: npt.NDArray[np.int32]  # (S,) index of the token in its document
    vectors: Array | None = None  # (S, M) float32 or float16; None when not asked for

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class SupportBatch:
    """Documents to add and the exemplars of their tokens, one after another in the order of the documents."""

    documents: Sequence[Document]
    vectors: Array  # (n, M)
    scores: Array  # (n, K); of two classes also (n,)
    token_labels: Array | None = None  # (n, K) y, the same; None: all unknown

    def checked(self, header: SupportHeader) -> SupportBatch:
        """The same batch in the set's own types, or a SupportError that says what does not fit."""
        if not self.documents:
            raise SupportError("there are no documents to add")
        tokens = sum(len(document.tokens) for document in self.documents)
        shape = tokens, header.classes
        vectors, scores = np.asarray(self.vectors), _columns(self.scores)
        labels = np.zeros(shape, np.int8) if self.token_labels is None else _columns(self.token_labels)
        if vectors.ndim != 2 or vectors.shape[1] != header.width:
            raise SupportError(
                f"the support set has vectors of width {header.width}, these have the shape {vectors.shape}; "
                "they come from another model"
            )
        if len(vectors) != tokens or not scores.shape == labels.shape == shape:
            raise SupportError(
                f"the documents have {tokens} tokens, but there are {len(vectors)} vectors, {scores.shape} "
                f"scores and {labels.shape} token labels; {shape} are needed"
            )
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(vectors, dtype=header.dtype)
            scores = np.ascontiguousarray(scores, dtype=np.float32)
        if not np.isfinite(scores).all() or not all(np.isfinite(part).all() for part in _blocks(vectors)):
            hint = "; keep this support set in float32" if header.dtype == "float16" else ""
            raise SupportError(f"vectors or scores are infinite or not a number{hint}")
        if not np.isin(labels, (-1, 0, 1)).all():
            raise SupportError("token labels in a support set are -1, +1 or 0 (unknown)")
        if ((labels == 0).any(axis=1) != (labels == 0).all(axis=1)).any():
            raise SupportError("a token label is known for all classes or for none")
        seen: set[str] = set()
        for document in self.documents:
            if document.id in seen:
                raise SupportError(f"two of the documents to add have the id {document.id!r}")
            seen.add(document.id)
            header.document_number(document.label, f"document {document.id!r}")
        return SupportBatch(tuple(self.documents), vectors, scores, labels.astype(np.int8))

    def index(self, header: SupportHeader) -> BatchIndex:
        """Everything about a checked batch but its texts and vectors."""
        assert self.token_labels is not None
        lengths = np.array([len(document.tokens) for document in self.documents], np.int32)
        offsets = np.cumsum(lengths, dtype=np.int64) - lengths
        digests = [
            document_digest(document, self.vectors[start : start + n], self.scores[start : start + n])
            for document, start, n in zip(self.documents, offsets, lengths, strict=True)
        ]
        numbers = [header.document_number(document.label, document.id) for document in self.documents]
        return BatchIndex(
            ids=[document.id for document in self.documents],
            documents=np.arange(len(lengths), dtype=np.int32),
            offsets=offsets,
            lengths=lengths,
            labels=np.array([signs_of(number, header.classes) for number in numbers], np.int8),
            digests=digests,
            scores=self.scores,
            token_labels=self.token_labels,
        )


@dataclass(frozen=True, slots=True)
class BatchIndex:
    """The narrow columns of one batch as it was added: all that edits and versions need to know of it.

    Documents that a compaction has dropped for good are left out, hence `documents` and `offsets`.
    """

    ids: list[str]
    documents: npt.NDArray[np.int32]  # (D,) place of each document within its batch
    offsets: npt.NDArray[np.int64]  # (D,) place of its first token within the batch
    lengths: npt.NDArray[np.int32]  # (D,)
    labels: npt.NDArray[np.int8]  # (D, K)
    digests: list[bytes]
    scores: npt.NDArray[np.float32]  # (n, K)
    token_labels: npt.NDArray[np.int8]  # (n, K)

    @classmethod
    def empty(cls, classes: int) -> BatchIndex:
        none, signs = np.zeros(0, np.int64), np.zeros((0, classes), np.int8)
        narrow = none.astype(np.int32)
        return cls([], narrow, none, narrow, signs, [], signs.astype(np.float32), signs)


def document_digest(document: Document | SupportDocument, vectors: Array, scores: Array) -> bytes:
    """A fingerprint of what never changes about a document: its text, tokens, vectors and scores."""
    said = [document.id, document.text, list(document.tokens), sorted(document.meta.items())]
    digest = hashlib.sha256(json.dumps(said, ensure_ascii=True).encode())
    digest.update(np.ascontiguousarray(vectors).data)
    digest.update(np.ascontiguousarray(scores).data)
    return digest.digest()


def _blocks(vectors: Array, rows: int = 8192) -> list[Array]:
    return [vectors[start : start + rows] for start in range(0, len(vectors), rows)]


def _columns(values: Array) -> Array:
    """(n, K), also of the (n,) of two classes."""
    array = np.asarray(values)
    return array[:, None] if array.ndim == 1 else array
