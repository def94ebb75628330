"""How quick a core and a GPU are, and how large what they make is: measured once, kept as JSON.

The rates that come with exaudit are in `rates.json`, each with the command that measured it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any

from exaudit._files import read_json, write_json
from exaudit.errors import SettingError

__all__ = ["Rates", "Sizes", "Unit", "load_rates", "save_rates", "usual_rates"]

_USUAL = Path(__file__).with_name("rates.json")
_LAYOUT = 1
_LEAST, _MOST = 1e-12, 1e18  # of any rate or size


@dataclass(frozen=True, slots=True)
class Unit:
    """What one core, or one GPU, does in a second."""

    name: str
    measured_by: str  # the command
    search_pairs: float  # exemplars x queries
    search_seconds: float  # what a query costs beside that, however few the exemplars
    label_words: Mapping[str, float] = field(default_factory=dict)  # by the precision of the encoder
    precision: str = "float32"  # what auto is there
    memory: float | None = None  # bytes, of a GPU


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes, and the width that they were measured with."""

    width: float  # numbers of a vector
    store: float  # of an exemplar on disk, beside its vector: its part of the texts, scores and labels
    sketch: float  # of an exemplar: what the search multiplies in place of its vector
    label: float  # of a word in what `exaudit label` writes
    features: float  # of a word in the memory of `exaudit features`
    process: float  # of a process that labels


@dataclass(frozen=True, slots=True)
class Rates:
    """All that a plan is made from."""

    core: Unit
    sizes: Sizes
    gpu: Unit | None = None

    def to_json(self) -> dict[str, Any]:
        return {"layout": _LAYOUT, **asdict(self)}

    @classmethod
    def from_json(cls, value: Any) -> Rates:
        """What `to_json` gave, checked; a ValueError says what is wrong."""
        found = dict(_table(value, "the file"))
        if found.pop("layout", None) != _LAYOUT:
            raise ValueError(f"its layout is not {_LAYOUT}")
        if set(found) != {"core", "gpu", "sizes"}:
            raise ValueError("it needs core, gpu and sizes, and nothing else")
        gpu = None if found["gpu"] is None else _unit(found["gpu"], "gpu")
        return cls(_unit(found["core"], "core"), _sizes(found["sizes"]), gpu)


def usual_rates() -> Rates:
    """Those that come with exaudit."""
    return Rates.from_json(read_json(_USUAL))


def load_rates(path: str | PathLike[str]) -> Rates:
    """Rates that `save_rates` wrote."""
    try:
        return Rates.from_json(read_json(path))
    except FileNotFoundError:
        raise SettingError(
            f"`rates` is {path}, but there is no such file; `exaudit plan --measure --rates {path}` writes it"
        ) from None
    except ValueError as error:
        raise SettingError(f"{path}: these are no rates: {error}; measure them again") from None


def save_rates(rates: Rates, path: str | PathLike[str]) -> None:
    write_json(path, rates.to_json())


def _unit(value: Any, name: str) -> Unit:
    found = _table(value, name)
    if set(found) != {each.name for each in fields(Unit)}:
        raise ValueError(f"{name} needs exactly {', '.join(each.name for each in fields(Unit))}")
    texts = {key: found[key] for key in ("name", "measured_by", "precision")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"{', '.join(texts)} of {name} are texts")
    words, memory = _table(found["label_words"], f"{name}.label_words"), found["memory"]
    return Unit(
        **texts,
        search_pairs=_number(found["search_pairs"], f"{name}.search_pairs"),
        search_seconds=_number(found["search_seconds"], f"{name}.search_seconds", zero=True),
        label_words={key: _number(words[key], f"{name}.label_words.{key}") for key in words},
        memory=None if memory is None else _number(memory, f"{name}.memory"),
    )


def _sizes(value: Any) -> Sizes:
    found, wanted = _table(value, "sizes"), [each.name for each in fields(Sizes)]
    if set(found) != set(wanted):
        raise ValueError(f"sizes needs exactly {', '.join(wanted)}")
    return Sizes(**{key: _number(found[key], f"sizes.{key}") for key in wanted})


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no JSON object")
    return value


def _number(value: Any, name: str, *, zero: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is {value!r:.40}, not a number")
    if not (zero and value == 0) and not _LEAST <= value <= _MOST:  # a NaN is in no range
        raise ValueError(f"{name} is {value!r:.40}; it must be from {_LEAST:g} to {_MOST:g}")
    return float(value)
