"""The feature cache: the frozen Transformer reads each text once.

    <folder>/features/<fingerprint>-<layers>-<max length>-<dtype>/<random>.safetensors

Shards are written whole and never changed, so runs at the same time cannot hurt each other: at worst both encode a
document. A kill loses the shard being gathered, no more. Shards used last are evicted last.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from exaudit._tensors import DamagedTensorsError
from exaudit.encode.features import Block, Features
from exaudit.encode.packed import Packed
from exaudit.encode.pieces import Pieces
from exaudit.encode.shard import Shard, digest, read_shard, write_shard
from exaudit.encode.transformer import Transformer
from exaudit.errors import ExauditError, SettingError

__all__ = ["CacheInfo", "CachedTransformer", "FeatureCache", "encode_features"]

Result = TypeVar("Result")

_LIMIT = 20 * 10**9
_SHARD = 128 * 2**20  # bytes of features per shard; what a kill can cost, and what memory must hold
_PIECES = 8192  # read from the cache at once
_STALE = 3600  # seconds after which a temporary file belongs to a run that was killed
_checked: set[Path] = set()  # shards whose checksum was compared by this process; they never change


@dataclass(frozen=True)
class CacheInfo:
    """What the cache holds."""

    folder: Path
    shards: int
    bytes: int
    limit_bytes: int


class FeatureCache:
    """Features on disk. The folder is `$EXAUDIT_CACHE` or the user's cache folder; the limit `$EXAUDIT_CACHE_LIMIT`."""

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,
        limit_bytes: int | None = None,
        *,
        shard_bytes: int = _SHARD,
    ) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()
        self.limit_bytes = _limit() if limit_bytes is None else limit_bytes
        self._shard_bytes = shard_bytes

    def features(
        self, transformer: Transformer, token_lists: Sequence[Sequence[str]], *, desc: str | None = None
    ) -> Features:
        """Features of these documents; only documents that are not in the cache are encoded."""
        if transformer.changed:
            raise SettingError(
                "the encoder was tuned in memory; save it and load it again before caching features"
            )
        try:
            return self._features(transformer, token_lists, desc)
        except OSError as error:
            raise ExauditError(
                f"the feature cache {self.folder} cannot be used: {error.strerror or error}; free some space there, "
                "empty it with `exaudit cache clear`, or set EXAUDIT_CACHE to another folder"
            ) from error

    def info(self) -> CacheInfo:
        """How much the cache holds."""
        sizes = [size for _, size, _ in self._files()]
        return CacheInfo(self.folder, len(sizes), sum(sizes), self.limit_bytes)

    def clear(self) -> int:
        """Delete all features; returns how many bytes that freed."""
        held = self.info().bytes
        shutil.rmtree(self.folder / "features", ignore_errors=True)
        return held

    def _features(
        self, transformer: Transformer, token_lists: Sequence[Sequence[str]], desc: str | None
    ) -> Features:
        keys = [digest(tokens) for tokens in token_lists]
        wanted = set(keys)
        folder = self._home(transformer)
        folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        shards = _Shards()
        for shard in _read_all(folder, transformer.dimension, wanted):
            if shards.add(shard, wanted):
                os.utime(shard.path)  # used now
        missing = list({key: i for i, key in enumerate(keys) if key not in shards.places}.values())
        for path in self._encode(
            transformer, [token_lists[i] for i in missing], [keys[i] for i in missing], desc
        ):
            shards.add(read_shard(path, transformer.dimension), wanted)
            self._evict(shards)
        return shards.features(keys, transformer.dimension)

    def _home(self, transformer: Transformer) -> Path:
        layers = ".".join(map(str, transformer.layers))
        length = "whole" if transformer.max_length is None else str(transformer.max_length)
        name = f"{transformer.fingerprint[:32]}-{layers}-{length}-{transformer.dtype}"
        return self.folder / "features" / name

    def _encode(
        self,
        transformer: Transformer,
        token_lists: Sequence[Sequence[str]],
        keys: Sequence[bytes],
        desc: str | None,
    ) -> Iterator[Path]:
        """Encode documents and write a shard whenever enough are gathered; yields each shard's path."""
        folder = self._home(transformer)
        features: list[NDArray[np.float16]] = []
        words: list[NDArray[np.int32]] = []
        lengths: list[int] = []
        own: list[bytes] = []

        def flush() -> Path:
            path = folder / f"{uuid.uuid4().hex}.safetensors"
            write_shard(path, features, words, lengths, own)
            for gathered in (features, words, lengths, own):
                gathered.clear()
            return path

        held = 0
        for indices, bounds, block in (
            transformer.each_batch(_block, token_lists, desc=desc) if token_lists else ()
        ):
            if features and held + block.vectors.nbytes > self._shard_bytes:
                yield flush()
                held = 0
            features.append(block.vectors.cpu().numpy())
            words.append(block.words.cpu().numpy())
            lengths += bounds.diff().tolist()
            own += [keys[i] for i in indices]
            held += block.vectors.nbytes
        if features:
            yield flush()

    def _files(self) -> list[tuple[float, int, Path]]:
        """(last use, bytes, path) of every shard of every encoder."""
        found = []
        for path in self.folder.glob("features/*/*.safetensors"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # another run evicted it
            found.append((status.st_mtime, status.st_size, path))
        return found

    def _evict(self, shards: _Shards) -> None:
        """Delete the shards used longest ago until the limit holds; a map onto a deleted file stays valid."""
        files = sorted(self._files())
        excess = sum(size for _, size, _ in files) - self.limit_bytes
        for _, size, path in files:
            if excess <= 0:
                return
            if path not in shards.paths:
                path.unlink(missing_ok=True)
                excess -= size
        if excess > 0 and not shards.warned:
            shards.warned = True
            warnings.warn(
                f"these documents alone need more than the feature cache's limit of {self.limit_bytes / 1e9:.1f} GB; "
                "their features are kept until other documents need the room (EXAUDIT_CACHE_LIMIT raises the limit)",
                stacklevel=5,
            )

    def _sweep(self) -> None:
        """Delete temporary files of runs that were killed."""
        for path in self.folder.glob("features/*/.*.tmp"):
            try:
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()
            except FileNotFoundError:
                continue


class _Shards:
    """The shards that one call uses, and where in them each document lies."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.paths: set[Path] = set()
        self.places: dict[bytes, tuple[int, int, int]] = {}  # key: block, start, length
        self.warned = False

    def add(self, shard: Shard, wanted: set[bytes]) -> bool:
        """Take what is wanted and not here yet from a shard; says whether there was anything."""
        number, before = len(self.blocks), len(self.places)
        bounds = shard.bounds.tolist()
        for i, key in enumerate(shard.keys):
            if key in wanted and key not in self.places:
                self.places[key] = (number, bounds[i], bounds[i + 1] - bounds[i])
        used = len(self.places) > before
        if used:
            self.blocks.append(shard.block)
            self.paths.add(shard.path)
        return used

    def features(self, keys: Sequence[bytes], dimension: int) -> Features:
        table = np.array([self.places[key] for key in keys], np.int64).reshape(-1, 3)
        return Features(self.blocks, table[:, 0], table[:, 1], table[:, 2], dimension)


class CachedTransformer:
    """A Transformer that looks into the feature cache before it encodes: for those who label the same texts often.

    What it gives is rounded to half precision, as everything in the cache is.
    """

    def __init__(self, transformer: Transformer, cache: FeatureCache | None = None) -> None:
        self._transformer, self._cache = transformer, cache or FeatureCache()
        self.name, self.fingerprint = transformer.name, transformer.fingerprint
        self.layers, self.dimension = transformer.layers, transformer.dimension
        self.max_length, self.dtype = transformer.max_length, transformer.dtype

    def at(self, precision: str) -> CachedTransformer:
        return CachedTransformer(self._transformer.at(precision), self._cache)

    def pieces(self, token_lists: Sequence[Sequence[str]]) -> Pieces:
        return self._transformer.pieces(token_lists)

    def save(self, folder: str | PathLike[str]) -> None:
        self._transformer.save(folder)

    def batches(
        self,
        token_lists: Sequence[Sequence[str]],
        *,
        pieces_per_batch: int | None = None,
        desc: str | None = None,
    ) -> Iterator[tuple[list[int], Packed]]:
        features = self._cache.features(self._transformer, token_lists, desc=desc)
        ends = np.cumsum(features.lengths)  # (B,)
        first = 0
        while first < len(features):
            past = int(ends[first - 1]) if first else 0
            last = int(np.searchsorted(ends, past + (pieces_per_batch or _PIECES), side="right"))
            last = max(first + 1, last)
            yield list(range(first, last)), features.packed(np.arange(first, last))
            first = last

    def each_batch(
        self, work: Callable[[list[int], Packed], Result], token_lists: Sequence[Sequence[str]]
    ) -> Iterator[Result]:
        """`work(indices, batch)` of all `batches`."""
        return starmap(work, self.batches(token_lists))


def encode_features(
    transformer: Transformer, token_lists: Sequence[Sequence[str]], *, desc: str | None = None
) -> Features:
    """Encode without a disk: features stay in the memory of the Transformer's device, as float16."""
    blocks: list[Block] = []
    table = np.zeros((len(token_lists), 3), np.int64)
    for indices, bounds, block in transformer.each_batch(_block, token_lists, desc=desc):
        lengths = bounds.diff().numpy()
        table[indices] = np.stack([np.full_like(lengths, len(blocks)), bounds[:-1].numpy(), lengths], axis=1)
        blocks.append(block)
    features = Features(blocks, table[:, 0], table[:, 1], table[:, 2], transformer.dimension)
    del blocks
    return (
        features if transformer.device.type == "cpu" else features.resident(transformer.device, consume=True)
    )


def _block(indices: list[int], batch: Packed) -> tuple[list[int], Tensor, Block]:
    """A batch as it is kept, with the bounds of its documents."""
    return indices, batch.bounds, Block(batch.vectors.half(), batch.words.to(torch.int32))


def _read_all(folder: Path, dimension: int, wanted: set[bytes]) -> Iterator[Shard]:
    """Shards with something that is wanted. A damaged one is dropped: its documents are encoded again."""
    for path in sorted(folder.glob("*.safetensors")):
        try:
            shard = read_shard(path, dimension)
            if wanted.isdisjoint(shard.keys):
                continue
            if path not in _checked:
                shard.check()
                _checked.add(path)
            yield shard
        except FileNotFoundError:
            continue  # another run evicted it
        except DamagedTensorsError as error:
            warnings.warn(
                f"dropped a damaged file of the feature cache, its documents are encoded again: {error}",
                stacklevel=5,
            )
            path.unlink(missing_ok=True)


def default_folder() -> Path:
    if named := os.environ.get("EXAUDIT_CACHE"):
        return Path(named)
    base = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "exaudit"


def _limit() -> int:
    named = os.environ.get("EXAUDIT_CACHE_LIMIT")
    if not named:
        return _LIMIT
    try:
        limit = int(float(named))
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise SettingError(f"EXAUDIT_CACHE_LIMIT is {named!r}; give a number of bytes, such as 20e9")
    return limit
