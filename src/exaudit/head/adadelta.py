"""Adadelta whose cost follows the rows that have a gradient.

Where a row's gradient is zero, Adadelta leaves the row alone and multiplies its two running averages by rho.
So a row of the word embeddings that no token of the batch uses needs no work now: when it is used again, k steps
later, its averages are multiplied by rho ** k first. The result is that of dense Adadelta, not an approximation.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

__all__ = ["Adadelta"]


class Adadelta:
    """Zeiler's rule over parameters whose gradients are dense, or sparse in their rows."""

    def __init__(
        self, parameters: Iterable[Tensor], *, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6
    ) -> None:
        self.parameters = list(parameters)
        self.lr, self.rho, self.eps = lr, rho, eps
        self.steps = 0
        self.squares = [torch.zeros_like(p) for p in self.parameters]  # E[g^2]
        self.deltas = [torch.zeros_like(p) for p in self.parameters]  # E[dx^2]
        self.seen = [
            torch.zeros(p.shape[0], dtype=torch.long, device=p.device) for p in self.parameters
        ]  # the step up to which a row's averages are current

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, *, clip: float | None = None) -> None:
        """One step; `clip` scales all gradients together down to that norm."""
        gradients = [
            None if p.grad is None else p.grad.coalesce() if p.grad.is_sparse else p.grad
            for p in self.parameters
        ]
        scale = None if clip is None else _clip_scale([g for g in gradients if g is not None], clip)
        self.steps += 1
        for parameter, gradient, square, delta, seen in zip(
            self.parameters, gradients, self.squares, self.deltas, self.seen, strict=True
        ):
            if gradient is None:
                continue
            if gradient.is_sparse:
                rows, values = gradient.indices()[0], gradient.values()
                late = self.rho ** (self.steps - 1 - seen[rows]).to(values.dtype)[:, None]  # (R, 1)
                seen[rows] = self.steps
                averages = square[rows] * late, delta[rows] * late
                values = values if scale is None else values * scale
                parameter[rows] = self._update(parameter[rows], values, *averages)
                square[rows], delta[rows] = averages
            else:
                self._update(parameter, gradient if scale is None else gradient.mul_(scale), square, delta)

    def _update(self, parameter: Tensor, gradient: Tensor, square: Tensor, delta: Tensor) -> Tensor:
        square.mul_(self.rho).addcmul_(gradient, gradient, value=1 - self.rho)
        change = torch.add(delta, self.eps).div_(square + self.eps).sqrt_().mul_(gradient)
        delta.mul_(self.rho).addcmul_(change, change, value=1 - self.rho)
        return parameter.sub_(change, alpha=self.lr)

    def state(self) -> dict[str, Tensor]:
        """All that a resumed run needs, as named tensors."""
        state = {"steps": torch.tensor(self.steps)}
        for i, tensors in enumerate(zip(self.squares, self.deltas, self.seen, strict=True)):
            state |= {
                f"{name}.{i}": t for name, t in zip(("squares", "deltas", "seen"), tensors, strict=True)
            }
        return state

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.steps = int(state["steps"])
        for i in range(len(self.parameters)):
            self.squares[i].copy_(state[f"squares.{i}"])
            self.deltas[i].copy_(state[f"deltas.{i}"])
            self.seen[i].copy_(state[f"seen.{i}"])


def _clip_scale(gradients: list[Tensor], clip: float) -> Tensor | None:
    """What to multiply all gradients with; it stays on its device, so that a GPU is not waited for."""
    norms = [torch.linalg.vector_norm(g.values() if g.is_sparse else g) for g in gradients]
    scale = (clip / (torch.linalg.vector_norm(torch.stack(norms)) + 1e-6)).clamp(max=1.0)
    return None if scale.device.type == "cpu" and scale == 1 else scale
