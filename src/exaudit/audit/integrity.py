"""Everything in a model folder that decides an answer, compared with the checksums taken when it was written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from exaudit._files import read_json
from exaudit.audit.drift import DriftReference
from exaudit.audit.fitted import FittedAdmission, FittedKNN
from exaudit.audit.place import ModelPlace
from exaudit.errors import ExauditError, ModelError, SupportError
from exaudit.model.folder import load_model, read_description

__all__ = ["Finding", "verify_folder"]


@dataclass(frozen=True)
class Finding:
    """One part of a model folder, and whether it is what was written."""

    part: str
    whole: bool
    told: str  # what was compared; of a damaged part, what is wrong and what to do


def verify_folder(
    model: str | os.PathLike[str],
    *,
    support: str | os.PathLike[str] | None = None,
    encoder: str | None = None,
) -> list[Finding]:
    """Read all of a model folder. A damaged part does not keep the others from being looked at.

    support : where the support set is; in the model folder by default.
    encoder : where the model's Transformer is now, if it has moved.
    """
    from exaudit.support.store import LanceSupportSet

    folder = Path(model)
    location = os.fspath(folder / "support" if support is None else support)
    has_support = LanceSupportSet.exists(location)
    if support is not None and not has_support:  # nothing is damaged: the place is wrong
        raise SupportError(f"{location}: there is no support set here; check `support`")
    checks: dict[str, Callable[[], str | None]] = {
        "model.json": lambda: _description(folder),
        "weights and encoder": lambda: _weights(folder, encoder),
        "support set": lambda: _support(folder, location) if has_support else None,
        "knn.json": lambda: _fitted(folder),
        "admission.json": lambda: _limits(folder),
        "drift.json": lambda: _reference(folder),
    }
    findings = []
    for part, check in checks.items():
        try:
            told = check()
        except ExauditError as error:
            findings.append(Finding(part, False, str(error)))
        else:
            findings += [] if told is None else [Finding(part, True, told)]
    return findings


def _description(folder: Path) -> str:
    files = read_description(folder).get("files", {})
    return f"{_seal(folder / 'model.json')}, and the checksums of {' and '.join(files)}"


def _weights(folder: Path, encoder: str | None) -> str:
    model = load_model(folder, device="cpu", encoder=encoder)
    if model.encoder is None:
        return "the weights load; there is no encoder"
    return f"the weights load, and the encoder has the fingerprint {model.encoder.fingerprint[:12]}"


def _support(folder: Path, location: str) -> str:
    from exaudit.support.store import LanceSupportSet

    try:
        place = ModelPlace.of(folder, location)
    except ModelError:  # told already; the set can be looked at by itself
        found = LanceSupportSet.open(location)
    else:
        found = place.open_support()  # type: ignore[assignment]
    found.verify()
    return (
        f"the texts, vectors and scores of {len(found.ids)} documents with {len(found)} tokens "
        f"(version {found.number}), their labels, and the log of {len(found.log())} edits"
    )


def _fitted(folder: Path) -> str | None:
    fitted = FittedKNN.load(folder, _classes(folder))
    return None if fitted is None else _seal(folder / "knn.json")


def _limits(folder: Path) -> str | None:
    classes = _classes(folder)
    limits, knn = FittedAdmission.load(folder, classes), FittedKNN.load(folder, classes)
    if limits is None:
        return None
    fits = knn is not None and limits.fits(knn.knns)
    stale = "" if fits else "; the limits are of another K-NN: run `exaudit admission fit`"
    return _seal(folder / "admission.json") + stale


def _reference(folder: Path) -> str | None:
    return None if DriftReference.load(folder) is None else _seal(folder / "drift.json")


def _seal(path: Path) -> str:
    return "its checksum" if "checksum" in read_json(path) else "it can be read (0.1 gave it no checksum)"


def _classes(folder: Path) -> int:
    return len(ModelPlace.of(folder).labels.views)
