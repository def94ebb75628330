"""Lazy Adadelta against torch's own, dense one."""

from __future__ import annotations

import pytest
import torch

from exaudit.head.adadelta import Adadelta


@pytest.mark.parametrize("clip", [None, 0.5])
def test_equals_torch_with_dense_and_row_sparse_gradients(clip: float | None) -> None:
    generator = torch.Generator().manual_seed(1)
    table = torch.randn(20, 3, generator=generator, dtype=torch.double)
    weight = torch.randn(4, 3, generator=generator, dtype=torch.double)
    ours = [table.clone(), weight.clone()]
    theirs = [torch.nn.Parameter(table.clone()), torch.nn.Parameter(weight.clone())]
    mine = Adadelta(ours, lr=1.0)
    reference = torch.optim.Adadelta(theirs, lr=1.0)
    for _ in range(30):
        rows = torch.randint(0, 20, (4,), generator=generator)
        values = torch.randn(4, 3, generator=generator, dtype=torch.double)
        dense = torch.randn(4, 3, generator=generator, dtype=torch.double)
        ours[0].grad = torch.sparse_coo_tensor(rows[None], values, (20, 3), check_invariants=True)
        ours[1].grad = dense.clone()
        theirs[0].grad = torch.zeros(20, 3, dtype=torch.double).index_add(0, rows, values)
        theirs[1].grad = dense.clone()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(theirs, clip)
        mine.step(clip=clip)
        reference.step()
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b.data, atol=1e-12, rtol=1e-10)


def test_state_goes_on_where_it_was_left() -> None:
    def run(steps: int, optimizer: Adadelta, parameter: torch.Tensor, start: int = 0) -> None:
        for i in range(start, start + steps):
            parameter.grad = torch.full_like(parameter, float(i + 1)).sin()
            optimizer.step()

    whole, first = torch.zeros(5, 2), torch.zeros(5, 2)
    run(6, Adadelta([whole]), whole)
    stopped = Adadelta([first])
    run(3, stopped, first)
    resumed = Adadelta([first])
    resumed.load_state(stopped.state())
    run(3, resumed, first, start=3)
    assert torch.equal(whole, first)
