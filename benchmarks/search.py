"""Exact search against faiss and against flat search. The last line is one JSON object.

    python benchmarks/search.py                                  vectors made with the spectrum of real exemplars
    python benchmarks/search.py --vectors support.npy --queries test.npy
    python benchmarks/search.py --device cuda --count 41477 --random-rows 0      no faiss needed
    python benchmarks/search.py --growth docs/results/scaling    how it grows with rows and with k, plotted

`vs_faiss` is the queries a second of ExactSearch over those of faiss IndexFlatL2 on the same threads, run with
whichever BLAS kernel is fastest for it. faiss runs in a process of its own (`--faiss-python`: an interpreter that
has it). `cpu_vs_faiss` is the same by the processor's time, for machines that others share; give it `--threads 1`,
since threads that spin while they wait count, too. `random_vs_flat` is flat search's time over ours on random vectors,
the pilot included. Each pair takes turns, and the best of each counts. `identical` compares with float64 brute force.

On a GPU, `variants` has the seconds of torch alone and of kernels of several shapes, `sent` the milliseconds that
sending the queries takes, and `--profile` tells where the time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from exaudit.support.search import ExactSearch

ROWS, WIDTH = 452_833, 1000
FEW = 1_000_000  # rows that are drawn one by one
# Queries, rows and columns at a time, warps and stages of the kernels to be tried on a GPU.
TILES = (
    (128, 128, 32, 4, 4),
    (128, 128, 64, 4, 3),
    (128, 256, 32, 8, 4),
    (128, 256, 64, 8, 3),
    (256, 128, 32, 8, 4),
)
KERNELS = ("SkylakeX", "Zen", "Haswell", "")
FAISS = """
import sys, time, numpy, faiss
vectors, queries, rows, count, k, threads, found = sys.argv[1:]
faiss.omp_set_num_threads(int(threads))
index = None
for line in sys.stdin:
    if index is None:
        vectors = numpy.load(vectors, mmap_mode="r")[:int(rows)]
        queries = numpy.load(queries, mmap_mode="r")[:int(count)].astype("float32")
        index = faiss.IndexFlatL2(vectors.shape[1])
        for start in range(0, len(vectors), 16384):
            index.add(vectors[start:start + 16384].astype("float32"))
    start, cpu = time.perf_counter(), time.process_time()
    rows = index.search(queries, int(k))[1]
    print(time.perf_counter() - start, time.process_time() - cpu, flush=True)
    numpy.save(found, rows)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=Path, help=".npy, float32 or float16 (rows, width)")
    parser.add_argument("--queries", type=Path, help=".npy of the same width")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows to use or to make")
    parser.add_argument("--count", type=int, default=2048, help="queries to use or to make")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--random-rows", type=int, default=200_000, help="0 leaves out the random vectors")
    parser.add_argument(
        "--growth", type=Path, metavar="DIR", help="plot how the search grows, and nothing else"
    )
    parser.add_argument("--profile", action="store_true", help="of one search on a GPU, kernel by kernel")
    parser.add_argument("--faiss-python", default=os.environ.get("EXAUDIT_FAISS_PYTHON", sys.executable))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        result = (growth if options.growth else run)(options, Path(folder))
    print(json.dumps(result))


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    if bool(options.vectors) != bool(options.queries):
        raise SystemExit("--vectors and --queries go together")
    made = options.vectors is None
    files = (options.vectors, options.queries)
    if made:
        print("vectors made with the spectrum of real exemplars, not real ones", flush=True)
        files = make_files(folder, options.rows, options.count)
    vectors = np.load(files[0], mmap_mode="r")[: options.rows]
    queries = np.array(np.load(files[1], mmap_mode="r")[: options.count], dtype=np.float32)
    result: dict[str, Any] = {
        "made": made,
        "rows": len(vectors),
        "queries": len(queries),
        "k": options.k,
        "device": options.device,
    }
    vectors = np.array(vectors)
    start = time.perf_counter()
    search = ExactSearch(vectors, device=options.device)
    result["directions"] = search.directions_
    result["fit_s"] = round(time.perf_counter() - start, 3)
    cpu = options.device == "cpu"
    faiss = best_faiss(options, files, folder) if cpu else None
    if not cpu:
        result |= variants(search, queries, options)
    ours, theirs, ours_cpu, theirs_cpu = [], [], [], []
    for _ in range(options.turns if cpu else 5):
        start, start_cpu = time.perf_counter(), time.process_time()
        _, rows = search.search(queries, options.k)
        ours.append(time.perf_counter() - start)
        ours_cpu.append(time.process_time() - start_cpu)
        if faiss is not None:
            wall, spent = faiss.turn()
            theirs.append(wall)
            theirs_cpu.append(spent)
        print(f"turn: {ours[-1]:.3f} s" + (f", faiss {theirs[-1]:.3f} s" if theirs else ""), flush=True)
    result |= {"seconds": round(min(ours), 4), "queries_per_s": round(len(queries) / min(ours), 1)}
    result["identical"] = bool(
        np.array_equal(rows[:128], brute(vectors, queries[:128], options.k, options.device))
    )
    if faiss is not None:
        result |= {
            "vs_faiss": round(min(theirs) / min(ours), 2),
            "cpu_vs_faiss": round(min(theirs_cpu) / min(ours_cpu), 2),
            "faiss_queries_per_s": round(len(queries) / min(theirs), 1),
            "faiss_kernel": faiss.kernel,
            "faiss_same_share": round(float((faiss.found() == rows).mean()), 6),
        }
        faiss.close()
    del search, vectors
    if cpu:
        result |= memory(options, files)
    if options.random_rows:
        result |= random_against_flat(options)
    return result


