"""Ours beside the paper's: the join, the pages and the verdicts on figures made by hand, and the command line."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from filelock import FileLock

import exaudit.experiments
from exaudit import __version__
from exaudit.cli import run as cli
from exaudit.encode.locate import fingerprint
from exaudit.experiments import corpora
from exaudit.experiments.beside import Beside, Table, join
from exaudit.experiments.claims import CLAIMS, Case, Claim, Finding, Rule, Verdict
from exaudit.experiments.figures import Figures
from exaudit.experiments.pages import claims_markdown, claims_text, experiment_markdown, experiment_text
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.programme import EXPERIMENTS, _help
from exaudit.experiments.results import Results
from exaudit.experiments.run import Run, Settings
from exaudit.experiments.sample import write_corpora
from exaudit.metrics import Difference
from exaudit.model.labeler import Labeler
from tiny import tiny_bert

SMALL = ("--sample", "--epochs", "1", "--filters", "20", "--encoder", "none", "--device", "cpu")


def seeded() -> list[Figures]:
    """Two seeds of uniCNN, one of cnn, CNN with a reason; two rows that the paper has not; figure 4 of one model."""
    first, second, other = Figures(seed=3), Figures(seed=1), Figures()
    first.row("fce-zero-shot", "uniCNN", 86.0, 47.0, 36.0, 40.0)
    second.row("fce-zero-shot", "uniCNN", 87.0, 46.0, 37.0, 42.0)
    other.row("fce-zero-shot", "cnn", 84.24, 20.43, None, 29.0)
    other.row("fce-zero-shot", "ours only", 1, 2, 3, 4)
    other.none("fce-zero-shot", "CNN", "frozen only")
    other.none("fce-zero-shot", "ours too", "no time")
    other.row("fce-figure-4", "uniCNN | model", 10, 20, 30)
    other.row("fce-constraints", "uniCNN+K8NN dist. | both", 67.4, 31, 47.6, -0.8, 0.7, 4388, 0.0474)
    other.row("fce-quantiles", "model | 1 | N", 1831.0, 3662, 5493, 7000)
    other.row("fce-quantiles", "model | 1 | threshold", 16.55, 7.346, 2.8, 0)
    first.claim("zero-shot", "F1", Difference(0.1, 0.05, 0.15))
    second.claim("zero-shot", "F1", Difference(0.0, -0.01, 0.01))
    return [first, second, other]


@pytest.fixture
def beside() -> Beside:
    return join(seeded(), first_seed=1)


# -- the join -------------------------------------------------------------------------------------------------


def test_rows_stand_in_the_papers_order_then_ours(beside: Beside) -> None:
    printed = [row.name for row in paper_tables()["fce-zero-shot"].rows]
    assert [row.name for row in beside.table("fce-zero-shot").rows] == [*printed, "ours only", "ours too"]


def test_rows_are_means_over_seeds_beside_the_paper(beside: Beside) -> None:
    row = beside.table("fce-zero-shot").row("uniCNN")
    assert row is not None
    assert row.ours == (86.5, 46.5, 36.5, 41.0)
    assert list(row.by_seed.items()) == [(1, (87.0, 46.0, 37.0, 42.0)), (3, (86.0, 47.0, 36.0, 40.0))]
    assert row.paper == (86.28, 47.67, 36.7, 41.47)
    assert row.differences == pytest.approx((0.22, -1.17, -0.2, -0.47))
    assert row.why is None


def test_a_figure_without_a_seed_is_of_the_first(beside: Beside) -> None:
    row = beside.table("fce-zero-shot").row("cnn")
    assert row is not None
    assert row.by_seed == {1: (84.24, 20.43, None, 29.0)}
    assert row.differences == pytest.approx((0.0, 0.0, None, -0.13))


@pytest.mark.parametrize(
    ("name", "cited", "why"),
    [
        ("LSTM+S*", True, None),
        ("CNN", False, "frozen only"),
        ("Random", False, "not run yet"),
        ("ours too", False, "no time"),
        ("ours only", False, None),
    ],
)
def test_every_row_has_figures_or_a_reason(beside: Beside, name: str, cited: bool, why: str | None) -> None:
    row = beside.table("fce-zero-shot").row(name)
    assert row is not None
    assert (row.cited, row.why) == (cited, why)


def test_a_row_that_one_step_has_is_not_missing_because_another_has_it_not() -> None:
    with_row, without = Figures(), Figures()
    with_row.row("fce-zero-shot", "CNN", 1, 2, 3, 4)
    without.none("fce-zero-shot", "CNN", "frozen only")
    for figures in ([with_row, without], [without, with_row]):
        row = join(figures).table("fce-zero-shot").row("CNN")
        assert row is not None
        assert row.why is None
        assert row.ours == (1, 2, 3, 4)


def test_only_experiments_that_were_begun_are_shown(beside: Beside) -> None:
    assert beside.experiments == ("fce",)
    ids = [table.id for table in (*beside.tables, *beside.grams)]
    assert {id for id in ids if id != "fce-figure-4"} == {t for t in paper_tables() if t.startswith("fce")}
    assert {finding.claim.experiment for finding in beside.findings} == {"fce"}


def test_tables_that_only_we_have_have_a_title_and_columns(beside: Beside) -> None:
    table = beside.table("fce-figure-4")
    assert table.title.startswith("Figure 4")
    assert table.rows[0].ours == (10, 20, 30, None, None), "a row may end early"
    assert table.rows[0].paper is None
    figures = Figures()
    figures.row("fce-unheard-of", "a", 1, 2)
    unknown = join([figures]).table("fce-unheard-of")
    assert (unknown.title, unknown.columns) == ("fce-unheard-of", ("1", "2"))


def test_a_row_with_too_many_values_is_refused() -> None:
    figures = Figures()
    figures.row("fce-zero-shot", "uniCNN", 1, 2, 3, 4, 5)
    with pytest.raises(ValueError, match="fce-zero-shot, uniCNN: 5 values for 4 columns"):
        join([figures])


def grams(side: str | None, end: str, *rows: tuple[str, float, int]) -> list[dict[str, Any]]:
    return [{"name": n, "side": side, "end": end, "score": s, "frequency": f} for n, s, f in rows]


def test_ngrams_stand_beside_the_papers_the_most_extreme_first() -> None:
    figures = Figures()
    figures.ngrams["fce-unigrams"] = [
        *grams(None, "top", ("b", 1.0, 2), ("a", 9.0, 1)),
        *grams(None, "lowest", ("d", -1.0, 4), ("c", -9.0, 3)),
    ]
    (table,) = join([figures]).grams
    top, lowest = table.rankings
    assert [gram.name for gram in top.ours] == ["a", "b"]
    assert [gram.name for gram in top.paper][:2] == ["wating", "noize"]
    assert [gram.name for gram in lowest.ours] == ["c", "d"]
    assert [(g.name, g.score, g.frequency) for g in lowest.paper][:2] == [
        ("Lorca", -3.1, 1),
        ("Martial", -3.0, 1),
    ]
    assert table.why is None


def test_ngrams_of_two_sides_are_kept_apart_and_missing_ones_say_why() -> None:
    figures = Figures()
    figures.ngrams["annotation-unigrams"] = grams("Rev.", "top", ("bad", 2.0, 5))
    figures.none("annotation-5grams", "all", "too few words")
    unigrams, fives = join([figures]).grams
    assert [(r.side, r.end, len(r.ours), len(r.paper)) for r in unigrams.rankings] == [
        ("Orig.", "top", 0, 10),
        ("Orig.", "lowest", 0, 10),
        ("Rev.", "top", 1, 10),
        ("Rev.", "lowest", 0, 10),
    ]
    assert fives.why == "too few words"
    assert all(gram.frequency is None for ranking in fives.rankings for gram in ranking.paper)


def test_json_holds_everything(beside: Beside) -> None:
    value = json.loads(json.dumps(beside.to_json()))
    table = next(t for t in value["tables"] if t["id"] == "fce-zero-shot")
    row = next(r for r in table["rows"] if r["name"] == "uniCNN")
    assert row == {
        "name": "uniCNN",
        "ours": [86.5, 46.5, 36.5, 41.0],
        "paper": [86.28, 47.67, 36.7, 41.47],
        "difference": [0.22, -1.17, -0.2, -0.47],
        "seeds": {"1": [87.0, 46.0, 37.0, 42.0], "3": [86.0, 47.0, 36.0, 40.0]},
        "cited": False,
        "why": None,
    }
    claim = next(c for c in value["claims"] if c["id"] == "zero-shot")
    assert claim["verdict"] == "in part"
    assert claim["cases"][0] == {
        "name": "F1", "seed": 3, "value": 10.0, "low": 5.0, "high": 15.0, "verdict": "holds",
    }  # fmt: skip


# -- pages ----------------------------------------------------------------------------------------------------


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.lstrip("| ").startswith(start))


def cells(text: str, start: str) -> list[str]:
    """The cells of a row that are not empty, without its name."""
    return re.split(r"\s{2,}", line_of(text, start))[1:]


def test_cells_give_ours_the_papers_and_the_difference(beside: Beside) -> None:
    text = experiment_text(beside, "fce", width=200)
    assert cells(text, "uniCNN [2 seeds]") == [
        "86.5 (86.3, +0.2)", "46.5 (47.7, -1.2)", "36.5 (36.7, -0.2)", "41.0 (41.5, -0.5)",
    ]  # fmt: skip
    assert cells(text, "LSTM+S* [quoted]") == ["(49.2)", "(27.0)", "(34.8)"]
    assert cells(text, "cnn") == ["84.2 (84.2, 0.0)", "20.4 (20.4, 0.0)", "(50.8)", "29.0 (29.1, -0.1)"]
    assert cells(text, "ours only") == ["1.0", "2.0", "3.0", "4.0"]
    assert cells(text, "uniCNN | model") == ["10.0", "20.0", "30.0"]


def test_counts_are_whole_numbers_and_shares_have_two_digits(beside: Beside) -> None:
    text = experiment_text(beside, "fce", width=300)
    assert cells(text, "uniCNN+K8NN dist. | both") == [
        "67.4 (67.4, 0.0)", "31.0 (31.0, 0.0)", "47.6 (47.6, 0.0)",
        "-0.8 (-0.8, 0.0)", "0.7 (0.7, 0.0)", "4388 (4388, 0)", "0.05 (0.05, 0.00)",
    ]  # fmt: skip
    assert cells(text, "model | 1 | N")[::3] == ["1831 (1831, 0)", "7000 (7327, -327)"]
    assert cells(text, "model | 1 | threshold")[1] == "7.35 (7.34, +0.01)"


def test_notes_tell_the_seeds_one_by_one_and_why_rows_are_missing(beside: Beside) -> None:
    text = experiment_text(beside, "fce")
    assert "  uniCNN: seed 1: 87.0 46.0 37.0 42.0; seed 3: 86.0 47.0 36.0 40.0\n" in text
    assert "  CNN: frozen only\n" in text
    assert "  Random, MajorityClass: not run yet\n" in text


def test_a_table_wider_than_the_terminal_goes_on_below_itself(beside: Beside) -> None:
    for width in (60, 80, 120):
        text = experiment_text(beside, "fce", width=width)
        table = text[text.index("(fce-constraints)") :].split("\n\n")[0]
        rows = [line for line in table.splitlines()[1:] if "not run yet" not in line]
        assert max(map(len, rows)) <= width
        for cell in ("67.4 (67.4, 0.0)", "4388 (4388, 0)", "0.05 (0.05, 0.00)"):
            assert cell in table


def unescaped_cells(line: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", cell).strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_tables_are_tables(beside: Beside) -> None:
    page = experiment_markdown(beside, "fce", "Errors", ["HEADER"], pictures=["figure-4.svg"])
    assert page.startswith("# Errors: ours beside the paper's\n\nHEADER\n")
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        widths = {len(unescaped_cells(line)) for line in block.splitlines()}
        assert len(widths) == 1, block
    row = next(line for line in page.splitlines() if line.startswith(r"| uniCNN+S\* \| F\* \| -"))
    assert unescaped_cells(row) == ["uniCNN+S* | F* | -", "(43.4)", "(31.4)", "(40.4)"]
    assert re.search(r"^!\[Figure 4.*\]\(figure-4\.svg\)$", page, re.MULTILINE)
    assert "figure-3.svg" not in page


def test_markdown_shows_only_a_few_words_of_the_corpus_and_no_markup_of_its_own() -> None:
    figures = Figures()
    figures.ngrams["fce-unigrams"] = grams(None, "top", *((f"w{n}", 9.0 - n, 1) for n in range(9)))
    figures.ngrams["fce-unigrams"] += grams(None, "lowest", ("<br />|*x*", -1.0, 1))
    page = experiment_markdown(join([figures]), "fce", "Errors", [])
    assert [f"w{n}" in page for n in range(9)] == [True] * 5 + [False] * 4
    assert "availble" not in page, "nor all of the paper's"
    assert r"| 1 | \<br /\>\|\*x\* | -1.0 | 1 | Lorca | -3.1 | 1 |" in page


def test_claims_page_has_a_verdict_for_every_claim_begun(beside: Beside) -> None:
    page = claims_markdown(beside, ["HEADER"])
    assert "HEADER" in page
    assert "## zero-shot: in part (1 of 2 cases)" in page
    assert r"| F1 (seed 3) | +10.0 \[+5.0, +15.0\] | holds |" in page
    assert r"| F1 (seed 1) | 0.0 \[-1.0, +1.0\] | cannot be told |" in page
    assert "## knn: no figures\n" in page
    assert "re-edits-help" not in page
    text = claims_text(beside, ["fce"])
    assert "zero-shot: in part (1 of 2 cases)\n" in text
    assert re.search(r"F1 \(seed 3\) +\+10\.0 \[\+5\.0, \+15\.0\] +holds", text)
    assert "zero-shot" not in claims_text(beside, ["sentiment"])


# -- claims ---------------------------------------------------------------------------------------------------


def case(low: float, high: float) -> Case:
    return Case("a", (low + high) / 2, low, high)


@pytest.mark.parametrize(
    ("claim", "low", "high", "verdict"),
    [
        ("zero-shot", 0.1, 2, "holds"),
        ("zero-shot", 0, 2, "cannot be told"),
        ("zero-shot", -1, 1, "cannot be told"),
        ("zero-shot", 0, 0, "cannot be told"),
        ("zero-shot", -2, -0.1, "does not hold"),
        ("knn", -0.9, 0.5, "holds"),
        ("knn", -1.1, 3, "cannot be told"),
        ("sentiment-knn", -3, -1.1, "does not hold"),
        ("disjoint", -4.9, 4.9, "holds"),
        ("disjoint", 1, 6, "cannot be told"),
        ("disjoint", 5.1, 9, "does not hold"),
        ("disjoint", -9, -5.1, "does not hold"),
        ("out-of-domain", -5, -1, "holds"),
        ("out-of-domain", -1, 1, "cannot be told"),
        ("out-of-domain", 1, 5, "does not hold"),
    ],
)
def test_an_interval_is_read_by_the_rule(claim: str, low: float, high: float, verdict: Verdict) -> None:
    assert CLAIMS[claim].rule.decide(case(low, high)) == verdict
    assert Finding(CLAIMS[claim], (case(low, high),)).verdict == verdict


YES, OPEN, NO = case(1, 2), case(-1, 1), case(-2, -1)


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        ([], "no figures"),
        ([YES, YES], "holds"),
        ([YES, OPEN], "in part"),
        ([YES, NO], "in part"),
        ([OPEN, OPEN], "cannot be told"),
        ([OPEN, NO], "does not hold"),
        ([NO, NO], "does not hold"),
    ],
)
def test_the_cases_of_a_claim_make_one_verdict(cases: list[Case], verdict: Verdict) -> None:
    finding = Finding(CLAIMS["exag"], tuple(cases))
    assert finding.verdict == verdict
    assert finding.held == cases.count(YES)


def test_no_consistent_gain_needs_one_case_without_gain() -> None:
    rule = CLAIMS["out-of-domain"].rule
    assert rule.verdict([YES, NO]) == "holds", "a gain here and a loss there is not consistent"
    assert rule.verdict([YES, OPEN]) == "cannot be told"
    assert rule.verdict([YES, YES]) == "does not hold"


def test_every_claim_that_an_experiment_makes_is_in_words_and_the_other_way_round() -> None:
    used: dict[str, str] = {}
    for experiment in EXPERIMENTS.values():
        source = Path(exaudit.experiments.__path__[0]) / f"{experiment.module}.py"
        for name in re.findall(r"\.claim\(\s*\"([\w-]+)\"", source.read_text(encoding="utf-8")):
            used[name] = experiment.id
    assert used == {claim.id: claim.experiment for claim in CLAIMS.values()}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_what_a_claim_says_of_the_papers_figures_is_what_the_paper_prints(claim: Claim) -> None:
    printed = {
        f"{value:.1f}"
        for table in paper_tables().values()
        if table.experiment == claim.experiment
        for row in table.rows
        for exact in row.values
        if exact is not None
        for value in (exact, exact + 1e-9)  # a last digit 5 is rounded up
    }
    named = re.findall(r"\d+\.\d\b(?!k)", re.sub(r"F0\.5|\d\.\dk|\(3\.4k\)", "", claim.printed))
    assert set(named) <= printed
    assert named or claim.id == "approximation"
    assert claim.place.startswith("section ")
    assert claim.text.endswith(".")


def test_rules_say_what_they_do() -> None:
    rules = {claim.rule.text: claim.rule for claim in CLAIMS.values()}
    assert all(isinstance(rule, Rule) and "does not hold" in text for text, rule in rules.items())
    assert len(rules) == 4


# -- what each experiment needs -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpora(tmp_path_factory.mktemp("corpora"))


READERS = {
    "fce": (corpora.read_fce, corpora.read_news),
    "sentiment": (corpora.read_reviews, corpora.read_contrast, corpora.read_tweets),
    "annotation": (corpora.read_reviews, corpora.read_contrast),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_files_an_experiment_needs_are_those_it_reads(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = EXPERIMENTS[name]
    opened: list[str] = []
    read = corpora._read

    def noted(folder: Path, corpus: str, file: str, **options: Any) -> Any:
        opened.append(f"{corpus}/{file}")
        return read(folder, corpus, file, **options)

    monkeypatch.setattr(corpora, "_read", noted)
    for reader in READERS[name]:
        reader(data)
    optional = {file for file, _ in experiment.optional}
    assert set(experiment.needs) <= set(opened) <= {*experiment.needs, *optional, *READ_BESIDE}
    experiment.check(data)


# read_reviews brings the large set of originals, which annotation has no use for
READ_BESIDE = {"imdb_cad/orig_eighty_percent_reconstructed/train.tsv.xz"}


# -- the command line ---------------------------------------------------------------------------------------------


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli([str(a) for a in arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli([str(a) for a in arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("exaudit: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all experiments on the made-up corpora, with a second seed."""
    out = tmp_path_factory.mktemp("out")
    assert cli(["reproduce", "all", *SMALL, "--seeds", "0,1", "--out", str(out)]) == 0
    return out


