"""From document labels alone to an encoder that reads words: rehearsal, teacher, lessons, student.

    rehearsal  the encoder learns to spot changed words in documents of the negative class (`exaudit.data.changes`). The
               dev documents say whether that was to the point, as it is where the label is about words out of
               place; if not, it is forgotten
    teacher    all layers, tuned with the document and the min-max loss; frozen; a new head is trained on it
    lessons    the teacher's decisions on the words of the training documents, overruled by the documents' labels;
               of several teachers (`teachers`), the decisions of their mean
    student    the encoder as it was before the teacher, its last layers tuned on those words and the documents together

The teacher points at words because filters compete for them; the student, which scores every word by itself, learns
what its lessons have in common and forgets what was chance. It stands in for the teacher unless it is clearly
worse on the dev documents. No token label is seen on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from exaudit._device import pick_device
from exaudit.data.changes import Changer
from exaudit.data.document import Document
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer, last_layers
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.lessons import lessons
from exaudit.head.network import Head
from exaudit.head.training import TrainingConfig, scored, train
from exaudit.metrics import Counts, stable_offset
from exaudit.model.assembly import Part, new_head
from exaudit.model.tuned import Plan, Tuned, settings_for, tune_or_resume

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["taught"]

MARGIN = 0.01  # of accuracy or F1 on the dev documents: less is not a clear difference
ROUNDS = 10  # how often each document is rehearsed with, each time changed otherwise
WORDS = 2_000_000  # rehearsed with at most, and learnt from what may stand where
ALIKE = 20  # dev documents, of about the same length, that are compared
TO_THE_POINT = 0.6  # of those pairs in their right order, at least; half is chance


def taught(
    labeler: Labeler, encoder: Transformer, data: Part, dev: Part, config: TrainingConfig, plan: Plan
) -> tuple[Tuned, dict[str, Any]]:
    """A student of a teacher, or the teacher where the student does not live up to it; and the teacher's history."""
    start, rehearsal = _rehearsed(labeler, encoder, data, dev, plan)
    first = start.twin(encoder.layers)
    teacher, history, scores = _teacher(labeler, first, data, dev, config, plan, "teacher")
    for turn in range(2, labeler.teachers + 1):  # what several agree on is less a matter of chance
        other = clone(labeler).set_params(seed=labeler.seed + 1000 * (turn - 1))
        again = replace(config, seed=other.seed)
        *_, more = _teacher(other, start.twin(encoder.layers), data, dev, again, plan, f"teacher{turn}")
        scores = [a + b for a, b in zip(scores, more, strict=True)]

    taken = lessons(scores, data.labels.targets.tolist())
    pupils = replace(data, labels=replace(data.labels, token_targets=taken))
    fresh = start.twin(_top(labeler, encoder))
    settings = settings_for(labeler, fresh, data, "document+token", epochs=3, rate=2e-4)
    head = new_head(labeler, fresh, None, pick_device(labeler.device), pool="none")
    student = tune_or_resume(fresh, head, pupils, settings, plan, "student")

    merits = [_merit(one.head, dev.encoded(labeler, one.encoder), config) for one in (teacher, student)]
    kept = student if merits[1] >= merits[0] - MARGIN else teacher
    record = {
        "rehearsal": rehearsal,
        "teachers": labeler.teachers,
        "teacher": teacher.record,
        "student": student.record,
        "kept": "student" if kept is student else "teacher",
        "dev": {"teacher": merits[0], "student": merits[1]},  # documents, at the best boundary of each
    }
    return replace(kept, record=record), history


