"""Whether promises are kept, and what they admit, over many random splits; beside the paper's limits, plain softmax
thresholds and conformal sets.

    python benchmarks/abstention.py DATA WORK --encoders minilm GTE_SMALL --tuned GTE_SMALL --out PAGE.md

DATA has the corpora (`exaudit data fetch`). For each encoder a frozen model is trained on reviews (their last words)
and, for the first encoder, on FCE and on reviews whose words are judged, too; the encoder `--tuned` is tuned on whole
reviews (some hours without a GPU). Each has a support set of some of the training documents and a K-NN; a pool of
other documents is labelled once, and kept in WORK. Each split then takes some of the pool to calibrate on and judges
on the rest and on the whole pool, in numpy alone. Interrupted, it goes on where it was.

The last line is a JSON object; `kept` is the smallest share of splits in which a promise was kept: in which the share
of errors among the admitted answers of the pool was not above what was promised.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exaudit._files import replace_file
from exaudit._tables import markdown_table
from exaudit.audit import Auditor
from exaudit.audit.signals import Signals, signal_names, signals_of
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.data.readers import read_documents
from exaudit.decide.admission import Admission
from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.risk import Answers, Goal, capped, control
from exaudit.decide.trust import Trust
from exaudit.experiments.corpora import read_fce, read_reviews
from exaudit.model.folder import save_model
from exaudit.model.scores import TokenScores
from exaudit.model.settings import Settings
from exaudit.model.train import train

K = 8
PART = 125  # documents labelled and saved together
WORDS = 80  # of a review, the last ones
FILTERS = 300
RISKS = (0.05, 0.02)
CALIBRATION = {"reviews": 1000, "fce": 2000, "words": 1600, "tuned": 2500}  # documents of a split
LABELS = LabelSet.binary("no", "yes")
NAMES = {"reviews": "reviews", "fce": "fce", "words": "marked reviews", "tuned": "whole reviews, tuned"}
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Corpus:
    train: list[Document]
    dev: list[Document]
    pool: list[Document]
    support: list[Document]


def reviews(data: Path) -> Corpus:
    found, draws = read_reviews(data), np.random.default_rng(0)
    pool = _others(data, found.orig_19k, draws, 1500)
    chosen = [found.orig_19k[i] for i in draws.permutation(len(found.orig_19k))[:1000]]
    parts = [[_end(d.without_token_labels()) for d in part] for part in (chosen, found.orig.dev, pool)]
    return Corpus(*parts, parts[0][:250])


def marked_reviews(data: Path) -> Corpus:
    """Trained on reviews that nobody marked; the pool are those whose revision tells the words."""
    found, draws = read_reviews(data), np.random.default_rng(0)
    pool = [*found.orig.train, *found.orig.test]
    others = [d for d in found.orig_19k if d.id not in found.shared]
    chosen = [others[i].without_token_labels() for i in draws.permutation(len(others))[:1000]]
    dev = [d.without_token_labels() for d in found.orig.dev]
    parts = [[_end(d) for d in part] for part in (chosen, dev, pool)]
    return Corpus(*parts, parts[0][:250])


def whole_reviews(data: Path) -> Corpus:
    found = read_reviews(data)
    own, dev = ([d.without_token_labels() for d in part] for part in (found.orig.train, found.orig.dev))
    pool = _others(data, [*found.orig_19k, *found.orig.test, *own, *dev], np.random.default_rng(0), 3500)
    return Corpus(own, dev, pool, own[:250])


def _others(data: Path, known: Sequence[Document], draws: np.random.Generator, count: int) -> list[Document]:
    """So many reviews that are not among these."""
    path = data / "imdb_cad" / "orig_eighty_percent_reconstructed" / "test.tsv.xz"
    rest = read_documents(path, format="tsv", id_column="acl_id")
    seen, pool = {d.text for d in known}, list[Document]()
    for i in draws.permutation(len(rest)):
        if rest[i].text not in seen and len(pool) < count:
            seen.add(rest[i].text)
            pool.append(rest[i])
    return pool


def _end(document: Document) -> Document:
    words, marks = document.tokens[-WORDS:], document.token_labels
    kept = None if marks is None else marks[-WORDS:]
    return replace(document, text=" ".join(words), tokens=words, token_labels=kept, starts=None)


def sentences(data: Path) -> Corpus:
    found = read_fce(data)
    order = np.random.default_rng(0).permutation(len(found.train))
    own = [found.train[i] for i in order[:4000]]
    seen, pool = {d.text for d in (*own, *found.dev)}, list[Document]()
    for d in (
        *found.test,
        *(found.train[i] for i in order[4000:]),
    ):  # greetings and the like come again and again
        if d.text not in seen and len(pool) < 4000:
            seen.add(d.text)
            pool.append(d)
    return Corpus(own, found.dev[:400], pool, own[:1500])


def prepare(corpus: Corpus, encoder: str, place: Path, *, tune: bool = False) -> None:
    """Train, and label the pool, part by part."""
    folder = place / "model"
    if not (folder / "model.json").exists():
        cache = None if tune else str(place / "cache")
        settings = Settings(
            encoder=encoder, filters=1000 if tune else FILTERS, tune_encoder=tune, cache=cache
        )
        save_model(train(settings, corpus.train, corpus.dev), folder)
    auditor = Auditor.open(folder)
    auditor.build(corpus.support, reason="benchmark")
    if auditor.knn is None:
        auditor.fit_knn(corpus.dev, k=K)
    names = auditor.labels.views[0]
    for start in range(0, len(corpus.pool), PART):
        path = place / f"pool-{start:06}.npz"
        if path.exists():
            continue
        documents = corpus.pool[start : start + PART]
        scores = auditor.model.label(documents, exemplars=True)
        (near,) = auditor.neighbours(scores, K)
        documents = [one.document for one in scores]  # cut as the model reads them
        truth = [names.token_targets(d) for d in documents]
        with replace_file(path) as temporary, open(temporary, "wb") as file:
            np.savez(
                file,
                output=[one.output for one in scores],
                truth=[names.document_target(d) for d in documents],
                lengths=[len(d.tokens) for d in documents],
                margins=np.concatenate([one.views[0].margins for one in scores]),
                word_truth=np.concatenate(
                    [
                        np.full(len(d.tokens), -1, np.int8) if own is None else own
                        for d, own in zip(documents, truth, strict=True)
                    ]
                ),
                distances=near.distances,
                scores=near.scores,
                labels=near.labels,
            )
        print(place.name, start, "of", len(corpus.pool), flush=True)


@dataclass(frozen=True)
class Pool:
    """All that splits need of the pool's documents, and of their words where those are labelled."""

    output: Floats  # (D,)
    right: Bools  # (D,)
    lengths: NDArray[np.int64]  # (D,)
    document: NDArray[np.int64]  # (N,)
    margins: Floats  # (N,)
    near: Neighbours  # (N, K)
    knn: KNN
    signals: list[Signals]

    @classmethod
    def read(cls, place: Path) -> Pool:
        parts = [np.load(path) for path in sorted(place.glob("pool-*.npz"))]

        def column(name: str) -> NDArray[np.generic]:
            return np.concatenate([part[name] for part in parts])

        lengths, distances = column("lengths").astype(np.int64), column("distances")
        nothing = np.zeros(distances.shape)
        near = Neighbours(distances, column("scores"), column("labels"), nothing, nothing)  # type: ignore[arg-type]
        fitted = Auditor.open(place / "model").knn
        assert fitted is not None
        output, truth, margins = column("output").astype(float), column("truth"), column("margins")
        words, ends = column("word_truth").astype(int), np.cumsum(lengths)
        signals = []
        for d, (stop, length) in enumerate(zip(ends.tolist(), lengths.tolist(), strict=True)):
            own = slice(stop - length, stop)
            marked = tuple(map(str, words[own])) if (words[own] >= 0).all() else None
            document = Document(str(d), "", ("",) * length, LABELS.names[int(truth[d])], marked)
            scores = TokenScores(document, output[d], np.zeros(length, np.float32), margins[own])
            signals.append(signals_of(scores, [near[own]], fitted.knns, LABELS))
        right = (output > 0) == (truth > 0)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        return cls(output, right, lengths, owner, margins, near, fitted.knns[0], signals)

    @property
    def has_words(self) -> bool:
        return all(each.words_right is not None for each in self.signals)


