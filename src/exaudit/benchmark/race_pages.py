"""A race for people: a table for the terminal and as Markdown, a picture, and all of it as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

from exaudit._files import make_folder, replace_file, write_json
from exaudit._tables import Line, aligned, escaped, markdown_table
from exaudit.benchmark.race import OURS, Race

__all__ = ["race_markdown", "race_text", "write_race"]

# For tables, and, short, for plots.
NAMES = {
    "decomposition": ("decomposition (ours)", "ours"),
    "knn": ("K-NN (ours)", "K-NN"),
    "gradient-x-input": ("gradient x input", "grad x in"),
    "integrated-gradients": ("integrated gradients", "IG"),
    "occlusion": ("occlusion", "occlusion"),
    "lime": ("LIME", "LIME"),
    "shap": ("SHAP", "SHAP"),
    "attention": ("attention", "attention"),
}
COLUMNS = {
    "AP": ("ap",),
    "AP, ranked": ("ap_ranked",),
    "F1": ("natural", "f1"),
    "F0.5": ("natural", "f0.5"),
    "F1, tuned": ("tuned", "f1"),
    "F0.5, tuned": ("tuned", "f0.5"),
    "documents": ("document_accuracy",),
}
SECONDS = {"seconds": ("seconds", "times ours"), "seconds_batched": ("batched", "times ours")}
READ = (
    "Ours learns from document labels alone; the others explain a classifier of the same encoder and documents.",
    "AP: average precision of the word scores as they are. AP, ranked: words of documents decided negative come last.",
    "F1, F0.5: words above the natural boundary, which for explainers is zero, in documents decided positive.",
    "tuned: above the boundary that is best on the TOKEN LABELS of dev, which no method has otherwise.",
    "documents: accuracy of the document decisions. All others in percent; * is the best of a column.",
    "seconds: to explain one document by itself. batched: for each document where all are given together, which ours "
    "reads in batches, and the packages one after another. times ours: as multiples of the first method's seconds.",
)
SEEDS = "A cell is the mean over seeds, with the lowest and the highest in brackets."


def race_text(race: Race, *, width: int = 120) -> str:
    """Tables, one a task, for a terminal."""
    read = "\n".join(line for note in _read(race) for line in wrap(note, width, subsequent_indent="  "))
    tables = ["\n".join([task, *aligned(_lines(race, task), width)]) for task in race.tasks]
    return "\n\n".join([read, *tables, *race.notes])


def race_markdown(race: Race, *, picture: str | None = None) -> str:
    """The same as a page. `picture` is the name of an svg file beside it."""
    parts = ["# Explainers on the same documents", "\n".join(f"- {escaped(note)}" for note in _read(race))]
    if picture is not None:
        parts.append(f"![F0.5 of every method on every task]({picture})")
    for task in race.tasks:
        facts = "\n".join(f"- {escaped(fact)}" for fact in _facts(race, task))
        parts += [f"## {escaped(task)}", facts, markdown_table(_lines(race, task))]
    parts += [f"- {escaped(note)}" for note in race.notes]
    return "\n\n".join(parts) + "\n"


def write_race(race: Race, folder: Path) -> list[Path]:
    """explainers.md, explainers.svg (where it can be drawn) and explainers.json."""
    make_folder(folder)
    drawn = _picture(race)
    pages = {} if drawn is None else {"explainers.svg": drawn}
    pages["explainers.md"] = race_markdown(race, picture=next(iter(pages), None))
    for name, text in pages.items():
        with replace_file(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    write_json(folder / "explainers.json", race.to_json())
    return [folder / name for name in (*pages, "explainers.json")]


def _read(race: Race) -> Iterator[str]:
    """How to read the tables."""
    yield from READ
    if len({result["seed"] for result in race.results}) > 1:
        yield SEEDS


def _lines(race: Race, task: str) -> list[Line]:
    """A row for each method, the best of each column marked."""
    best = {
        name: max(
            (float(np.mean(own)) for m in race.methods if (own := race.values(task, m, *place))), default=None
        )
        for name, place in COLUMNS.items()
    }
    lines: list[Line] = [["method", *COLUMNS, *(name for pair in SECONDS.values() for name in pair)]]
    for method in race.methods:
        cells = [_cell(race.values(task, method, *place), best[name]) for name, place in COLUMNS.items()]
        for kind in SECONDS:
            cells += _times(race.values(task, method, kind), race.values(task, OURS[0], kind))
        if race.values(task, method, "seconds"):
            lines.append([NAMES[method][0], *cells])
    return lines


def _times(seconds: Sequence[float], ours: Sequence[float]) -> tuple[str, str]:
    """Their mean, and how many times ours it is."""
    if not seconds:
        return "-", "-"
    mean = float(np.mean(seconds))
    return f"{mean:.4f}", f"{mean / np.mean(ours):,.1f}" if ours else "-"


def _cell(values: Sequence[float], best: float | None) -> str:
    if not values:
        return "-"
    mean, low, high = (f"{100 * value:.1f}" for value in (float(np.mean(values)), min(values), max(values)))
    text = mean if len(values) == 1 else f"{mean} ({low}-{high})"
    return f"{text} *" if best == float(np.mean(values)) else text


def _facts(race: Race, task: str) -> Iterator[str]:
    """How the figures came about."""
    mine = [result for result in race.results if result["task"]["name"] == task]
    first = mine[0]
    sizes = ", ".join(f"{name} {count:,}" for name, count in first["task"]["documents"].items())
    yield f"documents: {sizes}; explained: {first['documents']:,} of test, {first['dev_documents']:,} of dev"
    seeds = sorted({result["seed"] for result in mine})
    yield f"encoder {first['settings']['encoder']}, seeds {', '.join(map(str, seeds))}"
    yield f"seconds on {', '.join(dict.fromkeys(result['device'] for result in mine))}"


def _picture(race: Race) -> str | None:
    """Drawn where the reports' own means of drawing can be had; they need more than the race does."""
    try:
        from exaudit.analyse.report.blocks import Plot, Series
        from exaudit.analyse.report.svg import panels
    except ImportError:
        return None
    plots = []
    for task in race.tasks:
        series = []
        for name, place in (("natural boundary", "natural"), ("boundary tuned on dev", "tuned")):
            found = [race.values(task, method, place, "f0.5") for method in race.methods]
            heights = tuple(100 * float(np.mean(own)) if own else None for own in found)
            if any(height is not None for height in heights):
                series.append(Series(name, tuple(map(float, range(len(heights)))), heights))
        told = "; ".join(
            f"{one.name}: "
            + ", ".join(
                f"{NAMES[method][0]} {'none' if y is None else f'{y:.1f}'}"
                for method, y in zip(race.methods, one.y, strict=True)
            )
            for one in series
        )
        names = tuple(NAMES[method][1] for method in race.methods)
        plots.append(
            Plot(
                task,
                f"{told}.",
                "method",
                "F0.5, in percent",
                tuple(series),
                kind="bars",
                y_range=(0.0, 100.0),
                x_names=names,
            )
        )
    return panels("F0.5 of every method on every task", plots, across=2)
