"""The feature cache: encodes once, survives kills, damage, neighbours and full disks."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from exaudit.encode import FeatureCache, Features, Transformer, encode_features
from exaudit.encode.cache import CachedTransformer
from exaudit.errors import ExauditError, SettingError


def check(features: Features, double: Any, lists: list[list[str]]) -> None:
    """Equal to the encoder's own vectors, document by document."""
    encoder = double.Double()
    assert features.lengths.tolist() == [2 * len(tokens) for tokens in lists]
    packed = features.packed(range(len(lists)))
    assert packed.vectors.dtype == torch.float32
    for i, tokens in enumerate(lists):
        own = slice(int(packed.bounds[i]), int(packed.bounds[i + 1]))
        assert torch.equal(packed.vectors[own], encoder.vectors(tokens))
        assert packed.words[own].tolist() == [j // 2 for j in range(2 * len(tokens))]


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("features/*/*.safetensors"))


def test_encodes_only_what_is_missing(double: Any, tmp_path: Path) -> None:
    lists = [*double.documents(20), [], ["a b"], ["a", "b"], ["a b"]]
    first = double.Double()
    check(FeatureCache(tmp_path, shard_bytes=512).features(first, lists), double, lists)
    assert len(first.encoded) == 23  # the one given twice is encoded once
    assert len(shards(tmp_path)) > 3
    second = double.Double()
    reverse = lists[::-1]
    check(FeatureCache(tmp_path).features(second, reverse), double, reverse)
    assert second.encoded == []
    third = double.Double()
    more = [["new"], *lists]
    check(FeatureCache(tmp_path).features(third, more), double, more)
    assert third.encoded == [("new",)]


def test_a_cached_transformer_encodes_each_text_once(double: Any, tmp_path: Path) -> None:
    encoder, lists = double.Double(), double.documents(20)
    cached = CachedTransformer(encoder, FeatureCache(tmp_path))
    for _ in range(2):
        seen: list[int] = []
        for indices, packed in cached.batches(lists, pieces_per_batch=30):
            assert len(indices) == 1 or len(packed.vectors) <= 30
            parts = [packed.vectors[a:b] for a, b in pairwise(packed.bounds.tolist())]
            for i, vectors in zip(indices, parts, strict=True):
                assert torch.equal(vectors, encoder.vectors(lists[i]))
            seen += indices
        assert seen == list(range(20))
    assert len(encoder.encoded) == 20
    assert (cached.fingerprint, cached.layers, cached.dimension) == ("f" * 64, (1,), 8)
    assert (cached.max_length, cached.dtype) == (None, "float32")


def test_shards_are_safetensors(double: Any, tmp_path: Path) -> None:
    FeatureCache(tmp_path, shard_bytes=512).features(double.Double(), double.documents(9))
    for path in shards(tmp_path):
        arrays = load_file(path)
        assert {name: str(a.dtype) for name, a in arrays.items()} == {
            "features": "float16", "words": "int32", "bounds": "int64", "keys": "uint8",
        }  # fmt: skip
        assert arrays["bounds"][-1] == len(arrays["features"]) == len(arrays["words"])
        assert path.stat().st_mode & 0o444 == 0o444 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_no_shard_is_larger_than_asked(double: Any, tmp_path: Path) -> None:
    FeatureCache(tmp_path, shard_bytes=2000).features(double.Double(), double.documents(50))
    sizes = [load_file(path)["features"].nbytes for path in shards(tmp_path)]
    assert max(sizes) <= 2000
    assert sum(sizes) / len(sizes) > 1000  # and they are filled


def test_other_settings_live_elsewhere(double: Any, tmp_path: Path) -> None:
    lists = double.documents(3)
    for name, value in {
        "layers": (2,),
        "max_length": 9,
        "fingerprint": "a" * 64,
        "dtype": "bfloat16",
    }.items():
        FeatureCache(tmp_path).features(double.Double(), lists)
        encoder = double.Double()
        setattr(encoder, name, value)
        FeatureCache(tmp_path).features(encoder, lists)
        assert len(encoder.encoded) == 3


