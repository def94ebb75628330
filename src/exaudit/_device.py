"""Where tensors live: the one place that decides between CPU and CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from exaudit.errors import SettingError

__all__ = ["has_bfloat16", "pick_device", "rounded_products"]


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


def has_bfloat16(device: torch.device) -> bool:
    """Whether it multiplies bfloat16 faster than float32, and not merely somehow."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


@contextmanager
def rounded_products(device: torch.device, dtype: str = "float32") -> Iterator[None]:
    """Round what is multiplied, where the noise of training is larger than that: to TF32 on a GPU; on a CPU to
    bfloat16, if that is the `dtype`."""
    if device.type != "cuda":
        with torch.autocast(device.type, torch.bfloat16, enabled=dtype == "bfloat16"):
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
