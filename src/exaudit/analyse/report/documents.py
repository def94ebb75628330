"""The documents of a report, small enough to travel inside the page: numbers are rounded, large sets are sampled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit._escape import json_text
from exaudit.analyse.decisions import true_classes, word_decisions
from exaudit.audit.audited import Audited, MultiAudited
from exaudit.data.labels import LabelSet
from exaudit.model.scores import Scores, TokenScores

__all__ = ["BUDGET", "Shelf"]

BUDGET = 12_000_000  # bytes of JSON, so that a page with all its tables stays under 15 MB
LONGEST = 4_000  # words of a document that are shown


@dataclass(frozen=True)
class Shelf:
    """Documents as JSON objects with short names, in the order of the file.

    i id · p predicted class · t true class · a admitted · r reason of refusal · o output · w words, one a line ·
    s scores in hundredths · d decided words · y truly positive words · g words for the negative class, of documents
    decided negative · k K-NN outputs in hundredths · n distances in tenths · f refused words · c words cut off

    Of two classes, p and t are 0 or 1. Otherwise p and t are lists of class numbers, d and y lists of a word's place
    and its classes, and b has the class that each word speaks for most, of which s and k are.
    """

    labels: LabelSet
    rows: tuple[dict[str, Any], ...]
    total: int
    wrong: int  # documents in all that are predicted wrongly

    @classmethod
    def of(cls, labelled: Iterable[Scores], labels: LabelSet, *, budget: int = BUDGET) -> Shelf:
        """All documents that fit into the budget; errors come first, then a sample that depends on ids alone."""
        rows = [_row(scores, labels) for scores in labelled]
        wrong = [row.get("t") not in (None, row["p"]) for row in rows]
        order = sorted(range(len(rows)), key=lambda n: (not wrong[n], _draw(rows[n]["i"]), n))
        chosen, used = [], 0
        for n in order:
            used += len(_script(rows[n]).encode()) + 1
            if used > budget:
                break
            chosen.append(n)
        return cls(labels, tuple(rows[n] for n in sorted(chosen)), len(rows), sum(wrong))

    @property
    def note(self) -> str:
        """What is shown of how much."""
        if len(self.rows) == self.total:
            return f"All {self.total:,} documents."
        return (
            f"{len(self.rows):,} of {self.total:,} documents, so that the page stays small: the wrong ones first "
            f"({self.wrong:,} in all), then a random sample of the others."
        )

    def to_json(self) -> list[dict[str, Any]]:
        """The same with long names, for programs."""
        documents = []
        for row in self.rows:
            tokens = row["w"].split("\n")
            document: dict[str, Any] = {
                "id": row["i"],
                "predicted": self._told(row["p"]),
                "truly": self._told(row["t"]) if "t" in row else None,
                "output": row["o"],
                "tokens": tokens,
                "scores": [score / 100 for score in row["s"]],
                "decided": self._words(row["d"]),
            }
            if "b" in row:
                document["strongest"] = [self.labels.names[c] for c in row["b"]]
            if "g" in row:
                document["for_negative"] = row["g"]
            if "c" in row:
                document["words_cut"] = row["c"]
            if "y" in row:
                document["truly_positive" if self.binary else "truly_carried"] = self._words(row["y"])
            if "k" in row:
                document["knn"] = [value / 100 for value in row["k"]]
            if "n" in row:
                document["distances"] = [value / 10 for value in row["n"]]
            if "f" in row:
                document["refused"] = row["f"]
            if "a" in row:
                document |= {"admitted": bool(row["a"]), "reason": row.get("r")}
            documents.append(document)
        return documents

    @property
    def negative_words(self) -> bool:
        """Whether words for the negative class are known of some document."""
        return any("g" in row for row in self.rows)

    @property
    def binary(self) -> bool:
        return self.labels.kind == "binary"

    def _told(self, classes: int | list[int]) -> str | list[str]:
        """The name of a document's class; a list of names, where it may have several."""
        if isinstance(classes, int):
            return self.labels.names[classes]
        names = [self.labels.names[c] for c in classes]
        return names if self.labels.kind == "multilabel" else names[0]

    def _words(self, marked: list[Any]) -> list[Any]:
        """The places of words, counted from 0; with the names of their classes, where there are several."""
        if self.binary:
            return marked
        return [{"place": n, "classes": [self.labels.names[c] for c in classes]} for n, *classes in marked]

    def to_script(self) -> str:
        """JSON that may stand inside a script element: without <, which could end it."""
        value: dict[str, Any] = {"names": list(self.labels.names), "rows": self.rows}
        return _script(value if self.binary else {"kind": self.labels.kind} | value)


