"""How the experiments train and fit: the paper's recipe to the letter, and ours.

The paper's is in plain values, with the section that says so; "code" is its replication code
(https://github.com/allenschmaltz/exa), where that says more than the text, or something else. `exaudit train`, `exaudit
knn fit` and `exaudit admission fit` take each of them by itself, and most of them together with `--recipe paper`.

What still differs: the encoder (BERT large, cased) and the word vectors (300 dimensions) are those that are at hand;
word embeddings are of whole words, where the code has word pieces; padding and special tokens win no max-pool, and
words after the cut at the maximum length score the bias, where the code has 0; uniCNN+S* goes on from the epoch of
uniCNN, where the code has the one with the best F0.5 of documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["OURS", "PAPER", "RECIPES", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """Settings of models and fits, by what they are for."""

    name: str  # of `recipe` in training, in fitting a K-NN and in fitting admission
    model: Mapping[str, Any] = field(default_factory=dict)  # of every model
    sentences: Mapping[str, Any] = field(default_factory=dict)  # of models of FCE
    reviews: Mapping[str, Any] = field(default_factory=dict)  # of models of reviews
    by_loss: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vectors_beside_encoder: bool = False  # word vectors for every model, not only for `cnn`
    news_epochs: int | None = None  # of models trained on FCE and news; None: as many steps as on FCE alone
    knn_epochs: Mapping[str, int] = field(default_factory=lambda: {"sentences": 40, "reviews": 60})
    knn_batch: Mapping[str, int] = field(default_factory=lambda: {"sentences": 50, "reviews": 50})
    supervised_at_zero: bool = False  # uniCNN+S* and its K-NN, on K-NN dev and within limits

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


OURS = Recipe(
    "stable",
    reviews={"max_length": 350, "select": "accuracy"},
    by_loss={"document": {"boundary": "zero"}, "min-max": {"boundary": "zero"}},
)

PAPER = Recipe(
    "paper",
    model={
        "layers": "last four",  # 4.1.3: "the top four hidden layers"
        "filters": 1000,  # 4.1.3: M = 1000, Q = 1
        "vocabulary": 7500,  # 4.1.3: "we limit the vocabulary size to 7,500"
        "dropout": 0.5,  # 4.1.3, Optimization and Tuning
        "batch_size": 50,  # the same
        "learning_rate": 1.0,  # code; Adadelta, at a constant rate, without clipping
        "boundary": "zero",  # 3.2; code: no boundary of a model is tuned but those of the rows that say so
    },
    sentences={"max_length": 50, "epochs": 20},  # code
    reviews={"max_length": 350, "epochs": 60, "select": "accuracy"},  # 5.1.4; the last of equal epochs: code
    by_loss={
        # 4.1.3: "the highest sentence-level F1 score on the dev set"; code: of the fully connected layer, at the best
        # of fifty boundaries, also after min-max
        "document": {"select": "linear-f1"},
        "min-max": {
            "select": "linear-f1",
            "min_max": "padded",
        },  # code; not equation 3.4, where padding has no part
        "token": {"select": "token-f0.5"},  # code: at zero
    },
    vectors_beside_encoder=True,  # 4.1.3: "concatenated with the pre-trained Word2Vec word embeddings"
    news_epochs=20,  # code
    knn_epochs={"sentences": 40, "reviews": 60},  # 4.1.5, 5.1.4
    knn_batch={"sentences": 50, "reviews": 10},  # code: documents
    supervised_at_zero=True,  # table 6: "Without thresholds, the decision boundary is 0"; code for table 4
)

RECIPES = {recipe.name: recipe for recipe in (OURS, PAPER)}
