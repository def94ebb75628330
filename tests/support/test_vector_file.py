from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exaudit.errors import SupportError
from exaudit.support.vector_file import VectorFile


@pytest.fixture
def mapped(tmp_path: Path) -> np.memmap:
    np.save(tmp_path / "vectors.npy", np.arange(3000 * 7, dtype=np.float16).reshape(3000, 7))
    return np.load(tmp_path / "vectors.npy", mmap_mode="r")


def opened(vectors: np.ndarray) -> VectorFile:
    file = VectorFile.of(vectors)
    assert file is not None
    return file


def test_reads_what_is_mapped(mapped: np.memmap) -> None:
    file = opened(mapped)
    np.testing.assert_array_equal(file.read(17, 2050), mapped[17:2050])
    rows = np.array([0, 5, 6, 7, 2998, 2999])
    np.testing.assert_array_equal(file.gather(rows), mapped[rows])
    assert file.gather(rows).dtype == np.float16
    assert file.gather(rows[:0]).shape == file.read(3, 3).shape == (0, 7)


def test_a_part_of_a_map_is_read_from_its_own_place(mapped: np.memmap) -> None:
    np.testing.assert_array_equal(opened(mapped[1000:]).read(2, 4), mapped[1002:1004])
    far = np.memmap(mapped.filename, np.float16, "r", offset=8192, shape=(100, 5))
    np.testing.assert_array_equal(opened(far).read(9, 11), far[9:11])


def test_the_file_may_be_gone_by_then(mapped: np.memmap) -> None:
    file = opened(mapped)
    Path(str(mapped.filename)).unlink()
    np.testing.assert_array_equal(file.read(0, 3000), mapped)


def test_rows_that_stand_together_are_one_read(mapped: np.memmap, monkeypatch: pytest.MonkeyPatch) -> None:
    file, filled = opened(mapped), []
    fill = VectorFile._fill
    monkeypatch.setattr(
        VectorFile, "_fill", lambda self, out, row: (filled.append((row, len(out))), fill(self, out, row))
    )
    file.gather(np.array([3, 4, 5, 9, 20, 21]))
    assert filled == [(3, 3), (9, 1), (20, 2)]


def test_only_maps_of_files_as_they_stand_there(mapped: np.memmap) -> None:
    assert VectorFile.of(np.zeros((3, 2), np.float32)) is None
    assert (
        VectorFile.of(np.load(str(mapped.filename), mmap_mode="c")) is None
    )  # may have been changed in memory
    assert VectorFile.of(mapped[::2]) is None
    assert VectorFile.of(mapped[:0]) is None
    assert VectorFile.of(mapped[np.array([1, 5])]) is None  # a copy


def test_a_file_that_was_cut_is_said_to_be(mapped: np.memmap) -> None:
    file = opened(mapped)
    with open(str(mapped.filename), "r+b") as cut:
        cut.truncate(1000)
    with pytest.raises(SupportError, match=r"vectors\.npy has become shorter while it was searched"):
        file.read(0, 3000)
