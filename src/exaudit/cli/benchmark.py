"""exaudit benchmark: how well words are found from document labels alone, on any tasks with token truth."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.many import RayAt, Workers, pool_at
from exaudit.cli.options import Device, say, tell

if TYPE_CHECKING:
    from exaudit.benchmark.pages import WordResults
    from exaudit.benchmark.race import Race
    from exaudit.benchmark.task import Task

__all__ = ["app"]

app = typer.Typer(help="How well words are found, on any tasks with token truth.", no_args_is_help=True)

Folders = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="DIR...",
        help="Folders with NAME.train.EXT, NAME.dev.EXT and NAME.test.EXT, or NAME/train.EXT.",
    ),
]
Tasks = Annotated[str | None, typer.Option(help="Only these of DIR, as in hedges,movies.")]
Samples = Annotated[
    str | None, typer.Option(help="Built-in tasks: some of reviews,learner,requests,complaints, or all.")
]
Limit = Annotated[
    int | None, typer.Option(help="Only so many documents of each split, drawn, for a quick look.")
]


@app.command()
def words(
    folders: Folders = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the figures; a run that was stopped goes on.")
    ] = Path("benchmark-words"),
    tasks: Tasks = None,
    samples: Samples = None,
    recipes: Annotated[
        str, typer.Option(help="Some of frozen, min-max (frozen first, then that loss) and tuned.")
    ] = "frozen,min-max,tuned",
    seeds: Annotated[str, typer.Option(help="Each trains every model once.")] = "0,1,2",
    encoder: Annotated[
        str, typer.Option(help="minilm, a folder, a hub name, or none for word embeddings only.")
    ] = "minilm",
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="words|whitespace",
            help="How texts are cut; by default at white space where all documents have tokens, else into words.",
        ),
    ] = None,
    precision: Annotated[str, typer.Option(help="auto, float32 or bfloat16.")] = "auto",
    limit: Limit = None,
    device: Device = "auto",
    ray: RayAt = None,
    workers: Workers = None,
) -> None:
    """Train on document labels, and measure the words of test: AP, F1 and F0.5 at the default, at zero, at the best."""
    from exaudit.benchmark.pages import WordResults
    from exaudit.benchmark.words import benchmark_words
    from exaudit.cli.outputs import check_folder
    from exaudit.data.words import check_cut
    from exaudit.model.settings import Settings

    settings = Settings(encoder=encoder, precision=precision, device=device)
    if tokens is not None:
        check_cut(tokens)
    numbers = _numbers(seeds)
    check_folder(out, *(folders or ()))
    found = _read(folders, tasks, samples, limit)
    with pool_at(ray, workers, device) as pool:
        benchmark_words(
            found,
            out,
            recipes=_list(recipes),
            seeds=numbers,
            settings=settings,
            tokens=tokens,
            tell=say,
            spread=None if pool is None else pool.map,
        )
    _show(WordResults.read(out), out)


@app.command()
def explainers(
    folders: Folders = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder for figures and models; a run that was stopped goes on."),
    ] = Path("benchmark-explainers"),
    tasks: Tasks = None,
    samples: Samples = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Some of decomposition, knn (ours), gradient-x-input, integrated-gradients, occlusion, lime, shap and "
            "attention; by default all that are installed."
        ),
    ] = None,
    documents: Annotated[
        int,
        typer.Option(help="Explain so many documents of test, drawn, and as many of dev, by every method."),
    ] = 200,
    seeds: Annotated[str, typer.Option(help="Each trains our model and the classifier once.")] = "0",
    encoder: Annotated[str, typer.Option(help="minilm, a folder or a hub name.")] = "minilm",
    precision: Annotated[str, typer.Option(help="auto, float32 or bfloat16.")] = "auto",
    limit: Limit = None,
    device: Device = "auto",
) -> None:
    """Our words against LIME, SHAP, gradients, occlusion and attention: the same encoder, documents and token truth."""
    from exaudit.benchmark.race import METHODS, Race, RaceSettings, race
    from exaudit.cli.outputs import check_folder
    from exaudit.model.settings import Settings

    settings = RaceSettings(
        model=Settings(encoder=encoder, tune_encoder=True, precision=precision, device=device),
        methods=METHODS if methods is None else tuple(_list(methods)),
        documents=documents,
        seeds=tuple(_numbers(seeds)),
    )
    check_folder(out, *(folders or ()))
    done = race(_read(folders, tasks, samples, limit), out, settings, tell=say)
    _show_race(Race.read(out, done), out)


@app.command()
def show(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The --out of a benchmark, finished or not.")],
) -> None:
    """The table once more, as far as a benchmark has come, and its files written again; nothing is run."""
    from exaudit.benchmark.pages import WordResults
    from exaudit.benchmark.race import Race

    raced = Race.read(out)
    if raced.results:
        _show_race(raced, out)
    if not raced.results or any((out / "runs").glob("*.json")):  # words says what is wrong with an empty one
        _show(WordResults.read(out), out)


def _show_race(results: Race, out: Path) -> None:
    from exaudit.benchmark.race_pages import race_text, write_race

    tell(race_text(results, width=shutil.get_terminal_size((120, 24)).columns))
    say("\nwritten: " + ", ".join(map(str, write_race(results, out))))


def _show(results: WordResults, out: Path) -> None:
    tell(results.text(shutil.get_terminal_size((120, 24)).columns))
    say("\nwritten: " + ", ".join(map(str, results.write(out))))


def _read(
    folders: list[Path] | None, tasks: str | None, samples: str | None, limit: int | None
) -> list[Task]:
    """The tasks of the folders, and those that are built in."""
    from exaudit.benchmark.task import read_tasks, sample_task

    found = read_tasks(folders or [], _list(tasks or ""), limit=limit, tell=say)
    return found + [sample_task(name, limit=limit) for name in _samples(samples or "")]


def _samples(names: str) -> list[str]:
    from exaudit.data.sample import SAMPLE_SIZES

    return list(SAMPLE_SIZES) if names == "all" else _list(names)


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    from exaudit.benchmark.choices import LARGEST_SEED, check_seeds
    from exaudit.errors import SettingError

    parts, longest = _list(text), len(str(LARGEST_SEED))  # Python reads no number of thousands of digits
    if not parts or not all(part.isdecimal() and len(part) <= longest for part in parts):
        raise SettingError(f"--seeds is {text!r}; give whole numbers from 0 to {LARGEST_SEED}, as in 0,1,2")
    numbers = [int(part) for part in parts]
    check_seeds(numbers)
    return numbers
