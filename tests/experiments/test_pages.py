"""Text and Markdown of figures made by hand."""

from __future__ import annotations

import re
from dataclasses import replace

from exaudit.experiments.pages import (
    claims_markdown,
    claims_text,
    experiment_markdown,
    experiment_text,
    shown_name,
)
from exaudit.experiments.paper_comparison import PaperComparison, compare_with_paper
from exaudit.experiments.step_result import StepResult


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.lstrip("| ").startswith(start))


def cells(text: str, start: str) -> list[str]:
    """The cells of a row that are not empty, without its name."""
    return re.split(r"\s{2,}", line_of(text, start))[1:]


def test_cells_give_ours_the_papers_and_the_difference(comparison: PaperComparison) -> None:
    text = experiment_text(comparison, "fce", width=200)
    assert cells(text, "uniCNN [2 seeds]") == [
        "86.5 (86.3, +0.2)", "46.5 (47.7, -1.2)", "36.5 (36.7, -0.2)", "41.0 (41.5, -0.5)",
    ]  # fmt: skip
    assert cells(text, "LSTM+S* [quoted]") == ["(49.2)", "(27.0)", "(34.8)"]
    assert cells(text, "cnn") == ["84.2 (84.2, 0.0)", "20.4 (20.4, 0.0)", "(50.8)", "29.0 (29.1, -0.1)"]
    assert cells(text, "ours only") == ["1.0", "2.0", "3.0", "4.0"]
    assert cells(text, "uniCNN | model") == ["10.0", "20.0", "30.0"]


def test_counts_are_whole_numbers_and_shares_have_two_digits(comparison: PaperComparison) -> None:
    text = experiment_text(comparison, "fce", width=300)
    assert cells(text, "uniCNN+K8NN dist. | both") == [
        "67.4 (67.4, 0.0)", "31.0 (31.0, 0.0)", "47.6 (47.6, 0.0)",
        "-0.8 (-0.8, 0.0)", "0.7 (0.7, 0.0)", "4388 (4388, 0)", "0.05 (0.05, 0.00)",
    ]  # fmt: skip
    assert cells(text, "model | 1 | N")[::3] == ["1831 (1831, 0)", "7000 (7327, -327)"]
    assert cells(text, "model | 1 | threshold")[1] == "7.35 (7.34, +0.01)"


def test_notes_tell_the_seeds_one_by_one_and_why_rows_are_missing(comparison: PaperComparison) -> None:
    text = experiment_text(comparison, "fce")
    assert "  uniCNN: seed 1: 87.0 46.0 37.0 42.0; seed 3: 86.0 47.0 36.0 40.0\n" in text
    assert "  CNN: frozen only\n" in text
    assert "  Random, MajorityClass: not run yet\n" in text


def test_a_table_wider_than_the_terminal_goes_on_below_itself(comparison: PaperComparison) -> None:
    for width in (60, 80, 120):
        text = experiment_text(comparison, "fce", width=width)
        table = text[text.index("(fce-constraints)") :].split("\n\n")[0]
        rows = [line for line in table.splitlines()[1:] if "not run yet" not in line]
        assert max(map(len, rows)) <= width
        for cell in ("67.4 (67.4, 0.0)", "4388 (4388, 0)", "0.05 (0.05, 0.00)"):
            assert cell in table


def unescaped_cells(line: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", cell).strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_tables_are_tables(comparison: PaperComparison) -> None:
    page = experiment_markdown(comparison, "fce", "Errors", ["HEADER"], pictures=["figure-3.svg"])
    assert page.startswith("# Errors: ours beside the paper's\n\nHEADER\n")
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        widths = {len(unescaped_cells(line)) for line in block.splitlines()}
        assert len(widths) == 1, block
    row = next(line for line in page.splitlines() if line.startswith(r"| uniCNN+S\* \| F\* \| -"))
    assert unescaped_cells(row) == ["uniCNN+S* | F* | -", "(43.4)", "(31.4)", "(40.4)"]
    assert re.search(r"^!\[Figure 3.*\]\(figure-3\.svg\)$", page, re.MULTILINE)
    assert "figure-2.svg" not in page


def test_with_a_tuned_encoder_models_are_called_what_they_are(comparison: PaperComparison) -> None:
    page = experiment_markdown(replace(comparison, tuned=True), "fce", "Errors", [])
    assert "student without max-pool, rehearsed with synthetic errors" in page
    assert r"| student (for uniCNN) \[2 seeds\] | 86.5" in page
    assert "| cnn | 84.2" in page
    assert r"| uniCNN+S\* | " in page, "which was not run: it is the paper's"
    assert shown_name("uniCNN+mm+K8NN dist.", True) == "student+mm (for uniCNN+mm)+K8NN dist."
    assert shown_name("uniCNN+S*", True) == "tagger without max-pool (for uniCNN+S*)"
    assert shown_name("uniCNN, M=2", True) == "uniCNN, M=2"
    assert shown_name("uniCNN", False) == "uniCNN"


def test_markdown_shows_only_a_few_words_of_the_corpus_and_no_markup_of_its_own() -> None:
    result = StepResult()
    names = [*((f"w{n}", "top", 9.0 - n) for n in range(9)), ("<br />|*x*", "lowest", -1.0)]
    result.ngrams["fce-unigrams"] = [
        {"name": name, "side": None, "end": end, "score": score, "frequency": 1} for name, end, score in names
    ]
    page = experiment_markdown(compare_with_paper([result]), "fce", "Errors", [])
    assert [f"w{n}" in page for n in range(9)] == [True] * 5 + [False] * 4
    assert "availble" not in page, "nor all of the paper's"
    assert r"| 1 | \<br /\>\|\*x\* | -1.0 | 1 | Lorca | -3.1 | 1 |" in page


def test_claims_page_has_a_verdict_for_every_claim_begun(comparison: PaperComparison) -> None:
    page = claims_markdown(comparison, ["HEADER"])
    assert "HEADER" in page
    assert "## zero-shot: in part (1 of 2 cases)" in page
    assert r"| F1 (seed 3) | +10.0 \[+5.0, +15.0\] | holds |" in page
    assert r"| F1 (seed 1) | 0.0 \[-1.0, +1.0\] | cannot be told |" in page
    assert "## knn: no figures\n" in page
    assert "re-edits-help" not in page
    text = claims_text(comparison, ["fce"])
    assert "zero-shot: in part (1 of 2 cases)\n" in text
    assert re.search(r"F1 \(seed 3\) +\+10\.0 \[\+5\.0, \+15\.0\] +holds", text)
    assert "zero-shot" not in claims_text(comparison, ["sentiment"])
