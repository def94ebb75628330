"""Models that were trained in one precision, and are used in another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit import _device
from exaudit.errors import SettingError
from exaudit.model.folder import load_model, save_model
from exaudit.model.labeler import Labeler
from exaudit.model.settings import Settings
from tiny import reviews, tiny_bert, tiny_labeler

DOCUMENTS = reviews(10, seed=3)


def machine(monkeypatch: pytest.MonkeyPatch, *, has_bfloat16: bool) -> None:
    monkeypatch.setattr(_device, "has_bfloat16", lambda device: has_bfloat16)


def labeler(folder: Path, **options: Any) -> Labeler:
    return tiny_labeler(encoder=str(tiny_bert(folder)), **options).fit(reviews(40))


def test_a_bfloat16_model_on_a_machine_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine(monkeypatch, has_bfloat16=True)
    trained = labeler(tmp_path / "bert").model_
    assert trained.precision == trained.record["precision"] == "bfloat16"
    save_model(trained, tmp_path / "model")
    assert "; in bfloat16; fingerprint" in (tmp_path / "model" / "README.md").read_text()
    assert json.loads((tmp_path / "model" / "model.json").read_text())["settings"]["precision"] == "auto"
    told = trained.label(DOCUMENTS)
    again = load_model(tmp_path / "model", device="cpu")
    assert again.precision == "bfloat16"
    for one, other in zip(told, again.label(DOCUMENTS), strict=True):
        np.testing.assert_allclose(other.views[0].scores, one.views[0].scores, atol=1e-6)

    machine(monkeypatch, has_bfloat16=False)
    elsewhere = load_model(tmp_path / "model", device="cpu")
    assert (elsewhere.precision, elsewhere.record["precision"]) == ("float32", "bfloat16")
    scores = [np.concatenate([one.views[0].scores for one in m]) for m in (told, elsewhere.label(DOCUMENTS))]
    # In places a filter chooses another word, but that is rare.
    assert 0 < np.abs(scores[0] - scores[1]).mean() < 0.01 * np.abs(scores[0]).mean()


@pytest.mark.parametrize("has", [True, False])
def test_precision_of_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has: bool) -> None:
    """float32 stays; bfloat16 needs the hardware; what is asked for now is done."""
    best = "bfloat16" if has else "float32"
    for precision, expected in (("float32", "float32"), ("bfloat16", best), ("auto", best)):
        machine(monkeypatch, has_bfloat16=True)
        folder = tmp_path / precision
        labeler(tmp_path / f"bert-{precision}", precision=precision).save(folder)
        machine(monkeypatch, has_bfloat16=has)
        assert Labeler.load(folder, device="cpu").model_.precision == expected
        asked = [
            load_model(folder, device="cpu", precision=p).precision for p in ("float32", "bfloat16", "auto")
        ]
        assert asked == ["float32", "bfloat16", best]
    with pytest.raises(SettingError, match="'double'; use auto, float32 or bfloat16"):
        load_model(folder, device="cpu", precision="double")


def test_the_papers_recipe_stays_in_float32() -> None:
    assert Settings(recipe="paper").encoder_precision == "float32"
    assert Settings(recipe="paper", precision="bfloat16").encoder_precision == "bfloat16"
    assert Settings().encoder_precision == "auto"
    with pytest.raises(SettingError, match="`precision` is 'half'"):
        Settings(precision="half")


def test_going_on_in_another_precision(tmp_path: Path) -> None:
    first = labeler(tmp_path / "bert", precision="float32")
    options = first.get_params() | {"precision": "bfloat16", "loss": "min-max"}
    second = Labeler(**options).fit(reviews(40), init=first)
    assert (first.model_.precision, second.model_.precision) == ("float32", "bfloat16")


def test_without_an_encoder() -> None:
    model = tiny_labeler().fit(reviews(40)).model_
    assert (model.precision, model.record["precision"]) == ("float32", None)
    assert model.at("bfloat16") is model
