"""Streamed rows are read right, and do not pile up in memory."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

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
