"""Autotuning of the search: how many principal directions make it fastest, by a sample and timings on this machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from exaudit._side_by_side import on_one_core
from exaudit.support.projection import NORM_COLUMNS, Projection, fast_dtype, principal_directions

__all__ = ["choose_projection"]

WIDTHS = (64, 96, 128, 160, 192, 224, 256, 320, 384, 512)  # columns of the product
SMALL = 4096  # a set so small is searched flat
EVEN = 0.25  # variance spread over more of the directions than this has no leading ones
K = 8  # nearest rows that the search is tuned for


def choose_projection(sample: Tensor, directions: int | Literal["auto"], rows: int) -> Projection:
    """The projection for a set of so many rows, from a sample (n, M) float32 of it."""
    dtype = fast_dtype(sample.device)
    if not len(sample):
        return Projection(sample.new_zeros(sample.shape[1]), None, 1.0, dtype)
    mean = sample.double().mean(dim=0).float()
    longest = float((sample.double() - mean).norm(dim=1).max())
    scale = 2.0 ** -math.frexp(longest)[1] if longest > 0 else 1.0
    if directions == 0 or (directions == "auto" and rows <= SMALL):
        return Projection(mean, None, scale, dtype)
    if directions == "auto" and _spread(sample[:2048] - mean) > EVEN:
        return Projection(mean, None, scale, dtype)
    principal = principal_directions(sample, mean)  # (M, M)
    if directions == "auto":
        directions = _fastest(sample, mean, principal, rows, dtype)
    leading = principal[:, :directions].contiguous() if directions else None
    return Projection(mean, leading, scale, dtype)


def _spread(centred: Tensor) -> float:
    """The share of directions that variance is spread over, tr(C)^2 / tr(C^2) / M; cheap, and enough to give up on."""
    covariance = centred.T @ centred  # (M, M)
    return float(covariance.trace().square() / covariance.square().sum().clamp(min=1e-30)) / len(covariance)


def _fastest(sample: Tensor, mean: Tensor, principal: Tensor, rows: int, dtype: torch.dtype) -> int:
    """Directions for which the product and the exact distances after it take least time; 0 is flat search."""
    widest = sample.shape[1]
    widths = [width for width in WIDTHS if width < 0.75 * widest]
    if not widths:
        return 0
    per_column, per_pair = _timings(sample, dtype)
    # Each time the rows seen have grown by a factor e, as many new ones come within reach as before.
    rounds = max(math.log(rows / len(sample)), 0) + 1

    def seconds(width: int, left: float) -> float:
        return rows * width * per_column + min(left * K * rounds, rows) * per_pair

    loose = _looseness((sample - mean).double() @ principal, [width - NORM_COLUMNS - 1 for width in widths])
    expected = {
        width - NORM_COLUMNS - 1: seconds(width, left) for width, left in zip(widths, loose, strict=True)
    }
    expected[0] = seconds(widest, 2.0)
    return min(expected, key=lambda directions: expected[directions])


def _looseness(turned: Tensor, options: list[int]) -> list[float]:
    """For each number of directions, the rows that the bound leaves for one that is truly near.

    `turned` (n, M) is a centred sample in its principal directions. Some of its rows ask for their nearest other.
    """
    turned = turned[:4096]
    asked = turned[:: max(len(turned) // 64, 1)]  # (q, M)
    distance = torch.cdist(asked, turned)  # (q, n)
    distance[distance <= 0] = math.inf  # a row itself, and its twins, tell nothing
    reach = distance.amin(dim=1, keepdim=True)  # (q, 1)
    squared = turned.square().sum(dim=1)
    left = []
    for count in options:
        rest = (squared - turned[:, :count].square().sum(dim=1)).clamp(min=0).sqrt()  # (n,)
        rest_asked = rest[:: max(len(turned) // 64, 1)]
        bound = torch.cdist(asked[:, :count], turned[:, :count]).square()
        bound += (rest_asked[:, None] - rest).square()  # (q, n)
        left.append(float((bound <= reach.square() * 1.02).sum(dim=1).double().mean()))
    return left


def _timings(sample: Tensor, dtype: torch.dtype) -> tuple[float, float]:
    """Seconds for one column of the product of a query and a row, and for one exact distance of such a pair."""
    gpu, width = sample.device.type == "cuda", 192
    # A GPU must have enough to do to be timed. A CPU takes some one and a half times as long for rows from all over the
    # memory as for those of a sample, and twice as many come within reach as a sample tells.
    count, queries, pairs, dearer = (16384, 16384, 1 << 16, 1) if gpu else (2048, 1024, 512, 3)
    left = torch.ones(count, width, dtype=dtype, device=sample.device)
    right = torch.ones(width, queries, dtype=dtype, device=sample.device)
    product = _best_of(lambda: torch.mm(left, right), sample.device)
    draws = torch.Generator(sample.device).manual_seed(0)
    one, other = (
        sample[:pairs].clone(),
        sample[:pairs].clone(),
    )  # to ask for memory may take longer than to use it

    @torch.inference_mode()  # of the thread that does it
    def distances() -> Tensor:
        place = torch.randint(
            len(sample), (2, pairs), generator=draws, device=sample.device
        )  # others each time
        torch.index_select(sample, 0, place[0], out=one)
        torch.index_select(sample, 0, place[1], out=other)
        return one.sub_(other).square_().sum(dim=1)

    return product / (count * width * queries), dearer * _best_of(distances, sample.device) / pairs


def _best_of(work: Callable[[], Any], device: torch.device) -> float:
    """Seconds of some work, alone on the machine: on a CPU it is the time of one core, for others may share it."""
    if device.type == "cpu":
        return on_one_core(lambda: _least(work, time.thread_time))

    def waited() -> None:
        work()
        torch.cuda.synchronize(device)

    return _least(waited, time.perf_counter)


def _least(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    best = math.inf
    for _ in range(12):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best
