"""Products with weights that stay the same, laid out once as the CPU reads them fastest.

A plain product lays its weights out anew at every call, and adds the bias, and whatever follows, in passes of their
own. oneDNN, which torch comes with on most CPUs, keeps a layout of its own, and does all in one pass. Torch has the two
operators for its compiler, and gives them no public name: where they are missing, the plain product answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["Product"]


@dataclass(frozen=True)
class Product:
    """rows @ weight.T + bias, in the precision of the weights. Without gradients."""

    weight: Tensor  # (N, K), in oneDNN's layout where it has one
    bias: Tensor  # (N,)

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor) -> Product:
        weight, bias = weight.detach(), bias.detach()
        if weight.device.type != "cpu":
            return cls(weight, bias)
        try:
            packed = cls(torch.ops.mkldnn._reorder_linear_weight(weight.contiguous()), bias)
            packed(weight[:1])
        except (AttributeError, RuntimeError):  # no such operator; not for this CPU or this precision
            return cls(weight, bias)
        return packed

    def __call__(self, rows: Tensor, *, gelu: bool = False) -> Tensor:
        """Of rows (T, K), perhaps followed by GELU (T, N)."""
        if self.weight.is_mkldnn:
            name, kind = ("gelu", "none") if gelu else ("none", "")  # no approximation by tanh; nothing
            out: Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.weight, self.bias, name, [], kind)
            return out
        plain = F.linear(rows, self.weight, self.bias)
        return F.gelu(plain) if gelu else plain

    def __reduce__(self) -> tuple[Callable[..., Product], tuple[Any, ...]]:
        """Copies and pickles: what is in oneDNN's layout knows of neither."""
        return Product.of, (self.weight.to_dense() if self.weight.is_mkldnn else self.weight, self.bias)
