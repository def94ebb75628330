"""The models of the FCE experiment, by their names in the paper."""

from __future__ import annotations

from exaudit.experiments.corpora import Splits
from exaudit.experiments.run import Run
from exaudit.model.model import Model

__all__ = ["MIN_MAX", "SUPERVISED", "UNICNN", "fce_model", "file_name"]

UNICNN, MIN_MAX, SUPERVISED = "uniCNN", "uniCNN+mm", "uniCNN+S*"


def fce_model(run: Run, fce: Splits, name: str, seed: int) -> Model:
    """uniCNN, or uniCNN fine-tuned from it; a tuned encoder is tuned for words anew where words are labelled."""
    tuned = run.settings.tune_encoder
    folder, base = (f"fce-{file_name(one)}-{seed}" for one in (name, UNICNN))
    common = {**run.recipe.sentences, "seed": seed}
    if name == UNICNN:
        return run.model(folder, fce.train, fce.dev, tune_encoder=tuned, **common)
    if name == SUPERVISED and tuned:
        return run.model(folder, fce.train, fce.dev, loss="token", tune_encoder=True, **common)
    fce_model(run, fce, UNICNN, seed)
    loss = "min-max" if name == MIN_MAX else "token"
    return run.model(folder, fce.train, fce.dev, init=base, loss=loss, **common)


def file_name(name: str) -> str:
    """Of what a run keeps of this model."""
    return {UNICNN: "uniCNN", MIN_MAX: "mm", SUPERVISED: "supervised"}[name]
