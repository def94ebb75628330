"""A run of experiments: steps and models that are kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from filelock import FileLock

from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.encode.transformer import Transformer
from exaudit.errors import SettingError
from exaudit.experiments import run as module
from exaudit.experiments.provenance import code_used
from exaudit.experiments.run import Run, RunSettings
from exaudit.experiments.step_result import StepResult
from exaudit.metrics import Difference
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.settings import Settings
from exaudit.model.train import train as train_model
from tiny import tiny_bert

SMALL = RunSettings(encoder="none", filters=8, epochs=1)


def learners(count: int, start: int = 0) -> list[Document]:
    return sample_documents("learner", count, seed=3, start=start)


def new_run(folder: Path, settings: RunSettings = SMALL) -> Run:
    return Run(folder, folder / "data", settings, device="cpu")


def never(*_: object, **__: object) -> NoReturn:
    raise AssertionError("this was done before")


def a_result() -> StepResult:
    result = StepResult(seed=2)
    result.add_row("t", "r", 1, None, 1 / 3)
    result.add_missing("t", "q", "why")
    result.add_claim("c", "case", Difference(0.1, 0.05, 0.15))
    return result


# -- steps --------------------------------------------------------------------------------------------------------


def test_a_step_that_is_done_is_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = new_run(tmp_path).step("one", a_result)
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["one ...", "one"]
    kept = new_run(tmp_path).step("one", never)
    assert kept == made
    assert kept.tables == {"t": {"r": [1.0, None, 0.3333]}}
    assert kept.claims == {"c": {"case": {"value": 10.0, "low": 5.0, "high": 15.0}}}
    assert capsys.readouterr().err == ""


def test_a_step_that_another_process_is_at_is_left_to_it(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.step("one", a_result)
    with FileLock(tmp_path / ".locks" / "two"):
        assert run.step("two", never) == StepResult()
        assert run.step("one", never) == run.step("one", never) != StepResult()
    assert run.step("two", a_result).tables


def test_a_step_that_failed_leaves_nothing_and_is_done_again(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.step("one", a_result)
    with pytest.raises(AssertionError, match="done before"):
        run.step("two", never)
    assert [path.name for path in (tmp_path / "steps").iterdir()] == ["one.json"]
    assert run.step("two", StepResult) == StepResult(seconds=0.0, code=code_used())


@pytest.mark.parametrize(
    "other",
    [
        RunSettings(encoder="minilm", filters=8, epochs=1),
        RunSettings(encoder="none", filters=9, epochs=1),
        RunSettings(encoder="none", filters=8, epochs=1, seeds=(1, 0)),
        RunSettings(encoder="none", filters=8, epochs=1, sample=True),
        RunSettings(encoder="none", filters=8, epochs=1, recipe="paper"),
        RunSettings(encoder="none", filters=8, epochs=1, fast=True),
    ],
)
def test_results_of_other_settings_are_never_mixed(tmp_path: Path, other: RunSettings) -> None:
    new_run(tmp_path)
    kept = (tmp_path / "settings.json").read_bytes()
    with pytest.raises(SettingError, match=r"other settings .*settings\.json\); give another --out"):
        new_run(tmp_path, other)
    assert (tmp_path / "settings.json").read_bytes() == kept
    new_run(tmp_path)


def test_more_seeds_go_on_but_fewer_are_other_results(tmp_path: Path) -> None:
    new_run(tmp_path)
    more = RunSettings(encoder="none", filters=8, epochs=1, seeds=(0, 1))
    new_run(tmp_path, more)
    with pytest.raises(SettingError, match="other settings"):
        new_run(tmp_path)


def test_a_pattern_that_names_no_step_is_an_error(tmp_path: Path) -> None:
    run = Run(tmp_path, tmp_path, SMALL, device="cpu", steps="b*, nothing")
    found = a_result()
    assert run.step("a", lambda: found).tables == {}
    assert run.step("bc", lambda: found).tables == found.tables
    with pytest.raises(SettingError, match="no step is called 'nothing'; the steps are a, bc"):
        run.check_steps()


def test_a_folder_from_before_a_setting_existed_goes_on_with_its_default(tmp_path: Path) -> None:
    older = SMALL.to_json()
    del older["sample"]
    (tmp_path / "settings.json").write_text(json.dumps(older))
    new_run(tmp_path)
    with pytest.raises(SettingError):
        new_run(tmp_path, RunSettings(encoder="none", filters=8, epochs=1, sample=True))


@pytest.mark.parametrize(
    ("encoder", "name"),
    [
        ("minilm", "minilm"),
        ("none", "none"),
        ("bert-base-cased", "bert-base-cased"),
        ("thenlper/gte-small", "thenlper/gte-small"),
        ("../encoders/gte-small/", "gte-small"),
        ("~/gte-small", "gte-small"),
        ("a/b/gte-small", "gte-small"),
    ],
)
def test_an_encoder_is_called_by_its_own_name(encoder: str, name: str) -> None:
    assert replace(RunSettings(), encoder=encoder).encoder_name == name


def test_a_setting_that_exists_no_longer_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(SMALL.to_json() | {"teachers": 3}))
    new_run(tmp_path)
    assert json.loads((tmp_path / "settings.json").read_text()) == SMALL.to_json()
    (tmp_path / "settings.json").write_text(json.dumps(SMALL.to_json() | {"teachers": 3}))
    with pytest.raises(SettingError):
        new_run(tmp_path, replace(SMALL, fast=True))


# -- models -------------------------------------------------------------------------------------------------------


def test_a_model_is_trained_once_and_read_back_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, dev, test = learners(30), learners(10, 30), learners(5, 40)
    first = new_run(tmp_path).model("m", train, dev, seed=5)
    left = {path.name for path in (tmp_path / "models").iterdir()}
    assert left - {".m.lock"} == {"m"}, "no working folder is left"
    own = first.settings
    assert (own.encoder, own.filters, own.epochs, own.seed) == ("none", 8, 1, 5)
    monkeypatch.setattr(module, "train", never)
    again = new_run(tmp_path).model("m", train, dev, seed=5)
    for a, b in zip(first.label(test), again.label(test), strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)


def test_a_model_that_was_stopped_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, dev, test = learners(30), learners(10, 30), learners(5, 40)
    settings = {"epochs": 3, "seed": 1}
    whole = new_run(tmp_path / "whole").model("m", train, dev, **settings)
    epochs: list[int] = []

    def stopping(*args: Any, options: RunOptions, **more: Any) -> Model:
        def report(record: dict[str, Any]) -> None:
            epochs.append(record["epoch"])
            if record["epoch"] == 2 and epochs.count(1) == 1 and epochs.count(2) == 1:
                raise KeyboardInterrupt

        return train_model(*args, options=replace(options, report=report), **more)

    monkeypatch.setattr(module, "train", stopping)
    with pytest.raises(KeyboardInterrupt):
        new_run(tmp_path / "stopped").model("m", train, dev, **settings)
    assert not (tmp_path / "stopped/models/m").exists()
    gone_on = new_run(tmp_path / "stopped").model("m", train, dev, **settings)
    assert epochs == [1, 2, 3], "it did not begin anew"
    for a, b in zip(whole.label(test), gone_on.label(test), strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)


def test_token_labels_are_seen_by_the_token_loss_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, set[bool]] = {}

    def looking(settings: Settings, documents: list[Document], dev: list[Document], **more: Any) -> Model:
        seen[settings.loss] = {document.token_labels is not None for document in (*documents, *dev)}
        return train_model(settings, documents, dev, **more)

    monkeypatch.setattr(module, "train", looking)
    run, train, dev = new_run(tmp_path), learners(30), learners(10, 30)
    run.model("base", train, dev)
    for loss in ("min-max", "token"):
        run.model(loss, train, dev, init="base", loss=loss)
    assert seen == {"document": {False}, "min-max": {False}, "token": {True}}


def test_a_model_goes_on_from_the_one_named(tmp_path: Path) -> None:
    run, train, dev = new_run(tmp_path), learners(30), learners(10, 30)
    base = run.model("base", train, dev, vocabulary=50)
    after = run.model("after", learners(20, 50), dev, init="base", loss="min-max")
    assert after.vocabulary is not None
    assert base.vocabulary is not None
    assert after.vocabulary.to_list() == base.vocabulary.to_list()
    assert after.record["initial"]["loss"] == "document"


def test_a_model_looks_into_the_feature_cache_before_it_encodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAUDIT_CACHE", str(tmp_path / "cache"))
    settings = replace(SMALL, encoder=str(tiny_bert(tmp_path / "bert")))
    model = new_run(tmp_path / "run", settings).model("m", learners(30), learners(10, 30))
    first = model.label(learners(5))
    monkeypatch.setattr(Transformer, "batches", never)
    for a, b in zip(first, model.label(learners(5)), strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)


def test_a_run_does_not_go_on_with_other_data(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.tsv").write_text("one")
    run = Run(tmp_path / "out", data, SMALL)
    run.check_data(["a.tsv", "b.tsv"])
    (data / "b.tsv").write_text("came later")  # as when another corpus is put beside the first
    run.check_data(["b.tsv"])
    Run(tmp_path / "out", data, SMALL).check_data(["a.tsv", "b.tsv"])
    (data / "a.tsv").write_text("two")
    run.check_data(["b.tsv"])  # another experiment, whose files are the same
    with pytest.raises(SettingError, match=r"holds results of another a\.tsv"):
        run.check_data(["a.tsv"])