@dataclass(frozen=True)
class Judged:
    """What one way admitted of the rest of a split: the share, and the share of errors in it; and that share in the
    whole pool, of which the calibration documents are a sample."""

    coverage: float
    error: float
    risk: float

    @classmethod
    def of(cls, admitted: Bools, right: Bools, rest: Bools) -> Judged:
        return cls(float(admitted[rest].mean()), _share(~right[admitted & rest]), _share(~right[admitted]))


def _share(wrong: Bools) -> float:
    return float(wrong.mean()) if len(wrong) else 0.0


@dataclass(frozen=True)
class Level:
    """Answers on documents, or on words, as columns over the whole pool."""

    name: str
    values: Floats  # (N, S)
    said: NDArray[np.int64]
    right: Bools
    document: NDArray[np.int64]
    margin: Floats  # (N,) the size of the model's score

    @classmethod
    def of(cls, pool: Pool) -> Iterator[Level]:
        signals = pool.signals
        values = np.stack([each.document for each in signals])
        said = np.array([each.said for each in signals])
        yield cls("documents", values, said, pool.right, np.arange(len(said)), np.abs(pool.output))
        if pool.has_words:
            right = [each.words_right for each in signals if each.words_right is not None]
            yield cls(
                "words",
                np.concatenate([each.words for each in signals]),
                np.concatenate([each.words_said for each in signals]),
                np.concatenate(right),
                pool.document,
                np.abs(pool.margins).astype(float),
            )

    def of_documents(self, chosen: NDArray[np.int64], pool: int) -> Bools:
        mask = np.zeros(pool, bool)
        mask[chosen] = True
        return mask[self.document]


