"""A document as the browser shows it: the words with all that may decide about them, for any number of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from exaudit.analyse.decisions import true_classes
from exaudit.audit.audited import Audited, MultiAudited
from exaudit.audit.looks import Look
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.model.scores import TokenScores
from exaudit.serve.promised import PromiseView
from exaudit.serve.workbench import Workbench

__all__ = ["LONGEST", "DocumentView", "Names", "RuleName", "Text", "gaps_of", "label_of", "view_of"]

LONGEST = 400_000  # characters of a text
RuleName = Literal["model", "exag", "exat", "knn"]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST)]
Names = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=1000)]


class DocumentView(BaseModel):
    """Lists with one entry for each class that words are decided for (`classes`) have lists over the words in them."""

    id: str
    key: str | None = Field(None, description="of a pasted text, to ask about its words")
    place: int | None = Field(None, description="in the open file")
    tokens: list[str]
    gaps: list[str] = Field(description="what stands in the text before each token, and after the last")
    classes: list[str]
    decided: list[str] = Field(description="the classes of the document")
    outputs: list[float] = Field(description="what decides the document for each class")
    truth: list[str] | None = Field(description="its true classes, where they are known")
    wrong: bool | None
    margins: list[list[float]] = Field(
        description="the model's scores, above 0 where a word carries the class"
    )
    knn: list[list[float]] | None = Field(description="the K-NN's outputs, the same")
    borne_out: dict[str, list[list[bool]]] = Field(description="whether ExAG and ExAT let a word stand")
    against: list[int] = Field(description="words that speak for the negative class, of two")
    distances: list[float] | None = Field(description="of the nearest exemplar of each word")
    marks: list[list[int]] | None = Field(
        description="the words that truly carry each class, where that is known"
    )
    refused: list[int] | None = Field(description="words whose answer is not admitted")
    admitted: bool | None
    reason: str | None
    admitted_by: Literal["promise", "mean"] | None = Field(
        description="a promise is about the answers of the model, the limits (mean) about those of the K-NN"
    )
    promise: PromiseView | None
    rules: dict[str, str | None] = Field(description="what may decide, and why not")
    version: int = Field(description="of the support set that was asked")


def view_of(
    bench: Workbench, look: Look, *, key: str | None = None, place: int | None = None
) -> DocumentView:
    scores, labels = look.scores, bench.labels
    document, rules, by = scores.document, bench.rules(), bench.admitting()
    file = None if place is None else bench.file
    audited = told = None
    if rules["knn"] is None:
        audited = told = bench.looks.decided(look, "knn", admit="mean" if by == "mean" else False)
    if by == "promise":
        withdrawal = None if file is None else file.withdrawal
        told = bench.looks.decided(look, admit="promise", withdrawal=withdrawal)
    borne_out = {}
    for rule in ("exag", "exat"):
        if rules[rule] is None:
            borne_out[rule] = _borne_out(bench, look, rule)
    admitted = told if by is not None and isinstance(told, Audited | MultiAudited) else None
    refused = None if admitted is None else admitted.admitted_tokens
    truth = true_classes(document, labels)
    marks = labels.token_targets(document)  # (N, K)
    against = scores.evidence < 0 if isinstance(scores, TokenScores) and not scores.decision else np.zeros(0)
    knn = None
    if isinstance(audited, Audited | MultiAudited) and audited.knn is not None:
        knn = audited.knn.reshape(len(document.tokens), -1).T.round(4).tolist()
    return DocumentView(
        id=document.id,
        key=key,
        place=place,
        tokens=list(document.tokens),
        gaps=gaps_of(document),
        classes=[view.positive for view in labels.views],
        decided=[labels.names[c] for c in scores.decided],
        outputs=[float(view.output) for view in scores.views],
        truth=None if truth is None else [labels.names[c] for c in truth],
        wrong=None if truth is None else set(truth) != set(scores.decided),
        margins=[view.margins.astype(np.float64).round(4).tolist() for view in scores.views],
        knn=knn,
        borne_out=borne_out,
        against=np.flatnonzero(against).tolist(),
        distances=look.distances[:, 0].astype(np.float64).round(3).tolist() if look.rows.shape[1] else None,
        marks=None if marks is None else [np.flatnonzero(own).tolist() for own in marks.T],
        refused=None if refused is None else np.flatnonzero(~refused).tolist(),
        admitted=None if admitted is None else admitted.admitted,
        reason=None if admitted is None else admitted.reason,
        admitted_by=by,
        promise=bench.promised.view(labels, file),
        rules=rules,
        version=bench.version,
    )


def gaps_of(document: Document) -> list[str]:
    """What stands between the tokens: in front of each, and behind the last."""
    gaps, last = [], 0
    for start, stop in document.spans():
        gaps.append(document.text[last:start])
        last = stop
    return [*gaps, document.text[last:]]


def label_of(names: list[str], labels: LabelSet) -> str | tuple[str, ...]:
    """A list of names as the library has labels; whether they exist is checked there."""
    return names[0] if len(names) == 1 and labels.kind != "multilabel" else tuple(names)


def _borne_out(bench: Workbench, look: Look, rule: Literal["exag", "exat"]) -> list[list[bool]]:
    """What a rule says of each word if the model flags it."""
    sure = np.full(len(look.scores.document.tokens), 1e6, np.float32)
    views = tuple(replace(view, positive=view.negative + sure, smoothing=1) for view in look.scores.views)
    scores = views[0] if isinstance(look.scores, TokenScores) else replace(look.scores, views=views)
    found = bench.looks.decided(replace(look, scores=scores), rule)
    return [view.decisions.tolist() for view in found.views]
