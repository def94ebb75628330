"""The runs of a benchmark for people and programs: a table on screen and in Markdown, a plot, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from exaudit._files import replace_file, write_json
from exaudit._tables import aligned, escaped, markdown_table
from exaudit.benchmark.words import WordRun, read_runs, read_settings

__all__ = ["WordResults"]

READ = (
    "Every model learnt from document labels alone: the token labels of train and dev were taken away first.",
    "AP: average precision of the word scores, which needs no boundary. Then F1 / F0.5 of the words above a boundary.",
    "default: the boundaries that training sets, F1 at the one for F1 and F0.5 at the one for F0.5. zero: the paper's.",
    "best: READ OFF TEST, by the token labels of the test documents, one boundary for F1 and one for F0.5. It shows "
    "what a perfect rule would give; it is not a result, since nobody who lacks the truth can have it.",
    "flagged: the share of test words above the boundary for F0.5, and that in documents of the class / in others.",
    "documents: F1 of the document decisions. seconds: of training (min-max with the frozen model before it) / of "
    "labelling test. All others in percent.",
)
SEEDS = "A cell is the mean over seeds, with the lowest and the highest in brackets."
CLASSES = (
    "Of more than two classes, each is measured against the rest, and a figure is the mean over classes."
)
ACROSS = 3  # panels of the plot side by side
Get = Callable[[WordRun], float | None]

FIGURES: dict[str, Get] = {
    "ap": lambda run: run.words["ap"],
    "default_f1": lambda run: run.words["default"]["f1"],
    "default_f0.5": lambda run: run.words["default"]["f0.5"],
    "zero_f1": lambda run: run.words["zero"]["f1"],
    "zero_f0.5": lambda run: run.words["zero"]["f0.5"],
    "best_f1": lambda run: run.words["best"]["f1"],
    "best_f0.5": lambda run: run.words["best"]["f0.5"],
    "flagged": lambda run: run.words["flagged"]["all"],
    "flagged_positive": lambda run: run.words["flagged"]["positive"],
    "flagged_negative": lambda run: run.words["flagged"]["negative"],
    "document_f1": lambda run: run.documents["f1"],
    "document_accuracy": lambda run: run.documents["accuracy"],
    "train_seconds": lambda run: run.seconds["train"],
    "label_seconds": lambda run: run.seconds["label"],
}
COLUMNS = {
    "AP": ("ap",),
    "default F1 / F0.5": ("default_f1", "default_f0.5"),
    "zero F1 / F0.5": ("zero_f1", "zero_f0.5"),
    "best F1 / F0.5 (read off test)": ("best_f1", "best_f0.5"),
    "flagged": ("flagged",),
    "in class / others": ("flagged_positive", "flagged_negative"),
    "documents": ("document_f1",),
    "seconds": ("train_seconds", "label_seconds"),
}
BARS = {
    "ap": "AP",
    "default_f1": "F1, default boundary",
    "best_f1": "F1, best boundary (read off test)",
    "default_f0.5": "F0.5, default boundary",
    "best_f0.5": "F0.5, best boundary (read off test)",
}


@dataclass(frozen=True)
class WordResults:
    """The finished runs of a benchmark, and the settings that they share."""

    settings: dict[str, Any]
    runs: list[WordRun]

    @classmethod
    def read(cls, out: Path) -> WordResults:
        """What a folder holds so far."""
        runs = read_runs(out)
        return cls(read_settings(out), runs)

    @property
    def groups(self) -> dict[tuple[str, str], list[WordRun]]:
        """The runs of each task and recipe, one for each seed."""
        found: dict[tuple[str, str], list[WordRun]] = {}
        for run in self.runs:
            found.setdefault((run.task["name"], run.recipe), []).append(run)
        return found

    @property
    def tasks(self) -> dict[str, dict[str, Any]]:
        """What is known of each task."""
        return {run.task["name"]: run.task for run in self.runs}

    def text(self, width: int = 120) -> str:
        """The table for a terminal, with a line for each task before it."""
        notes = [f"{name}: {_size(task)}" for name, task in self.tasks.items()]
        told = [
            line for note in [*self._notes(), *notes] for line in wrap(note, width, subsequent_indent="  ")
        ]
        lines = [[", ".join(line[:2]), *line[2:]] for line in self._lines()]  # one name for each row
        return "\n".join([*told, "", *aligned(lines, width)])

    def markdown(self, picture: str | None = None) -> str:
        """The same as a page. `picture` is the name of the plot's file beside it."""
        facts = [f"- {escaped(note)}" for note in self._notes()]
        facts += [f"- encoder: {escaped(self._encoder())}"]
        facts += [f"- {escaped(name)}: {_size(task)}" for name, task in self.tasks.items()]
        facts += [f"- exaudit {version}" for version in sorted({run.version for run in self.runs})]
        parts = ["# Words from document labels", "\n".join(facts), markdown_table(self._lines())]
        parts += [] if picture is None else [f"![AP, F1 and F0.5 of every task and recipe]({picture})"]
        return "\n\n".join(parts) + "\n"

    def svg(self) -> str:
        """A panel for each task: AP, and F1 and F0.5 at the default boundary beside the best."""
        # Here, since the report's package needs more than a machine that only computes has.
        from exaudit.analyse.report.blocks import Plot, Series
        from exaudit.analyse.report.svg import panels

        groups, plots = self.groups, []
        for task in self.tasks:
            recipes = [recipe for name, recipe in groups if name == task]
            series = []
            for figure, bar in BARS.items():
                spreads = [_spread(groups[task, recipe], figure) for recipe in recipes]
                heights = tuple(None if spread is None else 100 * spread["mean"] for spread in spreads)
                series.append(Series(bar, tuple(map(float, range(len(recipes)))), heights))
            told = "; ".join(
                f"{one.name}: " + ", ".join("-" if y is None else f"{y:.1f}" for y in one.y) for one in series
            )
            plots.append(
                Plot(
                    task,
                    f"In percent, for {', '.join(recipes)}. {told}.",
                    "recipe",
                    "in percent",
                    tuple(series),
                    kind="bars",
                    y_range=(0.0, 100.0),
                    x_names=tuple(recipes),
                )
            )
        return panels("Words from document labels", plots, across=ACROSS)

    def to_json(self) -> dict[str, Any]:
        """All figures, as fractions of one: of every run, and over the seeds of each task and recipe."""
        return {
            "read": list(self._notes()),
            "settings": self.settings,
            "tasks": list(self.tasks.values()),
            "summary": [
                {
                    "task": task,
                    "recipe": recipe,
                    "seeds": [run.seed for run in runs],
                    **{figure: _spread(runs, figure) for figure in FIGURES},
                }
                for (task, recipe), runs in self.groups.items()
            ],
            "runs": [asdict(run) for run in self.runs],
        }

    def write(self, out: Path) -> list[Path]:
        """words.md, words.svg and words.json."""
        paths = {ending: out / f"words.{ending}" for ending in ("md", "svg", "json")}
        texts = {"md": self.markdown(paths["svg"].name), "svg": self.svg()}
        for ending, text in texts.items():
            with replace_file(paths[ending]) as temporary:
                temporary.write_text(text, encoding="utf-8")
        write_json(paths["json"], self.to_json())
        return list(paths.values())

    def _notes(self) -> Iterator[str]:
        yield from READ
        if any(len(runs) > 1 for runs in self.groups.values()):
            yield SEEDS
        if any(task["kind"] != "binary" for task in self.tasks.values()):
            yield CLASSES

    def _encoder(self) -> str:
        mark = self.settings.get("fingerprint")
        return str(self.settings["encoder"]) + (f", fingerprint {mark[:12]}" if mark else "")

    def _lines(self) -> list[list[str]]:
        lines = [["task", "recipe", "seeds", *COLUMNS]]
        for (task, recipe), runs in self.groups.items():
            cells = [" / ".join(_cell(runs, figure) for figure in figures) for figures in COLUMNS.values()]
            lines.append([task, recipe, ",".join(str(run.seed) for run in runs), *cells])
        return lines


def _size(task: dict[str, Any]) -> str:
    documents, words, positive = task["documents"], task["test_words"], task["test_positive_words"]
    return (
        f"{documents['train']:,} / {documents['dev']:,} / {documents['test']:,} documents to train, choose and test; "
        f"{len(task['classes'])} classes; {positive:,} of {words:,} test words positive ({positive / words:.1%})"
    )


def _spread(runs: Sequence[WordRun], figure: str) -> dict[str, float] | None:
    """The mean over the runs where the figure is known, the lowest and the highest."""
    known = [value for run in runs if (value := FIGURES[figure](run)) is not None]
    return {"mean": float(np.mean(known)), "low": min(known), "high": max(known)} if known else None


def _cell(runs: Sequence[WordRun], figure: str) -> str:
    spread = _spread(runs, figure)
    if spread is None:
        return "-"
    factor = 1 if figure.endswith("seconds") else 100
    mean, low, high = (f"{factor * spread[name]:.1f}" for name in ("mean", "low", "high"))
    return mean if len(runs) == 1 or factor == 1 else f"{mean} ({low}-{high})"
