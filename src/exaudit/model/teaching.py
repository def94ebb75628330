"""From document labels alone to an encoder that reads words: rehearsal, teacher, lessons, student.

    rehearsal  the encoder learns to spot changed words, if that is to the point (`exaudit.model.rehearsal`)
    teacher    all layers, tuned with the document and the min-max loss; frozen; a new head is trained on it
    lessons    the teacher's decisions on the words of the training documents, overruled by the documents' labels;
               of several teachers (`teachers`), the decisions of their mean
    student    the encoder as it was before the teacher, its last layers tuned on those words and the documents together

The teacher points at words because filters compete for them; the student, which scores every word by itself, learns
what its lessons have in common and forgets what was chance. It stands in for the teacher unless it is clearly
worse on the dev documents. No token label is seen on the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from exaudit._device import pick_device
from exaudit.encode.transformer import Transformer
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.lessons import lessons
from exaudit.head.network import Head
from exaudit.head.training import TrainingConfig, scored, train
from exaudit.metrics import Counts, stable_offset
from exaudit.model.assembly import Part, new_head, upper_layers
from exaudit.model.rehearsal import rehearsed
from exaudit.model.tuned import Plan, Tuned, settings_for, tune_or_resume

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["taught"]

MARGIN = 0.01  # of accuracy or F1 on the dev documents: less is not a clear difference


def taught(
    labeler: Labeler, encoder: Transformer, data: Part, dev: Part, config: TrainingConfig, plan: Plan
) -> tuple[Tuned, dict[str, Any]]:
    """A student of a teacher, or the teacher where the student does not live up to it; and the teacher's history."""
    wanted = labeler.rehearse is None or bool(labeler.rehearse)
    start, rehearsal = rehearsed(labeler, encoder, data, dev, plan) if wanted else (encoder, None)
    first = start.twin(encoder.layers)
    teacher, history, scores = _teacher(labeler, first, data, dev, config, plan, "teacher")
    for turn in range(2, labeler.teachers + 1):  # what several agree on is less a matter of chance
        other = clone(labeler).set_params(seed=labeler.seed + 1000 * (turn - 1))
        again = replace(config, seed=other.seed)
        *_, more = _teacher(other, start.twin(encoder.layers), data, dev, again, plan, f"teacher{turn}")
        scores = [a + b for a, b in zip(scores, more, strict=True)]

    taken = lessons(scores, data.labels.targets.tolist())
    pupils = replace(data, labels=replace(data.labels, token_targets=taken))
    fresh = start.twin(upper_layers(labeler, encoder))
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
