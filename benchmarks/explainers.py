"""Seconds a document of the explainers, as ratios to ours, side by side in one run.

What a method costs does not hang on what the models have learnt, so both are trained on a handful of documents, and
ours reads the encoder's last layer, as the classifier does. Every document is explained by all methods in turn, after
one that does not count; a ratio is that of the sums over the documents. `times_ours_batched` holds the same seconds of
the others against ours when it is given all documents at once.

    python benchmarks/explainers.py tasks/ [--tasks fce,movies] [--documents 10] [--encoder minilm] [--methods lime]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from exaudit.benchmark.contestants import Contestant, Decomposition, Explanation
from exaudit.benchmark.explainers import EXPLAINERS, Classifier
from exaudit.benchmark.task import Task, draw, read_tasks
from exaudit.encode.layers import depth
from exaudit.encode.transformer import Transformer
from exaudit.model.options import RunOptions
from exaudit.model.settings import Settings
from exaudit.model.train import train

TRAINED_ON = 12  # documents


def contestants(task: Task, encoder: str, methods: list[str]) -> dict[str, Contestant]:
    """Ours, and explainers of the usual classifier with the same encoder."""
    some = draw(task.train, TRAINED_ON)
    last = [depth(encoder)]
    own = Settings(encoder=encoder, layers=last, device="cpu", epochs=1, boundary="zero", cache="")
    ours = train(own, some, some)
    transformer = Transformer.load(encoder, layers=last, device="cpu")
    classifier = Classifier.train(transformer, some[:2], task.labels, seed=0, options=RunOptions())
    found: dict[str, Contestant] = {"decomposition": Decomposition(ours)}
    return found | {name: Explanation(classifier, EXPLAINERS[name]) for name in methods}


def measured(task: Task, encoder: str, methods: list[str], count: int) -> dict[str, object]:
    """Seconds a document of ours, and how many times as long the others take."""
    racing = contestants(task, encoder, methods)
    documents = [document.without_token_labels() for document in draw(task.test, count)]
    shortest = min(documents, key=lambda document: len(document.tokens))
    seconds = dict.fromkeys(racing, 0.0)
    for contestant in racing.values():
        contestant.score([shortest])  # much is set up on the way
    for document in documents:
        for name, contestant in racing.items():
            began = time.perf_counter()
            contestant.score([document])
            seconds[name] += time.perf_counter() - began
    ours, batched = seconds["decomposition"], 0.0
    for _ in range(2):  # the first does not count
        began = time.perf_counter()
        racing["decomposition"].score(documents)
        batched = time.perf_counter() - began
    return {
        "task": task.name,
        "documents": count,
        "words": round(sum(len(document.tokens) for document in documents) / count),
        "seconds": round(ours / count, 4),
        "seconds_batched": round(batched / count, 5),
        "times_ours": {name: round(taken / ours, 1) for name, taken in seconds.items()},
        "times_ours_batched": {name: round(taken / batched, 1) for name, taken in seconds.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", default="")
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument(
        "--methods", default=",".join(name for name, own in EXPLAINERS.items() if own.installed)
    )
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for task in read_tasks([given.folder], [name for name in given.tasks.split(",") if name]):
        found = measured(task, given.encoder, given.methods.split(","), given.documents)
        print(json.dumps(found | {"encoder": given.encoder, "threads": given.threads}), flush=True)


if __name__ == "__main__":
    main()
