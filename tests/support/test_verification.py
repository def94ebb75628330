"""What is read for an answer is compared with its fingerprint: at once, or in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import lance
import numpy as np
import pytest

from exaudit.audit.index import ExemplarIndex
from exaudit.errors import SupportError
from exaudit.support import tables, verification
from exaudit.support.exemplars import SupportBatch
from exaudit.support.memory import MemorySupportSet
from exaudit.support.repair import repair
from exaudit.support.store import LanceSupportSet
from exaudit.support.verification import Verification

BatchOf = Callable[..., SupportBatch]
Spoil = Callable[[LanceSupportSet, int], LanceSupportSet]


@pytest.fixture
def spoil(unsealed: Callable[[LanceSupportSet], None]) -> Spoil:
    """Flips a bit of a vector; gives the set as it is opened anew."""

    def flip(support: LanceSupportSet, row: int) -> LanceSupportSet:
        vector = support.vectors([row])[0].tobytes()
        (file,) = (p for p in Path(support.where).glob("exemplars.lance/data/*") if vector in p.read_bytes())
        file.write_bytes(file.read_bytes().replace(vector, bytes([vector[0] ^ 1]) + vector[1:]))
        with pytest.raises(SupportError, match=r"exemplars\.lance.* the checksum of its files differs"):
            LanceSupportSet.open(support.where)
        unsealed(support)
        return LanceSupportSet.open(support.where)

    return flip


@pytest.mark.parametrize("stream", [False, True])
def test_a_flipped_bit_is_an_error_before_the_first_answer(
    stored: LanceSupportSet, spoil: Spoil, stream: bool
) -> None:
    ExemplarIndex(LanceSupportSet.open(stored.where), stream=stream)
    with pytest.raises(SupportError, match="document 'b' is damaged"):
        ExemplarIndex(spoil(stored, 4), stream=stream)


def test_a_document_is_compared_when_it_is_read(stored: LanceSupportSet, spoil: Spoil) -> None:
    support = spoil(stored, 4)
    assert support.document("a").id == "a"
    with pytest.raises(SupportError, match="document 'b' is damaged"):
        support.document("b")


def test_what_was_added_since_is_compared_too(
    stored: LanceSupportSet, batch_of: BatchOf, spoil: Spoil
) -> None:
    reader = LanceSupportSet.open(stored.where)
    index = ExemplarIndex(reader)
    stored.add(batch_of(["d"], tokens=2))
    spoil(stored, 10)
    reader.refresh()
    with pytest.raises(SupportError, match="document 'd' is damaged"):
        index.follow(reader)


def test_in_the_background(stored: LanceSupportSet, spoil: Spoil, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers come at once; once the damage is found, the next question is an error."""
    monkeypatch.setattr(verification, "_AT_ONCE", 0)
    start = threading.Event()
    run = Verification._run
    monkeypatch.setattr(Verification, "_run", lambda self: (start.wait(), run(self)))
    index = ExemplarIndex(spoil(stored, 4))
    asked = np.zeros((1, 4), np.float32)
    assert not index.verified
    index.neighbours(asked, 1, offsets=[0.0])
    start.set()
    with pytest.raises(SupportError, match="document 'b' is damaged"):
        index.wait()
    with pytest.raises(SupportError, match="document 'b' is damaged"):
        index.neighbours(asked, 1, offsets=[0.0])


def test_in_the_background_of_a_whole_set(stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "_AT_ONCE", 0)
    monkeypatch.setattr(verification, "_DOCUMENTS", 2)
    index = ExemplarIndex(stored)
    index.wait()
    assert index.verified
    assert stored._assured.keys() == {0, 1, 2}


