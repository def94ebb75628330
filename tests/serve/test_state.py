from __future__ import annotations

from pathlib import Path

import pytest

from exaudit.serve.state import ConflictError, Journal, StateFolder


def test_the_last_record_of_a_key_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    assert journal.get("a") == (0, None)
    assert journal.put("a", [1], 0) == 1
    assert journal.put("b", "x", 0) == 1
    assert journal.put("a", [2], 1) == 2
    again = Journal(tmp_path / "j.jsonl")
    assert again.items() == {"a": [2], "b": "x"}
    assert again.put("a", None, 2) == 3
    assert Journal(tmp_path / "j.jsonl").items() == {"b": "x"}
    assert Journal(tmp_path / "j.jsonl").get("a") == (3, None)


def test_a_folder_is_made_when_there_is_something_to_keep(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    journal = state.journal("queue", "a.jsonl")
    assert (state.read("open.json"), len(journal)) == (None, 0)
    assert not state.folder.exists()
    journal.put("a", 1, 0)
    state.write("open.json", {})
    assert sorted(each.name for each in state.folder.iterdir()) == ["open.json", "queue"]


def test_who_did_not_see_the_last_record_is_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.put("a", 1, 0)
    with pytest.raises(ConflictError, match="somebody else"):
        journal.put("a", 2, 0)
    assert journal.get("a") == (1, 1)


@pytest.mark.parametrize("torn", [b'["b", 1, "ha', b'["b", 1, 2]', b"\x00\x00", b'["b", 1]\n'])
def test_a_line_that_a_crash_tore_is_dropped(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "j.jsonl"
    Journal(path).put("a", 1, 0)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    journal = Journal(path)
    assert journal.items() == {"a": 1}
    journal.put("b", 2, 0)
    assert Journal(path).items() == {"a": 1, "b": 2}


def test_a_state_file_that_makes_no_sense_is_none(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "deep" / "state")
    assert state.read("open.json") is None
    state.write("open.json", {"key": "a"})
    assert StateFolder(state.folder).read("open.json") == {"key": "a"}
    assert state.read("open.json", lambda value: "name" in value) is None
    (state.folder / "open.json").write_text("{")
    assert state.read("open.json") is None
