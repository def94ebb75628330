"""The models of the FCE experiment, by their names in the paper."""

from __future__ import annotations

from exaudit.data.document import Document
from exaudit.experiments.corpora import Splits
from exaudit.experiments.run import Run
from exaudit.model.model import Model

__all__ = ["MIN_MAX", "SENTENCES", "SUPERVISED", "UNICNN", "example_sentences", "fce_model", "file_name"]

UNICNN, MIN_MAX, SUPERVISED = "uniCNN", "uniCNN+mm", "uniCNN+S*"


SENTENCES = (174, 223, 250, 1302, 1551)  # of FCE test, counted from 0: those of appendix B


def fce_model(run: Run, fce: Splits, name: str, seed: int) -> Model:
    """uniCNN, or uniCNN fine-tuned from it; a tuned encoder is tuned for words anew where words are labelled."""
    tuned = run.settings.tune_encoder
    folder, base = (f"fce-{file_name(one)}-{seed}" for one in (name, UNICNN))
    if name == UNICNN:
        return run.model(folder, fce.train, fce.dev, seed=seed, tune_encoder=tuned)
    if name == SUPERVISED and tuned:
        return run.model(folder, fce.train, fce.dev, loss="token", seed=seed, tune_encoder=True)
    fce_model(run, fce, UNICNN, seed)
    loss = "min-max" if name == MIN_MAX else "token"
    return run.model(folder, fce.train, fce.dev, init=base, loss=loss, seed=seed)


def example_sentences(run: Run, fce: Splits) -> list[Document]:
    """The five of appendix B; of other data, the first five."""
    known = not run.settings.fast and len(fce.test) > max(SENTENCES)
    return [fce.test[n] for n in (SENTENCES if known else range(5))]


def file_name(name: str) -> str:
    """Of what a run keeps of this model."""
    return {UNICNN: "uniCNN", MIN_MAX: "mm", SUPERVISED: "supervised"}[name]
