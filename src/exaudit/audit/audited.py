"""One document after the audit: the model's scores, the evidence, and the decisions that stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from exaudit.audit.evidence import Exemplar, joint_json
from exaudit.audit.part import Verdict
from exaudit.data.labels import LabelSet
from exaudit.decide.admission import TokenAdmission
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SettingError
from exaudit.model.scores import MultiScores, TokenScores

__all__ = ["RULES", "Audited", "AuditedScores", "MultiAudited", "Rule", "check_rule"]

Rule = Literal["exag", "exat", "knn"]
RULES: tuple[str, ...] = get_args(Rule)


def check_rule(rule: str | None) -> None:
    if rule is not None and rule not in RULES:
        raise SettingError(f"there is no decision rule {rule!r}; choose one of {', '.join(RULES)}")


@dataclass(frozen=True)
class Audited(TokenScores):
    """Scores of a document for one class, and what the support set has to say about them.

    `decisions` are those of the rule (of the model, where there is none); the decision on the document as a whole
    stays the model's. With admission, `admitted_tokens` tells which token answers may be relied on, and `admitted`
    whether the document's may.
    """

    rule: Rule | None = None
    ruled: npt.NDArray[np.bool_] | None = None  # (N,) decisions of the rule
    neighbours: Neighbours | None = None  # (N, K)
    nearest: tuple[Exemplar, ...] = ()  # the nearest exemplar of each token, where asked for
    knn: npt.NDArray[np.float64] | None = None  # (N,) f(x)^KNN, counted from its decision boundary
    admission: TokenAdmission | Verdict | None = None
    admitted: bool | None = None  # of the document; None: no admission, or no document limits
    reason: str | None = None  # why the document is refused
    promise: dict[str, Any] | None = None  # what is promised about the answers that are admitted
    verified: bool = True  # whether the support set had been compared with its fingerprints by then

    @property
    def views(self) -> tuple[Audited, ...]:
        return (self,)

    @property
    def decisions(self) -> npt.NDArray[np.bool_]:
        return self.margins > 0 if self.ruled is None else self.ruled

    @property
    def admitted_tokens(self) -> npt.NDArray[np.bool_] | None:
        return None if self.admission is None else self.admission.admitted

    def to_json(self, labels: LabelSet) -> dict[str, Any]:
        """The line that `exaudit label` writes, with the evidence of each token."""
        line = super().to_json(labels)
        names = labels.views[0]
        for n, token in enumerate(line["tokens"]):
            token["label"] = int(self.decisions[n])
            if self.knn is not None:
                token["knn"] = float(self.knn[n])
            if self.nearest:
                token["exemplar"] = self.nearest[n].to_json()
            if self.admission is not None:
                token["admitted"] = bool(self.admission.admitted[n])
                token["reason"] = self.admission.reason(n, names=(names.negative, names.positive))
        if self.admission is not None or self.promise is not None:
            line["admitted"], line["reason"] = self.admitted, self.reason
        if self.promise is not None:
            line["promise"] = self.promise
        return line if self.verified else {**line, "verified": False}


@dataclass(frozen=True)
class MultiAudited(MultiScores):
    """The same for more than two classes, or several labels: every class by itself in `views`, and what follows.

    A word's answer is admitted where that of its strongest class by the K-NN is; a document's where those of its
    classes are, or, where it has none, that of the class that comes nearest.
    """

    views: tuple[Audited, ...]
    admission: Verdict | None = None  # of the words, where a promise is in force
    admitted: bool | None = None  # of the document; None: no admission, or no document limits
    reason: str | None = None  # why the document is refused
    promise: dict[str, Any] | None = None  # what is promised about the answers that are admitted
    verified: bool = True  # whether the support set had been compared with its fingerprints by then

    @property
    def knn(self) -> npt.NDArray[np.float64] | None:
        """f(x)^KNN of every class, counted from its decision boundary (N, C)."""
        outputs = [view.knn for view in self.views if view.knn is not None]
        return np.stack(outputs, 1) if outputs else None

    @property
    def strengths(self) -> npt.NDArray[Any]:
        knn = self.knn if self.views[0].rule == "knn" else None
        return self.margins if knn is None else knn

    @property
    def admitted_tokens(self) -> npt.NDArray[np.bool_] | None:
        if self.admission is not None:
            return self.admission.admitted
        answers = [view.admitted_tokens for view in self.views if view.admitted_tokens is not None]
        if not answers or self.knn is None:
            return None
        strongest = self.knn.argmax(1)  # (N,)
        return np.asarray(np.stack(answers, 1)[np.arange(len(strongest)), strongest])

    def to_json(self, labels: LabelSet) -> dict[str, Any]:
        """The line that `exaudit label` writes, with the evidence of each token."""
        line = super().to_json(labels)
        knn, admitted = self.knn, self.admitted_tokens
        for n, token in enumerate(line["tokens"]):
            if knn is not None:
                token["knn"] = dict(zip(labels.names, knn[n].tolist(), strict=True))
            if self.views[0].nearest:
                token["exemplar"] = joint_json([view.nearest[n] for view in self.views], labels)
            if admitted is not None:
                token["admitted"] = bool(admitted[n])
                token["reason"] = self._reason(n, labels)
        if admitted is not None or self.promise is not None:
            line["admitted"], line["reason"] = self.admitted, self.reason
        if self.promise is not None:
            line["promise"] = self.promise
        return line if self.verified else {**line, "verified": False}

    def _reason(self, n: int, labels: LabelSet) -> str | None:
        if self.admission is not None or self.knn is None:
            return None if self.admission is None else self.admission.reason(n)
        strongest = int(self.knn[n].argmax())
        admission, names = self.views[strongest].admission, labels.views[strongest]
        return None if admission is None else admission.reason(n, names=(names.negative, names.positive))


AuditedScores = Audited | MultiAudited
