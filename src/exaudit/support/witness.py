"""The second place that knows how far the log goes: without it, a set whose newest edits were lost would look whole.

It is written after the head has moved. A writer that is stopped in between, or is overtaken by another, leaves the hash
of an earlier entry, which is as good: it only has to be in the log. An object store has no second place.
"""

from __future__ import annotations

import os

from exaudit._checksum import read_sealed, write_sealed
from exaudit.errors import SupportError
from exaudit.support.history import REPAIR, State

__all__ = ["Witness"]


class Witness:
    """The file `head.json` beside the tables of a support set."""

    def __init__(self, location: str) -> None:
        self.path = None if "://" in location else os.path.join(location, "head.json")

    def write(self, chain: str) -> None:
        """Remember the hash of the log as it is now."""
        if self.path is not None:
            write_sealed(self.path, {"chain": chain})

    def read(self) -> str | None:
        """The hash that was remembered last; None where there is none."""
        if self.path is None:
            return None
        try:
            return str(read_sealed(self.path)["chain"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError) as error:
            raise SupportError(f"{self.path} is damaged ({error}); {REPAIR}") from error

    def compare(self, witnessed: str | None, state: State) -> None:
        """Refuse a log that does not hold what was remembered."""
        if self.path is None or (
            witnessed is None and not state.chained
        ):  # made by 0.1, and not edited since
            return
        if witnessed is None:
            raise SupportError(f"{self.path} is missing; {REPAIR}")
        if witnessed not in state.links:
            raise SupportError(
                f"{self.path}: the newest edits of this support set are missing from its log; {REPAIR}"
            )
