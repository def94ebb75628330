"""The rates of this machine, in less than a minute: a short run of everything that a plan is made from.

A core's are by the processor's time, so that other work on the machine hardly counts; a GPU's are by the clock.
"""

from __future__ import annotations

import math
import platform
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from exaudit._device import pick_device
from exaudit._escape import json_text
from exaudit.analyse.features import Features
from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.model.folder import load_model, save_model
from exaudit.model.model import Model
from exaudit.model.scores import Scores
from exaudit.model.settings import Settings
from exaudit.model.train import train
from exaudit.plan.rates import Rates, Sizes, Unit, usual_rates
from exaudit.support.build import Build
from exaudit.support.exemplars import SupportBatch
from exaudit.support.search import ExactSearch
from exaudit.support.store import LanceSupportSet

__all__ = ["made_vectors", "measure_rates"]

COMMAND = "exaudit plan --measure"
LENGTH = 200  # words of a document
DOCUMENTS = {"cpu": 30, "cuda": 2000}
ROWS = {
    "cpu": (20_000, 80_000),
    "cuda": (100_000, 450_000),
}  # of two searches: what each row costs, and the rest
QUERIES = {"cpu": 512, "cuda": 40_000}
STORED, PART = 16_384, 32  # exemplars that are written to disk, and words of a document there
NGRAMS = range(1, 6)  # sizes that `exaudit features` ranks
TURNS = 2  # the quicker one counts


def measure_rates(
    model: str | PathLike[str] | None = None,
    *,
    device: str = "auto",
    say: Callable[[str], None] = lambda line: None,
) -> Rates:
    """Of a core, and of the GPU if there is one. Without a model, a small one is trained on the default encoder.

    say : told what is being measured.
    """
    gpu = pick_device(device).type == "cuda"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model" if model is None else Path(model)
        if model is None:
            say("training a small model")
            _train(place)
        own = load_model(place, device="cpu", precision="auto")
        core, labelled = _unit(own, "cpu", say)
        say("measuring sizes")
        sizes = _sizes(own, labelled, Path(folder) / "support")
        del own
        other = _unit(load_model(place, device=device, precision="auto"), "cuda", say)[0] if gpu else None
    return Rates(core, sizes, other)


