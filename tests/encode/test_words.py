"""The vocabulary, and word-vector files of every format."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exaudit.data import bomb
from exaudit.encode.words import LIMIT, Vocabulary, read_vectors
from exaudit.errors import DataError, SettingError

ROWS = {"the": [0.5, -1.25, 3.0], "cat": [1.5, 2.5, -0.75], "Cat": [9.0, 8.0, 7.0], "é": [0.1, 0.2, 0.3]}


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=8), st.integers(0, 6))
def test_vocabulary_is_frequency_then_alphabet(token_lists: list[list[str]], limit: int) -> None:
    counts: dict[str, int] = {}
    for tokens in token_lists:
        for token in tokens:
            counts[token] = counts.get(token, 0) + 1
    expected = [word for _, word in sorted((-count, word) for word, count in counts.items())][:limit]
    vocabulary = Vocabulary.build(token_lists, limit)
    assert vocabulary.to_list() == expected
    assert len(vocabulary) == len(expected) + 1
    assert Vocabulary.from_list(vocabulary.to_list()) == vocabulary
    for tokens in token_lists:
        rows = vocabulary.ids(tokens)
        assert rows.dtype == np.int64
        assert rows.tolist() == [expected.index(t) + 1 if t in expected else 0 for t in tokens]


def test_vocabulary_limits() -> None:
    assert LIMIT == 7500
    assert len(Vocabulary.build([[f"w{i}" for i in range(9000)]])) == 7501
    assert "w1" in Vocabulary.build([["w1"]])
    with pytest.raises(SettingError, match="twice"):
        Vocabulary(["a", "a"])


def text(rows: dict[str, list[float]], header: bool, end: str = "\n") -> bytes:
    lines = [f"{len(rows)} 3"] * header + [" ".join([word, *map(str, v)]) for word, v in rows.items()]
    return (end.join(lines) + end).encode()


def binary(rows: dict[str, list[float]], newline: bytes) -> bytes:
    body = b"".join(w.encode() + b" " + np.array(v, "<f4").tobytes() + newline for w, v in rows.items())
    return f"{len(rows)} 3\n".encode() + body


CONTENTS = {
    "glove": text(ROWS, False),
    "header": text(ROWS, True),
    "windows": text(ROWS, True, " \r\n"),
    "binary": binary(ROWS, b"\n"),
    "gensim": binary(ROWS, b""),
}


def write(path: Path, content: bytes, packing: str) -> Path:
    if packing == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("vectors.txt", content)
        return path
    pack = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[packing]
    path.write_bytes(pack(content))
    return path


@pytest.mark.parametrize("packing", ["plain", "gz", "xz", "bz2", "zip"])
@pytest.mark.parametrize("form", CONTENTS)
def test_all_formats(tmp_path: Path, form: str, packing: str) -> None:
    path = write(tmp_path / "vectors", CONTENTS[form], packing)
    vectors, found = read_vectors(path, Vocabulary(["Cat", "THE", "é", "dog"]))
    assert vectors.dtype == np.float32
    expected = [[0, 0, 0], ROWS["Cat"], ROWS["the"], ROWS["é"], [0, 0, 0]]
    np.testing.assert_array_equal(vectors, np.array(expected, np.float32))
    assert found == 3


def test_exact_form_wins_wherever_it_stands(tmp_path: Path) -> None:
    for order in (["cat", "Cat"], ["Cat", "cat"]):
        path = write(tmp_path / "v", text({word: ROWS[word] for word in order}, False), "plain")
        vectors, found = read_vectors(path, Vocabulary(["Cat", "CAT", "cat"]))
        np.testing.assert_array_equal(
            vectors[1:], np.array([ROWS["Cat"], ROWS["cat"], ROWS["cat"]], np.float32)
        )
        assert found == 3


def test_words_with_spaces_and_words_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "glove"
    path.write_bytes(b"cat 1 2 3\n. . . 4 5 6\ncat 7 8 9\n\n")
    vectors, _ = read_vectors(path, Vocabulary(["cat", ". . ."]))
    np.testing.assert_array_equal(vectors[1:], [[1, 2, 3], [4, 5, 6]])


def test_a_large_binary_file_is_streamed_right(tmp_path: Path) -> None:
    """More than one buffer, and floats whose bytes are spaces and newlines."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((9000, 50)).astype("<f4")
    table[::3, 0] = np.frombuffer(b"\n \n ", "<f4")[0]
    body = b"".join(f"w{i}".encode() + b" " + row.tobytes() + b"\n" for i, row in enumerate(table))
    path = write(tmp_path / "v", b"9000 50\n" + body, "gz")
    vectors, found = read_vectors(path, Vocabulary([f"w{i}" for i in range(0, 9000, 7)]))
    np.testing.assert_array_equal(vectors[1:], table[::7])
    assert found == len(table[::7])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"this is a plain sentence\n", ":1: is not a file of word vectors"),
        (b"\x00\x01\x02\x03" * 99, "not a file of word vectors"),
        (b"cat 1 2 3\ndog 1 2\n", ":2: found 2 numbers, expected 3"),
        (b"dog 1 2 3\ncat 1 x 3\n", ":2: the vector of 'cat'"),
        (b"dog 1 2 3\ncat 1 nan 3\n", ":2: the vector of 'cat'"),
        (b"3 3\ncat 1 2 3\ndog 1 2 3\n", "ends after 2 of the 3 words"),
        (b"2 3\ncat 1 2\ndog 1 2 3\n", ":2: found 2 numbers, expected 3"),
        (b"2 0\ncat\n", "length 0"),
        (b"dog 1 2 3\n", "holds no word"),
        (binary(ROWS, b"\n")[:-9], "after 3 of the 4 words"),
        (binary({"cat": [1.0, float("inf"), 2.0]}, b"\n"), "'cat' is not all numbers"),
        (gzip.compress(text(ROWS, False) * 99, mtime=0)[:-30], "damaged or cut short"),
        (lzma.compress(text(ROWS, False) * 99)[:-30], "damaged or cut short"),
    ],
    ids=range(15),
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_vectors(path, Vocabulary(["cat"]))
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("packing", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_a_declared_size_is_not_believed(tmp_path: Path, packing: Callable[[bytes], bytes]) -> None:
    (tmp_path / "v").write_bytes(packing(b"1 1000000000000\nthe 1.0\n"))
    with pytest.raises(
        DataError, match=r"v:1: its first line gives vectors of length 1000000000000; they may have"
    ):
        read_vectors(tmp_path / "v", Vocabulary(["the"]))


@pytest.mark.parametrize("packing", ["gz", "xz", "bz2", "zip"])
def test_a_packed_bomb(tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bomb, "FREE", 1 << 16)
    content = b"the 1.0 2.0\n" + b"a 1.0 2.0\n" * (1 << 20)
    if packing == "zip":
        with zipfile.ZipFile(tmp_path / "v", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("vectors", b" " * (1 << 23))
    else:
        packer = {"gz": gzip, "xz": lzma, "bz2": bz2}[packing]
        (tmp_path / "v").write_bytes(packer.compress(content))
    with pytest.raises(DataError, match=r"v: the file unpacks into more than 200 times its size"):
        read_vectors(tmp_path / "v", Vocabulary(["the"]))


def test_missing_file_and_crowded_archive(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_vectors(tmp_path / "none", Vocabulary(["a"]))
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path, Vocabulary(["a"]))
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a", "x 1\n")
        archive.writestr("b", "x 1\n")
    with pytest.raises(DataError, match="2 files"):
        read_vectors(tmp_path / "two.zip", Vocabulary(["x"]))


def test_a_published_file() -> None:
    data = Path(os.environ.get("EXAUDIT_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = data.parent / "vectors" / "glove-derived-100d.bin.xz"
    if not path.exists():
        pytest.skip("the published vectors are not here")
    vectors, found = read_vectors(path, Vocabulary(["the", "The", "movie", "xqzzyq", "film"]))
    assert vectors.shape == (6, 100)
    assert found == 4
    np.testing.assert_array_equal(vectors[1], vectors[2])
    cosine = vectors[3] @ vectors[5] / np.linalg.norm(vectors[3]) / np.linalg.norm(vectors[5])
    assert cosine > 0.7
