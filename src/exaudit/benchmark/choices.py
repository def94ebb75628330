"""What was chosen to be run: each once, and with seeds that can be drawn by."""

from __future__ import annotations

from collections.abc import Sequence

from exaudit.errors import SettingError

__all__ = ["LARGEST_SEED", "check_once", "check_seeds"]

LARGEST_SEED = 2**63 - 1  # torch's generators take 64 bits


def check_once(what: str, given: Sequence[object]) -> None:
    """Two of a name would write the same file, and be counted twice."""
    if twice := [each for n, each in enumerate(given) if each in given[:n]]:
        do = "each must have a name of its own" if what == "task" else "give each once"
        raise SettingError(f"there are two of the {what} {twice[0]!r}; {do}")


def check_seeds(seeds: Sequence[int]) -> None:
    """What torch would only refuse when the first model is trained."""
    if wrong := [seed for seed in seeds if not 0 <= seed <= LARGEST_SEED]:
        raise SettingError(f"`seeds` has {wrong[0]}; give whole numbers from 0 to {LARGEST_SEED}")
