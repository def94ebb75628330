"""Training and decomposing the head, against the plain way of doing each, side by side in one run.

epoch_speedup          an epoch of our training against the same network as padded autograd with torch's Adadelta
gradient_difference    the largest difference between the two gradients of one step, relative to the largest entry
decomposition_speedup  our token scores against a loop over documents and filters

    python benchmarks/head.py [--documents 3000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np
import torch
from torch import Tensor, nn

from exaudit.encode.packed import Packed
from exaudit.head.adadelta import Adadelta
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.network import Head, HeadConfig
from exaudit.head.training import batch_loss

FEATURES, VOCABULARY, BATCH = 1536, 7500, 50


class Corpus:
    """Random features for documents whose lengths are spread like those of FCE (mean 18 pieces, longest 150)."""

    def __init__(self, documents: int, seed: int = 0) -> None:
        draws = np.random.default_rng(seed)
        lengths = np.clip(draws.lognormal(2.72, 0.58, documents), 2, 150).astype(np.int64)
        self.bounds = np.concatenate([[0], np.cumsum(lengths)])
        self.vectors = torch.from_numpy(
            draws.standard_normal((int(self.bounds[-1]), FEATURES), dtype=np.float32)
        )
        self.vectors = self.vectors.half()  # as the feature cache keeps them
        self.labelled = LabelledFeatures(
            features=self,
            word_counts=lengths,
            targets=draws.integers(0, 2, documents),
            word_ids=[draws.zipf(1.3, n).clip(max=VOCABULARY) - 1 for n in lengths],
        )

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def packed(self, indices: list[int]) -> Packed:
        spans = [slice(self.bounds[i], self.bounds[i + 1]) for i in indices]
        lengths = [s.stop - s.start for s in spans]
        words = torch.cat([torch.arange(n) for n in lengths])
        bounds = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
        return Packed(torch.cat([self.vectors[s] for s in spans]).float(), bounds, words)


class Plain(nn.Module):
    """The same network the usual way: pad, convolve, mask, pool; autograd does the rest."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.embedding = nn.Parameter(head.embedding.detach().clone())
        self.filters = nn.Parameter(head.filters[0].detach().clone())
        self.biases = nn.Parameter(head.filter_biases[0].detach().clone())
        self.weight = nn.Parameter(head.weight.detach().clone())
        self.bias = nn.Parameter(head.bias.detach().clone())

    def forward(self, vectors: Tensor, ids: Tensor, mask: Tensor, dropped: Tensor) -> Tensor:
        tokens = torch.cat([vectors, nn.functional.embedding(ids, self.embedding)], 2)  # (B, L, D)
        h = (tokens @ self.filters.t() + self.biases).relu()  # (B, L, M)
        g = h.masked_fill(~mask[:, :, None], -torch.inf).max(1).values  # (B, M)
        return (g * dropped) @ self.weight.t() + self.bias


