"""Parts of the site that are made from the code, so that they cannot go stale (an mkdocs hook).

`cli.md` gets the help of every command; `reference.md` must have an entry for every public name; and no page may
load anything from the network.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

log = logging.getLogger("mkdocs.hooks")  # its warnings fail a strict build

WIDTH = 84  # what fits beside the two menus


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    if page.file.src_uri == "cli.md":
        return markdown.replace("<!-- commands -->", "\n".join(_commands()))
    if page.file.src_uri == "reference.md":
        _check_names(markdown)
    return markdown


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    for url in re.findall(r"""<(?:script|link|img)[^>]*(?:src|href)=["']?(https?://[^"' >]+)""", output):
        log.warning("%s loads %s; the site must work offline", page.file.dest_uri, url)
    return output


def _commands() -> Iterator[str]:
    from typer.main import get_command

    from exaudit.cli.app import app

    yield from _command(get_command(app), "exaudit", None)


def _command(command: Any, name: str, parent: Any) -> Iterator[str]:
    """A heading and the help, for a command and then for those below it."""
    command.rich_markup_mode = None  # plain text, and returned: with rich, typer prints it instead
    context = command.context_class(command, parent=parent, info_name=name, terminal_width=WIDTH)
    level = 2 if parent is None or parent.parent is None else 3
    yield f"\n{'#' * level} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    for below, each in getattr(command, "commands", {}).items():
        yield from _command(each, below, context)


def _check_names(markdown: str) -> None:
    import exaudit

    entries = {line.removeprefix("::: exaudit.") for line in markdown.splitlines()}
    for name in sorted(set(exaudit.__all__) - entries):
        log.warning("reference.md has no entry for the public name %s; add `::: exaudit.%s`", name, name)
