"""Features as tables: n-grams and documents of each class, top, lowest, and those that misled the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from exaudit.analyse.features import By, Features, Ngram, RankedDocument, Truth
from exaudit.analyse.report.blocks import Beside, Block, Cell, Fold, Section, Table, Text

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
FEW = 4  # classes that have room beside each other
HINTS = 6  # words of a class in the overview
OTHER = "another class"
ENDS = (("top", False), ("lowest", True))


def feature_tables(
    features: Features,
    *,
    sizes: Sequence[int],
    by: By,
    top: int,
    minimum: int = 1,
    targets: Iterable[int] | None = None,
) -> list[Table]:
    """All tables, class by class: all documents predicted as it, then those that truly are, and that are not.

    targets : the classes to show; by default all.
    """
    tables = []
    for target in _targets(features, targets):
        splits: tuple[Truth, ...] = (None, target, "other") if features.has_truth else (None,)
        for size in sizes:
            for truth in splits:
                tables.append(ngram_table(features, size, target, truth, by=by, top=top, minimum=minimum))
        tables += document_tables(features, target, top=top)
    return [table for table in tables if table.rows]


def ngram_table(
    features: Features,
    size: int,
    target: int,
    truth: Truth = None,
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
    mine, wrong = (f"Documents {_predicted(features, target, truth)}" for truth in (None, "other"))
    ranked = {
        f"{mine}, by score per word": features.documents(target, top=top),
        f"{mine}, by score in all": features.documents(target, top=top, normalise=False),
        f"{mine}, by score per word, lowest first": features.documents(target, top=top, lowest=True),
        f"{wrong}, by score per word": features.documents(target, truth="other", top=top),
    }
    return [_document_table(caption, found, features) for caption, found in ranked.items() if found]


def feature_section(features: Features, *, sizes: Sequence[int], by: By, top: int) -> Section:
    """The classes beside each other; what misled the model is folded away."""
    blocks: list[Block] = [
        Text(
            "Each n-gram is scored by what its words contribute to a class, without the bias, over the documents that "
            "the model predicts as that class. The frequency counts all documents, whatever was predicted; in a table "
            f"of wrong predictions, all that truly are {_another(features)}. Of overlapping n-grams with the same "
            "score, one is shown."
        )
    ]
    if len(features.labels) > FEW:  # too many to stand beside each other: one after another, folded
        blocks.append(_overview(features, by))
        for target in _targets(features):
            if features.count(target):
                own = (*_ngram_blocks(features, [target], sizes, by, top), *document_tables(features, target))
                blocks.append(Fold(f"What speaks for {features.labels.names[target]}", own))
    else:
        blocks += _ngram_blocks(features, _targets(features), sizes, by, top)
        for target in _targets(features):
            blocks += document_tables(features, target)
    return Section("What speaks for each class", tuple(blocks))


def _ngram_blocks(
    features: Features, targets: Iterable[int], sizes: Sequence[int], by: By, top: int
) -> list[Block]:
    """For each size the classes beside each other; of one class, the sizes. Those of errors are folded."""
    targets = list(targets)
    tables = [[ngram_table(features, size, target, by=by, top=top) for target in targets] for size in sizes]
    if len(targets) == 1:
        tables = [[table for (table,) in tables]]
    blocks: list[Block] = [Beside(tuple(table for table in row if table.rows)) for row in tables]
    for size in sizes:
        wrong = (ngram_table(features, size, target, "other", by=by, top=top) for target in targets)
        blocks += [replace(table, folded=True) for table in wrong if table.rows]
    return blocks


def _overview(features: Features, by: By) -> Table:
    """A line for each class."""
    rows: list[tuple[Cell, ...]] = []
    for target, name in enumerate(features.labels.names):
        grams = features.ngrams(1, target, by=by, top=HINTS)
        rows.append((name, features.count(target), ", ".join(gram.text for gram in grams)))
    return Table(
        f"The words that speak most for each class, by {by} score",
        ("class", "predicted", "words"),
        tuple(rows),
    )


def feature_data(
    features: Features,
    *,
    sizes: Sequence[int],
    by: By,
    top: int,
    minimum: int = 1,
    targets: Iterable[int] | None = None,
) -> dict[str, Any]:
    """The same for programs: by the class predicted, then by the class that documents truly are of."""

    def split(target: int, truth: Truth) -> dict[str, Any]:
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

    names = features.labels.names

    def splits(target: int) -> dict[str, Truth]:
        if not features.has_truth:
            return {"all": None}
        if features.labels.kind == "binary":
            return {"all": None, f"truly {names[0]}": 0, f"truly {names[1]}": 1}
        return {"all": None, f"truly {names[target]}": target, f"truly {OTHER}": "other"}

    return {
        names[target]: {among: split(target, truth) for among, truth in splits(target).items()}
        for target in _targets(features, targets)
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


def _targets(features: Features, targets: Iterable[int] | None = None) -> list[int]:
    return list(range(len(features.labels)) if targets is None else targets)


def _another(features: Features) -> str:
    """What documents are that were predicted wrongly."""
    if features.labels.kind == "multilabel":
        return "not of the class"
    return "of the other class" if features.labels.kind == "binary" else "of another class"


def _predicted(features: Features, target: int, truth: Truth = None) -> str:
    how = "" if truth is None else "rightly " if truth == target else "wrongly "
    return f"{how}predicted {features.labels.names[target]}"


def _truly(document: RankedDocument, features: Features) -> str | None:
    if document.truth is None:
        return None
    return ", ".join(features.labels.names[c] for c in document.truth) or "none"


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
            _truly(d, features),
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
        "truly": _truly(d, features),
        "text": d.text,
    }


def short(text: str) -> str:
    words = text.split(" ")
    return text if len(words) <= LONG else " ".join(words[:LONG]) + " …"
