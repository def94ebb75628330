"""Progress bars, on standard error, shown to people and not to log files."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

__all__ = ["hush", "progress"]

_hushed = False


def hush() -> None:
    """No bars in this process: another one shows its own in the same place."""
    global _hushed
    _hushed = True


def progress(
    iterable: Iterable[Any] | None = None,
    *,
    total: int | None = None,
    unit: str = "it",
    desc: str | None = "",
    **options: Any,
) -> Any:
    """A tqdm bar that shows itself only where standard error is a terminal, and never where `desc` is None."""
    return tqdm(
        iterable,
        total=total,
        unit=unit,
        desc=desc,
        file=sys.stderr,
        disable=_hushed or desc is None or not sys.stderr.isatty(),
        leave=False,
        **options,
    )
