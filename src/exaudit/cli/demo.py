"""exaudit demo: the main job on the built-in sample, in a minute or two."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
        Path, typer.Option("--out", "-o", help="Folder for the sample files and the model.")
    ] = Path("demo"),
    epochs: Annotated[int, typer.Option(help="Training epochs.")] = 8,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of training.")] = 0,
) -> None:
    """Train on document labels alone, then show which words the model found, and how right it was."""
    from rich.console import Console

    from exaudit.analyse.evaluation import Evaluation
    from exaudit.data.sample import sample_splits, write_sample
    from exaudit.model.labeler import Labeler

    out.mkdir(parents=True, exist_ok=True)
    write_sample(out / "data", seed=seed)
    splits = sample_splits("reviews", seed=seed)
    say(f"training on {len(splits['train'])} short reviews; only the reviews are labelled, no word is")
    labeler = Labeler(epochs=epochs, seed=seed)
    labeler.fit(
        splits["train"],
        dev=splits["dev"],
        report=lambda r: say(
            f"epoch {r['epoch']}/{epochs}  dev accuracy {100 * r['document']['accuracy']:.1f}"
        ),
    )
    labelled = labeler.label(splits["test"])
    console = Console()
    console.print(
        f"\nReviews never seen in training. [bold]{'Green'}[/]: words the model says carry", end=" "
    )
    console.print("the positive label; underlined: words that truly do.\n")
    for scores in labelled[:6]:
        truth = labeler.names_.token_targets(scores.document)
        console.print(f"[{labeler.names_.name(scores.decision)}] ", style="dim", end="", markup=False)
        console.print(_coloured(scores, truth))
    console.print(
        "\n" + Evaluation.of(labelled, labeler.names_).render() + "\n", markup=False, highlight=False
    )
    model = out / "model"
    if model.exists():
        shutil.rmtree(model)
    labeler.save(model)
    console.print(
        f"The model is in {model}, the sample files in {out / 'data'}. Try next:\n"
        f"  exaudit label {model} {out / 'data'}/reviews.test.csv --out {out}/labelled.jsonl\n"
        f"  exaudit evaluate {model} {out / 'data'}/reviews.test.jsonl --ci\n"
        f"  exaudit train YOUR_FILE.csv --out model/          (a text column and a label column)",
        markup=False,
        highlight=False,
    )


def _coloured(scores: TokenScores, truth: NDArray[np.int8] | None) -> Text:
    """The words of a document, coloured by decision and underlined by truth."""
    from rich.text import Text

    text = Text()
    for n, token in enumerate(scores.document.tokens):
        style = "bold green" if scores.decisions[n] else ""
        if truth is not None and truth[n]:
            style += " underline"
        text.append(token, style=style.strip()).append(" ")
    return text
