"""The documents of a report, small enough to travel inside the page: numbers are rounded, large sets are sampled."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.audit.audited import Audited
from exaudit.data.labels import LabelNames
from exaudit.model.scores import TokenScores

__all__ = ["BUDGET", "Shelf"]

BUDGET = 12_000_000  # bytes of JSON, so that a page with all its tables stays under 15 MB
LONGEST = 4_000  # words of a document that are shown


@dataclass(frozen=True)
class Shelf:
    """Documents as JSON objects with short names, in the order of the file.

    i id · p predicted class · t true class · a admitted · r reason of refusal · o output · w words, one a line ·
    s scores in hundredths · d decided words · y truly positive words · k K-NN outputs in hundredths ·
    n distances in tenths · f refused words · c words cut off
    """

    names: LabelNames
    rows: tuple[dict[str, Any], ...]
    total: int
    wrong: int  # documents in all that are predicted wrongly

    @classmethod
    def of(cls, labelled: Iterable[TokenScores], names: LabelNames, *, budget: int = BUDGET) -> Shelf:
        """All documents that fit into the budget; errors come first, then a sample that depends on ids alone."""
        rows = [_row(scores, names) for scores in labelled]
        wrong = [row.get("t") not in (None, row["p"]) for row in rows]
        order = sorted(range(len(rows)), key=lambda n: (not wrong[n], _draw(rows[n]["i"]), n))
        chosen, used = [], 0
        for n in order:
            used += len(_script(rows[n]).encode()) + 1
            if used > budget:
                break
            chosen.append(n)
        return cls(names, tuple(rows[n] for n in sorted(chosen)), len(rows), sum(wrong))

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
        names = [self.names.negative, self.names.positive]
        documents = []
        for row in self.rows:
            tokens = row["w"].split("\n")
            document: dict[str, Any] = {
                "id": row["i"],
                "predicted": names[row["p"]],
                "truly": names[row["t"]] if "t" in row else None,
                "output": row["o"],
                "tokens": tokens,
                "scores": [score / 100 for score in row["s"]],
                "decided": row["d"],  # places of words, counted from 0
            }
            if "c" in row:
                document["words_cut"] = row["c"]
            if "y" in row:
                document["truly_positive"] = row["y"]
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

    def to_script(self) -> str:
        """JSON that may stand inside a script element: without <, which could end it."""
        value = {"names": [self.names.negative, self.names.positive], "rows": self.rows}
        return _script(value)


def _script(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _row(scores: TokenScores, names: LabelNames) -> dict[str, Any]:
    document = scores.document
    shown = slice(0, LONGEST)
    row: dict[str, Any] = {
        "i": document.id,
        "p": scores.decision,
        "o": round(float(scores.output), 2),
        "w": "\n".join(" ".join(token.split()) or token.strip("\n") for token in document.tokens[shown]),
        "s": _rounded(scores.margins[shown], 100),
        "d": np.flatnonzero(scores.decisions[shown]).tolist(),
    }
    truth = names.document_target(document)
    if truth is not None:
        row["t"] = truth
    tokens = names.token_targets(document)
    if tokens is not None:
        row["y"] = np.flatnonzero(tokens[shown]).tolist()
    if len(document.tokens) > LONGEST:
        row["c"] = len(document.tokens) - LONGEST
    if isinstance(scores, Audited):
        if scores.knn is not None:
            row["k"] = _rounded(scores.knn[shown], 100)
        if scores.neighbours is not None:
            row["n"] = _rounded(scores.neighbours.distances[shown, 0], 10)
        if scores.admitted_tokens is not None:
            row["f"] = np.flatnonzero(~scores.admitted_tokens[shown]).tolist()
        if scores.admitted is not None:
            row["a"] = int(scores.admitted)
        if scores.reason:
            row["r"] = scores.reason
    return row


def _rounded(values: NDArray[Any], unit: int) -> list[int]:
    return np.rint(np.asarray(values, dtype=np.float64) * unit).astype(np.int64).tolist()  # type: ignore[no-any-return]


def _draw(id: str) -> bytes:
    return blake2b(id.encode(errors="replace"), digest_size=8).digest()