def _rehearsed(
    labeler: Labeler, encoder: Transformer, data: Part, dev: Part, plan: Plan
) -> tuple[Transformer, dict[str, Any] | None]:
    """The encoder once it can spot changed words; the one given, if that does not tell the dev documents apart."""
    known = [d.tokens for d in data.documents]
    texts = [tokens for tokens, target in zip(known, data.labels.targets, strict=True) if target == 0]
    wanted = labeler.rehearse
    if not texts or (wanted is not None and not wanted):
        return encoder, None
    draws = np.random.default_rng([labeler.seed, 11])
    part = _changed(texts, Changer(_some(known, draws), seed=labeler.seed), draws)
    fresh = encoder.twin(_top(labeler, encoder))
    settings = settings_for(labeler, fresh, part, "document+token", epochs=1, rate=3e-4)
    settings = replace(settings, epochs=1, batch_size=64, agreement=0.0)  # no text comes twice as it is
    head = new_head(labeler, fresh, None, pick_device(labeler.device), pool="none")
    found = tune_or_resume(fresh, head, part, settings, replace(plan, group=None), "rehearsal")

    order, chance = _order(found.head, dev.encoded(labeler, found.encoder))
    kept = bool(wanted) or order >= max(TO_THE_POINT, chance)
    record = {**found.record, "texts": len(part.documents), "dev_order": order, "kept": kept}
    return found.encoder if kept else encoder, record


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


def _changed(texts: Sequence[Sequence[str]], change: Changer, draws: np.random.Generator) -> Part:
    """The texts, several times over, with the words that were changed as the positive ones."""
    pairs = [change(text) for text in _some([text for _ in range(ROUNDS) for text in texts], draws)]
    labels = LabelledFeatures(
        features=Features.of_words([]),
        word_counts=np.array([len(words) for words, _ in pairs], np.int64),
        targets=np.array([int(any(marks)) for _, marks in pairs], np.int64),
        token_targets=[np.array(marks, np.int8) for _, marks in pairs],
    )
    return Part([Document("", "", tuple(words)) for words, _ in pairs], labels)


def _some(texts: Sequence[Sequence[str]], draws: np.random.Generator) -> Sequence[Sequence[str]]:
    """As many of the texts as hold `WORDS` words, at least one: all of them, or some from everywhere."""
    if sum(map(len, texts)) <= WORDS:
        return texts
    texts = [texts[i] for i in draws.permutation(len(texts))]
    return texts[: max(1, sum(words <= WORDS for words in accumulate(map(len, texts))))]


def _top(labeler: Labeler, encoder: Transformer) -> Sequence[int]:
    """The layers that words are learnt from."""
    return labeler.layers or last_layers(max(encoder.layers))


def _teacher(
    labeler: Labeler,
    encoder: Transformer,
    data: Part,
    dev: Part,
    config: TrainingConfig,
    plan: Plan,
    name: str,
) -> tuple[Tuned, dict[str, Any], list[NDArray[np.float32]]]:
    """A teacher, how its head was trained, and by how much each training word is above its boundary."""
    device = pick_device(labeler.device)
    head = new_head(labeler, encoder, None, device)
    settings = settings_for(labeler, encoder, data, "document+min-max", epochs=2, rate=1e-4)
    teacher = tune_or_resume(encoder, head, data, settings, plan, name)
    own, own_dev = (part.encoded(labeler, teacher.encoder) for part in (data, dev))
    head = new_head(labeler, teacher.encoder, None, device)
    history = train(
        head,
        own,
        own_dev,
        config,
        checkpoint=plan.checkpoint(name, teacher.encoder),
        resume=plan.resume,
        report=plan.report,
    )
    if _merit(teacher.head, own_dev, config) > _merit(head, own_dev, config) + MARGIN:
        head = teacher.head  # few documents: those that tuned the encoder can teach a new head little
    # A word that no filter chose scores the difference of the biases, and is never positive.
    idle = max(0.0, (head.bias[1] - head.bias[0]).item())
    scores = [scores - np.float32(idle) for _, scores in scored(head, own)]
    return replace(teacher, head=head), history.to_json(), scores


def _merit(head: Head, dev: LabelledFeatures, config: TrainingConfig) -> float:
    """Accuracy or F1 on the dev documents; F1 at its best boundary, which is tuned on them in any case."""
    outputs = np.array([logit for logit, _ in scored(head, dev)])
    if config.criterion == "accuracy":
        return Counts.of(outputs > 0, dev.targets).accuracy
    return Counts.of(outputs > stable_offset(outputs, dev.targets), dev.targets).f()
