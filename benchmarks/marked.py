"""What a few marked documents give: F of the words on test over 0, 10, 20, 50 and 200 marked documents of dev.

    python benchmarks/marked.py TASKS TASK=MODEL... --out marked

TASKS is a folder of tasks as for `exaudit benchmark words`, with token labels in dev, too. MODEL is a model folder, or
a file of scores that an earlier run left in OUT (.npz: `dev` and `test`, the scores of all words, and `boundary`;
`boundary_0.5` and `boundary_1`, where they differ for F0.5 and F1). A task may be named more than once, as in
hedges=frozen hedges=tuned. The built-in samples are tasks, too: reviews, learner, requests and complaints.

Three ways are compared, each over many draws of the documents:

best       random documents, the single boundary with the best F on them
random     random documents, the boundary (and the smoothing) of `exaudit boundary`
suggested  the same with the documents of `exaudit suggest`

Writes OUT/marked.md, marked.svg and marked.json. `held` is how often the F of the boundary on all of dev lies in the
interval that `exaudit boundary` tells; 95% is what it promises. No boundary is chosen by test; the rule itself, and how
far it is pulled to the start, were chosen by looking at test words of FCE, hedges and sentiment diffs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit._files import replace_file
from exaudit._tables import markdown_table
from exaudit.analyse.report.blocks import Plot, Series
from exaudit.analyse.report.svg import panels
from exaudit.benchmark.task import Task, read_tasks, sample_task
from exaudit.data.document import Document
from exaudit.data.sample import SAMPLE_SIZES
from exaudit.metrics import best_offset, f_beta
from exaudit.model.boundaries import start_before_marking
from exaudit.model.folder import load_model
from exaudit.model.marked import marked_measures, marked_offset, marked_smoothing, smoothed
from exaudit.model.scores import MultiScores, Scores, TokenScores, running_mean
from exaudit.model.suggestion import choose

SIZES = (10, 20, 50, 200)
BETAS = (0.5, 1.0)
WAYS = ("best", "random", "suggested")
POOL = 1000  # documents of dev to draw from, at most
HELD = 20  # draws whose interval is looked at
Table = NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """The scores and the truth of one model's words: of documents (N, K) each."""

    name: str
    task: Task
    dev: list[Table]
    test: list[Table]
    boundaries: dict[float, tuple[float, ...]]  # before any word was marked, for each beta

    def truth(self, documents: Sequence[Document]) -> list[NDArray[np.int8]]:
        tables = [self.task.labels.token_targets(document) for document in documents]
        return [table for table in tables if table is not None]

    def labelled(self, rows: Sequence[int], beta: float) -> list[Scores]:
        """Documents of dev as a model would label them; the id is the row."""
        assert self.task.marked_dev is not None
        made: list[Scores] = []
        for row in rows:
            document = Document(str(row), self.task.marked_dev[row].text, self.task.marked_dev[row].tokens)
            views = tuple(
                TokenScores(document, 0.0, np.zeros(len(own), np.float32), own.astype(np.float32), boundary)
                for own, boundary in zip(self.dev[row].T, self.boundaries[beta], strict=True)
            )
            binary = self.task.labels.kind == "binary"
            made.append(
                views[0] if binary else MultiScores(document, views, self.task.labels.kind == "multiclass")
            )
        return made


