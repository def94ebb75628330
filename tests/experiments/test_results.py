"""The folder of a run read back, and how its figures came about."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exaudit.encode.locate import fingerprint
from exaudit.experiments.results import Results, _pictures
from exaudit.experiments.run import RunSettings
from exaudit.experiments.step_result import StepResult
from tiny import tiny_bert

ROWS = {"fce-zero-shot": ("uniCNN", 1, 2, 3, 4)}


def results(
    tmp_path: Path,
    settings: RunSettings,
    models: Mapping[str, dict[str, Any] | None],
    rows: Mapping[str, tuple[Any, ...]] = ROWS,
) -> Results:
    """A folder with one step, and a row in each of some tables."""
    (tmp_path / "steps").mkdir()
    result = StepResult(seconds=12.4)
    for table, row in rows.items():
        result.add_row(table, *row)
    (tmp_path / "steps" / "fce-uniCNN-0.json").write_text(json.dumps(result.to_json()))
    (tmp_path / "settings.json").write_text(json.dumps(settings.to_json()))
    for name, encoder in models.items():
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "model.json").write_text(json.dumps({"encoder": encoder}))
    return Results.read(tmp_path)


def test_the_header_says_how_the_figures_came_about(tmp_path: Path) -> None:
    frozen = {"fingerprint": "a" * 64}
    found = results(
        tmp_path, RunSettings(seeds=(0, 1)), {"fce-cnn": None, "fce-uniCNN-0": frozen, "b": frozen}
    )
    header = "\n".join(found.header(["fce"]))
    assert "exaudit reproduce fce --data DIR --encoder minilm --seeds 0,1\n" in header
    assert f"encoder: `minilm`, frozen, fingerprint `{'a' * 64}`" in header
    assert "seeds: 0, 1; a row that does not say so is of seed 0 alone" in header
    assert "steps, in seconds: fce-uniCNN-0 12; 12 in all" in header
    assert "made-up" not in header


def test_the_header_names_the_encoder_of_each_tuned_model_and_no_place_on_this_machine(
    tmp_path: Path,
) -> None:
    settings = RunSettings("/somewhere/gte-small", True, True, word_vectors="/somewhere/glove.txt", filters=9)
    models = {name: {"fingerprint": name[-1] * 64} for name in ("fce-a", "fce-b", "sentiment-c")}
    found = results(tmp_path, settings, models)
    header = "\n".join(found.header(["fce"]))
    assert (
        "exaudit reproduce fce --data DIR --encoder gte-small --tune-encoder --fast --seeds 0 --filters 9 "
        "--word-vectors glove.txt\n" in header
    )
    assert f"`gte-small`, then tuned for each model: fce-a `{'a' * 12}`, fce-b `{'b' * 12}`\n" in header
    assert "a tenth of the data" in header
    assert "somewhere" not in header + json.dumps(found.to_json())


def test_the_header_of_a_tuned_run_knows_the_encoder_before_it_was_tuned(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    found = results(tmp_path, RunSettings(str(folder), True), {})
    assert f"encoder: `bert`, fingerprint `{fingerprint(folder)}`, then tuned" in found.header(["fce"])[1]


def test_experiments_and_pages_need_no_store_and_no_templates(tmp_path: Path) -> None:
    """They also run on a machine without lance, pyarrow and jinja2; pictures are left out there."""
    found = results(tmp_path, RunSettings(), {}, {"fce-figure-3": ("uniCNN | model", 10, 20, 30)})
    assert list(_pictures(found.comparison)) == ["figure-3.svg"]
    code = f"""
import sys
from collections.abc import Mapping
from pathlib import Path
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {{"lance", "pyarrow", "jinja2"}}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import exaudit.experiments.grammar, exaudit.experiments.sentiment, exaudit.experiments.annotation
import exaudit.experiments.sample, exaudit.experiments.workers, exaudit.cli.app
from exaudit.experiments.results import Results, _pictures
results = Results.read(Path({str(tmp_path)!r}))
assert results.comparison.tables
assert _pictures(results.comparison) == {{}}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_folder_of_an_older_version_is_read(tmp_path: Path) -> None:
    """With a setting, a step and a table that exist no longer."""
    older = results(tmp_path, RunSettings(seeds=(0, 1)), {})
    settings = older.settings.to_json() | {"teachers": 3}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    step = StepResult(seed=1)
    step.add_row("fce-clean", "uniCNN+S*", 75, 34, 61)
    (tmp_path / "steps" / "fce-clean-1.json").write_text(json.dumps(step.to_json()))
    found = Results.read(tmp_path)
    assert found.settings == RunSettings(seeds=(0, 1))
    row = found.comparison.table("fce-clean").row("uniCNN+S*")
    assert row is not None
    assert row.by_seed == {1: (75, 34, 61)}
    found.write()
    assert "`fce-clean`" in (tmp_path / "fce.md").read_text()
