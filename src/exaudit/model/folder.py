"""The model folder: the one module that knows its layout.

    model.json          schema version, labels, shapes, encoder fingerprint, training record, checksums
    head.safetensors    the weights of the head
    vocabulary.json     the words that have an embedding (where there are any)
    encoder/            the Transformer, where it was tuned (otherwise it is found by name and fingerprint)
    README.md           the model card, for people
    support/            the support set, once there is one (see exaudit.support)

A folder is written beside its place and renamed, so there is a whole model or none.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from exaudit import __version__
from exaudit._device import pick_device
from exaudit._files import read_json, sha256_file, write_json
from exaudit.data.labels import LabelNames
from exaudit.encode.locate import fingerprint
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary
from exaudit.errors import ExauditError, ModelError
from exaudit.head.network import Head, HeadConfig
from exaudit.model.card import card

if TYPE_CHECKING:
    from exaudit.model.labeler import Labeler

__all__ = ["SCHEMA", "load", "read_description", "save", "update"]

SCHEMA = 1


def save(labeler: Labeler, path: Path) -> None:
    """Write the whole folder; an existing one must be empty."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ModelError(f"{path} exists already; choose another place, or delete it first")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        temporary.chmod(0o755)
        _write(labeler, temporary)
        if path.exists():
            path.rmdir()
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def update(labeler: Labeler, path: Path) -> None:
    """Rewrite what may change without training: the decision boundary and the record."""
    description = read_description(path)
    description |= {
        "offset": labeler.offset_,
        "document_offset": labeler.document_offset_,
        "record": labeler.record_,
    }
    write_json(path / "model.json", description)
    (path / "README.md").write_text(card(description), encoding="utf-8")


def _write(labeler: Labeler, path: Path) -> None:
    tensors = {
        name: tensor.detach().cpu().contiguous() for name, tensor in labeler.head_.state_dict().items()
    }
    save_file(tensors, path / "head.safetensors")
    files = ["head.safetensors"]
    if labeler.vocabulary_ is not None:
        write_json(path / "vocabulary.json", labeler.vocabulary_.to_list())
        files.append("vocabulary.json")
    encoder = labeler.encoder_
    place = None
    if encoder is not None:
        own = labeler.record_["own_encoder"]
        if own:
            encoder.save(path / "encoder")
        place = {
            "name": "encoder" if own else encoder.name,
            "fingerprint": fingerprint(path / "encoder") if own else encoder.fingerprint,
            "layers": list(encoder.layers),
            "max_length": encoder.max_length,
            "dimension": encoder.dimension,
        }
    description = {
        "schema": SCHEMA,
        "exaudit": __version__,
        "labels": labeler.names_.to_json(),
        "head": labeler.head_.config.to_json(),
        "by_tokens": labeler.by_tokens_,
        "offset": labeler.offset_,
        "document_offset": labeler.document_offset_,
        "encoder": place,
        "settings": _plain(labeler.get_params()),
        "record": labeler.record_,
        "files": {name: sha256_file(path / name) for name in files},
    }
    write_json(path / "model.json", description)
    (path / "README.md").write_text(card(description), encoding="utf-8")


def read_description(path: Path) -> dict[str, Any]:
    """model.json, checked: it exists, is JSON, is not newer than this exaudit, and its files are whole."""
    if not path.is_dir():
        found = "is not a folder" if path.exists() else "does not exist"
        raise ModelError(f"{path} {found}; give a model folder, as `exaudit train --out` writes it")
    try:
        description = read_json(path / "model.json")
        schema = description["schema"]
    except FileNotFoundError:
        raise ModelError(
            f"{path} has no model.json; it is not a model folder, or training did not finish"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path / 'model.json'} is damaged ({error}); restore the folder or train again"
        ) from error
    if not isinstance(schema, int) or schema > SCHEMA:
        raise ModelError(
            f"{path} has schema {schema}, written by exaudit {description.get('exaudit')}; "
            f"this exaudit ({__version__}) reads up to {SCHEMA}: install a newer one"
        )
    for name, checksum in description.get("files", {}).items():
        if not (path / name).is_file():
            raise ModelError(f"{path / name} is missing; restore the folder or train again")
        if sha256_file(path / name) != checksum:
            raise ModelError(
                f"{path / name} is damaged: its checksum differs; restore the folder or train again"
            )
    return dict(description)


def load(cls: type[Labeler], path: Path, *, device: str, encoder: str | None) -> Labeler:
    description = read_description(path)
    try:
        labeler = cls(**description["settings"] | {"device": device})
        labeler.names_ = LabelNames.from_json(description["labels"])
        labeler.head_ = Head(HeadConfig(**description["head"]))
        labeler.head_.load_state_dict(load_file(path / "head.safetensors"))
        words = description["files"].get("vocabulary.json")
        labeler.vocabulary_ = (
            None if words is None else Vocabulary.from_list(read_json(path / "vocabulary.json"))
        )
        labeler.by_tokens_, labeler.offset_ = description["by_tokens"], description["offset"]
        labeler.document_offset_, labeler.record_ = description["document_offset"], description["record"]
        place = description["encoder"]
    except (KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        if isinstance(error, ExauditError):
            raise
        raise ModelError(f"{path} is damaged ({error}); restore the folder or train again") from error
    labeler.head_.to(pick_device(device)).eval()
    labeler.encoder_ = (
        None if place is None else _load_encoder(path, place, device, labeler.precision, encoder)
    )
    labeler.classes_ = np.array([labeler.names_.negative, labeler.names_.positive])
    return labeler


def _load_encoder(
    path: Path, place: dict[str, Any], device: str, precision: str, elsewhere: str | None
) -> Transformer:
    name = elsewhere or (str(path / "encoder") if place["name"] == "encoder" else place["name"])
    cuda = pick_device(device).type == "cuda"
    encoder = Transformer.load(
        name,
        layers=place["layers"],
        device=device,
        dtype=precision if cuda else "float32",
        max_length=place["max_length"],
    )
    if encoder.fingerprint != place["fingerprint"]:
        raise ModelError(
            f"{path} was trained on another encoder: {name} has fingerprint {encoder.fingerprint[:12]}, "
            f"the model needs {place['fingerprint'][:12]}; give the right one with --encoder"
        )
    return encoder


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON keeps them, without what belongs to one machine."""
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in plain.items()}  # of a grid search
    return plain | {"device": "auto", "cache": None, "word_vectors": None}
