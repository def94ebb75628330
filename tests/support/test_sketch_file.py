"""Saved sketches: the answers are those of brute force, whatever became of the set or of the file in between."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exaudit._files import replace_file
from exaudit._tensors import DamagedTensorsError
from exaudit.audit.index import ExemplarIndex
from exaudit.errors import SupportError
from exaudit.support import search, sketch_file
from exaudit.support.autotune import choose_projection
from exaudit.support.exemplars import SupportBatch
from exaudit.support.projection import Projection
from exaudit.support.sketch_file import NAME, SavedSketches
from exaudit.support.store import LanceSupportSet

BatchOf = Callable[..., SupportBatch]
QUERIES = np.random.default_rng(9).standard_normal((20, 4), dtype=np.float32)
K = 5


@pytest.fixture(autouse=True, params=[3, 0], ids=["directions", "flat"])
def fits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each fit was made for. Small sets are saved, too, for as long as the test lasts."""
    made: list[int] = []

    def choose(sample: torch.Tensor, directions: Any, rows: int) -> Any:
        made.append(rows)
        return choose_projection(sample, request.param, rows)

    monkeypatch.setattr(search, "choose_projection", choose)
    monkeypatch.setattr(sketch_file, "SMALL", 10)
    return made


@pytest.fixture
def stored(tmp_path: Path, batch_of: BatchOf) -> LanceSupportSet:
    """A set on disk with a hundred documents of three tokens each."""
    support = LanceSupportSet.create(
        tmp_path / "support", width=4, labels=("negative", "positive"), model="m"
    )
    support.add(batch_of([f"d{n}" for n in range(100)], tokens=3))
    return support


def check(support: LanceSupportSet) -> None:
    """A process that opens the set now answers as brute force does, and so does one that streams it."""
    all_ = support.exemplars()
    assert all_.vectors is not None
    squared = ((all_.vectors.astype(np.float64) - QUERIES[:, None].astype(np.float64)) ** 2).sum(axis=2)
    order = [np.lexsort((all_.row, each))[:K] for each in squared]
    for stream in (False, True):
        index = ExemplarIndex(LanceSupportSet.open(support.where), stream=stream)
        (found,) = index.neighbours(QUERIES, K, offsets=[0.0])
        np.testing.assert_array_equal(found.rows, all_.row[order])


def saved(support: LanceSupportSet) -> SavedSketches:
    found = SavedSketches.read(Path(support.where) / NAME)
    assert found is not None
    return found


def test_saved_by_the_first_search_and_read_by_the_next(stored: LanceSupportSet, fits: list[int]) -> None:
    check(stored)
    before = (Path(stored.where) / NAME).read_bytes()
    check(stored)
    assert fits == [300]
    assert (Path(stored.where) / NAME).read_bytes() == before
    assert saved(stored).digests == stored.fingerprints()[0]


def test_the_same_sketches_come_back(stored: LanceSupportSet) -> None:
    check(stored)
    made = search.ExactSearch(stored.vectors(stored.exemplars(vectors=False).row)).sketches()
    found = saved(stored).sketches
    assert len(found) == 300
    for name in ("norm", "error", "factor"):
        assert torch.equal(getattr(found, name), getattr(made, name))
    assert found.projection.scale == made.projection.scale
    assert found.projection.dtype == made.projection.dtype
    assert torch.equal(found.projection.mean, made.projection.mean)


def test_edits_of_a_few_rows_need_no_new_fit(
    stored: LanceSupportSet, fits: list[int], batch_of: BatchOf
) -> None:
    check(stored)
    edits: list[Callable[[], object]] = [
        lambda: stored.add(batch_of(["n1", "n2"], tokens=3)),
        lambda: stored.remove(["d0", "d50", "n1"]),
        lambda: stored.undo(),
        lambda: stored.redo(),
        lambda: stored.relabel_document(
            "d3", "negative" if stored.document("d3").label == "positive" else "positive"
        ),
        lambda: stored.add(batch_of(["d7"], tokens=3, salt=1), replace=True),
        lambda: stored.undo(),
        lambda: stored.compact(),
    ]
    for edit in edits:
        edit()
        check(stored)
    assert fits == [300]


