"""One model of all classes against one model for each class: the same documents, the same head, one training run or C.

    python benchmarks/classes.py requests                # 20 classes, built in
    python benchmarks/classes.py complaints              # several labels, built in
    python benchmarks/classes.py semeval --data FILE --lexicon FILE     # three classes of tweets

Prints macro F1 of documents and of words (at the boundaries that training sets, by document labels alone), and last a
JSON object with `of_one_against_rest`, the words' macro F1 of the one model over that of the C models.

The words of tweets are not labelled. A sentiment lexicon (lines of word<TAB>score, as VADER's) stands in for the truth:
a word counts for the class of its tweet if its score has that sign. The neutral class has no such words, and is left
out of the words' figure.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.data.readers import read_documents
from exaudit.data.sample import sample_splits
from exaudit.metrics import averaged, columns, document_metrics, token_metrics
from exaudit.model.model import Model
from exaudit.model.scores import MultiScores
from exaudit.model.settings import Settings
from exaudit.model.train import train

Splits = dict[str, list[Document]]
Table = NDArray[np.bool_]


def semeval(path: Path, seed: int = 0) -> Splits:
    """The tweets of SemEval 2017 task 4A that are at hand, split by a seeded draw."""
    documents = read_documents(path, columns="id,label,text", tokens="whitespace")
    order = np.random.default_rng(seed).permutation(len(documents))
    parts = np.split(order, [8000, 9000])
    return {
        name: [documents[i] for i in part] for name, part in zip(("train", "dev", "test"), parts, strict=True)
    }


def marked(documents: list[Document], lexicon: Path) -> list[Document]:
    """Tweets whose words are labelled by a lexicon."""
    rows = (line.split("\t") for line in lexicon.read_text(encoding="utf-8").splitlines() if "\t" in line)
    signs = {word: "positive" if float(score) > 0 else "negative" for word, score, *_ in rows}

    def label(document: Document, token: str) -> str:
        sign = signs.get(token.lower().strip(".,!?:;\"'()#"), "O")
        return sign if sign == document.label else "O"

    return [replace(d, token_labels=tuple(label(d, token) for token in d.tokens)) for d in documents]


def decisions(model: Model, documents: list[Document]) -> tuple[Table, Table]:
    """Decided classes of the documents (D, K) and of their words (W, K)."""
    scores = model.label(documents)
    several = len(model.labels.views) > 1
    of_documents = np.zeros((len(scores), len(model.labels)), bool)
    for row, one in zip(of_documents, scores, strict=True):
        row[list(one.decided)] = True
    if not several:
        return of_documents[:, 1:], np.concatenate([one.decisions for one in scores])[:, None]
    words = [classes for one in scores if isinstance(one, MultiScores) for classes in one.word_classes]
    of_words = np.zeros((len(words), len(model.labels)), bool)
    for row, classes in zip(of_words, words, strict=True):
        row[list(classes)] = True
    return of_documents, of_words


def f1(decided: Table, truth: Table, *, words: bool) -> float:
    return 100 * averaged(columns(decided, truth), token_metrics if words else document_metrics)["f1"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=["requests", "complaints", "semeval"])
    parser.add_argument("--data", type=Path, help="the file of semeval")
    parser.add_argument("--lexicon", type=Path, help="a sentiment lexicon, for the words of semeval")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--tune-encoder", action="store_true")
    parser.add_argument("--filters", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    splits = semeval(arguments.data) if arguments.task == "semeval" else sample_splits(arguments.task)
    if arguments.lexicon is not None:
        splits["test"] = marked(splits["test"], arguments.lexicon)
    known = {name: [d.without_token_labels() for d in splits[name]] for name in ("train", "dev")}
    settings = Settings(
        tokens="whitespace", encoder=arguments.encoder, tune_encoder=arguments.tune_encoder, filters=arguments.filters,
        seed=arguments.seed, pretrain=False if arguments.tune_encoder else None,
    )  # fmt: skip
    labels = LabelSet.infer(splits["train"])
    truth = np.array([labels.view_targets(d) for d in splits["test"]]) > 0  # (D, C)

    began = time.monotonic()
    together = decisions(train(settings, known["train"], known["dev"]), splits["test"])
    seconds = [time.monotonic() - began]
    began = time.monotonic()
    apart = []
    for name in labels.names:
        model = train(replace(settings, positive=name), known["train"], known["dev"])
        apart.append(decisions(model, splits["test"]))
    seconds.append(time.monotonic() - began)
    each = tuple(np.concatenate([one[level] for one in apart], 1) for level in (0, 1))

    word_truth = np.concatenate([labels.token_targets(d) for d in splits["test"]]) > 0  # (W, C)
    known_classes = word_truth.any(0)
    result = {
        "task": arguments.task,
        "encoder": Path(arguments.encoder).name + (" tuned" if arguments.tune_encoder else ""),
        "classes": len(labels),
        "documents": [f1(found[0], truth, words=False) for found in (together, each)],
        "words": [
            f1(found[1][:, known_classes], word_truth[:, known_classes], words=True)
            for found in (together, each)
        ],
        "seconds": seconds,
    }
    result["of_one_against_rest"] = result["words"][0] / result["words"][1]
    print(f"{arguments.task}: {len(labels)} classes, macro F1 in percent   one model   {len(labels)} models")
    for level in ("documents", "words"):
        print(f"  {level:<12} {result[level][0]:>10.1f} {result[level][1]:>10.1f}")
    print(f"  {'seconds':<12} {seconds[0]:>10.0f} {seconds[1]:>10.0f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
