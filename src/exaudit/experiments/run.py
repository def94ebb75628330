"""One run of the experiments: its settings, its folder, and the steps and models that are done."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from exaudit._device import pick_device
from exaudit._files import make_folder, sha256_file, write_json
from exaudit.data.document import Document
from exaudit.encode.cache import CachedTransformer
from exaudit.encode.layers import depth, last_layers
from exaudit.encode.transformer import Transformer
from exaudit.errors import SettingError
from exaudit.experiments.provenance import code_used
from exaudit.experiments.recipe import RECIPES, Recipe
from exaudit.experiments.step_result import StepResult, read_object
from exaudit.model.folder import load_model, save_model
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.settings import Settings
from exaudit.model.train import train

__all__ = ["Run", "RunSettings"]


@dataclass(frozen=True)
class RunSettings:
    """What may differ between runs. Their results are never mixed: each has a folder of its own."""

    encoder: str = "minilm"
    tune_encoder: bool = False
    fast: bool = False  # a tenth of the data
    seeds: tuple[int, ...] = (0,)  # of the headline rows; the others take the first
    epochs: int | None = None  # of every head; None: what each loss takes by default
    filters: int = 1000
    word_vectors: str | None = None  # for the baseline `cnn`; with the paper's recipe, for every model
    sample: bool = False  # made-up corpora
    recipe: str = "stable"  # or "paper", to its letter

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise SettingError(f"unknown recipe {self.recipe!r}; use one of {', '.join(RECIPES)}")
        if self.recipe == "paper" and self.tune_encoder:
            raise SettingError(
                "the paper's encoder stays as it is: leave out --tune-encoder, or --recipe paper"
            )

    @property
    def encoder_name(self) -> str:
        """For people and tables: a folder's own name, without the folders it is in; hub names stay whole."""
        name = self.encoder
        is_folder = name[:1] in (".", "/", "~") or name.count("/") > 1 or Path(name).is_dir()
        return Path(name).name if is_folder else name

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "seeds": list(self.seeds)}

    @classmethod
    def read(cls, path: Path) -> RunSettings:
        return cls.from_json(read_object(path))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RunSettings:
        """Settings of any version: one that was not there yet has its default, one that is gone is ignored."""
        known = {field.name for field in fields(cls)}
        kept = {name: value for name, value in value.items() if name in known}
        return cls(**kept | {"seeds": tuple(kept.get("seeds", cls.seeds))})

    def extends(self, earlier: RunSettings) -> bool:
        """Whether earlier results are results of these settings: the same, with more seeds perhaps."""
        seeds = self.seeds[: len(earlier.seeds)]
        return seeds == earlier.seeds and replace(self, seeds=seeds) == earlier


