"""What a step of an experiment found: rows of tables, lists of n-grams, and differences that bear on claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from exaudit._files import read_json
from exaudit.analyse.features import Ngram
from exaudit.decide.fitting import KNNReport
from exaudit.errors import DataError
from exaudit.metrics import Difference

__all__ = ["StepResult", "percent", "read_object"]

Value = float | None


@dataclass
class StepResult:
    """Values are in percent where the paper's are, in the order of the table's columns.

    A row that cannot be had has a sentence that says why instead.
    """

    seed: int | None = None  # of a row that is run with several; None: the first
    tables: dict[str, dict[str, list[Value]]] = field(default_factory=dict)
    missing: dict[str, dict[str, str]] = field(default_factory=dict)
    ngrams: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    claims: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)  # claim, case: difference
    seconds: float = 0.0
    code: dict[str, Any] = field(default_factory=dict)  # by which it was made; see `provenance`

    def add_row(self, table: str, name: str, *values: Value) -> None:
        rounded = [None if value is None else round(float(value), 4) for value in values]
        self.tables.setdefault(table, {})[name] = rounded

    def add_knn(self, table: str, name: str, report: KNNReport) -> None:
        """The parameters of a K-NN, and how it came about; what a weighting has not is left out."""
        knn = report.knn
        tau = None if knn.kind == "equal" else knn.tau
        row = (tau, knn.gamma, knn.beta, knn.offset, report.epoch, report.delta, 100 * report.agreement)
        self.add_row(table, name, *row)

    def add_missing(self, table: str, name: str, why: str) -> None:
        self.missing.setdefault(table, {})[name] = why

    def add_ngrams(self, table: str, side: str | None, end: str, ngrams: Iterable[Ngram], by: str) -> None:
        """N-grams from one end of a ranking, with their scores and frequencies."""
        rows = self.ngrams.setdefault(table, [])
        rows += [
            {
                "name": ngram.text,
                "side": side,
                "end": end,
                "score": ngram.total if by == "total" else ngram.mean,
                "frequency": ngram.frequency,
            }
            for ngram in ngrams
        ]

    def add_claim(
        self, name: str, case: str, difference: Difference, *, note: str = "", beside: bool = False
    ) -> None:
        """A difference that should be above zero if the claim holds, in percentage points.

        beside : for comparison; the verdict does not rest on it.
        """
        points: dict[str, Any] = {key: round(100 * value, 3) for key, value in asdict(difference).items()}
        points |= {"note": note} if note else {}
        points |= {"beside": True} if beside else {}
        self.claims.setdefault(name, {})[case] = points

    def with_few_ngrams(self, count: int) -> StepResult:
        """The same, with so many n-grams from each end: they are words of the corpus, and few may be passed on."""
        kept: dict[str, list[dict[str, Any]]] = {}
        for table, ngrams in self.ngrams.items():
            ends = dict.fromkeys((ngram["side"], ngram["end"]) for ngram in ngrams)
            for side, end in ends:
                own = [ngram for ngram in ngrams if (ngram["side"], ngram["end"]) == (side, end)]
                own.sort(key=lambda ngram: float(ngram["score"]), reverse=end == "top")
                kept.setdefault(table, []).extend(own[:count])
        return replace(self, ngrams=kept)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, path: Path) -> StepResult:
        """What a step left behind."""
        try:
            return cls.from_json(read_object(path))
        except (KeyError, TypeError) as error:
            raise DataError(
                f"not the result of a step ({error}); delete the file and run again", path
            ) from error

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StepResult:
        """What `to_json` gave, by this version or an earlier one."""
        tables = dict(value["tables"])
        if "fce-figure-4" in tables:  # until 0.2 the paper's figures 2 and 3 were called 3 and 4
            tables["fce-figure-2"] = tables.pop("fce-figure-3", {})
            tables["fce-figure-3"] = tables.pop("fce-figure-4")
        return cls(**{**value, "tables": tables})


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object of a run's folder."""
    try:
        return dict(read_json(path))
    except (ValueError, TypeError) as error:
        raise DataError(f"damaged ({error}); delete the file and run again", path) from error


def percent(metrics: dict[str, float], *names: str) -> list[float]:
    """Some of the metrics, in percent."""
    return [100 * metrics[name] for name in names]
