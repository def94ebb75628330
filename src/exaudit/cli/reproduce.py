"""exaudit reproduce: the paper's tables and figures, run again, with ours beside the paper's."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.many import RayAt, Workers, pool_at
from exaudit.cli.options import Device, say

if TYPE_CHECKING:
    from exaudit.experiments.results import Results
    from exaudit.experiments.run import RunSettings

__all__ = ["app"]

app = typer.Typer(help="The paper's tables and figures, run again, beside the paper's.", no_args_is_help=True)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="Where the corpora are; by default $EXAUDIT_DATA, else ./data."
    ),
]
EncoderName = Annotated[
    str, typer.Option("--encoder", help="minilm, a folder, a hub name, or none for word embeddings only.")
]
RecipeName = Annotated[
    str,
    typer.Option("--recipe", help="stable (ours), or paper: everything to the letter of the paper's code."),
]
Tune = Annotated[bool, typer.Option("--tune-encoder", help="Fine-tune the Transformer of each model.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="DIR", help="By default results/ENCODER[-paper][-tuned][-fast][-sample]."
    ),
]
Fast = Annotated[bool, typer.Option("--fast", help="A tenth of the data.")]
Seeds = Annotated[str, typer.Option(help="Of the headline rows, as in 0,1,2; other rows take the first.")]
Steps = Annotated[
    str,
    typer.Option(
        metavar="PATTERNS",
        help="Run only these steps, as in fce-uniCNN-*,fce-cnn: several processes can share one OUT.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(min=1, help="Processes that share the steps: one alone does not keep a large GPU busy."),
]
Epochs = Annotated[
    int | None, typer.Option(min=1, help="Of every model; by default as many as `exaudit train` takes.")
]
Filters = Annotated[int, typer.Option(min=1, help="Filters of the primary models (M).")]
Vectors = Annotated[
    Path | None,
    typer.Option(
        "--word-vectors",
        help="A word2vec or GloVe file: for the baseline cnn; with --recipe paper, for every model.",
    ),
]
Sample = Annotated[
    bool, typer.Option("--sample", help="Try it on small made-up corpora, written to OUT/data.")
]


@app.command("list")
def list_(data: Data = None) -> None:
    """The experiments, the paper's tables and figures by number, and the data that each needs and has."""
    from exaudit.data.fetch import data_folder
    from exaudit.experiments.contents import CONTENTS
    from exaudit.experiments.registry import EXPERIMENTS

    folder = data or data_folder()
    for experiment in EXPERIMENTS.values():
        typer.echo(f"{experiment.id}: {experiment.title} ({experiment.place})")
        for item in CONTENTS:
            if item.experiment == experiment.id:
                where = ", ".join(item.tables) or f"no table: {item.why}"
                typer.echo(f"  {item.number:<16} {item.title} ({where})")
        typer.echo(f"  data in {folder}:")
        for name in experiment.needs:
            typer.echo(f"    {'there  ' if (folder / name).is_file() else 'MISSING'} {name}")
        for name, without in experiment.optional:
            there = "there  " if (folder / name).is_file() else "missing"
            typer.echo(f"    {there} {name} (without it: {without})")
        typer.echo("")
    typer.echo("`exaudit data fetch` gets what is missing; `--sample` does without.")


@app.command()
def show(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The --out of a run, finished or not.")],
    write: Annotated[
        bool, typer.Option("--write", help="Write its pages, pictures and results.json again, too.")
    ] = False,
) -> None:
    """The tables and claims of a run once more, as far as it has come; nothing is run."""
    from exaudit.experiments.results import Results

    results = Results.read(out)
    _print(results, results.comparison.experiments)
    if write:
        _write(results)


@app.command()
def verify(
    out: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of pages with their results.json, or an --out.")
    ],
) -> None:
    """Whether the pages, results.json and the recipe of this version agree, and all steps are of one commit."""
    from exaudit.errors import DataError
    from exaudit.experiments.verification import verify as check

    report = check(out)
    for line in report.facts:
        typer.echo(line)
    if report.faults:
        raise DataError("; ".join(report.faults), out)
    typer.echo("pages, results.json and recipe agree")


@app.command()
def summary(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of runs, or of their pages.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A Markdown file to write, not only to show.")
    ] = None,
) -> None:
    """Several runs side by side: the headline rows beside the paper's, and the verdicts on its claims."""
    from exaudit._files import replace_file
    from exaudit.experiments.results import Results
    from exaudit.experiments.summary import summary_markdown

    page = summary_markdown([Results.read(run) for run in runs])
    typer.echo(page, nl=False)
    if out is not None:
        with replace_file(out) as temporary:
            temporary.write_text(page, encoding="utf-8")


