"""What is good of a damaged set is kept, what is lost is told, and nothing is deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.errors import SupportError
from exaudit.support.exemplars import SupportBatch
from exaudit.support.repair import repair
from exaudit.support.store import LanceSupportSet

BatchOf = Callable[..., SupportBatch]


def spoil(support: LanceSupportSet, pattern: str, old: bytes) -> None:
    """Zeros in the place of something that is there once."""
    (file,) = (path for path in Path(support.where).glob(pattern) if old in path.read_bytes())
    file.write_bytes(file.read_bytes().replace(old, bytes(len(old))))


def test_a_damaged_document_is_left_out(stored: LanceSupportSet, batch_of: BatchOf) -> None:
    stored.add(batch_of(["d", "e"], tokens=2))
    other = {"negative": "positive", "positive": "negative"}[str(stored.document("a").label)]
    stored.relabel_document("a", other)
    stored.relabel_token("a", 1, None)
    kept = {id: stored.document(id) for id in ("a", "c", "d", "e")}
    vectors = stored.vectors(range(kept["d"].row, kept["d"].row + 2))
    spoil(stored, "exemplars.lance/data/*", stored.vectors([4])[0].tobytes())  # of b

    where = Path(stored.where)
    before = {path: path.read_bytes() for path in where.rglob("*") if path.is_file()}
    told = repair(where, dry_run=True)
    assert (told.version, told.documents, told.tokens, told.aside) == (4, 4, 10, None)
    assert (told.lost_documents, told.lost_edits) == (("b",), ())
    assert {path: path.read_bytes() for path in before} == before

    done = repair(where, author="ann")
    assert done.aside == f"{where}.damaged-1"
    aside = Path(done.aside)
    assert {path: (aside / path.relative_to(where)).read_bytes() for path in before} == before
    support = LanceSupportSet.open(where, width=4, model="m")
    support.verify()
    assert support.ids == ("a", "c", "d", "e")
    for id, old in kept.items():
        new = support.document(id)
        assert (new.text, new.label, new.token_labels, new.meta) == (
            old.text,
            old.label,
            old.token_labels,
            old.meta,
        )
    row = support.document("d").row
    assert (support.vectors([row, row + 1]) == vectors).all()
    assert "version 4 of support.damaged-1" in support.log()[0].why
    assert repair(where).aside == f"{where}.damaged-2"  # of a good set all is kept


def test_lost_edits_are_told(stored: LanceSupportSet) -> None:
    """A log that was changed counts up to there."""
    stored.remove("a", reason="first reason")
    stored.remove("b", reason="second reason")
    spoil(stored, "log.lance/data/*", b"second reason")
    with pytest.raises(SupportError, match="support repair"):
        LanceSupportSet.open(stored.where)
    told = repair(stored.where)
    assert told.version == 2
    assert LanceSupportSet.open(stored.where).ids == ("b", "c")


def test_without_its_head(stored: LanceSupportSet) -> None:
    stored.remove("a")
    (Path(stored.where) / "head.json").unlink()
    assert LanceSupportSet.exists(stored.where)  # so that nobody goes on as if there were none
    with pytest.raises(SupportError, match=r"lost its head\.json; go back to what is good"):
        LanceSupportSet.open(stored.where)
    assert repair(stored.where).documents == 2
    assert LanceSupportSet.open(stored.where).ids == ("b", "c")


def test_labels_that_cannot_be_proved_are_not_believed(
    stored: LanceSupportSet, batch_of: BatchOf, unsealed: Callable[[LanceSupportSet], None]
) -> None:
    """A digest is part of the version's name: with one that is wrong, its batch cannot be proved."""
    stored.add(batch_of(["d", "e"], tokens=2))
    spoil(stored, "documents.lance/data/*", stored._state.digests[4])
    unsealed(stored)
    with pytest.raises(SupportError, match="not those that its log tells of"):
        LanceSupportSet.open(stored.where)
    told = repair(stored.where)
    assert (told.version, told.documents) == (1, 3)
    assert told.lost_edits == ("added 2 documents ('d', 'e')",)


def test_what_cannot_be_repaired(tmp_path: Path, stored: LanceSupportSet) -> None:
    with pytest.raises(SupportError, match="no support set here"):
        repair(tmp_path / "nowhere")
    with pytest.raises(SupportError, match="only a support set in a folder"):
        repair("s3://bucket/support")
    for path in Path(stored.where).glob("log.lance/data/*"):
        path.write_bytes(b"")
    with pytest.raises(SupportError, match="nothing in the log of this support set can be proved"):
        repair(stored.where)
