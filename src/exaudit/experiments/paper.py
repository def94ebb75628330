"""The figures the paper prints, for a rerun to stand beside: `paper.json`, read into tables and rows.

The file keeps the printed digits. Names leave out the encoder ("uniCNN" for uniCNN+BERT): ours may differ.

    paper_tables()["fce-zero-shot"].row("uniCNN").values      # (86.28, 47.67, 36.7, 41.47)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["PaperRow", "PaperTable", "paper_tables"]


@dataclass(frozen=True)
class PaperRow:
    """One printed row: a value for each column of its table, None where the paper leaves the cell empty.

    A cited row quotes other work, or an encoder that is not the table's main one: nothing to rerun. Rows of
    n-gram tables say from which `end` of the ranking they are ("top" or "lowest") and, with two classes, on
    which `side`.
    """

    name: str
    values: tuple[float | None, ...]
    cited: bool
    side: str | None = None
    end: str | None = None


@dataclass(frozen=True)
class PaperTable:
    """One printed table; `label` is its LaTeX label in the paper, None for the online appendix."""

    id: str
    experiment: str
    label: str | None
    title: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]

    def row(self, name: str, side: str | None = None) -> PaperRow | None:
        """The row of that name, if any; a word may stand on both sides: name one, or get the first row."""
        return next((row for row in self.rows if row.name == name and side in (None, row.side)), None)


@cache
def paper_tables() -> dict[str, PaperTable]:
    """Every table by its id: FCE, then sentiment, then annotation edits."""
    text = files("exaudit").joinpath("experiments", "paper.json").read_text(encoding="utf-8")
    tables = {}
    for table in json.loads(text)["tables"]:
        rows = tuple(PaperRow(**{**row, "values": tuple(row["values"])}) for row in table["rows"])
        tables[table["id"]] = PaperTable(**{**table, "columns": tuple(table["columns"]), "rows": rows})
    return tables
