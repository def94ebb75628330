"""Tuning that is stopped goes on after its last whole epoch, as if nothing had happened: weights, optimiser, rates and
the dropout to come, in one safetensors file."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from exaudit._files import replace_file
from exaudit.errors import ModelWarning
from exaudit.head.checkpoint import tensor_checksum

__all__ = ["TuningCheckpoint", "TuningState"]

SECONDS = 60.0  # between two checkpoints, at least: an encoder and its optimiser are some hundred megabytes


@dataclass
class TuningCheckpoint:
    """Where the state is kept, and of what run it is."""

    path: Path
    identity: str
    resume: bool
    _since: float = field(default_factory=time.monotonic, init=False)

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._since >= SECONDS

    def write(self, tensors: dict[str, Tensor], epoch: int) -> None:
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        said = {"identity": self.identity, "epoch": str(epoch)}
        with replace_file(self.path) as temporary:
            save_file(tensors, temporary, {**said, "checksum": tensor_checksum(tensors, *said.values())})
        self._since = time.monotonic()

    def read(self) -> tuple[dict[str, Tensor], int] | None:
        """The tensors and the epochs done. None where there is nothing to go on from; a damaged file is told of."""
        if not self.resume or not self.path.exists():
            return None
        try:
            with safe_open(self.path, "pt") as file:
                said = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            if said.get("identity") != self.identity:
                return None
            if said.get("checksum") != tensor_checksum(tensors, self.identity, said["epoch"]):
                raise ValueError("its checksum differs")
            return tensors, int(said["epoch"])
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            warnings.warn(
                f"{self.path}: the checkpoint is damaged ({error}), so this part of the tuning starts anew",
                ModelWarning,
                stacklevel=3,
            )
            return None

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass
class TuningState:
    """What changes while an encoder and a head are tuned."""

    module: nn.Module
    head: nn.Module
    optimizer: torch.optim.AdamW
    schedule: torch.optim.lr_scheduler.LambdaLR
    averaged_from: int | None = None  # the first step whose weights count in their mean
    _mean: AveragedModel | None = field(default=None, init=False)

    def step(self) -> None:
        self.optimizer.step()
        self.schedule.step()
        if self.averaged_from is not None and self.schedule.last_epoch >= self.averaged_from:
            self._mean = self._mean or AveragedModel(self._weights)
            self._mean.update_parameters(self._weights)

    def settle(self) -> None:
        """In the end, the mean takes the place of the weights."""
        if self._mean is not None:
            with torch.no_grad():
                for last, mean in zip(
                    self._weights.parameters(), self._mean.module.parameters(), strict=True
                ):
                    last.copy_(mean)

    @property
    def _weights(self) -> nn.Module:
        return nn.ModuleList([self.module, self.head])

    def save(self, checkpoint: TuningCheckpoint, epoch: int) -> None:
        moments = {
            f"optimizer.{i}.{name}": value
            for i, own in self.optimizer.state_dict()["state"].items()
            for name, value in own.items()
        }
        weights = {
            f"{part}.{name}": value
            for part, own in self._parts.items()
            for name, value in own.state_dict().items()
        }
        steps = torch.tensor([self.schedule.last_epoch])
        checkpoint.write({**weights, **moments, "steps": steps, **_generators()}, epoch)

    @property
    def _parts(self) -> dict[str, nn.Module]:
        own = {"module": self.module, "head": self.head}
        return own if self._mean is None else {**own, "mean": self._mean}

    def restore(self, checkpoint: TuningCheckpoint) -> int:
        """Go on from a checkpoint, if there is one. How many epochs are done."""
        found = checkpoint.read()
        if found is None:
            return 0
        tensors, epoch = found
        parts: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = tensor
        if "mean" in parts:
            self._mean = AveragedModel(self._weights)
        for part, own in self._parts.items():
            own.load_state_dict(parts[part])
        told = self.optimizer.state_dict()
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in parts.get("optimizer", {}).items():
            place, _, name = key.partition(".")
            state.setdefault(int(place), {})[name] = tensor
        self.optimizer.load_state_dict({**told, "state": state})
        steps = int(tensors["steps"])
        self.schedule.last_epoch = steps
        rates = zip(self.schedule.base_lrs, self.schedule.lr_lambdas, strict=True)
        for group, (base, rate) in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = base * rate(steps)
        torch.set_rng_state(tensors["generator"])
        if "gpu_generator" in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors["gpu_generator"])
        return epoch


def _generators() -> dict[str, Tensor]:
    """What the encoder's dropout is drawn from."""
    found = {"generator": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["gpu_generator"] = torch.cuda.get_rng_state()
    return found
