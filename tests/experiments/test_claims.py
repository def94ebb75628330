"""Intervals become verdicts, and every claim says what the paper prints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import exaudit.experiments
from exaudit.experiments.claims import CLAIMS, Case, Claim, Finding, Rule, Verdict
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.registry import EXPERIMENTS


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
        ("disjoint", 0.1, 6, "holds"),
        ("disjoint", -1, 6, "cannot be told"),
        ("disjoint", -9, -0.1, "does not hold"),
        ("magnitude-tracks", -0.9, 0.5, "holds"),
        ("update-size", 0.1, 6, "holds"),
        ("update-size", -6, -0.1, "does not hold"),
        ("out-of-domain", -5, -1, "holds"),
        ("out-of-domain", -1, 1, "cannot be told"),
        ("out-of-domain", 1, 5, "does not hold"),
    ],
)
def test_an_interval_is_read_by_the_rule(claim: str, low: float, high: float, verdict: Verdict) -> None:
    assert CLAIMS[claim].rule.decide(case(low, high)) == verdict
    of_this = replace(case(low, high), name=CLAIMS[claim].metric)
    assert Finding(CLAIMS[claim], (of_this,)).verdict == verdict


YES, OPEN, NO = case(1, 2), case(-1, 1), case(-2, -1)


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        ([], "no figures"),
        ([YES, YES], "holds"),
        ([YES, OPEN], "in part"),
        ([YES, NO], "in part"),
        ([OPEN, OPEN], "cannot be told"),
        ([OPEN, NO], "cannot be told"),
        ([OPEN, OPEN, NO], "cannot be told"),
        ([OPEN, NO, NO], "does not hold"),
        ([YES, NO, NO], "does not hold"),
        ([YES, OPEN, NO], "in part"),
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
        for source in Path(exaudit.experiments.__path__[0]).glob(f"{experiment.module}*.py"):
            for name in re.findall(r"\.add_claim\(\s*\"([\w-]+)\"", source.read_text(encoding="utf-8")):
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
    assert len(rules) == 5


def test_cases_beside_the_claim_are_shown_and_do_not_count() -> None:
    finding = Finding(CLAIMS["exag"], (YES, replace(NO, beside=True)))
    assert (finding.verdict, finding.held, finding.counted) == ("holds", 1, (YES,))
    assert [one["counts"] for one in finding.to_json()["cases"]] == [True, False]


def test_width_one_is_decided_by_f1_as_the_papers_table_is() -> None:
    other = [replace(YES, name=f"uniCNN over CNN, {metric}") for metric in ("F0.5", "precision")]
    assert Finding(CLAIMS["width-one"], tuple(other)).verdict == "no figures"
    by_f1 = replace(NO, name="uniCNN over CNN (uniCNN of seed 1), F1")
    assert Finding(CLAIMS["width-one"], (*other, by_f1)).verdict == "does not hold"


def test_of_earlier_results_the_other_question_about_disjoint_sets_does_not_count() -> None:
    earlier = replace(YES, name="Orig.+Rev. over Orig. disjoint+Rev., accuracy on Rev.")
    assert Finding(CLAIMS["disjoint"], (earlier,)).verdict == "no figures"
