"""A task to be measured on: documents to train on, whose words are not labelled, and test documents whose words are.

    read_tasks("tasks")       # tasks/NAME.train.jsonl, NAME.dev.jsonl, NAME.test.jsonl; or NAME/train.csv, ...
    sample_task("reviews")    # built in

Any format that exaudit reads will do. Where documents have token labels alone, a document has the labels that its
tokens have; only then are the token labels of train and dev taken away.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from exaudit.data.columns import listed
from exaudit.data.document import Document, Label
from exaudit.data.labels import LabelSet
from exaudit.data.notes import Notes
from exaudit.data.readers import read_documents
from exaudit.data.sample import SampleKind, sample_splits
from exaudit.data.spelling import folded
from exaudit.errors import DataError, SettingError
from exaudit.model.split import hold_out

__all__ = ["SPLITS", "Task", "draw", "read_tasks", "sample_task"]

SPLITS = ("train", "dev", "test")
FILE = re.compile(r"(?P<task>[^.].*)\.(?P<split>train|dev|test)\.[^.].*")  # hedges.train.jsonl.gz
FILE_IN_FOLDER = re.compile(r"(?P<split>train|dev|test)\.[^.].*")
# Settings that readers advise, but that tasks are read without; and what to do where no other advice is left.
SETTING = re.compile(r"`(text_column|label_column|id_column|skip_unlabelled|format)(?:=[^`]*)?`")
INSTEAD = {
    "text_column": "call what holds the text 'text' in the file, in a table by a header",
    "label_column": "call what holds the label 'label' in the file",
    "format": "give JSON lines, or a table whose header has 'text' and 'label'",
}
PathLike = str | os.PathLike[str]
Paths = Mapping[str, Path]
Files = dict[str, list[Path]]  # of each split; more than one is too many


@dataclass(frozen=True)
class Task:
    """Documents of a task, checked. Make one with `Task.of`, `read_tasks` or `sample_task`.

    Parameters
    ----------
    name
        For tables and files.
    labels
        The classes.
    train, dev
        Documents with labels; the labels of their tokens were taken away.
    test
        Documents with the truth for every token.
    marked_dev
        The dev documents with the labels of their tokens, where all have them: for those who say that they used them.
    """

    name: str
    labels: LabelSet
    train: list[Document]
    dev: list[Document]
    test: list[Document]
    marked_dev: list[Document] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        train: Sequence[Document],
        dev: Sequence[Document] | None,
        test: Sequence[Document],
        *,
        limit: int | None = None,
        paths: Paths | None = None,
    ) -> Task:
        """A task of these documents; without `dev`, a tenth of `train` is set aside for it.

        Parameters
        ----------
        name
            For tables and files.
        train, dev, test
            Documents with labels, or with token labels that tell them; those of `test` need token labels.
        limit
            Take only so many documents of each split, drawn by a fixed seed.
        paths
            The files of the splits, for messages.
        """
        if limit is not None and limit < 1:
            raise SettingError(f"`limit` is {limit}; it must be 1 or more")
        if not name or "/" in name or name.startswith("."):
            raise SettingError(f"a task cannot be called {name!r}; its name is that of files")
        paths = paths or {}
        given = {"train": train, "test": test} if dev is None else {"train": train, "dev": dev, "test": test}
        try:
            return cls._of(name, {split: draw(own, limit) for split, own in given.items()}, paths)
        except DataError as error:
            if limit is None:
                raise
            cls._of(name, given, paths)  # says what is wrong with all documents; else the limit is to blame
            raise _limited(name, error, limit) from None

    @classmethod
    def _of(cls, name: str, splits: Mapping[str, Sequence[Document]], paths: Paths) -> Task:
        for split, documents in splits.items():
            if len(documents) < 2:
                raise _error(name, f"{split} has {_count(documents)}; give more", paths.get(split))
        try:
            labels = LabelSet.infer(splits["train"])
        except DataError as error:
            raise _error(name, f"train: {_without_settings(error.message)}", paths.get("train")) from None
        found = {split: _labelled(name, split, splits[split], labels, paths) for split in splits}
        _check_classes(name, found, labels, paths)
        _check_truth(name, found["test"], labels, paths.get("test"))
        if "dev" not in found:
            found["train"], found["dev"] = _held_out(name, found["train"], labels, paths)
        marked = found["dev"] if all(d.token_labels is not None for d in found["dev"]) else None
        hidden = {split: [d.without_token_labels() for d in found[split]] for split in ("train", "dev")}
        return cls(name, labels, hidden["train"], hidden["dev"], found["test"], marked)

    @property
    def pretokenised(self) -> bool:
        """Whether all documents came with tokens of their own."""
        return all(document.cut is None for document in self.train)

    @cached_property
    def truth(self) -> list[NDArray[np.int8]]:
        """0 or 1 for each token and class of the test documents: (N, K) each."""
        return [table for d in self.test if (table := self.labels.token_targets(d)) is not None]

    @cached_property
    def document_truth(self) -> NDArray[np.int8]:
        """0 or 1 for each test document and class (D, K)."""
        return np.stack([row for d in self.test if (row := self.labels.view_targets(d)) is not None])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that can change a figure, so that results of other documents are not taken for these."""
        found = hashlib.sha256(json.dumps(self.labels.to_json()).encode())
        for documents in (self.train, self.dev, self.test):
            for d in documents:
                found.update(json.dumps([d.text, d.tokens, d.label, d.token_labels]).encode())
            found.update(b"\n")
        return found.hexdigest()

    def to_json(self) -> dict[str, object]:
        """What it is like, for tables: sizes, and how many of the test words are positive."""
        words, positive = sum(map(len, self.truth)), sum(int(own.any(1).sum()) for own in self.truth)
        return {
            "name": self.name,
            "kind": self.labels.kind,
            "classes": list(self.labels.names),
            "documents": {split: len(getattr(self, split)) for split in SPLITS},
            "test_words": words,
            "test_positive_words": positive,
            "digest": self.digest,
        }


