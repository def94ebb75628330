"""What an edit of the support set would change, told before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from exaudit.audit.audited import Audited, AuditedScores
from exaudit.data.labels import LabelSet
from exaudit.support.history import Edit

__all__ = ["Flip", "Preview"]

Decision = int | tuple[str, ...]  # of two classes 0 or 1, otherwise the classes that the token carries


@dataclass(frozen=True, slots=True)
class Flip:
    """A token whose decision would change."""

    id: str
    position: int
    token: str
    before: Decision
    after: Decision


@dataclass(frozen=True)
class Preview:
    """An edit that was not made, and the decisions that it would have changed."""

    edit: Edit
    rule: str
    documents: int
    tokens: int
    flips: tuple[Flip, ...]

    @classmethod
    def of(
        cls,
        edit: Edit,
        rule: str,
        before: Sequence[AuditedScores],
        after: Sequence[AuditedScores],
        labels: LabelSet,
    ) -> Preview:
        flips = []
        for old, new in zip(before, after, strict=True):
            rows = zip(old.document.tokens, _decisions(old, labels), _decisions(new, labels), strict=True)
            for n, (token, was, then) in enumerate(rows):
                if was != then:
                    flips.append(Flip(old.document.id, n, token, was, then))
        tokens = sum(len(one.document.tokens) for one in before)
        return cls(edit, rule, len(before), tokens, tuple(flips))

    def to_json(self) -> dict[str, Any]:
        return {
            "edit": self.edit.what,
            "written": False,
            "rule": self.rule,
            "documents": self.documents,
            "tokens": self.tokens,
            "flips": [asdict(flip) for flip in self.flips],
        }


def _decisions(audited: AuditedScores, labels: LabelSet) -> Sequence[Decision]:
    if isinstance(audited, Audited):
        return [int(decided) for decided in audited.decisions.tolist()]
    return [tuple(labels.names[c] for c in sorted(classes)) for classes in audited.word_classes]