def read(tasks: dict[str, Task], given: str, out: Path, device: str) -> Scored:
    name, _, place = given.partition("=")
    if name not in tasks or not place:
        raise SystemExit(f"{given}: give TASK=MODEL; the tasks are {', '.join(tasks)}")
    task, path = tasks[name], Path(place)
    if task.marked_dev is None:
        raise SystemExit(f"{name}: its dev documents have no token labels, so there is nothing to draw")
    splits = {"dev": task.marked_dev, "test": task.test}
    if path.suffix != ".npz":
        model = load_model(path, device=device)
        scores = {
            split: np.concatenate(
                [np.stack([v.weighed for v in own.views], 1) for own in model.label(documents)]
            )
            for split, documents in splits.items()
        }
        starts = {f"boundary_{beta:g}": np.array(start_before_marking(model, beta)) for beta in BETAS}
        arrays: dict[str, Any] = {**scores, **starts, "boundary": np.array(model.word_boundaries)}
        np.savez_compressed(out / f"{name}.{path.name}.npz", **arrays)
    else:
        with np.load(path) as file:
            arrays = dict(file)
    cut: dict[str, list[Table]] = {}
    for split, documents in splits.items():
        ends = np.cumsum([len(d.tokens) for d in documents])
        words = arrays[split].astype(np.float64).reshape(len(arrays[split]), -1)  # (W, K)
        if len(words) != ends[-1]:
            raise SystemExit(f"{path}: {len(words):,} scores for the {ends[-1]:,} words of {name}, {split}")
        cut[split] = np.split(words, ends[:-1])
    starts = {beta: np.atleast_1d(arrays.get(f"boundary_{beta:g}", arrays["boundary"])) for beta in BETAS}
    boundary = {beta: tuple(own.tolist()) for beta, own in starts.items()}
    return Scored(f"{name} {path.stem}", task, cut["dev"], cut["test"], boundary)


def score(
    tables: Sequence[Table], truth: Sequence[NDArray[np.int8]], at: Sequence[float], beta: float
) -> float:
    """F_beta in percent, the mean over the classes that have a true word."""
    words, true = np.concatenate(tables), np.concatenate(truth)  # (W, K) each
    return 100 * float(
        np.mean([f_beta(words[:, k] > at[k], true[:, k], beta) for k in range(len(at)) if true[:, k].any()])
    )


def averaged(tables: Sequence[Table], widths: Sequence[int]) -> list[Table]:
    """The scores of documents, each class averaged over as many words as it asks for."""
    if max(widths) == 1:
        return list(tables)
    return [np.stack([running_mean(own, w) for own, w in zip(t.T, widths, strict=True)], 1) for t in tables]


def measure(scored: Scored, sizes: Sequence[int], draws: int, beta: float) -> list[dict[str, Any]]:
    """The figures of every size and way; size 0 is the boundary that the model came with."""
    dev_truth, test_truth = scored.truth(scored.task.marked_dev or []), scored.truth(scored.task.test)
    default = score(scored.test, test_truth, scored.boundaries[beta], beta)
    lines: list[dict[str, Any]] = [{"size": 0, "way": way, "mean": default, "low": default} for way in WAYS]
    for size in sizes:
        found: dict[str, list[float]] = {way: [] for way in WAYS}
        held: dict[str, list[bool]] = {way: [] for way in WAYS}
        for seed in range(draws if size < len(dev_truth) else 1):
            generator = np.random.default_rng(seed)
            pool = generator.permutation(len(dev_truth))[: max(POOL, size)].tolist()
            chosen = choose(scored.labelled(pool, beta), scored.task.labels, size, seed=seed)
            picked = [int(one.scores.document.id) for one in chosen]
            weights = np.array([one.stands_for for one in chosen])
            for way, rows, own in (
                ("best", pool[:size], None),
                ("random", pool[:size], None),
                ("suggested", picked, weights),
            ):
                boundaries, widths, inside = [], [], []
                for k, start in enumerate(scored.boundaries[beta]):
                    words, marks = [scored.dev[i][:, k] for i in rows], [dev_truth[i][:, k] for i in rows]
                    if way == "best":
                        widths.append(1)
                        boundaries.append(best_offset(np.concatenate(words), np.concatenate(marks), beta))
                        continue
                    widths.append(marked_smoothing(words, marks, start, beta, own))
                    words, start = smoothed(words, start, widths[-1])
                    boundaries.append(marked_offset(words, marks, start, beta, own))
                    if seed < HELD and any(one.any() for one in marks):
                        _, low, high = marked_measures(words, marks, start, beta, own)["f"]
                        whole = (
                            averaged([table[:, [k]] for table in scored.dev], widths[-1:]),
                            [table[:, [k]] for table in dev_truth],
                        )
                        inside.append(
                            100 * low - 1e-9 <= score(*whole, boundaries[-1:], beta) <= 100 * high + 1e-9
                        )
                found[way].append(score(averaged(scored.test, widths), test_truth, boundaries, beta))
                held[way] += inside
        for way, values in found.items():
            line = {
                "size": size,
                "way": way,
                "mean": float(np.mean(values)),
                "low": float(np.quantile(values, 0.1)),
            }
            lines.append(line | ({"held": float(np.mean(held[way]))} if held[way] else {}))
        print(
            f"{scored.name}, F{beta:g}, {size}: "
            + ", ".join(f"{way} {np.mean(found[way]):.1f}" for way in WAYS)
        )
    return lines


