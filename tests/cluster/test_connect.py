from __future__ import annotations

import sys
from typing import Any

import pytest

from exaudit.cluster.connect import connected
from exaudit.errors import ClusterError, SettingError

LISTENING = """
import os
def listening(own):
    "The addresses that processes of ours listen at."
    sockets = set()
    for process in own:
        try:
            for link in os.scandir(f"/proc/{process}/fd"):
                sockets.add(os.readlink(link.path))
        except OSError:
            pass
    rows = [row.split() for name in ("tcp", "tcp6") for row in open(f"/proc/net/{name}").read().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}

def children(process):
    found = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{each}/stat").read().rsplit(")", 1)[1].split()[1] == process:
                found += [each, *children(each)]
        except OSError:
            pass
    return found
"""


@pytest.mark.parametrize("address", ["", "here", "ray://", "http://host:80", "host:port"])
def test_what_is_no_address_is_told(address: str) -> None:
    with (
        pytest.raises(SettingError, match="give auto, local, host:port or ray://host:port"),
        connected(address),
    ):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_where_no_cluster_is_it_is_told_at_once(address: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(ClusterError, match=f"no Ray cluster answers at {address}"), connected(address):
        pass


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(SettingError, match=r"install it with: pip install 'exaudit\[ray\]'"),
        connected("auto"),
    ):
        pass


@pytest.mark.slow
def test_one_of_our_own_listens_on_loopback_alone(python: Any) -> None:
    told = python(
        LISTENING
        + """
from exaudit.cluster.connect import connected
with connected("local") as ray:
    @ray.remote
    def one():
        return 1
    print(ray.get(one.remote()))
    heard = listening([str(os.getpid()), *children(str(os.getpid()))])
    print(*heard)
print(ray.is_initialized())
"""
    )
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    one, heard, still = told.splitlines()
    assert (one, still) == ("1", "False")
    assert heard
    assert set(heard.split()) <= loopback


@pytest.mark.slow
def test_a_running_cluster_is_joined(nodes: Any, python: Any) -> None:
    code = """
from exaudit.cluster.connect import connected
with connected("auto") as ray:
    print(len([node for node in ray.nodes() if node["Alive"]]))
    with connected("local") as same:
        print(same.get_runtime_context().gcs_address)
"""
    assert python(code, RAY_ADDRESS=nodes.address).split() == ["3", nodes.address]
