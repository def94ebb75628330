"""300 damages of a model folder: none gives a wrong answer, a traceback, a panic or a long error line."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from damage import GOOD, survey

CASES = 300


@pytest.mark.slow
def test_no_damage_gives_a_wrong_answer() -> None:
    outcomes = survey(CASES)
    assert [outcome for outcome in outcomes if outcome.kind not in GOOD] == []
    kinds = Counter(outcome.kind for outcome in outcomes)
    assert kinds.total() == CASES
    assert min(kinds.values()) > CASES / 10  # damages that matter and damages that do not
