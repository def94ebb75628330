"""Products whose weights are laid out once: the plain product's numbers, with oneDNN's layout and without."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from exaudit._product import Product


def made(dtype: torch.dtype, rows: int, inner: int = 24, outer: int = 10) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((rows, inner), (outer, inner), (outer,))
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in shapes)  # type: ignore[return-value]


@pytest.fixture(params=["packed", "plain"])
def layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setattr(torch.ops, "mkldnn", object())
    return str(request.param)


@pytest.mark.parametrize("rows", [0, 1, 33])
@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_plain_product(dtype: torch.dtype, gelu: bool, rows: int, layout: str) -> None:
    x, weight, bias = made(dtype, rows)
    product = Product.of(weight, bias)
    if layout == "plain":
        assert not product.weight.is_mkldnn
    ours = product(x, gelu=gelu)
    exact = F.linear(x.double(), weight.double(), bias.double())
    exact = F.gelu(exact) if gelu else exact
    assert ours.dtype == dtype
    near = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(ours.double(), exact, atol=near, rtol=near)


def test_without_inputs_there_is_the_bias(layout: str) -> None:
    x, weight, bias = made(torch.float32, 3, inner=0)
    assert torch.equal(Product.of(weight, bias)(x), bias.expand(3, -1))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda product: pickle.loads(pickle.dumps(product))])
def test_a_copy_answers_the_same(copied: Callable[[Product], Product], layout: str) -> None:
    x, weight, bias = made(torch.float32, 5)
    product = Product.of(weight, bias)
    assert torch.equal(copied(product)(x), product(x))


def test_weights_are_those_of_the_moment() -> None:
    x, weight, bias = made(torch.float32, 5)
    weight.requires_grad_()
    product = Product.of(weight, bias)
    assert not product(x).requires_grad
