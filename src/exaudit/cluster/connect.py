"""Reaching a Ray cluster: one that runs already, or one of our own on this machine, which nobody else can reach."""

from __future__ import annotations

import logging
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from exaudit.errors import ClusterError, SettingError

__all__ = ["connected"]

ADDRESS = re.compile(r"(ray://)?(\[[^\]]+\]|[^:/\[\]]+):([0-9]{1,5})")
HERE = {"127.0.0.1", "localhost", "[::1]"}
PATIENCE = 5  # seconds until a machine must have answered
OBJECTS = 256 << 20  # bytes of shared memory: what we send are the names of files, and queries


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The module `ray`, connected, until the block ends; a connection that was there before is used, and stays.

    Parameters
    ----------
    address
        `auto`: the cluster that RAY_ADDRESS names or that runs on this machine, or else one of our own.
        `local`: one of our own. It ends with the block, and listens on loopback alone.
        `host:port` or `ray://host:port`: that cluster.
    """
    if address not in ("auto", "local") and not ADDRESS.fullmatch(address):
        raise SettingError(f"`ray` is {address!r}; give auto, local, host:port or ray://host:port")
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    found = _running() if address == "auto" else None if address == "local" else address
    named = address != "auto" or bool(os.environ.get("RAY_ADDRESS"))
    options = {"logging_level": "ERROR", "log_to_driver": False}
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "lance is not fork-safe"
        )  # Ray forks to start its own programs, not ours
        if found is None:
            _stay_here(True)
            own = {"include_dashboard": False, "object_store_memory": OBJECTS}
            ray.init(address="local", **own, **options)
        else:
            here = _host(found) in HERE
            _stay_here(here)
            _join(ray, found, options, ours=here or not named)
    try:
        yield ray
    finally:
        ray.shutdown()


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine unasked
    try:
        import ray
    except ImportError:
        raise SettingError("`ray` needs Ray; install it with: pip install 'exaudit[ray]'") from None
    return ray


def _running() -> str | None:
    """The address of the cluster that `auto` means. A file of one that has crashed may still name it."""
    from ray._private.services import get_ray_address_from_environment

    try:
        address: str = get_ray_address_from_environment("auto", None)
    except ConnectionError:
        return None
    named = bool(os.environ.get("RAY_ADDRESS"))
    return address if named or _answers(address) else None


def _join(ray: Any, address: str, options: dict[str, Any], *, ours: bool) -> None:
    """Connect to a cluster that runs; `ours` is one of this machine."""
    from ray.exceptions import AuthenticationError

    if not ADDRESS.fullmatch(address):  # of RAY_ADDRESS
        raise SettingError(f"RAY_ADDRESS is {address!r}; give host:port or ray://host:port")
    if not _answers(address):
        raise ClusterError(f"no Ray cluster answers at {address}; start it, or give another address")
    if "RAY_AUTH_MODE" not in os.environ and _asks_for_token(address):
        _show_token(address, ours)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Ray Client connection timed out")  # it is told below
            ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ImportError, ValueError, AuthenticationError) as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise ClusterError(
            f"the Ray cluster at {address} cannot be used: {why}; it must have the same versions of Python and Ray"
        ) from error


def _asks_for_token(address: str) -> bool:
    """Ray itself would try for half a minute, and then not say why."""
    try:
        import grpc
    except ImportError:
        return False
    client = address.startswith("ray://")
    method = "/ray.rpc.RayletDriver/ClusterInfo" if client else "/ray.rpc.NodeInfoGcsService/GetClusterId"
    with grpc.insecure_channel(address.removeprefix("ray://")) as channel:
        try:
            channel.unary_unary(method)(b"", timeout=PATIENCE)
        except grpc.RpcError as error:
            return bool(error.code() == grpc.StatusCode.UNAUTHENTICATED)
    return False


def _show_token(address: str, ours: bool) -> None:
    """Use the token of this machine for its own cluster. To others none is sent unasked."""
    from ray._private.authentication.authentication_token_setup import (
        maybe_enable_token_auth_if_token_available,
    )

    logging.getLogger("ray").setLevel(logging.ERROR)  # which would tell that there is one
    if not ours or not maybe_enable_token_auth_if_token_available(warn_if_disabled=False):
        raise ClusterError(
            f"the Ray cluster at {address} asks for a token; set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN to it"
        )


def _host(address: str) -> str:
    found = ADDRESS.fullmatch(address)
    return found[2] if found else ""


def _answers(address: str) -> bool:
    """Whether anything listens there: Ray would take minutes to find that nothing does."""
    found = ADDRESS.fullmatch(address)
    if found is None:
        return False
    try:
        with socket.create_connection((found[2].strip("[]"), int(found[3])), timeout=PATIENCE):
            return True
    except (OSError, OverflowError):
        return False


def _stay_here(here: bool) -> None:
    """Whether to speak with a cluster by loopback. On Linux, Ray would take the machine's address on the network."""
    from ray._private import ray_constants

    ray_constants.ENABLE_RAY_CLUSTER = not here
    if here:  # its processes inherit it
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
