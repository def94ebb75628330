"""A small trained model and sample files, for running verbs in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from exaudit.cli import run
from exaudit.data.sample import sample_splits, write_sample
from exaudit.model.labeler import Labeler

SIZES = {"train": 300, "dev": 40, "test": 30}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with model/ and the sample's files."""
    folder = tmp_path_factory.mktemp("cli")
    splits = sample_splits("reviews", sizes=SIZES)
    write_sample(folder, sizes=SIZES)
    small = {"encoder": "none", "filters": 20, "vocabulary": 400, "word_dimension": 16, "device": "cpu"}
    labeler = Labeler(**small, epochs=10, batch_size=5, learning_rate=5.0)
    labeler.fit(splits["train"], dev=splits["dev"]).save(folder / "model")
    return folder


@pytest.fixture
def work(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the present folder."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    lines = (tmp_path / "reviews.train.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "support.jsonl").write_text("".join(lines[:60]))
    (tmp_path / "more.jsonl").write_text("".join(lines[60:70]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a verb that must succeed; gives its standard output."""

    def call(*arguments: str) -> str:
        capsys.readouterr()
        assert run(list(arguments)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return call


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a verb that must fail with one line; gives that line."""

    def call(*arguments: str, status: int = 1) -> str:
        capsys.readouterr()
        assert run(list(arguments)) == status
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.count("\n") == 1, told.err
        assert told.err.startswith("exaudit: ")
        return told.err

    return call


@pytest.fixture
def built(work: Path, cli: Callable[..., str]) -> Path:
    """With a support set of 60 documents."""
    assert json.loads(cli("support", "build", "model", "support.jsonl", "--json"))["documents_added"] == 60
    return work
