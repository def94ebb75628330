"""exaudit compare: what separates one corpus from another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.options import Device, say, tuning_line
from exaudit.cli.reading import Reading, reads
from exaudit.cli.reliability import As, Out

if TYPE_CHECKING:
    from exaudit.data.document import Document

__all__ = ["compare"]


@reads
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Documents; or pairs, A first, if B is left out.")],
    reading: Reading,
    b: Annotated[
        Path | None, typer.Argument(metavar="[B]", help="Documents to tell from those of A.")
    ] = None,
    out: Out = Path("compare.html"),
    as_: As = None,
    pair_column: Annotated[
        str | None,
        typer.Option(
            "--pair-column", "--group", help="The column that names the pair; pairs are split together."
        ),
    ] = None,
    test: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Held-out documents of A and of B, already split.")
    ] = None,
    test_pairs: Annotated[Path | None, typer.Option(help="Held-out pairs, where A holds pairs.")] = None,
    encoder: Annotated[
        str, typer.Option(help="minilm, a folder, a hub name, or none for word embeddings only.")
    ] = "minilm",
    tune_encoder: Annotated[
        bool, typer.Option("--tune-encoder", help="Fine-tune the Transformer first.")
    ] = False,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="How often the head sees the documents; by default 20, or a few on a tuned encoder."
        ),
    ] = None,
    filters: Annotated[int, typer.Option(help="Filters (M).")] = 1000,
    max_length: Annotated[int | None, typer.Option(help="Cut documents after so many word pieces.")] = None,
    ngrams: Annotated[str, typer.Option(help="Sizes of the n-grams, as in 1-5 or 1,3.")] = "1-5",
    by: Annotated[str, typer.Option(help="Rank n-grams by total or mean score.")] = "total",
    top: Annotated[int, typer.Option(min=1, help="How many n-grams to show from each end.")] = 15,
    names: Annotated[
        tuple[str, str] | None,
        typer.Option(help="What to call A and B on the page; by default the files' names."),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Keep the model in this folder.")] = None,
    seed: Annotated[int, typer.Option(help="One seed for everything random.")] = 0,
    device: Device = "auto",
) -> None:
    """Train on A against B, and show on held-out documents whether and by what they can be told apart."""
    from exaudit.analyse.comparison import compare as train_and_judge
    from exaudit.analyse.comparison import for_comparison
    from exaudit.analyse.report import compare_page, find_format, render
    from exaudit.cli.diff import find_pair_column, usual_pair_column
    from exaudit.cli.features import ranking_of, sizes_of
    from exaudit.cli.outputs import check_output, output
    from exaudit.errors import SettingError
    from exaudit.model.folder import save_model
    from exaudit.model.settings import Settings

    kind, sizes, ranking = find_format(out, as_), sizes_of(ngrams), ranking_of(by)
    check_output(out, a, b, *(test or ()), test_pairs, encoder, reading.token_labels)
    if model is not None and model.exists() and (not model.is_dir() or any(model.iterdir())):
        raise SettingError(f"{model} exists already; give --model another folder")
    if b is None:
        if test is not None:
            raise SettingError("--test goes with A and B; with one file of pairs give --test-pairs FILE")
        documents = reading.read_beside(a)
        pair_column = pair_column or find_pair_column(documents, a)
        sides = _apart(documents, pair_column)
        names = names or ("the first of each pair", "the second of each pair")
        held_out = None if test_pairs is None else _apart(reading.read_beside(test_pairs), pair_column)
    else:
        if test_pairs is not None:
            raise SettingError(
                "--test-pairs goes with one file of pairs; with A and B give --test A_TEST B_TEST"
            )
        sides, names = (reading.read_beside(a), reading.read_beside(b)), names or (a.name, b.name)
        if pair_column is None and (usual := usual_pair_column(sides[0])) is not None:
            values = [{d.meta.get(usual) for d in side} for side in sides]
            if (values[0] & values[1]) - {None}:
                pair_column = usual
                say(f"documents with the same {usual} are taken for pairs, and stay together (--pair-column)")
        held_out = None if test is None else (reading.read_beside(test[0]), reading.read_beside(test[1]))
    settings = for_comparison(
        Settings(
            encoder=encoder,
            tune_encoder=tune_encoder,
            epochs=epochs,
            filters=filters,
            max_length=max_length,
            seed=seed,
            device=device,
        )
    )
    say(f"{len(sides[0]):,} documents of A, {len(sides[1]):,} of B")
    comparison = train_and_judge(
        *sides,
        settings=settings,
        names=names,
        group=pair_column,
        test=held_out,
        report=lambda record: _report(record, settings.head_epochs),
    )
    if model is not None:
        save_model(comparison.model, model)
    page = compare_page(comparison, sizes=sizes, by=ranking, top=top)
    with output(out) as stream:
        stream.write(render(page, kind))
    say(page.summary[1] + ("" if str(out) == "-" else f" More in {out}"))


def _apart(documents: list[Document], column: str) -> tuple[list[Document], list[Document]]:
    """The first and the second document of each pair."""
    from exaudit.data.diff import pair_by_column

    pairs = pair_by_column(documents, column, source="first")
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _report(record: dict[str, object], epochs: int) -> None:
    if line := tuning_line(record):
        say(line)
        return
    document = record["document"]
    assert isinstance(document, dict)
    say(f"epoch {record['epoch']:>2}/{epochs}  dev accuracy {100 * document['accuracy']:.1f}")
