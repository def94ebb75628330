"""The workbench with a large file open. The last line is JSON.

    python benchmarks/serve_file.py                       100,000 sentences of the built-in learner sample
    python benchmarks/serve_file.py --documents 5000      a quick try

open_s      seconds to open the file, from the start of the command until its list is complete
again_s     the same, when the workbench is started again
disk_mb     what is kept of the file on disk
memory_mb   resident memory of the server: before the file is opened, once it is, the most meanwhile, and after all
            questions below were asked
open_cpu_s  processor time of that
ms          how long each question takes: the median of five, the longest, and the processor time, which others on the
            machine do not change
jobs_s      seconds for what is computed in the background
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.model.labeler import Labeler
from serve import ask, resident, serving

TRAIN, SUPPORT, HELD_OUT = 1500, 400, 300
ASKED = 5  # times each question is asked


def write(path: Path, documents: list[Document]) -> None:
    with open(path, "w") as file:
        for each in documents:
            file.write(json.dumps({"id": each.id, "text": each.text, "label": each.label}) + "\n")


def prepare(folder: Path, documents: int) -> None:
    """A model with a support set, a K-NN and limits, and the file."""
    known = sample_documents("learner", TRAIN + HELD_OUT, seed=0)
    train, held_out = known[:TRAIN], known[TRAIN:]
    Labeler(filters=300, epochs=4, device="cpu", cache="").fit(train, dev=held_out).save(folder / "model")
    auditor = Auditor.open(folder / "model", device="cpu")
    auditor.build(train[:SUPPORT])
    auditor.fit_knn(held_out)
    auditor.fit_admission(held_out)
    write(folder / "large.jsonl", sample_documents("learner", documents, seed=1))


def get(connection: http.client.HTTPConnection, path: str) -> object:
    status, body = ask(connection, "GET", path)
    assert status == 200, (path, status, body)
    return json.loads(body) if body[:1] in b"[{" else body


def wait(connection: http.client.HTTPConnection, process: int) -> tuple[float, int]:
    """Seconds until the file is open, and the most memory of the process meanwhile."""
    began, most = time.monotonic(), 0
    while True:
        told = get(connection, "/api/file")
        assert isinstance(told, dict)
        most = max(most, resident(process))
        if told["opening"] is None and told["name"] is not None:
            return time.monotonic() - began, most
        assert told["opening"] is None or told["opening"]["status"] in ("waiting", "running"), told
        time.sleep(0.2)


def questions(documents: int) -> dict[str, str]:
    """What pages ask about the file: a few of each kind."""
    listed, middle = "/api/file/documents?", documents // 2
    return {
        "first page": listed,
        "last page": f"{listed}start={documents - 20}",
        "errors": f"{listed}wrong=true",
        "class": f"{listed}predicted=i&start={middle // 10}",
        "refused": f"{listed}admitted=false",
        "weakest first": f"{listed}order=weakest&start={middle}",
        "search, many": f"{listed}text=the",
        "search, one": f"{listed}text={quote(f'learner-1-{documents - 1}')}",
        "search, none": f"{listed}text=xylophone",
        "all at once": f"{listed}wrong=true&predicted=i&admitted=false&text=the&order=weakest",
        "document": f"/api/file/documents/{middle}",
        "word": f"/api/file/documents/{middle}/words/1",
        "boundary, model": "/api/file/shares",
        "boundary, K-NN": "/api/file/shares?rule=knn",
        "queue": "/api/queue",
        "marks": "/api/marks",
        "page Label": "/",
        "page Model": "/model",
    }


def computed(process: int) -> float:
    """Seconds of processor time that a process has taken."""
    told = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def asked(connection: http.client.HTTPConnection, process: int, path: str) -> list[float]:
    times, before = [], computed(process)
    for _ in range(ASKED):
        began = time.monotonic()
        get(connection, path)
        times.append(1000 * (time.monotonic() - began))
    taken = 1000 * (computed(process) - before) / ASKED
    return [round(statistics.median(times), 1), round(max(times), 1), round(taken, 1)]


def analysed(connection: http.client.HTTPConnection, path: str) -> float:
    """Seconds until a page that is computed in the background is there."""
    began = time.monotonic()
    get(connection, path)
    while any(job["status"] in ("waiting", "running") for job in get(connection, "/api/jobs")):  # type: ignore[attr-defined]
        time.sleep(0.2)
    get(connection, path)
    return round(time.monotonic() - began, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where to keep model and file, for another run")
    options = parser.parse_args()
    found: dict[str, object] = {"documents": options.documents}
    memory: list[int] = []
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place)
        if not (folder / "large.jsonl").exists():
            prepare(folder, options.documents)
        with serving(folder / "model") as (process, port):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            get(connection, "/")
            time.sleep(10)  # until the model is there
            memory.append(resident(process))
        began = time.monotonic()
        with serving(folder / "model", str(folder / "large.jsonl")) as (process, port):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            _, most = wait(connection, process)
            found["open_s"] = round(time.monotonic() - began, 1)
            memory += [resident(process), most]
            found["open_cpu_s"] = round(computed(process), 1)
            found["ms"] = {
                name: asked(connection, process, path) for name, path in questions(options.documents).items()
            }
            pages = ("/features?class=i", "/reliability", "/compare")
            found["jobs_s"] = {path.split("?")[0][1:]: analysed(connection, path) for path in pages}
            memory.append(resident(process))
        began = time.monotonic()
        with serving(folder / "model") as (process, port):
            wait(http.client.HTTPConnection("127.0.0.1", port, timeout=600), process)
            found["again_s"] = round(time.monotonic() - began, 1)
        kept = (folder / "model" / "workbench" / "files").rglob("*")
        found["disk_mb"] = round(sum(each.stat().st_size for each in kept if each.is_file()) / 1e6)
        found["memory_mb"] = [round(each / 1e6) for each in memory]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
