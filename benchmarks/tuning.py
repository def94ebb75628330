"""Tuning the encoder: batches cut by length against whole padded batches, side by side in one run.

step_speedup       seconds of a tuning step (both readings, forward and backward, and the optimiser) with every batch
                   padded to its longest document, over those with documents of like lengths together
two_readings_cost  seconds of a step that reads the batch twice, over one that reads it once, both cut by length
padding            padded pieces over real ones: of whole batches, and of cut ones

    python benchmarks/tuning.py [--documents 192] [--turns 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np
import torch
from label import corpus

import exaudit.encode.transformer as encoding
from exaudit.encode.features import Features
from exaudit.encode.transformer import Transformer
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, HeadConfig
from exaudit.head.tuning import TuningConfig, tune

CUT = encoding._PIECES_PER_PACK["cpu"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--documents", type=int, default=192)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    lists = corpus(options.documents)
    labels = LabelledFeatures(
        Features.of_words([]),
        np.array([len(tokens) for tokens in lists]),
        np.arange(len(lists)) % 2,
        [np.arange(len(tokens)) % 2 for tokens in lists],
    )
    encoder = Transformer.load(layers=(3, 4, 5, 6), device="cpu")
    head = Head(
        HeadConfig(features=encoder.dimension, vocabulary=0, word_dimension=300, filters=1000, pool="none")
    )

    def seconds(budget: int | None, agreement: float) -> float:
        encoding._PIECES_PER_PACK = {} if budget is None else {"cpu": budget}
        config = TuningConfig(loss="document+token", epochs=1, agreement=agreement)
        began = time.perf_counter()
        tune(encoder, head, lists, labels, config)
        return time.perf_counter() - began

    def padding(budget: int | None) -> float:
        real = padded = 0
        order = np.random.default_rng(0).permutation(len(lists))
        for first in range(0, len(lists), 32):
            lengths = encoder.pieces([lists[i] for i in order[first : first + 32]] * 2).lengths
            parts = [np.arange(len(lengths))]
            if budget is not None:
                parts = list(encoding._by_length(lengths, encoder.window, 2, budget))
            real += int((lengths + 2).sum())
            padded += sum(len(part) * int(lengths[part].max() + 2) for part in parts)
        return padded / real

    times: dict[str, list[float]] = {"whole": [], "cut": [], "once": []}
    for _ in range(options.turns):
        times["whole"].append(seconds(None, 1.0))
        times["cut"].append(seconds(CUT, 1.0))
        times["once"].append(seconds(CUT, 0.0))
    whole, twice, once = (statistics.median(times[name]) for name in ("whole", "cut", "once"))
    result = {
        "step_speedup": round(whole / twice, 2),
        "two_readings_cost": round(twice / once, 2),
        "padding": {"whole": round(padding(None), 2), "cut": round(padding(CUT), 2)},
        "threads": torch.get_num_threads(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
