"""Labelling many files: one shard after another, here or wherever workers are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from exaudit._files import make_folder, replace_file, sha256_file
from exaudit._progress import progress
from exaudit.audit.audited import Rule
from exaudit.batch.answers import Format, answers_in
from exaudit.batch.place import WorkerModel
from exaudit.batch.reading import FileReader
from exaudit.batch.shards import OutputFolder, Shard, shards
from exaudit.batch.sources import SourceFile
from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.model.model import Model
from exaudit.model.scores import Scores

__all__ = ["LabelJob", "Labelled", "Outcome", "label_files"]

LOOK = 2048  # documents of a shard whose length and language are looked at

Spread = Callable[
    [Callable[[], Callable[[Shard], "Outcome"]], Iterable[Shard]], Generator["Outcome", None, None]
]


@dataclass(frozen=True)
class Outcome:
    """What came of a shard: so many documents labelled, or the reason why it cannot be read."""

    file: SourceFile
    documents: int = 0
    remarks: tuple[str, ...] = ()
    damage: DataError | None = None


@dataclass(frozen=True)
class LabelJob:
    """All that a worker needs to label shards, wherever it runs."""

    model: WorkerModel
    out: str
    reader: FileReader
    rule: Rule | None = None
    format: Format = "jsonl"  # of the output

    def start(self) -> Callable[[Shard], Outcome]:
        """Load the model, once for many shards."""
        return _ShardLabeler(self)

    def told(self) -> dict[str, Any]:
        """What the output depends on; not the places of things, nor the machine."""
        told = asdict(self.reader) | {
            "model": sha256_file(Path(self.model.folder, "model.json")),
            "rule": self.rule,
            "precision": self.model.precision,
            "format": self.format,
        }
        if self.rule is not None:
            told["support"] = self.model.open().support.version
        knn = Path(self.model.folder, "knn.json")
        if self.rule == "knn" and knn.is_file():
            told["knn"] = sha256_file(knn)
        return told


class _ShardLabeler:
    """A model at work: what is labelled of a shard shows when all of it is."""

    def __init__(self, job: LabelJob) -> None:
        self._job = job
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._auditor = None if job.rule is None else job.model.open()
            self._model = job.model.load() if self._auditor is None else self._auditor.model
        self._caught = [
            f"warning: {each.message}" for each in caught if issubclass(each.category, UserWarning)
        ]

    def __call__(self, shard: Shard) -> Outcome:
        remarks: list[str] = []
        job, labels = self._job, self._model.labels
        target = Path(job.out, f"{shard.name}.{job.format}")
        try:
            documents = self._documents(shard, remarks)
            first = list(islice(documents, LOOK))
            remarks += [*self._caught, *(f"{shard.file.name}: {note}" for note in _notes(self._model, first))]
            make_folder(target.parent)
            count = 0
            with replace_file(target, clear=False) as temporary:  # `tidy` does that once for all
                with answers_in(temporary, job.format, labels, job.rule) as write:
                    for scores in self._label(chain(first, documents)):
                        write(scores.to_json(labels))
                        count += 1
                if self._auditor is not None:
                    self._auditor.wait_verified()  # before the file is put in its place
        except DataError as error:
            return Outcome(shard.file, damage=error.at(shard.file.place))
        return Outcome(shard.file, count, tuple(remarks))

    def _documents(self, shard: Shard, remarks: list[str]) -> Iterator[Document]:
        if shard.documents is not None:
            return iter(shard.documents)
        return self._job.reader.read(shard.file, remarks)

    def _label(self, documents: Iterable[Document]) -> Iterable[Scores]:
        if self._auditor is None:
            return self._model.iter_label(documents)
        return self._auditor.iter_label(documents, rule=self._job.rule, nearest=True)


@dataclass
class Labelled:
    """What `label_files` did."""

    documents: int = 0
    shards: int = 0
    done_before: int = 0  # shards
    set_aside: dict[SourceFile, str] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)  # each once


def label_files(
    job: LabelJob, files: Sequence[SourceFile], *, spread: Spread | None = None, skip: bool = False
) -> Labelled:
    """Label all files into the folder of the job, but for what is labelled there already.

    Parameters
    ----------
    spread
        Does the work of shards, in any order; by default one after another, here.
    skip
        Leave out files that are damaged, rather than stop at the first.
    """
    out = OutputFolder(Path(job.out), job.told(), files, job.format)
    result, noted = Labelled(), list[str]()

    def failed(file: SourceFile, error: DataError) -> None:
        result.set_aside[file] = str(error)
        if not skip:
            raise error

    found = shards(files, out, lambda file: job.reader.read(file, noted), failed)
    try:
        with ExitStack() as stack:
            bar = stack.enter_context(progress(unit="doc", desc=None if spread is None else "label"))
            outcomes = stack.enter_context(closing((spread or _here)(job.start, found)))
            for outcome in outcomes:
                if outcome.damage is not None:
                    failed(outcome.file, outcome.damage)
                    continue
                result.documents += outcome.documents
                result.shards += 1
                result.remarks.update(dict.fromkeys(outcome.remarks))
                bar.update(outcome.documents)
    finally:
        if result.set_aside:
            out.set_aside(result.set_aside)
    out.tidy()
    result.remarks.update(dict.fromkeys(noted))
    result.done_before = out.passed
    return result


def _here(
    start: Callable[[], Callable[[Shard], Outcome]], items: Iterable[Shard]
) -> Generator[Outcome, None, None]:
    work = None
    for item in items:
        work = work or start()  # not at all where nothing is left to do
        yield work(item)


def _notes(model: Model, documents: Sequence[Document]) -> list[str]:
    found = model.note_on_language(documents), model.note_on_length(documents)
    return [note for note in found if note]
