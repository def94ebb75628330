"""The seam between the search and its kernels; and the kernels themselves, where Triton is to be had."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from exaudit.support import search as search_module
from exaudit.support.search import ExactSearch


def test_a_search_with_kernels_finds_the_same(monkeypatch):
    """Kernels that tell of pairs in parts, and without their products."""
    asked = []

    def within(block, queries, limit):
        query, row = (queries.double() @ block.double().T <= limit.double()[:, None]).nonzero(as_tuple=True)
        for start in range(0, len(query), 1000):
            yield query[start : start + 1000], row[start : start + 1000]

    def squared_distances(vectors, queries, row, query, scale):
        asked.append(len(row))
        return ((vectors[row] - queries[query]) * scale).square().sum(dim=1)

    draw = np.random.default_rng(0)
    vectors = draw.standard_normal((3000, 12), np.float32).round(1)  # with ties
    queries = np.concatenate([vectors[:40], draw.standard_normal((30, 12), np.float32)])
    expected = ExactSearch(vectors, directions=5).search(queries, 8)
    stand_in = SimpleNamespace(within=within, squared_distances=squared_distances)
    monkeypatch.setattr(search_module, "kernels", lambda device: stand_in)
    monkeypatch.setitem(search_module.PRODUCTS, "cpu", 5000)  # measured now and then
    search = ExactSearch(vectors, directions=5)
    for got, wanted in zip(search.search(queries, 8), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert len(asked) > 2
    asked.clear()
    search.add(vectors[:10])  # no kernel reads from two places
    assert search.search(queries, 8)[1][0].tolist()[:2] == [0, 3000]
    assert not asked


INTERPRETED = """
import torch
from exaudit.support import kernels

draw = torch.Generator().manual_seed(0)
for rows, queries, width, tile in ((300, 130, 96, kernels.TILE), (97, 33, 71, kernels.Tile(64, 64, 64, 4, 3))):
    block, asked = (torch.randint(-3, 4, (n, width), generator=draw).float() for n in (rows, queries))
    limit = torch.randint(-30, 30, (queries,), generator=draw).float()
    kernels.TILE, kernels.EXPANDED = tile, 50
    found = torch.cat([torch.stack(part) for part in kernels.within(block, asked, limit)], dim=1)
    assert torch.equal(found, (asked @ block.T <= limit[:, None]).nonzero().T)
vectors, asked = torch.randn(50, 1000, generator=draw).half(), torch.randn(20, 1000, generator=draw)
row, query = torch.randint(50, (99,), generator=draw), torch.randint(20, (99,), generator=draw)
squared = kernels.squared_distances(vectors, asked, row, query, 0.5)
expected = ((vectors[row].double() - asked[query].double()) * 0.5).square().sum(dim=1)
torch.testing.assert_close(squared.double(), expected, rtol=1e-6, atol=0)
"""


@pytest.mark.skipif(not find_spec("triton"), reason="Triton comes with torch for CUDA alone")
def test_kernels_give_what_torch_gives():
    """Interpreted, on the CPU; `usable` does the like on a GPU before the first search."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", INTERPRETED], check=True, env=environment)
