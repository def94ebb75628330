"""Pre-training on synthetic errors: before there is a label to learn from, the encoder learns to spot changed words
(`exaudit.data.changes`).

It does so in documents of the negative class, which hold no positive word (the assumption of the min-max loss). The
dev documents say whether that was to the point, as it is where the label is about words out of place; if not, it is
forgotten. It is about two classes, of which one is the absence of something.

Most labels are about something else, and pre-training takes up to half of a run's time. So a short trial on some of the
texts comes first, and often it ends there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from exaudit.data.changes import Changer
from exaudit.data.document import Document
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer
from exaudit.errors import DataError, SettingError
from exaudit.head.course import Course
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head
from exaudit.head.training import scored
from exaudit.model.job import Job
from exaudit.model.parts import upper_layers
from exaudit.model.split import Split
from exaudit.model.tuning import tune_or_resume, tuning_config

__all__ = ["pretrained", "words_changed"]

ROUNDS = 10  # how often each text is changed, each time otherwise
WORDS = 2_000_000  # at most: learnt from, and looked at for what may stand where
ALIKE = 20  # dev documents, of about the same length, that are compared
TO_THE_POINT = 0.6  # of those pairs in their right order, at least; half is chance
TRIAL = 200_000  # words of the trial, if there are four times as many in all
STEPS = 100  # of the trial, where it has as many texts: a few large batches of long ones would teach nothing
PROMISING = 0.55  # of the pairs in their right order after the trial, at least
BATCH = 64  # texts of a step

Texts = Sequence[Sequence[str]]
Changed = tuple[list[str], list[int]]  # words, and 1 for each that was changed


def pretrained(job: Job, encoder: Transformer, course: Course) -> tuple[Transformer, dict[str, Any] | None]:
    """The encoder once it can spot changed words; the one given, if that does not tell the dev documents apart."""
    settings, data = job.settings, job.data
    if settings.pretrain and job.labels.kind != "binary":
        raise SettingError("`pretrain` is about two classes, of which one is the absence of something")
    clean = _clean(job)
    if settings.pretrain and not clean:
        raise DataError("there is nothing to pre-train on: no training document is of the negative class")
    if not clean:
        return encoder, None
    texts = [d.tokens for d in data.documents]
    draws = np.random.default_rng([settings.seed, 11])
    changed = _changed(clean, Changer(_some(texts, draws), seed=settings.seed), draws)
    tried: dict[str, Any] = {}
    if _has_trial(job):
        some = _trial(changed, draws)
        batch = max(1, min(BATCH, len(some) // STEPS))
        trial = _spotting(job, encoder, some, "trial", course, batch)[1]
        if trial["dev_order"] < PROMISING and trial["needed"] <= TO_THE_POINT:  # enough dev documents to tell
            course.skip(sum(len(words) for words, _ in changed))
            return encoder, {**trial, "needed": PROMISING, "kept": False, "trial_alone": True}
        tried = {"trial_order": trial["dev_order"]}
    found, record = _spotting(job, encoder, changed, "pretraining", course)
    kept = bool(settings.pretrain) or record["dev_order"] >= record["needed"]
    return found if kept else encoder, {**record, **tried, "kept": kept}


def words_changed(job: Job) -> int:
    """About how many words pre-training reads, if there is to be any."""
    return min(WORDS, ROUNDS * sum(map(len, _clean(job)))) + (TRIAL if _has_trial(job) else 0)


def _has_trial(job: Job) -> bool:
    """Whether a trial comes first: not where pre-training is asked for, nor where it takes little time."""
    return job.settings.pretrain is None and ROUNDS * sum(map(len, _clean(job))) >= 4 * TRIAL


def _trial(changed: Sequence[Changed], draws: np.random.Generator) -> list[Changed]:
    """Some of the changed texts, from everywhere."""
    drawn = [changed[i] for i in draws.permutation(len(changed)).tolist()]
    return drawn[: max(1, sum(words <= TRIAL for words in accumulate(len(words) for words, _ in drawn)))]


def _spotting(
    job: Job,
    encoder: Transformer,
    changed: Sequence[Changed],
    name: str,
    course: Course,
    batch_size: int = BATCH,
) -> tuple[Transformer, dict[str, Any]]:
    """An encoder that learnt to spot the words that were changed, and how far that tells the dev documents apart."""
    settings, split = job.settings, _split(changed)
    fresh = encoder.copy(upper_layers(settings, encoder))
    config = tuning_config(fresh, split, "document+token", seed=settings.seed, epochs=1, rate=3e-4)
    config = replace(config, epochs=1, batch_size=batch_size, agreement=0.0)  # no text comes twice as it is
    head = job.new_head(fresh, pool="none")
    found = tune_or_resume(fresh, head, split, config, replace(job.options, group=None), name, course)
    order, chance = _order(found.head, job.dev.encoded(settings, found.encoder))
    told = {"texts": len(changed), "dev_order": order, "needed": max(TO_THE_POINT, chance)}
    return found.encoder, {**found.record, **told}


def _clean(job: Job) -> Texts:
    """Texts to change: of the negative class, where that means anything, and dev documents can tell or need not."""
    wanted, dev = job.settings.pretrain, job.dev.labels.targets
    if (wanted is not None and not wanted) or job.labels.kind != "binary":
        return []
    if not wanted and len(set(dev.tolist())) < 2:
        return []
    pairs = zip(job.data.documents, job.data.labels.targets, strict=True)
    return [document.tokens for document, target in pairs if target == 0]


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


def _changed(texts: Texts, change: Changer, draws: np.random.Generator) -> list[Changed]:
    """The texts, several times over, each time changed otherwise, with a mark on every word that was changed."""
    return [change(text) for text in _some([text for _ in range(ROUNDS) for text in texts], draws)]


def _some(texts: Texts, draws: np.random.Generator) -> Texts:
    """As many of the texts as hold `WORDS` words, at least one: all of them, or some from everywhere."""
    if sum(map(len, texts)) <= WORDS:
        return texts
    texts = [texts[i] for i in draws.permutation(len(texts))]
    return texts[: max(1, sum(words <= WORDS for words in accumulate(map(len, texts))))]


def _split(changed: Sequence[Changed]) -> Split:
    """Changed texts as documents to learn from: the words that were changed are the positive ones."""
    labels = LabelledFeatures(
        features=Features.of_words([]),
        word_counts=np.array([len(words) for words, _ in changed], np.int64),
        targets=np.array([int(any(marks)) for _, marks in changed], np.int64),
        token_targets=[np.array(marks, np.int8)[:, None] for _, marks in changed],
    )
    return Split([Document("", "", tuple(words)) for words, _ in changed], labels)
