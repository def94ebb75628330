"""A support set of full size: audits, edits, builds and memory. The last line is one JSON object.

    python benchmarks/store.py                               vectors made with the spectrum of real exemplars
    python benchmarks/store.py --vectors support.npy --queries test.npy
    python benchmarks/store.py --rows 50000                  a smaller set

audit_ms            one token explained by a warm process: encoding its sentence, search, K-NN, exemplars in context
edit_visible_ms     from calling an edit (relabel, remove, undo) to an answer that knows of it; the slowest kind's
build_vs_label      time to build a support set over the time to label the same sentences
search_peak_ratio   memory that a process needs to open the set and search it, over the size of the vectors
stream_peak_gb      all the memory of such a process when told to stream

The times are medians. The documents of the made set are of 16 tokens, as FCE's are on average.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from search import ROWS, WIDTH, make_files, peak

from exaudit.audit import Auditor, ExemplarIndex
from exaudit.audit.fitted import ClassKNN, FittedKNN
from exaudit.data.document import Document
from exaudit.data.sample import sample_splits
from exaudit.decide import KNN
from exaudit.model.folder import save_model
from exaudit.model.labeler import Labeler
from exaudit.model.model import Model
from exaudit.model.scores import Scores
from exaudit.support.build import Build
from exaudit.support.exemplars import SupportBatch
from exaudit.support.store import LanceSupportSet

LABELS = ("negative", "positive")
LENGTH, BATCH = 16, 512  # tokens of a document, documents of a batch
TEXT = "There are some informations you have asked me about in the letter of last week ."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=Path, help=".npy, float32 (rows, width)")
    parser.add_argument("--queries", type=Path, help=".npy of the same width")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows to use or to make")
    parser.add_argument(
        "--sentences", type=int, default=600, help="of the built-in sample, for build_vs_label"
    )
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(options, Path(folder))))


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    files = (options.vectors, options.queries)
    if options.vectors is None:
        print("vectors made with the spectrum of real exemplars, not real ones", flush=True)
        files = make_files(folder, options.rows, 512)
    vectors = np.load(files[0], mmap_mode="r")[: options.rows]
    start = time.perf_counter()
    store(vectors, folder / "support")
    print(f"stored {vectors.shape} in {time.perf_counter() - start:.1f} s", flush=True)
    result: dict[str, Any] = {
        "made": options.vectors is None,
        "rows": len(vectors),
        "threads": options.threads,
    }
    result |= memory(folder / "support", files[1], options.threads)
    model, sentences = trained(options.sentences)
    result |= building(model, sentences, folder)
    queries = np.array(np.load(files[1], mmap_mode="r")[:512], dtype=np.float32)
    result |= answering(model, LanceSupportSet.open(folder / "support"), queries, options.turns)
    return result


def store(vectors: np.ndarray, location: Path) -> None:
    """A support set of these vectors; only the texts are made up."""
    support = LanceSupportSet.create(location, width=vectors.shape[1], labels=LABELS, model="benchmark")
    build = Build(support, "benchmark")
    draw = np.random.default_rng(2)
    for first in range(0, len(vectors), LENGTH * BATCH):
        part = np.array(vectors[first : first + LENGTH * BATCH], dtype=np.float32)
        documents = [
            Document.from_tokens(
                [f"w{n}" for n in range(min(LENGTH, len(part) - at))],
                id=f"d{first + at}",
                label=LABELS[int(draw.integers(2))],
            )
            for at in range(0, len(part), LENGTH)
        ]
        build.add(SupportBatch(documents, part, draw.standard_normal(len(part), dtype=np.float32)))
    build.finish()


def trained(sentences: int) -> tuple[Model, list[Document]]:
    """A model of the usual size over MiniLM, and sentences it has not seen."""
    splits = sample_splits("learner", sizes={"train": 200, "dev": 50, "test": sentences})
    labeler = Labeler(epochs=1, filters=WIDTH, device="cpu", cache="")
    return labeler.fit(splits["train"], dev=splits["dev"]).model_, splits["test"]


def building(model: Model, sentences: list[Document], folder: Path) -> dict[str, float]:
    save_model(model, folder / "model")
    model.label(sentences[:50])
    build, label = [], []
    for turn in range(3):  # in turns, so that other work on the machine hits both alike
        auditor = Auditor(
            model, LanceSupportSet.create(folder / f"{turn}", width=WIDTH, labels=("c", "i"), model="")
        )
        label.append(seconds(lambda: model.label(sentences)))
        build.append(seconds(lambda auditor=auditor: auditor.build(sentences)))  # type: ignore[misc]
        print(f"label {label[-1]:.2f} s, build {build[-1]:.2f} s", flush=True)
    return {
        "build_vs_label": round(min(build) / min(label), 3),
        "sentences_per_s": round(len(sentences) / min(build), 1),
    }


@dataclass(frozen=True, eq=False)
class MadeVectors(Model):
    """Encodes and scores as it should, then hands out vectors that are like those of the support set."""

    queries: np.ndarray = field(kw_only=True)
    turns: Iterator[int] = field(default_factory=count)

    def label(self, documents: Any, *, exemplars: bool = False) -> list[Scores]:
        (scores,) = super().label(documents, exemplars=exemplars)
        words = len(scores.document.tokens)
        rows = np.arange(words) + next(self.turns) * words
        return [replace(scores, exemplars=self.queries[rows % len(self.queries)])]


def answering(model: Model, support: LanceSupportSet, queries: np.ndarray, turns: int) -> dict[str, float]:
    made = MadeVectors(**vars(model), queries=queries)
    auditor = Auditor(made, support)
    view = ClassKNN(KNN.initial("dist", 8), delta=0, epoch=1)
    auditor._knn = FittedKNN((view,), 1, (), support.version, made.word_boundaries)
    document = Document.from_text(TEXT, id="query")
    print(f"opened and searched in {seconds(lambda: auditor.explain(document, 3)):.1f} s", flush=True)
    audit = [seconds(lambda: auditor.explain(document, 3)) for _ in range(turns)]
    encode = statistics.median(seconds(lambda: made.label([document], exemplars=True)) for _ in range(turns))
    (scores,) = made.label([document], exemplars=True)
    one = replace(scores, exemplars=queries[:1])

    def visible(edit: Callable[[], object]) -> float:
        return seconds(lambda: (edit(), auditor.neighbours([one], 8)))

    kinds: dict[str, list[float]] = {"relabel": [], "remove": [], "undo": []}
    for turn in range(turns):
        id = support.ids[turn * 7]
        other = LABELS[support.document(id).label == LABELS[0]]
        kinds["relabel"].append(visible(lambda id=id, other=other: auditor.relabel(id, other)))  # type: ignore[misc]
        kinds["remove"].append(visible(lambda id=id: auditor.remove(id)))  # type: ignore[misc]
        kinds["undo"].append(visible(auditor.undo))
    medians = {kind: 1000 * statistics.median(times) for kind, times in kinds.items()}
    print("edits, ms:", {kind: round(value, 1) for kind, value in medians.items()}, flush=True)
    return {
        "encode_ms": round(1000 * encode, 1),
        "audit_ms": round(1000 * statistics.median(audit), 1),
        "edit_visible_ms": round(max(medians.values()), 1),
    }


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def memory(support: Path, queries: Path, threads: int) -> dict[str, float]:
    """Peaks of processes that do nothing else."""
    peaks = {}
    for stream in (0, 1):
        command = [
            sys.executable,
            __file__,
            "--measure-memory",
            str(support),
            str(queries),
            str(stream),
            str(threads),
        ]
        peaks[stream] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {
        "search_peak_ratio": round(peaks[0]["ratio"], 3),
        "stream_peak_gb": round(peaks[1]["gb"], 3),
    }


def measure_memory(location: str, queries: str, stream: str, threads: str) -> None:
    torch.set_num_threads(int(threads))
    asked = np.load(queries)[:512].astype(np.float32)
    before = peak()
    support = LanceSupportSet.open(location)
    index = ExemplarIndex(support, stream=bool(int(stream)))
    index.neighbours(asked, 8, offsets=[0.0])
    size = len(support) * support.header.width * np.dtype(support.header.dtype).itemsize
    print(json.dumps({"ratio": (peak() - before) / size, "gb": peak() / 1e9}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure-memory"]:
        measure_memory(*sys.argv[2:])
    else:
        main()