def test_list_names_tables_and_what_is_missing(
    capsys: pytest.CaptureFixture[str], data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = said(capsys, "reproduce", "list", "--data", data)
    assert "MISSING" not in whole
    assert all(re.search(rf"^  {table} +\S", whole, re.MULTILINE) for table in paper_tables())
    monkeypatch.setenv("EXAUDIT_DATA", str(tmp_path))
    nothing = said(capsys, "reproduce", "list")
    assert "    MISSING fce/fce-public.train.original.tsv\n" in nothing
    assert "    missing news_1b/bbc_supplement.tokens (without it: " in nothing
    assert f"data in {tmp_path}:" in nothing


def test_all_experiments_run_from_end_to_end(finished: Path) -> None:
    beside = Results.read(finished).beside
    assert beside.experiments == tuple(EXPERIMENTS)
    assert not [(t.id, r.name) for t in beside.tables for r in t.rows if r.why == "not run yet"]
    assert all(table.why is None for table in beside.grams)
    without = {finding.claim.id for finding in beside.findings if not finding.cases}
    assert without <= {"document-constraints"}, "which needs more admitted reviews than this small model has"
    names = {table.id: {row.name for row in table.rows} for table in beside.tables}
    for id, paper in paper_tables().items():  # a row of another name would stand alone beside the paper's
        if id in names and id != "sentiment-frozen":
            note = {"50k"} if id == "fce-news" else set()  # what the support set was made of
            assert names[id] - note == {row.name for row in paper.rows}, id
    seeds = [
        table.row("uniCNN") for table in beside.tables if table.id in ("fce-zero-shot", "fce-supervised")
    ]
    assert [list(row.by_seed) for row in seeds if row] == [[0, 1], [0, 1]]
    rules = next(table for table in beside.tables if table.id == "fce-rules")
    assert {row.name: list(row.by_seed) for row in rules.rows if len(row.by_seed) > 1} == {
        f"uniCNN+{rule}": [0, 1] for rule in ("ExAG", "K1NN equal", "K8NN dist.")
    }


def test_with_a_tuned_encoder_news_are_clean_texts_to_rehearse_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exaudit.model.rehearsal.ROUNDS", 1)
    small = ["--sample", "--encoder", str(tiny_bert(tmp_path / "bert")), "--epochs", "1", "--filters", "20"]
    out = tmp_path / "out"
    steps = ["--tune-encoder", "--steps", "fce-clean-*"]
    assert cli(["reproduce", "fce", *small, *steps, "--out", str(out)]) == 0
    record = json.loads((out / "models" / "fce-clean-0" / "model.json").read_text())["record"]
    assert record["tuning"]["rehearsal"]["clean"] > 10
    row = Results.read(out).beside.table("fce-clean").row("uniCNN+S*")
    assert row is not None
    assert list(row.by_seed) == [0]
    assert "## FCE test, token labels, the encoder rehearsed with" in (out / "fce.md").read_text()


def test_a_finished_run_leaves_pages_pictures_and_json(finished: Path) -> None:
    files = {p.name for p in finished.iterdir() if p.is_file()}
    pages = {"fce.md", "sentiment.md", "annotation.md", "claims.md"}
    assert files == pages | {"results.json", "figure-3.svg", "figure-4.svg", "settings.json", "data.json"}
    examples = {path.name: path.read_text() for path in (finished / "examples").iterdir()}
    assert examples.keys() == {"uniCNN.md", "mm.md", "supervised.md"}
    assert all("- Pred.: " in text for text in examples.values())
    for name, panels in (("figure-3.svg", 6), ("figure-4.svg", 3)):
        root = ET.parse(finished / name).getroot()
        assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == panels
        assert f"]({name})" in (finished / "fce.md").read_text()
    for page in pages:
        text = (finished / page).read_text()
        assert "--sample --encoder none --seeds 0,1 --epochs 1 --filters 20\n" in text
        assert "made-up corpora" in text
        assert f"exaudit {__version__}" in text
        assert str(finished) not in text
    assert "exaudit reproduce sentiment --sample" in (finished / "sentiment.md").read_text()
    value = json.loads((finished / "results.json").read_text())
    assert value["settings"]["seeds"] == [0, 1]
    assert set(value["seconds"]) == {path.stem for path in (finished / "steps").iterdir()}
    assert {claim["id"] for claim in value["claims"]} == set(CLAIMS)


def test_a_second_run_does_nothing_and_shows_the_same(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise AssertionError("nothing is to be trained or labelled again")

    monkeypatch.setattr(Labeler, "fit", fail)
    monkeypatch.setattr(Labeler, "iter_label", fail)
    before = {path: path.read_bytes() for path in finished.iterdir() if path.is_file()}
    again = said(capsys, "reproduce", "all", *SMALL, "--seeds", "0,1", "--out", finished)
    assert {path: path.read_bytes() for path in before} == before
    assert said(capsys, "reproduce", "show", finished) == again
    assert again.startswith(
        "NOTE: made-up corpora: these figures say nothing about the paper\n\nGrammatical "
    )
    assert "\nzero-shot: " in again
    alone = said(capsys, "reproduce", "annotation", *SMALL, "--seeds", "0,1", "--out", finished)
    assert "\n\nOriginal or revised reviews\n===" in alone
    assert "zero-shot" not in alone


def test_other_settings_in_the_same_folder_are_refused(
    finished: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, "reproduce", "fce", *SMALL, "--seeds", "0", "--out", finished)
    assert f"{finished} holds results of other settings" in told
    real = ["--data", data, *SMALL[1:], "--seeds", "0,1", "--out", finished]
    assert "other settings" in refused(capsys, "reproduce", "fce", *real), (
        "made-up and real data are not mixed"
    )


def test_a_run_that_was_stopped_is_shown_as_far_as_it_came_and_goes_on(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "settings.json").write_bytes((finished / "settings.json").read_bytes())
    for name in ("fce-uniCNN-0", "fce-mm-0"):
        (tmp_path / "steps" / f"{name}.json").write_bytes((finished / "steps" / f"{name}.json").read_bytes())
    half = said(capsys, "reproduce", "show", tmp_path)
    assert "  cnn, CNN: not run yet\n" in half
    assert "knn: no figures\n" in half
    assert "min-max: " in half

    def stop(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Labeler, "fit", stop)
        assert cli(["reproduce", "fce", *SMALL, "--seeds", "0,1", "--out", str(tmp_path)]) == 130
    assert sorted(path.stem for path in (tmp_path / "steps").iterdir()) == ["fce-mm-0", "fce-uniCNN-0"]
    whole = said(capsys, "reproduce", "fce", *SMALL, "--seeds", "0,1", "--out", tmp_path)
    assert whole == said(capsys, "reproduce", "fce", *SMALL, "--seeds", "0,1", "--out", finished)


def test_missing_data_names_the_file_and_what_to_do(
    capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = refused(capsys, "reproduce", "fce", "--data", tmp_path / "none", "--encoder", "none")
    assert str(tmp_path / "none/fce/fce-public.train.original.tsv") in told
    assert "exaudit data fetch fce" in told
    for corpus in ("fce", "news_1b", "imdb_cad", "imdb_contrast"):
        (tmp_path / "part").mkdir(exist_ok=True)
        (tmp_path / "part" / corpus).symlink_to(data / corpus)
    told = refused(capsys, "reproduce", "all", "--data", tmp_path / "part", "--encoder", "none")
    assert "semeval2017_task4a" in told, "before the first of three experiments is begun"
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "0,x"], "--seeds is '0,x'"),
        (["--seeds", ""], "--seeds is ''"),
        (["--seeds", "1,1"], "each once"),
        (["--seeds", "-1"], "--seeds is '-1'"),
        (["--tune-encoder"], "no encoder to tune"),
        (["--teachers", "2"], "--teachers goes with --tune-encoder"),
        (["--word-vectors", "nowhere.txt"], "there is no file nowhere.txt"),
        (["--device", "abacus"], "unknown device 'abacus'"),
        (["--encoder", "./nowhere"], "no encoder folder './nowhere'"),
        (["--data", "."], "--sample makes its own corpora"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert message in refused(capsys, "reproduce", "fce", *SMALL, "--out", out, *options)
    assert not out.exists()


def test_processes_that_share_a_run_find_what_one_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for jobs in (1, 2):
        out = tmp_path / str(jobs)
        said(capsys, "reproduce", "annotation", *SMALL, "--steps", "annotation-words", "--out", out)
        if jobs == 2:  # a helper takes seconds to start: the first process would have done all by then
            run = Run(out, out / "data", Results.read(out).settings, device="cpu")
            helper = multiprocessing.get_context("spawn").Process(target=_help, args=(["annotation"], run, 1))
            helper.start()
            helper.join()
            assert helper.exitcode == 0
            assert len(list((out / "steps").iterdir())) == 3
        threads = torch.get_num_threads()
        said(capsys, "reproduce", "annotation", *SMALL, "--jobs", str(jobs), "--out", out)
        assert torch.get_num_threads() == threads
        steps = [json.loads(path.read_text()) for path in sorted((out / "steps").iterdir())]
        found.append([step | {"seconds": None} for step in steps])
    assert found[0] == found[1]


def test_what_another_process_is_at_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    (out / ".locks").mkdir(parents=True)
    with FileLock(out / ".locks" / "annotation-words"):
        assert cli(["reproduce", "annotation", *SMALL, "--out", str(out)]) == 0
    told = capsys.readouterr().err
    assert "another process is at annotation-words; once it is done" in told
    assert cli(["reproduce", "annotation", *SMALL, "--out", str(out)]) == 0
    assert "another process" not in capsys.readouterr().err


def test_an_error_of_shared_work_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_corpora(data)
    (data / "fce" / "fce-public.dev.original.tsv").write_text("no tab\n")
    options = [option for option in SMALL if option != "--sample"]
    monkeypatch.setattr("exaudit._progress._hushed", False)  # put back afterwards
    run = Run(out, data, Settings(encoder="none", filters=20, epochs=1), device="cpu")
    with pytest.raises(SystemExit, match="1"):
        _help(["fce"], run, torch.get_num_threads())
    assert "tried again at the end" in capsys.readouterr().err
    assert cli(["reproduce", "fce", *options, "--data", str(data), "--jobs", "2", "--out", str(out)]) == 1
    told = capsys.readouterr().err
    assert told.count("document 'fce-dev-1' has the unknown token label 'tab'") == 1
    assert "Traceback" not in told


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the process in /proc")
def test_helpers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    """They look after its end by themselves: nobody else can."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import multiprocessing, os, time\n"
        "from exaudit.experiments import programme\n"
        "def wait(*_):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
        "programme._steps = wait\n"
        "if __name__ == '__main__':\n"
        "    programme.run_all([], None, jobs=2)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        processes = {int(parent.stdout.readline()), int(parent.stdout.readline())}
        (helper,) = processes - {parent.pid}
        parent.kill()
    for _ in range(200):
        if not Path(f"/proc/{helper}").exists() or "(zombie)" in Path(f"/proc/{helper}/status").read_text():
            break
        time.sleep(0.05)
    else:
        os.kill(helper, signal.SIGKILL)
        pytest.fail("the helper lived on")


def test_show_writes_the_pages_again_where_asked_even_without_the_models(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("steps", "settings.json"):
        (tmp_path / path).symlink_to(finished / path)
    kept = json.loads((finished / "results.json").read_text()) | {"fingerprints": {"fce-x": "f" * 64}}
    (tmp_path / "results.json").write_text(json.dumps(kept))
    said(capsys, "reproduce", "show", tmp_path)
    assert not (tmp_path / "fce.md").exists()
    said(capsys, "reproduce", "show", tmp_path, "--write")
    for page in ("fce.md", "sentiment.md", "annotation.md", "claims.md", "figure-3.svg", "figure-4.svg"):
        assert (tmp_path / page).read_text() == (finished / page).read_text()
    assert json.loads((tmp_path / "results.json").read_text()) == kept


def test_show_refuses_what_is_not_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no results" in refused(capsys, "reproduce", "show", tmp_path)
    (tmp_path / "steps").mkdir()
    (tmp_path / "settings.json").write_text(json.dumps(Settings().to_json()))
    assert "holds no results" in refused(capsys, "reproduce", "show", tmp_path)
    step = tmp_path / "steps" / "fce-cnn.json"
    for text in ("{", '{"unheard-of": 1}', "[1]", "{}"):
        step.write_text(text)
        told = refused(capsys, "reproduce", "show", tmp_path)
        assert str(step) in told
        assert "delete the file and run again" in told


def test_a_run_names_the_damaged_file_of_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "fce-cnn.json").write_text('{"seed": 0, "tab')
    command = ["reproduce", "fce", *SMALL, "--steps", "fce-cnn", "--out", tmp_path]
    assert f"{tmp_path / 'steps' / 'fce-cnn.json'}: damaged" in refused(capsys, *command)
    for name in ("data.json", "settings.json"):
        (tmp_path / name).write_text("{")
        assert f"{tmp_path / name}: damaged" in refused(capsys, *command)
    (tmp_path / "file").touch()
    assert "is a file" in refused(capsys, *command[:-1], tmp_path / "file")


# -- the folder of a run -------------------------------------------------------------------------------------------


def results(tmp_path: Path, settings: Settings, models: dict[str, dict[str, Any] | None]) -> Results:
    (tmp_path / "steps").mkdir()
    figures = Figures(seconds=12.4)
    figures.row("fce-zero-shot", "uniCNN", 1, 2, 3, 4)
    (tmp_path / "steps" / "fce-uniCNN-0.json").write_text(json.dumps(figures.to_json()))
    (tmp_path / "settings.json").write_text(json.dumps(settings.to_json()))
    for name, encoder in models.items():
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "model.json").write_text(json.dumps({"encoder": encoder}))
    return Results.read(tmp_path)


def test_the_header_says_how_the_figures_came_about(tmp_path: Path) -> None:
    frozen = {"fingerprint": "a" * 64}
    found = results(tmp_path, Settings(seeds=(0, 1)), {"fce-cnn": None, "fce-uniCNN-0": frozen, "b": frozen})
    header = "\n".join(found.header(["fce"]))
    assert "exaudit reproduce fce --data DIR --encoder minilm --seeds 0,1\n" in header
    assert f"encoder: `minilm`, frozen, fingerprint `{'a' * 64}`" in header
    assert "seeds: 0, 1; a row that does not say so is of seed 0 alone" in header
    assert "steps, in seconds: fce-uniCNN-0 12; 12 in all" in header
    assert "made-up" not in header


def test_the_header_names_the_encoder_of_each_tuned_model_and_no_place_on_this_machine(
    tmp_path: Path,
) -> None:
    settings = Settings("/somewhere/gte-small", True, True, word_vectors="/somewhere/glove.txt", filters=9)
    models = {name: {"fingerprint": name[-1] * 64} for name in ("fce-a", "fce-b", "sentiment-c")}
    found = results(tmp_path, settings, models)
    header = "\n".join(found.header(["fce"]))
    assert (
        "exaudit reproduce fce --data DIR --encoder gte-small --tune-encoder --fast --seeds 0 --filters 9 "
        "--word-vectors glove.txt\n" in header
    )
    assert f"`gte-small`, then tuned for each model: fce-a `{'a' * 12}`, fce-b `{'b' * 12}`\n" in header
    assert "a tenth of the data" in header
    assert "somewhere" not in header + json.dumps(found.to_json())


def test_the_header_of_a_tuned_run_knows_the_encoder_before_it_was_tuned(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    found = results(tmp_path, Settings(str(folder), True), {})
    assert f"encoder: `bert`, fingerprint `{fingerprint(folder)}`, then tuned" in found.header(["fce"])[1]


@pytest.mark.parametrize(
    ("encoder", "name"),
    [
        ("minilm", "minilm"),
        ("none", "none"),
        ("bert-base-cased", "bert-base-cased"),
        ("thenlper/gte-small", "thenlper/gte-small"),
        ("../encoders/gte-small/", "gte-small"),
        ("~/gte-small", "gte-small"),
        ("a/b/gte-small", "gte-small"),
    ],
)
def test_an_encoder_is_called_by_its_own_name(encoder: str, name: str) -> None:
    assert replace(Settings(), encoder=encoder).encoder_name == name


def test_experiments_and_pages_need_no_store_and_no_templates(finished: Path) -> None:
    """They also run on a machine without lance, pyarrow and jinja2; pictures are left out there."""
    code = f"""
import sys
from pathlib import Path
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {{"lance", "pyarrow", "jinja2"}}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import exaudit.experiments.grammar, exaudit.experiments.sentiment, exaudit.experiments.annotation
import exaudit.experiments.sample, exaudit.cli.app
from exaudit.experiments.results import Results, _pictures
results = Results.read(Path({str(finished)!r}))
assert _pictures(results.beside) == {{}}
print(len(results.beside.tables))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_pictures_are_drawn_only_of_what_was_found(beside: Beside) -> None:
    from exaudit.experiments.plots import figures

    drawn = figures(beside)
    assert list(drawn) == ["figure-4.svg"]
    assert "10.0, 20.0, 30.0, none, none" in drawn["figure-4.svg"]
    empty = Table("fce-figure-3", "fce", "Figure 3", ("1st bin",), ())
    assert figures(replace(beside, tables=(empty,))) == {}
