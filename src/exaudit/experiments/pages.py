"""Our figures beside the paper's, as text for the terminal and as Markdown pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

from exaudit._tables import Line, aligned, escaped, markdown_table
from exaudit.experiments.claims import Case, Finding
from exaudit.experiments.paper_comparison import (
    NgramTable,
    PaperComparison,
    RankedNgram,
    Row,
    Table,
    Value,
    digits,
)

__all__ = [
    "NGRAMS_SHOWN",
    "NOTHING",
    "claims_markdown",
    "claims_text",
    "experiment_markdown",
    "experiment_text",
    "number",
    "picture",
    "shown_name",
]

NGRAMS_SHOWN = 5  # of each end: n-grams are words of the corpus, and few of those may be shown
READ = "Each cell: ours (the paper's, ours less the paper's). P, R, F scores, accuracy and agreement are in percent."


NOTHING = "-"
STUDENT = {
    "uniCNN+S*": "tagger without max-pool",
    "uniCNN+mm": "student+mm",
    "uniCNN": "student",
}
STUDENTS = (
    "Where the paper has uniCNN, the rows with a tuned encoder are of another model: a **student without max-pool, "
    "rehearsed with synthetic errors** (on reviews without the rehearsal, which the dev documents do not bear out). "
    "student+mm is the same, fine-tuned with the min-max loss; the tagger without max-pool, whose encoder is tuned "
    "with token labels, stands where the paper has uniCNN+S\\*."
)


# -- cells ------------------------------------------------------------------------------------------------


def number(value: Value, places: int, *, sign: bool = False) -> str:
    if value is None:
        return ""
    # Of the digits as they are printed: 49.15 is 49.2, which the nearest binary fraction would not be.
    rounded = Decimal(repr(round(value, 6))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    rounded = rounded or abs(rounded)  # no -0.0
    return f"{rounded:+f}" if sign and rounded else f"{rounded:f}"


def _cell(row: Row, n: int, column: str) -> str:
    """ours (the paper's, the difference); (the paper's) where we have none."""
    places = digits(column, row.name)
    ours = "" if row.ours is None else number(row.ours[n], places)
    paper = "" if row.paper is None else number(row.paper[n], places)
    if not ours or not paper or row.differences is None:
        return ours or (f"({paper})" if paper else "")
    return f"{ours} ({paper}, {number(row.differences[n], places, sign=True)})"


def shown_name(name: str, tuned: bool) -> str:
    """What a model is called: with a tuned encoder it is not the paper's."""
    if not tuned:
        return name
    for papers, ours in STUDENT.items():
        if name.startswith(papers) and not name.startswith(
            f"{papers}, "
        ):  # "uniCNN, M=2" is told apart already
            return f"{ours} (for {papers}){name.removeprefix(papers)}"
    return name


def _name(row: Row, tuned: bool) -> str:
    if row.cited:
        return f"{row.name} [quoted]"
    name = shown_name(row.name, tuned and row.ours is not None)
    return f"{name} [{len(row.by_seed)} seeds]" if len(row.by_seed) > 1 else name


def _lines(table: Table, tuned: bool) -> list[Line]:
    cells = [
        [_name(row, tuned), *(_cell(row, n, c) for n, c in enumerate(table.columns))] for row in table.rows
    ]
    return [["", *table.columns], *cells]


def _notes(table: Table) -> Iterator[str]:
    """The seeds one by one, and why rows are missing."""
    for row in table.rows:
        if len(row.by_seed) > 1:
            parts = (
                f"seed {seed}: " + " ".join(
                    number(value, digits(column, row.name)) or "-"
                    for value, column in zip(values, table.columns, strict=True)
                )
                for seed, values in row.by_seed.items()
            )  # fmt: skip
            yield f"{row.name}: " + "; ".join(parts)
    reasons: dict[str, list[str]] = {}
    for row in table.rows:
        if row.why is not None:
            reasons.setdefault(row.why, []).append(row.name)
    yield from (f"{', '.join(names)}: {why}" for why, names in reasons.items())


def _ngram_lines(table: NgramTable, shown: int) -> Iterator[tuple[str, list[Line]]]:
    """A heading and lines for each end of each side."""
    counted = any(ngram.frequency is not None for ranking in table.rankings for ngram in ranking.paper)
    titles = ["ours", "score", "frequency"] if counted else ["ours", "score"]
    for ranking in table.rankings:
        pairs = [(_at(ranking.ours, n), _at(ranking.paper, n)) for n in range(shown)]
        lines = [
            [str(n), *_ngram_cells(a, counted), *_ngram_cells(b, counted)]
            for n, (a, b) in enumerate(pairs, 1)
            if a or b
        ]
        heading = f"{ranking.side}, {ranking.end}" if ranking.side else ranking.end
        yield heading, [["", *titles, "the paper's", *titles[1:]], *lines]


def _at(ngrams: Sequence[RankedNgram], n: int) -> RankedNgram | None:
    return ngrams[n] if n < len(ngrams) else None


def _ngram_cells(ngram: RankedNgram | None, counted: bool) -> list[str]:
    if ngram is None:
        return [""] * (3 if counted else 2)
    cells = [ngram.name, number(ngram.score, 1)]
    return [*cells, "" if ngram.frequency is None else str(ngram.frequency)] if counted else cells


