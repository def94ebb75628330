from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "give a MODEL folder, or --demo alone"),
        (("model", "--demo"), "give a MODEL folder, or --demo alone"),
        (("model", "--host", "0.0.0.0"), "at 0.0.0.0 others can reach the workbench: give --token"),
        (("model", "--token", "short"), "a token has at least 16 characters"),
        (("nothing",), "nothing does not exist"),
        (("model", "nothing.csv"), "nothing.csv"),
    ],
)
def test_what_cannot_be_served_is_told(
    work: Path, fails: Callable[..., str], arguments: tuple[str, ...], why: str
) -> None:
    assert why in fails("serve", *arguments)


def test_what_cannot_be_served_leaves_nothing_behind(work: Path, fails: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = fails("serve", "model", "reviews.test.csv", "--state", "state", "--port", port)
    assert f"cannot listen at 127.0.0.1, port {port}" in told
    (work / "bad").mkdir()
    (work / "bad" / "model.json").write_text("{}")
    for arguments in (("nothing",), ("bad",), ("model", "nothing.csv")):
        fails("serve", *arguments, "--state", "state", "--port", "0")
    assert not (work / "state").exists()


def test_without_the_extra_it_says_what_to_install(
    work: Path, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.startswith("exaudit.serve"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert "pip install 'exaudit[serve]'" in fails("serve", "model")


def test_it_serves_a_file_until_it_is_stopped(work: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "exaudit",
        "serve",
        "model",
        "reviews.test.csv",
        "--no-browser",
        "--port",
        "0",
    ]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert process.stderr is not None
    try:
        address = next(
            found[0] for line in process.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+/", line))
        )
        with urllib.request.urlopen(address, timeout=30) as page:
            assert "exaudit" in page.read().decode()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
