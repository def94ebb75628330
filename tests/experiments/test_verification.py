"""Pages, what they were made of, and whether they agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exaudit._files import write_json
from exaudit.errors import SettingError
from exaudit.experiments.provenance import code_used, source_digest
from exaudit.experiments.results import Results
from exaudit.experiments.run import RunSettings
from exaudit.experiments.step_result import StepResult
from exaudit.experiments.verification import verify
from exaudit.metrics import Difference

CODE = {"version": "0.2", "commit": "c" * 40, "source": "s" * 64}


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A folder as it is published: pages and results.json, no steps."""
    run, out = tmp_path / "run", tmp_path / "out"
    for folder in (run / "steps", out):
        folder.mkdir(parents=True)
    write_json(run / "settings.json", RunSettings(encoder="none").to_json())
    write_json(run / "data.json", {"fce/fce-public.train.original.tsv": "d" * 64})
    step = StepResult(code=CODE)
    step.add_row("fce-zero-shot", "uniCNN", 86.0, 47.0, 36.0, 40.0)
    step.add_row("fce-figure-3", "uniCNN | model", 10, 20, 30)
    step.add_claim("zero-shot", "F1", Difference(0.1, 0.05, 0.15))
    step.ngrams["fce-unigrams"] = [
        {"name": f"w{n}", "side": None, "end": end, "score": float(n), "frequency": 1}
        for end in ("top", "lowest")
        for n in range(9)
    ]
    write_json(run / "steps" / "fce-uniCNN-0.json", step.to_json())
    Results.read(run).write()
    for path in run.iterdir():
        if path.is_file() and path.name not in ("settings.json", "data.json"):
            path.rename(out / path.name)
    return out


def change(pages: Path, **parts: Any) -> None:
    written = json.loads((pages / "results.json").read_text())
    write_json(pages / "results.json", written | parts)


def test_pages_that_agree(pages: Path) -> None:
    found = verify(pages)
    assert found.faults == ()
    assert found.facts[0] == "steps: 1, encoder none, recipe stable"
    assert f"commit {'c' * 40}: other sources than these" in found.facts[1]
    for name in ("fce.md", "claims.md"):
        page = (pages / name).read_text()
        assert f"- code: exaudit 0.2, commit {'c' * 40}, sources `{'s' * 16}`\n" in page
        assert f"- data: fce/fce-public.train.original.tsv `{'d' * 12}`\n" in page
    shown = Results.read(pages)
    assert shown.pages()["fce.md"] == (pages / "fce.md").read_text(), "shown from results.json alone"


def test_few_words_of_the_corpus_are_passed_on(pages: Path) -> None:
    (step,) = json.loads((pages / "results.json").read_text())["steps"].values()
    kept = [(n["end"], n["name"]) for n in step["ngrams"]["fce-unigrams"]]
    assert kept == [*(("top", f"w{n}") for n in (8, 7, 6, 5, 4)), *(("lowest", f"w{n}") for n in range(5))]


def test_a_changed_page_and_a_missing_one(pages: Path) -> None:
    page = pages / "fce.md"
    page.write_text(page.read_text().replace("86.0", "87.0"))
    (pages / "contents.md").unlink()
    assert verify(pages).faults == (
        "fce.md is not what results.json gives",
        "contents.md is missing",
    )


def test_changed_figures_recipes_and_steps(pages: Path) -> None:
    written = json.loads((pages / "results.json").read_text())
    change(pages, tables=[], recipe={"name": "stable"})
    faults = "; ".join(verify(pages).faults)
    assert "results.json: tables are not what its steps give" in faults
    assert "the recipe 'stable' of this version is another than the one of the results" in faults
    (step,) = written["steps"].values()
    change(pages, **written | {"steps": {"fce-exemplars-mm": step, "fce-cnn": step | {"code": {}}}})
    faults = "; ".join(verify(pages).faults)
    assert "fce-exemplars-mm is no step of this version" in faults
    assert "no commit is known of fce-cnn" in faults


def test_steps_of_several_commits(pages: Path) -> None:
    written = json.loads((pages / "results.json").read_text())
    (step,) = written["steps"].values()
    other = step | {"code": CODE | {"commit": "e" * 40}}
    change(pages, steps={"fce-uniCNN-0": step, "fce-cnn": other})
    assert "the steps are of 2 versions of the code" in verify(pages).faults
    change(pages, steps={"fce-uniCNN-0": step | {"code": CODE | {"commit": "f" * 40 + "+"}}})
    assert f"commit {'f' * 40}+ says that its sources were changed" in verify(pages).faults
    change(pages, steps={"fce-uniCNN-0": step, "fce-cnn": other})
    assert "**several: not all of one commit**" in Results.read(pages).pages()["fce.md"]


def test_what_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"has no results\.json"):
        verify(tmp_path)
    write_json(tmp_path / "results.json", {"tables": []})
    with pytest.raises(SettingError, match="written by an earlier version, without its steps"):
        verify(tmp_path)


def test_the_code_is_told_by_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(source_digest()) == 64
    code_used.cache_clear()
    monkeypatch.setenv("EXAUDIT_COMMIT", "abc")
    assert code_used()["commit"] == "abc"
    code_used.cache_clear()


def test_figures_of_earlier_versions_are_shown_by_the_papers_numbers() -> None:
    earlier = StepResult(tables={"fce-figure-3": {"a": [1.0]}, "fce-figure-4": {"b": [2.0]}})
    found = StepResult.from_json(earlier.to_json())
    assert found.tables == {"fce-figure-2": {"a": [1.0]}, "fce-figure-3": {"b": [2.0]}}
    assert StepResult.from_json(found.to_json()) == found
