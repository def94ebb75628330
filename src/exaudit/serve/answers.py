"""Answers on the documents of a file, and on in-domain ones, for the analyses: as many as an analysis needs."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from exaudit.audit.audited import Audited, MultiAudited, Rule
from exaudit.model.scores import Scores
from exaudit.serve.opened import OpenFile
from exaudit.serve.workbench import Workbench

__all__ = ["DRAWN", "answers_on", "distances_of", "in_domain"]

DRAWN = 5000  # documents of a large file that are analysed
REFERENCE = 300  # in-domain documents that a file is compared with, at most


def answers_on(bench: Workbench, file: OpenFile, most: int = DRAWN) -> list[Scores]:
    """By the K-NN, where one was fitted, with what the limits admit; of a large file, of documents that are drawn."""
    rule, admit = _policy(bench)
    found = []
    for place in file.drawn(most).tolist():
        look = bench.look_at(file, place)
        found.append(bench.looks.decided(look, rule, admit=admit) if bench.has_support else look.scores)
    return found


def in_domain(bench: Workbench) -> list[Scores] | None:
    """The same on documents that the promise, or the limits, were fitted on; None where there are none."""
    promise, limits = bench.auditor.promise, bench.auditor.admission
    documents = promise.calibration if promise is not None else () if limits is None else limits.documents
    if not documents:
        return None
    if not bench.has_support:
        return list(bench.model.label(documents[:REFERENCE]))
    rule, admit = _policy(bench)
    return list(bench.auditor.label(documents[:REFERENCE], rule=rule, admit=admit))


def distances_of(labelled: list[Scores]) -> npt.NDArray[np.float64] | None:
    """Of all words to their nearest exemplars."""
    near = [own.views[0].neighbours for own in labelled if isinstance(own, Audited | MultiAudited)]
    found = [each.distances[:, 0] for each in near if each is not None]
    return np.concatenate(found).astype(np.float64) if found else None


def _policy(bench: Workbench) -> tuple[Rule | None, Literal["mean", False]]:
    rule: Rule | None = "knn" if bench.rules()["knn"] is None else None
    return rule, "mean" if bench.has_limits else False
