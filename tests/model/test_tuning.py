"""Tuning a plain BERT on a CPU: without padding, in either precision, and with a time to go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exaudit.cli.options import tuning_line
from exaudit.encode.transformer import Transformer
from exaudit.head.tuning import tune
from exaudit.model.labeler import Labeler
from tiny import reviews, tiny_bert, tiny_labeler


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a tokenizer.json, as published ones have."""
    folder = tmp_path_factory.mktemp("encoders")
    Transformer.load(tiny_bert(folder / "bert"), layers=(3,), device="cpu").save(folder / "plain")
    return folder / "plain"


def fit(bert: Path, precision: str = "float32", **options: Any) -> Labeler:
    documents = reviews(40)
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1, pretrain=False, precision=precision)
    return model.fit(documents[:30], dev=documents[30:], **options)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_stopped_run_ends_like_one_that_was_not(
    bert: Path, tmp_path: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[str] = []

    def stopped(encoder: Transformer, *arguments: Any, **options: Any) -> None:
        assert encoder.packs
        turns.append(encoder.dtype)
        if len(turns) == 2:
            raise KeyboardInterrupt
        tune(encoder, *arguments, **options)

    monkeypatch.setattr("exaudit.model.tuning.tune", stopped)
    with pytest.raises(KeyboardInterrupt):
        fit(bert, precision, work=tmp_path)
    resumed, whole = fit(bert, precision, work=tmp_path, resume=True), fit(bert, precision)
    assert turns == [precision] * 5  # a teacher, half a student; a student; both
    assert resumed.model_.encoder.fingerprint == whole.model_.encoder.fingerprint
    assert resumed.model_.record["tuning"]["student"]["precision"] == precision


def test_the_time_to_go_is_told_before_the_first_epoch_ends_or_soon_after(bert: Path) -> None:
    told: list[dict[str, Any]] = []
    fit(bert, "float32", report=told.append)
    (place,) = (n for n, record in enumerate(told) if "seconds_to_go" in record)
    assert told[place]["precision"] == "float32"
    assert told[place]["seconds_to_go"] > 0
    assert sum("tuning_epoch" in record for record in told[:place]) <= 3  # of 20 epochs of one step each


@pytest.mark.parametrize(
    ("seconds", "threads", "device", "line"),
    [
        (350.0, 2, "cpu", "about 6 minutes on this machine (2 threads, bfloat16)"),
        (29.0, 1, "cpu", "less than a minute on this machine (1 thread, bfloat16)"),
        (80.0, 4, "cpu", "about a minute on this machine (4 threads, bfloat16)"),
        (9000.0, 4, "cuda", "about 2 hours on this machine (cuda, bfloat16)"),
    ],
)
def test_the_time_to_go_in_words(seconds: float, threads: int, device: str, line: str) -> None:
    record = {"seconds_to_go": seconds, "threads": threads, "device": device, "precision": "bfloat16"}
    assert tuning_line(record) == f"tuning the encoder: {line}"
