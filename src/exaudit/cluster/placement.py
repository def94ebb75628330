"""Where shards go: how many there are, which documents each has, and what it asks of a node."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import ray

from exaudit.audit.index import WITH_SKETCHES
from exaudit.errors import ClusterError

__all__ = ["GROWTH", "Placement"]

GROWTH = 1.25  # of the set, until its documents are spread anew; the memory is asked for at once
_WORKER_BYTES = 400 << 20  # a process of Ray with torch, before it has read anything
_LARGEST = 4 << 30  # bytes of a shard: what is read again, at most, for each that is lost
_SMALLEST = 1 << 16  # rows of a shard: with fewer it is not worth a process


@dataclass(frozen=True)
class Placement:
    """Shards of the same size, as nearly as whole documents allow."""

    edges: npt.NDArray[np.int64]  # (shards + 1,) between the documents of one and of the next
    memory: int  # bytes that each asks of a node
    threads: int  # that each computes with

    @classmethod
    def of(cls, lengths: npt.NDArray[np.int64], row_bytes: int, shards: int | None) -> Placement:
        """For documents of these numbers of tokens: as many shards as asked for, or as the nodes that are up call for.

        Each is a run of documents as they were added, which are together in the files, too.
        """
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        ends = np.cumsum(lengths, dtype=np.int64)
        rows = int(ends[-1]) if len(ends) else 0
        needed = int(GROWTH * WITH_SKETCHES * rows * row_bytes)
        worthwhile = min(len(nodes), math.ceil(rows / _SMALLEST))
        count = shards or max(math.ceil(needed / _LARGEST), worthwhile)
        count = max(1, min(count, len(lengths)))
        memory = _WORKER_BYTES + math.ceil(needed / count)
        there = sum(int(node.get("memory", 0)) for node in nodes)
        if count * memory > there:
            raise ClusterError(
                f"a search of the support set takes {count * memory / 1e9:.1f} GB of memory, and the cluster has "
                f"{there / 1e9:.1f} GB on {len(nodes)} nodes; add nodes, or start them with more --memory"
            )
        cores = min((int(node.get("CPU", 1)) for node in nodes), default=1)
        aimed = np.linspace(0, rows, count + 1)[1:-1]
        edges = np.searchsorted(ends, aimed, side="left")
        return cls(
            edges=np.concatenate([[0], edges, [len(lengths)]]).astype(np.int64),
            memory=memory,
            threads=max(1, cores // math.ceil(count / max(1, len(nodes)))),
        )
