"""The figures of the documentation are those of the pages that the experiments wrote."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exaudit.experiments.results import Results
from exaudit.experiments.summary import summary_markdown
from exaudit.experiments.verification import verify

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "results"
RUNS = ("minilm-paper", "minilm", "gte-small-paper", "gte-small")
ENCODERS = {"MiniLM": "minilm", "gte-small": "gte-small"}


@cache
def tables(run: str) -> dict[str, Any]:
    return {table["id"]: table for table in json.loads((PAGES / run / "results.json").read_text())["tables"]}


def ours(run: str, table: str, name: str, columns: list[str]) -> list[str]:
    found = tables(run)[table]
    (row,) = (row for row in found["rows"] if row["name"] == name)
    return [f"{row['ours'][found['columns'].index(column)]:.1f}" for column in columns]


def cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in line.strip().strip("|").split("|")]


def rows(page: Path) -> list[tuple[str, list[str]]]:
    """Of each line of a frozen encoder: the run that it is of, and its cells."""
    found = []
    for line in page.read_text(encoding="utf-8").split("\n## With a tuned encoder")[0].splitlines():
        for encoder, run in ENCODERS.items():
            if line.startswith(f"| {encoder}") and "frozen" in line:
                found.append((run + "-paper" * ("the paper's" in line), cells(line)))
    return found


def test_readme() -> None:
    found = rows(ROOT / "README.md")
    assert [run for run, _ in found] == list(RUNS)
    for run, cells in found:
        sentence, word = ours(run, "fce-zero-shot", "uniCNN", ["Sent F1", "F1"])
        assert cells[-3:] == [sentence, word, *ours(run, "fce-supervised", "uniCNN", ["F0.5"])]


def test_the_results_page() -> None:
    found = rows(PAGES.parent / "results.md")
    assert [run for run, _ in found] == [*RUNS, *RUNS]
    for run, cells in found[:4]:
        one = ours(run, "fce-zero-shot", "uniCNN", ["Sent F1", "P", "R", "F1"])
        assert cells[2:] == [*one, *ours(run, "fce-supervised", "uniCNN", ["F0.5"])]
    for run, cells in found[4:]:
        assert cells[2:] == ours(run, "fce-supervised", "uniCNN+S*", ["P", "R", "F0.5"])


def test_the_summary_is_of_the_pages() -> None:
    written = (PAGES / "summary.md").read_text(encoding="utf-8")
    assert written == summary_markdown([Results.read(PAGES / run) for run in RUNS])


@pytest.mark.parametrize("run", RUNS)
def test_the_pages_are_what_their_results_give(run: str) -> None:
    assert verify(PAGES / run).faults == ()


def test_all_pages_are_of_one_commit() -> None:
    found = {str(code) for run in RUNS for code in Results.read(PAGES / run).code}
    assert len(found) == 1, found
