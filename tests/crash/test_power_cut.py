"""A power cut at any moment: what was acknowledged is there, and what was not is there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forgetful_disk import Disk, Recording, write

import exaudit
from exaudit.cli import run
from exaudit.data.sample import write_sample
from exaudit.model.folder import load_model
from exaudit.support.store import LanceSupportSet


def _strace() -> bool:
    try:
        return subprocess.run(["strace", "-f", "--seccomp-bpf", "true"], capture_output=True).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not _strace(), reason="strace is not installed, or may not trace here")


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks need not wait for the disk; the recorded programs do."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is such a thing: it is written anew for every cut."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder, "here")


State = Any
EDITS = """
import numpy as np
from exaudit.data.document import Document
from exaudit.support import store
from exaudit.support.build import Build
from exaudit.support.exemplars import SupportBatch

def batch(*names):
    documents = [Document.from_tokens(["a", "b", "c"], id=name, label="negative") for name in names]
    tokens = 3 * len(names)
    return SupportBatch(documents, np.ones((tokens, 4), np.float32), np.zeros(tokens))

def step(name, act):
    print("begin", name, flush=True)
    act()
    print("done", name, flush=True)

step("create", lambda: store.LanceSupportSet.create("s", width=4, labels=("negative", "positive"), model="m"))
store._LOG_FILES = 6  # so that the log is merged, too
s = store.LanceSupportSet.open("s")
step("add", lambda: s.add(batch("a", "b")))
step("relabel", lambda: s.relabel_document("a", "positive"))
step("relabel token", lambda: s.relabel_token("a", 1, 1))
step("add again", lambda: s.add(batch("c")))
step("remove", lambda: s.remove("b"))
step("undo", s.undo)
step("redo", s.redo)
step("tag", lambda: s.tag("t"))
step("replace", lambda: s.add(batch("c"), replace=True))
step("compact", s.compact)
step("untag", lambda: s.untag("t"))
step("compact again", s.compact)
build = Build(s, "k")
step("build", lambda: [build.add(batch("d")), build.add(batch("e")), build.finish()])
"""

SMALL = "--encoder none --filters 4 --epochs 2 --vocabulary 50 --word-dimension 4 --device cpu"
VERBS = """
from exaudit.audit import edits
from exaudit.cli import run
edits._TOKENS = 100  # builds in parts

def step(name, *arguments):
    print("begin", name, flush=True)
    assert run(list(arguments)) == 0
    print("done", name, flush=True)

