"""Pages: documents are labelled once, and every analysis looks at the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.evaluation import Evaluation
from exaudit.analyse.exemplars import ExemplarTable, choose
from exaudit.analyse.features import By, Features
from exaudit.analyse.reliability import Reliability
from exaudit.analyse.report.blocks import Documents, Page, Section
from exaudit.analyse.report.documents import BUDGET, Shelf
from exaudit.analyse.report.evaluation_tables import evaluation_section
from exaudit.analyse.report.exemplar_tables import exemplar_section
from exaudit.analyse.report.feature_tables import feature_data, feature_section
from exaudit.analyse.report.reliability_plots import reliability_sections
from exaudit.audit.audited import Audited
from exaudit.audit.auditor import Auditor
from exaudit.audit.place import ModelPlace
from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.model.labeler import Labeler
from exaudit.model.scores import TokenScores

__all__ = ["Answers", "reliability_page", "report_page"]


@dataclass(frozen=True)
class Answers:
    """A file under a model: what the model says of each document and, where there is one, the support set."""

    labeler: Labeler
    auditor: Auditor | None  # None: there is no support set
    labelled: list[TokenScores]
    reference: NDArray[np.float64] | None  # distances of in-domain documents to their nearest exemplars
    title: str

    @classmethod
    def of(
        cls,
        model: str | Path,
        documents: Sequence[Document],
        *,
        title: str,
        reference: Sequence[Document] | None = None,
        support: str | Path | None = None,
        device: str = "auto",
        encoder: str | None = None,
    ) -> Answers:
        """Label the documents with all that the model folder has: model alone, support set, K-NN, admission.

        reference : in-domain documents to compare distances with; those that the admission limits were fitted on by
            default.
        """
        if not ModelPlace.of(model, support).has_support():
            labeler = Labeler.load(model, device=device, encoder=encoder)
            return cls(labeler, None, list(labeler.iter_label(documents, total=len(documents))), None, title)
        auditor = Auditor.open(model, support=support, device=device, encoder=encoder)
        rule, admit = None if auditor.knn is None else "knn", auditor.admission is not None
        labelled = auditor.iter_label(documents, rule=rule, admit=admit, total=len(documents))  # type: ignore[arg-type]
        answers: list[TokenScores] = list(labelled)
        if reference is None and auditor.admission is not None:
            reference = auditor.admission.documents
        near = None
        if reference:
            found = [a.neighbours for a in auditor.iter_label(reference, total=len(reference))]
            near = np.concatenate([n.distances[:, 0] for n in found if n is not None]).astype(np.float64)
        return cls(auditor.labeler, auditor, answers, near, title)

    @property
    def names(self) -> LabelNames:
        return self.labeler.names_

    @property
    def has_labels(self) -> bool:
        return all(self.names.document_target(s.document) is not None for s in self.labelled)

    def summary(self) -> list[str]:
        """What was looked at, and whose decisions these are."""
        words = sum(len(s.document.tokens) for s in self.labelled)
        lines = [
            f"{len(self.labelled):,} documents with {words:,} words, labelled {self.names.negative} or "
            f"{self.names.positive} (the positive class)."
        ]
        if note := self.labeler.note_on_length([s.document for s in self.labelled]):
            lines.append(note)
        if self.auditor is None:
            return [*lines, "Decisions are the model's own; there is no support set to check them against."]
        version, size = self.auditor.support.version, len(self.auditor.support)
        lines.append(f"Support set of {size:,} exemplars, version {version[:12]}.")
        if self.auditor.knn is None:
            lines.append("Decisions are the model's own; no K-NN was fitted.")
        else:
            agreement = 100 * self.auditor.knn.agreement
            lines.append(
                f"Decisions on words are the K-NN's, which agreed with the model on {agreement:.1f}% of dev."
            )
        admission = self.auditor.admission
        if admission is not None and admission.admission.is_stale(version):
            lines.append(
                "The admission limits were fitted on another version of the support set: fit them again."
            )
        return lines

    def limits(self) -> list[tuple[float, str]]:
        """The admission limits on the distance, for marks in a plot."""
        if self.auditor is None or self.auditor.admission is None:
            return []
        farthest = self.auditor.admission.admission.token_limits.distance
        return [
            (limit, f"limit, {self.names.name(target)}")
            for target, limit in enumerate(farthest)
            if limit is not None
        ]

    def exemplar_tables(self, count: int) -> list[ExemplarTable]:
        if self.auditor is None or not count:
            return []
        rule = None if self.auditor.knn is None else "knn"
        chosen = [s.document for s in choose(self.labelled, self.names, count=count)]
        found: list[Audited] = self.auditor.label(chosen, rule=rule, nearest=True)  # type: ignore[arg-type]
        return [ExemplarTable.of(audited, self.names) for audited in found]


def reliability_page(answers: Answers) -> Page:
    reliability = Reliability.of(answers.labelled, answers.names)
    sections = reliability_sections(reliability, reference=answers.reference, limits=answers.limits())
    summary = answers.summary()
    if not sections:
        summary.append("No labels are known and there is no K-NN, so nothing can be said about reliability.")
    return Page(answers.title, tuple(summary), tuple(sections), {"reliability": reliability.to_json()})


def report_page(
    answers: Answers,
    *,
    sizes: Sequence[int] = (1, 2, 3, 4, 5),
    by: By = "mean",
    top: int = 10,
    exemplars: int = 10,
    budget: int = BUDGET,
) -> Page:
    """All of it on one page."""
    sections: list[Section] = []
    data: dict[str, Any] = {"title": answers.title, "names": answers.names.to_json()}
    if answers.has_labels:
        model = Evaluation.of(map(_as_model, answers.labelled), answers.names)
        knn = None
        if answers.auditor is not None and answers.auditor.knn is not None:
            knn = Evaluation.of(answers.labelled, answers.names)
            data["evaluation_knn"] = knn.to_json()
        sections.append(evaluation_section(model, knn))
        data["evaluation"] = model.to_json(ci=True)
    features = Features.of(answers.labelled, answers.labeler)
    sections.append(feature_section(features, sizes=sizes, by=by, top=top))
    data["features"] = feature_data(features, sizes=sizes, by=by, top=top)
    reliability = reliability_page(answers)
    sections += reliability.sections
    data |= reliability.data
    tables = answers.exemplar_tables(exemplars)
    if tables:
        sections.append(exemplar_section(tables))
        data["exemplars"] = [table.to_json() for table in tables]
    shelf = Shelf.of(answers.labelled, answers.names, budget=budget)
    sections.append(Section("The documents", (Documents(shelf),)))
    return Page(answers.title, tuple(answers.summary()), tuple(sections), data)


def _as_model(scores: TokenScores) -> TokenScores:
    """The same with the model's own decisions on words."""
    return TokenScores(scores.document, scores.output, scores.negative, scores.positive, scores.offset)
