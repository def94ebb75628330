"""exaudit demo: the main job on the built-in sample, in a minute or two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exaudit.cli.options import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.text import Text

    from exaudit.model.scores import TokenScores

__all__ = ["demo"]


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the sample files and the models.")
    ] = Path("demo"),
    epochs: Annotated[int, typer.Option(min=1, help="Training epochs; half as many for fine-tuning.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample and of training.")] = 0,
) -> None:
    """Learn from document labels alone which words are wrong, and compare with the truth."""
    from rich.console import Console

    from exaudit.analyse.evaluation import Evaluation
    from exaudit.cli.outputs import check_folder
    from exaudit.data.sample import sample_splits, write_sample
    from exaudit.model.folder import save_model
    from exaudit.model.options import RunOptions
    from exaudit.model.settings import Settings
    from exaudit.model.train import train

    check_folder(out)
    check_folder(out / "data")
    for name in ("model", "model-mm"):
        _check_place(out / name)
    write_sample(out / "data", seed=seed)
    splits = sample_splits("learner", seed=seed)
    say(
        f"{len(splits['train']):,} sentences by learners of English: i has an error somewhere, c has none.\n"
        "The model is told which sentences, never which words."
    )
    data, dev = splits["train"], splits["dev"]
    models = {
        "model": train(
            Settings(epochs=epochs, seed=seed),
            data,
            dev,
            options=RunOptions(report=_reporter("document labels")),
        )
    }
    say("fine-tuning with the min-max loss: most words of any sentence are right")
    models["model-mm"] = train(
        Settings(loss="min-max", epochs=max(1, epochs // 2), seed=seed),
        data,
        dev,
        init=models["model"],
        options=RunOptions(report=_reporter("min-max")),
    )

    console = Console()
    shown = models["model-mm"]
    names = shown.labels.views[0]
    if console.is_terminal:
        console.print("\nSentences never seen. [bold white on blue]Marked[/]: the model's words. ", end="")
        console.print("[underline]Underlined[/]: the truth.\n")
    else:  # no colours in a file or a log
        console.print("\nSentences never seen. [so]: the model's words. _so_: the truth.\n", markup=False)
    for (scores,) in (labelled.views for labelled in shown.label(splits["test"][:8])):
        truth = names.token_targets(scores.document)
        console.print(f"  {names.name(scores.decision)}  ", style="dim", end="", markup=False)
        console.print(_coloured(scores, truth, plain=not console.is_terminal))
    for name, what in (("model", "document labels"), ("model-mm", "then min-max")):
        table = Evaluation.of(models[name].label(splits["test"]), models[name].labels).render()
        console.print(f"\n{what}: test sentences, in percent\n{table}", markup=False, highlight=False)
        model = replace(models[name], record={**models[name].record, "demo": True})
        if aside := save_model(model, out / name, overwrite=True):
            say(f"the model that was there, with its support set, is now {aside}")
    files = out / "data"
    lines = [
        f"\nModels are in {out}/model and {out}/model-mm, files to play with in {files}. Try next:",
        f"  exaudit label {out}/model-mm {files}/learner.test.tsv --out {out}/labelled.jsonl",
        f"  exaudit evaluate {out}/model-mm {files}/learner.test.tsv --ci",
        f"  exaudit support build {out}/model-mm {files}/learner.train.tsv",
        f'  exaudit audit {out}/model-mm "She have two brother ."',
        "  exaudit train YOUR_FILE.csv --out model/     (a text column and a label column)",
    ]
    typer.echo("\n".join(lines))


def _check_place(path: Path) -> None:
    """Only a model of an earlier demo may be replaced."""
    from exaudit.errors import SettingError
    from exaudit.model.folder import check_place, read_description

    check_place(path, overwrite=True)
    if (path / "model.json").is_file() and not read_description(path)["record"].get("demo"):
        raise SettingError(f"{path} holds a model that the demo did not make; choose another `out`")


def _reporter(what: str) -> Callable[[dict[str, Any]], None]:
    def report(record: dict[str, Any]) -> None:
        f1 = 100 * record["document"]["f1"]
        say(f"{what}: epoch {record['epoch']}  loss {record['loss']:.3f}  dev f1 {f1:.1f}")

    return report


def _coloured(scores: TokenScores, truth: NDArray[np.int8] | None, *, plain: bool) -> Text:
    """The words of a document, coloured by decision and underlined by truth; or in signs, where there is no colour."""
    from rich.text import Text

    text = Text()
    for n, token in enumerate(scores.document.tokens):
        style = "bold white on blue" if scores.decisions[n] else ""
        if truth is not None and truth[n]:
            style += " underline"
        if plain:
            token = f"_{token}_" if truth is not None and truth[n] else token
            token = f"[{token}]" if scores.decisions[n] else token
        text.append(token, style=style.strip()).append(" ")
    return text
