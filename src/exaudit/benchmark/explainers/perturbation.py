"""Explainers that mask words and look at what becomes of the log-odds.

LIME and SHAP are given the words one by one, so that what they say is of our words exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exaudit.benchmark.explainers.classifier import Classifier, Floats, Reading

__all__ = ["lime", "occlusion", "shap"]

LIME_SAMPLES = 1000
SHAP_EVALUATIONS = 500  # shap's own default for text
_MASKED = "x"  # what LIME writes in the place of a word; the words themselves are numbers


def occlusion(classifier: Classifier, reading: Reading) -> Floats:
    """What the log-odds lose when one word is masked."""
    count = len(reading.tokens)
    keep = np.vstack([np.ones((1, count), np.bool_), ~np.eye(count, dtype=np.bool_)])  # (N + 1, N)
    outputs = classifier.masked(reading, keep)
    return np.asarray(outputs[0] - outputs[1:])


def lime(classifier: Classifier, reading: Reading) -> Floats:
    """The weights of a linear model that is fitted to the probabilities of documents with random words masked."""
    from lime.lime_text import LimeTextExplainer

    count = len(reading.tokens)

    def probabilities(texts: Sequence[str]) -> Floats:
        keep = np.array([[word != _MASKED for word in text.split(" ")] for text in texts])  # (S, N)
        outputs = classifier.masked(reading, keep)
        positive = 1 / (1 + np.exp(-outputs))
        return np.stack([1 - positive, positive], 1)  # (S, 2)

    explainer = LimeTextExplainer(bow=False, mask_string=_MASKED, random_state=0)
    numbers = " ".join(
        map(str, range(count))
    )  # each position is a feature of its own, whatever is written there
    found = explainer.explain_instance(
        numbers, probabilities, labels=(1,), num_features=count, num_samples=LIME_SAMPLES
    )
    weights = np.zeros(count)
    for word, weight in found.as_map()[1]:
        weights[word] = weight
    return weights


def shap(classifier: Classifier, reading: Reading) -> Floats:
    """Owen values, which are Shapley values along a tree of neighbouring words, of the log-odds."""
    from shap import PartitionExplainer, maskers

    count = len(reading.tokens)
    if count == 1:  # shap makes no tree of one leaf, and needs none: the value is the whole difference
        return occlusion(classifier, reading)
    words = _Words(reading.tokens)

    def outputs(numbers: Any) -> Floats:
        return classifier.masked(reading, np.array([*numbers]) != words.mask_token_id)

    masker = maskers.Text(words, mask_token=words.mask_token_id, output_type="token_ids")
    explainer = PartitionExplainer(outputs, masker)
    found = explainer(
        [words.text],
        max_evals=SHAP_EVALUATIONS,
        batch_size=min(SHAP_EVALUATIONS, classifier.at_once(reading)),
        silent=True,
    )
    return np.asarray(found.values[0], np.float64)


class _Words:
    """What shap asks of a tokenizer, for words that are known already: their numbers, counted from 1."""

    mask_token_id = 0

    def __init__(self, words: Sequence[str]) -> None:
        self.text = " ".join(words)
        ends = np.cumsum([len(word) + 1 for word in words]) - 1
        self._spans = [(int(end) - len(word), int(end)) for word, end in zip(words, ends, strict=True)]

    def __call__(self, text: str, return_offsets_mapping: bool = False) -> dict[str, Any]:
        if text != self.text:  # shap asks what stands around an empty text: nothing
            return {"input_ids": []}
        return {"input_ids": list(range(1, len(self._spans) + 1)), "offset_mapping": self._spans}
