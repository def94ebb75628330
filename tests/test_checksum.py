"""Checksums inside files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from exaudit._checksum import array_checksum, read_sealed, write_sealed

VALUE = {"schema": 2, "boundary": 0.25, "labels": ["a", "ü"], "none": None}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_sealed(path, VALUE)
    assert read_sealed(path) == VALUE
    write_sealed(path, json.loads(path.read_text()))  # with its old checksum among the fields
    assert read_sealed(path) == VALUE


def test_the_layout_may_change_and_the_content_may_not(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_sealed(path, VALUE)
    value = json.loads(path.read_text())
    path.write_text(json.dumps(value, sort_keys=True))
    assert read_sealed(path) == VALUE
    for name, other in {"schema": 3, "boundary": 0.26, "labels": ["a"], "none": 0, "more": 1}.items():
        path.write_text(json.dumps(value | {name: other}))
        with pytest.raises(ValueError, match="was changed after it was written"):
            read_sealed(path)


@pytest.mark.parametrize("text", ["", "[]", "3", "{", "[" * 100_000])
def test_what_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011 (of whatever kind)
        read_sealed(tmp_path / "x.json")


def test_a_file_without_a_checksum_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(VALUE))
    assert read_sealed(tmp_path / "x.json") == VALUE


def test_arrays_differ_by_their_names_types_shapes_and_content() -> None:
    ones = np.ones((2, 3), np.float32)
    different = [
        {"a": ones},
        {"b": ones},
        {"a": ones.reshape(3, 2)},
        {"a": ones.view(np.int32)},
        {"a": ones * 2},
        {"a": ones, "b": ones},
    ]
    assert len({array_checksum(arrays) for arrays in different}) == len(different)
    assert array_checksum({"a": ones, "b": ones * 2}) == array_checksum({"b": ones * 2, "a": ones})
    assert array_checksum({"a": ones}, "x") != array_checksum({"a": ones}, "y")
    assert len(array_checksum({"a": np.zeros((0, 3)), "b": np.zeros(())})) == 64
