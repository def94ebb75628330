"""exaudit diff: before/after pairs become token labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exaudit._escape import json_text, visible
from exaudit.cli.options import say
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from rich.text import Text

    from exaudit.data.diff import Diff
    from exaudit.data.document import Document

__all__ = ["diff"]


@reads
def diff(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Pairs; or the sources, beside a second file.")
    ],
    reading: Reading,
    targets: Annotated[
        Path | None, typer.Argument(metavar="[TARGETS]", help="The targets, parallel to FILE.")
    ] = None,
    source: Annotated[
        str, typer.Option(help="Which side is the source: a label; or first or second of each pair.")
    ] = "first",
    pair_column: Annotated[
        str | None,
        typer.Option(
            help="The column that names the pair; by default batch_id, pair_id, pair, group or group_id."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write the token labels (JSONL); - prints them."),
    ] = None,
    show: Annotated[
        int | None, typer.Option(min=0, help="How many inline diffs to print; 3 with --out.")
    ] = None,
) -> None:
    """Label the words that an edit changed, and print the edits. No model is needed."""
    from exaudit.cli.outputs import check_output, output
    from exaudit.data.diff import pair_across, pair_by_column
    from exaudit.errors import SettingError

    check_output(out, file, targets, reading.token_labels)
    in_order = targets is not None and pair_column is None
    documents = reading.read(file, every_row=in_order, tokens="whitespace")
    if targets is None:
        pairs = pair_by_column(documents, pair_column or find_pair_column(documents, file), source=source)
    else:
        if source not in ("first", "second"):
            raise SettingError(f"with two files --source is first or second, not {source!r}")
        sides = (documents, reading.read_beside(targets, every_row=in_order, tokens="whitespace"))
        pairs = pair_across(*(sides if source == "first" else sides[::-1]), pair_column)
    to_stdout = str(out) == "-"
    if out is not None:
        with output(out) as stream:
            for pair in pairs:
                for document in pair.labelled():
                    stream.write(json_text(_line(document, pair.id)) + "\n")
        where = "" if to_stdout else f" in {out}"
        say(f"{len(pairs):,} pairs; {2 * len(pairs):,} documents with token labels{where}")
    shown = show if show is not None else 0 if to_stdout else len(pairs) if out is None else 3
    for pair in pairs[:shown]:
        _print(pair.id, pair.diff())


def usual_pair_column(documents: list[Document]) -> str | None:
    """The column that names the pair, where there is one with a usual name."""
    names = ("batch_id", "pair_id", "pair", "group", "group_id")
    return next((name for name in documents[0].meta if name.casefold() in names), None)


def find_pair_column(documents: list[Document], path: Path) -> str:
    """The same, where there must be one."""
    from exaudit.data.columns import listed
    from exaudit.errors import DataError

    found = usual_pair_column(documents)
    if found is not None:
        return found
    names = list(documents[0].meta)
    raise DataError(
        f"no column names the pair; columns beside text, label and id: {listed(names) or 'none'}; name one with "
        "--pair-column, or give two parallel files",
        path,
    )


def _line(document: Document, pair: str) -> dict[str, Any]:
    line: dict[str, Any] = {"id": document.id, "text": document.text, "label": document.label}
    if document.tokens != tuple(document.text.split()):
        line["tokens"] = list(document.tokens)
    line["token_labels"] = list(document.token_labels or ())
    line["pair"] = pair
    return line | {name: value for name, value in document.meta.items() if name not in line}


def _print(name: str, diff: Diff) -> None:
    """One pair as a line of text; what left is red and struck, what came is green and underlined."""
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(inline(name, diff))


def inline(name: str, diff: Diff) -> Text:
    """The edits in order, with <del> and <ins> around what changed, so that they show without colours as well."""
    from rich.text import Text

    text = Text(f"[{visible(name)}] ", style="dim")
    for edit in diff.edits:
        source, target = (visible(" ".join(words)) for words in (edit.source, edit.target))
        if edit.kind == "equal":
            text.append(source + " ", style="not dim")
            continue
        if source:
            text.append(f"<del> {source} </del> ", style="not dim red strike")
        if target:
            text.append(f"<ins> {target} </ins> ", style="not dim green underline")
    return text
