from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exaudit.errors import SettingError
from exaudit.plan.rates import Rates, Sizes, Unit, load_rates, save_rates, usual_rates

CORE = Unit("a core", "by hand", 1e8, 1e-4, {"float32": 1000.0, "bfloat16": 2000.0}, "bfloat16")
GPU = Unit("a GPU", "by hand", 1e11, 0.0, {}, "bfloat16", 100e9)
RATES = Rates(CORE, Sizes(1000.0, 20.0, 200.0, 50.0, 150.0, 500e6), GPU)


@pytest.mark.parametrize("rates", [RATES, replace(RATES, gpu=None)])
def test_written_rates_are_read_as_they_were(rates: Rates, tmp_path: Path) -> None:
    save_rates(rates, tmp_path / "rates.json")
    assert load_rates(tmp_path / "rates.json") == rates


def test_the_usual_rates_tell_the_command_behind_them() -> None:
    usual = usual_rates()
    assert usual.core.measured_by == "exaudit plan --measure"
    assert usual.gpu is not None
    assert usual.gpu.measured_by.startswith("python benchmarks/search.py --device cuda")
    assert usual.gpu.search_pairs == pytest.approx(41_477 * 452_833 / 0.090, rel=1e-2)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"no such file; `exaudit plan --measure --rates"):
        load_rates(tmp_path / "nowhere.json")


def changed(path: str, value: Any) -> Any:
    """The rates as JSON, with one place of them changed; None takes it out."""
    data = json.loads(json.dumps(RATES.to_json()))
    *above, last = path.split(".")
    place = data
    for name in above:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return data


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "the file is no JSON object"),
        ({}, "its layout is not 1"),
        (changed("layout", 2), "its layout is not 1"),
        (changed("core", None), "it needs core, gpu and sizes"),
        (changed("core.search_pairs", None), "core needs exactly name, measured_by"),
        (changed("core.search_pairs", "fast"), "core.search_pairs is 'fast', not a number"),
        (changed("core.search_pairs", True), "core.search_pairs is True, not a number"),
        (changed("core.search_pairs", 0), "core.search_pairs is 0; it must be from"),
        (changed("core.search_pairs", float("nan")), "core.search_pairs is nan"),
        (changed("core.search_pairs", 10**400), "core.search_pairs is 1000"),
        (changed("core.label_words", 7), "core.label_words is no JSON object"),
        (changed("core.label_words.float32", -1), "core.label_words.float32 is -1"),
        (changed("core.name", 7), "name, measured_by, precision of core are texts"),
        (changed("gpu.memory", 1e30), "gpu.memory is 1e\\+30"),
        (changed("sizes.sketch", None), "sizes needs exactly width"),
        (changed("sizes.sketch", float("inf")), "sizes.sketch is inf"),
    ],
)
def test_damaged_rates_are_refused(content: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "rates.json"
    path.write_text(json.dumps(content))
    with pytest.raises(SettingError, match=rf"rates.json: these are no rates: .*{told}"):
        load_rates(path)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rates.json").write_text("{")
    with pytest.raises(SettingError, match="these are no rates"):
        load_rates(tmp_path / "rates.json")
