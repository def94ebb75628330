"""Streamed rows are read right, and do not pile up in memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exaudit.support import rows as rows_module
from exaudit.support.rows import Rows


def mapped_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssFile:")[1].split()[0]) * 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_scattered_reads_do_not_map_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "PAGES", 1 << 22)
    values = np.arange(16384, dtype=np.float32)[:, None] + np.zeros(1000, np.float32)  # 66 MB
    with open(tmp_path / "vectors", "wb", buffering=4096) as file:  # all of it is then in the page cache
        for vector in values:
            file.write(vector.data)
    mapped = np.memmap(tmp_path / "vectors", np.float32, "r", shape=values.shape)
    held = Rows(mapped, torch.device("cpu"), stream=True, first=7)
    wanted = torch.from_numpy(np.random.default_rng(0).permutation(16384)[:4096]) + 7
    taken, seen = Rows._taken, [0]

    def watched(self: Rows, *arguments: Any) -> torch.Tensor:
        seen.append(mapped_bytes() - before)
        return taken(self, *arguments)

    monkeypatch.setattr(Rows, "_taken", watched)
    before = mapped_bytes()
    found = held.gather(wanted)
    assert max(seen) < 24 << 20
    assert torch.equal(found, (wanted - 7).float()[:, None].expand(-1, 1000))
    assert held.gather(wanted[:0]).shape == (0, 1000)
