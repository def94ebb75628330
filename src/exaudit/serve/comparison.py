"""Compare: the open file beside in-domain documents, or beside a file that was open before."""

from __future__ import annotations

import numpy as np

from exaudit.analyse.report import Page, Section, Table
from exaudit.analyse.report.blocks import Cell
from exaudit.analyse.report.drift_page import drift_page
from exaudit.audit.audited import Audited, MultiAudited
from exaudit.errors import ExauditError
from exaudit.model.scores import Scores
from exaudit.serve.answers import answers_on, distances_of, in_domain
from exaudit.serve.opened import OpenFile
from exaudit.serve.promised import drift_of
from exaudit.serve.workbench import NotFoundError, Workbench

__all__ = ["compare"]

COLUMNS = ("", "documents", "words", "flagged words, %", "admitted words, %", "nearest exemplar, median")


def compare(bench: Workbench, other: OpenFile | None) -> Page:
    """What the model and the support set say of the open file, and of the other side; and what has shifted."""
    file = bench.need_file()
    beside = in_domain(bench) if other is None else answers_on(bench, other)
    if beside is None:
        raise NotFoundError(
            "there are no in-domain documents to compare with: fit the admission limits, make a promise, or open "
            "another file and compare with that"
        )
    name = "in-domain documents" if other is None else other.name
    sides = [(name, beside), (file.name, answers_on(bench, file))]
    tables = (
        Table("What the model and the support set say of them", COLUMNS, tuple(_row(*s) for s in sides), 1),
        Table(
            "Documents decided to be of each class, in percent",
            ("", *bench.labels.names),
            tuple(_shares(*side, len(bench.labels.names)) for side in sides),
            1,
        ),
    )
    told = [f"{len(beside):,} documents of {name}, beside {len(sides[1][1]):,} of {file.name}."]
    if other is None:
        told = [
            f"{len(beside):,} documents that the promise or the limits were fitted on, beside {len(sides[1][1]):,} of "
            "the open file. Words that are far from every exemplar, and fewer admitted answers, are signs that the "
            "file is unlike what the model knows."
        ]
    sections: tuple[Section, ...] = (Section("Side by side", tables),)
    try:
        drift = drift_page(drift_of(file, bench.auditor, other), title="")
        told, sections = [*drift.summary, *told], (*sections, *drift.sections)
    except ExauditError as error:
        told.append(f"Drift cannot be told: {error}.")
    title = "In-domain documents" if other is None else other.name
    return Page(f"{title} against {file.name}", tuple(told), sections)


def _row(name: str, labelled: list[Scores]) -> tuple[Cell, ...]:
    words = sum(len(own.document.tokens) for own in labelled)
    flagged = sum(int(np.any([view.margins > 0 for view in own.views], axis=0).sum()) for own in labelled)
    told = [own.admitted_tokens for own in labelled if isinstance(own, Audited | MultiAudited)]
    admitted = [each for each in told if each is not None]
    distances = distances_of(labelled)
    return (
        name,
        len(labelled),
        words,
        100 * flagged / max(1, words),
        100 * float(np.concatenate(admitted).mean()) if admitted else None,
        float(np.median(distances)) if distances is not None else None,
    )


def _shares(name: str, labelled: list[Scores], classes: int) -> tuple[Cell, ...]:
    counts = [sum(c in own.decided for own in labelled) for c in range(classes)]
    return (name, *(100 * count / max(1, len(labelled)) for count in counts))
