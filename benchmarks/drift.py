"""Whether `exaudit drift` is silent inside the domain and speaks up outside of it. The last line is one JSON object.

    python benchmarks/drift.py DATA --out results/drift

DATA is laid out as `exaudit data fetch` leaves it. A model is trained on 400 reviews (2,000 sentences of FCE) with
MiniLM, 100 of them (600) are its support set, and at most 1,400 documents of each corpus, none of them trained on, are
measured once. From then on all is drawing, with 400 documents for the reference each time:

false alarms   500 files of 200 other documents of the same corpus
power          100 files of 50 and of 200 documents, and 40 of 1,000, of another corpus; of revised reviews, none whose
               original is in the reference
stream         the same documents one after another, at most 200: the share of streams with an alarm, and the number of
               documents until it

Writes OUT/drift.md and drift.json. A run that was stopped, or that had `--seconds`, goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exaudit._files import replace_file, write_json
from exaudit._tables import markdown_table
from exaudit.audit.auditor import Auditor
from exaudit.audit.drift import RATE, DriftReference, DriftWatch, find_drift
from exaudit.audit.neighbourhood import Neighbourhood
from exaudit.audit.profile import Profile
from exaudit.data.document import Document
from exaudit.experiments.corpora import read_fce, read_news, read_reviews, read_tweets
from exaudit.metrics import wilson
from exaudit.model.folder import load_model, save_model
from exaudit.model.model import Model
from exaudit.model.settings import Settings
from exaudit.model.train import train
from exaudit.support.memory import MemorySupportSet

POOL, PART, TURNS, SEED = 1400, 100, 20, 1776
REFERENCE, FALSE_ALARMS, STREAMS, STREAM = 400, 500, 100, 200
SIZES = {50: 100, 200: 100, 1000: 40}  # of files, and how many of each
CASES = {  # the corpus of the reference, and that of the files
    "reviews, again": ("reviews", "reviews"),
    "FCE, again": ("fce", "fce"),
    "reviews to tweets": ("reviews", "tweets"),
    "FCE to news": ("fce", "news"),
    "reviews to their revisions": ("reviews", "revisions"),
}
Corpora = dict[str, list[Document]]


class Clock:
    """Ends a run between two pieces of work, if it has a limit."""

    def __init__(self, seconds: float | None) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        if self.end is not None and time.monotonic() > self.end:
            print("time is up: run again to go on", flush=True)
            sys.exit(9)


def drawn(documents: Sequence[Document], count: int) -> list[Document]:
    order = np.random.default_rng(SEED).permutation(len(documents))[:count]
    return [documents[i] for i in order]


def corpora(data: Path) -> dict[str, Corpora]:
    """Of each task: documents to train on, to choose the epoch by, and the pools to draw from."""
    reviews, fce = read_reviews(data), read_fce(data)
    known = drawn(reviews.orig.train, 400)
    trained_on = {document.id for document in known}
    sides = [[*own.train, *own.test] for own in (reviews.orig, reviews.rev)]
    pairs = [pair for pair in zip(*sides, strict=True) if pair[0].id not in trained_on]
    chosen = [pairs[i] for i in np.random.default_rng(SEED).permutation(len(pairs))[:POOL]]
    return {
        "reviews": {
            "train": known,
            "dev": drawn(reviews.orig.dev, 80),
            "reviews": [original for original, _ in chosen],
            "revisions": [revision for _, revision in chosen],
            "tweets": drawn(read_tweets(data), POOL),
        },
        "fce": {
            "train": drawn(fce.train, 2000),
            "dev": drawn(fce.dev, 300),
            "fce": drawn(fce.test, POOL),
            "news": drawn(read_news(data).test, POOL),
        },
    }


def trained(task: str, documents: Corpora, out: Path) -> Model:
    place = out / f"model-{task}"
    if not place.exists():
        positive = "Positive" if task == "reviews" else "i"
        settings = Settings(
            max_length=350,
            filters=300,
            epochs=8,
            boundary="documents",
            positive=positive,
            device="cpu",
            cache="",
            seed=SEED,
        )
        known, dev = ([d.without_token_labels() for d in documents[name]] for name in ("train", "dev"))
        save_model(train(settings, known, dev), place)
    return load_model(place, device="cpu")


def measured(task: str, documents: Corpora, out: Path, clock: Clock) -> Iterator[tuple[str, Profile]]:
    """The profile of each pool, from files where they were measured before."""
    pools = [name for name in documents if name not in ("train", "dev")]
    files = {
        (name, n): out / f"{name}-{n}.npz" for name in pools for n in range(0, len(documents[name]), PART)
    }
    if not all(path.exists() for path in files.values()):
        model = trained(task, documents, out)
        support = MemorySupportSet.create(
            width=model.width, labels=model.labels.names, precision=model.precision
        )
        auditor = Auditor(model, support)
        auditor.build(documents["train"][: 100 if task == "reviews" else 600])
        near = Neighbourhood(model, support)
        for (name, n), path in files.items():
            if not path.exists():
                clock.check()
                found = Profile.of(model, documents[name][n : n + PART], near=near)
                assert found.content is not None
                with replace_file(path) as temporary, open(temporary, "wb") as file:
                    np.savez(
                        file, ids=found.ids, names=found.names, values=found.values, content=found.content
                    )
                print(path.name, flush=True)
    for name in pools:
        parts = [dict(np.load(path)) for (own, _), path in files.items() if own == name]
        ids, values, content = (
            np.concatenate([part[key] for part in parts]) for key in ("ids", "values", "content")
        )
        yield name, Profile(tuple(ids.tolist()), tuple(parts[0]["names"].tolist()), values, content)


def draw(case: str, pools: dict[str, Profile], size: int, turn: int) -> tuple[DriftReference, Profile]:
    """A reference and a file; of one corpus, or of a corpus and its revisions, no document is in both."""
    random = np.random.default_rng([SEED, size, turn])
    home, away = (pools[name] for name in CASES[case])
    order = random.permutation(len(home))
    apart = "tweets" in case or "news" in case
    places = random.permutation(len(away))[:size] if apart else order[REFERENCE:][:size]
    return DriftReference(home.rows(order[:REFERENCE]), (), None), away.rows(places)


def files(case: str, pools: dict[str, Profile], size: int, turns: range) -> dict[str, Any]:
    """How many files drift is found in, and which measures are named how often."""
    found = [find_drift(*draw(case, pools, size, turn), seed=turn) for turn in turns]
    named = Counter(shift.measure for drift in found for shift in drift.found)
    return {"files": len(turns), "detected": sum(drift.detected for drift in found), "named": named}


def added(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    named = Counter(one["named"]) + Counter(other["named"])
    sums = {key: one[key] + other[key] for key in ("files", "detected")}
    return sums | {"named": dict(named.most_common())}


def streams(case: str, pools: dict[str, Profile], model: Model, count: int) -> dict[str, Any]:
    """In how many streams there is an alarm, and after how many documents."""
    since = []
    for turn in range(count):
        reference, new = draw(case, pools, STREAM, turn)
        watch = DriftWatch(reference, model, seed=turn)
        for row in new.values.tolist():
            if watch.see_figures(dict(zip(new.names, row, strict=True))):
                break
        since.append(watch.since)
    alarms = sorted(n for n in since if n is not None)
    return {
        "streams": count,
        "detected": len(alarms),
        "documents": float(np.median(alarms)) if alarms else None,
    }


def page(results: dict[str, Any]) -> str:
    """The tables as Markdown."""

    def share(cell: dict[str, Any], of: str) -> str:
        return f"{100 * cell['detected'] / cell[of]:.1f}%"

    silent = [["in the domain", "files of 200", "alarms", "95% interval", "streams of 200", "alarms"]]
    power = [
        ["shift", *(f"{size:,}" for size in SIZES), "named most often (of 200)", "stream", "documents until"]
    ]
    for case, (home, away) in CASES.items():
        stream = results[f"{case}, stream"]
        if home == away:
            cell = results[f"{case}, 200"]
            low, high = wilson(cell["detected"] / cell["files"], cell["files"])
            interval = f"{100 * low:.1f} to {100 * high:.1f}%"
            alarms = share(cell, "files"), interval, str(stream["streams"]), share(stream, "streams")
            silent.append([case.split(",")[0], str(cell["files"]), *alarms])
        else:
            cells = [results[f"{case}, {size}"] for size in SIZES]
            named = ", ".join(list(cells[1]["named"])[:4])
            until = "" if stream["documents"] is None else f"{stream['documents']:.0f}"
            shares = (share(cell, "files") for cell in cells)
            power.append([case, *shares, named, share(stream, "streams"), until])
    return f"{markdown_table(silent)}\n\n{markdown_table(power)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/drift"))
    parser.add_argument("--seconds", type=float, help="stop after about so long; run again to go on")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    clock = Clock(options.seconds)
    pools = {
        name: profile
        for task, documents in corpora(options.data).items()
        for name, profile in measured(task, documents, options.out, clock)
    }
    model = load_model(options.out / "model-fce", device="cpu")  # a watch over figures asks it nothing
    kept = options.out / "drift.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for case, (home, away) in CASES.items():
        if (name := f"{case}, stream") not in results:
            clock.check()
            results[name] = streams(case, pools, model, FALSE_ALARMS if home == away else STREAMS)
            write_json(kept, results)
        for size, count in {200: FALSE_ALARMS}.items() if home == away else SIZES.items():
            cell = results.get(f"{case}, {size}", {"files": 0, "detected": 0, "named": {}})
            while cell["files"] < count:
                clock.check()
                cell = added(cell, files(case, pools, size, range(cell["files"], cell["files"] + TURNS)))
                results[f"{case}, {size}"] = cell
                write_json(kept, results)
            print(f"{case}, {size}: {cell}", flush=True)
    with replace_file(options.out / "drift.md") as temporary:
        temporary.write_text(page(results), encoding="utf-8")
    print(page(results))
    shares = {
        name: cell["detected"] / cell.get("files", cell.get("streams")) for name, cell in results.items()
    }
    alarms = max(shares[f"{case}, 200"] for case, (home, away) in CASES.items() if home == away)
    print(json.dumps({"rate": RATE, "false_alarms": alarms, "detected": shares}))


if __name__ == "__main__":
    main()
