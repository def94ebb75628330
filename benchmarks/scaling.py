"""How the main verbs grow: documents against seconds and peak memory, each point in a process of its own.

    python benchmarks/scaling.py --work DIR --out docs/results/scaling      all points, the tables and the plots
    python benchmarks/scaling.py --work DIR --verbs label evaluate          some verbs; a stopped run goes on
    python benchmarks/scaling.py --largest 1000 --work DIR                  a quick try

Every point is a file in DIR, and one that is there is not measured again. The documents are the first ten words of
sentences of the built-in sample `learner`; the model is frozen MiniLM with 1,000 filters. Seconds and memory are those
of the whole command, from its start to its end. Linux and macOS.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SMALL, HELD_OUT = 1_000, 300  # documents of the support set of `knn fit`; of the model's training


@dataclass(frozen=True)
class Verb:
    """A verb, what its documents are, and the largest number of them, which three orders of magnitude lead to."""

    name: str
    documents: str
    largest: int
    command: Callable[[Path, int], list[str]]

    def sizes(self, largest: int) -> list[int]:
        sizes = [self.largest // 1000, self.largest // 100, self.largest // 10, self.largest]
        return [size for size in sizes if size <= largest]


VERBS = [
    Verb("train", "trained on", 30_000, lambda w, n: ["train", sample(w, n), "-o", f"{w}/trained", "--overwrite",
                                                      "--cache", f"{w}/features", "--epochs", "4"]),
    Verb("label", "labelled", 100_000, lambda w, n: ["label", f"{w}/model", sample(w, n), "-o", f"{w}/labels.jsonl"]),
    Verb("evaluate", "evaluated", 100_000, lambda w, n: ["evaluate", f"{w}/model", sample(w, n)]),
    Verb("features", "labelled", 30_000, lambda w, n: ["features", f"{w}/model", sample(w, n)]),
    Verb("support build", "of the support set", 30_000, lambda w, n: ["support", "build", f"{w}/model", sample(w, n),
                                                                      "--support", f"{w}/support-{n}", "--restart"]),
    Verb("audit", "of the support set", 30_000, lambda w, n: ["audit", f"{w}/model", "There are many informations .",
                                                              "--text", "--support", built(w, n)]),
    Verb("knn fit", "held out", 10_000, lambda w, n: ["knn", "fit", f"{w}/model", sample(w, n, "held"),
                                                      "--support", built(w, SMALL)]),
]  # fmt: skip


def main() -> None:
    names = [verb.name for verb in VERBS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder for the points and what they need")
    parser.add_argument(
        "--out", type=Path, help="folder for the tables and the plots; by default that of --work"
    )
    parser.add_argument("--verbs", nargs="+", default=names, choices=names, metavar="VERB")
    parser.add_argument("--largest", type=int, default=10**9, help="leave out points of more documents")
    parser.add_argument("--machine", default=f"{os.cpu_count()} cores", help="what the page says of it")
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    for verb in VERBS:
        for size in verb.sizes(options.largest) if verb.name in options.verbs else ():
            if not (file := point(work, verb, size)).exists():
                measured = measure(work, verb, size)
                file.write_text(json.dumps(measured))
                print(verb.name, measured, flush=True)
    report(work, options.out or work, options.machine)


def point(work: Path, verb: Verb, size: int) -> Path:
    return work / f"{verb.name.replace(' ', '-')}-{size}.json"


def measure(work: Path, verb: Verb, size: int) -> dict[str, float]:
    if not (work / "model").exists():
        run(["train", sample(work, HELD_OUT, "train"), "-o", f"{work}/model", "--epochs", "2", "--cache", ""])
    if verb.name == "train":
        shutil.rmtree(work / "features", ignore_errors=True)
    if verb.name == "support build":  # what is built already is not built again
        shutil.rmtree(work / f"support-{size}", ignore_errors=True)
    arguments = verb.command(work, size)  # which makes what the command needs
    seconds, cpu, peak = run(arguments)
    return {
        "documents": size,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_gb": round(peak / 1e9, 3),
    }


def run(arguments: Sequence[str]) -> tuple[float, float, int]:
    """Seconds, processor time and the most memory of a command.

    This process has loaded nothing, for the peak of a child starts from its parent's.
    """
    start = time.perf_counter()
    command = [sys.executable, "-m", "exaudit", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{said[-2000:]}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, peak


def sample(work: Path, size: int, name: str = "some") -> str:
    """A file of so many sentences, made by another process; those of another name are others."""
    path = work / f"{name}-{size}.jsonl"
    if not path.exists():
        seed = sum(name.encode())
        made = [sys.executable, "-c", SAMPLE, str(path), str(size), str(seed)]
        subprocess.run(made, check=True)
    return str(path)


SAMPLE = """
import json, os, sys
from exaudit.data.sample import sample_documents
path, size, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path + ".part", "w") as file:
    for n, d in enumerate(sample_documents("learner", size, seed=seed)):
        marks = d.token_labels[:10]
        label = "i" if "i" in marks else "c"
        row = {"id": str(n), "tokens": d.tokens[:10], "label": label, "token_labels": marks}
        file.write(json.dumps(row) + "\\n")
