"""From documents to exemplars in a support set, so that a stopped build goes on and ends with the same set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from exaudit._progress import progress
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.errors import DataError
from exaudit.model.labeler import Labeler
from exaudit.model.scores import TokenScores
from exaudit.support.build import Build
from exaudit.support.exemplars import SupportBatch
from exaudit.support.history import Edit
from exaudit.support.support_set import SupportSet

__all__ = ["batch_of", "build", "chunks", "documents_key", "named"]

_TOKENS, _DOCUMENTS = 8192, 512  # of one batch: 33 MB of vectors, one file of the store


def chunks(
    documents: Iterable[Document], *, tokens: int | None = None, documents_at_most: int | None = None
) -> Iterator[list[Document]]:
    """Documents in parts of bounded size. Where the cuts fall depends on the documents alone, so that a build that
    goes on labels the same documents together as before, and gets the same vectors to the last bit."""
    tokens, most = tokens or _TOKENS, documents_at_most or _DOCUMENTS
    chunk: list[Document] = []
    size = 0
    for document in documents:
        if chunk and (size + len(document.tokens) > tokens or len(chunk) >= most):
            yield chunk
            chunk, size = [], 0
        chunk.append(document)
        size += len(document.tokens)
    if chunk:
        yield chunk


def named(documents: Sequence[Document], names: LabelNames) -> list[Document]:
    """The same documents, each labelled with the name of its class; a document without a label is an error."""
    labelled = []
    for document in documents:
        target = names.document_target(document)
        if target is None:
            raise DataError(
                f"document {document.id!r} has no label; every document of a support set needs one",
                line=document.line or None,
            )
        names.token_targets(document)  # an unknown token label shows here, not in the middle of a build
        labelled.append(replace(document, label=names.name(target)))
    return labelled


def batch_of(scores: Sequence[TokenScores], names: LabelNames) -> SupportBatch:
    """Scored documents as exemplars. Scores are kept as they are: the decision boundary may still move."""
    signs = []
    for one in scores:
        targets = names.token_targets(one.document)
        unknown = np.zeros(len(one.document.tokens), np.int8)
        signs.append(unknown if targets is None else (2 * targets - 1).astype(np.int8))
    return SupportBatch(
        [one.document for one in scores],
        np.concatenate([one.exemplars for one in scores if one.exemplars is not None]),
        np.concatenate([one.scores for one in scores]),
        np.concatenate(signs),
    )


def documents_key(documents: Sequence[Document]) -> str:
    """A fingerprint of the documents and their labels: the name under which a build goes on."""
    digest = hashlib.sha256()
    for d in documents:
        told = [d.id, d.text, d.tokens, d.label, d.token_labels, sorted(d.meta.items())]
        digest.update(json.dumps(told).encode() + b"\n")
    return digest.hexdigest()[:32]


def build(
    labeler: Labeler,
    support: SupportSet,
    documents: Sequence[Document],
    *,
    everything: bool = False,
    resume: bool = True,
    author: str | None = None,
    reason: str = "",
) -> Edit:
    """Add documents as one edit (with `everything`, in place of all there was), a batch at a time.

    Each batch is safe once it is written, and is written while the next one is being encoded.
    """
    build = Build(support, documents_key(documents), author=author, reason=reason)
    if build.done and not resume:
        build.discard()
    done = frozenset(build.done)
    with (
        ThreadPoolExecutor(1, "support-writer") as writer,
        progress(total=len(documents), unit="doc", desc="build") as bar,
    ):
        writing: Future[None] | None = None
        for chunk in chunks(documents):
            if chunk[0].id not in done:
                batch = batch_of(labeler.label(chunk, exemplars=True), labeler.names_)
                if writing is not None:
                    writing.result()  # one batch waits at most
                writing = writer.submit(build.add, batch)
            bar.update(len(chunk))
        if writing is not None:
            writing.result()
    return build.finish(replace=everything)
