"""Who may speak with the workbench, and what a browser may do with its pages.

A page of somebody else, opened in the same browser, must neither read nor change anything: the Host header must be one
of ours (against DNS rebinding), whatever changes something needs a header that other pages cannot send without our
leave, which nobody gets (against forged requests), and the browser runs no script but the workbench's own files.
"""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["COOKIE", "CSRF_HEADER", "LOCAL", "Guard"]

log = logging.getLogger("exaudit.serve")

LOCAL = ("127.0.0.1", "localhost", "::1")
COOKIE = "exaudit_token"
CSRF_HEADER = "x-exaudit"
BODY = 4 << 20  # bytes of a request
UPLOAD = 256 << 20  # bytes of a file
UPLOADS = ("/api/file",)
SAFE = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class TooLargeError(Exception):
    """A body that is longer than it may be."""


class Guard:
    """Lets a request through, or answers it with why not.

    Parameters
    ----------
    app
        What is guarded.
    hosts
        Names under which the workbench may be asked for.
    token
        What every request must show, as a cookie, in the address (once) or as a bearer token; None: nothing.
    """

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str] = LOCAL, token: str | None = None) -> None:
        self.app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # there are no web sockets
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        shown = _with_headers(send)
        if (refusal := self._refusal(scope, headers)) is not None:
            await _answer(shown, *refusal)
            return
        if given := self._given_token(scope):
            await _welcome(shown, scope["path"], given)
            return
        limit = UPLOAD if scope["path"] in UPLOADS else BODY
        if _length(headers) > limit:
            await _answer(shown, 413, f"the request is larger than {limit >> 20} MiB")
            return
        try:
            await self.app(scope, _counted(receive, limit), shown)
        except TooLargeError:
            await _answer(shown, 413, f"the request is larger than {limit >> 20} MiB")
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            await _answer(shown, 500, "an internal error; the terminal of `exaudit serve` has more")

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or _name(host) not in self._hosts:
            return 421, "this address is not the workbench's"
        if self._token is not None and not self._is_known(scope, headers):
            return 401, "open the address that `exaudit serve` printed, with its token"
        if scope["method"] in SAFE:
            return None
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403, "the request comes from another page"
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return 403, "the request comes from another page"
        if headers.get(CSRF_HEADER) is None:
            return 403, f"a request that changes something needs the header {CSRF_HEADER}: 1"
        return None

    def _is_known(self, scope: Scope, headers: Headers) -> bool:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        shown = [bearer if kind.lower() == "bearer" else "", "" if cookie is None else cookie.value]
        shown.append(self._given_token(scope) or "")
        assert self._token is not None
        # All of them are compared, each in constant time.
        equal = [hmac.compare_digest(each.encode(errors="replace"), self._token) for each in shown]
        return any(equal)

    def _given_token(self, scope: Scope) -> str | None:
        """The token of an address, which moves to a cookie."""
        if self._token is None or scope["method"] != "GET":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        return given[0] if given else None


def _name(host: str) -> str:
    """The host without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _length(headers: Headers) -> int:
    told = headers.get("content-length", "0")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 20 else 0


def _counted(receive: Receive, limit: int) -> Receive:
    """The body as it comes, as long as it is not longer than it may be: a length need not be told, nor be true."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise TooLargeError
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def shown(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return shown


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"error": message}).encode()
    told = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})


async def _welcome(send: Send, path: str, token: str) -> None:
    """Keep the token in a cookie, and out of the address."""
    cookie: SimpleCookie = SimpleCookie()
    cookie[COOKIE] = token
    cookie[COOKIE]["httponly"], cookie[COOKIE]["samesite"], cookie[COOKIE]["path"] = True, "Strict", "/"
    place = path if path.startswith("/") and not path.startswith("//") else "/"
    told = [
        (b"location", place.encode("ascii", "ignore")),
        (b"set-cookie", cookie[COOKIE].OutputString().encode("latin-1")),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": told})
    await send({"type": "http.response.body", "body": b""})
