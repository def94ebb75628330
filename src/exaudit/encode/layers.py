"""Which hidden layers of an encoder are read: 1 is the output of the first block, 0 the embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exaudit._files import read_json
from exaudit.encode.locate import MINILM, locate
from exaudit.errors import SettingError

__all__ = ["DEFAULT_LAYERS", "choose_layers", "depth", "last_layers", "usual_layers"]

# MiniLM: by token F0.5 on FCE (docs/results.md); gte-small: a first guess. The last layers of sentence-embedding
# models have lost token-level detail.
DEFAULT_LAYERS: dict[str, tuple[int, ...]] = {MINILM: (2, 3, 4, 5), "gte-small": (3, 4, 5, 6)}


def choose_layers(name: str, layers: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """Those asked for, of an encoder that has so many, or the usual ones."""
    if layers is None:
        return usual_layers(name, count)
    chosen = tuple(int(layer) for layer in layers)
    if not chosen or len(set(chosen)) < len(chosen) or min(chosen) < 0 or max(chosen) > count:
        raise SettingError(
            f"layers are {list(chosen)}; give different numbers from 0 (embeddings) to {count}, the last of {name}"
        )
    return chosen


def usual_layers(name: str, count: int) -> tuple[int, ...]:
    """Those of an encoder, of so many layers, that is not tuned."""
    known = DEFAULT_LAYERS.get(Path(name).name, ())
    return known if known and max(known) <= count else tuple(last_layers(count))


def last_layers(count: int) -> range:
    """The last four, as in the paper: of an encoder that is not known, and once one is tuned on tokens."""
    return range(max(1, count - 3), count + 1)


def depth(name: str) -> int:
    """How many layers an encoder has, without loading its weights."""
    config = read_json(locate(name) / "config.json")
    return int(config["num_hidden_layers"])