def test_a_killed_run_loses_one_shard_at_most(double: Any, tmp_path: Path) -> None:
    command = [sys.executable, double.__file__, str(tmp_path), "60", "0.1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(shards(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    kept = sum(len(load_file(path)["keys"]) for path in shards(tmp_path))
    assert 3 <= kept < 60
    encoder = double.Double()
    check(FeatureCache(tmp_path).features(encoder, double.documents(60)), double, double.documents(60))
    assert len(encoder.encoded) == 60 - kept


def test_runs_at_the_same_time(double: Any, tmp_path: Path) -> None:
    command = [sys.executable, double.__file__, str(tmp_path), "60", "0.01"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for run in runs:
        output, _ = run.communicate(timeout=60)
        assert (run.returncode, output) == (0, "done\n")
    encoder = double.Double()
    check(FeatureCache(tmp_path).features(encoder, double.documents(60)), double, double.documents(60))
    assert encoder.encoded == []


def without_checksum(header: bytes, data: bytes) -> bytes:
    """A shard as 0.1 wrote it."""
    plain = json.loads(header)
    del plain["__metadata__"]
    text = json.dumps(plain).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    "damage", ["cut", "longer", "garbage", "empty", "header", "bounds", "zeros", "bit", "0.1"]
)
def test_a_damaged_shard_is_encoded_again(double: Any, tmp_path: Path, damage: str) -> None:
    lists = double.documents(20)
    FeatureCache(tmp_path, shard_bytes=512).features(double.Double(), lists)
    path = shards(tmp_path)[0]
    lost = len(load_file(path)["keys"])
    content = path.read_bytes()
    size = 8 + int.from_bytes(content[:8], "little")
    end = len(content) - 16 * lost  # of the features; the keys come last
    path.write_bytes({
        "cut": content[:-100],
        "longer": content + b"x",
        "garbage": bytes(range(256)) * 8,
        "empty": b"",
        "header": content[:8] + b"{" * (size - 8) + content[size:],
        "bounds": content[:size] + b"\x07" + content[size + 1 :],
        "zeros": content[: end - 80] + bytes(80) + content[end:],
        "bit": content[: end - 1] + bytes([content[end - 1] ^ 1]) + content[end:],
        "0.1": without_checksum(content[8:size], content[size:]),
    }[damage])  # fmt: skip
    encoder = double.Double()
    with pytest.warns(UserWarning, match="damaged"):
        features = FeatureCache(tmp_path).features(encoder, lists)
    check(features, double, lists)
    assert len(encoder.encoded) == lost
    FeatureCache(tmp_path).features(double.Double(), lists)  # no further warning


def test_least_recently_used_shards_go_first(double: Any, tmp_path: Path) -> None:
    old, used, new = ([[f"{name}{i}"] * 5 for i in range(8)] for name in ("old", "used", "new"))
    size = 0
    for age, lists in ((300, old), (200, used)):
        before = set(shards(tmp_path))
        FeatureCache(tmp_path).features(double.Double(), lists)
        (path,) = set(shards(tmp_path)) - before
        os.utime(path, (time.time() - age,) * 2)
        size = path.stat().st_size
    FeatureCache(tmp_path).features(double.Double(), old)  # now `used` is the oldest
    kept = FeatureCache(tmp_path, limit_bytes=size * 2 + size // 2)
    kept.features(double.Double(), new)
    assert kept.info().bytes == 2 * size
    encoder = double.Double()
    kept.features(encoder, old)
    assert encoder.encoded == []
    kept.features(encoder, used)
    assert len(encoder.encoded) == 8


def test_a_corpus_larger_than_the_limit_still_works(double: Any, tmp_path: Path) -> None:
    lists = double.documents(30)
    cache = FeatureCache(tmp_path, limit_bytes=1500, shard_bytes=512)
    with pytest.warns(UserWarning, match="limit") as caught:
        features = cache.features(double.Double(), lists)
    assert len(caught) == 1
    check(features, double, lists)
    with pytest.warns(UserWarning, match="limit"):
        cache.features(double.Double(), [["other"] * 50])  # evicts the shards that `features` still reads
    assert cache.info().shards == 1
    check(features, double, lists)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_full_disk(double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def full(descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExauditError, match=f"{tmp_path}.*{os.strerror(code)}.*EXAUDIT_CACHE"):
        FeatureCache(tmp_path).features(double.Double(), double.documents(5))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_in_the_way(double: Any, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("x")
    with pytest.raises(ExauditError, match="cannot be used"):
        FeatureCache(tmp_path / "cache").features(double.Double(), double.documents(5))


def test_temporary_files_of_killed_runs_are_swept(double: Any, tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    cache.features(double.Double(), double.documents(2))
    fresh, stale = (shards(tmp_path)[0].parent / f".{name}.tmp" for name in ("fresh", "stale"))
    for path in (fresh, stale):
        path.write_bytes(b"half")
    os.utime(stale, (time.time() - 9000,) * 2)
    cache.features(double.Double(), double.documents(2))
    assert fresh.exists()
    assert not stale.exists()


def test_info_and_clear(double: Any, tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_bytes=10**6)
    assert (cache.info().shards, cache.info().bytes, cache.clear()) == (0, 0, 0)
    cache.features(double.Double(), double.documents(5))
    held = sum(path.stat().st_size for path in shards(tmp_path))
    assert (cache.info().shards, cache.info().bytes, cache.info().limit_bytes) == (1, held, 10**6)
    (tmp_path / "of-somebody-else").write_text("x")
    assert cache.clear() == held
    assert cache.info().bytes == 0
    assert (tmp_path / "of-somebody-else").exists()


def test_settings_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EXAUDIT_CACHE", str(tmp_path / "here"))
    monkeypatch.setenv("EXAUDIT_CACHE_LIMIT", "5e9")
    cache = FeatureCache()
    assert (cache.folder, cache.limit_bytes) == (tmp_path / "here", 5 * 10**9)
    for wrong in ("plenty", "nan", "inf", "-1"):
        monkeypatch.setenv("EXAUDIT_CACHE_LIMIT", wrong)
        with pytest.raises(SettingError, match="EXAUDIT_CACHE_LIMIT"):
            FeatureCache()
    monkeypatch.delenv("EXAUDIT_CACHE")
    monkeypatch.delenv("EXAUDIT_CACHE_LIMIT")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if os.name != "nt":
        assert FeatureCache().folder == tmp_path / "exaudit"


def test_with_a_real_transformer(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    transformer = Transformer.load(tiny("roberta"), device="cpu")
    lists = [["the", "cat"], ["a", "bad", "movie", "!"] * 20, [], ["cats"]]
    cached = FeatureCache(tmp_path).features(transformer, lists)
    held = encode_features(transformer, lists)
    for order in ([0, 1, 2, 3], [3, 1], [2], []):
        expected = transformer.pack([lists[i] for i in order])
        for features in (cached, held, cached.resident("cpu"), held.resident("cpu")):
            packed = features.packed(np.array(order, np.int64))
            assert torch.equal(packed.bounds, expected.bounds)
            assert torch.equal(packed.words, expected.words)
            assert packed.vectors.shape == (len(expected.words), transformer.dimension)
            torch.testing.assert_close(packed.vectors, expected.vectors, atol=2e-3, rtol=1e-3)  # float16
    with torch.no_grad():
        next(transformer.module.parameters()).mul_(2)
    with pytest.raises(SettingError, match="save it and load it again"):
        FeatureCache(tmp_path).features(transformer, lists)


def test_features_of_words() -> None:
    features = Features.of_words([["a", "b"], [], ["c", "d", "e"]])
    assert (len(features), features.dimension, features.lengths.tolist()) == (3, 0, [2, 0, 3])
    packed = features.packed([2, 0])
    assert packed.vectors.shape == (5, 0)
    assert packed.words.tolist() == [0, 1, 2, 0, 1]
    assert packed.bounds.tolist() == [0, 3, 5]
    assert len(packed) == 2
    assert torch.equal(features.resident("cpu").packed([2, 0]).words, packed.words)
