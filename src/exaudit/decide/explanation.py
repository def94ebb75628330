"""One K-NN output, written out in full: nothing enters the decision that is not on this page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Explanation", "Term"]


@dataclass(frozen=True, slots=True)
class Term:
    """What one exemplar adds: w_k (tanh(s_k) + gamma Y_k)."""

    row: int
    distance: float
    weight: float
    tanh: float
    label: float  # gamma * Y_k, or gamma * y_k
    term: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """beta plus one term per exemplar, nearest first; their sum is the output."""

    beta: float
    terms: tuple[Term, ...]
    output: float
    offset: float
    prediction: int
    names: tuple[str, str] = ("negative", "positive")  # of what may be predicted

    def to_json(self) -> dict[str, Any]:
        value = asdict(self)
        del value["names"]
        return value

    def render(self, *, texts: Sequence[str] = ()) -> str:
        """A table for a terminal; `texts` (an exemplar in its sentence, say) end the lines where given."""
        lines = ["  k          row  distance  weight  tanh(s)  gamma*Y     term"]
        for k, term in enumerate(self.terms, start=1):
            text = f"  {texts[k - 1]}" if k <= len(texts) else ""
            lines.append(
                f"{k:>3} {term.row:>12} {term.distance:>9.2f} {term.weight:>7.3f} {term.tanh:>+8.3f} "
                f"{term.label:>+8.3f} {term.term:>+8.3f}{text}"
            )
        sign = ">" if self.prediction > 0 else "<="
        lines.append(f"{'beta':>45} {'':>7}{self.beta:>+8.3f}")
        lines.append(
            f"{'output':>45} {'':>7}{self.output:>+8.3f}  {sign} {self.offset:g}: {self.names[self.prediction > 0]}"
        )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()
