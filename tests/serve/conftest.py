"""A small model with a support set, served on a free port of this machine."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.sample import sample_documents, sample_splits
from exaudit.decide.risk import Goal
from exaudit.model.digests import digest
from exaudit.model.folder import save_model
from exaudit.model.labeler import Labeler
from exaudit.serve import Workbench, create_app
from webclient import Client, Serve

Splits = dict[str, list[Document]]


@pytest.fixture(scope="session")
def splits() -> Splits:
    return sample_splits("reviews", sizes={"train": 300, "dev": 60, "test": 40})


@pytest.fixture(scope="session")
def made(splits: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with a support set of 80 documents, a K-NN and limits."""
    small = {"encoder": "none", "filters": 20, "vocabulary": 400, "word_dimension": 16, "device": "cpu"}
    labeler = Labeler(
        **small, epochs=10, batch_size=5, learning_rate=5.0, boundary="zero", tokens="whitespace"
    )
    folder = tmp_path_factory.mktemp("serve") / "model"
    save_model(labeler.fit(splits["train"], dev=splits["dev"]).model_, folder)
    auditor = Auditor.open(folder)
    auditor.build(splits["train"][:80], author="ann", reason="first set")
    auditor.fit_knn(splits["dev"])
    auditor.fit_admission(splits["dev"])
    return folder


@pytest.fixture(scope="module")
def serve(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start a workbench on a copy of the model, or on a folder that is given."""
    running: list[tuple[uvicorn.Server, threading.Thread, Workbench]] = []

    def start(folder: Path | None = None, **options: object) -> tuple[Workbench, Client]:
        if folder is None:
            folder = tmp_path_factory.mktemp("bench") / "model"
            shutil.copytree(made, folder)
        bench = Workbench(folder, device="cpu")
        place = socket.create_server(("127.0.0.1", 0))
        app = create_app(bench, **options)  # type: ignore[arg-type]
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        running.append((server, thread, bench))
        return bench, Client(place.getsockname()[1])

    yield start
    for server, thread, bench in running:
        server.should_exit = True
        thread.join(timeout=10)
        bench.close()


@pytest.fixture(scope="module")
def opened(serve: Serve, splits: Splits) -> tuple[Workbench, Client]:
    """With the test documents open."""
    bench, client = serve()
    client.wait(bench.open("test.jsonl", splits["test"], fingerprint="test").id)
    return bench, client


@pytest.fixture(scope="module")
def promising(
    made: Path, splits: Splits, serve: Serve, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Workbench, Client]:
    """The workbench of a model with a promise, and documents of the same kind open."""
    folder = tmp_path_factory.mktemp("promised") / "model"
    shutil.copytree(made, folder)
    auditor = Auditor.open(folder, device="cpu")
    seen = {digest(each) for part in ("train", "dev") for each in splits[part]}
    fresh = [each for each in sample_documents("reviews", 270, seed=78) if digest(each) not in seen]
    promise = auditor.fit_promise(fresh[:180], Goal(0.4, 0.9))
    auditor.fit_drift(promise.calibration)
    bench, client = serve(folder)
    client.wait(bench.open("fresh.jsonl", fresh[180:], fingerprint="fresh").id)
    return bench, client
