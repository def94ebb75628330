"""Where tensors live, and in what precision: the one place that decides between CPU and CUDA, float32 and bfloat16."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from exaudit.errors import SettingError

__all__ = [
    "PRECISIONS",
    "check_precision",
    "has_bfloat16",
    "pick_device",
    "pick_precision",
    "rounded_products",
]

PRECISIONS = ("auto", "float32", "bfloat16")
_CPU_PROBES = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # torch's own; some versions lack them


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


def check_precision(name: str) -> None:
    """Refuse a precision that there is not."""
    if name not in PRECISIONS:
        raise SettingError(f"`precision` is {name!r}; use {', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]}")


def pick_precision(name: str, device: torch.device) -> str:
    """`auto` is bfloat16 where the hardware multiplies in it, else float32. Both work everywhere: without such hardware
    bfloat16 is emulated, slowly."""
    check_precision(name)
    if name != "auto":
        return name
    return "bfloat16" if has_bfloat16(device) else "float32"


def has_bfloat16(device: torch.device) -> bool:
    """Whether it multiplies bfloat16 faster than float32, and not merely somehow."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    return any(getattr(torch.cpu, probe, bool)() for probe in _CPU_PROBES)


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
