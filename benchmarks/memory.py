"""Peak memory of training on as many word pieces as FCE has, features on disk.

train_peak_gb  the most resident memory of the training process (maximum over both epochs), in GB

The features are made up (random, float16), put into a feature cache of their own, and read back through it by
the same code as real ones. FCE has 28,731 sentences of 18 pieces on average.

    python benchmarks/memory.py [--documents 28731]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from exaudit.encode.cache import FeatureCache
from exaudit.encode.packed import Packed
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, HeadConfig
from exaudit.head.training import TrainingConfig, train

DIMENSION, VOCABULARY = 1536, 7500


class Stand:
    """Stands in for the encoder: random vectors of the right width."""

    name, fingerprint, layers, dtype = "stand-in", "0" * 64, (1, 2, 3, 4), "float32"
    dimension, max_length, changed = DIMENSION, None, False

    def batches(
        self, token_lists: Sequence[Sequence[str]], *, desc: str | None = None
    ) -> Iterator[tuple[list[int], Packed]]:
        draws = np.random.default_rng(0)
        for start in range(0, len(token_lists), 200):
            indices = list(range(start, min(start + 200, len(token_lists))))
            lengths = [len(token_lists[i]) for i in indices]
            vectors = torch.from_numpy(draws.standard_normal((sum(lengths), DIMENSION), dtype=np.float32))
            bounds = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
            yield indices, Packed(vectors, bounds, torch.cat([torch.arange(n) for n in lengths]))


def measure(documents: int, folder: str) -> None:
    draws = np.random.default_rng(0)
    lengths = np.clip(draws.lognormal(2.72, 0.58, documents), 2, 150).astype(np.int64)
    lists = [[f"w{d}.{i}" for i in range(n)] for d, n in enumerate(lengths)]
    features = FeatureCache(folder, limit_bytes=10**11).features(Stand(), lists)  # type: ignore[arg-type]
    ids = [draws.zipf(1.3, n).clip(max=VOCABULARY) - 1 for n in lengths]
    data = LabelledFeatures(features, lengths, draws.integers(0, 2, documents), None, ids)
    few = LabelledFeatures(features, lengths[:500], data.targets[:500], None, ids[:500])
    head = Head(HeadConfig(features=DIMENSION, vocabulary=VOCABULARY))
    checkpoint = Path(folder) / "checkpoint.safetensors"
    train(head, data, few, TrainingConfig(epochs=2), checkpoint=checkpoint)
    print(int(lengths.sum()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=28731)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.documents, options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--documents", str(options.documents), "--measure", folder]
        pieces, kilobytes = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.split()[-2:]
    print(f"{options.documents:,} documents, {int(pieces):,} pieces of {DIMENSION} features, 1000 filters")
    print(json.dumps({"train_peak_gb": round(int(kilobytes) * 1024 / 1e9, 2)}))


if __name__ == "__main__":
    main()
