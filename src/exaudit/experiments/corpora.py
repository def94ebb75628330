"""A folder of data becomes documents, split and paired as in the paper.

The folder is laid out as `exaudit data fetch` leaves it:

    fce/  news_1b/  imdb_cad/  imdb_contrast/  semeval2017_task4a/

Every draw is seeded, so that two runs see the same documents. `fast` keeps a tenth of each part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exaudit.data.diff import diff_documents, pair_across, pair_by_column
from exaudit.data.document import Document
from exaudit.data.notes import Notes
from exaudit.data.readers import read_documents
from exaudit.errors import DataError

__all__ = ["Contrast", "News", "Reviews", "Splits", "read_contrast", "read_contrast_dev", "read_fce", "read_news",
           "read_reviews", "read_tweets"]  # fmt: skip

SEED = 1776
ORIG_19K = ("orig/eighty_percent/train.tsv", "")  # and the column with the ids; '' numbers the reviews
RECONSTRUCTED_19K = ("orig_eighty_percent_reconstructed/train.tsv.xz", "acl_id")
LEAKS = ("train/neg/5716_1", "train/neg/5793_1")  # of the 19k set, in other words also in CAD dev and test
NEWS_TEST, NEWS_DEV, NEWS_SUPPORT = 2000, 2000, 50_000


@dataclass(frozen=True)
class Splits:
    train: list[Document]
    dev: list[Document]
    test: list[Document]


@dataclass(frozen=True)
class News:
    """Correct sentences of another domain: to be added to the support set, and to the test set."""

    support: list[Document]
    test: list[Document]
    genuine: int  # of the support sentences, from the One Billion Word Benchmark itself


@dataclass(frozen=True)
class Reviews:
    """Counterfactually revised film reviews. Token labels are the sentiment diffs, from positive to negative."""

    orig: Splits
    rev: Splits
    orig_19k: list[Document]  # the 19k originals; empty where they are not at hand
    shared: frozenset[str]  # ids in `orig_19k` whose texts are in orig.train


@dataclass(frozen=True)
class Contrast:
    """The reviews of CAD's test set as revised by researchers."""

    original: list[Document]
    revised: list[Document]


def read_fce(data: Path, *, fast: bool = False) -> Splits:
    """Sentences of learners of English, labelled i where a word is wrong, else c."""
    parts = (_fce(data, name) for name in ("train", "dev", "test"))
    return Splits(*(tenth(part, fast) for part in parts))


def _fce(data: Path, name: str) -> list[Document]:
    documents = _read(data, "fce", f"fce-public.{name}.original.tsv", format="conll")
    return [
        replace(d, id=f"fce-{name}-{d.id}", label="i" if "i" in (d.token_labels or ()) else "c")
        for d in documents
    ]


