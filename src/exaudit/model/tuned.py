"""Tuning the Transformer before it is frozen, on the labels at hand.

With token labels the encoder learns the tokens themselves. With document labels alone it takes two turns:

    teacher   all layers, tuned with the document and the min-max loss; frozen; a new head is trained on it
    lessons   the teacher's decisions on the words of the training documents, overruled by the documents' labels;
              of several teachers (`teachers`), the decisions of their mean
    student   the encoder as it first was, its last layers tuned on those words and on the documents together

The teacher points at words because filters compete for them; the student, which scores every word by itself, learns
what its lessons have in common and forgets what was chance. It stands in for the teacher unless it is clearly
worse on the dev documents. No token label is seen on the way.

An uncased encoder learns to tell upper from lower case on the way (`exaudit.encode.shapes`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from sklearn.base import clone

from exaudit._device import pick_device
from exaudit._files import replace_file
from exaudit.encode.transformer import Transformer, last_layers
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.lessons import lessons
from exaudit.head.network import Head
from exaudit.head.training import TrainingConfig, scored, train
from exaudit.head.tuning import TuningConfig, tune
from exaudit.metrics import Counts, stable_offset
from exaudit.model.assembly import Part, load_encoder, new_head

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["Plan", "Tuned", "taught", "tuned"]

Report = Callable[[dict[str, Any]], None]
STEPS = 750  # of tuning at least: few documents are seen more often
MOST = 10  # but no more often than this
MARGIN = 0.01  # of accuracy or F1 on the dev documents: less is not a clear difference


@dataclass(frozen=True)
class Plan:
    """How a run goes about it: where it keeps its work, whether it goes on, whom it tells, what stays together."""

    work: Path | None = None
    resume: bool = False
    report: Report | None = None
    group: str | None = None  # a column: documents with the same value are tuned on in one batch


@dataclass(frozen=True)
class Tuned:
    """An encoder, tuned, and the head that was tuned with it."""

    encoder: Transformer
    head: Head
    record: dict[str, Any]


def tuned(labeler: Labeler, encoder: Transformer, head: Head, data: Part, plan: Plan) -> Tuned:
    """Encoder and head tuned together by the labeler's loss (document and min-max, where that is document)."""
    if labeler.loss == "token":
        settings = _settings(labeler, encoder, data, "token", epochs=5, rate=2e-4)
    else:
        settings = _settings(labeler, encoder, data, "document+min-max", epochs=2, rate=1e-4)
    return _tuned(encoder, head, data, settings, plan, "encoder")


def taught(
    labeler: Labeler, encoder: Transformer, data: Part, dev: Part, config: TrainingConfig, plan: Plan
) -> tuple[Tuned, dict[str, Any]]:
    """A student of a teacher, or the teacher where the student does not live up to it; and the teacher's history."""
    teacher, history, scores = _teacher(labeler, encoder, data, dev, config, plan, "teacher")
    for turn in range(2, labeler.teachers + 1):  # what several agree on is less a matter of chance
        other = clone(labeler).set_params(seed=labeler.seed + 1000 * (turn - 1))
        again = replace(config, seed=other.seed)
        fresh = load_encoder(labeler, encoder.layers)
        *_, more = _teacher(other, fresh, data, dev, again, plan, f"teacher{turn}")
        scores = [a + b for a, b in zip(scores, more, strict=True)]

    taken = lessons(scores, data.labels.targets.tolist())
    pupils = replace(data, labels=replace(data.labels, token_targets=taken))
    fresh = load_encoder(labeler, labeler.layers or last_layers(max(encoder.layers)))
    settings = _settings(labeler, fresh, data, "document+token", epochs=3, rate=2e-4)
    head = new_head(labeler, fresh, None, pick_device(labeler.device), pool="none")
    student = _tuned(fresh, head, pupils, settings, plan, "student")

    merits = [_merit(one.head, dev.encoded(labeler, one.encoder), config) for one in (teacher, student)]
    kept = student if merits[1] >= merits[0] - MARGIN else teacher
    record = {
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
    settings = _settings(labeler, encoder, data, "document+min-max", epochs=2, rate=1e-4)
    teacher = _tuned(encoder, head, data, settings, plan, name)
    own, own_dev = (part.encoded(labeler, teacher.encoder) for part in (data, dev))
    head = new_head(labeler, teacher.encoder, None, device)
    checkpoint = None if plan.work is None else plan.work / f"{name}.safetensors"
    history = train(head, own, own_dev, config, checkpoint=checkpoint, resume=plan.resume, report=plan.report)
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


def _settings(
    labeler: Labeler, encoder: Transformer, data: Part, loss: str, *, epochs: int, rate: float
) -> TuningConfig:
    """Deeper encoders take smaller steps: the rate is for six layers. Small corpora are seen more often."""
    config = TuningConfig(loss=loss, seed=labeler.seed)
    steps = math.ceil(len(data.documents) / config.batch_size)
    rounds = max(epochs, min(MOST, math.ceil(STEPS / steps)))
    depth = int(encoder.module.config.num_hidden_layers)
    return replace(config, epochs=rounds, learning_rate=rate * 6 / max(6, depth))


def _tuned(
    encoder: Transformer, head: Head, data: Part, settings: TuningConfig, plan: Plan, name: str
) -> Tuned:
    """Tune, or take what a stopped run left in its work folder."""
    with TemporaryDirectory() as temporary:
        kept = Path(temporary if plan.work is None else plan.work) / name
        weights = kept.with_name(f"{name}_head.safetensors")
        groups = None if plan.group is None else [d.meta.get(plan.group, d.id) for d in data.documents]
        identity = _identity(encoder, head, data, settings, groups)
        if not (plan.resume and _left_by(weights) == identity):
            texts = [d.tokens for d in data.documents]
            encoder.learn_shapes()
            tune(encoder, head, texts, data.labels, settings, groups=groups, report=_named(plan.report, name))
            encoder.save(kept)
            tensors = {key: value.contiguous() for key, value in head.state_dict().items()}
            with replace_file(weights) as beside:  # last: it says all is there
                save_file(tensors, beside, {"identity": identity})
        head.load_state_dict(load_file(weights, device=str(head.weight.device)))
        encoder = Transformer.load(
            str(kept),
            layers=encoder.layers,
            device=encoder.device,
            dtype=encoder.dtype,
            max_length=encoder.max_length,
        )
    return Tuned(encoder, head, asdict(settings))


def _identity(
    encoder: Transformer, head: Head, data: Part, settings: TuningConfig, groups: list[str] | None
) -> str:
    """Tells what was tuned, and on what, so that a run only goes on with its own work."""
    reader = [encoder.fingerprint, list(encoder.layers), encoder.max_length, encoder.dtype]
    told = [reader, head.config.to_json(), asdict(settings), groups]
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode() + data.labels.targets.tobytes())
    for document in data.documents:
        digest.update(json.dumps(document.tokens).encode())
    for targets in (data.labels.token_targets or []) if "token" in settings.losses else []:
        digest.update(targets.tobytes())
    return digest.hexdigest()


def _left_by(weights: Path) -> str | None:
    """The identity of the run that left these weights; None where there are none, or no whole ones."""
    try:
        with safe_open(weights, "pt") as file:
            return (file.metadata() or {}).get("identity")
    except (OSError, SafetensorError):
        return None


def _named(report: Report | None, whose: str) -> Report | None:
    """Tell whose tuning it is."""
    return None if report is None else lambda record: report({"tuning": whose, **record})
