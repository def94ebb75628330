"""Edits of a support set that need the model: documents become exemplars, in builds that survive being stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from exaudit._progress import progress
from exaudit.data.document import Document, Label
from exaudit.data.labels import LabelSet
from exaudit.errors import DataError, SupportError
from exaudit.model.documents import as_documents
from exaudit.model.model import Model
from exaudit.model.scores import Scores
from exaudit.support.build import Build
from exaudit.support.exemplars import SupportBatch
from exaudit.support.history import Edit
from exaudit.support.support_set import SupportSet

__all__ = [
    "Batches",
    "add",
    "batch_of",
    "build",
    "chunks",
    "documents_key",
    "exemplars_of",
    "label_of",
    "labelled",
    "overlap",
]

Batches = Callable[[Iterable[list[Document]]], Iterable[SupportBatch]]

_TOKENS, _DOCUMENTS = 8192, 512  # of one batch: 33 MB of vectors, one file of the store
_ADD_TOKENS = 1 << 15  # more are added in parts, as a build, so that they need not fit into memory


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


def label_of(document: Document, labels: LabelSet) -> Label | None:
    """The label of a document by the names of the classes; None without labels."""
    classes = labels.document_classes(document)
    if classes is None:
        return None
    names = tuple(labels.names[c] for c in classes)
    return names if labels.kind == "multilabel" else names[0]


def labelled(documents: Sequence[Any], model: Model) -> list[Document]:
    """Documents for a support set, each labelled with the name of its class; one without a label is an error."""
    checked, labels = [], model.labels
    for document in as_documents(documents, cut=model.settings.tokens):
        label = label_of(document, labels)
        if label is None:
            raise DataError(
                f"document {document.id!r} has no label; every document of a support set needs one",
                line=document.line or None,
            )
        labels.token_targets(document)  # an unknown token label shows here, not in the middle of a build
        checked.append(replace(document, label=label))
    if not checked:
        raise DataError("there are no documents to put into the support set")
    if len({document.id for document in checked}) < len(checked):
        raise DataError("two of the documents have the same id; the ids in a support set are unique")
    return checked


def batch_of(scores: Sequence[Scores], labels: LabelSet) -> SupportBatch:
    """Scored documents as exemplars. Scores are kept as they are: the decision boundaries may still move."""
    signs = []
    for one in scores:
        targets = labels.token_targets(one.document)  # (N, K)
        unknown = np.zeros((len(one.document.tokens), len(labels.views)), np.int8)
        signs.append(unknown if targets is None else (2 * targets - 1).astype(np.int8))
    return SupportBatch(
        [one.document for one in scores],
        np.concatenate([one.exemplars for one in scores if one.exemplars is not None]),
        np.concatenate([np.stack([view.scores for view in one.views], 1) for one in scores]),
        np.concatenate(signs),
    )


def exemplars_of(model: Model) -> Callable[[Sequence[Document]], SupportBatch]:
    """What makes exemplars of labelled documents."""
    return lambda documents: batch_of(model.label(documents, exemplars=True), model.labels)


def documents_key(documents: Sequence[Document]) -> str:
    """A fingerprint of the documents and their labels: the name under which a build goes on."""
    digest = hashlib.sha256()
    for d in documents:
        told = [d.id, d.text, d.tokens, d.label, d.token_labels, sorted(d.meta.items())]
        digest.update(json.dumps(told).encode() + b"\n")
    return digest.hexdigest()[:32]


def build(
    model: Model,
    support: SupportSet,
    documents: Sequence[Document],
    *,
    everything: bool = False,
    resume: bool = True,
    author: str | None = None,
    reason: str = "",
    batches: Batches | None = None,
) -> Edit:
    """Make the set of labelled documents; with `everything` in place of what is there.

    A build of the same documents that ended already is not made again.

    batches : makes exemplars of parts of the documents, in their order; by default here.
    """
    support.refresh()
    if support.ids and not everything:
        if _is_built_from(support, documents):
            return support.log()[-1]
        raise SupportError(
            f"{support.where}: there is a support set of {len(support.ids)} documents already; add to it, or ask "
            "to replace it"
        )
    return _add_in_parts(
        model,
        support,
        documents,
        everything=everything,
        resume=resume,
        author=author,
        reason=reason,
        batches=batches,
    )


def add(
    model: Model,
    support: SupportSet,
    documents: Sequence[Document],
    *,
    replace: bool = False,
    author: str | None = None,
    reason: str = "",
) -> Edit:
    """Add labelled documents, as one edit; with `replace` in place of those of the same id."""
    support.refresh()
    if taken := [document.id for document in documents if document.id in support and not replace]:
        raise SupportError(
            f"document {taken[0]!r} is in the support set already ({len(taken)} of {len(documents)} are); ask to "
            "replace, or use other ids"
        )
    if not replace and sum(len(document.tokens) for document in documents) > _ADD_TOKENS:
        return _add_in_parts(model, support, documents, author=author, reason=reason)
    batch = batch_of(model.label(documents, exemplars=True), model.labels)
    return support.add(batch, replace=replace, author=author, reason=reason)


def overlap(support: SupportSet, documents: Sequence[Document]) -> list[str]:
    """Ids of the documents that are in the support set with the same text."""
    shared = {document.id: document.text for document in documents if document.id in support}
    return [kept.id for kept in support.find(list(shared)) if kept.text == shared[kept.id]]


def _add_in_parts(
    model: Model,
    support: SupportSet,
    documents: Sequence[Document],
    *,
    everything: bool = False,
    resume: bool = True,
    author: str | None,
    reason: str,
    batches: Batches | None = None,
) -> Edit:
    """Add documents as one edit, a batch at a time: each is safe once written, while the next one is encoded."""
    build = Build(support, documents_key(documents), author=author, reason=reason)
    if build.done and not resume:
        build.discard()
    done = frozenset(build.done)
    left = (chunk for chunk in chunks(documents) if chunk[0].id not in done)
    with (
        ThreadPoolExecutor(1, "support-writer") as writer,
        progress(total=len(documents), unit="doc", desc="build") as bar,
    ):
        writing: Future[None] | None = None
        bar.update(len(done))
        for batch in map(exemplars_of(model), left) if batches is None else batches(left):
            if writing is not None:
                writing.result()  # one batch waits at most
            writing = writer.submit(build.add, batch)
            bar.update(len(batch.documents))
        if writing is not None:
            writing.result()
    return build.finish(replace=everything)


def _is_built_from(support: SupportSet, documents: Sequence[Document]) -> bool:
    """Whether the last edit was a build of just these documents: it may have been stopped at its very end."""
    ids = tuple(document.id for document in documents)
    if support.log()[-1].kind != "build" or support.ids != ids:
        return False
    return all(
        (kept.text, kept.tokens, kept.label) == (given.text, given.tokens, given.label)
        for kept, given in zip(support.find(ids), documents, strict=True)
    )