def _script(value: Any) -> str:
    text = json_text(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _row(scores: Scores, labels: LabelSet) -> dict[str, Any]:
    document = scores.document
    shown = slice(0, LONGEST)
    truth, tokens = true_classes(document, labels), labels.token_targets(document)
    decided, margins = word_decisions(scores), np.stack([view.margins for view in scores.views], 1)  # (N, K)
    strongest = margins.argmax(1)  # (N,)
    binary = labels.kind == "binary"
    row: dict[str, Any] = {
        "i": document.id,
        "p": scores.decided[0] if binary else list(scores.decided),
        "o": round(max(float(view.output) for view in scores.views), 2),
        "w": "\n".join(" ".join(token.split()) or token.strip("\n") for token in document.tokens[shown]),
        "s": _rounded(_of(margins, strongest)[shown], 100),
        "d": _marked(decided[shown], binary),
    }
    if not binary:
        row["b"] = strongest[shown].tolist()
    if isinstance(scores, TokenScores) and not scores.decision and (scores.evidence[shown] < 0).any():
        row["g"] = np.flatnonzero(scores.evidence[shown] < 0).tolist()
    if truth is not None:
        row["t"] = truth[0] if binary else list(truth)
    if tokens is not None:
        row["y"] = _marked(tokens[shown], binary)
    if len(document.tokens) > LONGEST:
        row["c"] = len(document.tokens) - LONGEST
    return row | _evidence(scores, strongest, shown)


def _evidence(scores: Scores, strongest: NDArray[np.intp], shown: slice) -> dict[str, Any]:
    """What the support set has to say, of audited documents."""
    row: dict[str, Any] = {}
    if not isinstance(scores, Audited | MultiAudited):
        return row
    if scores.knn is not None:
        knn = scores.knn.reshape(len(strongest), -1)  # (N, K)
        row["k"] = _rounded(_of(knn, strongest)[shown], 100)
    if (near := scores.views[0].neighbours) is not None:  # as far away for every class
        row["n"] = _rounded(near.distances[shown, 0], 10)
    if scores.admitted_tokens is not None:
        row["f"] = np.flatnonzero(~scores.admitted_tokens[shown]).tolist()
    if scores.admitted is not None:
        row["a"] = int(scores.admitted)
    if scores.reason:
        row["r"] = scores.reason
    return row


def _of(values: NDArray[Any], column: NDArray[np.intp]) -> NDArray[Any]:
    """The value of each row in a column of its own (N,)."""
    return np.asarray(values[np.arange(len(values)), column])


def _marked(table: NDArray[np.int8], binary: bool) -> list[Any]:
    """The places of words that carry a class; with their classes, where there are several."""
    places = np.flatnonzero(table.any(1)).tolist()
    return places if binary else [[n, *np.flatnonzero(table[n]).tolist()] for n in places]


def _rounded(values: NDArray[Any], unit: int) -> list[int]:
    return np.rint(np.asarray(values, dtype=np.float64) * unit).astype(np.int64).tolist()  # type: ignore[no-any-return]


def _draw(id: str) -> bytes:
    return blake2b(id.encode(errors="replace"), digest_size=8).digest()
