from __future__ import annotations

from pathlib import Path

from exaudit.experiments.results import Results
from exaudit.experiments.run import RunSettings
from exaudit.experiments.step_result import StepResult
from exaudit.experiments.summary import summary_markdown
from exaudit.metrics import Difference


def run(recipe: str, *f05: float, tuned: bool = False) -> Results:
    steps = {}
    for seed, value in enumerate(f05):
        step = StepResult(seed=seed, code={"version": "0.2", "commit": "c0ffee", "source": "s"})
        step.add_row("fce-supervised", "uniCNN", 50.0, 30.0, value)
        step.add_claim("min-max", "precision", Difference(0.1, 0.05, 0.15))
        steps[f"fce-uniCNN-{seed}"] = step
    settings = RunSettings("gte-small", tuned, recipe=recipe, seeds=tuple(range(len(f05))))
    return Results(Path(), settings, steps, {}, "e" * 64)


def test_the_paper_its_recipe_and_ours_side_by_side() -> None:
    page = summary_markdown([run("paper", 40.0, 42.0), run("stable", 44.04)])
    assert "|  |  | the paper | gte-small, the paper's recipe | gte-small, our recipe |" in page
    assert "| uniCNN | P | 47.7 | 50.0 (50.0, 50.0) | 50.0 |" in page
    assert "|  | F0.5 | 45.0 | 41.0 (40.0, 42.0) | 44.0 |" in page
    assert "| uniCNN+mm | P | 54.9 | - | - |" in page
    assert "raises precision and lowers recall. | holds (2/2) | holds (1/1) |" in page
    assert "- gte-small, our recipe: commit c0ffee, encoder `eeeeeeeeeeee`, seeds 0\n" in page
    assert "student" not in page


def test_a_tuned_row_is_not_the_papers() -> None:
    page = summary_markdown([run("stable", 50.0, tuned=True)])
    assert "| student (for uniCNN) | P | 47.7 | 50.0 |" in page