def read_tasks(
    folders: PathLike | Sequence[PathLike],
    names: Sequence[str] | None = None,
    *,
    limit: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> list[Task]:
    """The tasks of one or more folders, by name: files NAME.SPLIT.ENDING, or folders NAME with files SPLIT.ENDING.

    SPLIT is train, dev (which may be missing) or test. Other files are passed over.

    Parameters
    ----------
    folders
        Where the files are.
    names
        Only these tasks.
    limit
        Take only so many documents of each split.
    tell
        Hears of the files' harmless oddities; without it, they are issued as `DataWarning`.
    """
    found: dict[str, tuple[Path, Files]] = {}
    for folder in [folders] if isinstance(folders, str | os.PathLike) else folders:
        for name, files in _find(Path(folder)).items():
            if name in found:
                raise DataError(f"there is a task {name!r} in {found[name][0]}, too; rename one", folder)
            found[name] = Path(folder), files
    if unknown := sorted(set(names or ()) - found.keys()):
        raise SettingError(f"there is no task {unknown[0]!r}; the tasks are {listed(sorted(found))}")
    wanted = [name for name in sorted(found) if not names or name in names]
    return [_read(name, *found[name], limit, tell) for name in wanted]


def sample_task(kind: str, *, limit: int | None = None) -> Task:
    """A built-in sample as a task: reviews, learner, requests or complaints."""
    if kind not in get_args(SampleKind):
        known = ", ".join(get_args(SampleKind))
        raise SettingError(f"there is no built-in sample {kind!r}; choose one of {known}")
    splits = sample_splits(cast("SampleKind", kind))
    return Task.of(kind, *(splits[split] for split in SPLITS), limit=limit)


def _find(folder: Path) -> dict[str, Files]:
    """The tasks of a folder."""
    if not folder.is_dir():
        what = "it is a file" if folder.exists() else "there is no such folder"
        raise DataError(f"{what}; give a folder with NAME.train.jsonl and NAME.test.jsonl", folder)
    found: dict[str, Files] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and (match := FILE.fullmatch(path.name)):
            found.setdefault(match["task"], {}).setdefault(match["split"], []).append(path)
        elif path.is_dir() and not path.name.startswith("."):
            for each in sorted(path.iterdir()):
                if each.is_file() and (match := FILE_IN_FOLDER.fullmatch(each.name)):
                    found.setdefault(path.name, {}).setdefault(match["split"], []).append(each)
    if not found:
        raise DataError(
            "there is no task in this folder; a task has files such as NAME.train.jsonl, NAME.dev.jsonl and "
            "NAME.test.jsonl, or a folder NAME with train.jsonl and test.jsonl",
            folder,
        )
    return found


def _read(
    name: str, folder: Path, files: Files, limit: int | None, tell: Callable[[str], None] | None
) -> Task:
    for split in SPLITS:
        own = files.get(split, [])
        if not own and split != "dev":
            there = listed([path.name for paths in files.values() for path in paths])
            raise DataError(f"the task {name!r} has no {split} file, only {there}", folder)
        if len(own) > 1:
            both = listed([path.name for path in own])
            raise DataError(f"the task {name!r} has more than one {split} file: {both}; keep one", folder)
    paths = {split: own[0] for split, own in files.items()}
    read = {split: _documents(path, tell) for split, path in paths.items()}
    return Task.of(name, read["train"], read.get("dev"), read["test"], limit=limit, paths=paths)


def _documents(path: Path, tell: Callable[[str], None] | None) -> list[Document]:
    notes = None if tell is None else Notes(path)
    try:
        documents = read_documents(path, need_labels=True, notes=notes)
    except DataError as error:
        raise DataError(_without_settings(error.message), error.path, error.line) from None
    if tell is not None and notes is not None:
        for line in notes.warnings():
            tell(line)
    return documents


def _without_settings(message: str) -> str:
    """A reader's message with advice that can be followed here: not with settings of its own."""
    setting = SETTING.search(message)
    if setting is None:
        return message
    before = message[: setting.start()]
    advice, choice = before.rfind("; "), before.rfind(", or ")
    if choice > advice:  # there is other advice
        return before[:choice]
    instead = INSTEAD.get(setting[1], "change the file")
    return f"{before if advice < 0 else before[:advice]}; {instead}"


def draw(documents: Sequence[Document], limit: int | None) -> list[Document]:
    """Some of the documents, in their order: files are often sorted by class, so the first ones would not do."""
    if limit is None or limit >= len(documents):
        return list(documents)
    rows = np.random.default_rng(0).permutation(len(documents))[:limit]
    return [documents[i] for i in sorted(rows.tolist())]


def _labelled(
    name: str, split: str, documents: Sequence[Document], labels: LabelSet, paths: Paths
) -> list[Document]:
    """The documents, each with a label of its own."""
    path = paths.get(split)
    known = {folded(each) for each in labels.names}
    own = {each for d in documents for each in _names(d.label or ())}
    if unknown := sorted(each for each in own if folded(each) not in known):
        raise _error(
            name,
            f"{split} has the label {unknown[0]!r}, which train does not have: its labels are "
            f"{listed(labels.names)}; use the same names in every split",
            path,
        )
    found = []
    for document in documents:
        classes = labels.document_classes(document, path=path)
        if classes is None:
            raise _error(name, f"a document of {split} has no label; give it one", path, document.line)
        several = tuple(labels.names[c] for c in classes)
        # Tokens that were labelled are given: nobody may cut the text anew once the labels are taken away.
        cut = document.cut if document.token_labels is None else None
        found.append(replace(document, label=several if labels.kind == "multilabel" else several[0], cut=cut))
    return found


def _check_classes(
    name: str, splits: Mapping[str, Sequence[Document]], labels: LabelSet, paths: Paths
) -> None:
    """Training needs documents of every class in train, and figures need documents with and without one in test."""
    for split, documents in splits.items():
        own = {each for d in documents for each in _names(d.label or ())}
        missing = sorted(set(labels.names) - own)
        if missing and (split == "train" or labels.kind == "binary"):
            raise _error(name, f"{split} has no document of class {missing[0]!r}; add some", paths.get(split))


def _check_truth(name: str, documents: Sequence[Document], labels: LabelSet, path: Path | None) -> None:
    """Every word of test is labelled, and not all alike."""
    tables = [labels.token_targets(document, path=path) for document in documents]
    for document, table in zip(documents, tables, strict=True):
        if table is None:
            without = sum(each is None for each in tables)
            raise _error(
                name,
                f"{without:,} of {len(documents):,} test documents have no token labels, which are the truth that "
                "words are measured by; give every test document token_labels, or leave it out",
                path,
                document.line,
            )
    truth = [table for table in tables if table is not None]  # (N, K) each
    words = np.concatenate(truth)  # (all words, K)
    if (words.all(0) | ~words.any(0)).all():
        raise _error(
            name,
            f"{'every' if words.any() else 'no'} word of test is labelled positive, so there is nothing to find; label "
            "the words that tell the class as positive, and no others",
            path,
        )
    inside = (d.label == labels.names[1] and own.any() for d, own in zip(documents, truth, strict=True))
    if labels.kind == "binary" and not any(inside):
        raise _error(
            name,
            f"no test document of class {labels.names[1]!r} has a positive word, so that class is hardly the positive "
            "one; call the classes negative and positive",
            path,
        )


def _held_out(
    name: str, documents: Sequence[Document], labels: LabelSet, paths: Paths
) -> tuple[list[Document], list[Document]]:
    """Train without a tenth, and that tenth: the same one for every seed and recipe."""
    try:
        return hold_out(documents, labels, seed=0)
    except DataError as error:
        raise _error(name, f"there is no dev file, and {error.message}", paths.get("train")) from None


def _names(label: Label) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else label


def _count(documents: Sequence[Document]) -> str:
    return "one document" if len(documents) == 1 else "no documents"


def _limited(name: str, error: DataError, limit: int) -> DataError:
    """The same, where it is a limit that leaves too few documents."""
    found = error.message.removeprefix(f"task {name!r}: ")
    found = found.rpartition("; ")[0] or found  # without advice on the files
    so_few = "one document" if limit == 1 else f"{limit:,} documents"
    message = f"task {name!r}: with a limit of {so_few} a split, {found}; raise `limit`"
    return DataError(message, error.path, error.line)


def _error(name: str, message: str, path: Path | None, line: int = 0) -> DataError:
    return DataError(f"task {name!r}: {message}", path, line or None)
