"""The model card as HTML: the little Markdown that `exaudit.model.card` writes, with every text escaped."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby

from markupsafe import Markup

__all__ = ["to_html"]

INLINE = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"\*(.+?)\*"), r"<em>\1</em>"),
    (re.compile(r"`(.+?)`"), r"<code>\1</code>"),
    (re.compile(r"&amp;#(\d+);"), r"&#\1;"),  # what the card had escaped already
)


def to_html(text: str) -> Markup:
    """Headings (one level down, as they stand on a page), lists, tables, fenced code and paragraphs."""
    parts, fenced = [], False
    for kind, group in groupby(text.splitlines(), _kind):
        lines = list(group)
        if kind == "fence":
            fenced = not fenced
            parts.append("<pre><code>" if fenced else "</code></pre>")
        elif fenced:
            parts.append(escape("\n".join(lines)))
        elif kind == "#":
            parts += [_heading(line) for line in lines]
        elif kind == "-":
            parts.append("<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>")
        elif kind == "|":
            parts.append(_table(lines))
        elif kind == "text":
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
    return Markup("".join(parts))


def _kind(line: str) -> str:
    if line.startswith("```"):
        return "fence"
    if line[:1] in ("#", "|") or line.startswith("- "):
        return line[0]
    return "text" if line.strip() else ""


def _heading(line: str) -> str:
    level = min(6, len(line) - len(line.lstrip("#")) + 2)
    return f"<h{level}>{_inline(line.lstrip('# '))}</h{level}>"


def _table(lines: list[str]) -> str:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|-")
    ]
    head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:]
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="Figures">{table}</div>'


def _inline(text: str) -> str:
    text = escape(text, quote=False)
    for pattern, html in INLINE:
        text = pattern.sub(html, text)
    return text
