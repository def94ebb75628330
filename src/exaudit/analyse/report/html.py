"""A report as one HTML file: no network, every text escaped, readable on paper and on a phone."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import count

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from exaudit._version import __version__
from exaudit.analyse.report.blocks import Cell, Page, Plot
from exaudit.analyse.report.svg import svg

__all__ = ["to_html"]


def to_html(page: Page) -> str:
    numbers = count(1)

    def draw(plot: Plot) -> Markup:
        return Markup(
            svg(plot, next(numbers))
        )  # the one place besides the script data that is not escaped again

    return _template().render(page=page, draw=draw, show=_show, version=__version__, style=_file("page.css"),
                              script=_file("page.js"))  # fmt: skip


def _show(cell: Cell, digits: int) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.{digits}f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    environment.globals["data"] = lambda shelf: Markup(shelf.to_script())
    return environment.from_string(_read("page.html"))


def _file(name: str) -> Markup:
    return Markup(_read(name))


def _read(name: str) -> str:
    return files("exaudit.analyse.report").joinpath(name).read_text(encoding="utf-8")