def test_what_is_missing_is_added_once_it_is_much(
    stored: LanceSupportSet, fits: list[int], batch_of: BatchOf
) -> None:
    check(stored)
    stored.add(batch_of([f"m{n}" for n in range(4)], tokens=3))  # less than a twentieth
    check(stored)
    assert len(saved(stored).digests) == 100
    stored.add(batch_of([f"n{n}" for n in range(10)], tokens=3))
    check(stored)
    assert len(saved(stored).digests) == 114
    check(stored)
    assert fits == [300]
    stored.add(
        batch_of([f"o{n}" for n in range(50)], tokens=3)
    )  # more than a quarter: the set has outgrown it
    check(stored)
    assert fits == [300, 492]
    stored.remove([f"d{n}" for n in range(99)])  # less than half is left
    check(stored)
    assert fits == [300, 492, 195]


def test_a_set_that_grows_by_little_outgrows_its_fit_in_the_end(
    stored: LanceSupportSet, fits: list[int], batch_of: BatchOf
) -> None:
    check(stored)
    for turn in range(4):
        stored.add(batch_of([f"{turn}-{n}" for n in range(8)], tokens=3))
        check(stored)
        assert fits == ([300] if turn < 3 else [300, 396])


def test_compaction_forgets_sketches_of_what_was_removed(stored: LanceSupportSet, fits: list[int]) -> None:
    check(stored)
    gone = stored.fingerprints()[0][10]
    stored.remove("d10")
    assert gone in saved(stored).digests
    stored.compact()
    assert saved(stored).digests == stored.fingerprints()[0]
    check(stored)
    assert fits == [300]


def test_a_compaction_that_cannot_write_deletes(
    stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(stored)
    stored.remove("d10")

    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sketch_file, "write_tensors", full)
        stored.compact()
    assert not (Path(stored.where) / NAME).exists()
    check(stored)


