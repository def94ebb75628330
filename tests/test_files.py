"""Files and folders that are put in place whole, and what is left of those that were not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exaudit._files import clear_leftovers, folder_beside, make_folder, put_folder, replace_file, write_json


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


@pytest.mark.skipif(os.name == "nt", reason="there is no umask")
def test_files_are_as_readable_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "a.json", {})
        with folder_beside(tmp_path / "f") as draft:
            (draft / "private").touch(0o600)
            put_folder(draft, tmp_path / "f")
    finally:
        os.umask(before)
    assert modes(tmp_path) == {0o640}
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o750


def test_leftovers_go_unless_somebody_writes_there(tmp_path: Path) -> None:
    (tmp_path / ".a.json.1.tmp").touch()
    (tmp_path / ".a.json.2.tmp" / "inside").mkdir(parents=True)
    (tmp_path / ".b.json.3.tmp").touch()
    with replace_file(tmp_path / "b.json") as temporary:
        assert not (tmp_path / ".b.json.3.tmp").exists()  # before it began
        clear_leftovers(tmp_path / "a.json")
        clear_leftovers(tmp_path / "b.json")
        assert temporary.exists()
        assert (tmp_path / ".a.json.1.tmp").exists()
    clear_leftovers(tmp_path / "a.json")
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


@pytest.mark.parametrize("atomic", [True, False])
def test_a_folder_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    if not atomic:  # as on a system that cannot exchange two names
        monkeypatch.setattr("exaudit._files.sys.platform", "other")
    place, aside = tmp_path / "place", tmp_path / "aside"
    for content in ("old", "new", "newest"):
        with folder_beside(place) as draft:
            (draft / "content").write_text(content)
            put_folder(draft, place, replace=True, aside=aside if content == "newest" else None)
    assert (place / "content").read_text() == "newest"
    assert (aside / "content").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aside", "place"]
    with folder_beside(place) as draft, pytest.raises(OSError, match="not empty"):
        put_folder(draft, place)


def test_folders_are_made_once(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_folder(tmp_path / "file" / "c")
