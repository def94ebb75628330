"""Whether an encoder's configuration tells of the weights that lie beside it, before anything is built by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from exaudit._files import read_json
from exaudit.errors import EncoderError

__all__ = ["check_sizes"]

LAYERS = ("num_hidden_layers", "n_layers", "num_layers", "n_layer")
WIDTHS = (
    "vocab_size", "hidden_size", "intermediate_size", "embedding_size", "type_vocab_size", "dim", "hidden_dim",
    "d_model",
)  # fmt: skip
POSITIONS = 1 << 24  # some encoders have no weights for these


def check_sizes(name: str, folder: Path) -> None:
    """Refuse a configuration with more layers than tensors, or wider than any of them: it asks for memory alone."""
    try:
        config = read_json(folder / "config.json")
        shapes = [shape for file in sorted(folder.glob("model*.safetensors")) for shape in _shapes(file)]
    except (ValueError, OSError, SafetensorError) as error:
        raise EncoderError(f"the encoder {name} is damaged: {error}") from error
    if not isinstance(config, dict):
        raise EncoderError(f"the encoder {name} is damaged: config.json is no JSON object")
    widest = max((side for shape in shapes for side in shape), default=0)
    limits = dict.fromkeys(LAYERS, len(shapes)) | dict.fromkeys(WIDTHS, widest)
    for key, limit in (limits | {"max_position_embeddings": POSITIONS}).items():
        value: Any = config.get(key, 0)
        if isinstance(value, int | float) and not value <= limit:
            raise EncoderError(
                f"the encoder {name} is damaged: its config.json has {key} {value:.6g}, which does not fit its weights "
                f"({len(shapes)} tensors, the widest of {widest})"
            )


def _shapes(file: Path) -> list[tuple[int, ...]]:
    """From the header alone: no weight is read."""
    with safe_open(file, "pt") as tensors:
        return [tuple(tensors.get_slice(key).get_shape()) for key in tensors.keys()]  # noqa: SIM118 - it is no dict
