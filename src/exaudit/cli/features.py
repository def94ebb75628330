"""exaudit features: the n-grams and documents that speak for each class."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit._escape import csv_text, json_text, visible
from exaudit.cli.many import OnError, RayAt, Workers, documents_of, pool_at
from exaudit.cli.options import Device, Encoder, Model
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from exaudit.analyse.features import By
    from exaudit.analyse.report.blocks import Table
    from exaudit.data.labels import LabelSet

__all__ = ["features", "sizes_of"]

FORMATS = ("table", "csv", "json")
COLUMNS = (
    "predicted", "documents", "what", "end", "rank", "text", "mean", "total", "occurrences", "frequency", "id", "truly",
)  # fmt: skip


@reads
def features(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Documents, with or without labels; also a folder, pattern or address of many files.",
        ),
    ],
    reading: Reading,
    ngrams: Annotated[str, typer.Option(help="Sizes of the n-grams, as in 1-5 or 1,3.")] = "1-5",
    by: Annotated[str, typer.Option(help="Rank n-grams by mean or total score.")] = "mean",
    top: Annotated[int, typer.Option(min=1, help="How many to show from the top and from the bottom.")] = 20,
    minimum: Annotated[int, typer.Option(min=1, help="Leave out n-grams with fewer occurrences.")] = 1,
    class_: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Show this class alone; by default all.")
    ] = None,
    as_: Annotated[str, typer.Option("--as", help="table, csv or json.")] = "table",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write; standard output by default.")
    ] = None,
    device: Device = "auto",
    encoder: Encoder = None,
    on_error: OnError = "stop",
    ray: RayAt = None,
    workers: Workers = None,
) -> None:
    """Score n-grams and documents for each class, from the documents predicted as that class."""
    from exaudit.analyse.features import Features
    from exaudit.analyse.report.feature_tables import feature_data, feature_rows, feature_tables
    from exaudit.audit.edits import chunks
    from exaudit.batch.place import WorkerModel
    from exaudit.cli.outputs import check_output, output
    from exaudit.errors import SettingError
    from exaudit.model.folder import load_model

    sizes, ranking = sizes_of(ngrams), ranking_of(by)
    if as_ not in FORMATS:
        raise SettingError(f"--as is {as_!r}; choose one of {', '.join(FORMATS)}")
    check_output(out, model, file, reading.token_labels)
    trained = load_model(model, device=device, encoder=encoder)
    targets = None if class_ is None else [number_of(class_, trained.labels)]
    documents = documents_of(file, reading, on_error)
    with pool_at(ray, workers, device) as pool:
        if pool is None:
            found = Features.of(trained.iter_label(documents), trained)
        else:
            place = WorkerModel.of(model, device=device, encoder=encoder)
            scored = pool.map(place.scorer, chunks(documents), ordered=True)
            found = Features.of(chain.from_iterable(scored), trained)
    with output(out) as stream:
        if as_ == "table":
            tables = feature_tables(found, sizes=sizes, by=ranking, top=top, minimum=minimum, targets=targets)
            stream.write(visible("\n".join(map(_plain, tables))))
            return
        data = feature_data(found, sizes=sizes, by=ranking, top=top, minimum=minimum, targets=targets)
        csv = as_ == "csv"
        stream.write(csv_text(COLUMNS, feature_rows(data)) if csv else json_text(data) + "\n")


def sizes_of(text: str) -> tuple[int, ...]:
    """1-5 or 1,3 as numbers from 1 to 10."""
    from exaudit.errors import SettingError

    sizes: set[int] = set()
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            sizes |= set(range(int(first), int(last or first) + 1))
    except ValueError:
        sizes = set()
    if not sizes or min(sizes) < 1 or max(sizes) > 10:
        raise SettingError(f"--ngrams is {text!r}; give sizes from 1 to 10, as in 1-5 or 1,3")
    return tuple(sorted(sizes))


def number_of(name: str, labels: LabelSet) -> int:
    """Which class has this name."""
    from exaudit.data.columns import listed
    from exaudit.errors import SettingError

    if name not in labels.names:
        raise SettingError(f"--class is {name!r}; the classes of the model are {listed(labels.names)}")
    return labels.names.index(name)


def ranking_of(by: str) -> By:
    from exaudit.errors import SettingError

    if by == "total":
        return "total"
    if by == "mean":
        return "mean"
    raise SettingError(f"--by is {by!r}; choose mean or total")


def _plain(table: Table) -> str:
    """A table for a terminal, in columns; texts come last, so that they may be long."""
    cells = [table.columns, *([_cell(cell, table.digits) for cell in row] for row in table.rows)]
    last = len(table.columns) - 1
    widths = [max(len(row[n]) for row in cells) for n in range(last + 1)]
    lines = [table.caption]
    for row in cells:
        line = "  ".join(
            (cell if n == last else cell.ljust(widths[n]) if n == 0 else cell.rjust(widths[n]))
            for n, cell in enumerate(row)
        )
        lines.append("  " + line.rstrip())
    return "\n".join(lines) + "\n"


def _cell(cell: object, digits: int) -> str:
    if cell is None:
        return ""
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)
