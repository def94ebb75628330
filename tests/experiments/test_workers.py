"""Processes that share a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the process in /proc")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    """They look after its end by themselves: nobody else can."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import multiprocessing, os, time\n"
        "from exaudit.experiments import workers\n"
        "def wait(*_):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
        "workers._run_steps = wait\n"
        "if __name__ == '__main__':\n"
        "    workers.run_all([], None, jobs=2)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        processes = {int(parent.stdout.readline()), int(parent.stdout.readline())}
        (worker,) = processes - {parent.pid}
        parent.kill()
    for _ in range(200):
        if not Path(f"/proc/{worker}").exists() or "(zombie)" in Path(f"/proc/{worker}/status").read_text():
            break
        time.sleep(0.05)
    else:
        os.kill(worker, signal.SIGKILL)
        pytest.fail("the worker lived on")