class Run:
    """A folder with `settings.json`, `data.json` (digests), `steps/*.json` (what each step found) and `models/`."""

    def __init__(
        self, folder: Path, data: Path, settings: RunSettings, *, device: str = "auto", steps: str = "*"
    ) -> None:
        """steps : which to run, as in "fce-*-1,fce-cnn", so that several processes can share the work."""
        self.folder, self.data, self.settings, self.device = folder, data, settings, device
        self._patterns = [pattern.strip() for pattern in steps.split(",")]
        if folder.exists() and not folder.is_dir():
            raise SettingError(f"{folder} is a file; --out is a folder for the results")
        make_folder(folder)
        self._step_names: set[str] = set()
        self.left_to_others: set[str] = set()  # steps that other processes are at
        path = folder / "settings.json"
        if path.exists() and not settings.extends(RunSettings.read(path)):
            raise SettingError(
                f"{folder} holds results of other settings ({path}); give another --out, or delete the folder"
            )
        write_json(path, settings.to_json())

    @property
    def seed(self) -> int:
        return self.settings.seeds[0]

    @property
    def recipe(self) -> Recipe:
        return RECIPES[self.settings.recipe]

    def check_data(self, files: Iterable[str]) -> None:
        """Remember what the files of the data folder hold, and refuse to go on with a file that has changed."""
        path = self.folder / "data.json"
        kept: dict[str, str] = read_object(path) if path.exists() else {}
        found = {name: sha256_file(self.data / name) for name in files if (self.data / name).is_file()}
        for name, digest in found.items():
            if kept.get(name, digest) != digest:
                raise SettingError(
                    f"{self.folder} holds results of another {name} than the one in {self.data}; give another --out, "
                    "or delete the folder"
                )
        write_json(path, kept | found)

    def step(self, name: str, make: Callable[[], StepResult]) -> StepResult:
        """What `make` finds, or found when this step was done before; nothing while another process is at it."""
        self._step_names.add(name)
        path = self.folder / "steps" / f"{name}.json"
        if path.exists():
            self.left_to_others.discard(name)
            return StepResult.read(path)
        if not any(fnmatch(name, pattern) for pattern in self._patterns):
            return StepResult()
        locks = self.folder / ".locks"
        for folder in (path.parent, locks):
            folder.mkdir(exist_ok=True)
        lock = FileLock(locks / name)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            self.left_to_others.add(name)
            return StepResult()
        try:
            self.left_to_others.discard(name)
            return StepResult.read(path) if path.exists() else _made(name, make, path)
        finally:
            lock.release()

    def check_steps(self) -> None:
        """Refuse patterns that named no step, once all steps were asked for."""
        for pattern in self._patterns:
            if not any(fnmatch(name, pattern) for name in self._step_names):
                names = ", ".join(sorted(self._step_names))
                raise SettingError(f"--steps: no step is called {pattern!r}; the steps are {names}")

    def model(
        self,
        name: str,
        documents: Sequence[Document],
        dev: Sequence[Document],
        *,
        data: str = "sentences",
        init: str | None = None,
        **settings: Any,
    ) -> Model:
        """A model trained with these settings, or the one that was trained when the run came by before.

        data : "sentences" or "reviews", whose settings the recipe knows.
        init : the name of the model to go on from.
        """
        models = self.folder / "models"
        folder = models / name
        models.mkdir(exist_ok=True)
        # Of processes that share the folder, one trains and the others wait.
        with FileLock(models / f".{name}.lock"):
            if not (folder / "model.json").exists():
                work = models / f"{name}.part"
                work.mkdir(exist_ok=True)
                save_model(
                    self._trained(documents, dev, self._model_settings(data, settings), init, work), folder
                )
                shutil.rmtree(work)
        model = load_model(folder, device=self.device)
        if model.encoder is not None and self._cache is None:
            cached = CachedTransformer(model.encoder)  # encode once, label many times
            # It does all that labelling asks of a Transformer.
            model = replace(model, encoder=cast("Transformer", cached))
        return model

    def _trained(
        self,
        documents: Sequence[Document],
        dev: Sequence[Document],
        settings: Settings,
        init: str | None,
        work: Path,
    ) -> Model:
        """Goes on from what is in `work`, if training was stopped there."""
        if (
            settings.loss != "token"
        ):  # token labels are for the token loss alone: no other model ever sees one
            documents, dev = ([d.without_token_labels() for d in side] for side in (documents, dev))
        start = None if init is None else load_model(self.folder / "models" / init, device=self.device)
        options = RunOptions(work, resume=True)
        return train(settings, list(documents), list(dev), init=start, options=options)

    @property
    def _cache(self) -> str | None:
        """On a GPU encoding again is quicker than the disk."""
        return None if pick_device(self.device).type == "cpu" else ""

    def _model_settings(self, data: str, given: dict[str, Any]) -> Settings:
        """What the experiment says of a model, over what the run says of all, over the recipe."""
        own, recipe = self.settings, self.recipe
        settings: dict[str, Any] = {
            "tokens": "whitespace",
            "passage": 0,  # as in the paper
            "precision": "float32",  # the same figures on every machine
            "recipe": recipe.name,
            **recipe.model,
            **recipe.by_loss.get(given.get("loss", "document"), {}),
            **(recipe.sentences if data == "sentences" else recipe.reviews),
            "encoder": own.encoder,
            "filters": own.filters,
            "seed": self.seed,
            **({} if own.epochs is None else {"epochs": own.epochs}),
            **given,
        }
        if recipe.vectors_beside_encoder:
            settings["word_vectors"] = own.word_vectors
        if settings["encoder"] == "none":  # words alone have no pieces to cut after, and no layers
            settings = {
                name: value for name, value in settings.items() if name not in ("max_length", "layers")
            }
        elif settings.get("layers") == "last four":
            settings["layers"] = tuple(last_layers(depth(settings["encoder"])))
        return Settings(device=self.device, cache=self._cache, **settings)


def _made(name: str, make: Callable[[], StepResult], path: Path) -> StepResult:
    began = time.monotonic()
    print(f"{name} ...", file=sys.stderr, flush=True)
    found = make()
    found.seconds = round(time.monotonic() - began, 1)
    found.code = code_used()
    write_json(path, found.to_json())
    print(f"{name}: {found.seconds:.0f} s", file=sys.stderr, flush=True)
    return found