def _experiment(names: Sequence[str], description: str) -> Callable[..., None]:
    def reproduce(
        data: Data = None,
        encoder: EncoderName = "minilm",
        recipe: RecipeName = "stable",
        tune_encoder: Tune = False,
        out: Out = None,
        fast: Fast = False,
        seeds: Seeds = "0",
        steps: Steps = "*",
        jobs: Jobs = 1,
        device: Device = "auto",
        epochs: Epochs = None,
        filters: Filters = 1000,
        word_vectors: Vectors = None,
        sample: Sample = False,
        ray: RayAt = None,
        workers: Workers = None,
    ) -> None:
        from exaudit.cli.outputs import check_folder
        from exaudit.data.fetch import data_folder
        from exaudit.errors import SettingError
        from exaudit.experiments.registry import EXPERIMENTS
        from exaudit.experiments.results import Results
        from exaudit.experiments.run import Run, RunSettings
        from exaudit.experiments.sample import write_corpora
        from exaudit.experiments.workers import run_all, run_all_on

        settings = RunSettings(
            encoder=encoder,
            recipe=recipe,
            tune_encoder=tune_encoder,
            fast=fast,
            seeds=_seeds(seeds),
            epochs=epochs,
            filters=filters,
            word_vectors=None if word_vectors is None else str(word_vectors),
            sample=sample,
        )
        _check(encoder, tune_encoder, word_vectors, device, data if sample else None)
        folder = out or Path("results") / _default_name(settings)
        corpora = folder / "data" if sample else data or data_folder()
        check_folder(folder, None if sample else corpora, None if encoder == "none" else Path(encoder))
        if not sample:
            for name in names:
                EXPERIMENTS[name].check(corpora)
        if ray is not None:
            if jobs > 1:
                raise SettingError(
                    "--jobs are processes here, and --ray has workers elsewhere; leave one of them out"
                )
            folder, corpora = folder.resolve(), corpora.resolve()  # as its workers know them
        run = Run(folder, corpora, settings, device=device, steps=steps)
        if sample:
            write_corpora(corpora)
        with pool_at(ray, workers, device) as pool:
            if pool is None:
                run_all(names, run, jobs=jobs)
            else:
                run_all_on(pool, names, run)
        run.check_steps()
        results = Results.read(folder)
        _print(results, names)
        _write(results)
        if run.left_to_others:
            say(
                f"another process is at {', '.join(sorted(run.left_to_others))}; once it is done, "
                f"`exaudit reproduce show {folder} --write` has all"
            )

    reproduce.__doc__ = description
    return reproduce


for _names, _description in (
    (("fce",), "Grammatical error detection: section 4 of the paper and appendix B."),
    (("sentiment",), "Sentiment of film reviews: section 5 and appendix C."),
    (("annotation",), "Original against revised reviews: section 6 and appendix D."),
):
    app.command(_names[0])(_experiment(_names, _description))
app.command("all")(_experiment(("fce", "sentiment", "annotation"), "All three, one after another."))


def _seeds(text: str) -> tuple[int, ...]:
    from exaudit.errors import SettingError

    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts) or len({int(p) for p in parts}) < len(parts):
        raise SettingError(f"--seeds is {text!r}; give whole numbers, each once, as in 0,1,2")
    return tuple(map(int, parts))


def _check(
    encoder: str, tune: bool, vectors: Path | None, device: str, data_beside_sample: Path | None
) -> None:
    """What would only show after the first hour."""
    from exaudit._device import pick_device
    from exaudit.encode.locate import locate
    from exaudit.errors import SettingError

    if data_beside_sample is not None:
        raise SettingError("--sample makes its own corpora: leave --data out, or --sample")
    if tune and encoder == "none":
        raise SettingError("there is no encoder to tune: --tune-encoder cannot go with --encoder none")
    if vectors is not None and not vectors.is_file():
        raise SettingError(f"--word-vectors: there is no file {vectors}; check the path")
    pick_device(device)
    if encoder != "none":
        locate(encoder)


def _default_name(settings: RunSettings) -> str:
    marks = {
        "-paper": settings.recipe == "paper",
        "-tuned": settings.tune_encoder,
        "-fast": settings.fast,
        "-sample": settings.sample,
    }
    return settings.encoder_name.replace("/", "-") + "".join(mark for mark, wanted in marks.items() if wanted)


def _print(results: Results, experiments: Sequence[str]) -> None:
    from exaudit.experiments.pages import claims_text, experiment_text
    from exaudit.experiments.registry import EXPERIMENTS

    comparison, width = results.comparison, shutil.get_terminal_size((120, 24)).columns
    for caution in results.cautions:
        typer.echo(f"NOTE: {caution}\n")
    for name in experiments:
        title = EXPERIMENTS[name].title
        typer.echo(f"{title}\n{'=' * len(title)}\n{experiment_text(comparison, name, width=width)}\n")
    typer.echo(claims_text(comparison, experiments))


def _write(results: Results) -> None:
    say("\nwritten: " + ", ".join(map(str, results.write())))
