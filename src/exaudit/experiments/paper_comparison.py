"""Our figures beside the paper's: the steps of a run, joined with `paper.json` row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exaudit.experiments.claims import CLAIMS, Case, Finding
from exaudit.experiments.paper import PaperTable, paper_tables
from exaudit.experiments.step_result import StepResult

__all__ = [
    "NgramTable",
    "PaperComparison",
    "RankedNgram",
    "Ranking",
    "Row",
    "Table",
    "compare_with_paper",
    "digits",
]

Value = float | None
Values = tuple[Value, ...]
NOT_RUN = "not run yet"
BINS = ("1st bin", "2nd bin", "3rd bin", "4th bin", "5th bin")

# Tables that the paper does not print: its figures in numbers, and what it does not measure.
PARAMETERS = ("tau", "gamma", "beta", "boundary", "epoch", "delta", "agreement")
OURS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "fce-figure-2": (
        "fce",
        "Figure 2: K-NN dev in five bins by magnitude of the K-NN's output, the largest last; F0.5 where it says 1, "
        "accuracy where it says 0, against the truth and against the model (the approximation)",
        BINS,
    ),
    "fce-figure-3": (
        "fce",
        "Figure 3: FCE+news2k in five bins by magnitude of the output, the largest last, F0.5",
        BINS,
    ),
    "fce-headline": (
        "fce",
        "FCE test, our best recipes without token labels",
        ("Sent F1", "P", "R", "F1", "F0.5"),
    ),
    "fce-in-text": (
        "fce",
        "In the text of section 4.2: models trained with news, on FCE test alone (the paper's uniCNN+news50k: 39.57)",
        ("F0.5",),
    ),
    "fce-knn-search": (
        "fce",
        "In the text of section 4.1.5: the search over K, by the differences from the model on K-NN dev",
        ("delta", "agreement"),
    ),
    "fce-knn-parameters": (
        "fce",
        "Parameters of the K-NNs, and how they came about (the paper's code ends at tau 10.0, gamma 0.41, beta -0.22 "
        "for uniCNN and at tau 10.0, gamma 0.93, beta 0.17 for uniCNN+S*)",
        PARAMETERS,
    ),
    "sentiment-knn-parameters": (
        "sentiment",
        "Parameters of the K-NN, and how it came about (the paper's code ends at tau 10.0, gamma 0.003, beta -0.03)",
        PARAMETERS,
    ),
    "sentiment-zero-shot": (
        "sentiment",
        "Sentiment diffs, token F0.5 without token labels, by where the boundary of the words is",
        ("Orig.", "Rev.", "Contrast"),
    ),
    "annotation-tokens": (
        "annotation",
        "Words that tell a revised review, against the diffs from revised to original: CAD test, and Contrast",
        ("P", "R", "F0.5"),
    ),
}


@dataclass(frozen=True)
class Row:
    """One row of a table: ours for each seed, and what the paper prints. `why` says why we have none."""

    name: str
    paper: Values | None
    by_seed: Mapping[int, Values]
    cited: bool = False  # the paper quotes it: nothing for us to run
    why: str | None = None

    @property
    def ours(self) -> Values | None:
        """The mean over seeds."""
        if not self.by_seed:
            return None
        return tuple(_mean(column) for column in zip(*self.by_seed.values(), strict=True))

    @property
    def differences(self) -> Values | None:
        """Ours less the paper's, where both are there."""
        if self.ours is None or self.paper is None:
            return None
        pairs = zip(self.ours, self.paper, strict=True)
        return tuple(None if a is None or b is None else a - b for a, b in pairs)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ours": _rounded(self.ours),
            "paper": self.paper,
            "difference": _rounded(self.differences),
            "seeds": {str(seed): values for seed, values in self.by_seed.items()},
            "cited": self.cited,
            "why": self.why,
        }


@dataclass(frozen=True)
class Table:
    """The paper's rows in the paper's order, then those that only we have."""

    id: str
    experiment: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows if row.name == name), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": self.title,
            "columns": self.columns,
            "rows": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True)
