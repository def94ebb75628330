"""Rehearsal: before there is a label to learn from, the encoder learns to spot changed words (`exaudit.data.changes`).

It does so in documents of the negative class, which hold no positive word (the assumption of the min-max loss), and in
clean texts of the user's own, if any. The dev documents say whether that was to the point, as it is where the label is
about words out of place; if not, it is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from exaudit._device import pick_device
from exaudit.data.changes import Changer
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer
from exaudit.errors import DataError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head
from exaudit.head.training import scored
from exaudit.model.assembly import Part, new_head, upper_layers
from exaudit.model.tuned import Plan, settings_for, tune_or_resume

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["clean_texts", "rehearsed"]

ROUNDS = 10  # how often each text is rehearsed with, each time changed otherwise
WORDS = 2_000_000  # of each kind of text at most: rehearsed with, and learnt from what may stand where
ALIKE = 20  # dev documents, of about the same length, that are compared
TO_THE_POINT = 0.6  # of those pairs in their right order, at least; half is chance

Texts = Sequence[Sequence[str]]


def rehearsed(
    labeler: Labeler, encoder: Transformer, data: Part, dev: Part, plan: Plan, *, clean: Texts = ()
) -> tuple[Transformer, dict[str, Any] | None]:
    """The encoder once it can spot changed words; the one given, if that does not tell the dev documents apart.

    clean : further texts without a positive word.
    """
    known = [d.tokens for d in data.documents]
    own = [tokens for tokens, target in zip(known, data.labels.targets, strict=True) if target == 0]
    judged = labeler.rehearse or len(set(dev.labels.targets.tolist())) == 2
    if labeler.rehearse and not (own or clean):
        raise DataError(
            "there is nothing to rehearse with: no training document is of the negative class; give --clean"
        )
    if clean and not judged:
        raise DataError(
            "the dev documents are all of one class, and cannot tell whether a rehearsal with clean texts is to the "
            "point; give dev documents of both, or --rehearse"
        )
    if not judged or not (own or clean):
        return encoder, None
    draws = np.random.default_rng([labeler.seed, 11])
    pairs = _changed(own, Changer(_some(known, draws), seed=labeler.seed), draws)
    if clean:
        pairs += _changed(clean, Changer(_some(clean, draws), seed=labeler.seed), draws)
    part = _part(pairs)
    fresh = encoder.twin(upper_layers(labeler, encoder))
    settings = settings_for(labeler, fresh, part, "document+token", epochs=1, rate=3e-4)
    settings = replace(settings, epochs=1, batch_size=64, agreement=0.0)  # no text comes twice as it is
    head = new_head(labeler, fresh, None, pick_device(labeler.device), pool="none")
    found = tune_or_resume(fresh, head, part, settings, replace(plan, group=None), "rehearsal")

    order, chance = _order(found.head, dev.encoded(labeler, found.encoder))
    needed = max(TO_THE_POINT, chance)
    kept = bool(labeler.rehearse) or order >= needed
    texts = {"texts": len(pairs), "clean": len(clean)}
    record = {**found.record, **texts, "dev_order": order, "needed": needed, "kept": kept}
    return found.encoder if kept else encoder, record


def clean_texts(
    documents: Sequence[Document], names: LabelNames, *, path: str | PathLike[str] | None = None
) -> list[tuple[str, ...]]:
    """Their words, unless a label says that one is not clean."""
    for document in documents:
        if names.document_target(document, path=path) == 1:
            raise DataError(
                f"the clean text {document.id!r} has the label of the positive class, {names.positive!r}; take it out",
                path,
                document.line or None,
            )
    return [document.tokens for document in documents]


def _order(head: Head, dev: LabelledFeatures) -> tuple[float, float]:
    """How often a positive dev document is above a negative one of about its length, and how often it may be by chance.

    A document counts by the share of its words that seem changed. In a long one more words are changed, and often more
    are positive: lengths alone would tell.
    """
    shares = [np.exp(-np.logaddexp(0, -words)).mean() for _, words in scored(head, dev)]  # of sigma(s+-)
    outputs = np.array(shares, np.float64)
    above = pairs = spread = 0.0
    by_length = np.argsort(dev.word_counts, kind="stable")
    for like in np.split(by_length, range(ALIKE, len(by_length), ALIKE)):
        positive, negative = (outputs[like][dev.targets[like] == target] for target in (1, 0))
        wins = np.sign(positive[:, None] - negative)  # (P, N)
        above += float((wins + 1).sum()) / 2
        pairs += wins.size
        spread += wins.size * (len(like) + 1) / 12  # the variance of Mann and Whitney's U
    return (above / pairs, 0.5 + 2 * math.sqrt(spread) / pairs) if pairs else (0.5, 1.0)


def _changed(texts: Texts, change: Changer, draws: np.random.Generator) -> list[tuple[list[str], list[int]]]:
    """The texts, several times over, each time changed otherwise, with a mark on every word that was changed."""
    return [change(text) for text in _some([text for _ in range(ROUNDS) for text in texts], draws)]


def _some(texts: Texts, draws: np.random.Generator) -> Texts:
    """As many of the texts as hold `WORDS` words, at least one: all of them, or some from everywhere."""
    if sum(map(len, texts)) <= WORDS:
        return texts
    texts = [texts[i] for i in draws.permutation(len(texts))]
    return texts[: max(1, sum(words <= WORDS for words in accumulate(map(len, texts))))]


def _part(pairs: Sequence[tuple[list[str], list[int]]]) -> Part:
    """Changed texts as documents to learn from: the words that were changed are the positive ones."""
    labels = LabelledFeatures(
        features=Features.of_words([]),
        word_counts=np.array([len(words) for words, _ in pairs], np.int64),
        targets=np.array([int(any(marks)) for _, marks in pairs], np.int64),
        token_targets=[np.array(marks, np.int8) for _, marks in pairs],
    )
    return Part([Document("", "", tuple(words)) for words, _ in pairs], labels)
