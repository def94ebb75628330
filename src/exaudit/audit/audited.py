"""One document after the audit: the model's scores, the evidence, and the decisions that stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from exaudit.audit.evidence import Exemplar
from exaudit.data.labels import LabelNames
from exaudit.decide.admission import TokenAdmission
from exaudit.decide.neighbours import Neighbours
from exaudit.errors import SettingError
from exaudit.model.scores import TokenScores

__all__ = ["RULES", "Audited", "Rule", "check_rule"]

Rule = Literal["exag", "exat", "knn"]
RULES: tuple[str, ...] = get_args(Rule)


def check_rule(rule: str | None) -> None:
    if rule is not None and rule not in RULES:
        raise SettingError(f"there is no decision rule {rule!r}; choose one of {', '.join(RULES)}")


@dataclass(frozen=True)
class Audited(TokenScores):
    """Scores of a document, and what the support set has to say about them.

    `decisions` are those of the rule (of the model, where there is none); the decision on the document as a whole
    stays the model's. With admission, `admitted_tokens` tells which token answers may be relied on, and `admitted`
    whether the document's may.
    """

    rule: Rule | None = None
    ruled: npt.NDArray[np.bool_] | None = None  # (N,) decisions of the rule
    neighbours: Neighbours | None = None  # (N, K)
    nearest: tuple[Exemplar, ...] = ()  # the nearest exemplar of each token, where asked for
    knn: npt.NDArray[np.float64] | None = None  # (N,) f(x)^KNN, counted from its decision boundary
    admission: TokenAdmission | None = None
    admitted: bool | None = None  # of the document; None: no admission, or no document limits
    reason: str | None = None  # why the document is refused

    @property
    def decisions(self) -> npt.NDArray[np.bool_]:
        return self.margins > 0 if self.ruled is None else self.ruled

    @property
    def admitted_tokens(self) -> npt.NDArray[np.bool_] | None:
        return None if self.admission is None else self.admission.admitted

    def to_json(self, names: LabelNames) -> dict[str, Any]:
        """The line that `exaudit label` writes, with the evidence of each token."""
        line = super().to_json(names)
        for n, token in enumerate(line["tokens"]):
            token["label"] = int(self.decisions[n])
            if self.knn is not None:
                token["knn"] = float(self.knn[n])
            if self.nearest:
                token["exemplar"] = self.nearest[n].to_json()
            if self.admission is not None:
                token["admitted"] = bool(self.admission.admitted[n])
                token["reason"] = self.admission.reason(n, names=(names.negative, names.positive))
        if self.admission is not None:
            line["admitted"], line["reason"] = self.admitted, self.reason
        return line