small = "SMALL".split()
step("train", "train", "reviews.train.jsonl", "--out", "model", *small)
step("build", "support", "build", "model", "reviews.dev.jsonl")
step("add", "support", "add", "model", "reviews.test.jsonl", "--id-prefix", "t")
step("relabel", "support", "relabel", "model", "reviews-0-40", "--token", "1", "--label", "unknown")
step("remove", "support", "remove", "model", "reviews-0-41")
step("undo", "support", "undo", "model")
step("redo", "support", "redo", "model")
step("tag", "support", "tag", "model", "good")
step("compact", "support", "compact", "model")
step("knn fit", "knn", "fit", "model", "reviews.test.jsonl", "-k", "2")
step("admission fit", "admission", "fit", "model", "reviews.test.jsonl")
step("train again", "train", "reviews.train.jsonl", "--out", "model", "--overwrite", *small, "--seed", "1")
"""


def record(script: str, root: Path) -> Recording:
    root.mkdir(exist_ok=True)
    ours = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(exaudit.__file__).parents[1])}
    environment = {**os.environ, **ours, "EXAUDIT_CACHE": str(root.with_name("cache"))}
    recording = Recording.of(script, root, environment)
    *_, (_, disk) = recording.replay()
    real = {str(p.relative_to(root)): None if p.is_dir() else p.read_bytes() for p in root.rglob("*")}
    assert disk.left(names=-1, share=1) == real  # the replay has missed nothing
    return recording


def cuts(
    recording: Recording, *, everywhere: bool
) -> Iterator[tuple[tuple[str, ...], dict[str, bytes | None]]]:
    """What the program had said, and what is left of the disk: without and with what was never synced, in part."""
    seen: set[bytes] = set()
    draw = random.Random(0)

    def leave(disk: Disk) -> Iterator[dict[str, bytes | None]]:
        yield disk.left()
        yield disk.left(names=-1)
        yield disk.left(draw=draw)

    for call, disk in recording.replay():
        if not (everywhere or call in ("fsync", "said", "end")):
            continue
        for content in leave(disk):
            key = hashlib.sha256(repr((disk.said, sorted(content.items()))).encode()).digest()
            if key not in seen:
                seen.add(key)
                yield tuple(disk.said), content


def states_of(recording: Recording, folder: Path, state: Callable[[Path], State]) -> dict[str, State]:
    """The state that each step of the program ended with."""
    states = {"": state(folder.with_name("nothing"))}
    for call, disk in recording.replay():
        if call == "said" and disk.said[-1].startswith("done "):
            write(disk.left(names=-1, share=1), folder)
            states[disk.said[-1].removeprefix("done ")] = state(folder)
    return states


def allowed_after(said: tuple[str, ...], states: dict[str, State]) -> tuple[str, list[State]]:
    """The last step that was begun, and what may be found: the state before it or after; once it said so, after."""
    begun = [line.removeprefix("begin ") for line in said if line.startswith("begin ")]
    if not begun:
        return "", [states[""]]
    names = list(states)
    before = names[names.index(begun[-1]) - 1]
    return begun[-1], [
        states[name] for name in ((before, begun[-1]) if said[-1].startswith("begin ") else begun[-1:])
    ]


def edits_state(folder: Path) -> State:
    return set_state(folder / "s")


def set_state(location: Path) -> State:
    if not LanceSupportSet.exists(location):
        return None
    support = LanceSupportSet.open(location)
    support.verify()
    return support.number, support.version, tuple(sorted(support.tags())), len(support.log())


@pytest.mark.parametrize("everywhere", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_edits(tmp_path: Path, here: Path, everywhere: bool) -> None:
    recording = record(EDITS, tmp_path / "root")
    states = states_of(recording, here, edits_state)
    assert len(set(states.values())) == len(states) == 15
    met = set()
    for number, (said, content) in enumerate(cuts(recording, everywhere=everywhere)):
        name, allowed = allowed_after(said, states)
        write(content, here)
        found = edits_state(here)
        assert found in allowed, (said[-1:], found)
        met.add((name, len(allowed), allowed.index(found)))
        if (
            found is not None and number % 9 == 0
        ):  # it can be edited, and nothing of the interrupted edit is left
            LanceSupportSet.open(here / "s").tag("probe")
            edits_state(here)
            assert [p.name for p in here.rglob("*") if ".tmp" in p.name or "#" in p.name] == []
    assert number > 100
    assert {("add", 2, 0), ("add", 2, 1), ("add", 1, 0)} <= met


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    root = tmp_path_factory.mktemp("verbs") / "root"
    for path in write_sample(root, sizes={"train": 40, "dev": 20, "test": 20}):
        if not path.match("reviews.*.jsonl"):
            path.unlink()
    return record(VERBS.replace("SMALL", SMALL), root)


def verbs_state(folder: Path) -> State:
    model = folder / "model"
    if not model.exists():
        return None
    weights = load_model(model, device="cpu").head.weight.detach().numpy().tobytes()
    fitted = tuple(
        p.read_text() if p.exists() else None for p in (model / "knn.json", model / "admission.json")
    )
    support = set_state(model / "support")
    return hashlib.sha256(weights).hexdigest()[:8], fitted, support


@pytest.mark.slow
def test_verbs(verbs: Recording, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = states_of(verbs, here, verbs_state)
    assert len(states) == 13
    stops = {"train": 0, "build": 0}
    for said, content in cuts(verbs, everywhere=False):
        name, allowed = allowed_after(said, states)
        write(content, here)
        found = verbs_state(here)
        stopped = name == "build" and len(allowed) == 2 and found[2] is not None and found[2][0] == 0
        assert found in allowed or stopped, name
        if name not in stops or found == states[name]:
            continue
        stops[name] += 1
        if stops[name] % 4 == 1:
            with monkeypatch.context() as patch:
                patch.chdir(here)
                go_on(name)
            assert verbs_state(here)[2 if name == "build" else 0] is not None
            assert not [path for path in here.rglob("*") if ".tmp" in path.name or path.suffix == ".partial"]
    assert min(stops.values()) > 8


def go_on(name: str) -> None:
    """Run the step that was cut again."""
    if name == "build":
        assert run(["support", "build", "model", "reviews.dev.jsonl"]) == 0
        return
    command = f"train reviews.train.jsonl --out model {SMALL}".split()
    assert run([*command, "--resume"] if Path("model.partial").exists() else command) == 0
