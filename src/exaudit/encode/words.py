"""The vocabulary of the trainable word embeddings, and the word2vec or GloVe files they can start from."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from io import BytesIO
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import IO, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from exaudit.data.bomb import Counted, Unpacked, check_archive
from exaudit.errors import DataError, SettingError

__all__ = ["UNKNOWN", "Vocabulary", "read_vectors"]

UNKNOWN = 0  # the row of every word that is not in the vocabulary
LIMIT = 7500  # words; the paper's
WIDEST = 10_000  # numbers of a vector: those that are published have hundreds


class Vocabulary:
    """Words and their rows. Row 0 is every word that is not here."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(words)
        self._rows = {word: row for row, word in enumerate(self._words, start=1)}
        if len(self._rows) < len(self._words):
            raise SettingError("the vocabulary holds a word twice")

    @classmethod
    def build(cls, token_lists: Iterable[Sequence[str]], limit: int = LIMIT) -> Vocabulary:
        """The `limit` most frequent words; equally frequent ones by the alphabet."""
        counts: Counter[str] = Counter()
        for tokens in token_lists:
            counts.update(tokens)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(ranked[:limit])

    def __len__(self) -> int:
        """Rows, the unknown one included."""
        return len(self._words) + 1

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._words == other._words

    def __hash__(self) -> int:
        return hash(self._words)

    def ids(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """The row of each token."""
        row = self._rows.get
        return np.fromiter((row(token, UNKNOWN) for token in tokens), np.int64, len(tokens))

    def to_list(self) -> list[str]:
        """The words of rows 1, 2, ... for JSON."""
        return list(self._words)

    @classmethod
    def from_list(cls, words: Iterable[str]) -> Vocabulary:
        """The inverse of `to_list`."""
        return cls(words)


def read_vectors(path: str | PathLike[str], vocabulary: Vocabulary) -> tuple[NDArray[np.float32], int]:
    """Rows for the words of the vocabulary, and how many were found; the others, and row 0, are zero.

    Reads word2vec (text and binary) and GloVe files, plain or compressed (gz, xz, bz2, zip), as a stream. A word
    that is absent takes the vector of its lower-cased form.
    """
    exact: dict[bytes, int] = {}
    lowered: dict[bytes, list[int]] = {}
    for row, word in enumerate(vocabulary.to_list(), start=1):
        exact[word.encode(errors="replace")] = row
        if word.lower() != word:
            lowered.setdefault(word.lower().encode(errors="replace"), []).append(row)
    wanted = {*exact, *lowered}
    vectors: NDArray[np.float32] | None = None
    rank = np.zeros(len(vocabulary), np.int8)  # 0 not found, 1 lower-cased form, 2 the word itself
    try:
        for form, vector in _entries(Path(path), wanted):
            if vectors is None:
                vectors = np.zeros((len(vocabulary), len(vector)), np.float32)
            if (row := exact.get(form, 0)) and rank[row] < 2:  # a word given twice: the first counts
                vectors[row], rank[row] = vector, 2
            for row in lowered.get(form, ()):
                if rank[row] < 1:
                    vectors[row], rank[row] = vector, 1
    except DataError as error:
        raise error.at(path) from None
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise DataError(f"the compressed file is damaged or cut short ({error})", path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path) from error
    if vectors is None:
        raise DataError(
            "holds no word of the training documents; are these vectors of the same language?", path
        )
    return vectors, int(np.count_nonzero(rank))


def _entries(path: Path, wanted: set[bytes]) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    with ExitStack() as stack:
        stream = _open(path, stack)
        first = stream.readline(1 << 16)
        fields = first.split()
        if not fields:
            raise DataError("is empty; expected word vectors (word2vec or GloVe)", path)
        if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit() and len(first) < 100:
            count, size = int(fields[0]), int(fields[1])
            if not 1 <= size <= WIDEST:
                raise DataError(
                    f"its first line gives vectors of length {size}; they may have 1 to {WIDEST:,} numbers",
                    path,
                    1,
                )
            begin = stream.read(4 * size + 256)
            if _is_text(begin):
                lines = chain(BytesIO(begin + stream.readline()), stream)
                yield from _text(path, lines, 2, size, wanted, count)
            else:
                yield from _binary(path, begin, stream, count, size, wanted)
        else:
            size = len(fields) - 1
            if not 1 <= size <= WIDEST or _numbers(fields[1:]) is None:
                raise DataError(
                    "is not a file of word vectors; expected word2vec (text or binary) or GloVe", path, 1
                )
            yield from _text(path, chain([first], stream), 1, size, wanted, None)


def _is_text(begin: bytes) -> bool:
    """UTF-8 without control characters; hundreds of bytes of floats are never that."""
    try:
        text = getincrementaldecoder("utf-8")().decode(begin)  # may end inside a character
    except UnicodeDecodeError:
        return False
    return not any(character < " " and character not in "\t\r\n" for character in text)


def _open(path: Path, stack: ExitStack) -> IO[bytes]:
    """By the first bytes, not by the name."""
    file: IO[bytes] = stack.enter_context(path.open("rb"))
    magic = file.read(6)
    file.seek(0)
    for packer, start in ((gzip, b"\x1f\x8b"), (lzma, b"\xfd7zXZ\x00"), (bz2, b"BZh")):
        if magic.startswith(start):
            packed = Counted(cast(BinaryIO, file))
            opened = stack.enter_context(packer.open(cast(BinaryIO, packed)))
            return io.BufferedReader(Unpacked(cast(BinaryIO, opened), packed), 1 << 16)
    if magic[:4] == b"PK\x03\x04":
        archive = stack.enter_context(zipfile.ZipFile(file))
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise DataError(f"the archive holds {len(names)} files; unpack the one to use", path)
        check_archive(archive)
        return stack.enter_context(archive.open(names[0]))
    return file


def _numbers(fields: Sequence[bytes]) -> NDArray[np.float32] | None:
    try:
        vector = np.array([float(field) for field in fields], np.float32)
    except ValueError:
        return None
    return vector if np.isfinite(vector).all() else None


def _text(
    path: Path, lines: Iterable[bytes], first: int, size: int, wanted: set[bytes], count: int | None
) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    found = 0
    for number, line in enumerate(lines, start=first):
        if not (line := line.strip(b"\r\n ")):
            continue
        word, *fields = line.rsplit(b" ", size)  # from the right: a few GloVe words hold spaces themselves
        found += 1
        if len(fields) != size:
            raise DataError(f"found {len(fields)} numbers, expected {size}", path, number)
        if word in wanted:
            vector = _numbers(fields)
            if vector is None:
                raise DataError(
                    f"the vector of {word.decode(errors='replace')!r} is not all numbers", path, number
                )
            yield word, vector
    if count is not None and found < count:
        raise DataError(f"ends after {found} of the {count} words that its first line announces", path)


def _binary(
    path: Path, buffer: bytes, stream: IO[bytes], count: int, size: int, wanted: set[bytes]
) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    position, width = 0, 4 * size
    for entry in range(count):
        while (space := buffer.find(b" ", position)) < 0 or len(buffer) < space + 1 + width:
            more = stream.read(1 << 20)
            if not more or (space < 0 and len(buffer) - position > 1 << 20):
                raise DataError(f"ends, or is damaged, after {entry} of the {count} words it announces", path)
            buffer, position = buffer[position:] + more, 0
        word = buffer[position:space].lstrip(b"\n")
        if word in wanted:
            vector = np.frombuffer(buffer, "<f4", size, space + 1).astype(np.float32)
            if not np.isfinite(vector).all():
                raise DataError(f"the vector of {word.decode(errors='replace')!r} is not all numbers", path)
            yield word, vector
        position = space + 1 + width