class RankedNgram:
    name: str
    score: float
    frequency: int | None

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "score": round(self.score, 4), "frequency": self.frequency}


@dataclass(frozen=True)
class Ranking:
    """N-grams from one end of the scores, the most extreme first."""

    side: str | None
    end: str  # top or lowest
    ours: tuple[RankedNgram, ...]
    paper: tuple[RankedNgram, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "side": self.side,
            "end": self.end,
            "ours": [ngram.to_json() for ngram in self.ours],
            "paper": [ngram.to_json() for ngram in self.paper],
        }


@dataclass(frozen=True)
class NgramTable:
    id: str
    experiment: str
    title: str
    rankings: tuple[Ranking, ...]
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        rankings = [ranking.to_json() for ranking in self.rankings]
        return {"id": self.id, "title": self.title, "rankings": rankings, "why": self.why}


@dataclass(frozen=True)
class PaperComparison:
    """All tables of the experiments that were begun, and all claims."""

    tables: tuple[Table, ...]
    ngram_tables: tuple[NgramTable, ...]
    findings: tuple[Finding, ...]
    tuned: bool = False  # the encoder: then our models are not the paper's, and are called what they are

    @property
    def experiments(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(table.experiment for table in self.tables))

    def table(self, id: str) -> Table:
        return next(table for table in self.tables if table.id == id)

    def to_json(self) -> dict[str, Any]:
        return {
            "tables": [table.to_json() for table in self.tables],
            "ngrams": [table.to_json() for table in self.ngram_tables],
            "claims": [finding.to_json() for finding in self.findings],
        }


def compare_with_paper(
    results: Iterable[StepResult], *, first_seed: int = 0, tuned: bool = False
) -> PaperComparison:
    """What the steps of a run found, beside the paper. A figure without a seed is of the first one."""
    found = _Found(first_seed)
    for result in results:
        found.add(result)
    begun = found.experiments()
    tables: list[Table] = []
    ngram_tables: list[NgramTable] = []
    for id, paper in paper_tables().items():
        if paper.experiment not in begun:
            continue
        if any(row.end is not None for row in paper.rows):
            ngram_tables.append(_ngram_table(paper, found))
        else:
            tables.append(_table(id, paper, found))
    known = {*(table.id for table in tables), *(table.id for table in ngram_tables)}
    own = [id for id in (*OURS, *found.rows, *found.missing) if id not in known]
    tables += [
        _table(id, None, found) for id in dict.fromkeys(own) if id in found.rows or id in found.missing
    ]
    tables.sort(key=lambda table: begun.index(table.experiment))  # stable: the paper's tables stay first
    findings = [
        Finding(c, tuple(found.cases.get(c.id, ()))) for c in CLAIMS.values() if c.experiment in begun
    ]
    return PaperComparison(tuple(tables), tuple(ngram_tables), tuple(findings), tuned)


class _Found:
    """The figures of all steps, by table and row."""

    def __init__(self, first_seed: int) -> None:
        self.first_seed = first_seed
        self.rows: dict[str, dict[str, dict[int, Values]]] = {}
        self.missing: dict[str, dict[str, str]] = {}
        self.ngrams: dict[str, list[dict[str, Any]]] = {}
        self.cases: dict[str, list[Case]] = {}

    def add(self, result: StepResult) -> None:
        seed = self.first_seed if result.seed is None else result.seed
        for id, rows in result.tables.items():
            for name, values in rows.items():
                self.rows.setdefault(id, {}).setdefault(name, {})[seed] = tuple(values)
        for id, reasons in result.missing.items():
            self.missing.setdefault(id, {}).update(reasons)
        for id, ngrams in result.ngrams.items():
            self.ngrams.setdefault(id, ngrams)  # of several seeds the first
        for claim, cases in result.claims.items():
            found = [Case(name, **points, seed=result.seed) for name, points in cases.items()]
            self.cases.setdefault(claim, []).extend(found)

    def experiments(self) -> list[str]:
        """Those begun, in the paper's order."""
        tables = [_experiment(id) for id in (*self.rows, *self.missing, *self.ngrams)]
        begun = {*tables, *(CLAIMS[claim].experiment for claim in self.cases if claim in CLAIMS)}
        return [name for name in ("fce", "sentiment", "annotation") if name in begun]


