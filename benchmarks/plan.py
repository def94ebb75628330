"""What a plan leaves out: waiting and losses in a sharded search, and what approximate neighbours would change.

    python benchmarks/plan.py simulate       a billion exemplars over GPUs, by the rates that `exaudit plan` has
    python benchmarks/plan.py approximate    50,000 made exemplars: exact neighbours, and some of them lost

simulate: every batch of queries visits every shard, and a shard takes its batches one after the other; so many batches
are under way at most (`window`). `ratio` is the time over that of the plan for as many copies. Stragglers and the loss
of a node are assumptions, named in the output; times come from the rates.

approximate: `recall` is the share of the true 8 nearest that were found, `flipped` the share of K-NN decisions that
changed, `agrees` the share that are the model's, `admitted` the share of words that the paper's limits admit, and
`changed` that of words admitted by one search alone. A promise (of the admitted answers, at most 5% are wrong, with 95%
confidence) is made 60 times, on 1,500 words each; `broken` is how often more were wrong. `exact-then-approximate` is
calibrated with one search and used with the other. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import heapq
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from search import make_files

from exaudit.decide import KNN, Admission, Neighbours
from exaudit.decide.fitting import fit_knn
from exaudit.decide.risk import Answers, Goal, control
from exaudit.decide.trust import Trust
from exaudit.plan.rates import usual_rates
from exaudit.support.search import ExactSearch

PLACED = 452_833 / 1.3  # exemplars that a GPU takes in a second: docs/results-speed.md, 1.3 s of fitting
READ = 2e9  # bytes a second that a node reads from its disk: an assumption
BATCH = 65_536  # queries
ROWS, FITTED, ASKED, NEAR, K = 50_000, 1_600, 4_000, 100, 8
LISTS, WORDS = 256, 16  # clusters of the approximate search, and words of a document
GOAL = Goal(0.05, 0.95)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("simulate", "approximate"))
    parser.add_argument("--exemplars", type=float, default=1e9)
    parser.add_argument("--queries", type=float, default=1e7)
    parser.add_argument("--gpus", type=int, default=40, help="that share the exemplars")
    parser.add_argument("--gpus-per-node", type=int, default=8)
    parser.add_argument("--bytes", type=float, default=4464, help="of an exemplar, vector and sketch")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(json.dumps(simulate(options) if options.what == "simulate" else approximate()))


# Sharded search


@dataclass(frozen=True)
class Cluster:
    """Shards that each search a part of the exemplars, one GPU each, or `copies` of them."""

    shards: int
    per_node: int
    seconds: float  # of a batch on a shard
    window: int = 4
    slow_share: float = 0.0  # of batches on a shard
    slow: float = 3.0  # times as long as the others
    copies: int = 1
    lost_at: float | None = None  # when a node is lost, as a share of the time planned
    back: float = 0.0  # seconds until another node has its shards


def elapsed(cluster: Cluster, batches: int, seed: int = 0) -> float:
    """Seconds until the last batch is answered by all shards."""
    draw = np.random.default_rng(seed)
    free = np.zeros((cluster.shards, cluster.copies))  # when each copy of a shard has nothing to do
    gone = cluster.lost_at * planned(cluster, batches) if cluster.lost_at is not None else np.inf
    under_way: list[float] = []
    shards = np.arange(cluster.shards)
    for _ in range(batches):
        ready = heapq.heappop(under_way) if len(under_way) >= cluster.window * cluster.copies else 0.0
        took = cluster.seconds * np.where(draw.random(cluster.shards) < cluster.slow_share, cluster.slow, 1.0)
        copy = free.argmin(axis=1)  # (shards,) the one that is free first
        start = np.maximum(free[shards, copy], ready)
        hit = (
            (shards < cluster.per_node) & (copy == 0) & (start + took > gone) & (start < gone + cluster.back)
        )
        if hit.any():  # it is noticed at once; another copy begins anew, or this one, when it is back
            free[hit, 0] = gone + cluster.back
            copy = free.argmin(axis=1)
            start = np.where(hit, np.maximum(np.maximum(free[shards, copy], start), gone), start)
        free[shards, copy] = start + took
        heapq.heappush(under_way, float((start + took).max()))
    return float(free.max())


def planned(cluster: Cluster, batches: int) -> float:
    """Seconds by the formula."""
    return batches * cluster.seconds / cluster.copies


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    gpu = usual_rates().gpu
    assert gpu is not None
    rows = options.exemplars / options.gpus
    one = BATCH * (gpu.search_seconds + rows / gpu.search_pairs)
    batches = int(np.ceil(options.queries / BATCH))
    back = rows / PLACED + rows * options.gpus_per_node * options.bytes / READ
    plain = Cluster(options.gpus, options.gpus_per_node, one)
    cases = {
        "nothing happens": plain,
        "1% of batches 3 times as long, window 1": replace(plain, slow_share=0.01, window=1),
        "1% of batches 3 times as long, window 4": replace(plain, slow_share=0.01),
        "1% of batches 3 times as long, window 16": replace(plain, slow_share=0.01, window=16),
        "a node lost half-way": replace(plain, lost_at=0.5, back=back),
        "a node lost half-way, another holds its shards already": replace(plain, lost_at=0.5, back=0.0),
        "two copies": replace(plain, copies=2),
        "two copies, a node lost half-way": replace(plain, copies=2, lost_at=0.5, back=back),
    }
    ratios = {}
    for name, cluster in cases.items():
        seconds = elapsed(cluster, batches)
        ratios[name] = round(seconds / planned(cluster, batches), 3)
        print(f"{seconds:8.0f} s  {ratios[name]:5.2f}  {name}", flush=True)
    return {
        "rows_a_gpu": round(rows),
        "seconds_a_batch": round(one, 3),
        "planned_s": round(planned(plain, batches)),
        "back_s": round(back),
        "ratio": ratios,
    }


# Approximate neighbours


@dataclass(frozen=True)
class Made:
    """Exemplars with scores and labels, and words that ask for their nearest; a score is linear in the vector."""

    vectors: np.ndarray  # (S, M)
    scores: np.ndarray  # (S,)
    labels: np.ndarray  # (S,) of the exemplar's document
    queries: np.ndarray  # (Q, M)
    asked: np.ndarray  # (Q,) scores of the queries

    def neighbours(self, distances: np.ndarray, rows: np.ndarray) -> Neighbours:
        labels = self.labels[rows]
        return Neighbours(distances, self.scores[rows], labels, np.zeros_like(labels), rows)


def make(folder: Path) -> Made:
    files = make_files(folder, ROWS, FITTED + ASKED)
    vectors, queries = (np.load(file) for file in files)
    draw = np.random.default_rng(3)
    weights = draw.standard_normal(vectors.shape[1], dtype=np.float32)
    scores, asked = vectors @ weights, queries @ weights
    middle, scale = np.quantile(scores, 0.9), scores.std()  # a tenth of the words is flagged
    scores, asked = (1.5 * (each - middle) / scale for each in (scores, asked))
    strongest = np.repeat(
        scores.reshape(-1, WORDS).max(axis=1), WORDS
    )  # a document has the label of its strongest word
    labels = np.where(strongest + np.repeat(draw.standard_normal(ROWS // WORDS), WORDS) > 0, 1, -1)
    return Made(vectors, scores, labels.astype(np.int8), queries, asked)


def approximate() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        made = make(Path(folder))
    result: dict[str, Any] = {
        "measured_a_query": {size: measured(made, size) for size in (12_500, 25_000, ROWS)}
    }
    distances, rows = ExactSearch(made.vectors).search(made.queries, NEAR)
    exact = made.neighbours(distances, rows)
    documents = np.arange(FITTED) // WORDS
    knn = fit_knn(exact[:FITTED].take(K), made.asked[:FITTED], documents, k=K).knn
    limits = Admission.fit(knn, exact[:FITTED].take(K), made.asked[:FITTED], support_version="")
    true = exact[FITTED:].take(K)
    wrong = errors(made.asked[FITTED:], true)
    flagged = float((knn.predict(true) > 0).mean())
    result |= {"agrees": agreement(knn, true, made), "flagged": round(flagged, 4)}
    result["exact"] = {"admitted": round(float(admitted(knn, limits, true).mean()), 4)}
    result["exact"] |= promises(made, knn, wrong, true, true)
    print(json.dumps(result), flush=True)
    others = {
        f"lost at random, {share:g}": drop(made, exact[FITTED:], share) for share in (0.01, 0.05, 0.1, 0.3)
    }
    others |= {f"{probes} of {LISTS} lists": found for probes, found in probed(made).items()}
    for name, found in others.items():
        result[name] = compared(made, knn, limits, true, found)
        if name in ("lost at random, 0.1", f"8 of {LISTS} lists", f"1 of {LISTS} lists"):
            result[name]["exact-then-approximate"] = promises(made, knn, wrong, true, found)
            result[name]["approximate"] = promises(made, knn, wrong, found, found)
        print(name, json.dumps(result[name]), flush=True)
    return result


def measured(made: Made, size: int) -> float:
    """Exemplars whose exact distance is taken for one query; the sketches rule out the others."""
    search, pairs = ExactSearch(made.vectors[:size]), 0
    squared = search._squared

    def count(batch: Any, query: torch.Tensor, row: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        nonlocal pairs
        pairs += len(row)
        return squared(batch, query, row, dtype)

    search._squared = count  # type: ignore[method-assign]
    search.search(made.queries[:512], K)
    return round(pairs / 512, 1)


def drop(made: Made, exact: Neighbours, share: float) -> Neighbours:
    """The nearest after each true one was lost with this probability."""
    lost = np.random.default_rng(4).random(exact.rows.shape) < share
    kept = np.argsort(lost, axis=1, kind="stable")[:, :K]  # those that are there come first, in order
    return made.neighbours(
        np.take_along_axis(exact.distances, kept, 1), np.take_along_axis(exact.rows, kept, 1)
    )


def probed(made: Made) -> dict[int, Neighbours]:
    """The nearest within the clusters (inverted lists) whose centres are nearest, as an IVF index finds them."""
    rows, queries = torch.from_numpy(made.vectors), torch.from_numpy(made.queries[FITTED:])
    draw = np.random.default_rng(5)
    centres = rows[torch.from_numpy(draw.choice(len(rows), LISTS, replace=False))]
    for _ in range(6):  # k-means
        of_row = torch.cdist(rows, centres).argmin(1)
        sums = torch.zeros_like(centres).index_add_(0, of_row, rows)
        count = torch.bincount(of_row, minlength=LISTS)
        centres = torch.where((count > 0)[:, None], sums / count.clamp(min=1)[:, None], centres)
    of_row = torch.cdist(rows, centres).argmin(1)
    near = torch.cdist(queries, centres).argsort(1)  # (Q, L)
    found: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {1: [], 2: [], 4: [], 8: [], 16: [], 32: []}
    for first in range(0, len(queries), 250):
        some = slice(first, first + 250)
        distance = torch.cdist(queries[some], rows)  # (q, S)
        for probes, parts in found.items():
            looked = torch.zeros(len(distance), LISTS, dtype=torch.bool).scatter_(
                1, near[some, :probes], True
            )
            parts.append(distance.masked_fill(~looked[:, of_row], torch.inf).topk(K, dim=1, largest=False)[:])
    return {
        probes: made.neighbours(*(torch.cat(part).numpy() for part in zip(*parts, strict=True)))
        for probes, parts in found.items()
    }


def compared(made: Made, knn: KNN, limits: Admission, true: Neighbours, found: Neighbours) -> dict[str, Any]:
    same = (found.rows[:, :, None] == true.rows[:, None, :]).any(axis=2)
    let, truly = admitted(knn, limits, found), admitted(knn, limits, true)
    return {
        "recall": round(float(same.mean()), 4),
        "farther": round(
            float((found.distances[:, 0] / np.maximum(true.distances[:, 0], 1e-9)).mean() - 1), 4
        ),
        "flipped": round(float((knn.predict(found) != knn.predict(true)).mean()), 4),
        "agrees": agreement(knn, found, made),
        "admitted": round(float(let.mean()), 4),
        "changed": round(float((let != truly).mean()), 4),
    }


def agreement(knn: KNN, found: Neighbours, made: Made) -> float:
    """Share of words where the K-NN decides as the model."""
    return round(float(((knn.predict(found) > 0) == (made.asked[FITTED:] > 0)).mean()), 4)


def admitted(knn: KNN, limits: Admission, found: Neighbours) -> np.ndarray:
    return limits.tokens(knn, found).admitted


def errors(scores: np.ndarray, true: Neighbours) -> np.ndarray:
    """Where the model is wrong: near its boundary, and more often far from all exemplars."""
    far = true.distances[:, 0] / np.median(true.distances[:, 0])
    noise = np.random.default_rng(6).standard_normal(len(scores)) * 0.5 * far**2
    return (scores + noise > 0) != (scores > 0)


def promises(
    made: Made, knn: KNN, wrong: np.ndarray, calibrated: Neighbours, used: Neighbours
) -> dict[str, float | None]:
    """Promises made with the neighbours of one search, and kept or broken with those of another."""
    scores = made.asked[FITTED:]
    before, after = signals(knn, scores, calibrated), signals(knn, scores, used)
    said, draw, risks, covered = (scores > 0).astype(int), np.random.default_rng(7), [], []
    for _ in range(60):
        fit, bound = np.split(draw.permutation(len(scores))[:1500], [500])
        trust = Trust.fit(("margin", "distance", "agreement", "K-NN"), before[fit], said[fit], ~wrong[fit], 2)
        values = trust(before, said)
        one, other = (Answers(np.arange(len(x)), values[x], wrong[x], len(x)) for x in (fit, bound))
        threshold = control(one, other, GOAL, curve=False).threshold
        through = np.zeros(len(scores), bool) if threshold is None else trust(after, said) >= threshold
        covered.append(through.mean())
        risks.append(wrong[through].mean() if through.any() else 0.0)
    return {
        "broken": round(float((np.array(risks) > GOAL.risk).mean()), 3),
        "risk": round(float(np.mean(risks)), 4),
        "coverage": round(float(np.mean(covered)), 4),
    }


def signals(knn: KNN, scores: np.ndarray, found: Neighbours) -> np.ndarray:
    sign = np.where(scores > 0, 1, -1)
    agree = (np.sign(found.scores) == sign[:, None]).mean(axis=1)
    return np.stack([np.abs(scores), -found.distances[:, 0], agree, sign * knn.output(found)], axis=1)


if __name__ == "__main__":
    main()
