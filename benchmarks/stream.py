"""What a streamed search reads from the disk, where memory keeps none of the file. The last line is one JSON object.

    python benchmarks/stream.py                        40 documents of 250 words, vectors like real exemplars
    python benchmarks/stream.py --directions 0         flat search, which reads every row for every batch of queries

read_ratio   bytes read from the disk, over those of the vectors: first for the sketches, then for the search
peak_gb      all the memory of the process
identical    whether the neighbours are those of a search in memory

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
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from search import make_files, peak

from exaudit.support.search import ExactSearch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=40, help="of 250 words")
    parser.add_argument("--directions", type=int, help="of the bound; tuned by default")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options, Path(options.measure))
        return
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder), options.rows, 250 * options.documents)
        vectors = np.load(files[0]).astype(np.float16)
        np.save(files[0], vectors)
        command = [sys.executable, __file__, *sys.argv[1:], "--measure", folder]
        result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        _, rows = ExactSearch(vectors).search(np.load(files[1]), options.k)
        result["identical"] = bool(np.array_equal(rows, np.load(Path(folder) / "found.npy")))
    print(json.dumps(result))


def measure(options: argparse.Namespace, folder: Path) -> None:
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    queries = np.load(folder / "queries.npy")
    directions = "auto" if options.directions is None else options.directions
    search = ExactSearch(vectors, directions=directions, stream=True)
    with uncached(folder / "vectors.npy"):
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
