"""Who made an edit, when and why: what an entry of the log is signed with."""

from __future__ import annotations

import getpass
from dataclasses import replace
from datetime import UTC, datetime

from exaudit.errors import SupportError
from exaudit.support.history import Entry

__all__ = ["signed"]


def signed(entry: Entry, parent: str, author: str | None, reason: str) -> Entry:
    done = replace(
        entry,
        who=_who() if author is None else author,
        why=reason,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        parent=parent,
    )
    try:
        done.to_json().encode()
    except UnicodeEncodeError:  # as bytes of a terminal may be
        raise SupportError(
            "an id, a name, the author or the reason is not UTF-8 and cannot be kept in the log; write it in UTF-8"
        ) from None
    return done


def _who() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a user database
        return "unknown"
