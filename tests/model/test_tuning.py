"""Tuning a plain BERT on a CPU: without padding, in either precision, and with a time to go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from exaudit.cli.options import tuning_line
from exaudit.encode.transformer import Transformer
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.tuning import tune
from exaudit.head.tuning_state import TuningState
from exaudit.model import teaching
from exaudit.model.excess import Excess
from exaudit.model.labeler import Labeler
from tiny import cued, reviews, tiny_bert, tiny_labeler


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


def test_the_students_last_weights_are_averaged(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the embeddings, too, of which only the ones that occur are tuned."""
    means: list[list[torch.Tensor]] = []
    steps: list[tuple[int, int]] = []
    step = TuningState.step

    def spy(state: TuningState) -> None:
        step(state)
        if state.averaged_from is not None:
            means.append([weight.detach().clone() for weight in state.module.parameters()])
            steps.append((state.averaged_from, state.schedule.last_epoch))

    monkeypatch.setattr(TuningState, "step", spy)
    model = fit(bert).model_
    record = model.record["tuning"]
    assert (record["teacher"]["averaged"], record["student"]["averaged"]) == (0.0, 0.4)
    assert record["kept"] == "student"
    first, last = steps[-1]
    assert first == 1 + int(0.6 * last)
    for place, (name, weight) in enumerate(model.encoder.module.named_parameters()):
        expected = torch.stack([own[place] for own in means[first - 1 :]]).mean(0)
        if weight.shape == expected.shape:
            torch.testing.assert_close(weight.detach(), expected, atol=1e-5, rtol=1e-4)
        else:  # the table of embeddings: its rows are among those of the whole
            assert "embedding" in name
            apart = (expected[:, None] - weight.detach()).abs().amax(2).min(1).values  # from the nearest row
            assert apart.max() < 1e-5


@pytest.mark.parametrize("kind", ["two classes", "one of three", "several of three"])
def test_words_that_show_but_are_not_needed_are_no_lesson(
    bert: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No filter of an encoder so small shows much, so all words of documents of a class are taken to show."""
    documents = reviews(40) if kind == "two classes" else cued(40, several=kind == "several of three")
    learnt: list[LabelledFeatures] = []

    def spy(*arguments: Any, **options: Any) -> Any:
        if arguments[5] == "student":
            learnt.append(arguments[2].labels)
        return tune_or_resume(*arguments, **options)

    tune_or_resume = teaching.tune_or_resume
    monkeypatch.setattr(teaching, "tune_or_resume", spy)
    count = 1 if kind == "two classes" else 3
    everything = (Excess(np.zeros(1), np.full(1, 0.9)),) * count
    monkeypatch.setattr(teaching, "excess_of", lambda known: everything)
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1, pretrain=False, precision="float32")
    model.fit(documents[:30], dev=documents[30:])
    (labels,) = learnt
    of_class = labels.class_targets(max(2, count))  # (D, K)
    assert labels.token_targets is not None
    for k in range(count):
        columns = [own[:, k] for own in labels.token_targets]
        positive, unknown = (sum(int((own == value).sum()) for own in columns) for value in (1, -1))
        assert 0 < unknown <= positive
        assert all(mine or not own.any() for own, mine in zip(columns, of_class[:, k], strict=True))


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
