"""The state of a training run, in memory and on disk: one safetensors file, replaced as a whole after every epoch."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from exaudit._checksum import array_checksum
from exaudit._files import replace_file
from exaudit.errors import ModelError, ModelWarning
from exaudit.head.adadelta import Adadelta
from exaudit.head.network import Head

__all__ = ["History", "TrainingState", "copy_weights", "tensor_checksum"]


@dataclass
class History:
    """What happened in each epoch, and which one was kept."""

    epochs: list[dict[str, Any]] = field(default_factory=list)
    best: int = 0  # the epoch kept, counted from 1

    @property
    def kept(self) -> dict[str, Any]:
        return self.epochs[self.best - 1]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class TrainingState:
    """Everything a resumed run needs: weights, their average, the best so far, the optimiser, the history."""

    def __init__(self, head: Head, optimizer: Adadelta) -> None:
        self.head, self.optimizer, self.history = head, optimizer, History()
        self.average = self.best = copy_weights(head)

    def averaged(self, memory: float) -> dict[str, Tensor]:
        """Move the average towards the present weights, and return it."""
        now = copy_weights(self.head)
        self.average = {name: self.average[name].lerp(now[name], 1 - memory) for name in now}
        return self.average

    def save(self, path: Path, identity: str) -> None:
        parts = {
            "head": copy_weights(self.head),
            "average": self.average,
            "best": self.best,
            "optimizer": self.optimizer.state(),
        }
        tensors = {f"{part}.{k}": v.cpu().contiguous() for part, of in parts.items() for k, v in of.items()}
        tensors = {
            k: v.clone() if k.startswith("best.") else v for k, v in tensors.items()
        }  # best may be the average
        history = json.dumps(self.history.to_json())
        checksum = tensor_checksum(tensors, identity, history)
        with replace_file(path) as temporary:
            save_file(tensors, temporary, {"identity": identity, "history": history, "checksum": checksum})

    def restore(self, path: Path, identity: str) -> None:
        """Go on from a checkpoint. From a damaged one nothing can be taken: training starts anew, to the same end."""
        try:
            with safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
            said = (metadata.get(name, "") for name in ("identity", "history"))
            if "checksum" in metadata and metadata["checksum"] != tensor_checksum(tensors, *said):
                raise ValueError("its checksum differs")
        except (SafetensorError, OSError, ValueError) as error:
            warnings.warn(
                f"{path}: the checkpoint is damaged ({error}), so this part of the training starts anew",
                ModelWarning,
                stacklevel=3,
            )
            return
        if metadata.get("identity") != identity:
            raise ModelError(
                f"{path}: the checkpoint is of a run with other settings or other data; "
                "use the same command as before, or train without `resume`"
            )
        device = self.head.weight.device
        parts: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = tensor.to(device)
        self.head.load_state_dict(parts["head"])
        self.optimizer.load_state(parts["optimizer"])
        self.average, self.best = parts["average"], parts["best"]
        history = json.loads(metadata["history"])
        self.history.epochs, self.history.best = history["epochs"], history["best"]


def tensor_checksum(tensors: Mapping[str, Tensor], *said: str) -> str:
    """A checksum of weights, and of the texts that are kept with them."""
    return array_checksum({name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}, *said)


def copy_weights(head: Head) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in head.state_dict().items()}