def test_a_program_that_ends_stops_it(stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left to itself, Python ends the thread within a library, which aborts the process now and then."""
    monkeypatch.setattr(verification, "_AT_ONCE", 0)
    monkeypatch.setattr(verification, "_DOCUMENTS", 1)
    monkeypatch.setattr(verification, "_ending", threading.Event())
    begun, compared = threading.Event(), []

    def slow(_: LanceSupportSet, numbers: np.ndarray, vectors: np.ndarray) -> None:
        compared.append(len(numbers))
        begun.set()
        assert verification._ending.wait(10)

    monkeypatch.setattr(LanceSupportSet, "assure", slow)
    found = Verification(stored, stored.exemplars().vectors)
    assert begun.wait(10)
    verification._end()
    assert compared == [1]  # of three documents
    assert not verification._running
    with pytest.raises(SupportError, match="ended before all of it was compared"):
        found.wait()


def test_no_error_passes_for_success(stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise IndexError("somewhere")

    monkeypatch.setattr(LanceSupportSet, "assure", fail)
    with pytest.raises(SupportError, match="cannot be read"):
        ExemplarIndex(stored)


def test_a_set_in_memory_needs_none(batch_of: BatchOf) -> None:
    support = MemorySupportSet.create(width=4, labels=("a", "b"))
    assert Verification(support, np.zeros((0, 4), np.float32)).done


def test_the_log_is_a_chain(stored: LanceSupportSet, unsealed: Callable[[LanceSupportSet], None]) -> None:
    """Each id is the hash of the entry and of all before it; a change anywhere is noticed."""
    stored.remove("a", reason="why not")
    (file,) = (p for p in Path(stored.where).glob("log.lance/data/*") if b"why not" in p.read_bytes())
    file.write_bytes(file.read_bytes().replace(b"why not", b"why now"))
    unsealed(stored)
    with pytest.raises(SupportError, match="the log of the support set was changed after it was written"):
        LanceSupportSet.open(stored.where)


def test_a_panic_of_lance_is_an_error_of_ours(
    stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file was damaged so that Lance does not know what to do; PyO3 raises no Exception then."""
    panic = type("PanicException", (BaseException,), {})

    def take(*_: object, **__: object) -> None:
        raise panic("called `Option::unwrap()` on a `None` value")

    support = LanceSupportSet.open(stored.where)
    monkeypatch.setattr(lance.LanceDataset, "take", take)
    with pytest.raises(SupportError, match="its content makes no sense; if it is damaged, go back"):
        support.document("a")


def test_a_document_that_reads_differently_the_second_time(
    stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    support = LanceSupportSet.open(stored.where)
    whole = support._read_documents([0])[0]
    assert support.document("a").tokens == whole.tokens
    monkeypatch.setattr(support, "_read_documents", lambda _: [replace(whole, tokens=whole.tokens[:-1])])
    with pytest.raises(SupportError, match="document 'a' is damaged"):
        support.document("a")


@pytest.mark.parametrize("table", ["log", "documents", "exemplars"])
def test_damage_that_ends_the_process_of_lance(
    stored: LanceSupportSet, unsealed: Callable[[LanceSupportSet], None], table: str
) -> None:
    """A NUL byte in a message of Lance cannot pass from its scans to Python."""
    unsealed(stored)
    for file in Path(stored.where).glob(f"{table}.lance/data/*"):
        name, content = b"/lance.encodings21.PageLayout", file.read_bytes()
        assert name in content
        file.write_bytes(content.replace(name, b"/lance.\0\0codings21.PageLayout"))
    with pytest.raises(SupportError, match=f"{table}.lance: cannot read this table"):
        LanceSupportSet.open(stored.where).verify()
    with pytest.raises(SupportError) if table == "log" else nullcontext():
        assert repair(stored.where, dry_run=True).documents == 0


@pytest.mark.parametrize("table", ["log", "documents", "exemplars"])
@pytest.mark.parametrize("part", ["data", "_versions"])
def test_files_are_compared_before_lance_reads_them(stored: LanceSupportSet, table: str, part: str) -> None:
    """Some damage makes Lance end the process."""
    stored.remove("a")
    files = sorted(Path(stored.where).glob(f"{table}.lance/{part}/*"))
    newest = files[0] if part == "_versions" else files[-1]  # manifests are numbered downwards
    content = newest.read_bytes()
    newest.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(SupportError, match=r"the checksum of its (files|manifest) differs"):
        LanceSupportSet.open(stored.where)
    newest.write_bytes(content)
    LanceSupportSet.open(stored.where).verify()


def test_of_a_large_file_the_end_is_compared(
    tmp_path: Path, batch_of: BatchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_WHOLE", 100)
    monkeypatch.setattr(tables, "_END", 50)
    where = tmp_path / "support"
    LanceSupportSet.create(where, width=4, labels=("negative", "positive"), model="m").add(
        batch_of(["d"], tokens=3)
    )
    (file,) = (where / "exemplars.lance" / "data").iterdir()
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    LanceSupportSet(where)._exemplars.latest()
    file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    with pytest.raises(SupportError, match="checksum of its files"):
        LanceSupportSet(where)._exemplars.latest()