def pad(corpus: Corpus, indices: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    lengths = corpus.labelled.word_counts[indices]
    vectors = torch.zeros(len(indices), int(lengths.max()), FEATURES)
    ids = torch.zeros(vectors.shape[:2], dtype=torch.long)
    for b, i in enumerate(indices):
        vectors[b, : lengths[b]] = corpus.vectors[corpus.bounds[i] : corpus.bounds[i + 1]]
        ids[b, : lengths[b]] = torch.from_numpy(corpus.labelled.word_ids[i])
    return vectors, ids, torch.arange(vectors.shape[1]) < torch.from_numpy(lengths)[:, None]


def plain_step(plain: Plain, corpus: Corpus, indices: list[int], dropped: Tensor) -> Tensor:
    vectors, ids, mask = pad(corpus, indices)
    targets = torch.from_numpy(corpus.labelled.targets[indices])
    return nn.functional.cross_entropy(plain(vectors, ids, mask, dropped), targets)


def compare_gradients(head: Head, plain: Plain, corpus: Corpus) -> float:
    indices = list(range(BATCH))
    dropped = head.drop(torch.ones(BATCH, 1000), torch.Generator().manual_seed(1))
    loss = batch_loss(
        head,
        corpus.labelled.batch(indices),
        corpus.labelled,
        indices,
        "document",
        torch.Generator().manual_seed(1),
    )
    loss.backward()
    plain_step(plain, corpus, indices, dropped).backward()
    pairs = [
        (head.embedding.grad.to_dense(), plain.embedding.grad),
        (head.filters[0].grad, plain.filters.grad),
        (head.filter_biases[0].grad, plain.biases.grad),
        (head.weight.grad, plain.weight.grad),
    ]
    head.zero_grad(set_to_none=True)
    plain.zero_grad(set_to_none=True)
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def epochs(head: Head, plain: Plain, corpus: Corpus) -> tuple[float, float]:
    """Seconds of one epoch each, their steps taken in turn so that both see the same machine."""
    ours, theirs = Adadelta(head.parameters()), torch.optim.Adadelta(plain.parameters(), lr=1.0)
    spent = [0.0, 0.0]
    order = np.random.default_rng(0).permutation(len(corpus)).tolist()
    for start in range(0, len(order), BATCH):
        indices = order[start : start + BATCH]
        began = time.perf_counter()
        batch = corpus.labelled.batch(indices)
        ours.zero_grad()
        batch_loss(
            head, batch, corpus.labelled, indices, "document", torch.Generator().manual_seed(start)
        ).backward()
        ours.step(clip=3.0)
        between = time.perf_counter()
        dropped = head.drop(torch.ones(len(indices), 1000), torch.Generator().manual_seed(start))
        theirs.zero_grad()
        plain_step(plain, corpus, indices, dropped).backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 3.0)
        theirs.step()
        spent[0] += between - began
        spent[1] += time.perf_counter() - between
    return spent[0], spent[1]


@torch.no_grad()
def decomposition(head: Head, corpus: Corpus, documents: int = 20) -> float:
    """How many times faster than a loop over filters, for the same token scores."""
    head.eval()
    indices = list(range(documents))
    batch = corpus.labelled.batch(indices)
    g, winners = head.pooled(batch)
    head.contributions(batch, g, winners)
    turns = []
    for _ in range(20):
        began = time.perf_counter()
        ours = head.contributions(batch, g, winners)
        turns.append(time.perf_counter() - began)
    fast = statistics.median(turns)
    began = time.perf_counter()
    scores = np.tile(head.bias.numpy(), (len(batch.vectors), 1))
    weight, pooled, rows = head.weight.numpy(), g.numpy(), winners.numpy()
    for b in range(documents):
        for m in range(pooled.shape[1]):
            for c in range(2):
                scores[rows[b, m], c] += weight[c, m] * pooled[b, m]
    slow = time.perf_counter() - began
    np.testing.assert_allclose(ours.numpy(), scores, atol=1e-3)
    return slow / fast


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=3000)
    corpus = Corpus(parser.parse_args().documents)
    head = Head(
        HeadConfig(features=FEATURES, vocabulary=VOCABULARY), generator=torch.Generator().manual_seed(0)
    )
    plain = Plain(head)
    difference = compare_gradients(head, plain, corpus)
    ours, theirs = epochs(head, plain, corpus)
    steps = -(-len(corpus) // BATCH)
    print(
        f"{len(corpus):,} documents, {len(corpus.vectors):,} pieces, D=1836, M=1000, {torch.get_num_threads()} threads"
    )
    print(f"a step: ours {1e3 * ours / steps:.1f} ms, padded autograd {1e3 * theirs / steps:.1f} ms")
    result = {
        "epoch_speedup": round(theirs / ours, 2),
        "gradient_difference": difference,
        "decomposition_speedup": round(decomposition(head, corpus), 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