def variants(search: ExactSearch, queries: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    """The search on a GPU by torch alone, and by kernels of several shapes; the first turn of each compiles."""
    from exaudit.support.products import kernels

    device = torch.device(options.device)
    asked, sent = torch.from_numpy(queries), {}
    for name, send in {
        "pageable": lambda: asked.to(device),
        "pinned": lambda: asked.pin_memory().to(device),
    }.items():
        sent[name] = round(1000 * best_of(send), 1)
    module = kernels(device)
    shapes: list[tuple[int, ...] | None] = [None]
    if module is not None:
        usual = tuple(module.TILE)
        shapes += [usual, *(shape for shape in TILES if shape != usual)]
    seconds, first = {}, None
    for shape in shapes:
        search._kernels = None if shape is None else module
        if shape is not None:
            module.TILE = module.Tile(*shape)
        name = "torch" if shape is None else "x".join(map(str, shape))
        try:
            _, rows = search.search(queries, options.k)
            seconds[name] = round(best_of(lambda: search.search(queries, options.k)), 4)
        except Exception as error:  # one that does not fit this GPU
            print(f"{name}: {error}", flush=True)
            continue
        first = rows if first is None else first
        print(f"{name}: {seconds[name]:.4f} s, the same rows: {np.array_equal(rows, first)}", flush=True)
    search._kernels = module
    if module is not None:
        module.TILE = module.Tile(*usual)
    if options.profile:
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            search.search(queries, options.k)
        print(profile.key_averages().table(sort_by="self_device_time_total", row_limit=25), flush=True)
    return {"sent": sent, "variants": seconds}


def best_of(work: Callable[[], Any], turns: int = 4) -> float:
    best = np.inf
    for _ in range(turns):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return float(best)


def growth(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Processor time of a query over rows, and over k, for made vectors; two plots and a table of figures."""
    from exaudit.analyse.report.blocks import Plot, Series
    from exaudit.analyse.report.svg import panels

    sizes = [
        size for size in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000) if size <= options.rows
    ]
    files = make_files(folder, max(sizes), 512)
    vectors, queries = np.load(files[0], mmap_mode="r"), np.load(files[1])
    cpu = options.device == "cpu"
    clock, unit = (time.process_time, "CPU milliseconds") if cpu else (time.perf_counter, "milliseconds")

    def milliseconds(search: ExactSearch, k: int) -> float:
        spent = []
        for _ in range(options.turns + 1):
            start = clock()
            search.search(queries, k)
            spent.append(clock() - start)
        return round(1000 * min(spent) / len(queries), 4)

    ks = (1, 2, 4, 8, 16, 32, 64, 100)
    by_rows = []
    for size in sizes:
        search = ExactSearch(np.array(vectors[:size]), device=options.device)
        by_rows.append(milliseconds(search, options.k))
        print(f"{size} rows, {search.directions_} directions: {by_rows[-1]} ms", flush=True)
    by_k = [milliseconds(search, k) for k in ks]
    print(dict(zip(ks, by_k, strict=True)), flush=True)
    plots = [
        Plot(title, f"{title}: {unit} a query, both on logarithmic axes.", label, f"{unit} a query",
             (Series("exact search", tuple(map(float, x)), tuple(y)),), logarithmic=True)
        for title, label, x, y in (
            (f"Growth with rows, k = {options.k}", "rows", sizes, by_rows),
            (f"Growth with k, {sizes[-1]:,} rows", "k", ks, by_k),
        )
    ]  # fmt: skip
    options.growth.mkdir(parents=True, exist_ok=True)
    (options.growth / "search.svg").write_text(panels("Exact search", plots, across=2))
    result = {
        "command": f"python benchmarks/search.py --growth docs/results/scaling --rows {sizes[-1]} "
        f"--threads {options.threads}" + ("" if cpu else f" --device {options.device}"),
        "unit": f"{unit} a query",
        "rows": dict(zip(sizes, by_rows, strict=True)),
        "k": dict(zip(ks, by_k, strict=True)),
    }
    (options.growth / "search.json").write_text(json.dumps(result, indent=1) + "\n")
    return result


def random_against_flat(options: argparse.Namespace) -> dict[str, Any]:
    """Vectors without any structure: the pilot must see it, quickly."""
    draw = np.random.default_rng(1)
    vectors = draw.standard_normal((options.random_rows, WIDTH), dtype=np.float32)
    queries = draw.standard_normal((options.count, WIDTH), dtype=np.float32)
    seconds: dict[Any, float] = {}
    for _ in range(options.turns):
        for directions in ("auto", 0):
            start = time.perf_counter()
            search = ExactSearch(vectors, device=options.device, directions=directions)
            search.search(queries, options.k)
            spent = time.perf_counter() - start
            seconds[directions] = min(spent, seconds.get(directions, spent))
            print(f"random vectors, {directions}: {search.directions_} directions, {spent:.3f} s", flush=True)
    plain = plain_flat(vectors, queries, options)
    return {
        "random_vs_flat": round(seconds[0] / seconds["auto"], 3),
        "random_vs_plain_float32": round(plain / seconds["auto"], 3),
    }


def plain_flat(vectors: np.ndarray, queries: np.ndarray, options: argparse.Namespace) -> float:
    """Seconds of the textbook: float32 products in blocks and a running top k."""
    device = torch.device(options.device)
    rows, asked = torch.from_numpy(vectors).to(device), torch.from_numpy(queries).to(device)
    start = time.perf_counter()
    norms = rows.square().sum(1)
    best = torch.full((len(asked), options.k), torch.inf, device=device)
    for first in range(0, len(rows), 8192):
        block = rows[first : first + 8192]
        squared = torch.addmm(norms[first : first + 8192], asked, block.T, alpha=-2)
        nearest = squared.topk(options.k, dim=1, largest=False).values
        best = torch.cat([best, nearest], dim=1).topk(options.k, dim=1, largest=False).values
    best.cpu()
    return time.perf_counter() - start


def brute(vectors: np.ndarray, queries: np.ndarray, k: int, device: str) -> np.ndarray:
    """Float64 brute force: products to sort out the 4 k nearest, then differences, then distance and row."""
    asked = torch.from_numpy(queries).double().to(device)
    squared = []
    for first in range(0, len(vectors), 16384):
        block = torch.from_numpy(np.ascontiguousarray(vectors[first : first + 16384])).to(device).double()
        squared.append(block.square().sum(1) - 2 * (asked @ block.T))
    near = np.sort(torch.cat(squared, dim=1).topk(4 * k, dim=1, largest=False).indices.cpu().numpy(), axis=1)
    found = np.empty((len(queries), k), dtype=np.int64)
    for place, (query, rows) in enumerate(zip(queries, near, strict=True)):
        exact = ((vectors[rows].astype(np.float64) - query.astype(np.float64)) ** 2).sum(axis=1)
        found[place] = rows[np.argsort(exact, kind="stable")[:k]]
    return found


class Faiss:
    """faiss in another process, because its BLAS kernel is chosen when it starts."""

    def __init__(
        self, options: argparse.Namespace, files: Any, folder: Path, kernel: str, small: bool
    ) -> None:
        self.kernel, self._file = kernel, folder / "faiss.npy"
        rows, count = (32_768, 256) if small else (options.rows, options.count)
        arguments = [*files, rows, count, options.k, options.threads, self._file]
        environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
        if kernel:
            environment["OPENBLAS_CORETYPE"] = kernel
        command = [options.faiss_python, "-c", FAISS, *map(str, arguments)]
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def turn(self) -> tuple[float, float]:
        """Seconds by the clock and of the processor."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        wall, cpu = self._process.stdout.readline().split()
        return float(wall), float(cpu)

    def found(self) -> np.ndarray:
        return np.load(self._file)

    def close(self) -> None:
        self._process.communicate()


def best_faiss(options: argparse.Namespace, files: Any, folder: Path) -> Faiss | None:
    if subprocess.run([options.faiss_python, "-c", "import faiss"], capture_output=True).returncode:
        print("faiss is not installed there; see --faiss-python", flush=True)
        return None
    trials = [Faiss(options, files, folder, kernel, small=True) for kernel in KERNELS]
    seconds: dict[str, float] = {}
    for _ in range(6):  # in turns, so that other work on the machine hits all alike
        for trial in trials:
            seconds[trial.kernel] = min(seconds.get(trial.kernel, np.inf), trial.turn()[1])
    for trial in trials:
        trial.close()
    print(
        "faiss kernels:",
        {kernel or "its own": round(least, 3) for kernel, least in seconds.items()},
        flush=True,
    )
    return Faiss(options, files, folder, min(seconds, key=lambda kernel: seconds[kernel]), small=False)


def make_files(folder: Path, rows: int, count: int, dtype: type = np.float32) -> tuple[Path, Path]:
    """Tokens as words in contexts: a centre for each word (by Zipf), one for each context of it, and the rest,
    all with the spectrum measured on FCE: 128 of 1000 principal directions hold 95.5%, 256 hold 98.9%.

    For more rows than can be drawn in a minute, the rest is that of two of 65,536 draws."""
    draw = np.random.default_rng(0)
    left = np.exp(np.interp(np.arange(WIDTH + 1), [0, 128, 256, WIDTH], np.log([1, 0.045, 0.011, 1e-4])))
    spread = np.sqrt(-np.diff(left)).astype(np.float32)
    turn = np.linalg.qr(draw.standard_normal((WIDTH, WIDTH)))[0].astype(np.float32)
    basis = 30 * spread[:, None] * turn  # (WIDTH, WIDTH)
    words = draw.standard_normal((12_000, WIDTH), dtype=np.float32)
    contexts = draw.standard_normal((30_000, WIDTH), dtype=np.float32)
    words, contexts = 0.7 * words @ basis, 0.55 * contexts @ basis
    pool = (
        None
        if rows <= FEW
        else draw.standard_normal((1 << 16, WIDTH), dtype=np.float32) @ (0.45 / 2**0.5 * basis)
    )
    files = []
    for name, total in (("vectors", rows), ("queries", count)):
        files.append(folder / f"{name}.npy")
        out = np.lib.format.open_memmap(files[-1], "w+", dtype, (total, WIDTH))
        for start in range(0, total, 16384):
            size = min(16384, total - start)
            word = np.minimum(draw.zipf(1.3, size) - 1, len(words) - 1)
            context = (word * 7919 + draw.integers(0, 40, size)) % len(contexts)  # 40 contexts a word
            if pool is None:
                rest = draw.standard_normal((size, WIDTH), dtype=np.float32) @ (0.45 * basis)
            else:
                rest = pool[draw.integers(0, len(pool), size)] + pool[draw.integers(0, len(pool), size)]
            out[start : start + size] = words[word] + contexts[context] + rest
        out.flush()
    return files[0], files[1]


def memory(options: argparse.Namespace, files: Any) -> dict[str, float]:
    """Peak memory of a process that only searches, over the size of the vectors; and in all when told to stream."""
    peaks = {}
    for stream in (False, True):
        arguments = [*files, options.rows, min(options.count, 512), options.k, int(stream)]
        command = [sys.executable, __file__, "--measure-memory", *map(str, arguments)]
        peaks[stream] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {
        "search_peak_ratio": round(peaks[False]["ratio"], 3),
        "stream_peak_gb": round(peaks[True]["gb"], 3),
    }


def measure_memory(vectors: str, queries: str, rows: str, count: str, k: str, stream: str) -> None:
    before = peak()
    mapped = np.load(vectors, mmap_mode="r")
    with open(vectors, "rb") as file:  # read, not copied out of the map, whose pages would count twice
        file.seek(mapped.offset)
        read = np.fromfile(file, mapped.dtype, 0 if int(stream) else mapped.size).reshape(-1, mapped.shape[1])
    asked = np.load(queries)[: int(count)].astype(np.float32)
    search = ExactSearch((mapped if int(stream) else read)[: int(rows)], stream=bool(int(stream)))
    search.search(asked, int(k))
    print(json.dumps({"ratio": (peak() - before) / mapped.nbytes, "gb": peak() / 1e9}))


def peak() -> int:
    """Most memory this process ever held; `getrusage` would start from its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure-memory"]:
        measure_memory(*sys.argv[2:])
    else:
        main()
