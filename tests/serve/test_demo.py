from __future__ import annotations

from pathlib import Path

from exaudit.audit import Auditor
from exaudit.model.settings import Settings
from exaudit.serve.demo import demo_documents, demo_model
from tiny import SMALL

SIZES = {"train": 60, "dev": 30, "test": 10}


def test_the_demo_is_made_once(tmp_path: Path) -> None:
    small = Settings(**{key: value for key, value in SMALL.items() if key != "cache"})
    told: list[str] = []
    folder = demo_model(tmp_path / "demo", sizes=SIZES, settings=small, tell=told.append)
    assert told[0].startswith("60 reviews become a model")
    auditor = Auditor.open(folder)
    assert len(auditor.support.ids) == 60
    assert auditor.admission is not None
    assert auditor.overlap(demo_documents(SIZES)) == []
    told.clear()
    assert demo_model(tmp_path / "demo", sizes=SIZES, tell=told.append) == folder
    assert told == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["demo"]
