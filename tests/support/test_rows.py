"""Streamed rows are read right, and do not pile up in memory; the sketches of a few rows are kept."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from exaudit.support import rows
from exaudit.support.autotune import choose_projection
from exaudit.support.rows import Rows


def mapped_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssFile:")[1].split()[0]) * 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_scattered_reads_do_not_map_the_file(tmp_path: Path) -> None:
    values = np.arange(16384, dtype=np.float32)[:, None] + np.zeros(1000, np.float32)  # 66 MB
    np.save(tmp_path / "vectors.npy", values)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    held = Rows(mapped, torch.device("cpu"), stream=True, first=7)
    wanted = torch.from_numpy(np.random.default_rng(0).integers(0, 16384, 4096)) + 7  # some of them twice
    held.gather(wanted[:9])
    before = mapped_bytes()
    found = held.gather(wanted)
    assert mapped_bytes() - before < 8 << 20
    assert torch.equal(found, (wanted - 7).float()[:, None].expand(-1, 1000))
    assert held.gather(wanted[:0]).shape == (0, 1000)


def test_sketches_of_flat_search_are_kept_while_rows_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW", 10)
    vectors = np.random.default_rng(0).standard_normal((12, 6)).astype(np.float32)
    projection = choose_projection(torch.from_numpy(vectors), 0, 12)
    expected = projection.sketch(torch.from_numpy(vectors))
    held = Rows(vectors[:7], torch.device("cpu"), stream=False)
    held.sketch(projection)
    known = held.sketches()
    assert known.factor.shape == (
        0,
        projection.width,
    )  # in a file as well, they would be as long as the vectors
    again = Rows(vectors[:7], torch.device("cpu"), stream=False)
    again.adopt(known, torch.arange(7))
    for own in (held, again):
        for total in (7, 9, 12):
            own.append(vectors[len(own) : total])
            own.sketch(projection)
            reads: list[object] = []
            with monkeypatch.context() as patch:
                for name in ("gather", "_read"):
                    read = getattr(own, name)
                    patch.setattr(
                        own, name, lambda some, read=read, reads=reads: reads.append(some) or read(some)
                    )
                block, norm, error = own.block(1, total)
                factor = own.factor(torch.arange(1, total))
            assert bool(reads) == (total > 10)
            assert torch.equal(block, expected.as_rows()[1:total])
            assert torch.equal(factor, block)
            assert (norm, error) == (expected.norm[1:total].max(), expected.error[1:total].max())
