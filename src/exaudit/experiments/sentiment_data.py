"""The data of the sentiment experiment under the paper's names: training sets, test sets, and models of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exaudit.data.document import Document
from exaudit.data.labels import LabelNames
from exaudit.experiments.corpora import SEED, Contrast, Reviews, read_contrast, read_reviews, read_tweets
from exaudit.experiments.run import Run
from exaudit.model.model import Model

__all__ = ["CLASSES", "CONTRAST", "FILES", "LARGE", "ORIG", "ORIGINALS", "PAIRED", "PAIRED_19K", "REVISIONS", "SMALL",
           "TWEETS", "SentimentData", "sentiment_model", "training_sets"]  # fmt: skip

ORIG, PAIRED, DISJOINT = SMALL = (
    "Orig. (3.4k)",
    "Orig.+Rev. (1.7k+1.7k)",
    "Orig. disjoint+Rev. (1.7k+1.7k)",
)
ORIG_19K, PAIRED_19K, DISJOINT_19K = LARGE = (
    "Orig. (19k)",
    "Orig.+Rev. (19k+1.7k)",
    "Orig. disjoint+Rev. (19k-1.7k+1.7k)",
)
FILES = {
    ORIG: "orig",
    PAIRED: "paired",
    DISJOINT: "disjoint",
    ORIG_19K: "orig-19k",
    PAIRED_19K: "paired-19k",
    DISJOINT_19K: "disjoint-19k",
}
ORIGINALS, REVISIONS, CONTRAST, TWEETS = "Orig.", "Rev.", "Contrast", "SemEval-2017"  # test sets
CLASSES = LabelNames("Negative", "Positive")


@dataclass(frozen=True)
class SentimentData:
    reviews: Reviews
    contrast: Contrast
    tweets: list[Document]

    @classmethod
    def read(cls, run: Run) -> SentimentData:
        data, fast = run.data, run.settings.fast
        return cls(
            read_reviews(data, fast=fast), read_contrast(data, fast=fast), read_tweets(data, fast=fast)
        )

    @property
    def tests(self) -> dict[str, list[Document]]:
        """The test sets by their names in the tables."""
        orig, rev = self.reviews.orig.test, self.reviews.rev.test
        return {ORIGINALS: orig, REVISIONS: rev, CONTRAST: self.contrast.revised, TWEETS: self.tweets}


def training_sets(reviews: Reviews) -> dict[str, tuple[list[Document], list[Document]]]:
    """Train and dev documents under each of the paper's six names.

    In the disjoint sets no revision stands beside its original, neither in train nor in dev.
    """
    orig, rev, large = reviews.orig, reviews.rev, reviews.orig_19k
    never_revised = [document for document in large if document.id not in reviews.shared]
    both_devs = [*orig.dev, *rev.dev]
    coins = np.random.default_rng(SEED).integers(0, 2, len(orig.dev)).tolist()
    one_per_pair = [pair[coin] for coin, pair in zip(coins, zip(orig.dev, rev.dev, strict=True), strict=True)]
    return {
        ORIG: ([*orig.train, *_as_many(orig.train, never_revised)], orig.dev),
        PAIRED: ([*orig.train, *rev.train], both_devs),
        DISJOINT: ([*_as_many(rev.train, never_revised), *rev.train], one_per_pair),
        ORIG_19K: (large, orig.dev),
        PAIRED_19K: ([*large, *rev.train], both_devs),
        DISJOINT_19K: ([*never_revised, *rev.train], one_per_pair),
    }


def _as_many(documents: Sequence[Document], pool: Sequence[Document]) -> list[Document]:
    """As many others, drawn from the pool, so that with them there are as many negative as positive reviews."""
    draws = np.random.default_rng(SEED)
    drawn: list[int] = []
    for label in (CLASSES.negative, CLASSES.positive):
        of_class = [i for i, document in enumerate(pool) if document.label == label]
        wanted = len(documents) - sum(document.label == label for document in documents)
        drawn += draws.permutation(of_class)[:wanted].tolist()
    return [pool[i] for i in sorted(drawn)]


def sentiment_model(run: Run, data: SentimentData, name: str) -> Model:
    train, dev = training_sets(data.reviews)[name]
    return run.model(
        f"sentiment-{FILES[name]}", train, dev,
        data="reviews", positive=CLASSES.positive, tune_encoder=run.settings.tune_encoder,
    )  # fmt: skip
