"""From document labels alone to an encoder that reads words: teacher, pseudo-labels, student.

    pre-training   the encoder learns to spot synthetic errors, if that is to the point (`exaudit.model.pretraining`)
    teacher        all layers, tuned with the document and the min-max loss; frozen; a new head is trained on it
    second opinion a head on the encoder as it was before the teacher: less often right about documents, but it may need
                   fewer words for it, since tuning carries what a document says to all of its words
    pseudo-labels  the words of the training documents that the decisions of both need (`exaudit.head.pseudo_labels`):
                   erasing those above a boundary takes the evidence away (`exaudit.model.sweep`); overruled by the
                   documents' labels. Words that no decision needs, but that are more common in documents of the
                   class, have no pseudo-label
    student        the encoder as it was before the teacher; its last layers tuned on those words and the documents

Teachers point at words because filters compete for them; the student, which scores every word by itself, learns
what the pseudo-labels have in common and forgets what was chance. It stands in for the teacher unless it is clearly
worse on the dev documents. No token label is seen on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exaudit.encode.layers import usual_layers
from exaudit.encode.transformer import Transformer
from exaudit.head.course import Course
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, class_scores
from exaudit.head.pseudo_labels import Opinion, joint_scores, leave_out, pseudo_labels
from exaudit.head.training import decided, scored
from exaudit.head.tuning import TuningConfig
from exaudit.metrics import averaged, columns, document_metrics, stable_offset
from exaudit.model.choices import Known, excess_of, parts_of, shown_boundaries
from exaudit.model.erasure import Eraser
from exaudit.model.excess import Excess
from exaudit.model.job import Job, Trained
from exaudit.model.parts import upper_layers
from exaudit.model.pretraining import pretrained, words_changed
from exaudit.model.sweep import ALL, Sweep
from exaudit.model.tuning import SWEPT, Tuned, course_of, tune_or_resume, tuning_config

__all__ = ["Merit", "taught"]

AVERAGED = 0.4  # of a student's steps, the last ones: the part whose weights are averaged
MARGIN = 0.01  # of accuracy or F1 on the dev documents: less is not a clear difference
DRAWS, CHANCE = 500, 0.025  # of the dev documents; the part in which chance may turn things round


def taught(job: Job, encoder: Transformer) -> Trained:
    """A student of a teacher, or the teacher where the student does not live up to it."""
    settings = job.settings
    tuning = partial(tuning_config, encoder, job.data, seed=settings.seed)
    for_teacher = tuning("document+min-max", epochs=2, rate=1e-4)
    for_student = replace(tuning("document+token", epochs=3, rate=2e-4), averaged=AVERAGED)
    words = [config.work(job.data.labels.word_counts) for config in (for_teacher, for_student)]
    course = course_of(job, encoder, words_changed(job) + sum(words), sweeps=(SWEPT, SWEPT, 1, 1))

    start, pretraining = pretrained(job, encoder, course)
    # First: it lets go of its features before the teacher needs the room.
    second = _second_opinion(job, start)
    teacher, history, first = _teacher(job, start.copy(encoder.layers), for_teacher, course)

    targets = job.data.labels.class_targets(len(job.labels))  # (D, K)
    own_labels = pseudo_labels(joint_scores([first, second.opinion], targets), targets)
    own_labels = leave_out(own_labels, second.shown, second.opinion.scores)
    pseudo_labelled = replace(job.data, labels=replace(job.data.labels, token_targets=own_labels))
    fresh = start.copy(upper_layers(settings, encoder))
    head = job.new_head(fresh, pool="none")
    student = tune_or_resume(fresh, head, pseudo_labelled, for_student, job.options, "student", course)

    dev = [job.dev.encoded(settings, one.encoder) for one in (teacher, student)]
    merits = [_merit(one.head, seen, job) for one, seen in zip((teacher, student), dev, strict=True)]
    kept = int(not merits[0].clearly_above(merits[1]))
    best = (teacher, student)[kept]
    record = {
        "pretraining": pretraining,
        "teacher": teacher.record,
        "student": student.record,
        "kept": "student" if kept else "teacher",
        "dev": dict(zip(("teacher", "student"), (one.score for one in merits), strict=True)),  # documents
    }
    excess = _excess(best.head, dev[kept], second.shown_in_dev)
    return Trained(best.encoder, best.head, dev[kept], history, record, excess)


def _teacher(
    job: Job, encoder: Transformer, config: TuningConfig, course: Course
) -> tuple[Tuned, dict[str, Any], Opinion]:
    """A teacher, how its head was trained, and what it makes of the training words."""
    head = job.new_head(encoder)
    teacher = tune_or_resume(encoder, head, job.data, config, job.options, "teacher", course)
    data, dev = job.encoded(teacher.encoder)
    head = job.new_head(teacher.encoder)
    history = job.train_head(head, data, dev, job.options.checkpoint("teacher", teacher.encoder))
    if _merit(teacher.head, dev, job).score > _merit(head, dev, job).score + MARGIN:
        head = teacher.head  # few documents: those that tuned the encoder can teach a new head little
    return replace(teacher, head=head), history, _opinion(job, teacher.encoder, head, data, dev, tuned=True)


class SecondOpinion(NamedTuple):
    """What a head on an encoder that is not tuned makes of the words."""

    opinion: Opinion
    shown: list[NDArray[np.float64]]  # how likely training words are there on account of each class (N, K)
    shown_in_dev: NDArray[np.float64]  # and words of dev (W, K)


def _second_opinion(job: Job, encoder: Transformer) -> SecondOpinion:
    frozen = replace(job, settings=replace(job.settings, tune_encoder=False, pretrain=None))
    count = encoder.module.config.num_hidden_layers
    encoder = encoder.copy(job.settings.layers or usual_layers(job.settings.encoder, count))
    data, dev = frozen.encoded(encoder)
    head = frozen.new_head(encoder)
    frozen.train_head(head, data, dev, job.options.checkpoint("second_opinion", encoder))
    known = _known(frozen, encoder, head, dev)
    excess = excess_of(known)
    in_dev = np.concatenate(parts_of(excess, known.scores, known.truth))
    opinion = _opinion(frozen, encoder, head, data, dev, tuned=False)
    # By what dev showed: the head knows the training documents, and would find too many of their words in excess.
    shown = parts_of(excess, opinion.scores, data.class_targets(head.config.classes))
    return SecondOpinion(opinion, shown, in_dev)


def _excess(head: Head, dev: LabelledFeatures, parts: NDArray[np.float64]) -> tuple[Excess, ...]:
    """How likely words of a score of a tuned encoder are to be there on account of each class, in documents of it."""
    words = [own for _, own in scored(head, dev)]  # (N, K) each
    targets = dev.class_targets(head.config.classes) > 0  # (D, K)
    of_class = np.repeat(targets, [len(own) for own in words], axis=0)  # (W, K)
    columns = zip(np.concatenate(words).T, parts.T, of_class.T, strict=True)
    return tuple(Excess.along(own[mine], part[mine]) for own, part, mine in columns)


def _opinion(
    job: Job, encoder: Transformer, head: Head, data: LabelledFeatures, dev: LabelledFeatures, *, tuned: bool
) -> Opinion:
    scores = [words for _, words in scored(head, data)]
    return Opinion(scores, _needed(job, encoder, head, dev, tuned=tuned), 1 - _merit(head, dev, job).score)


def _needed(
    job: Job, encoder: Transformer, head: Head, dev: LabelledFeatures, *, tuned: bool
) -> NDArray[np.float32]:
    """The boundaries above which words are needed, by each estimate (E, K). A word that no filter chose scores the bias
    alone, and never is.

    At zero, a tuned teacher may flag a third of the words of a document: it reads the document's label from all of
    them, and a student of those words would learn the document, not the words. For the same reason, all its words are
    more common in documents of the class; only without tuning does this tell anything.
    """
    idle = class_scores(head.bias.detach()[None], head.config.outputs).clamp(min=0)[0].cpu().numpy()  # (K,)
    known = _known(job, encoder, head, dev)
    sweep = Sweep.over(
        known.eraser, known.documents, known.scores, known.outputs, known.truth, times=SWEPT
    )  # all pseudo-labels rest on it
    tells = sweep is not None and sweep.tells
    found = [sweep.boundary(ALL)] if sweep is not None and tells else []
    by_excess = None if tuned else shown_boundaries(known, sweep if tells else None)
    if by_excess is not None:
        found.append(by_excess)
    return np.asarray(np.maximum(np.array(found or [tuple(idle)], np.float32), idle))


def _known(job: Job, encoder: Transformer, head: Head, dev: LabelledFeatures) -> Known:
    """What a head says of the dev documents."""
    outputs, scores = zip(*scored(head, dev), strict=True)
    return Known(
        Eraser(head, encoder, job.vocabulary),
        job.dev.documents,
        scores,
        np.array(outputs, np.float64),
        dev.class_targets(head.config.classes),
    )


@dataclass(frozen=True)
class Merit:
    """How a head does on the dev documents."""

    found: NDArray[np.bool_]  # (D, K) what it decides
    truth: NDArray[np.integer]  # (D, K)
    criterion: str  # accuracy or f1

    @property
    def score(self) -> float:
        return self._score(slice(None))

    def clearly_above(self, other: Merit) -> bool:
        """By more than `MARGIN`, and in all but a few draws of as many documents: not by chance."""
        if self.score <= other.score + MARGIN:
            return False
        count = len(self.truth)
        draws = np.random.default_rng(0).integers(0, count, (DRAWS, count))
        return bool(np.quantile([self._score(rows) - other._score(rows) for rows in draws], CHANCE) > 0)

    def _score(self, rows: slice | NDArray[np.integer]) -> float:
        found, truth = self.found[rows], self.truth[rows]
        if self.criterion == "accuracy":
            return float((found == truth).all(1).mean())
        return averaged(columns(found, truth), document_metrics)["f1"]


def _merit(head: Head, dev: LabelledFeatures, job: Job) -> Merit:
    """Accuracy or F1 on the dev documents; F1 at its best boundary, which is tuned on them in any case."""
    outputs = np.array([output for output, _ in scored(head, dev)])  # (D, K)
    truth = dev.class_targets(head.config.classes)  # (D, K)
    criterion = job.settings.training().criterion
    if criterion != "accuracy" and job.labels.kind != "multiclass":
        outputs = outputs - np.array(
            [stable_offset(o, t) for o, t in zip(outputs.T, truth.T, strict=True)], np.float32
        )
    return Merit(decided(outputs, head), truth, "accuracy" if criterion == "accuracy" else "f1")
