"""One run of the experiments: its settings, its folder, and the steps and models that are done."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from exaudit._device import pick_device
from exaudit._files import sha256_file, write_json
from exaudit.data.document import Document
from exaudit.encode.cache import CachedTransformer
from exaudit.encode.transformer import Transformer
from exaudit.errors import SettingError
from exaudit.experiments.figures import Figures, read_object
from exaudit.model.labeler import Labeler

__all__ = ["Run", "Settings"]


@dataclass(frozen=True)
class Settings:
    """What may differ between runs. Their results are never mixed: each has a folder of its own."""

    encoder: str = "minilm"
    tune_encoder: bool = False
    fast: bool = False  # a tenth of the data
    seeds: tuple[int, ...] = (0,)  # of the headline rows; the others take the first
    epochs: int | None = None  # of every head; None: what each loss takes by default
    filters: int = 1000
    word_vectors: str | None = None  # for the baseline `cnn`
    sample: bool = False  # made-up corpora
    teachers: int = 1  # of each tuned student

    @property
    def encoder_name(self) -> str:
        """For people and tables: a folder's own name, without the folders it is in; hub names stay whole."""
        name = self.encoder
        is_folder = name[:1] in (".", "/", "~") or name.count("/") > 1 or Path(name).is_dir()
        return Path(name).name if is_folder else name

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "seeds": list(self.seeds)}


class Run:
    """A folder with `settings.json`, `data.json` (digests), `steps/*.json` (what each step found) and `models/`."""

    def __init__(
        self, folder: Path, data: Path, settings: Settings, *, device: str = "auto", only: str = "*"
    ) -> None:
        """only : the steps to run, as in "fce-*-1,fce-cnn", so that several processes can share the work."""
        self.folder, self.data, self.settings, self.device, self.only = folder, data, settings, device, only
        if folder.exists() and not folder.is_dir():
            raise SettingError(f"{folder} is a file; --out is a folder for the results")
        folder.mkdir(parents=True, exist_ok=True)
        self._asked: set[str] = set()
        self.left: set[str] = set()  # to other processes, which are at these steps
        kept = folder / "settings.json"
        if kept.exists() and not _extends(Settings().to_json() | read_object(kept), settings.to_json()):
            raise SettingError(
                f"{folder} holds results of other settings ({kept}); give another --out, or delete the folder"
            )
        write_json(kept, settings.to_json())

    @property
    def seed(self) -> int:
        return self.settings.seeds[0]

    @property
    def tuning(self) -> dict[str, Any]:
        """How models of document labels go about their encoder."""
        return {"tune_encoder": self.settings.tune_encoder, "teachers": self.settings.teachers}

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

    def step(self, name: str, make: Callable[[], Figures]) -> Figures:
        """What `make` finds, or found when this step was done before; nothing while another process is at it."""
        self._asked.add(name)
        path = self.folder / "steps" / f"{name}.json"
        if path.exists():
            self.left.discard(name)
            return Figures.read(path)
        if not any(fnmatch(name, pattern.strip()) for pattern in self.only.split(",")):
            return Figures()
        locks = self.folder / ".locks"
        for folder in (path.parent, locks):
            folder.mkdir(exist_ok=True)
        lock = FileLock(locks / name)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            self.left.add(name)
            return Figures()
        try:
            self.left.discard(name)
            return Figures.read(path) if path.exists() else _made(name, make, path)
        finally:
            lock.release()

    def check_steps(self) -> None:
        """Refuse patterns that named no step, once all steps were asked for."""
        for pattern in self.only.split(","):
            if not any(fnmatch(name, pattern.strip()) for name in self._asked):
                names = ", ".join(sorted(self._asked))
                raise SettingError(f"--steps: no step is called {pattern.strip()!r}; the steps are {names}")

    def model(
        self,
        name: str,
        train: Sequence[Document],
        dev: Sequence[Document],
        *,
        init: str | None = None,
        clean: Sequence[Sequence[str]] = (),
        **settings: Any,
    ) -> Labeler:
        """A model trained with these settings, or the one that was trained when the run came by before.

        init : the name of the model to go on from.
        clean : texts to rehearse with.
        """
        models = self.folder / "models"
        folder = models / name
        models.mkdir(exist_ok=True)
        # Of processes that share the folder, one trains and the others wait.
        with FileLock(models / f".{name}.lock"):
            if not (folder / "model.json").exists():
                work = models / f"{name}.part"
                work.mkdir(exist_ok=True)
                labeler = self._labeler(settings)
                start = None if init is None else Labeler.load(models / init, device=self.device)
                labeler.fit(_without_labels(train, labeler), dev=_without_labels(dev, labeler), init=start,
                            clean=clean, work=work, resume=True)  # fmt: skip
                labeler.save(folder)
                shutil.rmtree(work)
        labeler = Labeler.load(folder, device=self.device)
        if isinstance(labeler.encoder_, Transformer) and self._cache is None:
            cached = CachedTransformer(labeler.encoder_)  # encode once, label many times
            labeler.encoder_ = cast("Transformer", cached)  # it can do all of it that labelling takes
        return labeler

    @property
    def _cache(self) -> str | None:
        """On a GPU encoding again is quicker than the disk."""
        return None if pick_device(self.device).type == "cpu" else ""

    def _labeler(self, settings: dict[str, Any]) -> Labeler:
        own = self.settings
        common: dict[str, Any] = {
            "encoder": own.encoder,
            "filters": own.filters,
            "epochs": own.epochs,
            "seed": self.seed,
            # The paper's, unless there are token labels to tune it with; rows with another one say so.
            "boundary": None if settings.get("loss") == "token" else "zero",
        }
        return Labeler(device=self.device, cache=self._cache, **(common | settings))


def _made(name: str, make: Callable[[], Figures], path: Path) -> Figures:
    began = time.monotonic()
    print(f"{name} ...", file=sys.stderr, flush=True)
    found = make()
    found.seconds = round(time.monotonic() - began, 1)
    write_json(path, found.to_json())
    print(f"{name}: {found.seconds:.0f} s", file=sys.stderr, flush=True)
    return found


def _extends(kept: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Whether results of `kept` are results of `asked`: the same settings, with more seeds perhaps."""
    first = asked["seeds"][: len(kept["seeds"])]
    return kept | {"seeds": first} == asked | {"seeds": first} and kept["seeds"] == first


def _without_labels(documents: Sequence[Document], labeler: Labeler) -> list[Document]:
    """Token labels are for the token loss alone: no other model of an experiment ever sees one."""
    if labeler.loss == "token":
        return list(documents)
    return [document.without_token_labels() for document in documents]
