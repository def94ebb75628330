"""Threads that soon sleep while they wait, and no more of them than there are cores to be had.

Left alone, OpenMP lets a thread that waits for work spin for milliseconds, which burns the core that another process,
or the very thread it waits for, could use: beside one other process, labelling took five times as long. To sleep at
once is no better where nobody else works: the next piece of work is mostly microseconds away, and waking up takes
longer. So threads spin for a short while, then sleep. OpenMP reads its settings from the
environment, once, when torch is loaded.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

from exaudit._cgroups import control_groups

__all__ = ["settle_threads", "usable_cores"]

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")  # any of them tells how threads are to wait
SPINS = "1500"  # chosen by benchmarks/busy.py: at 0 labelling on an idle machine takes a fifth longer


def settle_threads(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set what the user has not; too late, and so nothing, once torch is loaded. Our processes inherit it."""
    if "torch" in sys.modules:
        return
    if not any(name in environment for name in WAITING):
        environment["OMP_WAIT_POLICY"] = "PASSIVE"
        environment["GOMP_SPINCOUNT"] = SPINS  # of GNU's OpenMP, which torch comes with on Linux
    # Kernels are made for every number of rows, and the thousand last ones kept: a tenth of a gigabyte more after
    # 100,000 texts.
    environment.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    if (
        cores := usable_cores()
    ) < _allowed():  # torch counts the cores that it may run on, but knows no quota
        environment.setdefault("OMP_NUM_THREADS", str(cores))


def usable_cores(root: Path = Path("/")) -> int:
    """The cores that this process may run on, or fewer where its container has a quota of their time."""
    quotas = [math.ceil(share) for folder in control_groups("cpu", root) for share in _shares(folder)]
    return max(1, min([_allowed(), *quotas]))


def _allowed() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _shares(folder: Path) -> list[float]:
    """The cores' worth of time that a control group may use, where that is limited."""
    found = []
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):  # versions 2 and 1
        try:
            quota, period = " ".join((folder / name).read_text() for name in names).split()
            if int(quota) > 0 and int(period) > 0:  # -1: no limit
                found.append(int(quota) / int(period))
        except (OSError, ValueError):  # no such limit ("max")
            continue
    return found
