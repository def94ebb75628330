"""Features as tables: n-grams and documents of each class, top, lowest, and those that misled the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from exaudit.analyse.features import By, Features, Ngram, RankedDocument
from exaudit.analyse.report.blocks import Beside, Block, Cell, Section, Table, Text

__all__ = [
    "document_tables",
    "feature_data",
    "feature_rows",
    "feature_section",
    "feature_tables",
    "ngram_table",
]

NGRAM = ("n-gram", "mean", "total", "occurrences", "total frequency")
LONG = 60  # words of a document that a table shows
ENDS = (("top", False), ("lowest", True))


def feature_tables(
    features: Features, *, sizes: Sequence[int], by: By, top: int, minimum: int = 1
) -> list[Table]:
    """All tables, class by class: all documents predicted as it, then those that truly are, and that are not."""
    tables = []
    for target in (0, 1):
        for size in sizes:
            for truth in _splits(features, target):
                tables.append(ngram_table(features, size, target, truth, by=by, top=top, minimum=minimum))
        tables += document_tables(features, target, top=top)
    return [table for table in tables if table.rows]


def ngram_table(
    features: Features,
    size: int,
    target: int,
    truth: int | None = None,
    *,
    by: By,
    top: int,
    minimum: int = 1,
) -> Table:
    """The top and the lowest n-grams of the documents predicted as a class; of those of a true class, if given."""
    found = features.ngrams(size, target, truth=truth, by=by, top=top, minimum=minimum)
    shown = {gram.tokens for gram in found}
    low = features.ngrams(size, target, truth=truth, by=by, top=top, minimum=minimum, lowest=True)
    rows: list[tuple[Cell, ...]] = [_ngram_row(gram) for gram in found]
    low = [gram for gram in reversed(low) if gram.tokens not in shown]
    if low:
        rows += [("… lowest:", None, None, None, None), *(_ngram_row(gram) for gram in low)]
    caption = f"{_gram(size)} of documents {_predicted(features, target, truth)}, by {by} score"
    return Table(caption, NGRAM, tuple(rows))


def document_tables(features: Features, target: int, *, top: int = 5) -> list[Table]:
    """Documents by score per word and in all, the highest and the lowest; and the wrong ones."""
    mine, wrong = (f"Documents {_predicted(features, target, truth)}" for truth in (None, 1 - target))
    ranked = {
        f"{mine}, by score per word": features.documents(target, top=top),
        f"{mine}, by score in all": features.documents(target, top=top, normalise=False),
        f"{mine}, by score per word, lowest first": features.documents(target, top=top, lowest=True),
        f"{wrong}, by score per word": features.documents(target, truth=1 - target, top=top),
    }
    return [_document_table(caption, found, features) for caption, found in ranked.items() if found]


def feature_section(features: Features, *, sizes: Sequence[int], by: By, top: int) -> Section:
    """The classes beside each other; what misled the model is folded away."""
    blocks: list[Block] = [
        Text(
            "Each n-gram is scored by what its words contribute to a class, without the bias, over the documents that "
            "the model predicts as that class. The frequency counts all documents, whatever was predicted; in a table "
            "of wrong predictions, all that truly are of the other class. Of overlapping n-grams with the same score, "
            "one is shown."
        )
    ]
    for size in sizes:
        both = (ngram_table(features, size, target, by=by, top=top) for target in (0, 1))
        blocks.append(Beside(tuple(table for table in both if table.rows)))
    for size in sizes:
        wrong = (ngram_table(features, size, target, 1 - target, by=by, top=top) for target in (0, 1))
        blocks += [replace(table, folded=True) for table in wrong if table.rows]
    for target in (0, 1):
        blocks += document_tables(features, target)
    return Section("What speaks for each class", tuple(blocks))


def feature_data(
    features: Features, *, sizes: Sequence[int], by: By, top: int, minimum: int = 1
) -> dict[str, Any]:
    """The same for programs: by the class predicted, then by the class that documents truly are of."""

    def split(target: int, truth: int | None) -> dict[str, Any]:
        def ngrams(size: int, lowest: bool) -> list[dict[str, Any]]:
            found = features.ngrams(size, target, truth=truth, by=by, top=top, lowest=lowest, minimum=minimum)
            return [_ngram_json(gram) for gram in found]

        def documents(normalise: bool, lowest: bool) -> list[dict[str, Any]]:
            found = features.documents(target, truth=truth, normalise=normalise, top=top, lowest=lowest)
            return [_document_json(document, features) for document in found]

        return {
            "documents": features.count(target, truth),
            "ngrams": {str(size): {end: ngrams(size, low) for end, low in ENDS} for size in sizes},
            "documents_by_mean": {end: documents(True, low) for end, low in ENDS},
            "documents_by_total": {end: documents(False, low) for end, low in ENDS},
        }

    names = features.names
    splits: dict[str, int | None] = {"all": None}
    if features.has_truth:
        splits |= {f"truly {names.name(truth)}": truth for truth in (0, 1)}
    return {
        names.name(target): {among: split(target, truth) for among, truth in splits.items()}
        for target in (0, 1)
    }


def feature_rows(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What `feature_data` holds, row by row and all rows alike, for tables of other programs."""
    for predicted, splits in data.items():
        for documents, split in splits.items():
            common = {"predicted": predicted, "documents": documents}
            for size, ends in split["ngrams"].items():
                for end, grams in ends.items():
                    for rank, gram in enumerate(grams, 1):
                        own = {"what": f"{size}-gram", "end": end, "rank": rank, "id": "", "truly": ""}
                        yield common | own | gram
            for by in ("mean", "total"):
                for end, ranked in split[f"documents_by_{by}"].items():
                    for rank, d in enumerate(ranked, 1):
                        own = {"what": f"document by {by}", "end": end, "rank": rank}
                        scores = {"mean": d["normalised"], "total": d["score"], "occurrences": d["words"]}
                        said = {"id": d["id"], "truly": d["truly"] or "", "text": d["text"], "frequency": ""}
                        yield common | own | scores | said  # of a document, the occurrences are its words


