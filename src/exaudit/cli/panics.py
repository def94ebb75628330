"""Keeping the panics of a library off the terminal.

Lance is written in Rust. Where a damaged file makes it panic, we get an exception and tell what is wrong in a line of
our own; but Rust has by then written several lines to standard error, past Python, and offers no way to stop it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["without_panics"]


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold back what is written to standard error, past Python, from a panic on; all else is passed on at once."""
    try:
        real = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    kept: TextIO = sys.stderr
    kept.flush()
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    if kept is sys.__stderr__:  # still straight to the terminal, for bars and colours
        sys.stderr = open(  # noqa: SIM115 (closed below)
            os.dup(real), "w", buffering=1, encoding=kept.encoding, errors=kept.errors
        )
    forwarding = threading.Thread(target=_forward, args=(reading, real), daemon=True)
    forwarding.start()
    try:
        yield
    finally:
        if sys.stderr is not kept:
            sys.stderr.close()
            sys.stderr = kept
        os.dup2(real, 2)  # which ends the thread, unless a process that we have started still has the other
        forwarding.join(timeout=1)
        if not forwarding.is_alive():
            os.close(real)


def _forward(reading: int, real: int) -> None:
    with open(reading, "rb") as lines:
        for line in lines:
            if line.startswith(b"thread '") and b"panicked at" in line:
                break
            os.write(real, line)
        for _ in lines:  # read to the end, or the writer would wait for us
            pass
