"""Nodes, hours and bytes of each job; docs/plan.md has the same formulas, with every symbol named.

They are those of an ideal cluster: nothing fails, and no node waits for another. `benchmarks/plan.py` tells how far
stragglers and a lost node take a search from that.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from exaudit.errors import SettingError
from exaudit.plan.rates import Rates, Unit
from exaudit.plan.workload import DTYPES, Nodes, Workload

__all__ = ["Plan", "Stage", "make_plan", "slower_with"]

ROOM = 0.8  # of a memory is planned with; an assumption, which leaves the rest to the system and to work in progress
BUILD = 1.05  # time of a build over that of labelling: build_vs_label of benchmarks/store.py
NEIGHBOUR = 12  # bytes of a neighbour found: its row and its distance
# Milliseconds of a query over k: python benchmarks/search.py --growth docs/results/scaling --rows 100000 --threads 1
GROWTH = {1: 0.2794, 2: 0.3003, 4: 0.3383, 8: 0.4092, 16: 0.5264, 32: 0.7995, 64: 1.2612, 100: 1.7557}
MEASURED_K = 8  # of the rates


@dataclass(frozen=True, slots=True)
class Stage:
    """One job: how many nodes it takes to end in time, how long it is then, and what it keeps where."""

    name: str
    on: str  # "cores" or "GPUs"
    nodes: int
    hours: float
    unit_hours: float  # core-hours or GPU-hours
    storage: float  # bytes written
    memory: float  # bytes, of all nodes together
    memory_per_node: float
    copies: int = 1  # of the support set, where the queries are shared out among several


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked, and the answer."""

    workload: Workload
    nodes: Nodes
    rates: Rates
    precision: str
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        asked = asdict(self.workload) | {"exemplars": self.workload.rows, "precision": self.precision}
        return {
            "workload": asked,
            "nodes": asdict(self.nodes),
            "rates": self.rates.to_json(),
            "stages": [asdict(stage) for stage in self.stages],
            "notes": list(self.notes),
        }


def make_plan(workload: Workload, nodes: Nodes, rates: Rates) -> Plan:
    """What labelling, a support set, a search in it, and features would take."""
    if nodes.gpus and rates.gpu is None:
        raise SettingError(
            "these rates have none of a GPU; measure them on one, or leave out `gpus_per_node`"
        )
    notes = []
    encoding = rates.gpu if nodes.gpus and rates.gpu is not None and rates.gpu.label_words else None
    if nodes.gpus and encoding is None:
        notes.append(
            "these rates have none of the encoder on a GPU, so the cores encode; `exaudit plan --measure` measures it"
        )
    if nodes.gpus and workload.k != MEASURED_K:
        notes.append(
            f"how the search slows down with k was measured on a core, not on a GPU; k is {workload.k}"
        )
    precision, words = _label_words(encoding or rates.core, workload.precision)
    label = _Labelling(words, nodes, rates, gpu=encoding is not None)
    vector = rates.sizes.width * DTYPES[workload.dtype]
    stages = (
        label.stage("label", workload.words, storage=workload.words * rates.sizes.label),
        label.stage(
            "support build",
            workload.rows * BUILD,
            storage=workload.rows * (vector + rates.sizes.store + rates.sizes.sketch),
        ),
        _search(workload, nodes, rates),
        label.stage("features", workload.words, held=workload.words * rates.sizes.features),
    )
    return Plan(workload, nodes, rates, precision, stages, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Labelling:
    """Processes that read words, one on each core or GPU, as far as the memory of the node goes."""

    words: float  # a second, of one process
    nodes: Nodes
    rates: Rates
    gpu: bool

    def stage(self, name: str, words: float, *, storage: float = 0.0, held: float = 0.0) -> Stage:
        """A job that reads so many words, and holds so many bytes beside its processes until it ends."""
        usable, process = ROOM * self.nodes.memory, self.rates.sizes.process
        fit = math.floor((usable / 2 if held else usable) / process)  # what is held needs room, too
        workers = min(self.nodes.gpus if self.gpu else self.nodes.cores, fit)
        if workers < 1:
            least = (2 if held else 1) * process / ROOM
            raise SettingError(
                f"`memory_per_node` is {self.nodes.memory / 1e9:g}; {name} needs {least / 1e9:.1f} GB or more"
            )
        seconds = words / (workers * self.words)  # of one node
        nodes = max(
            1,
            math.ceil(seconds / (3600 * self.nodes.hours)),
            math.ceil(held / (usable - workers * process)),
        )
        hours = seconds / nodes / 3600
        memory = nodes * workers * process + held
        on = "GPUs" if self.gpu else "cores"
        return Stage(name, on, nodes, hours, hours * nodes * workers, storage, memory, memory / nodes)


def _search(workload: Workload, nodes: Nodes, rates: Rates) -> Stage:
    """Exemplars spread over the nodes; where sharing them out is not enough, copies of the set share the queries.

    A shard is what a GPU holds, or all cores of a node together.
    """
    gpu = rates.gpu if nodes.gpus else None
    unit, units, shards = (rates.core, nodes.cores, 1) if gpu is None else (gpu, nodes.gpus, nodes.gpus)
    usable = ROOM * (nodes.memory if gpu is None else nodes.gpus * _gpu_memory(gpu))
    each = rates.sizes.width * DTYPES[workload.dtype] + rates.sizes.sketch  # bytes of an exemplar
    slower = slower_with(workload.k)
    fixed = slower * unit.search_seconds * shards / units  # seconds of a query on any node
    spread = (
        slower * workload.rows / unit.search_pairs / units
    )  # seconds of a query, shared by the nodes of a copy
    limit = 3600 * nodes.hours
    copies = max(
        1, math.ceil(2 * workload.queries * fixed / limit)
    )  # so that the fixed part is half of it at most
    queries = workload.queries / copies
    holding = max(
        1, math.ceil(workload.rows * each / usable), math.ceil(queries * spread / (limit - queries * fixed))
    )
    hours = queries * (fixed + spread / holding) / 3600
    memory = copies * workload.rows * each
    return Stage(
        "search",
        "cores" if gpu is None else "GPUs",
        copies * holding,
        hours,
        hours * copies * holding * units,
        workload.queries * workload.k * NEIGHBOUR,
        memory,
        memory / (copies * holding),
        copies,
    )


def slower_with(k: int) -> float:
    """Time of a search for the k nearest over that for the 8 nearest, between measured ones along a line."""
    for (low, least), (high, most) in pairwise(GROWTH.items()):
        if low <= k <= high:
            return (least + (most - least) * (k - low) / (high - low)) / GROWTH[MEASURED_K]
    raise SettingError(f"`k` is {k}; it must be from {min(GROWTH)} to {max(GROWTH)}")


def _label_words(unit: Unit, precision: str) -> tuple[str, float]:
    """The precision that is meant, and the words a second in it."""
    chosen = unit.precision if precision == "auto" else precision
    if chosen not in unit.label_words:
        known = ", ".join(unit.label_words)
        raise SettingError(f"`precision` is {precision}, but these rates were measured in {known} alone")
    return chosen, unit.label_words[chosen]


def _gpu_memory(gpu: Unit) -> float:
    if gpu.memory is None:
        raise SettingError("these rates do not say how much memory the GPU has; measure them again")
    return gpu.memory
