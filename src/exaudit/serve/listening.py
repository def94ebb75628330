"""From an app to an address that a browser can open."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from urllib.parse import quote

import uvicorn

from exaudit.errors import SettingError
from exaudit.serve.app import create_app
from exaudit.serve.security import LOCAL
from exaudit.serve.workbench import Workbench

__all__ = ["check_token", "listen", "take_place"]

SHORTEST = 16
EVERYWHERE = ("0.0.0.0", "::")


def check_token(host: str, token: str | None) -> str | None:
    """The token to ask for: none on this machine alone, unless one is given."""
    if token == "new":
        return secrets.token_urlsafe(24)
    if token is None and host not in LOCAL:
        raise SettingError(
            f"at {host} others can reach the workbench: give `token`, at least {SHORTEST} characters, or `token=new`"
        )
    if token is not None and (len(token) < SHORTEST or not token.isascii() or not token.isprintable()):
        raise SettingError(
            f"a token has at least {SHORTEST} characters, all of them ASCII; or give `token=new`"
        )
    return token


def take_place(host: str, port: int) -> socket.socket:
    """Where to listen. It is taken before anything else is done, which would be in vain if it were not free."""
    try:
        place = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise SettingError(
            f"cannot listen at {host}, port {port}: {error.strerror or error}; give another `port`"
        ) from None
    # Connections have it from here; asyncio sets it only on sockets that name their protocol, and 40 ms pass without.
    place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return place


def listen(
    bench: Workbench,
    place: socket.socket,
    *,
    host: str,
    token: str | None,
    tell: Callable[[str], None],
    browser: bool,
) -> None:
    """Serve the workbench until somebody stops it."""
    port = place.getsockname()[1]
    hosts = [*LOCAL, host, *((socket.gethostname(), socket.getfqdn()) if host in EVERYWHERE else ())]
    app = create_app(bench, hosts=hosts, token=token)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{port}/" + ("" if token is None else f"?token={quote(token, safe='')}")
    tell(f"the workbench is at {address} (stop it with Ctrl-C)")
    threading.Thread(target=bench.prepare, name="prepare", daemon=True).start()
    if browser:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False)
    uvicorn.Server(config).run(sockets=[place])
