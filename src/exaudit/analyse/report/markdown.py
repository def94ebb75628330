"""A report as Markdown: the same sections, with tables in place of plots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exaudit._escape import visible
from exaudit.analyse.report.blocks import (
    Beside,
    Block,
    Cell,
    Documents,
    Fold,
    Matrix,
    Page,
    Plot,
    Table,
    Text,
    Words,
)
from exaudit.analyse.report.documents import Shelf

__all__ = ["to_markdown"]

CLASSES = " In brackets: the classes of a word."
SHOWN = 20  # documents; the rest is for HTML and JSON


def to_markdown(page: Page) -> str:
    lines = [f"# {_plain(page.title)}", ""]
    for line in page.summary:
        lines += [_plain(line), ""]
    for section in page.sections:
        lines += [f"## {_plain(section.title)}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield _plain(block.text)
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Beside):
        for table in block.tables:
            yield from _table(table)
            yield ""
    elif isinstance(block, Matrix):
        yield from _table(block.table())
    elif isinstance(block, Fold):
        yield f"### {_plain(block.title)}"
        for one in block.blocks:
            yield ""
            yield from _block(one)
    elif isinstance(block, Plot):
        yield f"**{_plain(block.title)}**  "
        yield _plain(block.description)
        yield ""
        yield from _table(block.table())
    else:
        yield from _documents(block)


def _table(table: Table) -> Iterator[str]:
    yield f"**{_plain(table.caption)}**"
    yield ""
    yield "| " + " | ".join(map(_plain, table.columns)) + " |"
    yield "|" + "---|" * len(table.columns)
    for row in table.rows:
        yield "| " + " | ".join(_cell(cell, table.digits) for cell in row) + " |"


def _cell(cell: Cell, digits: int) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, Words):
        return " ".join(
            _marked(w.text, w.decided, w.true or (cell.underline and w.decided), w.tag) for w in cell.words
        )
    if isinstance(cell, float):
        return f"{cell:.{digits}f}"
    return _plain(str(cell))


def _documents(block: Documents) -> Iterator[str]:
    shelf = block.shelf
    yield f"{shelf.total:,} documents; the first {min(SHOWN, len(shelf.rows))} are shown here."
    negative = f" In brackets: words for {_plain(shelf.labels.names[0])}, in documents decided so."
    more = CLASSES if not shelf.binary else negative if shelf.negative_words else ""
    yield "Bold: decided; underlined: truly so, where known." + more
    yield ""
    for row in shelf.rows[:SHOWN]:
        yield f"- {_plain(row['i'])}, {_head(row, shelf)}: {_text(row, shelf)}"


def _head(row: dict[str, Any], shelf: Shelf) -> str:
    head = f"predicted {_plain(_classes(row['p'], shelf))}"
    if "t" in row:
        head += f", truly {_plain(_classes(row['t'], shelf))}"
    if "a" in row:
        head += ", admitted" if row["a"] else ", refused"
    return head


def _classes(classes: int | list[int], shelf: Shelf) -> str:
    numbers = [classes] if isinstance(classes, int) else classes
    return ", ".join(shelf.labels.names[c] for c in numbers) or "none"


def _text(row: dict[str, Any], shelf: Shelf) -> str:
    words = row["w"].split("\n")
    if shelf.binary:
        positive, true, negative = (set(row.get(key, ())) for key in ("d", "y", "g"))
        return " ".join(
            _marked(f"[{word}]" if n in negative else word, n in positive, n in true)
            for n, word in enumerate(words)
        )
    decided, carried = ({n: classes for n, *classes in row.get(key, ())} for key in ("d", "y"))
    shown = []
    for n, word in enumerate(words):
        tag = _classes(decided[n], shelf) if n in decided else ""
        if n in carried and carried[n] != decided.get(n):
            tag = f"{tag}; truly {_classes(carried[n], shelf)}".removeprefix("; ")
        shown.append(_marked(word, n in decided, n in carried, tag))
    return " ".join(shown)


def _marked(text: str, decided: bool, underlined: bool, tag: str = "") -> str:
    text = _plain(text)
    if underlined:
        text = f"<u>{text}</u>"
    if decided:
        text = f"**{text}**"
    return text + _plain(f"[{tag}]") if tag else text


def _plain(text: str) -> str:
    """Text that is neither Markdown nor HTML: what could be either is written as a character reference."""
    line = visible(" ".join(text.splitlines()))
    return "".join(f"&#{ord(c)};" if c in "\\`*_[]<>#|&~$" else c for c in line)
