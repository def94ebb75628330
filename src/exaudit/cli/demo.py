"""exaudit demo: the main job on the built-in sample, in a minute or two."""

from __future__ import annotations

import shutil
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
    epochs: Annotated[int, typer.Option(help="Training epochs; half as many for fine-tuning.")] = 12,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of training.")] = 0,
) -> None:
    """Learn from document labels alone which words are wrong, and compare with the truth."""
    from rich.console import Console

    from exaudit.analyse.evaluation import Evaluation
    from exaudit.data.sample import sample_splits, write_sample
    from exaudit.model.labeler import Labeler

    out.mkdir(parents=True, exist_ok=True)
    write_sample(out / "data", seed=seed)
    splits = sample_splits("learner", seed=seed)
    say(
        f"{len(splits['train']):,} sentences by learners of English: i has an error somewhere, c has none.\n"
        "The model is told which sentences, never which words."
    )
    base = Labeler(epochs=epochs, seed=seed)
    base.fit(splits["train"], dev=splits["dev"], report=lambda record: _report("document labels", record))
    say("fine-tuning with the min-max loss: most words of any sentence are right")
    sharp = Labeler(loss="min-max", epochs=max(1, epochs // 2), seed=seed)
    sharp.fit(splits["train"], dev=splits["dev"], init=base, report=lambda record: _report("min-max", record))

    console = Console()
    labelled = sharp.label(splits["test"])
    if console.is_terminal:
        console.print("\nSentences never seen. [bold white on blue]Marked[/]: the model's words. ", end="")
        console.print("[underline]Underlined[/]: the truth.\n")
    else:  # no colours in a file or a log
        console.print("\nSentences never seen. [so]: the model's words. _so_: the truth.\n", markup=False)
    for scores in labelled[:8]:
        truth = sharp.names_.token_targets(scores.document)
        console.print(f"  {sharp.names_.name(scores.decision)}  ", style="dim", end="", markup=False)
        console.print(_coloured(scores, truth, plain=not console.is_terminal))
    for name, model in (("base", base), ("min-max", sharp)):
        table = Evaluation.of(model.label(splits["test"]), model.names_).render()
        console.print(f"\n{name}: test sentences, in percent\n{table}", markup=False, highlight=False)
    for name, model in (("model", base), ("model-mm", sharp)):
        shutil.rmtree(out / name, ignore_errors=True)
        model.save(out / name)
    data = out / "data"
    lines = [
        f"\nModels are in {out}/model and {out}/model-mm, files to play with in {data}. Try next:",
        f"  exaudit label {out}/model-mm {data}/learner.test.tsv --out {out}/labelled.jsonl",
        f"  exaudit evaluate {out}/model-mm {data}/learner.test.tsv --ci",
        f"  exaudit support build {out}/model-mm {data}/learner.train.tsv",
        f'  exaudit audit {out}/model-mm "She have two brother ."',
        "  exaudit train YOUR_FILE.csv --out model/     (a text column and a label column)",
    ]
    typer.echo("\n".join(lines))


def _report(what: str, record: dict[str, Any]) -> None:
    say(
        f"{what}: epoch {record['epoch']}  loss {record['loss']:.3f}  dev f1 {100 * record['document']['f1']:.1f}"
    )


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
