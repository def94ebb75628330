"""Features as tables: n-grams and documents of each class, top, lowest, and those that misled the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from exaudit.analyse.features import By, Features, Ngram, RankedDocument
from exaudit.analyse.report.blocks import Beside, Block, Cell, Section, Table, Text

__all__ = [
    "document_tables",
    "feature_data",
    "feature_section",
    "feature_tables",
    "ngram_table",
    "wrong_ngram_table",
]

NGRAM = ("n-gram", "mean", "total", "occurrences", "total frequency")
LONG = 60  # words of a document that a table shows


def feature_tables(
    features: Features, *, sizes: Sequence[int], by: By, top: int, minimum: int = 1
) -> list[Table]:
    """All tables, class by class."""
    tables = []
    for target in (0, 1):
        for size in sizes:
            tables.append(ngram_table(features, size, target, by=by, top=top, minimum=minimum))
            tables.append(wrong_ngram_table(features, size, target, by=by, top=top, minimum=minimum))
        tables += document_tables(features, target)
    return [table for table in tables if table.rows]


def ngram_table(features: Features, size: int, target: int, *, by: By, top: int, minimum: int = 1) -> Table:
    """The top and the lowest n-grams of a class."""
    found = features.ngrams(size, target, by=by, top=top, minimum=minimum)
    shown = {gram.tokens for gram in found}
    low = features.ngrams(size, target, by=by, top=top, minimum=minimum, lowest=True)
    rows: list[tuple[Cell, ...]] = [_ngram_row(gram) for gram in found]
    low = [gram for gram in reversed(low) if gram.tokens not in shown]
    if low:
        rows += [("… lowest:", None, None, None, None), *(_ngram_row(gram) for gram in low)]
    return Table(
        f"{_gram(size)} of documents predicted {features.names.name(target)}, by {by} score",
        NGRAM,
        tuple(rows),
    )


def wrong_ngram_table(
    features: Features, size: int, target: int, *, by: By, top: int, minimum: int = 1
) -> Table:
    """The top n-grams of the documents that are wrongly predicted as the class; none where truth is not known."""
    found = features.ngrams(size, target, truth=1 - target, by=by, top=top, minimum=minimum)
    name = features.names.name(target)
    caption = f"{_gram(size)} of documents wrongly predicted {name}, by {by} score"
    return Table(caption, NGRAM, tuple(_ngram_row(gram) for gram in found))


def document_tables(features: Features, target: int, *, top: int = 5) -> list[Table]:
    """Documents by score per word and in all, and the wrong ones."""
    name = features.names.name(target)
    ranked = {
        f"Documents predicted {name}, by score per word": features.documents(target, top=top),
        f"Documents predicted {name}, by score in all": features.documents(target, top=top, normalise=False),
        f"Documents wrongly predicted {name}, by score per word": features.documents(
            target, truth=1 - target, top=top
        ),
    }
    return [_document_table(caption, found, features) for caption, found in ranked.items() if found]


def feature_section(features: Features, *, sizes: Sequence[int], by: By, top: int) -> Section:
    """The classes beside each other; what misled the model is folded away."""
    blocks: list[Block] = [
        Text(
            "Each n-gram is scored by what its words contribute to a class, without the bias, over the documents that "
            "the model predicts as that class. The frequency counts all documents. Of overlapping n-grams with the "
            "same score, one is shown."
        )
    ]
    for size in sizes:
        both = (ngram_table(features, size, target, by=by, top=top) for target in (0, 1))
        blocks.append(Beside(tuple(table for table in both if table.rows)))
    for size in sizes:
        wrong = (wrong_ngram_table(features, size, target, by=by, top=top) for target in (0, 1))
        blocks += [replace(table, folded=True) for table in wrong if table.rows]
    for target in (0, 1):
        blocks += document_tables(features, target)
    return Section("What speaks for each class", tuple(blocks))


def feature_data(
    features: Features, *, sizes: Sequence[int], by: By, top: int, minimum: int = 1
) -> dict[str, Any]:
    """The same for programs."""
    result: dict[str, Any] = {}
    for target in (0, 1):
        splits: dict[str, int | None] = {"all": None}
        if features.has_truth:
            splits |= {f"truly {features.names.name(truth)}": truth for truth in (0, 1)}
        result[features.names.name(target)] = {
            name: {
                "documents": features.count(target, truth),
                "ngrams": {
                    str(size): {
                        end: [
                            _ngram_json(gram)
                            for gram in features.ngrams(
                                size,
                                target,
                                truth=truth,
                                by=by,
                                top=top,
                                lowest=end == "lowest",
                                minimum=minimum,
                            )
                        ]
                        for end in ("top", "lowest")
                    }
                    for size in sizes
                },
                "documents_by_mean": [
                    _document_json(d) for d in features.documents(target, truth=truth, top=top)
                ],
                "documents_by_total": [
                    _document_json(d)
                    for d in features.documents(target, truth=truth, top=top, normalise=False)
                ],
            }
            for name, truth in splits.items()
        }
    return result


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


def _document_json(d: RankedDocument) -> dict[str, Any]:
    return {"id": d.id, "score": d.score, "normalised": d.normalised, "words": d.length, "text": d.text}


def short(text: str) -> str:
    words = text.split(" ")
    return text if len(words) <= LONG else " ".join(words[:LONG]) + " …"
