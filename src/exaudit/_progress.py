"""Progress bars, on standard error, shown to people and not to log files; or told to whoever watches the work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tqdm import tqdm

__all__ = ["Watcher", "hush", "progress", "watched"]

Watcher = Callable[[str, int, int | None], None]  # told what is done, how much of it, and of how much

_hushed = False
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def hush() -> None:
    """No bars in this process: another one shows its own in the same place."""
    global _hushed
    _hushed = True


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` of all progress of the block, instead of showing bars. An error that it raises ends the work."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def progress(
    iterable: Iterable[Any] | None = None,
    *,
    total: int | None = None,
    unit: str = "it",
    desc: str | None = "",
    **options: Any,
) -> Any:
    """A tqdm bar that shows itself only where standard error is a terminal, and never where `desc` is None."""
    watcher = _watcher.get()
    if watcher is not None and desc is not None:
        return _Watched(iterable, total, desc, watcher, options.get("initial", 0))
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


class _Watched:
    """What is used of a tqdm bar, told to a watcher."""

    def __init__(
        self, iterable: Iterable[Any] | None, total: int | None, desc: str, watcher: Watcher, n: int
    ) -> None:
        self._iterable, self._desc, self._watcher, self.n = iterable, desc, watcher, n
        self.total = len(iterable) if total is None and isinstance(iterable, Sized) else total

    def update(self, n: int = 1) -> None:
        self.n += n
        self._watcher(self._desc, self.n, self.total)

    def __iter__(self) -> Iterator[Any]:
        for item in self._iterable or ():
            yield item
            self.update()

    def __enter__(self) -> _Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        pass

    def set_postfix_str(self, *_: Any, **__: Any) -> None:
        pass

    set_description = set_postfix = refresh = set_postfix_str