def read_news(data: Path, *, fast: bool = False) -> News:
    """Test sentences are drawn from the benchmark's own; the supplement only fills up the support set."""
    draws = np.random.default_rng(SEED)
    names = [f"1bw_heldout_{part}.tokens" for part in ("10_11", "12_13")]
    names += [name for name in ("1bw_heldout_00_09.tokens",) if (data / "news_1b" / name).exists()]
    own = [d for name in names for d in _sentences(data, name)]
    own = [own[i] for i in draws.permutation(len(own))]
    supplement = data / "news_1b" / "bbc_supplement.tokens"
    filling = _sentences(data, supplement.name) if supplement.exists() else []
    for_test, for_dev = (min(size, len(own) // 10) for size in (NEWS_TEST, NEWS_DEV))  # of few, a tenth each
    test, rest = own[:for_test], own[for_test + for_dev :]
    support = [*rest, *(filling[i] for i in draws.permutation(len(filling)))][:NEWS_SUPPORT]
    return News(tenth(support, fast), tenth(test, fast), min(len(rest), len(support)))


def _sentences(data: Path, name: str) -> list[Document]:
    documents = _read(data, "news_1b", name, format="text")
    stem = name.removesuffix(".tokens")
    return [
        replace(d, id=f"{stem}-{d.id}", label="c", token_labels=("c",) * len(d.tokens)) for d in documents
    ]


def read_reviews(data: Path, *, fast: bool = False) -> Reviews:
    parts = {name: _pairs(data, name) for name in ("train", "dev", "test")}
    if fast:
        parts = {name: (tenth(a, True), tenth(b, True)) for name, (a, b) in parts.items()}
    orig, rev = (Splits(*(parts[name][side] for name in ("train", "dev", "test"))) for side in (0, 1))
    held_out = {_plain(d.text) for name in ("dev", "test") for d in (*parts[name][0], *parts[name][1])}
    orig_19k = tenth([d for d in _orig_19k(data) if _plain(d.text) not in held_out], fast)
    texts = {_plain(d.text) for d in orig.train}
    return Reviews(orig, rev, orig_19k, frozenset(d.id for d in orig_19k if _plain(d.text) in texts))


def _pairs(data: Path, name: str) -> tuple[list[Document], list[Document]]:
    """Originals and revisions of one part of CAD, in the same order, with sentiment diffs as token labels."""
    rows = _read(data, "imdb_cad", f"combined/paired/{name}_paired.tsv", format="tsv", id_column="")
    rows = [replace(d, id=f"cad-{name}-{n}") for n, d in enumerate(rows)]
    firsts = {d.id for d in rows[::2]}  # of each pair the original comes first
    marked = list(diff_documents(pair_by_column(rows, "batch_id", source="Positive")))
    return [d for d in marked if d.id in firsts], [d for d in marked if d.id not in firsts]


def _orig_19k(data: Path) -> list[Document]:
    """The 19k originals: the authors' file, or our reconstruction of it, which names the reviews that leak."""
    for path, column in (ORIG_19K, RECONSTRUCTED_19K):
        if (data / "imdb_cad" / path).exists():
            documents = _read(data, "imdb_cad", path, format="tsv", id_column=column)
            return [replace(d, id=f"imdb-{d.id}") for d in documents if d.id not in LEAKS]
    return []


def read_contrast_dev(data: Path) -> Contrast | None:
    """The contrast dev set, which is only looked at; None where it is not at hand."""
    there = all((data / "imdb_contrast" / f"dev_{side}.tsv").is_file() for side in ("original", "contrast"))
    return read_contrast(data, part="dev") if there else None


def read_contrast(data: Path, *, part: str = "test", fast: bool = False) -> Contrast:
    """The contrast test set; token labels are the sentiment diffs."""
    sides = [
        _read(data, "imdb_contrast", f"{part}_{name}.tsv", format="tsv") for name in ("original", "contrast")
    ]
    positive: list[tuple[Document, Document]] = []
    for a, b in zip(*sides, strict=True):
        a, b = replace(a, id=f"contrast-a-{a.id}"), replace(b, id=f"contrast-b-{b.id}")
        positive.append((a, b) if a.label == "Positive" else (b, a))
    marked = {
        d.id: d
        for pair in pair_across([p for p, _ in positive], [n for _, n in positive])
        for d in (replace(one, id=one.id.split("-", 1)[1]) for one in pair.labelled())
    }
    found = [
        [replace(marked[f"contrast-{s}-{d.id}"], label=d.label) for d in side]
        for s, side in zip("ab", sides, strict=True)
    ]
    return Contrast(*(tenth(side, fast) for side in found))


def read_tweets(data: Path, *, fast: bool = False) -> list[Document]:
    """SemEval-2017: all positive tweets, and as many negative ones, drawn; neutral ones are left out."""
    name = "SemEval2017-task4-test.subtask-A.english.txt"
    rows = _read(data, "semeval2017_task4a", name, format="tsv", columns="id,label,text", notes=Notes())
    sides = [[d for d in rows if d.label == label] for label in ("negative", "positive")]
    size = min(map(len, sides))
    draws = np.random.default_rng(SEED)
    kept = [[side[i] for i in np.sort(draws.permutation(len(side))[:size])] for side in sides]
    return tenth(
        [replace(d, id=f"tweet-{d.id}", label=str(d.label).capitalize()) for side in kept for d in side], fast
    )


def tenth(documents: Sequence[Document], fast: bool) -> list[Document]:
    """Every tenth document of a fast run; parallel lists stay parallel."""
    return list(documents[::10] if fast else documents)


def _plain(text: str) -> str:
    return "".join(text.casefold().split())


def _read(data: Path, name: str, file: str, **options: Any) -> list[Document]:
    path = data / name / file
    if not path.is_file():
        raise DataError(
            f"there is no such file; the data folder is {data} (--data, or EXAUDIT_DATA): put the corpus there, or get "
            f"it with `exaudit data fetch {name}`",
            path,
        )
    return read_documents(path, tokens="whitespace", **options)  # as in the paper
