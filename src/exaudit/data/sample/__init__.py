"""The built-in samples: four kinds of documents with token-level truth, made up here, so free to use.

    sample_splits("reviews")["train"]      # documents labelled positive or negative
    sample_splits("learner")["test"]       # sentences labelled i (has an error) or c
    sample_splits("requests")["train"]     # messages to a town hall, each of one of twenty classes
    sample_splits("complaints")["train"]   # feedback on a hotel, with none to four of eight labels
    write_sample("sample")                 # the same as files

The document at an index depends on the kind, the seed and the index alone: not on the machine, nor on the version
of Python.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from exaudit._files import make_folder, replace_file
from exaudit.data.document import Document
from exaudit.data.sample.complaints import complaint
from exaudit.data.sample.draw import Draw
from exaudit.data.sample.learner import learner_sentence
from exaudit.data.sample.requests import request
from exaudit.data.sample.reviews import review
from exaudit.errors import SettingError

__all__ = ["SAMPLE_SIZES", "SampleKind", "sample_documents", "sample_splits", "write_sample"]

SampleKind = Literal["reviews", "learner", "requests", "complaints"]
# Errors are many and each is rare, so the learner sentences, which are shorter, need to be more.
SAMPLE_SIZES: Mapping[SampleKind, Mapping[str, int]] = MappingProxyType(
    {
        "reviews": MappingProxyType({"train": 1500, "dev": 300, "test": 400}),
        "learner": MappingProxyType({"train": 3000, "dev": 300, "test": 400}),
        "requests": MappingProxyType({"train": 2000, "dev": 400, "test": 600}),
        "complaints": MappingProxyType({"train": 1500, "dev": 300, "test": 400}),
    }
)
_MAKERS: Mapping[SampleKind, Callable[[str, Draw], Document]] = MappingProxyType(
    {"reviews": review, "learner": learner_sentence, "requests": request, "complaints": complaint}
)


def sample_documents(kind: SampleKind, count: int, *, seed: int, start: int = 0) -> list[Document]:
    """Documents `start` to `start + count - 1` of an endless sequence. Texts may repeat, if rarely."""
    _check_kind(kind)
    if count < 0 or start < 0:
        raise SettingError(f"count and start must not be negative, but are {count} and {start}")
    return [_document(kind, seed, index) for index in range(start, start + count)]


def _check_kind(kind: str) -> None:
    kinds = get_args(SampleKind)
    if kind not in kinds:
        raise SettingError(f"there is no built-in sample {kind!r}; choose one of {', '.join(kinds)}")


def _document(kind: SampleKind, seed: int, index: int) -> Document:
    return _MAKERS[kind](f"{kind}-{seed}-{index}", Draw(kind, seed, index))


def sample_splits(
    kind: SampleKind, *, seed: int = 0, sizes: Mapping[str, int] | None = None
) -> dict[str, list[Document]]:
    """The sample as `train`, `dev` and `test`, of SAMPLE_SIZES unless told otherwise; no text occurs twice."""
    _check_kind(kind)
    splits: dict[str, list[Document]] = {}
    seen: set[str] = set()
    index = 0
    for split, size in (SAMPLE_SIZES[kind] if sizes is None else sizes).items():
        splits[split] = []
        while len(splits[split]) < size:
            document = _document(kind, seed, index)
            index += 1
            if document.text not in seen:
                seen.add(document.text)
                splits[split].append(document)
    return splits


def write_sample(
    folder: str | os.PathLike[str], *, seed: int = 0, sizes: Mapping[str, int] | None = None
) -> list[Path]:
    """Write the samples as files, and return their paths.

    For each split: `KIND.SPLIT.csv` (text, label; several labels are joined by `|`) and `KIND.SPLIT.jsonl` (with
    token labels; several labels are a list), but `learner.SPLIT.tsv` (a token and its label on each line, a
    blank line between sentences).
    """
    folder = Path(folder)
    make_folder(folder)
    written = []
    for kind in _MAKERS:
        formats = {"tsv": _write_tokens} if kind == "learner" else {"csv": _write_csv, "jsonl": _write_jsonl}
        for split, documents in sample_splits(kind, seed=seed, sizes=sizes).items():
            for ending, write in formats.items():
                written.append(folder / f"{kind}.{split}.{ending}")
                write(_followed(written[-1]), documents)
    return written


def _followed(path: Path) -> Path:
    """Where a link leads. A device or a folder is no place for a file."""
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise SettingError(f"{path} is there already, and is no file; choose another folder")
    return place


def _write_csv(path: Path, documents: Sequence[Document]) -> None:
    with replace_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["text", "label"])
        for document in documents:
            label = document.label
            rows.writerow([document.text, "|".join(label) if isinstance(label, tuple) else label])


def _write_jsonl(path: Path, documents: Sequence[Document]) -> None:
    with replace_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        for document in documents:
            row = {
                "id": document.id,
                "text": document.text,
                "label": document.label,
                "token_labels": list(document.token_labels or ()),
                **document.meta,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_tokens(path: Path, documents: Sequence[Document]) -> None:
    with replace_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        for document in documents:
            for token, label in zip(document.tokens, document.token_labels or (), strict=True):
                file.write(f"{token}\t{label}\n")
            file.write("\n")
