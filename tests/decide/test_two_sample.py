from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from exaudit.decide.two_sample import draws_for, energy_distance, largest_gap, two_sample_test


def literal_gap(old: list[float], new: list[float]) -> float:
    def share(sample: list[float], value: float) -> float:
        return sum(x <= value for x in sample) / len(sample)

    return max(abs(share(new, v) - share(old, v)) for v in [*old, *new])


def literal_energy(old: np.ndarray, new: np.ndarray) -> float:
    def mean(a: np.ndarray, b: np.ndarray) -> float:
        return sum(float(np.linalg.norm(x - y)) for x in a for y in b) / (len(a) * len(b))

    return 2 * mean(old, new) - mean(new, new) - mean(old, old)


def test_gap_and_energy_are_the_literal_ones() -> None:
    draws = np.random.default_rng(0)
    for _ in range(20):
        old, new = draws.integers(0, 6, 9).astype(float), draws.integers(1, 9, 5).astype(float)
        value, share_old, share_new = largest_gap(old, new)
        assert abs(share_new - share_old) == pytest.approx(literal_gap(old.tolist(), new.tolist()))
        assert share_old == pytest.approx(np.mean(old > value))
        assert share_new == pytest.approx(np.mean(new > value))
        a, b = draws.normal(size=(7, 3)), draws.normal(1, 1, size=(4, 3))
        assert energy_distance(a, b) == pytest.approx(literal_energy(a, b), rel=1e-4)
    assert energy_distance(a, a) == pytest.approx(0, abs=1e-5)


def test_the_p_value_is_that_of_all_permutations() -> None:
    """Few rows, so that every choice of the new ones can be gone through literally."""
    draws = np.random.default_rng(1)
    values, content = draws.integers(0, 5, (9, 2)).astype(float), draws.normal(size=(9, 2))
    values[:3, 0] += 3
    statistics = []
    for chosen in combinations(range(9), 3):
        new, old = list(chosen), [n for n in range(9) if n not in chosen]
        gaps = [literal_gap(values[old, k].tolist(), values[new, k].tolist()) for k in range(2)]
        statistics.append([*gaps, literal_energy(content[old], content[new])])
    table = np.array(statistics)  # (84, 3), the true choice first
    p = np.array([[(table[:, k] >= row[k] - 1e-7).mean() for k in range(3)] for row in table])
    adjusted = [(p.min(1) <= own + 1e-12).mean() for own in p[0]]
    found = two_sample_test(values[3:], values[:3], (content[3:], content[:3]), draws=20_000)
    assert found.adjusted == pytest.approx(adjusted, abs=0.015)
    assert found.p == min(found.adjusted)


def test_false_alarms_are_as_rare_as_stated() -> None:
    """Of 400 pairs of samples from one source, with ties, correlated measures and unequal sizes."""
    draws = np.random.default_rng(2)
    alarms = 0
    for n in range(400):
        common = draws.normal(size=(90, 1))
        values = np.concatenate([common + 0.3 * draws.normal(size=(90, 3)), np.round(common)], axis=1)
        content = np.concatenate([common, draws.normal(size=(90, 2))], axis=1)
        found = two_sample_test(values[30:], values[:30], (content[30:], content[:30]), draws=199, seed=n)
        alarms += found.p <= 0.1
    assert 20 <= alarms <= 58  # 40 are expected; three standard deviations


def test_a_shift_is_found_in_the_measure_that_has_it() -> None:
    draws = np.random.default_rng(3)
    old, new = draws.normal(size=(300, 4)), draws.normal(size=(60, 4))
    new[:, 2] += 1.2
    found = two_sample_test(old, new)
    assert found.p <= 0.01
    assert [k for k, p in enumerate(found.adjusted) if p <= 0.01] == [2]
    spread = draws.normal(size=(60, 4)) * [1, 3, 1, 1]  # the median stays where it is
    assert int(two_sample_test(old, spread).adjusted.argmin()) == 1


def test_content_alone_tells() -> None:
    draws = np.random.default_rng(4)
    same = draws.normal(size=(200, 1)), draws.normal(size=(100, 1))
    content = draws.normal(size=(200, 16)), draws.normal(0.4, 1, size=(100, 16))
    found = two_sample_test(*same, content)
    assert found.adjusted[0] > 0.05 > 0.01 >= found.adjusted[1]


def test_equal_rows_are_no_shift() -> None:
    old, new = np.ones((40, 2)), np.ones((25, 2))
    assert two_sample_test(old, new, (old, new)).p == 1.0


def test_the_same_question_has_the_same_answer() -> None:
    draws = np.random.default_rng(5)
    old, new = draws.normal(size=(50, 2)), draws.normal(0.3, 1, size=(50, 2))
    assert two_sample_test(old, new).p == two_sample_test(old, new).p
    assert draws_for(0.01) == 1999
    assert draws_for(0.001) == 19_999
