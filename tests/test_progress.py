from __future__ import annotations

import pytest

from exaudit._progress import progress, watched


def test_a_watcher_is_told_and_may_end_the_work() -> None:
    told: list[tuple[str, int, int | None]] = []
    with watched(lambda *now: told.append(now)):
        assert list(progress("ab", desc="letters")) == ["a", "b"]
        with progress(total=5, desc="steps", initial=2) as bar:
            bar.update(3)
        assert list(progress("c", desc=None)) == ["c"]
    assert told == [("letters", 1, 2), ("letters", 2, 2), ("steps", 5, 5)]
    assert list(progress("d", desc="after")) == ["d"]
    assert len(told) == 3

    def stop(*_: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), watched(stop):
        list(progress("ab", desc="letters"))
