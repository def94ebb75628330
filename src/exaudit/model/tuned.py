"""Tuning the Transformer before it is frozen, on the labels at hand.

An uncased encoder learns to tell upper from lower case on the way (`exaudit.encode.shapes`). With document labels
alone, `exaudit.model.teaching` takes several turns of this.
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

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from exaudit._files import replace_file
from exaudit.encode.transformer import Transformer
from exaudit.head.network import Head
from exaudit.head.tuning import TuningConfig, tune
from exaudit.model.assembly import Part

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["Plan", "Tuned", "settings_for", "tune_or_resume", "tuned"]

Report = Callable[[dict[str, Any]], None]
STEPS = 750  # of tuning at least: few documents are seen more often
MOST = 10  # but no more often than this


@dataclass(frozen=True)
class Plan:
    """How a run goes about it: where it keeps its work, whether it goes on, whom it tells, what stays together."""

    work: Path | None = None
    resume: bool = False
    report: Report | None = None
    group: str | None = None  # a column: documents with the same value are tuned on in one batch

    def checkpoint(self, name: str, encoder: Transformer) -> Path | None:
        """Where the head on a tuned encoder keeps its epochs: those on another encoder are not its own."""
        return None if self.work is None else self.work / f"{name}-{encoder.fingerprint[:16]}.safetensors"


@dataclass(frozen=True)
class Tuned:
    """An encoder, tuned, and the head that was tuned with it."""

    encoder: Transformer
    head: Head
    record: dict[str, Any]


def tuned(labeler: Labeler, encoder: Transformer, head: Head, data: Part, plan: Plan) -> Tuned:
    """Encoder and head tuned together by the labeler's loss (document and min-max, where that is document)."""
    if labeler.loss == "token":
        settings = settings_for(labeler, encoder, data, "token", epochs=5, rate=2e-4)
    else:
        settings = settings_for(labeler, encoder, data, "document+min-max", epochs=2, rate=1e-4)
    return tune_or_resume(encoder, head, data, settings, plan, "encoder")


def settings_for(
    labeler: Labeler, encoder: Transformer, data: Part, loss: str, *, epochs: int, rate: float
) -> TuningConfig:
    """Deeper encoders take smaller steps: the rate is for six layers. Small corpora are seen more often."""
    config = TuningConfig(loss=loss, seed=labeler.seed)
    steps = math.ceil(len(data.documents) / config.batch_size)
    rounds = max(epochs, min(MOST, math.ceil(STEPS / steps)))
    depth = int(encoder.module.config.num_hidden_layers)
    return replace(config, epochs=rounds, learning_rate=rate * 6 / max(6, depth))


def tune_or_resume(
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
