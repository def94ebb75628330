"""The model folder: the one module that knows its layout.

    model.json          format (`schema`), labels, shapes, encoder fingerprint, training record, checksums
    head.safetensors    the weights of the head
    vocabulary.json     the words that have an embedding (where there are any)
    encoder/            the Transformer, where it was tuned (otherwise it is found by name and fingerprint)
    README.md           the model card, for people
    support/            the support set, once there is one (see exaudit.support), with knn.json, admission.json and
                        promise.json
    drift.json          figures of documents like those to come, once they were kept (see exaudit.audit.drift)

A folder is written beside its place, synced, and exchanged with what is there, so there is the old model or the new
one, whole, whatever happens to the machine. What is replaced was written by exaudit: anything else is refused, and a
model with a support set, or with files of somebody else, is put aside.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from exaudit._checksum import read_sealed, write_sealed
from exaudit._device import check_precision, pick_device
from exaudit._files import (
    folder_beside,
    make_folder,
    put_folder,
    read_json,
    replace_file,
    sha256_file,
    write_json,
)
from exaudit._version import __version__
from exaudit.data.labels import LabelSet
from exaudit.encode.locate import fingerprint
from exaudit.encode.transformer import Transformer
from exaudit.encode.words import Vocabulary
from exaudit.errors import EncoderMismatchError, ExauditError, ModelError, ModelWarning, SettingError
from exaudit.head.confidence import Confidence
from exaudit.head.network import Head, HeadConfig
from exaudit.model.card import card
from exaudit.model.model import Model
from exaudit.model.settings import Settings

__all__ = [
    "SCHEMA",
    "check_place",
    "load_model",
    "note_fitted",
    "read_description",
    "save_model",
    "update_model",
]

SCHEMA = 2  # 1: two classes only
OURS = {
    "model.json",
    "head.safetensors",
    "vocabulary.json",
    "encoder",
    "README.md",
    "knn.json",
    "admission.json",
    "drift.json",
    "promise.json",
}


def check_place(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a place where no model can be saved, before work is put into one."""
    try:
        path.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ModelError(f"{path}: no model can be saved here: {error.strerror or error}") from None
    if path.is_dir() and not any(path.iterdir()):
        return
    if not (path / "model.json").is_file():
        what = "a folder that is no model" if path.is_dir() else "a file"
        raise ModelError(f"{path} is {what}, and exaudit replaces only what it wrote; choose another place")
    if not overwrite:
        raise ModelError(f"{path} holds a model already; choose another place, or give `overwrite`")


def save_model(model: Model, path: Path, *, overwrite: bool = False, backup: bool = True) -> Path | None:
    """Write the whole folder, beside its place, and put it there. Gives the place where an old model was put aside.

    overwrite : a model that is there may be replaced. With `backup` it is put aside as NAME.bak-1 (2, ...) if it has
        a support set, which may hold edits, or files that exaudit did not write.
    """
    path = path.resolve()  # a link stays, and what it points to is replaced
    check_place(path, overwrite=overwrite)
    make_folder(path.parent)
    with folder_beside(path) as draft:
        _write(model, draft)
        there = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
        aside = _free(path) if backup and there - OURS else None
        put_folder(
            draft, path, replace=True, aside=aside
        )  # only then is the old model deleted, or known as `aside`
    return aside


def _free(path: Path) -> Path:
    return next(p for n in count(1) if not (p := path.with_name(f"{path.name}.bak-{n}")).exists())


def update_model(model: Model, path: Path) -> None:
    """Rewrite what may change without training: the decision boundaries and the record."""
    description = read_description(path) | _changing(model)
    for old in ("offset", "document_offset"):
        description.pop(old, None)
    description |= {"schema": SCHEMA, "labels": model.labels.to_json()}
    write_sealed(path / "model.json", description)
    _write_card(path, description)


def note_fitted(path: Path, name: str) -> None:
    """Put on record that a file was fitted for this model, so that it is missed when it is gone."""
    description = read_description(path)
    fitted = description.get("fitted", [])
    if name not in fitted:
        write_sealed(path / "model.json", description | {"fitted": [*fitted, name]})


def _changing(model: Model) -> dict[str, Any]:
    return {
        "word_boundaries": list(model.word_boundaries),
        "document_boundaries": list(model.document_boundaries),
        "negative_boundary": model.negative_boundary,
        "confidence": None if model.confidence is None else model.confidence.to_json(),
        "smoothing": list(model.smoothing),
        "record": model.record,
    }


def _write(model: Model, path: Path) -> None:
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.head.state_dict().items()}
    save_file(tensors, path / "head.safetensors")
    files = ["head.safetensors"]
    if model.vocabulary is not None:
        write_json(path / "vocabulary.json", model.vocabulary.to_list())
        files.append("vocabulary.json")
    encoder = model.encoder
    place = None
    if encoder is not None:
        own = model.record["own_encoder"]
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
        "labels": model.labels.to_json(),
        "head": model.head.config.to_json(),
        "by_tokens": model.by_tokens,
        **_changing(model),
        "encoder": place,
        "settings": model.settings.to_json(),
        "files": {name: sha256_file(path / name) for name in files},
    }
    write_sealed(path / "model.json", description)
    _write_card(path, description)


def _write_card(path: Path, description: dict[str, Any]) -> None:
    with replace_file(path / "README.md") as temporary:
        temporary.write_text(card(description), encoding="utf-8")


