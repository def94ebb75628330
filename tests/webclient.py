"""Requests to a workbench, as any program could send them."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exaudit.data.document import Document
from exaudit.serve import Workbench

CSRF = {"x-exaudit": "1"}
Serve = Callable[..., tuple[Workbench, "Client"]]  # see tests/serve/conftest.py


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    def send(self, method: str, path: str, value: Any = None, *, status: int = 200) -> Any:
        body = None if value is None else json.dumps(value).encode()
        answer = self.ask(method, path, body, {**CSRF, "content-type": "application/json"})
        assert answer.status == status, (answer.status, answer.body)
        return answer.json

    def post(self, path: str, value: Any = None, *, status: int = 200) -> Any:
        return self.send("POST", path, value, status=status)

    def wait(self, job: str) -> Any:
        """A job until it ended."""
        for _ in range(600):
            found = self.get(f"/api/jobs/{job}")
            if found["status"] not in ("waiting", "running"):
                assert found["status"] == "done", found
                return found
            time.sleep(0.05)
        raise AssertionError("the job does not end")

    def preview(self, edit: dict[str, Any], rule: str) -> Any:
        started = self.post("/api/support/preview", {"edit": edit, "rule": rule})
        self.wait(started["job"]["id"])
        return self.get(f"/api/support/preview/{started['job']['id']}")


def unlike(count: int) -> list[Document]:
    """Documents that no review is like."""
    return [Document.from_text(f"zyx {n} qua", id=f"odd-{n}", cut="whitespace") for n in range(count)]
