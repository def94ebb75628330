"""Decisions against the truth: documents and words, class by class, with baselines and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.decisions import Table, Tables, as_row, true_classes, word_decisions
from exaudit.data.labels import LabelSet
from exaudit.errors import DataError
from exaudit.metrics import Counts, averaged, document_metrics, token_metrics
from exaudit.model.scores import Scores

__all__ = ["Confusion", "Evaluation", "Level"]

Level = Literal["document", "token"]
Ints = NDArray[np.int64]
MACRO = ("precision", "recall", "f1", "f0.5")  # the metrics that are averaged over classes
EDGES = ((1 - 0.95) / 2, (1 + 0.95) / 2)  # of an interval
SHOWN = 20  # classes that a table of confusions has room for, and confusions that stand in for it beyond that


class Confusion(NamedTuple):
    """How many documents of one class were taken for another."""

    truth: str
    decided: str
    documents: int


@dataclass(frozen=True)
class Evaluation:
    """Decisions and truth of a set of documents, a column for each class that is decided (one, where there are two).

    Token parts are None where token labels are not known.
    """

    labels: LabelSet
    documents: Table  # (D, K) decided, 0 or 1
    document_truth: Table  # (D, K)
    tokens: Tables | None  # (N, K) for each document
    token_truth: Tables | None

    @classmethod
    def of(cls, labelled: Iterable[Scores], labels: LabelSet) -> Evaluation:
        """Compare with the labels that the documents carry; documents without a label are an error."""
        decided, truth, tokens, token_truth = (Tables(len(labels.views)) for _ in range(4))
        for scores in labelled:
            classes = true_classes(scores.document, labels)
            if classes is None:
                raise DataError(
                    f"document {scores.document.id!r} has no label to compare with", line=scores.document.line
                )
            decided.append(as_row(scores.decided, labels)[None])
            truth.append(as_row(classes, labels)[None])
            targets = labels.token_targets(scores.document)
            if targets is not None:
                tokens.append(word_decisions(scores))
                token_truth.append(targets)
        if not decided:
            raise DataError("there is no document to evaluate on")
        known = len(tokens) == len(decided)
        return cls(
            labels,
            decided.joined,
            truth.joined,
            tokens if known else None,
            token_truth if known else None,
        )

    def only(self, documents: Sequence[bool], tokens: Sequence[NDArray[np.bool_]]) -> Evaluation:
        """The documents and the tokens that were admitted, each judged by themselves."""
        kept = np.array(documents, dtype=bool)
        decided, truth = (
            None if tables is None else self._tables(t[mask] for t, mask in zip(tables, tokens, strict=True))
            for tables in (self.tokens, self.token_truth)
        )
        return Evaluation(self.labels, self.documents[kept], self.document_truth[kept], decided, truth)

    # -- figures ----------------------------------------------------------------------------------------

    def metrics(self, level: Level) -> dict[str, float] | None:
        """Of two classes, those of the positive one; of several, accuracy (all labels right), macro and micro averages.

        Macro averages are over the classes that occur, in the truth or in the decisions.
        """
        table = self._total(level)
        return None if table is None else self._measured(level, table)

    def document_metrics(self) -> dict[str, float]:
        metrics = self.metrics("document")
        assert metrics is not None
        return metrics

    def token_metrics(self) -> dict[str, float] | None:
        return self.metrics("token")

    def by_class(self, level: Level) -> dict[str, dict[str, float]] | None:
        """Precision, recall and F1 of each class (F0.5 too for words), how often it is true, and how often decided."""
        table = self._total(level)
        if table is None:
            return None
        rows = {}
        for view, counts in zip(self.labels.views, _counts(table[:-1]), strict=True):
            row = {"precision": counts.precision, "recall": counts.recall, "f1": counts.f()}
            if level == "token":
                row["f0.5"] = counts.f(0.5)
            row["support"] = counts.true_positive + counts.false_negative
            row["decided"] = counts.true_positive + counts.false_positive
            rows[view.positive] = row
        return rows

    def confusion(self) -> Ints | None:
        """Documents by true class (rows) and decided class (C, C), where each has exactly one of several."""
        if self.labels.kind != "multiclass":
            return None
        return self.document_truth.astype(np.int64).T @ self.documents.astype(np.int64)

    def confusions(self, count: int = SHOWN) -> list[Confusion]:
        """The commonest ones."""
        table = self.confusion()
        if table is None:
            return []
        wrong = table * (1 - np.eye(len(table), dtype=np.int64))
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        names, places = self.labels.names, zip(*np.unravel_index(order, wrong.shape), strict=True)
        return [Confusion(names[t], names[d], int(wrong[t, d])) for t, d in places if wrong[t, d]]

    def intervals(
        self, *, draws: int = 1000, seed: int = 0
    ) -> dict[str, dict[str, tuple[float, float]] | None]:
        """95% bootstrap intervals of the metrics, drawing whole documents: their words are not independent."""
        return {level: self._intervals(level, draws, seed) for level in ("document", "token")}

    def _intervals(self, level: Level, draws: int, seed: int) -> dict[str, tuple[float, float]] | None:
        pairs = self._pairs(level)
        if pairs is None or not len(pairs[0]):
            return None
        tables = np.array([_table(said, true) for said, true in zip(*pairs, strict=True)])  # (D, K + 1, 4)
        generator, n = np.random.default_rng(seed), len(tables)
        flat = tables.reshape(n, -1)
        drawn: dict[str, list[float]] = {}
        for _ in range(draws):
            times = np.bincount(generator.integers(0, n, n), minlength=n)  # (D,)
            for name, value in self._measured(level, (times @ flat).reshape(tables.shape[1:])).items():
                drawn.setdefault(name, []).append(value)
        quantiles = {name: np.quantile(values, EDGES) for name, values in drawn.items()}
        return {name: (float(low), float(high)) for name, (low, high) in quantiles.items()}

    def _pairs(self, level: Level) -> tuple[Sequence[Table], Sequence[Table]] | None:
        """Decisions and truth of each document (N, K); a document as a whole has one row."""
        if level == "document":
            return list(self.documents[:, None]), list(self.document_truth[:, None])
        return None if self.tokens is None or self.token_truth is None else (self.tokens, self.token_truth)

    def _total(self, level: Level) -> Ints | None:
        if level == "document":
            return _table(self.documents, self.document_truth)
        if self.tokens is None or self.token_truth is None:
            return None
        return _table(self.tokens.joined, self.token_truth.joined)

    def _tables(self, tables: Iterable[Table]) -> Tables:
        return Tables(len(self.labels.views), tables)

    def _measured(self, level: Level, table: Ints) -> dict[str, float]:
        """The metrics of counts (K + 1, 4)."""
        counts, whole = _counts(table[:-1]), Counts(*table[-1].tolist())
        measure = document_metrics if level == "document" else token_metrics
        if self.labels.kind == "binary":
            return measure(counts[0])
        means = averaged(counts, measure)
        macro = {f"macro_{name}": value for name, value in means.items() if name in MACRO}
        micro = {"micro_f1": sum(counts, Counts(0, 0, 0, 0)).f()}
        return ({"accuracy": whole.accuracy} if level == "document" else {}) | macro | micro

    # -- baselines --------------------------------------------------------------------------------------

    def random(self, seed: int = 0) -> Evaluation:
        """A fair coin for every class of every document and every word; of classes that exclude each other, any one of
        them, or for words none, with equal chances."""
        draws = np.random.default_rng(seed)
        classes = len(self.labels.views)

        def draw(n: int, none: bool) -> Table:
            if self.labels.kind != "multiclass":
                return draws.integers(0, 2, (n, classes)).astype(np.int8)
            chosen = draws.integers(0, classes + none, n)
            return np.asarray(chosen[:, None] == np.arange(classes), dtype=np.int8)

        tokens = None if self.tokens is None else self._tables(draw(len(t), True) for t in self.tokens)
        return replace(self, documents=draw(len(self.documents), False), tokens=tokens)

    def majority(self) -> Evaluation:
        """The commonest answer on documents for every document and every word."""
        share = self.document_truth.astype(np.int64).sum(0)  # (K,)
        if self.labels.kind == "multiclass":
            value = (np.arange(len(share)) == share.argmax()).astype(np.int8)
        else:
            value = (2 * share >= len(self.document_truth)).astype(np.int8)
        tokens = (
            None if self.tokens is None else self._tables(np.tile(value, (len(t), 1)) for t in self.tokens)
        )
        return replace(self, documents=np.tile(value, (len(self.documents), 1)), tokens=tokens)

    # -- for programs and people ------------------------------------------------------------------------

    def to_json(self, *, ci: bool = False) -> dict[str, Any]:
        """All figures as fractions of one.

        document, token  the metrics; of two classes accuracy (documents), precision, recall, f1, f0.5 (words) and mcc
                         of the positive class; of several accuracy (documents: all labels right), macro_precision,
                         macro_recall, macro_f1, macro_f0.5 (words) and micro_f1; token is null without word labels
        ci               with `ci`: for each metric the ends of its interval
        kind, classes    of more than two classes or several labels: which of them, and the names of the classes
        by_class         the same: for document and token, by name precision, recall, f1, f0.5 (words), support (how
                         often the class is true) and decided (how often it is decided)
        confusion        of more than two classes: documents by true class (rows) and decided class (columns)
        """
        result: dict[str, Any] = {"document": self.document_metrics(), "token": self.token_metrics()}
        if self.labels.kind != "binary":
            result |= {
                "kind": self.labels.kind,
                "classes": list(self.labels.names),
                "by_class": {level: self.by_class(level) for level in ("document", "token")},
            }
            table = self.confusion()
            if table is not None:
                result["confusion"] = table.tolist()
        if ci:
            result["ci"] = self.intervals()
        return result

    def render(self, *, ci: bool = False) -> str:
        """The same as tables for people, in percent."""
        rows = [("model", self), ("random", self.random()), ("majority", self.majority())]
        intervals = self.intervals() if ci else None
        lines: list[str] = []
        levels: tuple[Level, ...] = ("document", "token")
        for level in levels:
            own = self.metrics(level)
            if own is None:
                lines += ["", "no token labels: the token decisions cannot be scored"]
                continue
            width = 11 if self.labels.kind == "binary" else 14
            titles = [_title(name) for name in own]
            lines += ["", f"{level + 's':<12}" + "".join(f"{title:>{width}}" for title in titles)]
            for name, evaluation in rows:
                values = evaluation.metrics(level) or {}
                lines.append(f"  {name:<10}" + "".join(f"{100 * v:>{width}.2f}" for v in values.values()))
            spans = None if intervals is None else intervals[level]
            if spans is not None:
                cells = [f"{100 * low:.1f}-{100 * high:.1f}" for low, high in spans.values()]
                lines.append(f"  {'95% ci':<10}" + "".join(f"{cell:>{width}}" for cell in cells))
            if self.labels.kind != "binary":
                lines += ["", *self._class_lines(level)]
        return "\n".join([*lines[1:], *self._confusion_lines()])

    def _class_lines(self, level: Level) -> list[str]:
        rows = self.by_class(level) or {}
        width = max(len(name) for name in [*rows, f"{level}s by class"]) + 2
        lines = [
            f"{f'{level}s by class':<{width}}"
            + "".join(f"{title:>11}" for title in next(iter(rows.values())))
        ]
        for name, row in rows.items():
            cells = [f"{v:>11}" if isinstance(v, int) else f"{100 * v:>11.2f}" for v in row.values()]
            lines.append(f"  {name:<{width - 2}}" + "".join(cells))
        return lines

    def _confusion_lines(self) -> list[str]:
        table = self.confusion()
        if table is None:
            return []
        names = self.labels.names
        if len(names) > SHOWN:
            told = [f"  {truth} taken for {decided}: {n}" for truth, decided, n in self.confusions()]
            title = "documents that were taken for another class, the commonest first (--json has the whole table)"
            return ["", title, *(told or ["  none"])]
        number, width = len(str(len(names))), max(map(len, names))
        cell = max(len(str(table.max())), number) + 2
        head = "".join(f"{n:>{cell}}" for n in range(1, len(names) + 1))
        lines = [
            "",
            "documents by true class (rows) and decided class (columns)",
            " " * (number + width + 4) + head,
        ]
        for n, (name, row) in enumerate(zip(names, table.tolist(), strict=True), 1):
            lines.append(f"  {n:>{number}}  {name:<{width}}" + "".join(f"{v:>{cell}}" for v in row))
        return lines


def _title(name: str) -> str:
    """macro_precision is long."""
    return name.replace("_precision", " prec.").replace("_", " ")


def _table(said: Table, true: Table) -> Ints:
    """Counts for each class, and of rows that are right as a whole, and that are not (K + 1, 4)."""
    cells = [((said == s) & (true == t)).sum(0) for s, t in ((1, 1), (1, 0), (0, 1), (0, 0))]  # (K,) each
    right = int((said == true).all(1).sum())
    return np.concatenate([np.stack(cells, 1), [[right, len(said) - right, 0, 0]]])


def _counts(table: Ints) -> list[Counts]:
    return [Counts(*row) for row in table.tolist()]
