"""A model folder may come from anyone: it reads nothing else, asks nobody, and takes as much memory as its weights."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exaudit._checksum import write_sealed
from exaudit.errors import EncoderError, ExauditError, ModelError
from exaudit.model.folder import load_model
from tiny import reviews, tiny_bert, tiny_labeler

HUGE = 10**12


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "model"
    tiny_labeler(epochs=1).fit(reviews()).save(path)
    return path


@pytest.fixture(scope="module")
def with_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model beside its encoder, which it names by an absolute path."""
    folder = tmp_path_factory.mktemp("encoded")
    encoder = tiny_bert(folder / "bert")
    tiny_labeler(encoder=str(encoder), epochs=1).fit(reviews()).save(folder / "model")
    return folder


def change(path: Path, **values: Any) -> None:
    """As somebody would who also computes the checksum anew; what is not the description has none."""
    if path.name == "model.json":
        write_sealed(
            path,
            {key: value for key, value in json.loads(path.read_text()).items() if key != "checksum"} | values,
        )
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/../../b", "..\\b", ".."])
def test_files_outside_of_the_folder_are_refused(plain: Path, tmp_path: Path, name: str) -> None:
    model = Path(shutil.copytree(plain, tmp_path / "model"))
    files = json.loads((model / "model.json").read_text())["files"]
    change(model / "model.json", files=files | {name: "0" * 64})
    with pytest.raises(ModelError, match=r"outside of its folder|damaged"):
        load_model(model)


@pytest.mark.parametrize(
    "change_of", [{"filters": HUGE}, {"vocabulary": HUGE}, {"word_dimension": HUGE}, {"filters": 10**30},
                  {"classes": HUGE}, {"widths": [HUGE]}, {"filters": "many"}, {"features": 7}],
)  # fmt: skip
def test_a_head_of_absurd_size_is_refused(plain: Path, tmp_path: Path, change_of: dict[str, Any]) -> None:
    model = Path(shutil.copytree(plain, tmp_path / "model"))
    head = json.loads((model / "model.json").read_text())["head"]
    change(model / "model.json", head=head | change_of)
    with pytest.raises(ModelError, match="damaged"):
        load_model(model)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"schema": ' + "9" * 100_000 + "}", "{", "[1]", "null"])
def test_a_description_that_is_a_bomb_is_refused(plain: Path, tmp_path: Path, text: str) -> None:
    model = Path(shutil.copytree(plain, tmp_path / "model"))
    (model / "model.json").write_text(text)
    with pytest.raises(ModelError, match="damaged"):
        load_model(model)


@pytest.mark.parametrize(
    "sizes",
    [
        {"num_hidden_layers": HUGE},
        {"num_hidden_layers": 100_000},
        {"vocab_size": HUGE},
        {"hidden_size": HUGE},
        {"intermediate_size": HUGE},
        {"max_position_embeddings": HUGE},
        {"hidden_size": 1e300},
    ],
)
def test_an_encoder_of_absurd_size_is_refused(
    with_encoder: Path, tmp_path: Path, sizes: dict[str, Any]
) -> None:
    from exaudit.encode.transformer import Transformer

    encoder = Path(shutil.copytree(with_encoder / "bert", tmp_path / "bert"))
    change(encoder / "config.json", **sizes)
    with pytest.raises(EncoderError, match=f"config.json has {next(iter(sizes))}"):
        Transformer.load(encoder, device="cpu")


def test_an_encoder_that_is_another_is_not_used(with_encoder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(with_encoder / "model", tmp_path / "model"))
    other = tiny_bert(tmp_path / "other", seed=1)
    before = {path: path.read_bytes() for path in other.iterdir()}
    place = json.loads((model / "model.json").read_text())["encoder"]
    change(model / "model.json", encoder=place | {"name": str(other)})
    with pytest.raises(ModelError, match="another encoder"):
        load_model(model)
    assert {path: path.read_bytes() for path in other.iterdir()} == before


OFFLINE = """
import os, socket, sys
os.environ.pop("HF_HUB_OFFLINE", None)
def refuse(*arguments, **options):
    print("ASKED", arguments, file=sys.stderr)
    raise OSError("no network")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
from exaudit.cli import main
sys.argv = ["exaudit", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, "someone/secret-name", "minilm-of-another"])
def test_a_model_folder_never_causes_a_request(with_encoder: Path, tmp_path: Path, name: str | None) -> None:
    model = Path(shutil.copytree(with_encoder / "model", tmp_path / "model"))
    if name is not None:
        place = json.loads((model / "model.json").read_text())["encoder"]
        change(model / "model.json", encoder=place | {"name": name})
    (tmp_path / "in.jsonl").write_text('{"text": "the soup was good"}\n')
    command = [sys.executable, "-c", OFFLINE, "label", str(model), str(tmp_path / "in.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "ASKED" not in done.stderr
    if name is None:
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 1
    else:
        assert done.returncode == 1
        assert "not in the local Hugging Face cache" in done.stderr


@pytest.mark.filterwarnings("ignore::exaudit.errors.ModelWarning")
def test_what_is_not_a_description_gives_one_error(plain: Path, tmp_path: Path) -> None:
    """Whatever is put in the place of a value, the answer is an error of ours, or a model."""
    description = json.loads((plain / "model.json").read_text())
    model = Path(shutil.copytree(plain, tmp_path / "model"))
    for key in description:
        for value in (None, [], {}, "x", -1, 1e300, [[1]], {"a": {}}):
            (model / "model.json").write_text(json.dumps(description | {key: value}))
            try:
                load_model(model)
            except ExauditError:
                continue
