"""The sketches of a search, kept beside the support set so that the next process need not make them again.

    <location>/sketches.safetensors
        mean, directions, scale    of the projection; flat search has no directions
        norm, error, factor        a row for each token, as the search scans them
        checksums                  of the vectors, likewise
        lengths, digests           of the documents that the tokens belong to, in order
        fitted                     how many tokens the projection was chosen for
        layout                     how to read the rest; one that is not known is as good as no file

A document's digest speaks for its vectors, and vectors and a projection make a sketch what it is. So a sketch fits a
document with the same digest, in whatever version or copy of the set: no edit can make it wrong, only of no use. The
file is replaced as a whole, by whoever misses something in it, and one that is damaged or cannot be written is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from exaudit._arrays import ranges
from exaudit._tensors import DamagedTensorsError, read_tensors, write_tensors
from exaudit.errors import SupportError
from exaudit.support.autotune import SMALL
from exaudit.support.held_vectors import CHECKSUM, HeldVectors
from exaudit.support.projection import Projection, fast_dtype
from exaudit.support.rows import Sketches
from exaudit.support.search import REFIT, ExactSearch
from exaudit.support.support_set import SupportSet

__all__ = ["NAME", "SavedSketches", "check_sketches", "prune_sketches", "settle_sketches"]

NAME = "sketches.safetensors"
LAYOUT = 2  # to be counted up when `Projection.sketch` or `Sketch.as_rows` come to mean something else
EXTEND = 0.05  # share of rows that the file may lack before it is written again: they are sketched in no time
_DIGEST = 32  # bytes


def settle_sketches(
    search: ExactSearch,
    folder: Path | None,
    fingerprints: tuple[Sequence[bytes], NDArray[np.int32]],
    vectors: HeldVectors,
) -> None:
    """Give a new search the sketches that were saved; save what they lack.

    fingerprints : of the documents whose tokens are the rows of the search (`SupportSet.fingerprints`).
    vectors : of the search. They are all read, unless the sketches tell which of them a question needs.
    """
    if folder is None or len(search) <= SMALL:  # a small set is sketched sooner than read
        vectors.need_all()
        return
    digests, lengths = fingerprints
    path, place = folder / NAME, np.cumsum(lengths, dtype=np.int64) - lengths
    saved = SavedSketches.read(path)
    saved = None if saved is None else saved.for_dtype(fast_dtype(search.device))
    known, total, fitted = 0, len(search), len(search)
    if saved is not None and saved.sketches.projection.mean.shape == (search.width,):
        mine, theirs = saved.match(digests, lengths)
        found = int(lengths[mine].sum())
        if found >= total / (1 + REFIT) and saved.fitted / 2 <= total <= saved.fitted * (1 + REFIT):
            known, fitted = found, saved.fitted
    lacking = total - known > EXTEND * total
    if lacking or saved is None or saved.sketches.projection.directions is None:
        vectors.need_all()
    if saved is not None and known:
        saved, places = saved.only(theirs), ranges(place[mine], lengths[mine])
        vectors.expect(places, saved.checksums)
        search.adopt(saved.sketches, places)
    if lacking:
        made = search.sketches()
        vectors.wait()  # sketches of damaged vectors must not outlive them
        with suppress(OSError):  # read-only, or no room: the next process will make its own
            SavedSketches(made, vectors.checksums(), digests, lengths, fitted).write(path)


def prune_sketches(support: SupportSet) -> None:
    """Forget the sketches of documents that are no longer in a set."""
    if support.folder is None or not (path := support.folder / NAME).is_file():
        return
    saved = SavedSketches.read(path)
    if saved is not None:
        _, kept = saved.match(*support.fingerprints())
        if len(kept) == len(saved.lengths):
            return
        with suppress(OSError):
            saved.only(kept).write(path)
            return
    path.unlink()  # the next search makes it again


def check_sketches(support: SupportSet) -> None:
    """Raise a SupportError where the file of sketches is damaged."""
    if support.folder is not None and (path := support.folder / NAME).is_file():
        try:
            read_tensors(path, mapped=False).check()
        except DamagedTensorsError as error:
            raise SupportError(f"{error}; delete this file, and the next search makes it again") from error


@dataclass(frozen=True)
class SavedSketches:
    """Sketches of the tokens of documents, end to end."""

    sketches: Sketches
    checksums: NDArray[np.uint8]  # (n, CHECKSUM) of the vectors
    digests: Sequence[bytes]
    lengths: NDArray[np.int32]  # (D,)
    fitted: int  # tokens that the projection was chosen for

    @classmethod
    def read(cls, path: Path) -> SavedSketches | None:
        """What is in a file; None where there is none, or a damaged one."""
        try:
            return cls.checked(path)
        except (OSError, DamagedTensorsError):
            return None

    @classmethod
    def checked(cls, path: Path) -> SavedSketches:
        """What is in a file; DamagedTensorsError where it is not what was written, or nothing that we know."""
        file = read_tensors(path, mapped=True)
        file.check()
        try:
            found = dict(file.arrays)
            if found["layout"].tolist() != [LAYOUT]:
                raise DamagedTensorsError(f"{path}: it was written by another version of exaudit")
            norm, error, mean, factor = (
                torch.from_numpy(found[name]) for name in ("norm", "error", "mean", "factor")
            )
            factor = factor.view(torch.bfloat16) if factor.dtype == torch.int16 else factor
            directions = torch.from_numpy(found["directions"]) if "directions" in found else None
            projection = Projection(mean, directions, float(found["scale"][0]), factor.dtype)
            lengths, table = found["lengths"], found["digests"].tobytes()
            digests = [table[i : i + _DIGEST] for i in range(0, len(table), _DIGEST)]
            rows = int(lengths.sum())
            if (
                not len(norm) == len(error) == rows
                or factor.shape != (0 if directions is None else rows, projection.width)
                or found["checksums"].shape != (rows, CHECKSUM)
                or found["checksums"].dtype != np.uint8
                or len(digests) != len(lengths)
                or (lengths < 0).any()
            ):
                raise DamagedTensorsError(f"{path}: the parts do not fit together")
            sketches = Sketches(projection, norm, error, factor)
            return cls(sketches, found["checksums"], digests, lengths, int(found["fitted"][0]))
        except (KeyError, ValueError, TypeError, IndexError, RuntimeError) as error_:
            raise DamagedTensorsError(f"{path}: {error_!r}") from error_

    def write(self, path: Path) -> None:
        own = self.sketches.to(torch.device("cpu"))
        projection, factor = own.projection, own.factor
        scale = torch.tensor([projection.scale], dtype=torch.float64)
        wide = {"norm": own.norm, "error": own.error, "scale": scale, "mean": projection.mean}
        if projection.directions is not None:
            wide = {"directions": projection.directions} | wide
        bits = factor.view(torch.int16) if factor.dtype == torch.bfloat16 else factor
        arrays = {name: tensor.numpy() for name, tensor in wide.items()}
        arrays |= {
            "fitted": np.array([self.fitted], np.int32),
            "layout": np.array([LAYOUT], np.int32),
            "lengths": self.lengths,
            "factor": bits.numpy(),
            "checksums": self.checksums,
        }
        arrays["digests"] = np.frombuffer(b"".join(self.digests), np.uint8).reshape(-1, _DIGEST)
        write_tensors(path, {name: [array] for name, array in arrays.items()})

    def match(
        self, digests: Sequence[bytes], lengths: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of these documents are among its own, and which of its own they are."""
        places = {digest: place for place, digest in enumerate(self.digests)}
        theirs = np.array([places.get(digest, -1) for digest in digests], np.int64)
        mine = np.flatnonzero(theirs >= 0)
        theirs = theirs[mine]
        same = self.lengths[theirs] == lengths[mine]
        return mine[same], theirs[same]

    def only(self, documents: NDArray[np.int64]) -> SavedSketches:
        """Those of some of its documents."""
        if len(documents) == len(self.lengths) and (np.diff(documents) == 1).all():
            return self
        first = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        rows = ranges(first[documents], self.lengths[documents])
        digests = [self.digests[place] for place in documents.tolist()]
        sketches, lengths = self.sketches.take(torch.from_numpy(rows)), self.lengths[documents]
        return SavedSketches(sketches, self.checksums[rows], digests, lengths, self.fitted)

    def for_dtype(self, dtype: torch.dtype) -> SavedSketches | None:
        """The same for products of another type. Nothing is lost by widening; a narrower type needs other errors."""
        own = self.sketches
        if own.projection.dtype == dtype:
            return self
        if (
            dtype != torch.float32 or own.projection.directions is None
        ):  # flat search rounds its rows each time
            return None
        wide = replace(own, projection=replace(own.projection, dtype=dtype), factor=own.factor.to(dtype))
        return replace(self, sketches=wide)
