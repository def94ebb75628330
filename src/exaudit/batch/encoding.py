"""Encoding the documents of a training run ahead of it, into the feature cache that training then reads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exaudit._progress import progress
from exaudit.data.document import Document
from exaudit.encode.cache import FeatureCache
from exaudit.errors import SettingError
from exaudit.model.parts import load_encoder
from exaudit.model.settings import Settings

__all__ = ["encode_ahead"]

DOCUMENTS = 2000  # encoded at once: a file of the cache

Texts = list[tuple[str, ...]]
Spread = Callable[[Callable[[], Callable[[Texts], int]], Iterable[Texts]], Generator[int, None, None]]


@dataclass(frozen=True)
class _Encoding:
    """What a worker needs to encode documents, wherever it runs."""

    settings: Settings

    def start(self) -> Callable[[Texts], int]:
        encoder, cache = load_encoder(self.settings), FeatureCache(self.settings.cache)
        assert encoder is not None
        return lambda texts: len(cache.features(encoder, texts))


def encode_ahead(settings: Settings, documents: Sequence[Document], spread: Spread) -> None:
    """Have workers encode documents into the cache of the settings, which they must share with this machine.

    What is in the cache is not encoded again; what does not get there is encoded by training itself.
    """
    for what, holds in {
        "`encoder=none` has no features": settings.encoder == "none",
        "`tune_encoder` changes them in every step": settings.tune_encoder,
        "`cache` is off": settings.cache == "",
    }.items():
        if holds:
            raise SettingError(f"`ray` encodes the features of a frozen encoder into the cache, but {what}")
    there = replace(settings, cache=str(FeatureCache(settings.cache).folder.resolve()))
    if Path(settings.encoder).exists():
        there = replace(there, encoder=str(Path(settings.encoder).resolve()))
    texts = [document.recut(settings.tokens).tokens for document in documents]
    parts = (texts[first : first + DOCUMENTS] for first in range(0, len(texts), DOCUMENTS))
    with progress(total=len(texts), unit="doc", desc="encode") as bar:
        for count in spread(_Encoding(there).start, parts):
            bar.update(count)
