"""Products of blocks of rows and a batch of queries, and where they are within a limit: by torch, or by a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Protocol

import torch
from torch import Tensor

from exaudit.support.projection import ALIGNED

__all__ = ["GROUP", "Found", "MarkedProducts", "PlainProducts", "Products", "as_integers", "kernels", "least"]

GROUP = 32  # rows whose least product is looked at before the products themselves
LARGEST = 1 << 16  # rows of a block

Found = tuple[
    Tensor, Tensor, Tensor | None
]  # queries, rows of the block, and their products where they are known


class Products(Protocol):
    """How the products with a batch are made."""

    rows: int  # of a block, at most

    def within(self, block: Tensor, limit: Tensor) -> Iterator[Found]:
        """Where the product of a block (B, W) with the batch is at most the limit of the query (Q,), in parts."""


class PlainProducts:
    """All products of a block, and then a look at them."""

    def __init__(self, factor: Tensor, most: int) -> None:
        """For queries (Q, W), and so many products at once."""
        columns = -(-len(factor) // ALIGNED) * ALIGNED
        self.rows = min(max(most // columns // GROUP, 1) * GROUP, LARGEST)
        self._factor = factor.T  # (W, Q)
        if factor.device.type == "cpu":
            self._factor = self._factor.contiguous()
        self._out = factor.new_empty(self.rows, columns)[:, : len(factor)]

    def within(self, block: Tensor, limit: Tensor) -> Iterator[Found]:
        product = torch.mm(block, self._factor, out=self._out[: len(block)])  # (B, Q)
        size = GROUP if len(product) % GROUP == 0 else 1
        groups = as_integers(product).view(len(product) // size, size, -1)  # (B / g, g, Q)
        limits = as_integers(limit)
        group, query = (groups.amin(dim=1) <= limits).nonzero(as_tuple=True)  # (H,)
        hit = groups[group, :, query]  # (H, g)
        near, offset = (hit <= limits[query, None]).nonzero(as_tuple=True)
        yield query[near], group[near] * size + offset, hit[near, offset].view(product.dtype)


class MarkedProducts:
    """Products of which a kernel keeps but one bit each: whether it is within the limit."""

    rows = LARGEST

    def __init__(self, factor: Tensor, module: ModuleType) -> None:
        self._factor, self._kernels = factor, module

    def within(self, block: Tensor, limit: Tensor) -> Iterator[Found]:
        for query, row in self._kernels.within(block, self._factor, limit):
            yield query, row, None


@cache
def kernels(device: torch.device) -> ModuleType | None:
    """The kernels for this device, where there are any."""
    if device.type == "cuda" and find_spec("triton"):
        from exaudit.support import kernels as module

        return module if module.usable(device) else None
    return None


def as_integers(product: Tensor) -> Tensor:
    """Floats that are not negative are in the order of their bits, and integers compare faster; a negative product
    (rounding of zero) is a negative integer, and within any limit."""
    return product.view(torch.int16 if product.dtype == torch.bfloat16 else torch.int32)


def least(product: Tensor, count: int) -> Tensor:
    """Where so many small products (Q, s) are, the least among them: (Q, count), no two of them of one group."""
    size = GROUP if product.shape[1] % GROUP == 0 and product.shape[1] >= count * GROUP else 1
    groups = as_integers(product).view(len(product), size, -1)  # (Q, g, s / g)
    group = groups.amin(dim=1).topk(count, dim=1, largest=False, sorted=False).indices  # (Q, count)
    place = groups.gather(2, group[:, None].expand(-1, size, -1)).argmin(dim=1)  # (Q, count)
    return place * groups.shape[2] + group