def _splits(features: Features, target: int) -> tuple[int | None, ...]:
    return (None, target, 1 - target) if features.has_truth else (None,)


def _predicted(features: Features, target: int, truth: int | None = None) -> str:
    how = "" if truth is None else "rightly " if truth == target else "wrongly "
    return f"{how}predicted {features.names.name(target)}"


def _gram(size: int) -> str:
    return {1: "Unigrams", 2: "Bigrams", 3: "Trigrams"}.get(size, f"{size}-grams")


def _ngram_row(gram: Ngram) -> tuple[Cell, ...]:
    return gram.text, gram.mean, gram.total, gram.occurrences, gram.frequency


def _ngram_json(gram: Ngram) -> dict[str, Any]:
    return {
        "text": gram.text,
        "mean": gram.mean,
        "total": gram.total,
        "occurrences": gram.occurrences,
        "frequency": gram.frequency,
    }


def _document_table(caption: str, ranked: Sequence[RankedDocument], features: Features) -> Table:
    rows = tuple(
        (
            d.id,
            d.normalised,
            d.score,
            d.length,
            None if d.truth is None else features.names.name(d.truth),
            short(d.text),
        )
        for d in ranked
    )
    return Table(caption, ("id", "score per word", "score", "words", "truly", "text"), rows, digits=3)


def _document_json(d: RankedDocument, features: Features) -> dict[str, Any]:
    return {
        "id": d.id,
        "score": d.score,
        "normalised": d.normalised,
        "words": d.length,
        "truly": None if d.truth is None else features.names.name(d.truth),
        "text": d.text,
    }


def short(text: str) -> str:
    words = text.split(" ")
    return text if len(words) <= LONG else " ".join(words[:LONG]) + " …"
