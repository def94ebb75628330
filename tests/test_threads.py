"""Threads that wait do not spin, and a container's share of the cores is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exaudit._threads import SPINS, WAITING, settle_threads, usable_cores

KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}
OURS = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": SPINS, **KERNELS}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "10000 100000\n"}, 1),
        ({"cpu.max": "9900000 100000\n"}, 8),
        ({"cpu.max": "nonsense"}, 8),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "300000\n"}, 8),
        (  # the quota of a group above one's own holds too
            {
                "proc/self/cgroup": "0::/user/search\n",
                "user/search/cpu.max": "max 100000",
                "user/cpu.max": "400000 100000",
                "other/cpu.max": "100000 100000",
            },
            4,
        ),
        (
            {
                "proc/self/cgroup": "5:memory:/other\n4:cpu,cpuacct:/search\n",
                "cpu/search/cpu.cfs_quota_us": "500000",
                "cpu/search/cpu.cfs_period_us": "100000",
                "cpu/other/cpu.cfs_quota_us": "100000",
                "cpu/other/cpu.cfs_period_us": "100000",
            },
            5,
        ),
    ],
)
def test_cores_of_a_container(
    files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exaudit._threads._allowed", lambda: 8)
    for name, text in files.items():
        path = tmp_path / (name if name.startswith("proc") else f"sys/fs/cgroup/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert usable_cores(tmp_path) == cores


@pytest.mark.skipif(sys.platform != "linux", reason="cores are chosen on Linux only")
def test_cores_that_the_process_may_run_on() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, {**OURS, "OMP_NUM_THREADS": "2"}),
        ({"OMP_NUM_THREADS": "4"}, {**OURS, "OMP_NUM_THREADS": "4"}),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE", **KERNELS, "OMP_NUM_THREADS": "2"}),
        ({"GOMP_SPINCOUNT": "9"}, {"GOMP_SPINCOUNT": "9", **KERNELS, "OMP_NUM_THREADS": "2"}),
        ({"KMP_BLOCKTIME": "200"}, {"KMP_BLOCKTIME": "200", **KERNELS, "OMP_NUM_THREADS": "2"}),
    ],
)
def test_what_the_user_has_set_stays(
    given: dict[str, str], left: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr("exaudit._threads._allowed", lambda: 8)
    monkeypatch.setattr("exaudit._threads.usable_cores", lambda: 2)
    environment = dict(given)
    settle_threads(environment)
    assert environment == left


def test_threads_are_left_to_torch_where_there_is_no_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr("exaudit._threads._allowed", lambda: 8)
    monkeypatch.setattr("exaudit._threads.usable_cores", lambda: 8)
    environment: dict[str, str] = {}
    settle_threads(environment)
    assert environment == OURS


def test_nothing_is_set_once_torch_is_loaded() -> None:
    assert "torch" in sys.modules
    environment: dict[str, str] = {}
    settle_threads(environment)
    assert environment == {}


@pytest.mark.parametrize(
    ("code", "given", "policy"),
    [
        ("import exaudit, torch", None, "PASSIVE"),
        ("import exaudit, torch", "ACTIVE", "ACTIVE"),
        ("import exaudit.model.train", None, "PASSIVE"),
        ("from exaudit.cli import run; run(['demo', '--help']); import torch", None, "PASSIVE"),
        ("import torch, exaudit", None, "None"),
    ],
)
def test_the_policy_is_set_before_torch_is_loaded(code: str, given: str | None, policy: str) -> None:
    """The moment at which torch is looked for is the last at which the policy can be told."""
    watch = """
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print("policy", os.environ.get("OMP_WAIT_POLICY"), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Watch())
"""
    environment = {name: value for name, value in os.environ.items() if name not in WAITING}
    environment |= {} if given is None else {"OMP_WAIT_POLICY": given}
    done = subprocess.run(
        [sys.executable, "-c", watch + code], env=environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1:] == [f"policy {policy}"], done.stderr
