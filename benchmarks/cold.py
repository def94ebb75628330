"""Cold starts: the command line, and the first search of a process. The last line is one JSON object.

    python benchmarks/cold.py                      a model of the built-in sample; 450,000 made exemplars
    python benchmarks/cold.py --drop-caches        before every run, so that all is read from the disk (Linux, as root)
    python benchmarks/cold.py --rows 0             only the command line

help_s, label_s, audit_s    seconds of a process: `--help`, `label` of one sentence, `audit` of one
label_imports, ...          the share of it that Python's imports take, torch's above all
torch_s                     seconds of a process that imports torch and no more
support_tokens              exemplars behind the `audit`
first_search_s              with saved sketches and without: from vectors in memory to the neighbours of one sentence
first_search_ratio          without over with
next_search_s               once more, in the same process
identical                   whether the neighbours are the same

The times are the least of several turns.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SENTENCE = "There are some informations you have asked me about ."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=450_000, help="of the made support set; 0 leaves it out")
    parser.add_argument(
        "--sentences", type=int, default=1000, help="of the sample, in the support set audited"
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--drop-caches", action="store_true")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(Path(options.measure[0]), saved=options.measure[1] == "saved")
        return
    with tempfile.TemporaryDirectory() as folder:
        result: dict[str, Any] = {"dropped_caches": options.drop_caches, **commands(options, Path(folder))}
        print(json.dumps(result), flush=True)
        if options.rows:
            result |= first_search(options, Path(folder))
    print(json.dumps(result))


def commands(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    tokens = prepare(folder, options.sentences)
    exaudit = ["-m", "exaudit"]
    runs = {
        "torch": ["-c", "import torch"],
        "help": [*exaudit, "--help"],
        "label": [*exaudit, "label", str(folder / "model"), str(folder / "one.jsonl")],
        "audit": [*exaudit, "audit", str(folder / "model"), SENTENCE],
    }
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(options.turns):  # in turns, so that other work on the machine hits all alike
        for name, arguments in runs.items():
            least[name] = min(least[name], seconds(arguments, drop=options.drop_caches))
    result: dict[str, Any] = {f"{name}_s": round(spent, 2) for name, spent in least.items()}
    for name in ("label", "audit"):
        result[f"{name}_imports"] = round(import_share(runs[name]), 2)
    return result | {"support_tokens": tokens}


def prepare(folder: Path, sentences: int) -> int:
    """A model of the usual size over MiniLM with a support set, and a file with one sentence."""
    from exaudit.audit import Auditor
    from exaudit.data.sample import sample_splits
    from exaudit.model.folder import save_model
    from exaudit.model.labeler import Labeler

    splits = sample_splits("learner", sizes={"train": sentences, "dev": 50, "test": 0})
    labeler = Labeler(epochs=1, device="cpu", cache="").fit(splits["train"][:200], dev=splits["dev"])
    save_model(labeler.model_, folder / "model")
    auditor = Auditor.open(folder / "model", device="cpu")
    auditor.build(splits["train"])
    auditor.prepare()  # as `exaudit support build` does
    (folder / "one.jsonl").write_text(json.dumps({"id": "one", "text": SENTENCE}) + "\n")
    return len(auditor.support)


def seconds(arguments: list[str], *, drop: bool) -> float:
    if drop:
        subprocess.run(["sync"], check=True)
        Path("/proc/sys/vm/drop_caches").write_text("1\n")
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - start


def import_share(arguments: list[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], check=True, capture_output=True, text=True
    )
    spent = time.perf_counter() - start
    return sum(map(int, re.findall(r"^import time:\s+(\d+) \|", done.stderr, re.MULTILINE))) / 1e6 / spent


def first_search(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    import numpy as np
    from search import make_files
    from store import store

    from exaudit.audit import ExemplarIndex
    from exaudit.support.store import LanceSupportSet

    files = make_files(folder, options.rows, 10)
    store(np.load(files[0], mmap_mode="r"), folder / "support")
    files[0].unlink()
    start = time.perf_counter()
    ExemplarIndex(LanceSupportSet.open(folder / "support"))  # saves the sketches
    print(f"read, sketched and saved in {time.perf_counter() - start:.1f} s", flush=True)
    found: dict[str, list[dict[str, Any]]] = {"saved": [], "none": []}
    for _ in range(options.turns):
        for way, told in found.items():
            command = [sys.executable, __file__, "--measure", str(folder), way]
            told.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
            print(way, {key: told[-1][key] for key in ("first_search_s", "next_search_s")}, flush=True)
    least = {way: min(each["first_search_s"] for each in told) for way, told in found.items()}
    rows = [each["rows"] for told in found.values() for each in told]
    return {
        "rows": options.rows,
        "first_search_s": {way: round(spent, 3) for way, spent in least.items()},
        "first_search_ratio": round(least["none"] / least["saved"], 1),
        "next_search_s": round(min(each["next_search_s"] for each in found["saved"]), 3),
        "sketches_mb": round((folder / "support" / "sketches.safetensors").stat().st_size / 1e6),
        "identical": all(each == rows[0] for each in rows),
    }


def measure(folder: Path, *, saved: bool) -> None:
    import numpy as np

    from exaudit.support.held_vectors import HeldVectors
    from exaudit.support.search import ExactSearch
    from exaudit.support.sketch_file import settle_sketches
    from exaudit.support.store import LanceSupportSet

    support = LanceSupportSet.open(folder / "support")
    exemplars = support.exemplars(vectors=False)
    vectors = support.vectors(exemplars.row)
    queries = np.load(folder / "queries.npy")
    held = HeldVectors(support, exemplars, vectors)  # compared in the background, as they are for users
    start = time.perf_counter()
    search = ExactSearch(vectors)
    if saved:
        settle_sketches(search, support.folder, support.fingerprints(), held)
    _, rows = search.search(queries, 8)
    first = time.perf_counter()
    search.search(queries, 8)
    done = time.perf_counter()
    print(json.dumps({"first_search_s": first - start, "next_search_s": done - first, "rows": rows.tolist()}))


if __name__ == "__main__":
    main()
