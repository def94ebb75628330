"""How the evidence decides: the rule in force, the K-NN it needs, and admission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from exaudit.audit.audited import Audited, Rule
from exaudit.audit.evidence import Evidence, Exemplar
from exaudit.data.labels import LabelNames
from exaudit.decide.admission import Admission
from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.rules import exag, exat
from exaudit.model.scores import TokenScores

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy:
    """Scores are counted from the model's decision boundary throughout, so that its decisions are their signs."""

    rule: Rule | None
    knn: KNN | None
    admission: Admission | None
    has_token_labels: bool  # whether any exemplar of the support set has one

    @property
    def k(self) -> int:
        """How many exemplars each token needs."""
        return 1 if self.knn is None else self.knn.k

    def audited(
        self, scores: TokenScores, neighbours: Neighbours, nearest: Sequence[Exemplar] = ()
    ) -> Audited:
        """The decisions on one document, given the exemplars of its tokens."""
        ruled = output = tokens = admitted = reason = None
        if self.rule == "exag":
            ruled = exag(scores.margins, neighbours)
        elif self.rule == "exat":
            ruled = exat(scores.margins, neighbours, has_token_labels=self.has_token_labels)
        if self.knn is not None:
            output = self.knn.output(neighbours)
            if self.rule == "knn":
                ruled = self.knn.decide(output) > 0
            output = output - self.knn.offset
        if self.admission is not None and self.knn is not None:
            tokens = self.admission.tokens(self.knn, neighbours)
            if self.admission.document_limits is not None:
                whole = self.admission.documents(tokens.admitted, np.zeros(len(neighbours), np.int64), 1)
                admitted, reason = bool(whole.admitted[0]), whole.reason(0)
        plain = {field.name: getattr(scores, field.name) for field in fields(TokenScores)}
        return Audited(
            **plain,
            rule=self.rule,
            ruled=ruled,
            neighbours=neighbours,
            nearest=tuple(nearest),
            knn=output,
            admission=tokens,
            admitted=admitted,
            reason=reason,
        )

    def evidence(
        self,
        scores: TokenScores,
        asked: Sequence[int],
        near: Neighbours,
        exemplars: Sequence[tuple[Exemplar, ...]],
        names: LabelNames,
    ) -> list[Evidence]:
        """What there is to say about some tokens of a document, given the exemplars of just these."""
        knn = self.knn
        limits = None if knn is None or self.admission is None else self.admission.tokens(knn, near)
        return [
            Evidence(
                position=n,
                token=scores.document.tokens[n],
                score=float(scores.margins[n]),
                decision=int(scores.decisions[n]),
                exemplars=exemplars[i],
                explanation=None if knn is None else knn.explain(near, i),
                refusal=None if limits is None else limits.reason(i, names=(names.negative, names.positive)),
            )
            for i, n in enumerate(asked)
        ]
