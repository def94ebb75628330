"""Whether a promise that is weighted for documents of another kind is kept there, beside one that is not.

    python benchmarks/weights.py DATA WORK --out docs/results/weights.md

DATA has the corpora (`exaudit data fetch`), WORK the models that `benchmarks/abstention.py` has trained. The promise is
calibrated on reviews, and is for

    doubtful    the same reviews, drawn the more often the nearer they are to the boundary: only the mix has shifted
    revisions   reviews that people changed until the opposite was true
    tweets      of SemEval-2017, positive or negative

Each split takes 1,000 reviews to calibrate on and 300 documents of the other kind, without their labels, to weigh them
by. It is judged on all documents of that kind. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from abstention import FILTERS, Pool, _end, prepare, reviews
from numpy.typing import NDArray

from exaudit._tables import markdown_table
from exaudit.audit.part import Part
from exaudit.audit.promise import Answered
from exaudit.audit.signals import signal_names
from exaudit.audit.target import Target
from exaudit.data.document import Document
from exaudit.decide.risk import Goal
from exaudit.experiments.corpora import read_reviews, read_tweets

CALIBRATION, NEW, OTHERS, SPLITS = 1000, 300, 600, 20
GOALS = (Goal(0.05), Goal(0.1))
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """Documents as the model answers them, and how often each occurs."""

    answered: list[Answered]
    chance: Floats  # (D,) of being drawn

    @property
    def wrong(self) -> Bools:
        return np.array([not each.signals.right for each in self.answered])


def kinds(data: Path, place: Path) -> tuple[list[Answered], dict[str, Kind]]:
    """The reviews to calibrate on, and the documents of other kinds, labelled once and kept."""
    corpus, found, draws = reviews(data), read_reviews(data), np.random.default_rng(0)
    prepare(corpus, "minilm", place)
    pool = answered(place)
    margin = np.array([each.figures["margin"] for each in pool])
    doubtful = np.exp(-margin / margin.std())
    table = {"doubtful": Kind(pool, doubtful / doubtful.sum())}
    revised = [_end(d) for d in (*found.rev.train, *found.rev.test)]
    for name, documents in (("revisions", revised), ("tweets", read_tweets(data))):
        others = [documents[i] for i in draws.permutation(len(documents))[:OTHERS]]
        (folder := place / name).mkdir(exist_ok=True)
        if not (folder / "model").exists():
            (folder / "model").symlink_to(place.resolve() / "model")
        prepare(replace(corpus, pool=others), "minilm", folder)
        own = answered(folder)
        table[name] = Kind(own, np.full(len(own), 1 / len(own)))
    return pool, table


def answered(place: Path) -> list[Answered]:
    """Documents with the measures that `exaudit drift` would take, but for rare words and content."""
    pool, found = Pool.read(place), list[Answered]()
    for d, signals in enumerate(pool.signals):
        own = pool.document == d
        near, far = np.quantile(pool.near.distances[own, 0], (0.5, 0.9))
        figures = {
            "length": float(pool.lengths[d]),
            "distance": float(near),
            "far": float(far),
            "score": float(pool.output[d]),
            "margin": abs(float(pool.output[d])),
            "flagged": float((pool.margins[own] > 0).mean()),
        }
        found.append(Answered(Document.from_text(f"{place.name} {d}", id=str(d)), signals, figures))
    return found


def judged(
    pool: list[Answered], kind: Kind, goal: Goal, weighted: bool, draws: np.random.Generator
) -> tuple[float, float]:
    """What is admitted of a kind of documents, and the share of errors among that."""
    order = draws.permutation(len(pool))
    calibrated, rest = [pool[i] for i in order[:CALIBRATION]], order[CALIBRATION:]
    first = np.arange(CALIBRATION) % 3 == 0
    drawn, reached = np.ones(CALIBRATION, bool), np.ones(len(kind.answered), bool)
    if weighted:
        among = rest if kind.answered is pool else np.arange(len(kind.answered))
        chosen = draws.choice(among, NEW, p=kind.chance[among] / kind.chance[among].sum())
        new = [kind.answered[i] for i in chosen]
        old = [each.figures for each, mine in zip(calibrated, first, strict=True) if mine]
        target = Target.fit([each.document for each in new], [each.figures for each in new], old)
        drawn = np.array([target.draws(each.document, each.figures) for each in calibrated])
        reached = np.array([target.refusal(each.figures) is None for each in kind.answered])
    names = signal_names(near=True, knn=True)["documents"]
    part = Part.fit("documents", [each.signals for each in calibrated], first, drawn, goal, names, 2)
    values = np.stack([each.signals.document for each in kind.answered])
    said = np.array([each.signals.said for each in kind.answered])
    through = part.through(goal, part.trust(values, said), said, np.arange(len(said))) & reached
    admitted = float(kind.chance[through].sum())
    return admitted, float(kind.chance[through & kind.wrong].sum()) / (admitted or 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    pool, table = kinds(given.data, given.work / "reviews-minilm")
    rows, smallest = [], 1.0
    for name, kind in table.items():
        everything = float(kind.chance[kind.wrong].sum())
        for goal in GOALS:
            for weighted in (False, True):
                found = [
                    judged(pool, kind, goal, weighted, np.random.default_rng(split))
                    for split in range(given.splits)
                ]
                admitted, wrong = np.array(found).T
                kept = float((wrong <= goal.risk).mean())
                if weighted and name == "doubtful":
                    smallest = min(smallest, kept)
                met = admitted > 0
                shares = [
                    everything,
                    kept,
                    admitted.mean(),
                    wrong[met].mean() if met.any() else 0.0,
                    (~met).mean(),
                ]
                rule = "weighted" if weighted else "plain"
                rows.append(
                    [name, f"{100 * goal.risk:g}%", rule, *(f"{100 * share:.1f}" for share in shares)]
                )
                print(*rows[-1], flush=True)
    columns = [
        "documents",
        "risk",
        "promise",
        "wrong of all",
        "kept",
        "admitted",
        "wrong",
        "nothing admitted",
    ]
    text = (
        "# Promises for documents of another kind\n\n```\npython benchmarks/weights.py DATA WORK --out "
        "docs/results/weights.md\n```\n\n"
        f"MiniLM, frozen, {FILTERS} filters. {CALIBRATION:,} reviews to calibrate on, and for the weighted promise "
        f"(`--like`) {NEW} documents of the kind that it is for, without labels; {given.splits} splits, in percent.\n"
        "*doubtful*: the same reviews, drawn the more often the nearer they are to the boundary, so that only the mix "
        "has shifted. *revisions*: reviews that people changed until the opposite was true. *tweets*: of SemEval.\n"
        "*kept*: splits in which no larger share of the admitted answers was wrong than promised; *wrong*: of them, "
        "where any was admitted.\n\n"
    )
    page = text + markdown_table([columns, *rows]) + "\n"
    if given.out is not None:
        given.out.write_text(page, encoding="utf-8")
    print(json.dumps({"kept": smallest}))


if __name__ == "__main__":
    main()
