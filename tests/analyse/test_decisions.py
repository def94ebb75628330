from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from exaudit.analyse.decisions import Tables


def test_tables_come_back_as_they_were_put_in():
    given = [np.arange(n * 3, dtype=np.int8).reshape(n, 3) % 2 for n in (2, 0, 4, 1)]
    tables = Tables(3, given[:3])
    tables.append(given[3][:, ::-1])
    assert len(tables) == 4
    for table, expected in zip(tables, [*given[:3], given[3][:, ::-1]], strict=True):
        np.testing.assert_array_equal(table, expected)
    np.testing.assert_array_equal(tables[-1], given[3][:, ::-1])
    np.testing.assert_array_equal(tables[1:3][1], given[2])
    assert tables.joined.shape == (7, 3)
    with pytest.raises(IndexError):
        tables[4]
    assert Tables(2).joined.shape == (0, 2)


def test_a_document_takes_little_more_than_its_words():
    tracemalloc.start()
    tables = Tables(1, (np.ones((10, 1), np.int8) for _ in range(5000)))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(tables) == 5000
    assert taken < 5000 * 30  # ten bytes and an end