def read_description(path: Path) -> dict[str, Any]:
    """model.json, checked: it exists, is JSON, is not newer than this exaudit, and its files are whole."""
    if not path.is_dir():
        found = "is not a folder" if path.exists() else "does not exist"
        raise ModelError(f"{path} {found}; give a model folder, as `exaudit train --out` writes it")
    try:
        description = read_sealed(path / "model.json")
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
    for name, checksum in _files(path, description).items():
        if not (path / name).is_file():
            raise ModelError(f"{path / name} is missing; restore the folder or train again")
        if sha256_file(path / name) != checksum:
            raise ModelError(
                f"{path / name} is damaged: its checksum differs; restore the folder or train again"
            )
    return description


def _files(path: Path, description: dict[str, Any]) -> dict[str, str]:
    """The files that a model consists of, none of them outside of its folder: it may come from anyone."""
    files = description.get("files", {})
    if not isinstance(files, dict):
        raise ModelError(
            f"{path / 'model.json'} is damaged (`files` is no object); restore the folder or train again"
        )
    for name in files:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
            raise ModelError(
                f"{path / 'model.json'} names a file outside of its folder, {name!r}: do not use this model"
            )
    return files


def load_model(
    path: Path, *, device: str = "auto", encoder: str | None = None, precision: str | None = None
) -> Model:
    """Read a model folder.

    encoder : where its Transformer is now, if it has moved.
    precision : auto, float32 or bfloat16. By default that of its settings; but one that was trained in bfloat16 is read
        in float32 on a machine that does not have it.
    """
    where = pick_device(device)
    check_precision(precision or "auto")
    description = read_description(path)
    try:
        settings, unknown = Settings.from_json(description["settings"] | {"device": device})
        settings = settings if precision is None else replace(settings, precision=precision)
        head = _load_head(path, HeadConfig(**description["head"]))
        words = description["files"].get("vocabulary.json")
        vocabulary = None if words is None else Vocabulary.from_list(read_json(path / "vocabulary.json"))
        if "word_boundaries" in description:
            told = description["word_boundaries"], description["document_boundaries"]
        else:  # until 0.1, which knew two classes
            told = [description["offset"]], [description["document_offset"]]
        boundaries = [tuple(float(boundary) for boundary in each) for each in told]
        labels = LabelSet.from_json(description["labels"])
        for each in boundaries:
            if len(each) != len(labels.views):
                raise ModelError(f"{path} is damaged: {len(each)} boundaries for {len(labels.views)} classes")
        negative = description.get("negative_boundary")  # until 0.1 there was none
        negative = None if negative is None else float(negative)
        told_confidence = description.get("confidence")  # likewise
        confidence = None if told_confidence is None else Confidence.from_json(told_confidence)
        smoothing = tuple(int(width) for width in description.get("smoothing", ()))  # likewise
        if smoothing and (len(smoothing) != len(labels.views) or min(smoothing) < 1):
            raise ValueError(f"`smoothing` is {list(smoothing)}")
        place, record, by_tokens = (description[key] for key in ("encoder", "record", "by_tokens"))
        kinds = {"name": str, "fingerprint": str, "layers": list, "max_length": int | None}
        if place is not None and not all(isinstance(place[key], kind) for key, kind in kinds.items()):
            raise ValueError("`encoder` is not what it should be")
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
        OverflowError,
        SafetensorError,
    ) as error:
        if isinstance(error, ExauditError) and not isinstance(error, SettingError):
            raise
        raise ModelError(f"{path} is damaged ({error}); restore the folder or train again") from error
    if unknown:
        warnings.warn(
            f"{path} was made with settings that this version does not have, which are ignored: {', '.join(unknown)}",
            ModelWarning,
            stacklevel=2,
        )
    return Model(
        settings=settings,
        labels=labels,
        head=head.to(where).eval(),
        encoder=None
        if place is None
        else _load_encoder(path, place, settings, encoder, asked=precision is not None),
        vocabulary=vocabulary,
        by_tokens=by_tokens,
        word_boundaries=boundaries[0],
        document_boundaries=boundaries[1],
        record=record,
        negative_boundary=negative,
        confidence=confidence,
        smoothing=smoothing,
    )


def _load_head(path: Path, config: HeadConfig) -> Head:
    """The head, once its weights are known to be of the shapes that model.json tells: these may ask for any memory."""
    tensors = load_file(path / "head.safetensors")
    with torch.device("meta"):
        told = {name: tensor.shape for name, tensor in Head(config).state_dict().items()}
    if told != {name: tensor.shape for name, tensor in tensors.items()}:
        raise ModelError(
            f"{path} is damaged: the shapes of head.safetensors are not those that model.json tells"
        )
    head = Head(config)
    head.load_state_dict(tensors)
    return head


def _load_encoder(
    path: Path, place: dict[str, Any], settings: Settings, elsewhere: str | None, *, asked: bool
) -> Transformer:
    """asked : whether the precision was asked for just now, on this machine."""
    name = elsewhere or (str(path / "encoder") if place["name"] == "encoder" else place["name"])
    precision = settings.encoder_precision
    if precision == "bfloat16" and not asked:
        precision = "auto"
    try:
        return Transformer.load(
            name,
            layers=place["layers"],
            device=settings.device,
            precision=precision,
            max_length=place["max_length"],
            download=bool(
                elsewhere
            ),  # a received folder may name any encoder; only the user's word fetches one
            expected=place["fingerprint"],
            plain=True,
        )
    except EncoderMismatchError as error:
        raise ModelError(
            f"{path} was trained on another encoder, or its encoder is damaged: {error}; restore the folder, or give "
            "the right one with `encoder`"
        ) from error
