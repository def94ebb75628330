"""A report as one HTML file: no network, every text escaped, readable on paper and on a phone.

Its policy lets the browser apply the one style and run the one script that are written here, known by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import count
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from exaudit._escape import visible
from exaudit._version import __version__
from exaudit.analyse.report.blocks import Cell, Page, Plot
from exaudit.analyse.report.svg import svg

__all__ = ["drawer", "environment", "show", "to_html"]


def to_html(page: Page) -> str:
    style, script = _read("page.css"), _read("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment().get_template("page.html").render(
        page=page, draw=drawer(), show=show, version=__version__, policy=Markup(policy), style=Markup(style),
        script=Markup(script),
    )  # fmt: skip


def drawer() -> Callable[[Plot], Markup]:
    """Draws the plots of one page, whose ids must differ."""
    numbers = count(1)

    def draw(plot: Plot) -> Markup:
        return Markup(
            svg(plot, next(numbers))
        )  # the one place besides the script data that is not escaped again

    return draw


def _hash(text: str) -> str:
    """A text as a policy names it."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _shown(value: Any) -> Any:
    """Whatever the template writes, with its unseen characters made visible."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


def show(cell: Cell, digits: int) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:z,.{digits}f}"  # z: no negative zero
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


@cache
def environment() -> Environment:
    """Where templates find the blocks of a page, and write every text escaped and visible."""
    made = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.tests["kind"] = lambda block, name: type(block).__name__ == name
    made.globals["data"] = lambda shelf: Markup(shelf.to_script())
    return made


def _read(name: str) -> str:
    return files("exaudit.analyse.report").joinpath(name).read_text(encoding="utf-8")