os.replace(path + ".part", path)
"""


def built(work: Path, size: int) -> str:
    """A support set of so many documents."""
    path = work / f"support-{size}"
    if not path.exists():
        run(["support", "build", f"{work}/model", sample(work, size), "--support", str(path)])
    return str(path)


SEARCH = """Time of a query over the rows of the support set, and over k, for made vectors of 1,000 numbers (figures in
`search.json`). Below 4,096 rows the search is flat.

```
{command}
```"""


def report(work: Path, out: Path, machine: str) -> None:
    from exaudit._tables import markdown_table
    from exaudit.analyse.report.blocks import Plot, Series
    from exaudit.analyse.report.svg import panels

    out.mkdir(parents=True, exist_ok=True)
    page = [
        "# Scaling",
        f"Documents against seconds and peak memory of the main verbs, on {machine}, without a GPU. The documents are "
        "the first ten words of sentences of the built-in sample `learner`, the model is frozen MiniLM with 1,000 "
        "filters, and each point is a command from its start to its end: some seconds are those of starting. `train` "
        "has 4 epochs, `audit` is of one sentence, and `knn fit` has a support set of 1,000 documents.",
        "```\npython benchmarks/scaling.py --work DIR --out docs/results/scaling\n```",
    ]
    figures: dict[str, list[dict[str, float]]] = {}
    for verb in VERBS:
        files = [point(work, verb, size) for size in verb.sizes(10**9)]
        points = [json.loads(file.read_text()) for file in files if file.exists()]
        if not points:
            continue
        figures[verb.name] = points
        x = tuple(float(p["documents"]) for p in points)
        label = f"documents {verb.documents}"
        measures = (
            ("Time", "seconds", {"seconds": "seconds", "CPU seconds": "cpu_seconds"}),
            ("Peak memory", "GB", {"peak memory": "peak_gb"}),
        )
        plots = [
            Plot(
                title,
                f"{title} of exaudit {verb.name} over documents, both on logarithmic axes.",
                label,
                unit,
                tuple(Series(name, x, tuple(p[key] for p in points)) for name, key in keys.items()),
                logarithmic=True,
            )
            for title, unit, keys in measures
        ]
        name = verb.name.replace(" ", "-")
        (out / f"{name}.svg").write_text(panels(f"exaudit {verb.name}", plots, across=2))
        lines = [[label, "seconds", "CPU seconds", "peak memory, GB"]]
        for p in points:
            row = [f"{p['seconds']:.1f}", f"{p['cpu_seconds']:.1f}", f"{p['peak_gb']:.2f}"]
            lines.append([f"{p['documents']:,}", *row])
        page += [f"## {verb.name}", f"![{verb.name}: seconds and memory]({name}.svg)", markdown_table(lines)]
    if (out / "search.json").exists():
        command = json.loads((out / "search.json").read_text())["command"]
        page += [
            "## Exact search",
            SEARCH.format(command=command),
            "![search: time over rows and over k](search.svg)",
        ]
    (out / "README.md").write_text("\n\n".join(page) + "\n")
    (out / "scaling.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
