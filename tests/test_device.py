"""Which precision `auto` is, on machines with and without bfloat16."""

from __future__ import annotations

import pytest
import torch

from exaudit._device import pick_precision
from exaudit.errors import SettingError

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("avx512_bf16", "amx", "onednn", "expected"),
    [
        (True, False, True, "bfloat16"),
        (False, True, True, "bfloat16"),
        (False, False, True, "float32"),
        (True, True, False, "float32"),  # it would be emulated
    ],
)
def test_auto_on_a_cpu(
    monkeypatch: pytest.MonkeyPatch, avx512_bf16: bool, amx: bool, onednn: bool, expected: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: onednn)
    assert pick_precision("auto", CPU) == expected
    assert [pick_precision(name, CPU) for name in ("float32", "bfloat16")] == ["float32", "bfloat16"]


def test_auto_where_torch_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    for probe in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.delattr(torch.cpu, probe, raising=False)
    assert pick_precision("auto", CPU) == "float32"


@pytest.mark.parametrize("has", [True, False])
def test_auto_on_a_gpu(monkeypatch: pytest.MonkeyPatch, has: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has)
    assert pick_precision("auto", CUDA) == ("bfloat16" if has else "float32")
    assert pick_precision("auto", torch.device("mps")) == "float32"


def test_unknown_precision() -> None:
    with pytest.raises(SettingError, match="`precision` is 'float16'; use auto, float32 or bfloat16"):
        pick_precision("float16", CPU)
