"""What others cost us on a busy machine, and what sleeping threads cost on an idle one. The last line is JSON.

    python benchmarks/busy.py                          on two cores, alone and beside one and two busy processes
    python benchmarks/busy.py --size 0.1 --rounds 1    a quick try

busy_ratio          our time beside so many competitors, over our time alone; fair shares of two cores would be
                    1.5 or so beside one, and 2 beside two
spinning_ratio      the same for threads that spin while they wait, as those of OpenMP do unless they are told not to
passive_over_active our time alone over that of spinning threads alone: what sleeping costs where nobody else works

Times alone are the least of the rounds, those beside others the median. Both kinds of threads, and all numbers of
competitors, take turns in every round. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CORES = 2
COMPETITORS = (0, 1, 2)
# What libgomp and libomp do by themselves; that it is told keeps exaudit from choosing.
ENVIRONMENTS = {"passive": {}, "active": {"GOMP_SPINCOUNT": "300000", "KMP_BLOCKTIME": "200"}}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=float, default=1.0, help="of the work, in the usual one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.size)
        return
    if sys.platform == "linux":  # and so for all that is started from here
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    workers = {name: Worker(options.size, added) for name, added in ENVIRONMENTS.items()}
    times: dict[tuple[str, int, str], list[float]] = {}
    for turn in range(options.rounds):
        for count in COMPETITORS:
            with competitors(count):
                for name, worker in list(workers.items())[:: 1 if turn % 2 else -1]:  # no one is always first
                    for verb, seconds in worker.run().items():
                        times.setdefault((name, count, verb), []).append(seconds)
    for worker in workers.values():
        worker.stop()
    typical = {key: statistics.median(each) if key[1] else min(each) for key, each in times.items()}
    print(json.dumps(ratios(typical)))


def ratios(typical: dict[tuple[str, int, str], float]) -> dict[str, object]:
    verbs = list(dict.fromkeys(verb for _, _, verb in typical))
    print(f"{'seconds':<8} {'verb':<8}" + "".join(f"{n:>12} busy" for n in COMPETITORS))
    for name in ENVIRONMENTS:
        for verb in verbs:
            print(f"{name:<8} {verb:<8}" + "".join(f"{typical[name, n, verb]:>17.3f}" for n in COMPETITORS))

    def beside(name: str) -> dict[str, list[float]]:
        return {
            verb: [round(typical[name, n, verb] / typical[name, 0, verb], 2) for n in COMPETITORS[1:]]
            for verb in verbs
        }

    return {
        "competitors": COMPETITORS[1:],
        "busy_ratio": beside("passive"),
        "spinning_ratio": beside("active"),
        "passive_over_active": {
            verb: round(typical["passive", 0, verb] / typical["active", 0, verb], 3) for verb in verbs
        },
    }


@contextmanager
def competitors(count: int) -> Iterator[None]:
    """Processes that want a core each, all of the time."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    time.sleep(0.2 * bool(count))  # until they do
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


class Worker:
    """A process of its own, for the environment is read but once."""

    def __init__(self, size: float, added: dict[str, str]) -> None:
        command = [sys.executable, __file__, "--serve", "--size", str(size)]
        unset = {"OMP_WAIT_POLICY", "OMP_NUM_THREADS", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}
        environment = {name: value for name, value in os.environ.items() if name not in unset} | added
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._answer()  # it is ready

    def run(self) -> dict[str, float]:
        """Seconds of each verb."""
        assert self._process.stdin is not None
        print("run", file=self._process.stdin, flush=True)
        return self._answer()

    def stop(self) -> None:
        self._process.communicate()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise SystemExit("a worker has failed; see above")
        answer: dict[str, float] = json.loads(line)
        return answer


def serve(size: float) -> None:
    """Make ready, and do all the work once whenever a line comes."""
    with tempfile.TemporaryDirectory() as folder:
        work = jobs(size, folder)
        for job in work.values():
            job()  # the first time is never like the others
        print(json.dumps({}), flush=True)
        for _ in sys.stdin:
            times = {}
            for verb, job in work.items():
                start = time.perf_counter()
                job()
                times[verb] = time.perf_counter() - start
            print(json.dumps(times), flush=True)


def jobs(size: float, folder: str) -> dict[str, Callable[[], object]]:
    import exaudit  # before torch, so that it can tell torch's threads how to wait
    from exaudit._progress import hush

    hush()
    import numpy as np

    from exaudit.support.search import ExactSearch

    def some(count: int) -> int:
        return max(8, int(size * count))

    documents = exaudit.sample_documents("learner", some(400), seed=1)
    examples = exaudit.sample_documents("learner", some(200), seed=0)
    labeler = exaudit.Labeler(epochs=1, device="cpu", cache="").fit(examples)
    labeler.save(f"{folder}/model")
    auditor = exaudit.Auditor.open(f"{folder}/model", device="cpu")
    auditor.build(examples)
    draws = np.random.default_rng(0)
    vectors = draws.standard_normal((some(50_000), 1000), np.float32)
    queries = draws.standard_normal((some(500), 1000), np.float32)
    search = ExactSearch(vectors)
    return {
        "label": lambda: list(labeler.iter_label(documents)),
        "audit": lambda: [auditor.audit(document) for document in documents[: some(40)]],
        "train": lambda: exaudit.Labeler(epochs=1, device="cpu", cache="").fit(examples),
        "search": lambda: search.search(queries, 8),
    }


if __name__ == "__main__":
    main()
