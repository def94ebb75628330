"""New documents beside the reference, as a page."""

from __future__ import annotations

from exaudit.analyse.reliability import histogram
from exaudit.analyse.report.blocks import Block, Cell, Page, Plot, Section, Series, Table
from exaudit.audit.drift import Drift
from exaudit.audit.shift import CONTENT, WORDING, Shift

__all__ = ["drift_page"]


def drift_page(drift: Drift, *, title: str) -> Page:
    """The verdict, a table of the measures, a plot of each, and the documents that are farthest."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            shift.measure,
            "shifted" if shift in drift.found else "",
            shift.p,
            shift.new,
            shift.reference,
            shift.sentence,
        )
        for shift in drift.shifts
    )
    columns = ("measure", "", "p, corrected", "these documents", "reference", "in words")
    blocks: list[Block] = [Table("What was compared; medians", columns, rows, digits=4)]
    blocks += [_plot(drift, shift) for shift in drift.shifts if shift.measure != CONTENT]
    sections = [Section("What has shifted" if drift.detected else "What was compared", tuple(blocks))]
    if drift.farthest:
        far: tuple[tuple[Cell, ...], ...] = tuple(
            (document.id, document.sentence, document.text) for document in drift.farthest
        )
        table = Table("The most unlike first", ("id", "by its", "it begins"), far)
        sections.append(Section("Documents farthest from the reference", (table,)))
    notes = tuple(f"{note[0].upper()}{note[1:]}." for note in drift.notes)
    return Page(title, (drift.verdict, *notes), tuple(sections), {"drift": drift.to_json()})


def _plot(drift: Drift, shift: Shift) -> Plot:
    old, new = (profile.column(shift.measure) for profile in drift.profiles)
    centres, shares = histogram([new, old])
    return Plot(
        f"{shift.measure.capitalize()}: these documents and the reference",
        f"Share of the documents in each bin. {shift.sentence[0].upper()}{shift.sentence[1:]}.",
        WORDING[shift.measure].axis,
        "share of the documents",
        tuple(
            Series(name, tuple(map(float, centres)), tuple(map(float, share)))
            for name, share in zip(("these documents", "reference"), shares, strict=True)
        ),
    )
