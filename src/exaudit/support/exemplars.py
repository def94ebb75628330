"""What a support set holds: documents, and one exemplar (vector, score, labels) for each of their tokens.

Inside the support set a document label Y is -1 or +1, a token label y is -1, +1 or 0 (unknown). Plain numpy, so
that search, rules and K-NN can use exemplars where nothing else is installed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.data.document import Document
from exaudit.errors import SupportError

__all__ = ["BatchIndex", "Exemplars", "SupportBatch", "SupportDocument", "SupportHeader", "token_label"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class SupportHeader:
    """What every exemplar of a set has in common; exemplars of another model cannot be compared with them."""

    width: int
    labels: tuple[str, str]
    model: str
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.width < 1:
            raise SupportError(f"a support set needs vectors of width 1 or more, not {self.width}")
        if self.dtype not in ("float32", "float16"):
            raise SupportError(f"vectors are kept as float32 or float16, not {self.dtype!r}")
        if len(self.labels) != 2 or self.labels[0] == self.labels[1]:
            raise SupportError(f"a support set has two different document labels, not {list(self.labels)}")

    def check(
        self,
        where: str,
        *,
        width: int | None = None,
        labels: Sequence[str] | None = None,
        model: str | None = None,
    ) -> None:
        """Refuse a set that was made for something else than what is asked for (None: anything will do)."""
        if model is not None and model != self.model:
            raise SupportError(
                f"{where}: this support set belongs to another model (its fingerprint is {self.model}, "
                f"the model's is {model}); build it anew with this model"
            )
        if width is not None and width != self.width:
            raise SupportError(
                f"{where}: this support set has vectors of width {self.width}, the model's are {width}; "
                "build it anew with this model"
            )
        if labels is not None and tuple(labels) != self.labels:
            raise SupportError(
                f"{where}: this support set is labelled {self.labels[0]!r} / {self.labels[1]!r}, "
                f"the model {' / '.join(map(repr, labels))}; build it anew with this model"
            )

    def sign(self, label: str | None, what: str) -> int:
        """Y of a document label: -1 for the negative class, +1 for the positive one."""
        if label not in self.labels:
            found = "no label" if label is None else f"the label {label!r}"
            raise SupportError(
                f"{what} has {found}; the labels are {self.labels[0]!r} and {self.labels[1]!r}"
            )
        return 1 if label == self.labels[1] else -1

    def name(self, sign: int) -> str:
        return self.labels[1] if sign > 0 else self.labels[0]


def token_label(label: int | None) -> int:
    """y of a token label as users write it: 0 is -1, 1 is +1, None is 0 (unknown)."""
    signs = {0: -1, 1: 1, None: 0}
    if label not in signs:
        raise SupportError(f"a token label is 0, 1 or None (unknown), not {label!r}")
    return signs[label]


@dataclass(frozen=True, slots=True)
class SupportDocument:
    """A document of the set, with its labels as they stand now. Its tokens are rows `row`, `row + 1`, ..."""

    number: int
    row: int
    id: str
    text: str
    tokens: tuple[str, ...]
    label: str
    token_labels: tuple[int, ...]
    meta: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Exemplars:
    """The live tokens of a support set as columns, in ascending order of row.

    A row number belongs to one token for ever: it is never given to another, not even after removal.
    """

    row: npt.NDArray[np.int64]  # (S,)
    scores: npt.NDArray[np.float32]  # (S,)
    labels: npt.NDArray[np.int8]  # (S,) Y of the token's document
    token_labels: npt.NDArray[np.int8]  # (S,) y, 0 where unknown
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
    scores: Array  # (n,)
    token_labels: Array | None = None  # (n,) y; None: all unknown

    def checked(self, header: SupportHeader) -> SupportBatch:
        """The same batch in the set's own types, or a SupportError that says what does not fit."""
        if not self.documents:
            raise SupportError("there are no documents to add")
        tokens = sum(len(document.tokens) for document in self.documents)
        vectors, scores = np.asarray(self.vectors), np.asarray(self.scores)
        labels = np.zeros(tokens, np.int8) if self.token_labels is None else np.asarray(self.token_labels)
        if vectors.ndim != 2 or vectors.shape[1] != header.width:
            raise SupportError(
                f"the support set has vectors of width {header.width}, these have the shape {vectors.shape}; "
                "they come from another model"
            )
        if not len(vectors) == len(scores) == len(labels) == tokens or scores.ndim != 1 or labels.ndim != 1:
            raise SupportError(
                f"the documents have {tokens} tokens, but there are {len(vectors)} vectors, {scores.shape} "
                f"scores and {labels.shape} token labels"
            )
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(vectors, dtype=header.dtype)
            scores = np.ascontiguousarray(scores, dtype=np.float32)
        if not np.isfinite(scores).all() or not all(np.isfinite(part).all() for part in _blocks(vectors)):
            hint = "; keep this support set in float32" if header.dtype == "float16" else ""
            raise SupportError(f"vectors or scores are infinite or not a number{hint}")
        if not np.isin(labels, (-1, 0, 1)).all():
            raise SupportError("token labels in a support set are -1, +1 or 0 (unknown)")
        seen: set[str] = set()
        for document in self.documents:
            if document.id in seen:
                raise SupportError(f"two of the documents to add have the id {document.id!r}")
            seen.add(document.id)
            header.sign(document.label, f"document {document.id!r}")
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
        signs = [header.sign(document.label, document.id) for document in self.documents]
        return BatchIndex(
            ids=[document.id for document in self.documents],
            documents=np.arange(len(lengths), dtype=np.int32),
            offsets=offsets,
            lengths=lengths,
            labels=np.array(signs, np.int8),
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
    labels: npt.NDArray[np.int8]  # (D,)
    digests: list[bytes]
    scores: npt.NDArray[np.float32]  # (n,)
    token_labels: npt.NDArray[np.int8]  # (n,)


def document_digest(document: Document | SupportDocument, vectors: Array, scores: Array) -> bytes:
    """A fingerprint of what never changes about a document: its text, tokens, vectors and scores."""
    said = [document.id, document.text, list(document.tokens), sorted(document.meta.items())]
    digest = hashlib.sha256(json.dumps(said, ensure_ascii=True).encode())
    digest.update(np.ascontiguousarray(vectors).data)
    digest.update(np.ascontiguousarray(scores).data)
    return digest.digest()


def _blocks(vectors: Array, rows: int = 8192) -> list[Array]:
    return [vectors[start : start + rows] for start in range(0, len(vectors), rows)]
