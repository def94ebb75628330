"""Figures 3 and 4, drawn of what there is."""

from __future__ import annotations

from dataclasses import replace

from exaudit.experiments.paper_comparison import PaperComparison, Table
from exaudit.experiments.plots import reliability_figures


def test_pictures_are_drawn_only_of_what_was_found(comparison: PaperComparison) -> None:
    drawn = reliability_figures(comparison)
    assert list(drawn) == ["figure-3.svg"]
    assert "10.0, 20.0, 30.0, none, none" in drawn["figure-3.svg"]
    empty = Table("fce-figure-2", "fce", "Figure 2", ("1st bin",), ())
    assert reliability_figures(replace(comparison, tables=(empty,))) == {}
