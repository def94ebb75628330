"""A build shows all at once, and goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from exaudit.errors import SupportError
from exaudit.support.build import Build
from exaudit.support.exemplars import SupportBatch
from exaudit.support.memory import MemorySupportSet
from exaudit.support.store import LanceSupportSet
from exaudit.support.support_set import SupportSet

LABELS = ("negative", "positive")
BatchOf = Callable[..., SupportBatch]


@pytest.mark.parametrize("kill", [0, 1, 2])
def test_build_resumes(support: SupportSet, batch_of: BatchOf, kill: int) -> None:
    batches = [["a", "b"], ["c"], ["d", "e"]]
    whole = MemorySupportSet.create(width=4, labels=LABELS, model="m")
    straight = Build(whole, "k")
    for ids in batches:
        straight.add(batch_of(ids))
    straight.finish()

    build = Build(support, "k", author="ann")
    for ids in batches[:kill]:
        build.add(batch_of(ids))
    assert (len(support), support.number) == (0, 0)  # nothing to be seen before the end
    again = LanceSupportSet.open(support.where) if isinstance(support, LanceSupportSet) else support
    resumed = Build(again, "k", author="ann")
    assert resumed.done == {id for ids in batches[:kill] for id in ids}
    for ids in batches[kill:]:
        resumed.add(batch_of(ids))
    again.compact()  # keeps what is being built
    edit = resumed.finish()
    assert (edit.kind, edit.documents_added, edit.who) == ("build", 5, "ann")
    assert again.version == whole.version
    assert again.exemplars().row.tolist() == whole.exemplars().row.tolist()
    again.verify()
    assert [edit.kind for edit in again.log()] == ["create", "compact", "build"]
    assert Build(again, "k").done == set()


def test_build_refuses(support: SupportSet, batch_of: BatchOf) -> None:
    support.add(batch_of(["a"], tokens=1))
    first, second = Build(support, "k"), Build(support, "k")
    with pytest.raises(SupportError, match="no documents to build"):
        first.finish()
    first.add(batch_of(["x"], tokens=1))
    with pytest.raises(SupportError, match="document 'x' is in this build already"):
        first.add(batch_of(["x"], tokens=1))
    with pytest.raises(SupportError, match="runs elsewhere"):
        second.add(batch_of(["x"], tokens=1))
    first.add(batch_of(["a"], tokens=1, salt=1))
    with pytest.raises(SupportError, match="document 'a' is in the support set already"):
        first.finish()
    assert support.ids == ("a",)
    first.finish(replace=True)
    assert support.ids == ("x", "a")
    support.undo()
    assert support.ids == ("a",)
    third = Build(support, "l")
    third.add(batch_of(["z"], tokens=1))
    third.discard()
    assert Build(support, "l").done == set()
    assert support.ids == ("a",)