def _points(case: Case) -> str:
    value, low, high = (number(v, 1, sign=True) for v in (case.value, case.low, case.high))
    return f"{value} [{low}, {high}]"


def _case(case: Case) -> str:
    name = case.name if case.seed is None else f"{case.name} (seed {case.seed})"
    return f"{name}; {case.note}" if case.note else name


def _verdict(finding: Finding) -> str:
    if not finding.counted:
        return finding.verdict
    return f"{finding.verdict} ({finding.held} of {len(finding.counted)} cases)"


def _case_verdict(finding: Finding, case: Case) -> str:
    verdict = finding.claim.rule.decide(case)
    return verdict if finding.counts(case) else f"beside the claim: {verdict}"


# -- text -------------------------------------------------------------------------------------------------


def experiment_text(comparison: PaperComparison, experiment: str, *, width: int = 120) -> str:
    """All tables of one experiment; a table that is wider than the terminal goes on below itself."""
    parts = [READ]
    for table in comparison.tables:
        if table.experiment == experiment:
            notes = [f"  {note}" for note in _notes(table)]
            parts.append(
                "\n".join(
                    [f"{table.title}  ({table.id})", *aligned(_lines(table, comparison.tuned), width), *notes]
                )
            )
    for ngram_table in comparison.ngram_tables:
        if ngram_table.experiment == experiment:
            lines = [
                f"{ngram_table.title}  ({ngram_table.id})",
                *([f"  {ngram_table.why}"] if ngram_table.why else []),
            ]
            for heading, rows in _ngram_lines(ngram_table, NGRAMS_SHOWN):
                lines += [f"  {heading}", *(f"  {line}" for line in aligned(rows, width - 2))]
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def claims_text(comparison: PaperComparison, experiments: Iterable[str]) -> str:
    """Verdicts, with the differences they rest on."""
    wanted = set(experiments)
    parts = ["The paper's claims. Differences in percentage points, with 95% intervals over documents."]
    for finding in comparison.findings:
        if finding.claim.experiment not in wanted:
            continue
        lines = [f"{finding.claim.id}: {_verdict(finding)}", f"  {finding.claim.text}"]
        rows = [[_case(c), _points(c), _case_verdict(finding, c)] for c in finding.cases]
        lines += [f"    {line}" for line in aligned(rows, 10_000)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


# -- Markdown ---------------------------------------------------------------------------------------------


def experiment_markdown(
    comparison: PaperComparison,
    experiment: str,
    title: str,
    header: Sequence[str],
    *,
    pictures: Sequence[str] = (),
) -> str:
    """A page with all tables of one experiment. `pictures` are the names of svg files beside it."""
    parts = [f"# {escaped(title)}: ours beside the paper's", *header, READ]
    parts.append("Rows marked [quoted] are others' results, or another encoder's, that the paper repeats.")
    parts += [STUDENTS] if comparison.tuned else []
    for table in comparison.tables:
        if table.experiment == experiment:
            parts += [
                f"## {escaped(table.title)}",
                f"`{table.id}`",
                markdown_table(_lines(table, comparison.tuned)),
            ]
            parts += [f"![{escaped(table.title)}]({name})" for name in pictures if name == picture(table.id)]
            parts += ["\n".join(f"- {escaped(note)}" for note in _notes(table))]
    for ngram_table in comparison.ngram_tables:
        if ngram_table.experiment == experiment:
            parts += [
                f"## {escaped(ngram_table.title)}",
                f"`{ngram_table.id}`",
                escaped(ngram_table.why or ""),
            ]
            for heading, rows in _ngram_lines(ngram_table, NGRAMS_SHOWN):
                parts += [escaped(heading.capitalize()) + ":", markdown_table(rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


def claims_markdown(comparison: PaperComparison, header: Sequence[str]) -> str:
    """A page with each claim, its verdict, and the differences that it rests on."""
    parts = ["# What the paper claims, and what our figures say", *header]
    parts.append(
        "Differences are in percentage points, with 95% intervals drawn over documents. An interval speaks for one "
        "trained model: it does not tell how another seed would do. A claim holds if all its cases do, and does not "
        "hold if more than half refute it. Cases beside the claim are shown, and do not count. Of admitted reviews, "
        "which are few, the interval is Newcombe's, by Wilson's of both shares."
    )
    parts += [STUDENTS] if comparison.tuned else []
    summary = [["claim", "the paper", "our cases", "verdict"]]
    for finding in comparison.findings:
        claim, count = finding.claim, f"{finding.held} of {len(finding.counted)}" if finding.counted else ""
        summary.append([f"{claim.text} ({claim.id})", claim.place, count, finding.verdict])
    parts.append(markdown_table(summary))
    for finding in comparison.findings:
        claim = finding.claim
        parts += [f"## {claim.id}: {_verdict(finding)}", escaped(claim.text)]
        parts.append(f"- The paper ({claim.place}): {escaped(claim.printed)}.\n- Rule: {claim.rule.text}.")
        if finding.cases:
            rows = [[_case(c), _points(c), _case_verdict(finding, c)] for c in finding.cases]
            parts.append(markdown_table([["case", "difference [95% interval]", ""], *rows]))
        else:
            parts.append("Not run yet, or too little to draw an interval from.")
    return "\n\n".join(parts) + "\n"


def picture(table: str) -> str:
    """fce-figure-2 is drawn in figure-2.svg."""
    return f"{table.removeprefix('fce-')}.svg"
