"""Every task by every recipe and seed: what models that learnt from document labels alone make of the test words.

OUT/settings.json                  what all runs have in common
OUT/runs/TASK.RECIPE.SEED.json     the figures of a finished run: who starts again goes on after the last of them
OUT/work/                          checkpoints of a run that was stopped
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from exaudit._device import pick_device
from exaudit._files import make_folder, read_json, write_json
from exaudit._version import __version__
from exaudit.analyse.evaluation import Evaluation
from exaudit.benchmark.choices import check_once, check_seeds
from exaudit.benchmark.measures import boundary_measures, word_measures
from exaudit.benchmark.task import Task
from exaudit.data.columns import listed
from exaudit.encode.locate import fingerprint, locate
from exaudit.errors import SettingError
from exaudit.model.boundaries import knows_choices, with_boundary_at_zero, with_choice
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.settings import Settings
from exaudit.model.train import train

__all__ = ["RECIPES", "Recipe", "WordRun", "benchmark_words", "measure_model", "read_runs", "read_settings"]

Tell = Callable[[str], None]
Pair = tuple[Task, int]  # and a seed
Spread = Callable[[Callable[[], Callable[[Pair], list[str]]], Iterable[Pair]], Iterable[list[str]]]


@dataclass(frozen=True)
class Recipe:
    """A way to train: what it changes of the settings, and the recipe whose model it goes on from."""

    changes: Mapping[str, Any]
    after: str | None = None


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "frozen": Recipe({"loss": "document", "tune_encoder": False}),
        "min-max": Recipe({"loss": "min-max", "tune_encoder": False, "boundary": None}, after="frozen"),
        "tuned": Recipe({"loss": "document", "tune_encoder": True}),
    }
)


@dataclass(frozen=True)
class WordRun:
    """One finished run.

    Parameters
    ----------
    task
        What `Task.to_json` says of it.
    recipe, seed, tokens
        How it was trained, and how texts that came without tokens were cut.
    words
        What `exaudit.benchmark.measures.word_measures` gives: `ap`, `best`, `flagged`, and the figures at the
        boundaries for `f0.5` and `f1`, and at `zero`; `default` has the F-score that each of the first two is for.
    documents
        `f1` and `accuracy` of the test documents.
    boundaries
        Where they are, a number for each class.
    seconds
        For `train` (None: it was stopped in between) and `label`.
    device, version
        Where it ran, and by which version.
    """

    task: dict[str, Any]
    recipe: str
    seed: int
    tokens: str
    words: dict[str, Any]
    documents: dict[str, float]
    boundaries: dict[str, list[float]]
    seconds: dict[str, float | None]
    device: str
    version: str


def benchmark_words(
    tasks: Sequence[Task],
    out: Path,
    *,
    recipes: Sequence[str] = tuple(RECIPES),
    seeds: Sequence[int] = (0, 1, 2),
    settings: Settings | None = None,
    tokens: str | None = None,
    tell: Tell | None = None,
    spread: Spread | None = None,
) -> list[WordRun]:
    """Train and measure every task by every recipe and seed. What `out` holds already is not run again.

    Parameters
    ----------
    tasks
        With token truth in their test documents.
    out
        Folder for the figures.
    recipes
        frozen, min-max (frozen first, then that loss) or tuned.
    seeds
        Each trains every model once.
    settings
        What the recipes have in common: encoder, filters, device and so on.
    tokens
        How texts are cut; by default at white space where all documents of a task have tokens of their own, else
        into words.
    tell
        Hears of every run that begins and ends.
    spread
        Does the tasks and seeds elsewhere, as the workers of a cluster that share `out`; by default one after another.
    """
    settings = settings or Settings()
    tell = tell or (lambda _: None)
    _check(tasks, recipes, seeds, settings)
    _claim(out, settings, tokens)
    bench = _Bench(out.resolve(), tuple(recipes), settings, tokens)
    pairs = [(task, seed) for task in tasks for seed in seeds]
    if spread is None:
        for task, seed in pairs:
            bench.run(task, seed, tell)
    else:
        if Path(settings.encoder).exists():
            bench = replace(bench, settings=replace(settings, encoder=str(Path(settings.encoder).resolve())))
        for lines in spread(bench.start, pairs):
            for line in lines:
                tell(line)
    return [_read(bench.path(task, name, seed), task) for task, seed in pairs for name in recipes]


@dataclass(frozen=True)
class _Bench:
    """What all runs have in common, wherever they are done."""

    out: Path
    recipes: tuple[str, ...]
    settings: Settings
    tokens: str | None

    def path(self, task: Task, name: str, seed: int) -> Path:
        """Of the figures of a run."""
        return self.out / "runs" / f"{task.name}.{name}.{seed}.json"

    def run(self, task: Task, seed: int, tell: Tell) -> None:
        """Every recipe that was not run before."""
        own = replace(self.settings, seed=seed, tokens=self.tokens or _cut(task))
        trainer = _Trainer(task, own, self.out / "work" / task.digest[:16], {})
        for name in self.recipes:
            path = self.path(task, name, seed)
            if path.exists():
                _read(path, task)  # it may be of another task of this name
            else:
                write_json(path, asdict(_run(trainer, name, tell)))
        for name in {*self.recipes, *trainer.models}:
            shutil.rmtree(trainer.work(name), ignore_errors=True)
        with suppress(OSError):  # another process may be at work there, on other seeds or tasks
            trainer.checkpoints.rmdir()
            trainer.checkpoints.parent.rmdir()

    def start(self) -> Callable[[Pair], list[str]]:
        """For a worker: what it gives runs a task and a seed, and returns what there is to tell."""

        def work(pair: Pair) -> list[str]:
            told: list[str] = []
            self.run(*pair, told.append)
            return told

        return work


def measure_model(model: Model, task: Task) -> dict[str, Any]:
    """The figures of a model on the test documents: `words`, `documents`, `boundaries` and `label_seconds`."""
    began = time.monotonic()
    labelled = model.label([document.without_token_labels() for document in task.test])
    seconds = time.monotonic() - began
    choices = {name: with_choice(model, name) if knows_choices(model) else model for name in ("f0.5", "f1")}
    boundaries = {name: list(own.word_boundaries) for name, own in choices.items()}
    scores, plain = (
        [np.stack([getattr(view, kind) for view in own.views], 1) for own in labelled]
        for kind in ("weighed", "scores")
    )  # (N, K) each
    words = word_measures(scores, task.truth, task.document_truth, boundaries)
    words["default"] = {name: words[name][name] for name in boundaries}  # each at its own
    boundaries["zero"] = list(with_boundary_at_zero(model).word_boundaries)
    words["zero"] = boundary_measures(plain, task.truth, boundaries["zero"])
    known = [replace(own, document=document) for own, document in zip(labelled, task.test, strict=True)]
    whole = Evaluation.of(known, task.labels).document_metrics()
    return {
        "words": words,
        "documents": {"f1": whole.get("f1", whole.get("macro_f1", 0.0)), "accuracy": whole["accuracy"]},
        "boundaries": boundaries,
        "label_seconds": seconds,
    }


def read_settings(out: Path) -> dict[str, Any]:
    """What all runs of a folder have in common."""
    return _json(out / "settings.json")


def read_runs(out: Path) -> list[WordRun]:
    """The finished runs of a folder, by task, recipe and seed."""
    paths = sorted((out / "runs").glob("*.json"))
    if not paths:
        raise SettingError(
            f"{out} holds no finished run; give the folder of a benchmark, when one of its runs is done"
        )
    order = {name: n for n, name in enumerate(RECIPES)}
    runs = [_read(path) for path in paths]
    return sorted(runs, key=lambda r: (r.task["name"], order.get(r.recipe, len(order)), r.recipe, r.seed))


@dataclass(frozen=True)
class _Trainer:
    """Trains the models of one task and seed, each once."""

    task: Task
    settings: Settings
    checkpoints: Path
    models: dict[str, tuple[Model, float | None]]  # those trained so far, and their seconds

    def work(self, name: str) -> Path:
        """Where a recipe keeps its checkpoints."""
        return self.checkpoints / f"{name}.{self.settings.seed}"

    def model(self, name: str) -> tuple[Model, float | None]:
        """The model of a recipe, and the seconds that it took, with those of the model that it goes on from."""
        if name not in self.models:
            self.models[name] = self._trained(name)
        return self.models[name]

    def _trained(self, name: str) -> tuple[Model, float | None]:
        recipe, work = RECIPES[name], self.work(name)
        init, before = (None, 0.0) if recipe.after is None else self.model(recipe.after)
        resumed = work.exists()
        model = train(
            replace(self.settings, cache=self._cache, **recipe.changes),
            list(self.task.train),
            list(self.task.dev),
            init=init,
            options=RunOptions(work, resume=True),
        )
        seconds = None if resumed or before is None else before + float(model.record["seconds"])
        return model, seconds

    @property
    def _cache(self) -> str | None:
        """On a GPU encoding again is quicker than the disk."""
        on_cpu = pick_device(self.settings.device).type == "cpu"
        return self.settings.cache if on_cpu or self.settings.cache is not None else ""


def _run(trainer: _Trainer, name: str, tell: Tell) -> WordRun:
    task, seed = trainer.task, trainer.settings.seed
    tell(f"{task.name}, {name}, seed {seed} ...")
    model, seconds = trainer.model(name)
    figures = measure_model(model, task)
    words = figures["words"]
    tell(
        f"{task.name}, {name}, seed {seed}: AP {100 * words['ap']:.1f}, at the default boundary F1 "
        f"{100 * words['default']['f1']:.1f} and F0.5 {100 * words['default']['f0.5']:.1f}"
    )
    return WordRun(
        task.to_json(),
        name,
        seed,
        trainer.settings.tokens,
        words,
        figures["documents"],
        figures["boundaries"],
        {
            "train": None if seconds is None else round(seconds, 1),
            "label": round(figures["label_seconds"], 2),
        },
        model.record["device"],
        __version__,
    )


def _check(tasks: Sequence[Task], recipes: Sequence[str], seeds: Sequence[int], settings: Settings) -> None:
    """What would only show after the first hour."""
    if not tasks:
        raise SettingError("there is no task to run; give a folder of tasks, or `samples`")
    names = [task.name for task in tasks]
    for what, given in (("task", names), ("recipe", recipes), ("seed", seeds)):
        check_once(what, given)
    check_seeds(seeds)
    if not recipes or not seeds:
        raise SettingError(f"no {'seeds' if recipes else 'recipes'} to run; give one or more")
    if unknown := [name for name in recipes if name not in RECIPES]:
        raise SettingError(f"there is no recipe {unknown[0]!r}; the recipes are {listed(list(RECIPES))}")
    if settings.encoder == "none" and "tuned" in recipes:
        raise SettingError(
            "the recipe tuned tunes an encoder, and `encoder=none` has none; give `recipes` without it"
        )
    pick_device(settings.device)


def _claim(out: Path, settings: Settings, tokens: str | None) -> None:
    """Take a folder for runs with these settings, unless it has runs with others."""
    if out.exists() and not out.is_dir():
        raise SettingError(f"{out} is a file; `out` is a folder for the results")
    own = settings.to_json() | {"tokens": tokens, "seed": None}
    if settings.encoder != "none":
        folder = locate(settings.encoder)
        is_path = Path(settings.encoder).expanduser().is_dir()
        own |= {"encoder": folder.name if is_path else settings.encoder, "fingerprint": fingerprint(folder)}
    path = out / "settings.json"
    make_folder(out / "runs")
    if path.exists():
        there = _json(path)
        if differing := sorted(
            name for name in own.keys() | there.keys() if own.get(name) != there.get(name)
        ):
            name = differing[0]
            raise SettingError(
                f"{out} holds runs with another {name} ({there.get(name)!r}, now {own.get(name)!r}); give another "
                "`out`, or delete the folder"
            )
    write_json(path, own)


def _cut(task: Task) -> str:
    return "whitespace" if task.pretokenised else "words"


def _read(path: Path, task: Task | None = None) -> WordRun:
    try:
        run = WordRun(**_json(path))
    except TypeError:
        raise SettingError(f"{path} is no run of this version; delete it, and it is run again") from None
    if task is not None and run.task["digest"] != task.digest:
        raise SettingError(
            f"{path} is a run on other documents than the task {task.name!r} has now; give another `out`, or delete it"
        )
    return run


def _json(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except (ValueError, FileNotFoundError):
        found = None
    if not isinstance(found, dict):
        raise SettingError(f"{path} is missing or damaged; delete it, or the whole folder, and run again")
    return found
