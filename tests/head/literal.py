"""The paper's section 3 as slow loops over documents, filters and tokens, in float64."""

from __future__ import annotations

import numpy as np
import torch

from exaudit.encode.packed import Packed
from exaudit.head.batch import Batch
from exaudit.head.network import Head


def make_batch(lengths: list[int], features: int, *, vocabulary: int = 0, seed: int = 0) -> Batch:
    """Random documents; roughly every third word has two pieces."""
    rng = np.random.default_rng(seed)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    words, counts = [], []
    for length in lengths:
        steps = (rng.random(length) > 0.3).astype(np.int64)
        steps[0] = 0
        mine = steps.cumsum()
        words.append(mine)
        counts.append(int(mine[-1]) + 1)
    vectors = torch.from_numpy(rng.standard_normal((bounds[-1], features)).astype(np.float32))
    packed = Packed(vectors, torch.from_numpy(bounds), torch.from_numpy(np.concatenate(words)))
    ids = [rng.integers(0, vocabulary, n) for n in counts] if vocabulary else None
    return Batch.of(packed, counts, ids)


def tokens_of(head: Head, batch: Batch, b: int) -> np.ndarray:
    """t_1 .. t_N of document b."""
    start, end = int(batch.bounds[b]), int(batch.bounds[b + 1])
    rows = []
    for n in range(start, end):
        t = batch.vectors[n].detach().double().numpy()
        if head.embedding is not None:
            word = head.embedding[int(batch.word_ids[n])].detach().double().numpy()
            t = np.concatenate([t, word])
        rows.append(t)
    return np.array(rows)  # (N, D)


def document(head: Head, batch: Batch, b: int) -> tuple[np.ndarray, np.ndarray]:
    """W g + b, and s_n for every piece and class, of document b."""
    t = tokens_of(head, batch, b)
    N, D = t.shape
    W, bias = head.weight.detach().double().numpy(), head.bias.detach().double().numpy()
    logits, s = bias.copy(), np.tile(bias, (N, 1))
    column = 0
    for Q, filters, biases in zip(head.config.widths, head.filters, head.filter_biases, strict=True):
        padded = np.concatenate([t, np.zeros((max(0, Q - N), D))])
        for m in range(head.config.filters):
            w = filters[m].detach().double().numpy().reshape(Q, D)
            h = [float((w * padded[n : n + Q]).sum() + biases[m].item()) for n in range(len(padded) - Q + 1)]
            g = max(max(x, 0.0) for x in h)
            n_m = h.index(max(h))
            for c in range(len(W)):
                logits[c] += W[c, column] * g
                for n in range(N):
                    s[n, c] += W[c, column] * g * sum(n == n_m + (q - 1) for q in range(1, Q + 1))
            column += 1
    return logits, s


def words_of(batch: Batch, b: int, pieces: np.ndarray) -> np.ndarray:
    """Averages over the pieces of each word of document b."""
    start = int(batch.bounds[b])
    first, last = int(batch.word_bounds[b]), int(batch.word_bounds[b + 1])
    out = []
    for word in range(first, last):
        mine = [pieces[n] for n in range(len(pieces)) if int(batch.words[start + n]) == word]
        out.append(np.mean(mine, axis=0))
    return np.array(out)
