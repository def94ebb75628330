"""Pages: documents are labelled once, and every analysis looks at the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exaudit.analyse.decisions import true_classes
from exaudit.analyse.evaluation import Evaluation
from exaudit.analyse.exemplars import ExemplarTable, choose
from exaudit.analyse.features import By, Features
from exaudit.analyse.reliability import MultiReliability, Reliability
from exaudit.analyse.report.blocks import Documents, Page, Section
from exaudit.analyse.report.documents import BUDGET, Shelf
from exaudit.analyse.report.evaluation_tables import evaluation_section
from exaudit.analyse.report.exemplar_tables import exemplar_section
from exaudit.analyse.report.feature_tables import feature_data, feature_section
from exaudit.analyse.report.promise_plots import curves, promise_section
from exaudit.analyse.report.reliability_plots import multi_reliability_sections, reliability_sections
from exaudit.audit.audited import Rule
from exaudit.audit.auditor import Auditor
from exaudit.audit.place import ModelPlace
from exaudit.audit.promise import Promise
from exaudit.data.columns import listed
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.errors import SettingError
from exaudit.model.folder import load_model
from exaudit.model.model import Model
from exaudit.model.scores import MultiScores, Scores, TokenScores
from exaudit.model.trust import sentences

__all__ = ["Answers", "reliability_page", "report_page"]


@dataclass(frozen=True)
class Answers:
    """A file under a model: what the model says of each document and, where there is one, the support set."""

    model: Model
    auditor: Auditor | None  # None: there is no support set
    labelled: list[Scores]
    reference: NDArray[np.float64] | None  # distances of in-domain documents to their nearest exemplars
    title: str
    promise: Promise | None = None

    @classmethod
    def of(
        cls,
        folder: str | Path,
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
        place = ModelPlace.of(folder, support)
        if not place.has_support():
            if support is not None:
                place.open_support()  # says what is wrong with the one that was named
            if reference is not None:
                raise SettingError(
                    "`reference` is compared by the distance to exemplars, and there is no support set; build one first"
                )
            model = load_model(Path(folder), device=device, encoder=encoder)
            labelled_alone: list[Scores] = list(model.iter_label(documents, total=len(documents)))
            promise = Promise.load(Path(folder), len(model.labels.views))
            return cls(model, None, labelled_alone, None, title, promise)
        auditor = Auditor.open(folder, support=support, device=device, encoder=encoder)
        rule: Rule | None = None if auditor.knn is None else "knn"
        admit: Literal["mean"] | bool = False if auditor.admission is None else "mean"
        labelled = auditor.iter_label(documents, rule=rule, admit=admit, total=len(documents))
        answers: list[Scores] = list(labelled)
        if reference is None and auditor.admission is not None:
            reference = auditor.admission.documents
        near = None
        if reference:
            found = [a.views[0].neighbours for a in auditor.iter_label(reference, total=len(reference))]
            near = np.concatenate([n.distances[:, 0] for n in found if n is not None]).astype(np.float64)
        auditor.wait_verified()
        return cls(auditor.model, auditor, answers, near, title, auditor.promise)

    @property
    def labels(self) -> LabelSet:
        return self.model.labels

    @property
    def has_labels(self) -> bool:
        return all(true_classes(s.document, self.labels) is not None for s in self.labelled)

    def trust(self) -> list[str]:
        """How far the words can be trusted, as `train` said."""
        names = [repr(view.positive) for view in self.labels.views]
        return sentences(self.model.record.get("words"), self.model.word_boundaries, names)

    def summary(self) -> list[str]:
        """What was looked at, and whose decisions these are."""
        words = sum(len(s.document.tokens) for s in self.labelled)
        count = len(self.labelled)
        noun = "document" if count == 1 else "documents"
        lines = [f"{count:,} {noun} with {words:,} words, labelled {_choice(self.labels)}."]
        if note := self.model.note_on_length([s.document for s in self.labelled]):
            lines.append(note)
        lines += [f"{line[0].upper()}{line[1:]}." for line in self.trust()]
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
        if admission is not None and admission.is_stale(version):
            lines.append(
                "The admission limits were fitted on another version of the support set: fit them again."
            )
        return lines

    def limits(self) -> list[tuple[float, str]]:
        """The admission limits on the distance, for marks in a plot."""
        if self.auditor is None or self.auditor.admission is None or self.labels.kind != "binary":
            return []  # with many classes, there would be too many marks to read
        farthest = self.auditor.admission.views[0].token_limits.distance
        return [
            (limit, f"limit, {self.labels.names[target]}")
            for target, limit in enumerate(farthest)
            if limit is not None
        ]

    def exemplar_tables(self, count: int) -> list[tuple[str, ExemplarTable]]:
        """Tables with the class that each is about."""
        if self.auditor is None or not count:
            return []
        rule = None if self.auditor.knn is None else "knn"
        chosen = choose(self.labelled, self.labels, count=count)
        found = self.auditor.label([scores.document for scores, _ in chosen], rule=rule, nearest=True)  # type: ignore[arg-type]
        tables = []
        for audited, (_, k) in zip(found, chosen, strict=True):
            names = self.labels.views[k]
            tables.append((names.positive, ExemplarTable.of(audited.views[k], names)))
        return tables


def reliability_page(answers: Answers) -> Page:
    reliability: Reliability | MultiReliability
    if answers.labels.kind == "binary":
        views = (view for scores in answers.labelled for view in scores.views)
        reliability = Reliability.of(views, answers.labels.views[0])
        sections = reliability_sections(reliability, reference=answers.reference, limits=answers.limits())
    else:
        reliability = MultiReliability.of(answers.labelled, answers.labels)
        sections = multi_reliability_sections(reliability, reference=answers.reference)
    data: dict[str, Any] = {"reliability": reliability.to_json()}
    if answers.promise is not None:
        sections.insert(0, promise_section(answers.promise, answers.labels))
        data["promise"] = answers.promise.told() | {"curves": curves(answers.promise)}
    summary = answers.summary()
    if not sections:
        summary.append("No labels are known and there is no K-NN, so nothing can be said about reliability.")
    elif all(true_classes(each.document, answers.labels) is None for each in answers.labelled):
        summary.append("The documents have no labels, so how many are decided rightly cannot be told.")
    return Page(answers.title, tuple(summary), tuple(sections), data)


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
    data: dict[str, Any] = {"title": answers.title, "names": _names(answers.labels), "words": answers.trust()}
    if answers.has_labels:
        model = Evaluation.of(map(_as_model, answers.labelled), answers.labels)
        knn = None
        if answers.auditor is not None and answers.auditor.knn is not None:
            knn = Evaluation.of(answers.labelled, answers.labels)
            data["evaluation_knn"] = knn.to_json()
        sections.append(evaluation_section(model, knn))
        data["evaluation"] = model.to_json(ci=True)
    features = Features.of(answers.labelled, answers.model)
    sections.append(feature_section(features, sizes=sizes, by=by, top=top))
    data["features"] = feature_data(features, sizes=sizes, by=by, top=top)
    reliability = reliability_page(answers)
    sections += reliability.sections
    data |= reliability.data
    tables = answers.exemplar_tables(exemplars)
    if tables:
        binary = answers.labels.kind == "binary"
        sections.append(exemplar_section([table for _, table in tables], binary=binary))
        data["exemplars"] = [table.to_json() | ({} if binary else {"class": name}) for name, table in tables]
    shelf = Shelf.of(answers.labelled, answers.labels, budget=budget)
    sections.append(Section("The documents", (Documents(shelf),)))
    return Page(answers.title, tuple(answers.summary()), tuple(sections), data)


def _names(labels: LabelSet) -> dict[str, Any]:
    if labels.kind != "binary":
        return labels.to_json()
    return {"negative": labels.names[0], "positive": labels.names[1], "others": list(labels.others)}


def _choice(labels: LabelSet) -> str:
    if labels.kind == "binary":
        return f"{labels.names[0]} or {labels.names[1]} (the positive class)"
    how = "one of the" if labels.kind == "multiclass" else "none, one or several of the"
    return f"with {how} {len(labels)} classes {listed(labels.names)}"


def _as_model(scores: Scores) -> Scores:
    """The same with the model's own decisions on words."""
    if isinstance(scores, MultiScores):
        return MultiScores(scores.document, tuple(map(_own, scores.views)), scores.one_of)
    return _own(scores)


def _own(scores: TokenScores) -> TokenScores:
    return TokenScores(
        scores.document,
        scores.output,
        scores.negative,
        scores.positive,
        scores.offset,
        doubt=scores.doubt,
    )
