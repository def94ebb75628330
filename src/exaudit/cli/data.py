"""exaudit data: what is in a file of documents, sample files to try things on, and the paper's data sets."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from exaudit.cli.options import say, tell, tell_json
from exaudit.cli.reading import Reading, reads
from exaudit.cli.wording import name_options

__all__ = ["app"]

app = typer.Typer(help="Files of documents.", no_args_is_help=True)


@app.command()
@reads
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file, or a folder that `datasets` saved.")],
    reading: Reading,
    tokens: Annotated[
        str, typer.Option(metavar="words|whitespace", help="How texts are cut, as in `exaudit train`.")
    ] = "words",
    encoder: Annotated[
        str,
        typer.Option(help="Which encoder should know the language; it is looked for on this machine only."),
    ] = "minilm",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What is in this file, and what is wrong with it. Exit status 1 if something must be mended."""
    from exaudit.data.check import check as inspect
    from exaudit.data.source import check_path

    check_path(file)
    report = inspect(file, tokens=tokens, look=partial(_note_on_language, encoder), **asdict(reading))
    if as_json:
        tell_json(report.to_json())
    else:
        tell(name_options(report.render()))
    if report.errors:
        raise typer.Exit(1)


def _note_on_language(encoder: str, token_lists: list[tuple[str, ...]]) -> str | None:
    from exaudit.encode.language import note_on_language
    from exaudit.encode.locate import locate
    from exaudit.errors import EncoderError

    try:
        note = None if encoder == "none" else note_on_language(locate(encoder, download=False), token_lists)
    except EncoderError:  # not fetched yet: `train` says what it knows
        return None
    return None if note is None else f"{note}; choose another with `encoder`"


@app.command()
def sample(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the files.")],
    seed: Annotated[int, typer.Option()] = 0,
) -> None:
    """Write the built-in samples, with token-level truth.

    Reviews (two classes), learner sentences (right or wrong), requests to a town hall (twenty classes), and
    complaints about a hotel (several labels each).
    """
    from exaudit.cli.outputs import check_folder
    from exaudit.data.sample import write_sample

    check_folder(folder)
    for path in write_sample(folder, seed=seed):
        typer.echo(str(path))


@app.command()
def fetch(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A data set, or `list` for what can be fetched.")
    ] = "list",
    folder: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Where to put it; by default $EXAUDIT_DATA, else ./data."),
    ] = None,
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="You have read the data set's terms and accept them.")
    ] = False,
) -> None:
    """Fetch one of the paper's data sets from its public origin, every file checked."""
    from collections import Counter

    from exaudit.data import fetch as data_sets

    known = data_sets.catalogue()
    if name == "list":
        typer.echo(name_options("\n\n".join(data.summary() for data in known.values())))
        return
    if name in known:
        say(known[name].licence_text() + "\n")
    done = data_sets.fetch(name, folder, accept_licence=accept_licence, desc="fetching")
    for file in done:
        typer.echo(str(file.path))
    counts = Counter(file.outcome for file in done)
    say(f"{name}: {', '.join(f'{number} {outcome}' for outcome, number in counts.items())}; all checked")
