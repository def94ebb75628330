"""The workbench under load, beside the command line. The last line is JSON.

    python benchmarks/serve.py                                 20 clients for 60 s on two cores, three rounds
    python benchmarks/serve.py --seconds 5 --exemplars 20000   a quick try

of_command_line  texts of 200 words a second that parallel clients get labelled, over those of `exaudit label` on such
                 texts (less the time that it takes to start, taken from a file of one); in turn, median of the rounds
errors           answers other than 200
p95_ms           how long a client waits, at most, in 19 of 20 requests
click_ms         how long a click on a word waits, median and 95%, on a support set of so many exemplars
memory_ratio     resident memory of the server after 10,000 requests over that after 1,000 of them
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.model.labeler import Labeler

CORES, WORDS = 2, 200
HEADERS = {"x-exaudit": "1", "content-type": "application/json"}


@dataclass(frozen=True)
class Load:
    rate: float  # texts a second
    times: list[float]
    errors: int


def texts(count: int) -> list[str]:
    """Reviews one after another, each text of 200 words and unlike the others."""
    words = [token for each in sample_documents("reviews", count * 9, seed=3) for token in each.tokens]
    return [" ".join(words[n * WORDS : (n + 1) * WORDS]) for n in range(count)]


@contextmanager
def serving(model: Path, *more: str) -> Iterator[tuple[int, int]]:
    """The process of `exaudit serve` and its port."""
    command = [sys.executable, "-m", "exaudit", "serve", str(model), *more, "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = next(each for each in process.stderr if "http://" in each)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process.pid, int(line.split("127.0.0.1:")[1].split("/")[0])
    finally:
        process.terminate()
        process.wait()


def ask(
    connection: http.client.HTTPConnection, method: str, path: str, value: object = None
) -> tuple[int, bytes]:
    connection.request(method, path, None if value is None else json.dumps(value), HEADERS)
    answer = connection.getresponse()
    return answer.status, answer.read()


def load(port: int, pool: list[str], clients: int, *, seconds: float = 1e9, requests: int = 10**9) -> Load:
    """Parallel clients, for so long or until so many requests were sent."""
    times: list[float] = []
    errors = 0
    numbers = iter(range(requests))
    stop = time.monotonic() + seconds

    def client() -> None:
        nonlocal errors
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while time.monotonic() < stop and (n := next(numbers, None)) is not None:
            text = f"{pool[n % len(pool)]} {time.monotonic_ns()}"  # never the same twice: nothing is known already
            began = time.monotonic()
            status, _ = ask(connection, "POST", "/api/label", {"text": text})
            times.append(time.monotonic() - began)
            errors += status != 200

    began = time.monotonic()
    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Load(len(times) / (time.monotonic() - began), times, errors)


def command_line(model: Path, folder: Path, pool: list[str], count: int) -> float:
    """Texts a second of `exaudit label`, without its start."""

    def seconds(some: list[str]) -> float:
        (folder / "pool.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in some))
        command = [sys.executable, "-m", "exaudit", "label", str(model), str(folder / "pool.jsonl")]
        began = time.monotonic()
        subprocess.run([*command, "--out", str(folder / "out.jsonl")], check=True, capture_output=True)
        return time.monotonic() - began

    some = [f"{pool[n % len(pool)]} {n}" for n in range(count)]
    return (count - 1) / (seconds(some) - seconds(some[:1]))


def clicks(port: int, count: int) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    _, body = ask(connection, "POST", "/api/label", {"text": texts(1)[0]})
    key, times = json.loads(body)["key"], []
    for n in range(count):
        began = time.monotonic()
        status, _ = ask(connection, "GET", f"/api/texts/{key}/words/{n % WORDS}")
        assert status == 200
        times.append(time.monotonic() - began)
    return times


def resident(process: int) -> int:
    """Bytes of a process, where the system tells."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--exemplars", type=int, default=450_000, help="of the support set that is clicked on"
    )
    parser.add_argument(
        "--requests", type=int, default=10_000, help="before memory is compared; 0: it is not"
    )
    options = parser.parse_args()
    if sys.platform == "linux":  # and so for all that is started from here
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    pool, found = texts(400), dict[str, object]()
    train = sample_documents("reviews", 300, seed=0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        Labeler(epochs=1, device="cpu", cache="").fit(train).save(folder / "model")
        rounds, told = list[Load](), list[float]()
        with serving(folder / "model") as (process, port):
            load(port, pool, options.clients, seconds=3)  # until the model is there
            for _ in range(options.rounds):
                rounds.append(load(port, pool, options.clients, seconds=options.seconds / options.rounds))
                told.append(command_line(folder / "model", folder, pool, 200))
            if options.requests:
                short = [" ".join(text.split()[:10]) for text in pool]
                load(port, short, options.clients, requests=options.requests // 10)
                first = resident(process)
                rounds.append(load(port, short, options.clients, requests=options.requests * 9 // 10))
                found["memory_ratio"] = round(resident(process) / first, 3) if first else None
        long = rounds[: options.rounds]
        ratios = [ours.rate / theirs for ours, theirs in zip(long, told, strict=True)]
        waits = [wait for each in long for wait in each.times]
        found["of_command_line"] = round(statistics.median(ratios), 3)
        found["errors"] = sum(each.errors for each in rounds)
        found["p95_ms"] = round(1000 * statistics.quantiles(waits, n=20)[-1])
        found["texts_a_second"] = round(statistics.median(each.rate for each in long), 1)

        documents = [
            Document.from_text(text, id=str(n), label=("positive", "negative")[n % 2])
            for n, text in enumerate(texts(max(1, options.exemplars // WORDS)))
        ]
        Auditor.open(folder / "model").build(documents)
        with serving(folder / "model") as (_, port):
            times = clicks(port, 200)
        slow = statistics.quantiles(times, n=20)[-1]
        found["click_ms"] = [round(1000 * statistics.median(times), 1), round(1000 * slow, 1)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
