"""What a report is made of, before it is HTML or Markdown: sections of text, tables, plots and documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from exaudit.analyse.report.documents import Shelf

__all__ = [
    "Beside",
    "Block",
    "Cell",
    "Documents",
    "Fold",
    "Matrix",
    "Page",
    "Plot",
    "Section",
    "Series",
    "Table",
    "Text",
    "Word",
    "Words",
]


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it is shown: decided positive, truly positive, or tagged because it is spoken of."""

    text: str
    decided: bool = False
    true: bool = False
    tag: str = ""  # shown in brackets behind it
    hint: str = ""  # shown when the pointer rests on it


@dataclass(frozen=True, slots=True)
class Words:
    """A marked text as a table's cell."""

    words: tuple[Word, ...]
    underline: bool = False  # the decided words too; for a text of which the truth is shown in another cell

    @classmethod
    def of(
        cls,
        tokens: Sequence[str],
        decided: Sequence[Any] | None = None,
        true: Sequence[Any] | None = None,
        *,
        tags: Mapping[int, str] | None = None,
        underline: bool = False,
    ) -> Words:
        return cls(
            tuple(
                Word(
                    token,
                    bool(decided is not None and decided[n]),
                    bool(true is not None and true[n]),
                    (tags or {}).get(n, ""),
                )
                for n, token in enumerate(tokens)
            ),
            underline,
        )


Cell = str | int | float | None | Words


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Floats are shown with `digits` decimals, None as a dash."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    digits: int = 2
    folded: bool = False  # shown on demand


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts of things by what they truly are (rows) and what they were decided to be (columns)."""

    caption: str
    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def table(self) -> Table:
        """The same as a plain table; its columns have numbers, since names may be long."""
        columns = ("truly", *(str(n) for n in range(1, len(self.names) + 1)), "in all")
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (f"{n} {name}", *row, sum(row))
            for n, (name, row) in enumerate(zip(self.names, self.counts, strict=True), 1)
        )
        return Table(self.caption, columns, rows)

    def shade(self, row: int, column: int) -> int:
        """How dark a cell is, from 0 to 9: by its share of the row."""
        count, whole = self.counts[row][column], sum(self.counts[row])
        return 0 if not count else max(1, round(9 * count / whole))


@dataclass(frozen=True, slots=True)
class Beside:
    """Tables to be read beside each other, where there is room."""

    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over x, or bars beside each other at the places x. `description` says in words what is to be seen."""

    title: str
    description: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    kind: Literal["lines", "bars"] = "lines"
    marks: tuple[tuple[float, str], ...] = ()  # vertical lines with a name
    y_range: tuple[float, float] | None = None
    x_names: tuple[str, ...] = ()  # names of the places 0, 1, ... instead of numbers
    logarithmic: bool = False  # both axes, for lines

    def table(self) -> Table:
        """The numbers of the plot, for those who cannot or would not see it."""
        places = sorted({x for series in self.series for x in series.x})
        lookup = [dict(zip(series.x, series.y, strict=True)) for series in self.series]
        names = [self.x_names[int(x)] if self.x_names else f"{x:g}" for x in places]
        rows = tuple(
            (name, *(values.get(x) for values in lookup)) for name, x in zip(names, places, strict=True)
        )
        columns = (self.x_label, *(series.name for series in self.series))
        return Table(f"Figures of: {self.title}", columns, rows, digits=3, folded=True)


@dataclass(frozen=True, slots=True)
class Documents:
    """All documents, to be filtered and leafed through; Markdown shows the first few."""

    shelf: Shelf


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are shown on demand, such as those of one of many classes."""

    title: str
    blocks: tuple[Block, ...]


Block = Text | Table | Matrix | Beside | Plot | Documents | Fold


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A report. `data` is the same for programs, written as JSON."""

    title: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    data: dict[str, Any] = field(default_factory=dict)
