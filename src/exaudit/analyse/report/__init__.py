"""Insight becomes a page: blocks, and their HTML, Markdown and JSON."""

from exaudit.analyse.report.blocks import (
    Beside,
    Documents,
    Fold,
    Matrix,
    Page,
    Plot,
    Section,
    Series,
    Table,
    Text,
    Word,
    Words,
)
from exaudit.analyse.report.build import Answers, reliability_page, report_page
from exaudit.analyse.report.compare_page import compare_page
from exaudit.analyse.report.documents import Shelf
from exaudit.analyse.report.drift_page import drift_page
from exaudit.analyse.report.html import to_html
from exaudit.analyse.report.markdown import to_markdown
from exaudit.analyse.report.write import FORMATS, find_format, render

__all__ = [
    "FORMATS",
    "Answers",
    "Beside",
    "Documents",
    "Fold",
    "Matrix",
    "Page",
    "Plot",
    "Section",
    "Series",
    "Shelf",
    "Table",
    "Text",
    "Word",
    "Words",
    "compare_page",
    "drift_page",
    "find_format",
    "reliability_page",
    "render",
    "report_page",
    "to_html",
    "to_markdown",
]
