"""Several runs side by side: the headline rows beside the paper's, and the verdicts on its claims."""

from __future__ import annotations

from collections.abc import Sequence

from exaudit._tables import markdown_table
from exaudit.experiments.claims import CLAIMS, Finding
from exaudit.experiments.pages import NOTHING, number, shown_name
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.paper_comparison import Row, digits
from exaudit.experiments.results import Results

__all__ = ["summary_markdown"]

HEADLINES = (  # the rows that are run with every seed
    ("fce-zero-shot", ("uniCNN",)),
    ("fce-supervised", ("uniCNN", "uniCNN+mm", "uniCNN+S*")),
    ("fce-rules", ("uniCNN+ExAG", "uniCNN+K8NN dist.", "uniCNN+mm+ExAG", "uniCNN+mm+K8NN dist.", "uniCNN+S*+ExAG",
                   "uniCNN+S*+K8NN dist.")),
)  # fmt: skip


def summary_markdown(runs: Sequence[Results]) -> str:
    """A page with the headline rows, and one line for each claim."""
    names = [_name(run) for run in runs]
    parts = [
        "# Runs side by side",
        "\n".join(f"- {name}: {_made(run)}" for name, run in zip(names, runs, strict=True)),
    ]
    parts += ["## Headline rows", "FCE test, in percent: the mean, and each seed in brackets."]
    parts.append(markdown_table([["", "", "the paper", *names], *_headlines(runs)]))
    parts += [
        "## Claims",
        "In how many of our cases a claim holds by its interval; the pages have each case.",
    ]
    lines = [
        [claim.text, *(_verdict(run, claim.id) for run in runs)]
        for claim in CLAIMS.values()
        if any(_found(run, claim.id) for run in runs)
    ]
    parts.append(markdown_table([["claim", *names], *lines]))
    return "\n\n".join(parts) + "\n"


def _name(run: Results) -> str:
    own = run.settings
    kind = "tuned" if own.tune_encoder else "the paper's recipe" if own.recipe == "paper" else "our recipe"
    return ", ".join([own.encoder_name, kind, *run.cautions])


def _made(run: Results) -> str:
    commits = {str(code.get("commit") or "unknown") for code in run.code} or {"unknown"}
    encoder = f", encoder `{run.encoder[:12]}`" if run.encoder else ""
    return f"commit {', '.join(sorted(commits))}{encoder}, seeds {', '.join(map(str, run.settings.seeds))}"


def _headlines(runs: Sequence[Results]) -> list[list[str]]:
    found = [
        {(table.id, row.name): row for table in run.comparison.tables for row in table.rows} for run in runs
    ]
    tuned = any(run.settings.tune_encoder for run in runs)
    lines = []
    for id, names in HEADLINES:
        paper = paper_tables()[id]
        for name in names:
            printed = paper.row(name)
            for n, column in enumerate(paper.columns):
                places = digits(column, name)
                theirs = NOTHING if printed is None else number(printed.values[n], places)
                ours = [_cell(rows.get((id, name)), n, places) for rows in found]
                lines.append([shown_name(name, tuned) if n == 0 else "", column, theirs, *ours])
    return lines


def _cell(row: Row | None, n: int, places: int) -> str:
    if row is None or row.ours is None:
        return NOTHING
    seeds = ", ".join(number(values[n], places) for values in row.by_seed.values())
    mean = number(row.ours[n], places)
    return f"{mean} ({seeds})" if len(row.by_seed) > 1 else mean


def _found(run: Results, id: str) -> Finding | None:
    return next((finding for finding in run.comparison.findings if finding.claim.id == id), None)


def _verdict(run: Results, id: str) -> str:
    finding = _found(run, id)
    if finding is None or not finding.counted:
        return NOTHING
    return f"{finding.verdict} ({finding.held}/{len(finding.counted)})"
