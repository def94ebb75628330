"""The race: our word scores against the usual explainers, on the same documents and the same truth.

Every method, task and seed is one file of results, so that a run that was stopped goes on. Models are kept, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from exaudit._device import pick_device
from exaudit._files import make_folder, read_json, write_json
from exaudit._progress import progress
from exaudit.benchmark.choices import check_once, check_seeds
from exaudit.benchmark.contestants import Contestant, Decomposition, ExemplarKNN, Explanation
from exaudit.benchmark.explained import Explained, figures
from exaudit.benchmark.explainers import EXPLAINERS, Classifier
from exaudit.benchmark.task import Task, draw
from exaudit.data.document import Document
from exaudit.encode.layers import depth
from exaudit.encode.locate import fingerprint, locate
from exaudit.encode.transformer import Transformer
from exaudit.errors import DataError, SettingError
from exaudit.model.folder import load_model, save_model
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.settings import Settings
from exaudit.model.train import train

__all__ = ["METHODS", "OURS", "Race", "RaceSettings", "race"]

OURS = ("decomposition", "knn")
METHODS = (*OURS, *EXPLAINERS)
SCHEMA = 3  # of a file of results: raised where the same settings no longer give the same figures

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class RaceSettings:
    """What is raced, and on how much.

    Parameters
    ----------
    model
        How our model is trained. The classifier that others explain has its encoder, tuned on the same documents.
    methods
        Some of `METHODS`.
    documents
        Explain only so many test documents, drawn, and as many dev documents.
    seeds
        Each is a race of its own.
    """

    model: Settings = field(default_factory=lambda: Settings(tune_encoder=True))
    methods: tuple[str, ...] = METHODS
    documents: int = 200
    seeds: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.methods) - set(METHODS)):
            raise SettingError(f"`methods`: there is no {unknown[0]!r}; choose from {', '.join(METHODS)}")
        if not self.methods or not self.seeds:
            raise SettingError("`methods` and `seeds` must name one at least")
        check_once("method", self.methods)
        check_once("seed", self.seeds)
        check_seeds(self.seeds)
        if self.documents < 2:
            raise SettingError(f"`documents` is {self.documents}; it must be 2 or more")
        if self.model.encoder == "none":
            raise SettingError("explainers explain a Transformer; choose another `encoder` than none")

    @property
    def left_out(self) -> dict[str, str]:
        """The methods whose package is not installed, with its name."""
        asked = {name: EXPLAINERS[name] for name in self.methods if name in EXPLAINERS}
        return {name: own.package for name, own in asked.items() if own.package and not own.installed}

    @property
    def notes(self) -> list[str]:
        return [
            f"{name} was left out: {package} is not installed (pip install 'exaudit[explainers]')"
            for name, package in self.left_out.items()
        ]


@dataclass(frozen=True)
class Race:
    """What the methods came to: a dict for every task, method and seed, as `race` writes them."""

    results: list[dict[str, Any]]
    notes: list[str]

    @classmethod
    def read(cls, out: str | os.PathLike[str], own: Race | None = None) -> Race:
        """What a folder holds so far, of all runs; no results where it holds none.

        Only what can stand in one table: results of the settings of `own`, which a run has just come to, or else of the
        newest result.
        """
        steps = _steps(Path(out))
        usable = [step for step in steps if step.get("schema") == SCHEMA and step.get("method") in METHODS]
        first = [*(() if own is None else own.results), *usable]
        if not first:
            return cls([], [])
        settings = _shared(first[0])
        tasks: dict[str, Any] = {}  # what the first one of each has
        for step in first:
            if _shared(step) == settings:
                tasks.setdefault(step["task"]["name"], _explained(step))
        kept = [
            step
            for step in usable
            if _shared(step) == settings and _explained(step) == tasks[step["task"]["name"]]
        ]
        kept.sort(key=lambda step: (step["task"]["name"], METHODS.index(step["method"]), step["seed"]))
        done = {step["method"] for step in kept}
        # A note starts with the method that a run left out; an earlier one may have had it.
        notes = [] if own is None else [note for note in own.notes if note.partition(" ")[0] not in done]
        if others := len(steps) - len(kept):
            notes.append(
                f"{others:,} of the {len(steps):,} results in the folder are of other settings or documents"
            )
        return cls(kept, notes)

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(result["task"]["name"] for result in self.results))

    @property
    def methods(self) -> list[str]:
        return [name for name in METHODS if any(result["method"] == name for result in self.results)]

    def values(self, task: str, method: str, *place: str) -> list[float]:
        """A figure for every seed, as in `values("fce", "shap", "natural", "f0.5")`; none where it was not measured."""
        found = []
        for result in self.results:
            if (result["task"]["name"], result["method"]) != (task, method):
                continue
            value: Any = result
            for name in place:
                value = None if value is None else value[name]
            if value is not None:
                found.append(float(value))
        return found

    def to_json(self) -> dict[str, Any]:
        return {"results": self.results, "notes": self.notes}


def race(
    tasks: Sequence[Task],
    out: str | os.PathLike[str],
    settings: RaceSettings | None = None,
    *,
    tell: Tell | None = None,
) -> Race:
    """Race the methods on every task with every seed, going on where an earlier run was stopped.

    Parameters
    ----------
    tasks
        Of two classes each, with token truth: see `exaudit.benchmark.task`.
    out
        The folder for results and models.
    settings
        What is raced.
    tell
        Hears a line whenever a method is done.
    """
    settings = settings or RaceSettings()
    folder, say = Path(out), tell or (lambda _: None)
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"{folder} is a file; `out` is a folder for the results")
    pick_device(settings.model.device)
    if not tasks:
        raise SettingError("there is no task to race on; give a folder of tasks, or `samples`")
    check_once("task", [task.name for task in tasks])
    methods = [name for name in settings.methods if name not in settings.left_out]
    if not methods:
        raise SettingError(
            f"none of `methods` is installed ({', '.join(settings.left_out)}); pip install 'exaudit[explainers]', or "
            "choose others"
        )
    # All of them first: what is wrong with the last must not show after hours.
    tracks = [Track.of(task, settings.documents) for task in tasks]
    _steps(folder)  # nor a damaged file of an earlier run
    for note in settings.notes:
        say(note)
    results = []
    for track in tracks:
        for seed in settings.seeds:
            heat = Heat(track, replace(settings.model, seed=seed, tokens=track.cut), folder)
            results += [heat.result(name, say) for name in methods]
    return Race(results, settings.notes)


@dataclass(frozen=True)
class Track:
    """A task with the documents that are explained."""

    task: Task
    test: list[Document]
    dev: list[Document] | None  # with token labels; None: there are none to tune a boundary with

    @classmethod
    def of(cls, task: Task, documents: int) -> Track:
        if task.labels.kind != "binary":
            raise DataError(
                f"task {task.name!r} has {len(task.labels)} classes, and explainers are compared on two; leave it out"
            )
        test = draw(task.test, documents)
        track = cls(task, test, None if task.marked_dev is None else draw(task.marked_dev, documents))
        words = np.unique(np.concatenate([track.truth(document) for document in test]))
        lack = None
        if len(np.unique(track.document_truth)) < 2:
            lack = "are all of one class"
        elif len(words) < 2:
            lack = "have positive words alone" if words[0] else "have no positive word"
        if lack is not None:
            raise DataError(
                f"task {task.name!r}: the {len(test):,} test documents that were drawn {lack}; take more `documents`"
            )
        return track

    @property
    def document_truth(self) -> NDArray[np.int8]:
        """0 or 1 for each test document."""
        return np.array([self.task.labels.view_targets(document)[0] for document in self.test])  # type: ignore[index]

    def truth(self, document: Document) -> NDArray[np.int8]:
        """0 or 1 for each token."""
        return self.task.labels.token_targets(document)[:, 0]  # type: ignore[index]

    @property
    def cut(self) -> str:
        """How texts become tokens, where they came without."""
        return "whitespace" if self.task.pretokenised else "words"

    def explained(self, documents: Sequence[Document], contestant: Contestant, name: str) -> Timed:
        """All documents, one by one; the first is explained once before, since much is set up on the way. A method that
        reads many documents together is given all of them at once, too, to see how long that takes."""
        contestant.score(documents[:1])
        scores, seconds = [], 0.0
        for document in progress(documents, unit="doc", desc=name):
            began = time.perf_counter()
            scores += contestant.score([document])
            seconds += time.perf_counter() - began
        batched = seconds
        if contestant.batched:
            contestant.score(documents)
            began = time.perf_counter()
            contestant.score(documents)
            batched = time.perf_counter() - began
        decided = [contestant.decide(document) for document in documents]
        truth = [self.truth(document) for document in documents]
        count = len(documents)
        return Timed(Explained.of(scores, decided, truth), decided, seconds / count, batched / count)


@dataclass(frozen=True)
class Timed:
    """Documents explained, with the seconds that one took, by itself and as one of all at once."""

    explained: Explained
    decided: list[bool]
    seconds: float
    seconds_batched: float


class Heat:
    """One task with one seed: models are trained, or read, when a method first needs them."""

    def __init__(self, track: Track, settings: Settings, folder: Path) -> None:
        if settings.cache is None and pick_device(settings.device).type != "cpu":
            settings = replace(settings, cache="")  # on a GPU encoding again is quicker than the disk
        self._track, self._settings, self._folder = track, settings, folder
        self._name = f"{track.task.name}-{settings.seed}"
        self._told = _told(settings)

    def result(self, method: str, say: Tell) -> dict[str, Any]:
        """What the method comes to, or came to when an earlier run was at it."""
        path = self._folder / "steps" / f"{self._name}-{method}.json"
        identity: dict[str, Any] = {
            "schema": SCHEMA,
            "task": self._track.task.to_json(),
            "method": method,
            "seed": self._settings.seed,
            "documents": len(self._track.test),
            "dev_documents": len(self._track.dev or []),
            "settings": self._told,
        }
        if path.exists():
            kept = _read(path)
            if {name: kept.get(name) for name in identity} != identity:
                raise SettingError(
                    f"{path} holds results of other documents or settings; give another `out`, or delete the folder"
                )
            return kept
        result = identity | self._figures(method)
        make_folder(path.parent)
        write_json(path, result)
        natural, seconds = result["natural"], result["seconds"]
        say(f"{self._name} {method}: F0.5 {100 * natural['f0.5']:.1f}, {seconds:.3g} s a document")
        return result

    def _figures(self, method: str) -> dict[str, Any]:
        track, contestant = self._track, self._contestant(method)
        test = track.explained(track.test, contestant, method)
        dev = None
        if track.dev is not None:
            dev = track.explained(track.dev, contestant, f"{method} (dev)").explained
        truth = track.document_truth
        return {
            **figures(test.explained, dev, within=contestant.within),
            "document_accuracy": float(np.mean(np.array(test.decided) == truth)),
            "seconds": test.seconds,
            "seconds_batched": test.seconds_batched,
            "device": _device(self._settings.device),
        }

    def _contestant(self, method: str) -> Contestant:
        task = self._track.task
        if method == "decomposition":
            return Decomposition(self._model)
        if method == "knn":
            return ExemplarKNN.fit(self._model, task.train, task.dev)
        return Explanation(self._classifier, EXPLAINERS[method])

    @cached_property
    def _model(self) -> Model:
        """Ours. It is written when it is whole, and read from there: what is measured can be looked at."""
        task = self._track.task
        digest = hashlib.sha256(json.dumps([task.digest, self._told], sort_keys=True).encode()).hexdigest()
        folder = self._folder / "models" / f"{self._name}-{digest[:12]}"  # never one of other settings
        if not (folder / "model.json").exists():
            save_model(train(self._settings, task.train, task.dev, options=self._work), folder)
        return load_model(folder, device=self._settings.device)

    @cached_property
    def _classifier(self) -> Classifier:
        """The usual one, of the encoder as it comes, tuned in the same way on the same documents."""
        own, task = self._settings, self._track.task
        encoder = Transformer.load(
            own.encoder,
            layers=[depth(own.encoder)],
            device=own.device,
            precision=own.precision,
            max_length=own.max_length,
        )
        documents = [document.recut(own.tokens) for document in task.train]
        return Classifier.train(encoder, documents, task.labels, seed=own.seed, options=self._work)

    @property
    def _work(self) -> RunOptions:
        work = self._folder / "work" / self._name
        make_folder(work)
        return RunOptions(work, resume=True)


def _told(settings: Settings) -> dict[str, Any]:
    """The settings with the encoder told by name and by what is in it, wherever it lies."""
    folder = locate(settings.encoder)
    name = folder.name if Path(settings.encoder).expanduser().is_dir() else settings.encoder
    return settings.to_json() | {"encoder": name, "fingerprint": fingerprint(folder)}


def _shared(step: dict[str, Any]) -> dict[str, Any]:
    """The settings that all results of a race have in common: texts are cut as the task needs it."""
    return {name: value for name, value in step["settings"].items() if name not in ("seed", "tokens")}


def _explained(step: dict[str, Any]) -> tuple[Any, ...]:
    """What all results of a task have in common."""
    return step["task"], step["documents"], step["dev_documents"], step["settings"]["tokens"]


def _steps(folder: Path) -> list[dict[str, Any]]:
    """The results in a folder, the newest first."""
    paths = sorted((folder / "steps").glob("*.json"))
    return [_read(path) for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True)]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except ValueError as error:
        raise SettingError(f"{path} is damaged ({error}); delete it") from None
    if not isinstance(found, dict):
        raise SettingError(f"{path} is damaged; delete it")
    return found


def _device(name: str) -> str:
    """What the seconds were taken on."""
    device = pick_device(name)
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"
