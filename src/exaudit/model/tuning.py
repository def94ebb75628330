"""Tuning the Transformer before it is frozen, on the labels at hand, so that a stopped run goes on.

An uncased encoder learns to tell upper from lower case on the way (`exaudit.encode.shapes`).
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from exaudit._files import folder_beside, put_folder, replace_file
from exaudit.encode.bert import Bert
from exaudit.encode.locate import fingerprint
from exaudit.encode.transformer import Transformer
from exaudit.errors import ModelWarning
from exaudit.head.checkpoint import tensor_checksum
from exaudit.head.course import Course
from exaudit.head.network import Head
from exaudit.head.tuning import TuningConfig, tune
from exaudit.head.tuning_state import TuningCheckpoint
from exaudit.model.job import Job
from exaudit.model.options import Report, RunOptions
from exaudit.model.split import Split
from exaudit.model.sweep import DOCUMENTS, SHARES, WORDS

__all__ = ["SWEPT", "Tuned", "course_of", "tune_or_resume", "tuning_config"]

STEPS = 750  # of tuning at least: few documents are seen more often
MOST = 10  # but no more often than this
SWEPT = 5  # times as many documents as usual are read without their strongest words: pseudo-labels rest on it


@dataclass(frozen=True)
class Tuned:
    """An encoder, tuned, and the head that was tuned with it."""

    encoder: Transformer
    head: Head
    record: dict[str, Any]


def tuning_config(
    encoder: Transformer, data: Split, loss: str, *, seed: int, epochs: int, rate: float
) -> TuningConfig:
    """Deeper encoders take smaller steps: the rate is for six layers. Small corpora are seen more often."""
    config = TuningConfig(loss=loss, seed=seed)
    steps = math.ceil(len(data.documents) / config.batch_size)
    rounds = max(epochs, min(MOST, math.ceil(STEPS / steps)))
    depth = int(encoder.module.config.num_hidden_layers)
    return replace(config, epochs=rounds, learning_rate=rate * 6 / max(6, depth))


def course_of(job: Job, encoder: Transformer, tuned: int, *, sweeps: Sequence[int]) -> Course:
    """So many words to tune on, and those that are read besides. It reports how long that takes, once it can tell.

    sweeps : for each sweep over the dev documents, how many times the usual number of them it reads.
    """
    report, dev = job.options.report, job.dev.labels.word_counts
    usual, most = min(WORDS, DOCUMENTS * float(dev.mean())), int(dev.sum())
    swept = sum(min(times * usual, most) for times in sweeps) * 2 * len(SHARES)  # at most
    encoded = int(job.data.labels.word_counts.sum() + 3 * dev.sum() + swept)
    how = {
        "device": str(encoder.device),
        "threads": torch.get_num_threads(),
        "precision": encoder.dtype,
    }
    tell = None if report is None else lambda seconds: report({"seconds_to_go": seconds, **how})
    return Course(tuned, encoded, tell)


def tune_or_resume(
    encoder: Transformer,
    head: Head,
    data: Split,
    config: TuningConfig,
    options: RunOptions,
    name: str,
    course: Course | None = None,
) -> Tuned:
    """Tune, or take what a stopped run left in its work folder. `course` is told of it."""
    with TemporaryDirectory() as temporary:
        kept = Path(temporary if options.work is None else options.work) / name
        weights = kept.with_name(f"{name}_head.safetensors")
        groups = None if options.group is None else [d.meta.get(options.group, d.id) for d in data.documents]
        identity = _identity(encoder, head, data, config, groups)
        if not (options.resume and _is_whole(kept, weights, identity)):
            texts = [d.tokens for d in data.documents]
            encoder.learn_shapes()
            stopped = None
            if options.work is not None:
                path = options.work / f"{name}_epochs.safetensors"
                stopped = TuningCheckpoint(path, identity, options.resume)
            tune(
                encoder, head, texts, data.labels, config,
                groups=groups, course=course, checkpoint=stopped, report=_named(options.report, name),
            )  # fmt: skip
            with folder_beside(kept) as draft:
                encoder.save(draft)
                put_folder(draft, kept, replace=True)
            tensors = {key: value.contiguous() for key, value in head.state_dict().items()}
            said = {"identity": identity, "encoder": fingerprint(kept)}
            checksum = tensor_checksum(tensors, *said.values())
            with replace_file(weights) as beside:  # last: it says all is there
                save_file(tensors, beside, {**said, "checksum": checksum})
            if stopped is not None:
                stopped.remove()
        elif course is not None:
            course.skip(config.work(data.labels.word_counts))
        head.load_state_dict(load_file(weights, device=str(head.weight.device)))
        encoder = Transformer.load(
            str(kept),
            layers=encoder.layers,
            device=encoder.device,
            precision=encoder.precision,
            max_length=encoder.max_length,
            plain=isinstance(encoder.module, Bert),
        )
    return Tuned(encoder, head, {**asdict(config), "precision": encoder.dtype})


def _identity(
    encoder: Transformer, head: Head, data: Split, config: TuningConfig, groups: list[str] | None
) -> str:
    """Tells what was tuned, and on what, so that a run only goes on with its own work."""
    reader = [
        encoder.fingerprint,
        list(encoder.layers),
        encoder.max_length,
        encoder.precision,
        encoder.dtype,
    ]
    told = [reader, head.config.to_json(), asdict(config), groups]
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode() + data.labels.targets.tobytes())
    for document in data.documents:
        digest.update(json.dumps(document.tokens).encode())
    for targets in (data.labels.token_targets or []) if "token" in config.losses else []:
        digest.update(targets.tobytes())
    return digest.hexdigest()


def _is_whole(kept: Path, weights: Path, identity: str) -> bool:
    """Whether such a run left an encoder and these weights, both as they were written."""
    try:
        with safe_open(weights, "pt") as file:
            said = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, ValueError, SafetensorError):
        return False
    if said.get("identity") != identity:
        return False
    encoder = fingerprint(kept)
    whole = said.get("encoder") == encoder and said.get("checksum") == tensor_checksum(
        tensors, identity, encoder
    )
    if not whole:
        warnings.warn(
            f"{kept}: the checkpoint of the tuned encoder is damaged, so it is tuned again",
            ModelWarning,
            stacklevel=3,
        )
    return whole


def _named(report: Report | None, whose: str) -> Report | None:
    """Tell whose tuning it is."""
    return None if report is None else lambda record: report({"tuning": whose, **record})
