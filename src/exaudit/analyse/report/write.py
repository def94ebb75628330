"""A page as text of one kind or another."""

from __future__ import annotations

from pathlib import Path

from exaudit._escape import json_text
from exaudit.analyse.report.blocks import Documents, Page
from exaudit.analyse.report.html import to_html
from exaudit.analyse.report.markdown import to_markdown
from exaudit.errors import SettingError

__all__ = ["FORMATS", "find_format", "render"]

FORMATS = ("html", "md", "json")
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}


def find_format(path: Path, wanted: str | None = None) -> str:
    """The format that is asked for, or that the file's ending tells."""
    found = wanted or ENDINGS.get(path.suffix.lower())
    if found not in FORMATS:
        what = (
            f"there is no report format {wanted!r}"
            if wanted
            else f"cannot tell the format from {path.name!r}"
        )
        raise SettingError(f"{what}; choose `as` {', '.join(FORMATS)}, or end the file's name in one of them")
    return found


def render(page: Page, format: str) -> str:
    """The page in one of FORMATS."""
    if format == "html":
        return to_html(page)
    if format == "md":
        return to_markdown(page)
    shelves = [b.shelf for s in page.sections for b in s.blocks if isinstance(b, Documents)]
    data = dict(page.data)
    if shelves:
        data["labelled"] = [document for shelf in shelves for document in shelf.to_json()]
        data["labelled_note"] = " ".join(shelf.note for shelf in shelves)
    return json_text(data, indent=1) + "\n"
