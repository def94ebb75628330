"""What an edit of the support set would change, told before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from exaudit.audit.audited import Audited
from exaudit.support.history import Edit

__all__ = ["Flip", "Preview"]


@dataclass(frozen=True, slots=True)
class Flip:
    """A token whose decision would change."""

    id: str
    position: int
    token: str
    before: int
    after: int


@dataclass(frozen=True)
class Preview:
    """An edit that was not made, and the decisions that it would have changed."""

    edit: Edit
    rule: str
    documents: int
    tokens: int
    flips: tuple[Flip, ...]

    @classmethod
    def of(cls, edit: Edit, rule: str, before: Sequence[Audited], after: Sequence[Audited]) -> Preview:
        flips = []
        for old, new in zip(before, after, strict=True):
            for n in np.flatnonzero(old.decisions != new.decisions).tolist():
                token, was = old.document.tokens[n], int(old.decisions[n])
                flips.append(Flip(old.document.id, n, token, was, 1 - was))
        tokens = sum(len(one.decisions) for one in before)
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