def spoiled(content: bytes) -> Iterator[bytes]:
    for place in (0, 9, 200, len(content) // 2, len(content) - 1):
        yield content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]
    yield from (b"", b"\0" * 40, content[:-1], content[: len(content) // 2], content + b"\0")


def test_damage_costs_time_and_nothing_else(stored: LanceSupportSet, fits: list[int]) -> None:
    check(stored)
    path = Path(stored.where) / NAME
    whole = path.read_bytes()
    for turn, damaged in enumerate(spoiled(whole), start=1):
        path.write_bytes(damaged)
        with pytest.raises(SupportError, match=r"sketches\.safetensors.*; delete this file"):
            stored.verify()
        check(stored)
        assert len(fits) == 1 + turn
        stored.verify()
        assert saved(stored).digests == stored.fingerprints()[0]


def test_parts_that_do_not_fit_together(stored: LanceSupportSet) -> None:
    check(stored)
    path, found = Path(stored.where) / NAME, saved(stored)
    replace(found, digests=found.digests[1:]).write(path)
    with pytest.raises(DamagedTensorsError, match="do not fit together"):
        SavedSketches.checked(path)
    check(stored)


def test_of_another_version_of_exaudit(
    stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch, fits: list[int]
) -> None:
    check(stored)
    monkeypatch.setattr(sketch_file, "LAYOUT", sketch_file.LAYOUT + 1)
    stored.verify()  # nothing is damaged
    check(stored)
    check(stored)
    assert fits == [300, 300]


def test_the_layout_is_the_one_that_is_numbered() -> None:
    """Whoever changes what a sketch is must count up LAYOUT, or files of before would be misread."""
    mean, directions = torch.tensor([1.0, 1.0, 1.0]), torch.eye(3, dtype=torch.float64)[:, :2]
    sketch = Projection(mean, directions, 0.5, torch.bfloat16).sketch(torch.tensor([[3.0, 1.0, 5.0]]))
    assert sketch_file.LAYOUT == 2
    # coordinates, what they leave, the squared norm in three parts, three ones
    assert sketch.as_rows()[0, :9].tolist() == [1, 0, 2, 5, 0, 0, 1, 1, 1]
    assert sketch.norm.tolist() == [5]
    assert sketch.error[0] == pytest.approx(2e-6 * 5**0.5)


def test_a_folder_in_its_place(stored: LanceSupportSet) -> None:
    (Path(stored.where) / NAME).mkdir()
    check(stored)


def test_of_another_set(stored: LanceSupportSet, tmp_path: Path, batch_of: BatchOf) -> None:
    """Row numbers, ids and texts are the same; only the vectors differ, in width or in value."""
    check(stored)
    for width, salt in ((4, 1), (6, 0)):
        other = LanceSupportSet.create(
            tmp_path / f"{width}", width=width, labels=("negative", "positive"), model="m"
        )
        other.add(batch_of([f"d{n}" for n in range(100)], tokens=3, width=width, salt=salt))
        ExemplarIndex(LanceSupportSet.open(other.where))
        shutil.copy(Path(other.where) / NAME, Path(stored.where) / NAME)
        check(stored)


def test_copies_of_older_versions(stored: LanceSupportSet, tmp_path: Path, batch_of: BatchOf) -> None:
    """An old copy, edited in its own way, gives the rows of the one to other tokens than the other does."""
    check(stored)
    shutil.copytree(stored.where, tmp_path / "copy")
    stored.add(batch_of([f"n{n}" for n in range(20)], tokens=3))
    check(stored)
    copy = LanceSupportSet.open(tmp_path / "copy")
    copy.add(batch_of([f"n{n}" for n in range(20)], tokens=3, salt=7))
    shutil.copy(Path(stored.where) / NAME, Path(copy.where) / NAME)
    check(copy)


def test_sketches_of_damaged_vectors_are_not_saved(
    stored: LanceSupportSet, unsealed: Callable[[LanceSupportSet], None]
) -> None:
    """Else they would be there still when the vectors are restored from a backup."""
    vector = stored.vectors([4])[0].tobytes()
    (file,) = (p for p in Path(stored.where).glob("exemplars.lance/data/*") if vector in p.read_bytes())
    file.write_bytes(file.read_bytes().replace(vector, bytes([vector[0] ^ 1]) + vector[1:]))
    unsealed(stored)
    with pytest.raises(SupportError, match="document 'd1' is damaged"):
        ExemplarIndex(LanceSupportSet.open(stored.where))
    assert not (Path(stored.where) / NAME).exists()


def test_where_nothing_can_be_written(stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(sketch_file, "write_tensors", refuse)
    check(stored)
    assert not (Path(stored.where) / NAME).exists()


def test_a_small_set_has_none(stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch_file, "SMALL", 300)
    check(stored)
    assert not (Path(stored.where) / NAME).exists()


def test_a_killed_writer_leaves_nothing_for_long(stored: LanceSupportSet) -> None:
    with replace_file(Path(stored.where) / NAME) as temporary:
        shutil.copy(temporary, leftover := temporary.with_name(f".{NAME}.killed.tmp"))
        temporary.write_bytes(b"half")
    check(stored)
    assert not leftover.exists()
    stored.verify()


def test_types_of_other_machines(
    stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch, fits: list[int]
) -> None:
    """Where bfloat16 is slow, sketches in it are widened, but for those of flat search, which are not kept whole; those
    in float32 are made anew where it is quick."""

    def machine(dtype: torch.dtype) -> None:
        monkeypatch.setattr(sketch_file, "fast_dtype", lambda device: dtype)
        monkeypatch.setattr("exaudit.support.autotune.fast_dtype", lambda device: dtype)

    machine(torch.float32)
    check(stored)
    assert saved(stored).sketches.projection.dtype == torch.float32
    machine(torch.bfloat16)
    check(stored)
    assert saved(stored).sketches.projection.dtype == torch.bfloat16
    flat = saved(stored).sketches.projection.directions is None
    machine(torch.float32)
    check(stored)
    assert fits == [300] * (3 if flat else 2)


PROCESS = """
import sys
from pathlib import Path
import numpy as np
from exaudit.audit.index import ExemplarIndex
from exaudit.support import sketch_file
from exaudit.support.store import LanceSupportSet
sketch_file.SMALL = 10
print("ready", flush=True)
sys.stdin.readline()
for _ in range(6):
    index = ExemplarIndex(LanceSupportSet.open(sys.argv[1]))
    print(index.neighbours(np.eye(4, dtype=np.float32), 3, offsets=[0.0])[0].rows.tolist(), flush=True)
    if sys.argv[2] == "delete":
        (Path(sys.argv[1]) / sketch_file.NAME).unlink(missing_ok=True)
"""


@pytest.mark.parametrize("fits", [3], indirect=True)
def test_two_processes(stored: LanceSupportSet, fits: list[int]) -> None:
    """One keeps deleting the file, so that both write and read it in any order."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, stored.where, way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for way in ("keep", "delete")
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    told = [process.communicate("\n", timeout=60)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(told[0]) == len(told[1]) == 6
    assert len({*told[0], *told[1]}) == 1
    assert not list(Path(stored.where).glob(".*.tmp"))
    check(stored)
    stored.verify()
