"""What a streamed search reads from the disk, where memory keeps none of the file. The last line is one JSON object.

    python benchmarks/stream.py                        40 documents of 250 words, vectors like real exemplars
    python benchmarks/stream.py --directions 0         flat search, which reads every row for every batch of queries
    python benchmarks/stream.py --rows 10000000 --queries 100 --warm --folder DIR      20 GB, made in DIR and removed

read_ratio   bytes read from the disk, over those of the vectors: first for the sketches, then for the search
peak_gb      all the memory of the process
identical    whether the neighbours are those of a search in memory

`--queries` takes the place of documents, and `--warm` leaves the file in the system's cache as far as it fits there; a
set of more than a million rows is not searched in memory beside it, but a few queries are compared with brute force.
As long as the search runs, the file is dropped from the system's cache ten times a second, as under a memory limit
that leaves no room for it. Linux only: the bytes are those of /proc/self/io.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
from search import FEW, brute, make_files, peak

from exaudit.support.search import ExactSearch

COMPARED = 4  # queries by brute force, where the set is too large to be searched in memory beside it


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=40, help="of 250 words")
    parser.add_argument("--queries", type=int, help="so many words, instead of documents")
    parser.add_argument("--warm", action="store_true", help="leave the file in the system's cache")
    parser.add_argument(
        "--folder", type=Path, help="where the file is made; by default where temporary files go"
    )
    parser.add_argument("--directions", type=int, help="of the bound; tuned by default")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options, Path(options.measure))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        count = options.queries or 250 * options.documents
        files = make_files(Path(folder), options.rows, count, np.float16)
        command = [sys.executable, __file__, *sys.argv[1:], "--measure", folder]
        result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        found, queries = np.load(Path(folder) / "found.npy"), np.load(files[1]).astype(np.float32)
        if options.rows <= FEW:
            _, rows = ExactSearch(np.load(files[0])).search(queries, options.k)
        else:
            vectors = np.load(files[0], mmap_mode="r")
            rows = brute(vectors, queries[:COMPARED], options.k, "cpu")
        result["identical"] = bool(np.array_equal(rows, found[: len(rows)]))
    print(json.dumps(result))


def measure(options: argparse.Namespace, folder: Path) -> None:
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    queries = np.load(folder / "queries.npy").astype(np.float32)
    directions = "auto" if options.directions is None else options.directions
    search = ExactSearch(vectors, directions=directions, stream=True)
    with nullcontext() if options.warm else uncached(folder / "vectors.npy"):
        before, start = read_bytes(), time.perf_counter()
        used = search.directions_
        sketched, half = read_bytes(), time.perf_counter()
        _, rows = search.search(queries, options.k)
        done, end = read_bytes(), time.perf_counter()
    np.save(folder / "found.npy", rows)
    figures = {
        "rows": len(vectors),
        "queries": len(queries),
        "directions": used,
        "read_ratio": [round(bytes / vectors.nbytes, 2) for bytes in (sketched - before, done - sketched)],
        "seconds": [round(half - start, 1), round(end - half, 1)],
        "peak_gb": round(peak() / 1e9, 2),
    }
    print(json.dumps(figures))


@contextmanager
def uncached(path: Path) -> Iterator[None]:
    """Keep dropping a file from the system's cache, but for what is mapped just now."""
    over = threading.Event()
    with open(path, "rb") as file:
        os.fsync(file.fileno())  # only what is on the disk can be dropped

        def drop() -> None:
            while not over.wait(0.1):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

        thread = threading.Thread(target=drop)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def read_bytes() -> int:
    return int(Path("/proc/self/io").read_text().split("read_bytes:")[1].split()[0])


if __name__ == "__main__":
    main()
