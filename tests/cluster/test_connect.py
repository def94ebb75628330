from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from exaudit.cluster import connect
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


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Clusters everywhere that ask for a token; gives what is done to connect."""
    ray = pytest.importorskip("ray")
    from ray._private.authentication import authentication_token_setup

    done: list[str] = []

    def enable(warn_if_disabled: bool) -> bool:
        done.append("token")
        return True

    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setattr(connect, "_answers", lambda address: True)
    monkeypatch.setattr(connect, "_asks_for_token", lambda address: True)
    monkeypatch.setattr(connect, "_stay_here", lambda here: None)
    monkeypatch.setattr(authentication_token_setup, "maybe_enable_token_auth_if_token_available", enable)
    monkeypatch.setattr(ray, "init", lambda **options: done.append(options["address"]))
    return done


@pytest.mark.parametrize("address", ["127.0.0.1:6379", "ray://localhost:10001"])
def test_the_token_of_this_machine_is_for_this_machine(
    address: str, answering: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(address):
        assert answering == ["token", address]
    with (
        pytest.raises(ClusterError, match=r"at far\.example:1 asks for a token; set RAY_AUTH_MODE=token"),
        connected("far.example:1"),
    ):
        pass
    monkeypatch.setenv("RAY_AUTH_MODE", "token")  # then Ray sends it
    with connected("far.example:1"):
        assert answering == ["token", address, "far.example:1"]
    monkeypatch.delenv("RAY_AUTH_MODE")
    monkeypatch.setattr(connect, "_asks_for_token", lambda address: False)
    with connected(address):
        assert answering[3:] == [address]


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_whether_a_cluster_asks_for_a_token(prefix: str) -> None:
    grpc = pytest.importorskip("grpc")

    class Refuse(grpc.ServerInterceptor):  # type: ignore[misc]
        def intercept_service(self, continuation: Any, details: Any) -> Any:
            names = ("/ray.rpc.RayletDriver/ClusterInfo", "/ray.rpc.NodeInfoGcsService/GetClusterId")
            code = grpc.StatusCode.UNAUTHENTICATED if refuse else grpc.StatusCode.UNIMPLEMENTED
            assert details.method == names[not prefix]
            return grpc.unary_unary_rpc_method_handler(lambda request, context: context.abort(code, ""))

    with ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads, interceptors=[Refuse()])
        address = f"{prefix}127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        for refuse in (True, False):
            assert connect._asks_for_token(address) is refuse
        server.stop(None).wait()


@pytest.mark.usefixtures("answering")
def test_a_cluster_that_refuses_us_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")

    def refuse(**options: Any) -> None:
        raise ConnectionError("ray client connection timeout")

    monkeypatch.setattr(ray, "init", refuse)
    with (
        pytest.raises(ClusterError, match=r"cannot be used: .* timeout; it must have the same versions of"),
        connected("127.0.0.1:10001"),
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


@pytest.fixture
def client(nodes: Any) -> Iterator[str]:
    """The address of a server for Ray's client, as `ray start --ray-client-server-port` starts one for each caller."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serve = [sys.executable, "-m", "ray.util.client.server", "--mode=specific-server", "--host=127.0.0.1"]
    process = subprocess.Popen(
        [*serve, f"--port={port}", f"--address={nodes.address}"], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            if connect._answers(f"127.0.0.1:{port}"):
                break
            time.sleep(0.1)
        yield f"ray://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
def test_a_cluster_is_reached_through_the_client(client: str, python: Any) -> None:
    """From a machine that does not belong to it. Losses are told there, too."""
    code = """
from exaudit.cluster import pool
from exaudit.cluster.connect import connected
from exaudit.errors import ClusterError

def doubling():
    return lambda item: 2 * item

def dying():
    import os
    return lambda item: os._exit(1)

pool.ATTEMPTS = 1
with connected(ADDRESS) as ray:
    print(ray.util.client.ray.is_connected())
    workers = pool.Pool(ray)
    print(workers.workers)
    print(*workers.map(doubling, range(6), ordered=True))
    try:
        list(workers.map(dying, [3]))
    except ClusterError as error:
        print(error)
"""
    told = python(code.replace("ADDRESS", repr(client))).splitlines()
    assert told[:3] == ["True", "3", "0 2 4 6 8 10"]
    assert told[3].startswith("item 1: 1 workers ended over it, the last by: ActorDiedError")
