"""A report as Markdown: the same sections, with tables in place of plots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exaudit.analyse.report.blocks import Beside, Block, Cell, Documents, Page, Plot, Table, Text, Words

__all__ = ["to_markdown"]

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
    names = (shelf.names.negative, shelf.names.positive)
    yield f"{shelf.total:,} documents; the first {min(SHOWN, len(shelf.rows))} are shown here."
    yield "Bold: decided; underlined: truly so, where known."
    yield ""
    for row in shelf.rows[:SHOWN]:
        yield f"- {_plain(row['i'])}, {_head(row, names)}: {_text(row)}"


def _head(row: dict[str, Any], names: tuple[str, str]) -> str:
    head = f"predicted {_plain(names[row['p']])}"
    if "t" in row:
        head += f", truly {_plain(names[row['t']])}"
    if "a" in row:
        head += ", admitted" if row["a"] else ", refused"
    return head


def _text(row: dict[str, Any]) -> str:
    decided, true = set(row["d"]), set(row.get("y", ()))
    words = row["w"].split("\n")
    return " ".join(_marked(word, n in decided, n in true) for n, word in enumerate(words))


def _marked(text: str, decided: bool, underlined: bool, tag: str = "") -> str:
    text = _plain(text)
    if underlined:
        text = f"<u>{text}</u>"
    if decided:
        text = f"**{text}**"
    return text + _plain(f"[{tag}]") if tag else text


def _plain(text: str) -> str:
    """Text that is neither Markdown nor HTML: what could be either is written as a character reference."""
    line = " ".join(text.splitlines())
    return "".join(f"&#{ord(c)};" if c in "\\`*_[]<>#|&~$" else c for c in line)