def promised(level: Level, order: NDArray[np.int64], n: int, alone: bool) -> Iterator[tuple[float, Judged]]:
    """Our rule, for each risk; with the margin `alone`, or all signals."""
    documents, names = len(order), signal_names(near=True, knn=True)[level.name]
    values, names = (level.values[:, :1], names[:1]) if alone else (level.values, names)
    first, bound = order[: n // 3], order[n // 3 : n]
    mine, rest = level.of_documents(first, documents), level.of_documents(order[n:], documents)
    trust = Trust.fit(names, values[mine], level.said[mine], level.right[mine], 2)(values, level.said)
    number = np.empty(documents, np.int64)
    for part in (first, bound):
        number[part] = np.arange(len(part))
    parts = []
    for chosen, part in ((mine, first), (level.of_documents(bound, documents), bound)):
        parts.append(Answers(number[level.document[chosen]], trust[chosen], ~level.right[chosen], len(part)))
    for risk in RISKS:
        found = control(*parts, Goal(risk), curve=False)
        admitted = np.zeros(len(trust), bool)
        if found.threshold is not None:
            admitted = capped(trust, level.document, found.most) >= found.threshold
        yield risk, Judged.of(admitted, level.right, rest)


def thresholded(level: Level, order: NDArray[np.int64], n: int) -> Iterator[tuple[float, Judged]]:
    """The largest share of the calibration answers, by the softmax, whose error is at most the risk."""
    mine = level.of_documents(order[:n], len(order))
    ranked = np.argsort(-level.margin[mine], kind="stable")
    errors = np.cumsum(~level.right[mine][ranked]) / np.arange(1, len(ranked) + 1)
    for risk in RISKS:
        good = np.flatnonzero(errors <= risk)
        least = level.margin[mine][ranked][good[-1]] if len(good) else np.inf
        yield risk, Judged.of(level.margin >= least, level.right, ~mine)


def conformal(level: Level, order: NDArray[np.int64], n: int) -> Iterator[tuple[float, Judged]]:
    """Split conformal sets of the softmax (as MAPIE's and crepes' basic ones); those of one class are answers."""
    mine = level.of_documents(order[:n], len(order))
    sure = 1 / (1 + np.exp(-level.margin))  # of the class that is said
    strange = np.where(level.right, 1 - sure, sure)[mine]  # 1 - p of the true class
    for risk in RISKS:
        at = np.ceil((len(strange) + 1) * (1 - risk)) / len(strange)
        limit = np.quantile(strange, min(1.0, at), method="higher")
        sets = (1 - sure <= limit).astype(int) + (sure <= limit)
        yield risk, Judged.of(sets == 1, level.right, ~mine)


def by_limits(pool: Pool, order: NDArray[np.int64], n: int) -> Judged:
    """The paper's limits on documents, fitted on the calibration documents."""
    chosen = np.zeros(len(order), bool)
    chosen[order[:n]] = True
    admitted = np.zeros(len(order), bool)
    fitted: Admission | None = None
    for mask in (chosen, ~chosen):
        words = mask[pool.document]
        number = np.cumsum(mask) - 1
        near, owner = pool.near[words], number[pool.document[words]]
        if fitted is None:
            fitted = Admission.fit(pool.knn, near, pool.margins[words], support_version="")
            fitted = fitted.fit_documents(pool.knn, near, owner, pool.right[mask])
        tokens = fitted.tokens(pool.knn, near).admitted
        admitted[mask] = fitted.documents(tokens, owner, int(mask.sum())).admitted
    return Judged.of(admitted, pool.right, ~chosen)


def ranked(level: Level, order: NDArray[np.int64], n: int) -> Floats:
    """The error of our trust on the rest at each percent of coverage: what a rule with another aim could reach."""
    names = signal_names(near=True, knn=True)[level.name]
    mine = level.of_documents(order[: n // 3], len(order))
    rest = level.of_documents(order[n:], len(order))
    fitted = Trust.fit(names, level.values[mine], level.said[mine], level.right[mine], 2)
    trust = fitted(level.values[rest], level.said[rest])
    wrong = ~level.right[rest][np.argsort(-trust, kind="stable")]
    ends = np.ceil(np.arange(1, 101) / 100 * len(wrong)).astype(int)
    return np.asarray(np.cumsum(wrong)[ends - 1] / ends)


def judge(
    name: str, pool: Pool, n: int, splits: int
) -> tuple[list[list[object]], list[list[object]], list[tuple[float, float]]]:
    """Rows of the two tables, and how often our promises were kept."""
    rows: list[list[object]] = []
    limits: list[list[object]] = []
    kept: list[tuple[float, float]] = []
    draws = np.random.default_rng(1)
    orders = [draws.permutation(len(pool.right)) for _ in range(splits)]
    for level in Level.of(pool):
        ways = {
            "promise": lambda order, level=level: promised(level, order, n, alone=False),
            "promise, margin alone": lambda order, level=level: promised(level, order, n, alone=True),
            "softmax threshold": lambda order, level=level: thresholded(level, order, n),
            "conformal set of one": lambda order, level=level: conformal(level, order, n),
        }
        for way, judged in ways.items():
            found: dict[float, list[Judged]] = {risk: [] for risk in RISKS}
            for order in orders:
                for risk, each in judged(order):
                    found[risk].append(each)
            for risk, each in found.items():
                shares = [
                    float(np.mean([getattr(one, what) <= risk for one in each])) for what in ("risk", "error")
                ]
                if way == "promise":
                    kept.append((shares[0], shares[1]))
                mean = [
                    100 * float(np.mean([getattr(one, what) for one in each]))
                    for what in ("coverage", "error")
                ]
                none = 100 * float(np.mean([one.coverage == 0 for one in each]))
                rows.append(
                    [name, level.name, f"{risk:.0%}", way, *(100 * share for share in shares), *mean, none]
                )
            print(name, level.name, way, "done", flush=True)
        if level.name == "documents":
            paper = [by_limits(pool, order, n) for order in orders]
            coverage, error = (
                float(np.mean([getattr(one, what) for one in paper])) for what in ("coverage", "error")
            )
            curve = np.mean([ranked(level, order, n) for order in orders], axis=0)  # (100,)
            ours = float(np.flatnonzero(curve <= error).max(initial=-1) + 1)
            limits.append(
                [
                    name,
                    100 * (1 - pool.right.mean()),
                    100 * coverage,
                    100 * error,
                    ours,
                    ours / (100 * coverage) if coverage else None,
                ]
            )
    return rows, limits, kept


def page(
    rows: Sequence[Sequence[object]], limits: Sequence[Sequence[object]], splits: int, command: str
) -> str:
    def told(table: Sequence[Sequence[object]]) -> list[list[str]]:
        return [
            ["–" if cell is None else f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in row]
            for row in table
        ]

    columns = [
        "model",
        "answers",
        "risk",
        "rule",
        "kept",
        "kept on the rest",
        "admitted",
        "wrong",
        "nothing admitted",
    ]
    beside = ["model", "wrong of all", "limits admit", "of them wrong", "trust admits at that", "times"]
    return f"""# Promises about admitted answers, kept or not

```
{command}
```

Frozen encoders, {FILTERS} filters. Reviews: 1,000 for training (the last {WORDS} words of each), 250 of them in the
support set, a pool of 1,500 reviews that are in neither. FCE: 4,000 sentences for training, 1,500 of them in the
support set, a pool of 4,000 sentences, each text once. Marked reviews: trained likewise on 1,000 other reviews, a pool
of 2,195 originals whose revisions tell which words were changed (the truth of a word). Whole reviews: an encoder tuned
on the 1,707 originals ("Orig."), 1,000 filters, 250 of them in the support set, and a pool of 3,500 other whole
reviews. {splits} random splits of the pool: {CALIBRATION["reviews"]} reviews, {CALIBRATION["words"]} marked ones,
{CALIBRATION["tuned"]} whole ones or {CALIBRATION["fce"]} sentences to calibrate on, judged on the rest.
Everything is in percent, means over the splits. The number of FCE sentences to calibrate on, and how many words of a
document may be admitted, were changed after looking at that pool, so that words could be promised anything: the rows
of FCE flatter. The number of whole reviews was raised from 1,000, with which 2% could be promised in one split of five.

*kept*: splits in which the admitted answers of the whole pool have no larger share of errors than promised: the risk
that the promise is about, since the calibration documents are a random sample of the pool. *kept on the rest*: the
same of the documents that were not calibrated on. These are a sample, too, so that a rule whose risk is at the limit
is above it on the rest of every second split. Nothing admitted is nothing broken; how often that was so is told.

{markdown_table([columns, *told(rows)])}

## Beside the paper's limits

The limits (`--rule mean`) fitted on the same calibration documents; and how many documents may be admitted in the
order of our trust at the same share of errors.

{markdown_table([beside, *told(limits)])}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--encoders", nargs="+", default=["minilm"])
    parser.add_argument("--tuned", help="an encoder to tune on whole reviews")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows: list[list[object]] = []
    limits: list[list[object]] = []
    kept: list[tuple[float, float]] = []
    corpora = {"reviews": reviews, "fce": sentences, "words": marked_reviews, "tuned": whole_reviews}
    tasks = [("reviews", encoder) for encoder in given.encoders]
    tasks += [(task, given.encoders[0]) for task in ("fce", "words")]
    tasks += [("tuned", given.tuned)] * (given.tuned is not None)
    for task, encoder in tasks:
        short = Path(encoder).name
        place = given.work / f"{task}-{short}"
        place.mkdir(parents=True, exist_ok=True)
        prepare(corpora[task](given.data), encoder, place, tune=task == "tuned")
        more = judge(f"{NAMES[task]}, {short}", Pool.read(place), CALIBRATION[task], given.splits)
        for whole, part in zip((rows, limits, kept), more, strict=True):
            whole += part  # type: ignore[arg-type]
    names = " ".join(Path(encoder).name for encoder in given.encoders)
    tuned = f" --tuned {Path(given.tuned).name}" if given.tuned else ""
    command = f"python benchmarks/abstention.py DATA WORK --encoders {names}{tuned} --out docs/results/abstention.md"
    with replace_file(given.out) as temporary:
        temporary.write_text(page(rows, limits, given.splits, command), encoding="utf-8")
    smallest = [min(shares) for shares in zip(*kept, strict=True)]
    print(json.dumps({"kept": smallest[0], "kept_on_the_rest": smallest[1], "splits": given.splits}))


if __name__ == "__main__":
    main()
