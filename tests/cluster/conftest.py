"""A cluster of three small nodes on loopback, made once for each module."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # loopback, on Linux, too
SOURCE = Path(__file__).parents[2] / "src"
SMALL = {"num_cpus": 1, "object_store_memory": 100 << 20, "node_ip_address": "127.0.0.1"}


class Nodes:
    """The nodes, and what a test does to them."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
        for _ in range(2):
            self.add()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, **more: Any) -> Any:
        return self._cluster.add_node(**SMALL, **more)

    def kill(self, node: Any) -> None:
        self._cluster.remove_node(node, allow_graceful=False)

    def others(self) -> list[Any]:
        """All but the head."""
        return list(self._cluster.worker_nodes)

    def shutdown(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    pytest.importorskip("ray")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(SOURCE)  # its workers run what is tested here
    made = Nodes()
    try:
        yield made
    finally:
        made.shutdown()
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@pytest.fixture
def python() -> Any:
    """Run a program in a process of its own; gives what it printed."""

    def run(code: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(SOURCE)} | environment,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
