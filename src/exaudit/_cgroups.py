"""The control groups, and so the limits, that this process is in (Linux; elsewhere there are none)."""

from __future__ import annotations

from pathlib import Path

__all__ = ["control_groups"]


def control_groups(controller: str, root: Path) -> set[Path]:
    """Folders of the groups of `memory` or `cpu`, each inside the next: all of their limits hold."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    folders = set()
    for line in ("0::/", f"0:{controller}:/", *lines):  # in a container, the root is its own group
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):  # version 2, or 1
            mounted = root / "sys/fs/cgroup" / (controllers and controller)
            own = mounted / path.lstrip("/")
            folders |= {own, *(parent for parent in own.parents if parent.is_relative_to(mounted))}
    return folders
