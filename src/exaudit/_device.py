"""Where tensors live: the one place that decides between CPU and CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from exaudit.errors import SettingError

__all__ = ["pick_device", "rounded_products"]


def pick_device(name: str | torch.device = "auto") -> torch.device:
    """`auto` takes the GPU if there is one; anything else is taken at its word or refused."""
    if isinstance(name, torch.device):
        return name
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SettingError(f"unknown device {name!r}; use auto, cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SettingError("device cuda was asked for, but torch sees no GPU here; use `device=cpu`")
    return device


@contextmanager
def rounded_products(device: torch.device) -> Iterator[None]:
    """Let a GPU round what it multiplies to TF32, where the noise of training is larger than that."""
    if device.type != "cuda":
        yield
        return
    matmul = torch.backends.cuda.matmul
    name, rounded = ("fp32_precision", "tf32") if hasattr(matmul, "fp32_precision") else ("allow_tf32", True)
    before = getattr(matmul, name)
    setattr(matmul, name, rounded)
    try:
        yield
    finally:
        setattr(matmul, name, before)
