"""Tuning the encoder on this machine: as it was until 0.1 against as it is, side by side in one run, in turns.

speedup            seconds of a tuning step (both readings, forward and backward, and the optimiser) with batches cut by
                   length and padded, in float32, with all embeddings, over those of now: without padding, with the
                   embeddings that occur alone, in `precision`. Teacher's and student's steps, added up.
without_rounding   the same in float32
two_readings_cost  seconds of a step that reads the batch twice, over one that reads it once, both as they are now
long_texts         seconds of a step on texts of some 450 words with dropout in the attention, over those of now
quality            with --seeds: of models trained in float32 and in bfloat16, the same otherwise, average precision and
                   F0.5 of the words, and F1 of the documents, in per cent, mean and every seed

    python benchmarks/tuning.py [--documents 192] [--turns 3]
    python benchmarks/tuning.py --seeds 0,1 [--tasks DIR --task hedges] [--limit 2000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

import exaudit.encode.attention as attention
import exaudit.head.tuning as tuning
from exaudit._device import pick_precision
from exaudit.benchmark.task import Task, read_tasks, sample_task
from exaudit.benchmark.words import measure_model
from exaudit.data.sample import sample_documents
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, HeadConfig
from exaudit.head.tuning import TuningConfig, tune
from exaudit.model.settings import Settings
from exaudit.model.train import train

JOINED = 40  # sentences of a long text
PRECISION = pick_precision("auto", torch.device("cpu"))
WAYS: dict[str, dict[str, Any]] = {
    "padded": {"plain": False},
    "float32": {"plain": True},
    "now": {"plain": True, "precision": PRECISION},
}
STAGES: dict[str, tuple[tuple[int, ...], str, str]] = {
    "teacher": ((1, 2, 3, 4, 5, 6), "max", "document+min-max"),
    "student": ((3, 4, 5, 6), "none", "document+token"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--documents", type=int, default=192)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seeds", default="")
    parser.add_argument("--tasks")
    parser.add_argument("--task", default="learner")
    parser.add_argument("--limit", type=int, default=2000)
    options = parser.parse_args()
    result = steps(options.documents, options.turns)
    if options.seeds:
        task = sample_task(options.task, limit=options.limit)
        if options.tasks is not None:
            (task,) = read_tasks(options.tasks, [options.task], limit=options.limit)
        result["quality"] = quality(task, [int(seed) for seed in options.seeds.split(",")])
    print(json.dumps(result))


def steps(documents: int, turns: int) -> dict[str, Any]:
    """How long steps take."""
    sentences = [document.tokens for document in sample_documents("learner", documents, seed=1)]
    texts = [list(chain(*sentences[i : i + JOINED])) for i in range(0, len(sentences), JOINED)]
    fused = tuning._optimizer

    def plain(*arguments: Any) -> torch.optim.AdamW:
        optimizer = fused(*arguments)
        for group in optimizer.param_groups:
            group["fused"] = False
        return optimizer

    def seconds(way: str, agreement: float = 1.0, lists: Sequence[Sequence[str]] = sentences) -> float:
        labels = LabelledFeatures(
            Features.of_words([]),
            np.array([len(tokens) for tokens in lists]),
            np.arange(len(lists)) % 2,
            [np.arange(len(tokens))[:, None] % 2 for tokens in lists],
        )
        total = 0.0
        tuning._optimizer = plain if way == "padded" else fused
        for layers, pool, loss in STAGES.values():
            encoder = Transformer.load(layers=layers, device="cpu", **WAYS[way])
            encoder.learn_shapes()
            head = Head(HeadConfig(features=encoder.dimension, filters=1000, pool=pool))
            began = time.perf_counter()
            tune(encoder, head, lists, labels, TuningConfig(loss=loss, epochs=1, agreement=agreement))
            total += time.perf_counter() - began
        return total

    times: dict[str, list[float]] = {name: [] for name in (*WAYS, "once", "long", "dropped")}
    kept = attention.LONG
    for _ in range(turns):
        for name in WAYS:
            times[name].append(seconds(name))
        times["once"].append(seconds("now", 0.0))
        times["long"].append(seconds("now", lists=texts))
        attention.LONG = 10**6
        times["dropped"].append(seconds("now", lists=texts))
        attention.LONG = kept
    padded, plain_, now, once, long, dropped = (statistics.median(own) for own in times.values())
    return {
        "speedup": round(padded / now, 2),
        "without_rounding": round(padded / plain_, 2),
        "two_readings_cost": round(now / once, 2),
        "long_texts": round(dropped / long, 2),
        "precision": PRECISION,
        "threads": torch.get_num_threads(),
    }


def quality(task: Task, seeds: list[int]) -> dict[str, Any]:
    """How well both precisions do, in seconds that are not to be compared with those of other runs."""
    tokens = "whitespace" if task.pretokenised else "words"
    found: dict[str, Any] = {"task": task.name, "documents": len(task.train)}
    for precision in ("float32", "bfloat16"):
        runs = []
        for seed in seeds:
            settings = Settings(
                tune_encoder=True, precision=precision, seed=seed, tokens=tokens, device="cpu", cache=""
            )
            model = train(settings, list(task.train), list(task.dev))
            own = measure_model(model, task)
            figures = own["words"]["ap"], own["words"]["default"]["f0.5"], own["documents"]["f1"]
            runs.append([round(100 * figure, 1) for figure in figures])
        names = ("word_ap", "word_f0.5", "document_f1")
        found[precision] = {
            name: {"mean": round(statistics.mean(each), 1), "seeds": list(each)}
            for name, each in zip(names, zip(*runs, strict=True), strict=True)
        }
    return found


if __name__ == "__main__":
    main()