def _experiment(id: str) -> str:
    if (paper := paper_tables().get(id)) is not None:
        return paper.experiment
    first = id.split("-")[0]
    return "sentiment" if first == "contrast" else first


def _table(id: str, paper: PaperTable | None, found: _Found) -> Table:
    ours, missing = found.rows.get(id, {}), found.missing.get(id, {})
    if paper is not None:
        experiment, title, columns = paper.experiment, paper.title, paper.columns
    else:
        width = max((len(v) for seeds in ours.values() for v in seeds.values()), default=0)
        numbered = tuple(str(n + 1) for n in range(width))
        experiment, title, columns = OURS.get(id, (_experiment(id), id, numbered))
    theirs = [] if paper is None else [row.name for row in paper.rows]
    rows = []
    for name in dict.fromkeys([*theirs, *ours, *missing]):
        printed = None if paper is None else paper.row(name)
        by_seed = sorted(ours.get(name, {}).items())
        seeds = {seed: _padded(values, columns, id, name) for seed, values in by_seed}
        cited = printed is not None and printed.cited
        why = None if seeds or cited else missing.get(name, NOT_RUN)
        rows.append(Row(name, None if printed is None else printed.values, seeds, cited, why))
    return Table(id, experiment, title, columns, tuple(rows))


def _padded(values: Values, columns: Sequence[str], id: str, name: str) -> Values:
    """A row may end early (fewer bins than columns), but not late."""
    if len(values) > len(columns):
        raise ValueError(f"{id}, {name}: {len(values)} values for {len(columns)} columns")
    return values + (None,) * (len(columns) - len(values))


def _ngram_table(paper: PaperTable, found: _Found) -> NgramTable:
    ours = [
        (r["side"], r["end"], RankedNgram(r["name"], r["score"], r["frequency"]))
        for r in found.ngrams.get(paper.id, [])
    ]
    theirs = [
        (row.side, str(row.end), RankedNgram(row.name, float(row.values[0] or 0), _frequency(row.values[1:])))
        for row in paper.rows
    ]
    places = dict.fromkeys((side, end) for side, end, _ in (*theirs, *ours))
    rankings = tuple(
        Ranking(side, end, _ranked(ours, side, end), _ranked(theirs, side, end)) for side, end in places
    )
    reasons = found.missing.get(paper.id, {})
    why = None if ours else "; ".join(dict.fromkeys(reasons.values())) or NOT_RUN
    return NgramTable(paper.id, paper.experiment, paper.title, rankings, why)


def _frequency(values: Values) -> int | None:
    return None if not values or values[0] is None else int(values[0])


def _ranked(
    ngrams: Sequence[tuple[str | None, str, RankedNgram]], side: str | None, end: str
) -> tuple[RankedNgram, ...]:
    mine = [ngram for s, e, ngram in ngrams if (s, e) == (side, end)]
    return tuple(sorted(mine, key=lambda ngram: ngram.score, reverse=end == "top"))


def digits(column: str, row: str) -> int:
    """How many decimals a figure has: none where something is counted, more where one would say nothing."""
    name = row.split(" | ")[-1]
    if column in ("n", "N", "frequency", "epoch", "delta") or name == "N":
        return 0
    if column in ("tau", "gamma", "beta", "boundary"):
        return 3
    if column == "n/N" or name == "threshold":
        return 2
    return 3 if column == "length-normalised score" else 1


def _mean(values: Sequence[Value]) -> Value:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _rounded(values: Values | None) -> Values | None:
    return None if values is None else tuple(None if value is None else round(value, 4) for value in values)
