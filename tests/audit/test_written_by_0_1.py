"""A model folder of 0.1 with its support set, K-NN and admission limits: it opens, and says what it said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.errors import SupportError

OLD = Path(__file__).parents[1] / "model" / "written_by_0_1"
pytestmark = pytest.mark.filterwarnings("ignore::exaudit.errors.ModelWarning")  # of settings that are gone


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD / "frozen", tmp_path / "frozen"))


@pytest.fixture
def expected() -> list[dict[str, Any]]:
    return list(json.loads((OLD / "expected.json").read_text())["audited"])


def documents(lines: list[dict[str, Any]]) -> list[Document]:
    return [
        Document.from_tokens([token["text"] for token in line["tokens"]], id=line["id"]) for line in lines
    ]


def same(line: dict[str, Any], old: dict[str, Any]) -> None:
    """All that the old line says; the new one also has the places and scores of every class."""
    agree({key: line[key] for key in old}, old)


def agree(found: Any, told: Any) -> None:
    """The same, but for the last digits: the old numbers were written on another processor."""
    if isinstance(told, dict):
        assert set(told) <= set(found)
        for key, value in told.items():
            if key not in ("start", "end"):
                agree(found[key], value)
    elif isinstance(told, list):
        for one, other in zip(found, told, strict=True):
            agree(one, other)
    elif isinstance(told, float):
        assert found == pytest.approx(told, rel=1e-5, abs=1e-6)
    else:
        assert found == told


def test_it_says_what_it_said(folder: Path, expected: list[dict[str, Any]]) -> None:
    auditor = Auditor.open(folder, device="cpu")
    found = auditor.label(documents(expected), rule="knn", admit=True, nearest=True)
    for one, old in zip(found, expected, strict=True):
        same(one.to_json(auditor.labels), old)
    assert auditor.staleness() is None
    auditor.support.verify()


def test_what_is_written_again_is_the_same(folder: Path) -> None:
    auditor = Auditor.open(folder, device="cpu")
    assert auditor.knn is not None
    assert auditor.admission is not None
    kept = {name: json.loads((folder / name).read_text()) for name in ("knn.json", "admission.json")}
    auditor.knn.save(folder)
    auditor.admission.save(folder)
    for name, value in kept.items():
        again = json.loads((folder / name).read_text())
        assert len(again.pop("checksum")) == 64
        assert again == value


def test_its_support_set_takes_edits(folder: Path, expected: list[dict[str, Any]]) -> None:
    auditor = Auditor.open(folder, device="cpu")
    id = auditor.support.ids[0]
    label = auditor.support.document(id).label
    before = auditor.support.version
    auditor.relabel(id, {"negative": "positive", "positive": "negative"}[str(label)])
    auditor.relabel_token(id, 0, None)
    auditor.add([Document.from_text("a fine day", id="new", label="positive")])
    again = Auditor.open(folder, device="cpu")
    assert again.support.version == auditor.support.version != before
    assert again.support.document(id).token_labels[0] == 0
    for _ in range(3):
        again.undo()
    assert again.support.version == before
    (line,) = (
        one.to_json(again.labels) for one in again.label(documents(expected[:1]), admit=True, nearest=True)
    )
    same(line, expected[0])


def test_a_lost_head_is_missed(folder: Path) -> None:
    """Lance numbers the manifests downwards, so that the newest comes first."""
    min((folder / "support" / "head.lance" / "_versions").glob("*.manifest")).unlink()
    with pytest.raises(SupportError, match=r"head\.lance: this table is damaged"):
        Auditor.open(folder, device="cpu").support  # noqa: B018
