"""Model folders: those of 0.1, and what is replaced, kept or refused when one is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.data.sample import sample_splits
from exaudit.errors import EncoderError, ModelError, ModelWarning
from exaudit.model.boundaries import with_boundary
from exaudit.model.folder import SCHEMA, load_model, save_model, update_model
from exaudit.model.model import Model
from tiny import cued, tiny_labeler

WRITTEN = Path(__file__).with_name("written_by_0_1")
EXPECTED = json.loads((WRITTEN / "expected.json").read_text())


@pytest.mark.parametrize("name", ["frozen", "tuned"])
def test_folders_of_0_1_say_what_they_said(name: str) -> None:
    model = load_model(WRITTEN / name, device="cpu")
    assert model.labels.kind == "binary"
    told = EXPECTED[name]
    documents = [Document.from_tokens(one["tokens"], id=str(n)) for n, one in enumerate(told)]
    for one, scores in zip(told, model.label(documents), strict=True):
        (view,) = scores.views
        assert view.output == pytest.approx(one["output"], abs=1e-5)
        np.testing.assert_allclose(view.scores, one["scores"], atol=1e-5)
        assert view.offset == one["offset"]


def test_a_folder_of_0_1_is_brought_up_to_date_when_its_boundary_moves(tmp_path: Path) -> None:
    shutil.copytree(WRITTEN / "frozen", tmp_path / "model")
    model = load_model(tmp_path / "model", device="cpu")
    documents = sample_splits("reviews", sizes={"train": 30})["train"]
    update_model(with_boundary(model, documents, beta=1.0), tmp_path / "model")
    description = json.loads((tmp_path / "model" / "model.json").read_text())
    assert description["schema"] == SCHEMA
    assert "offset" not in description
    again = load_model(tmp_path / "model", device="cpu")
    assert again.labels == model.labels
    assert again.word_boundaries == tuple(description["word_boundaries"])


def test_a_setting_that_no_longer_exists_is_ignored_with_a_note(tmp_path: Path) -> None:
    shutil.copytree(WRITTEN / "frozen", tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    description = json.loads(path.read_text())
    description["settings"] |= {"teachers": 3, "colour": "blue", "rehearse": False}
    path.write_text(json.dumps(description))
    with pytest.warns(ModelWarning, match="does not have, which are ignored: colour, teachers"):
        model = load_model(tmp_path / "model", device="cpu")
    assert model.settings.pretrain is False  # it has another name now


def test_loading_asks_the_hub_only_for_an_encoder_that_the_user_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A received folder may name any encoder."""
    asked = []

    def snapshot_download(name: str, *, local_files_only: bool, **_: Any) -> str:
        if not local_files_only:
            asked.append(name)
        raise OSError("not there")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    shutil.copytree(WRITTEN / "tuned", tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    description = json.loads(path.read_text())
    description["encoder"]["name"] = "someone/encoder"
    path.write_text(json.dumps(description))
    with pytest.raises(EncoderError, match="hf download someone/encoder"):
        load_model(tmp_path / "model", device="cpu")
    assert not asked
    with pytest.raises(EncoderError, match="could not be fetched"):
        load_model(tmp_path / "model", device="cpu", encoder="my/own")
    assert asked == ["my/own"]


# -- overwriting ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> Model:
    return tiny_labeler(epochs=1).fit(cued(30), dev=cued(15, seed=1)).model_


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_model_is_replaced_only_when_asked(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model"
    assert save_model(model, path) is None
    with pytest.raises(ModelError, match="holds a model already"):
        save_model(model, path)
    assert save_model(model, path, overwrite=True) is None
    assert names(tmp_path) == ["model"]
    load_model(path, device="cpu")


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_exaudit_did_not_write_is_never_removed(model: Model, tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    (tmp_path / "file").write_text("one more")
    for place, what in (("thesis", "a folder that is no model"), ("file", "a file")):
        with pytest.raises(ModelError, match=f"{what}, and exaudit replaces only what it wrote"):
            save_model(model, tmp_path / place, overwrite=overwrite)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"
    assert names(tmp_path) == ["file", "thesis"]


@pytest.mark.parametrize("precious", ["support", "notes.txt"])
def test_a_model_with_a_support_set_or_notes_is_put_aside(
    model: Model, tmp_path: Path, precious: str
) -> None:
    path = tmp_path / "model"
    for turn in (1, 2):
        save_model(model, path, overwrite=True) if turn == 1 else None
        (path / precious).mkdir() if precious == "support" else (path / precious).write_text("mine")
        aside = save_model(model, path, overwrite=True)
        assert aside == tmp_path / f"model.bak-{turn}"
        assert (aside / precious).exists()
        assert not (path / precious).exists()
        load_model(aside, device="cpu")
    (path / "support").mkdir()
    assert save_model(model, path, overwrite=True, backup=False) is None
    assert names(tmp_path) == ["model", "model.bak-1", "model.bak-2"]


def test_a_save_that_fails_leaves_the_old_model(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    save_model(model, path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("exaudit.model.folder.save_file", full)
    with pytest.raises(OSError, match="No space"):
        save_model(model, path, overwrite=True)
    assert names(tmp_path) == ["model"]
    load_model(path, device="cpu")


def test_boundaries_that_do_not_fit_the_classes_are_damage(model: Model, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps(description | {"word_boundaries": [0.0], "checksum": None}))
    with pytest.raises(ModelError, match="1 boundaries for 3 classes"):
        load_model(tmp_path / "model", device="cpu")
