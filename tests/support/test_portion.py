from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from exaudit.errors import SupportError
from exaudit.support import portion as portion_module
from exaudit.support.exemplars import SupportBatch
from exaudit.support.portion import Portion
from exaudit.support.store import LanceSupportSet


def test_reads_the_documents_asked_for(
    stored: LanceSupportSet, batch_of: Callable[..., SupportBatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.add(batch_of([f"d{n}" for n in range(30)]))  # some of no tokens
    stored.remove("b")
    monkeypatch.setattr(portion_module, "_BLOCK_BYTES", 5 * 16)
    numbers = np.array([0, 2, *range(5, 33, 2)])
    portion = pickle.loads(pickle.dumps(Portion.of(stored, numbers)))
    everything = stored.exemplars()
    own = np.isin(everything.document, numbers)
    assert everything.vectors is not None
    np.testing.assert_array_equal(portion.rows, everything.row[own])
    np.testing.assert_array_equal(portion.read(), everything.vectors[own])
    nothing = Portion.of(stored, np.zeros(0, np.int64))
    assert nothing.read().shape == (0, 4)


def test_a_document_that_is_not_what_was_added_is_named(stored: LanceSupportSet) -> None:
    stored._state.scores[4] += 1  # of b
    portion = Portion.of(stored, np.arange(3))
    with pytest.raises(SupportError, match="document 'b' is damaged"):
        portion.read()
    assert Portion.of(stored, np.array([0, 2])).read().shape == (6, 4)


def test_a_compaction_moves_what_is_to_be_read(stored: LanceSupportSet) -> None:
    stored.remove("a")
    Portion.of(stored, np.array([1, 2])).read()
    other = LanceSupportSet.open(stored.where)
    other.compact()
    stored.refresh()
    with pytest.raises(SupportError, match="cannot read"):
        Portion.of(stored, np.array([1, 2])).read()
    found = Portion.of(stored, np.array([1, 2]), afresh=True)
    np.testing.assert_array_equal(found.read(), stored.vectors(found.rows))
