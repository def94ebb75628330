"""How a run goes about its work, which changes nothing about the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exaudit.encode.transformer import Transformer

__all__ = ["Report", "RunOptions"]

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class RunOptions:
    """Where a run keeps its work, whether it goes on from there, whom it tells, and what stays together."""

    work: Path | None = None
    resume: bool = False
    report: Report | None = None
    group: str | None = None  # a column: documents with the same value are tuned on in one batch

    def checkpoint(self, name: str, encoder: Transformer | None = None) -> Path | None:
        """Where a head keeps its epochs; on a tuned encoder, those on another one are not its own."""
        if self.work is None:
            return None
        return self.work / f"{name if encoder is None else f'{name}-{encoder.fingerprint[:16]}'}.safetensors"