def write(out: Path, results: dict[tuple[str, float], list[dict[str, Any]]], draws: int) -> None:
    rows = [["model", "F", "documents", *WAYS, "held, random", "held, suggested"]]
    plots = []
    for (name, beta), lines in results.items():
        sizes = sorted({line["size"] for line in lines})
        by = {(line["size"], line["way"]): line for line in lines}
        for size in sizes:
            cells = [f"{by[size, way]['mean']:.1f} ({by[size, way]['low']:.1f})" for way in WAYS]
            held = [
                f"{100 * by[size, way]['held']:.0f}" if "held" in by[size, way] else "-" for way in WAYS[1:]
            ]
            rows.append([name, f"F{beta:g}", str(size), *cells, *held])
        series = tuple(
            Series(way, tuple(map(float, range(len(sizes)))), tuple(by[size, way]["mean"] for size in sizes))
            for way in WAYS
        )
        told = "; ".join(
            f"{one.name}: " + ", ".join(f"{y:.1f}" for y in one.y if y is not None) for one in series
        )
        plots.append(
            Plot(
                f"{name}, F{beta:g}",
                f"On test, in percent. {told}.",
                "marked documents",
                f"F{beta:g} on test",
                series,
                x_names=tuple(map(str, sizes)),
            )
        )
    notes = (
        f"F of the words on test, in percent: the mean over {draws} draws of the documents, and in brackets what nine "
        "in ten draws exceed. 0: the boundary that training set. best: the single best boundary on random documents. "
        "random: `exaudit boundary` on random documents. suggested: the same on those of `exaudit suggest`. held: how "
        "many intervals of 100 contain the F-score of their boundary on all of dev."
    )
    picture = "![F over the number of marked documents](marked.svg)"
    text = "\n\n".join(["# A few marked documents", notes, markdown_table(rows), picture]) + "\n"
    found = [{"model": name, "beta": beta, "lines": lines} for (name, beta), lines in results.items()]
    pages = {
        "md": text,
        "svg": panels("A few marked documents", plots, across=2),
        "json": json.dumps(found, indent=1),
    }
    for ending, page in pages.items():
        with replace_file(out / f"marked.{ending}") as temporary:
            temporary.write_text(page, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", type=Path)
    parser.add_argument("models", nargs="+", metavar="TASK=MODEL")
    parser.add_argument("--out", type=Path, default=Path("marked"))
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=SIZES)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    named = {given.partition("=")[0] for given in options.models}
    samples = named & SAMPLE_SIZES.keys()
    tasks = {name: sample_task(name) for name in samples}
    if others := sorted(named - samples):
        tasks |= {task.name: task for task in read_tasks(options.tasks, others)}
    results = {}
    for given in options.models:
        scored = read(tasks, given, options.out, options.device)
        for beta in BETAS:
            results[scored.name, beta] = measure(scored, options.sizes, options.draws, beta)
            write(options.out, results, options.draws)


if __name__ == "__main__":
    main()
