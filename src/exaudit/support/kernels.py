"""Kernels of the search for a GPU, where Triton is to be had: it comes with torch for CUDA.

Each does in one pass what takes torch several through the GPU's memory: products that are compared with a limit, of
which one bit is left, and distances of pairs of a query and a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["Tile", "squared_distances", "usable", "within"]

WORD = 32  # rows whose bits are kept together
EXPANDED = 1 << 22  # words looked into at once


class Tile(NamedTuple):
    """What one program multiplies: so many queries, rows and columns at a time, by so many warps."""

    queries: int = 128
    rows: int = 128
    columns: int = 32
    warps: int = 4
    stages: int = 4


TILE = Tile()


@triton.jit
def _mark(
    queries, rows, limits, marks, Q, R,
    WIDTH: tl.constexpr, WORD: tl.constexpr, BQ: tl.constexpr, BR: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """marks (Q, R / WORD) int32: a bit for each row whose product with a query is within the query's limit."""
    q = tl.program_id(1) * BQ + tl.arange(0, BQ)
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    column = tl.arange(0, BK)
    asked = queries + (q % Q)[:, None] * WIDTH + column[None, :]
    held = rows + (r % R)[None, :] * WIDTH + column[:, None]
    products = tl.zeros((BQ, BR), tl.float32)
    for start in range(0, WIDTH, BK):
        if WIDTH % BK == 0:
            left, right = tl.load(asked + start), tl.load(held + start)
        else:
            inside = start + column < WIDTH
            left = tl.load(asked + start, mask=inside[None, :], other=0.0)
            right = tl.load(held + start, mask=inside[:, None], other=0.0)
        products = tl.dot(left, right, products)
    limit = tl.load(limits + q % Q)
    near = (products <= limit[:, None]) & (r < R)[None, :]
    bits = near.to(tl.int32) << (r % WORD)[None, :]
    words = tl.sum(tl.reshape(bits, (BQ, BR // WORD, WORD)), axis=2)
    count = tl.cdiv(R, WORD)
    w = tl.program_id(0) * (BR // WORD) + tl.arange(0, BR // WORD)
    tl.store(marks + q[:, None] * count + w[None, :], words, mask=(q < Q)[:, None] & (w < count)[None, :])


@triton.jit
def _measure(
    vectors, queries, row, query, squared, scale, WIDTH: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """squared (n,): the scaled squared distance of each pair."""
    pair = tl.program_id(0).to(tl.int64)
    held = vectors + tl.load(row + pair) * WIDTH
    asked = queries + tl.load(query + pair) * WIDTH
    column = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, WIDTH, BLOCK):
        inside = start + column < WIDTH
        left = tl.load(held + start + column, mask=inside, other=0.0).to(tl.float32)
        right = tl.load(asked + start + column, mask=inside, other=0.0).to(tl.float32)
        difference = (left - right) * scale
        total += difference * difference
    tl.store(squared + pair, tl.sum(total, axis=0))


def within(block: Tensor, queries: Tensor, limit: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Where products of rows (B, W) and queries (Q, W) are at most the limit (Q,): queries and rows, in parts."""
    marks = _marks(block, queries, limit.float(), TILE)  # (Q, B / 32)
    query, word = marks.nonzero(as_tuple=True)  # (H,)
    place = torch.arange(WORD, dtype=torch.int32, device=block.device)
    for start in range(0, len(query), EXPANDED):
        asked, held = query[start : start + EXPANDED], word[start : start + EXPANDED]
        near, bit = ((marks[asked, held][:, None] >> place) & 1).nonzero(as_tuple=True)
        yield asked[near], held[near] * WORD + bit


def _marks(block: Tensor, queries: Tensor, limit: Tensor, tile: Tile) -> Tensor:
    count, width = block.shape
    marks = torch.empty(len(queries), -(-count // WORD), dtype=torch.int32, device=block.device)
    grid = (triton.cdiv(count, tile.rows), triton.cdiv(len(queries), tile.queries))
    _mark[grid](
        queries, block, limit, marks, len(queries), count, WIDTH=width, WORD=WORD,
        BQ=tile.queries, BR=tile.rows, BK=tile.columns, num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return marks


def squared_distances(vectors: Tensor, queries: Tensor, row: Tensor, query: Tensor, scale: float) -> Tensor:
    """Scaled squared distances (n,) in float32 of pairs of a row of vectors (S, M) and of queries (Q, M)."""
    squared = torch.empty(len(row), device=row.device)
    if len(row):
        block = min(triton.next_power_of_2(vectors.shape[1]), 2048)
        _measure[(len(row),)](
            vectors, queries, row, query, squared, scale, WIDTH=vectors.shape[1], BLOCK=block, num_warps=4
        )
    return squared


@cache
def usable(device: torch.device) -> bool:
    """Whether the kernels compile for this device and give what torch gives."""
    draw = torch.Generator().manual_seed(0)
    rows, queries = (torch.randint(-2, 3, (n, 48), generator=draw).to(device) for n in (200, 70))
    products, limit = queries.double() @ rows.double().T, torch.arange(70, device=device) - 35.0
    try:
        parts = list(within(rows.bfloat16(), queries.bfloat16(), limit))
        found: Any = torch.cat([torch.stack(part) for part in parts], dim=1)
        row, query = torch.arange(70, device=device), torch.arange(70, device=device).flip(0)
        squared = squared_distances(rows.float(), queries.float(), row, query, 0.5)
    except Exception:  # whatever a compiler that has no C compiler, or a GPU that is too old, may say
        return False
    expected = (products <= limit.double()[:, None]).nonzero().T
    distances = (rows[row] - queries[query]).double().square().sum(dim=1) / 4
    return torch.equal(found, expected) and torch.equal(squared.double(), distances)
