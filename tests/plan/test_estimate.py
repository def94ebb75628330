"""The formulas, against figures by hand and against the least number of nodes that is enough, found by trying."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.errors import SettingError
from exaudit.plan.estimate import Stage, make_plan, slower_with
from exaudit.plan.rates import Rates, Sizes, Unit
from exaudit.plan.workload import Nodes, Workload

CORE = Unit("a core", "by hand", 1e8, 1e-4, {"float32": 1000.0, "bfloat16": 2000.0}, "bfloat16")
GPU = Unit("a GPU", "by hand", 1e11, 1e-6, {"bfloat16": 1e5}, "bfloat16", 100e9)
RATES = Rates(CORE, Sizes(1000.0, 20.0, 200.0, 50.0, 150.0, 500e6), GPU)


def stages(workload: Workload, nodes: Nodes, rates: Rates = RATES) -> dict[str, Stage]:
    return {stage.name: stage for stage in make_plan(workload, nodes, rates).stages}


def test_labelling_by_hand() -> None:
    """10^8 words, 2,000 a second on each of 10 cores: 5,000 s, so two nodes within 0.7 hours."""
    label = stages(Workload(1e6, 100), Nodes(0.7, 10, 100e9))["label"]
    assert (label.nodes, label.on) == (2, "cores")
    assert label.hours == pytest.approx(2500 / 3600)
    assert label.unit_hours == pytest.approx(1e8 / 2000 / 3600)
    assert label.storage == 50 * 1e8
    assert label.memory_per_node == 10 * 500e6


def test_support_build_by_hand() -> None:
    """It reads the words of the set alone, 1.05 times as long, and writes vectors, sketches and texts."""
    build = stages(Workload(1e6, 100, exemplars=1e7, dtype="float16"), Nodes(24, 10, 100e9))["support build"]
    assert build.unit_hours == pytest.approx(1.05 * 1e7 / 2000 / 3600)
    assert build.storage == 1e7 * (2000 + 20 + 200)


def test_features_hold_words_in_memory() -> None:
    """10^10 words of 150 bytes; a node has 80 GB to plan with, of which ten processes take 5."""
    features = stages(Workload(1e8, 100), Nodes(1e6, 10, 100e9))["features"]
    assert features.nodes == 20
    assert features.memory == pytest.approx(20 * 10 * 500e6 + 1.5e12)


def test_memory_limits_the_processes() -> None:
    few = stages(Workload(1e6, 100), Nodes(24, 64, 2e9))["label"]
    assert few.memory_per_node == 3 * 500e6
    with pytest.raises(SettingError, match=r"`memory_per_node` is 0\.5; label needs 0\.6 GB or more"):
        make_plan(Workload(1e6, 100), Nodes(24, 64, 0.5e9), RATES)


@given(
    rows=st.integers(100, 10**9), queries=st.integers(1, 10**9), hours=st.floats(0.01, 100), cores=st.integers(1, 64),
    gpus=st.integers(0, 4), memory=st.floats(2e9, 1e12), k=st.sampled_from([1, 8, 100]),
    dtype=st.sampled_from(["float32", "float16"]),
)  # fmt: skip
def test_search_takes_the_least_nodes_that_are_enough(
    rows: int, queries: int, hours: float, cores: int, gpus: int, memory: float, k: int, dtype: str
) -> None:
    found = stages(
        Workload(1, 100, exemplars=rows, queries=queries, k=k, dtype=dtype), Nodes(hours, cores, memory, gpus)
    )["search"]
    unit, units, room = (GPU, gpus, gpus * 100e9) if gpus else (CORE, cores, memory)
    each = 1000 * {"float32": 4, "float16": 2}[dtype] + 200
    holding, rest = divmod(found.nodes, found.copies)
    assert rest == 0

    def seconds(nodes: int) -> float:
        """Of one copy of the set on so many nodes, for its part of the queries."""
        shards = nodes * gpus if gpus else nodes
        one = slower_with(k) * (unit.search_seconds + rows / shards / unit.search_pairs)
        return queries / found.copies * one / (1 if gpus else units)

    def enough(nodes: int) -> bool:
        return rows * each <= 0.8 * room * nodes * (1 + 1e-9) and seconds(nodes) <= 3600 * hours * (1 + 1e-9)

    assert enough(holding)
    assert holding == 1 or not enough(holding - 1)
    assert found.hours == pytest.approx(seconds(holding) / 3600)
    assert found.memory == pytest.approx(found.copies * rows * each)
    assert found.storage == queries * k * 12


def test_copies_share_queries_that_no_number_of_shards_could_answer() -> None:
    """10^9 queries at 10^-4 s for each shard are 10^5 core-seconds, whatever the shards."""
    found = stages(Workload(1, 100, exemplars=1000, queries=1e9), Nodes(1, 1, 10e9))["search"]
    assert found.copies == 56  # 2 x 10^5 / 3600
    assert found.hours <= 1


def test_slower_with_k() -> None:
    assert slower_with(8) == 1
    assert slower_with(12) == pytest.approx((0.4092 + 0.5264) / 2 / 0.4092)
    assert slower_with(100) == pytest.approx(1.7557 / 0.4092)
    assert slower_with(1) < 1


def test_gpus_encode_where_that_was_measured() -> None:
    asked, nodes = Workload(1e6, 100), Nodes(24, 10, 100e9, 2)
    plan = make_plan(asked, nodes, RATES)
    assert plan.stages[0].on == "GPUs"
    assert plan.stages[0].unit_hours == pytest.approx(1e8 / 1e5 / 3600)
    assert not plan.notes
    plan = make_plan(asked, nodes, replace(RATES, gpu=replace(GPU, label_words={})))
    assert plan.stages[0].on == "cores"
    assert "the cores encode" in plan.notes[0]
    with pytest.raises(SettingError, match="leave out `gpus_per_node`"):
        make_plan(asked, nodes, replace(RATES, gpu=None))


def test_precision() -> None:
    assert make_plan(Workload(1e6, 100), Nodes(), RATES).precision == "bfloat16"
    slow, quick = (
        stages(Workload(1e6, 100, precision=name), Nodes())["label"] for name in ("float32", "bfloat16")
    )
    assert slow.unit_hours == pytest.approx(2 * quick.unit_hours)
    rates = replace(RATES, core=replace(CORE, label_words={"bfloat16": 1.0}))
    with pytest.raises(
        SettingError, match="`precision` is float32, but these rates were measured in bfloat16 alone"
    ):
        make_plan(Workload(1e6, 100, precision="float32"), Nodes(), rates)


def test_a_plan_as_json() -> None:
    plan = make_plan(Workload(1e6, 100), Nodes(), RATES)
    told = json.loads(json.dumps(plan.to_json()))
    assert told["workload"]["exemplars"] == 1e8
    assert Rates.from_json(told["rates"]) == RATES
    assert tuple(Stage(**stage) for stage in told["stages"]) == plan.stages


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("value", [0, -1, NAN, INF, -INF, 1e30])
@pytest.mark.parametrize("name", ["documents", "tokens_per_document", "exemplars", "queries", "k"])
def test_no_sense_in_a_workload(name: str, value: float) -> None:
    with pytest.raises(SettingError, match=rf"`{name}` is .*; it must be from 1 to"):
        Workload(**{"documents": 10, "tokens_per_document": 10, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, NAN, INF, 1e30])
@pytest.mark.parametrize("name", ["hours", "cores", "memory", "gpus"])
def test_no_sense_in_nodes(name: str, value: float) -> None:
    with pytest.raises(SettingError, match=rf"`{name}.*` is .*; it must be from"):
        Nodes(**{name: value})  # type: ignore[arg-type]


def test_other_nonsense() -> None:
    with pytest.raises(SettingError, match=r"`documents` is 1\.5; it must be a whole number"):
        Workload(1.5, 10)
    with pytest.raises(SettingError, match="`dtype` is 'int8'; use float32 or float16"):
        Workload(10, 10, dtype="int8")
    with pytest.raises(SettingError, match="`precision` is 'half'; use auto, float32, bfloat16"):
        Workload(10, 10, precision="half")
    with pytest.raises(SettingError, match="`k` is 8, but there are only 5 exemplars"):
        Workload(10, 10, exemplars=5)


def test_the_largest_plan_has_figures() -> None:
    """Nothing overflows within the limits."""
    plan = make_plan(Workload(1e15, 1e7, queries=1e18, k=100), Nodes(1e-3, 1, 2e9, 0), RATES)
    assert all(stage.nodes >= 1 and stage.hours <= 1.0001e-3 for stage in plan.stages)