def made_vectors(rows: int, queries: int, width: int, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Vectors with the spectrum of real exemplars: words in contexts, 95.5% of them in an eighth of the directions."""
    draw = np.random.default_rng(seed)
    places = [0, width / 8, width / 4, width]
    left = np.exp(np.interp(np.arange(width + 1), places, np.log([1, 0.045, 0.011, 1e-4])))
    basis = 30 * np.sqrt(-np.diff(left))[:, None] * np.linalg.qr(draw.standard_normal((width, width)))[0]
    basis = basis.astype(np.float32)  # (M, M)
    centres = 0.89 * draw.standard_normal((12_000, width), dtype=np.float32) @ basis  # words
    made = []
    for count in (rows, queries):
        word = np.minimum(draw.zipf(1.3, count) - 1, len(centres) - 1)
        vectors = draw.standard_normal((count, width), dtype=np.float32) @ (0.45 * basis)
        vectors += centres[word]
        made.append(vectors)
    return made[0], made[1]


def _train(place: Path) -> None:
    documents = sample_documents("learner", 200, seed=0)
    save_model(train(Settings(epochs=1, device="cpu", cache=""), documents), place)


def _unit(model: Model, kind: str, say: Callable[[str], None]) -> tuple[Unit, list[Scores]]:
    """What a core or the GPU does, and the documents that it labelled."""
    device = torch.device(kind)
    documents = _documents(DOCUMENTS[kind])
    words, labelled, auto = {}, [], model.precision
    for precision in dict.fromkeys((auto, "float32")):
        say(f"labelling on {_named(device)} in {precision}")
        reader = model.at(precision)
        labelled = list(reader.iter_label(documents))  # the first time costs more
        spent = _least(lambda reader=reader: list(reader.iter_label(documents)), device)  # type: ignore[misc]
        words[precision] = _figure(LENGTH * len(documents) / spent)
    say(f"searching on {_named(device)}")
    pairs, rest = _search(model.width, device)
    memory = None if kind == "cpu" else float(torch.cuda.get_device_properties(device).total_memory)
    return Unit(_named(device), COMMAND, pairs, rest, words, auto, memory), labelled


def _documents(count: int) -> list[Document]:
    """Reviews, one after the other, cut into documents of the same length."""
    words: Iterable[str] = chain.from_iterable(
        d.tokens for d in sample_documents("reviews", 20 * count, seed=1)
    )
    words = chain.from_iterable([words, iter(lambda: "good", None)])  # in case they are short
    return [Document.from_tokens(list(islice(words, LENGTH)), id=str(n)) for n in range(count)]


def _search(width: int, device: torch.device) -> tuple[float, float]:
    """Exemplars x queries a second, and what a query costs beside, from searches in two sets."""
    few, many = ROWS[device.type]
    vectors, queries = made_vectors(many, QUERIES[device.type], width)
    seconds = []
    for rows in (few, many):
        search = ExactSearch(vectors[:rows], device=device)
        search.search(queries[:64], 8)
        seconds.append(_least(lambda search=search: search.search(queries, 8), device) / len(queries))  # type: ignore[misc]
    a_row = max((seconds[1] - seconds[0]) / (many - few), 0.25 * seconds[1] / many)
    return _figure(1 / a_row), _figure(max(seconds[1] - a_row * many, 0.0))


def _sizes(model: Model, labelled: list[Scores], place: Path) -> Sizes:
    words = sum(len(scores.document.tokens) for scores in labelled)
    written = sum(len(json_text(scores.to_json(model.labels)).encode()) + 1 for scores in labelled)
    vectors, _ = made_vectors(STORED, 1, model.width)
    search = ExactSearch(vectors)
    factor = search.sketches().factor
    sketch = factor.shape[1] * factor.element_size() + 16  # two numbers beside it
    return Sizes(
        width=float(model.width),
        store=_figure(_stored(vectors, place) / STORED - 4 * model.width),
        sketch=float(sketch),
        label=_figure(written / words),
        features=_figure(_features_bytes(model, labelled) / words),
        process=usual_rates().sizes.process,  # this process has done more than label
    )


def _features_bytes(model: Model, labelled: list[Scores]) -> int:
    """The most that the features of these documents take in memory, n-grams and all."""
    tracemalloc.start()
    try:
        found = Features.of(labelled, model)
        for target in range(len(model.labels.names)):
            for size in NGRAMS:
                found.ngrams(size, target)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _stored(vectors: NDArray[Any], place: Path) -> int:
    """Bytes on disk of a support set with these vectors, its sketches left out."""
    support = LanceSupportSet.create(place, width=vectors.shape[1], labels=("no", "yes"), model="")
    build, texts, draw = Build(support, "plan"), _documents(STORED // PART), np.random.default_rng(0)
    for first in range(0, len(texts), 256):
        some = [
            Document.from_tokens(text.tokens[:PART], id=text.id, label="yes")
            for text in texts[first : first + 256]
        ]
        part = vectors[first * PART : (first + len(some)) * PART]
        build.add(SupportBatch(some, part, draw.standard_normal(len(part), np.float32)))
    build.finish()
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def _least(work: Callable[[], object], device: torch.device) -> float:
    """Seconds of some work: of the processor on a CPU, by the clock on a GPU."""
    gpu, least = device.type == "cuda", math.inf
    clock = time.perf_counter if gpu else time.process_time
    for _ in range(TURNS):
        start = clock()
        work()
        if gpu:
            torch.cuda.synchronize(device)
        least = min(least, clock() - start)
    return least


def _named(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        about = Path("/proc/cpuinfo").read_text()
        processor = about.split("model name", 1)[1].split("\n", 1)[0].strip("\t :")
    except (OSError, IndexError):  # another system than Linux, or one that does not tell
        processor = platform.machine()
    return f"one core ({processor})"


def _figure(value: float) -> float:
    """No more digits than were measured."""
    return float(f"{value:.3g}")
