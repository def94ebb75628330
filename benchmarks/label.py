"""Labelling against the bare encoder, side by side in one run.

of_encoder          documents a second of `Model.iter_label` with precision auto, over those of the Transformer alone,
                    in float32, on length-sorted batches (its forward pass and nothing else)
of_encoder_float32  the same with precision float32
precision           what auto is on this machine
sorted_vs_naive     the Transformer alone on length-sorted batches, over fixed batches in file order, padded to the
                    longest

    python benchmarks/label.py [--documents 500]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.encode.transformer import Transformer
from exaudit.model.labeler import Labeler

NAIVE_BATCH = 32
Batches = list[tuple[torch.Tensor, torch.Tensor]]  # ids and mask


def corpus(documents: int) -> list[tuple[str, ...]]:
    """Learner sentences and runs of reviews: lengths from 8 to some 200 words, mixed as in a user's file."""
    draws = np.random.default_rng(0)
    sentences = [d.tokens for d in sample_documents("learner", documents, seed=1)]
    reviews = [d.tokens for d in sample_documents("reviews", documents, seed=1)]
    lists = []
    for i in range(documents):
        count = int(draws.choice([0, 1, 2, 4, 8], p=[0.5, 0.2, 0.15, 0.1, 0.05]))
        lists.append(tuple(t for j in range(count) for t in reviews[(i + 7 * j) % documents]) or sentences[i])
    return lists


def sorted_batches(encoder: Transformer, lists: list[tuple[str, ...]]) -> Batches:
    """The padded id batches that the encoder itself would run, captured once."""
    batches: Batches = []
    forward = encoder.module.forward

    def capture(
        input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **options: object
    ) -> object:
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        batches.append((input_ids, mask))
        return forward(input_ids=input_ids, attention_mask=attention_mask, **options)

    encoder.module.forward = capture
    for _ in encoder.batches(lists):
        pass
    encoder.module.forward = forward
    return batches


def naive_batches(batches: Batches, seed: int = 0) -> Batches:
    """The same sequences in an order that knows nothing of length, in fixed batches padded to their longest."""
    rows = [ids[i, : int(mask[i].sum())] for ids, mask in batches for i in range(len(ids))]
    order = np.random.default_rng(seed).permutation(len(rows))
    result = []
    for start in range(0, len(rows), NAIVE_BATCH):
        chosen = [rows[i] for i in order[start : start + NAIVE_BATCH]]
        ids = torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True)
        lengths = torch.tensor([len(r) for r in chosen])
        result.append((ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()))
    return result


@torch.no_grad()
def run(encoder: Transformer, batches: Batches) -> None:
    for ids, mask in batches:
        encoder.module(
            input_ids=ids, attention_mask=None if bool(mask.all()) else mask, output_hidden_states=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    lists = corpus(options.documents)
    train = sample_documents("learner", 200, seed=0)
    exact = Labeler(epochs=1, device="cpu", precision="float32", cache="").fit(train).model_
    quick = exact.at("auto")
    encoder = Transformer.load(
        "minilm", layers=exact.encoder.layers, device="cpu"
    )  # as Transformers has it: padded
    documents = [Document.from_tokens(tokens, id=str(i)) for i, tokens in enumerate(lists)]
    in_order = sorted_batches(encoder, lists)
    naive = naive_batches(in_order)
    jobs: dict[str, Callable[[], object]] = {
        "auto": lambda: list(quick.iter_label(documents)),
        "float32": lambda: list(exact.iter_label(documents)),
        "encoder": lambda: run(encoder, in_order),
        "naive": lambda: run(encoder, naive),
    }
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(options.rounds):  # in turn, so that all see the same machine
        for name, job in jobs.items():
            began = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - began)
    best = {name: statistics.median(values) for name, values in times.items()}
    words = sum(map(len, lists))
    print(
        f"{len(lists):,} documents, {words:,} words, {torch.get_num_threads()} threads; median of {options.rounds}"
    )
    for name, seconds in best.items():
        print(f"  {name:<8} {seconds:6.2f} s  {words / seconds:8.0f} words/s")
    print(
        json.dumps(
            {
                "of_encoder": round(best["encoder"] / best["auto"], 3),
                "of_encoder_float32": round(best["encoder"] / best["float32"], 3),
                "precision": quick.precision,
                "sorted_vs_naive": round(best["naive"] / best["encoder"], 3),
            }
        )
    )


if __name__ == "__main__":
    main()
