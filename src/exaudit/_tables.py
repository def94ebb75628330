"""Tables of text: for a terminal, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["Line", "aligned", "escaped", "markdown_table"]

Line = Sequence[str]


def aligned(lines: Sequence[Line], width: int) -> Iterator[str]:
    """Columns padded to their widest cell; as many at a time as fit, the first one repeated."""
    if not lines:
        return
    widths = [max(len(line[n]) for line in lines) for n in range(len(lines[0]))]
    block: list[int] = []
    blocks = [block]
    room = width - widths[0]
    for n, own in enumerate(widths[1:], 1):
        if block and own + 2 > room:
            blocks.append(block := [])
            room = width - widths[0]
        block.append(n)
        room -= own + 2
    for block in blocks:
        for line in lines:
            yield "  ".join(line[n].ljust(widths[n]) for n in (0, *block)).rstrip()


def markdown_table(lines: Sequence[Line]) -> str:
    rows = ["| " + " | ".join(map(escaped, line)) + " |" for line in lines]
    return "\n".join([rows[0], "|" + "---|" * len(lines[0]), *rows[1:]])


def escaped(text: str) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))
