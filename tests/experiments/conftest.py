"""Made-up corpora, and results of steps made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from exaudit.experiments.paper_comparison import PaperComparison, compare_with_paper
from exaudit.experiments.sample import write_corpora
from exaudit.experiments.step_result import StepResult
from exaudit.metrics import Difference


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpora; nobody changes them."""
    return write_corpora(tmp_path_factory.mktemp("corpora"))


@pytest.fixture
def comparison() -> PaperComparison:
    """Two seeds of uniCNN, one of cnn, CNN with a reason; two rows that the paper has not; figure 3 of one model."""
    first, second, other = StepResult(seed=3), StepResult(seed=1), StepResult()
    first.add_row("fce-zero-shot", "uniCNN", 86.0, 47.0, 36.0, 40.0)
    second.add_row("fce-zero-shot", "uniCNN", 87.0, 46.0, 37.0, 42.0)
    other.add_row("fce-zero-shot", "cnn", 84.24, 20.43, None, 29.0)
    other.add_row("fce-zero-shot", "ours only", 1, 2, 3, 4)
    other.add_missing("fce-zero-shot", "CNN", "frozen only")
    other.add_missing("fce-zero-shot", "ours too", "no time")
    other.add_row("fce-figure-3", "uniCNN | model", 10, 20, 30)
    other.add_row("fce-constraints", "uniCNN+K8NN dist. | both", 67.4, 31, 47.6, -0.8, 0.7, 4388, 0.0474)
    other.add_row("fce-quantiles", "model | 1 | N", 1831.0, 3662, 5493, 7000)
    other.add_row("fce-quantiles", "model | 1 | threshold", 16.55, 7.346, 2.8, 0)
    first.add_claim("zero-shot", "F1", Difference(0.1, 0.05, 0.15))
    second.add_claim("zero-shot", "F1", Difference(0.0, -0.01, 0.01))
    return compare_with_paper([first, second, other], first_seed=1)
