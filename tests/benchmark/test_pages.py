from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from exaudit.benchmark.pages import WordResults
from exaudit.benchmark.words import WordRun
from exaudit.errors import SettingError


def made(task: str, recipe: str, seed: int, ap: float, *, seconds: float | None = 4.0) -> WordRun:
    f = {"precision": 0.5, "recall": 0.5, "f1": ap / 2, "f0.5": ap / 4}
    shares = {"all": 0.1, "positive": 0.2, "negative": 0.05}
    about: dict[str, Any] = {
        "name": task,
        "kind": "binary",
        "classes": ["no", "yes"],
        "documents": {"train": 1000, "dev": 100, "test": 200},
        "test_words": 4000,
        "test_positive_words": 100,
        "digest": "0",
    }
    return WordRun(
        about,
        recipe,
        seed,
        "whitespace",
        {"ap": ap, "default": f, "zero": f, "best": {"f1": 0.9, "f0.5": 0.95}, "flagged": shares},
        {"f1": 0.8, "accuracy": 0.85},
        {"default": [0.1], "zero": [0.0]},
        {"train": seconds, "label": 0.5},
        "cpu",
        "1.0",
    )


RESULTS = WordResults(
    {"encoder": "minilm", "fingerprint": "abcdef" * 10},
    [
        made("film", "frozen", 0, 0.4),
        made("film", "frozen", 1, 0.6, seconds=None),
        made("film", "tuned", 0, 0.7, seconds=None),
        made("law", "frozen", 0, 0.2),
    ],
)


def test_the_table_has_means_and_ranges_over_seeds() -> None:
    lines = RESULTS.text(width=400).splitlines()
    sizes = "film: 1,000 / 100 / 200 documents to train, choose and test; 2 classes; "
    assert f"{sizes}100 of 4,000 test words positive (2.5%)" in lines
    rows = {line.split("  ")[0]: line for line in lines[-3:]}
    assert rows["film, frozen"].split()[2:5] == ["0,1", "50.0", "(40.0-60.0)"]
    assert "25.0 (20.0-30.0) / 12.5 (10.0-15.0)" in rows["film, frozen"]
    assert rows["film, frozen"].endswith("80.0 (80.0-80.0)  4.0 / 0.5")
    assert rows["film, tuned"].endswith("80.0              - / 0.5"), "seconds of a run that was stopped"
    assert "90.0 / 95.0" in rows["law, frozen"]


def test_what_is_read_off_test_is_said_in_words() -> None:
    for text in (RESULTS.text(), RESULTS.markdown()):
        assert "READ OFF TEST" in text
        assert "(read off test)" in text
    assert "read off test" in RESULTS.svg()


def test_files(tmp_path: Path) -> None:
    paths = RESULTS.write(tmp_path)
    assert [path.name for path in paths] == ["words.md", "words.svg", "words.json"]
    page = paths[0].read_text()
    assert "| film | frozen | 0,1 | 50.0 (40.0-60.0) |" in page
    assert "](words.svg)" in page
    assert "encoder: minilm, fingerprint abcdefabcdef" in page
    picture = ET.fromstring(paths[1].read_text())
    bars = [each for each in picture.iter("{http://www.w3.org/2000/svg}rect") if len(each)]
    assert len(bars) == 3 * 5  # a task and recipe each, AP and four F scores
    found = json.loads(paths[2].read_text())
    assert found["summary"][0]["ap"] == pytest.approx({"mean": 0.5, "low": 0.4, "high": 0.6})
    assert found["summary"][1]["train_seconds"] is None
    assert len(found["runs"]) == 4
    assert [task["name"] for task in found["tasks"]] == ["film", "law"]


def test_a_folder_without_runs_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="holds no finished run"):
        WordResults.read(tmp_path)
