"""The set on disk: nothing acknowledged is lost, nothing is seen by half, and damage is told."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from exaudit.errors import SupportError
from exaudit.support import head, store, tables
from exaudit.support.exemplars import SupportBatch
from exaudit.support.history import BatchRecord, Entry
from exaudit.support.memory import MemorySupportSet
from exaudit.support.store import LanceSupportSet

LABELS = ("negative", "positive")
BatchOf = Callable[..., SupportBatch]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def files(support: LanceSupportSet) -> set[str]:
    found = {str(path) for path in Path(support.where).rglob("*") if path.is_file()}
    return {path for path in found if "_transactions" not in path and not path.endswith(".lock")}


# What a process that can be killed does: the edit with a given number always is the same.
EDITS = """
import sys
import numpy as np
from exaudit.data.document import Document
from exaudit.support.exemplars import SupportBatch

def batch(name, tokens=20):
    rng = np.random.default_rng(sum(name.encode()))
    document = Document.from_tokens([f"w{i}" for i in range(tokens)], id=name, label="negative")
    return SupportBatch([document], rng.standard_normal((tokens, 8), dtype=np.float32), np.zeros(tokens))

def edit(support, n):
    if n % 5 == 0:
        support.undo()
    elif n % 5 == 4:
        support.remove(support.ids[0])
    elif n % 5 == 3:
        support.relabel_document(support.ids[-1], "positive")
    else:
        support.add(batch(f"d{n}"))
"""

WRITER = (
    EDITS
    + """
from exaudit.support.store import LanceSupportSet
support = LanceSupportSet.open(sys.argv[1])
while True:
    edit(support, support.number + 1)
    print(support.number, flush=True)
"""
)


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_kill_at_any_moment(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    exec(EDITS, names)
    draw = random.Random(0)
    LanceSupportSet.create(tmp_path / "s", width=8, labels=LABELS, model="m")
    expected = MemorySupportSet.create(width=8, labels=LABELS, model="m")
    for _ in range(4):
        writer = start(WRITER, tmp_path / "s")
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(draw.uniform(0, 0.4))
        writer.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in writer.communicate()[0].split()]
        support = LanceSupportSet.open(tmp_path / "s")
        assert support.number >= max(acknowledged, default=0)
        while expected.number < support.number:
            names["edit"](expected, expected.number + 1)  # type: ignore[operator]
        assert [edit.version for edit in support.log()] == [edit.version for edit in expected.log()]
        assert support.version == expected.version
        support.verify()
    assert support.number > 4  # an edit has to wait for the disk


ADDER = (
    EDITS
    + """
from exaudit.support.store import LanceSupportSet
support = LanceSupportSet.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for i in range(12):
    support.add(batch(f"{sys.argv[2]}{i}", 3), author=sys.argv[2])
    if i % 4 == 3:
        support.remove(f"{sys.argv[2]}{i}", author=sys.argv[2])
    if i == 6 and sys.argv[2] == "a":
        support.compact(author="a")
"""
)


def test_two_processes_write(tmp_path: Path) -> None:
    LanceSupportSet.create(tmp_path / "s", width=8, labels=LABELS, model="m")
    writers = [start(ADDER, tmp_path / "s", name) for name in "ab"]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:  # both are ready: off they go
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.communicate()[0] for writer in writers] == ["", ""]
    assert [writer.returncode for writer in writers] == [0, 0]
    support = LanceSupportSet.open(tmp_path / "s")
    support.verify()
    assert sorted(support.ids) == sorted(f"{name}{i}" for name in "ab" for i in range(12) if i % 4 != 3)
    assert len(support.log()) == 1 + 2 * 15 + 1
    rows = support.exemplars(vectors=False).row
    assert len(np.unique(rows)) == len(rows) == 18 * 3


def before_append(support: LanceSupportSet, act: Callable[[], object]) -> None:
    """Let somebody else act once, in the moment before this set's next entry goes to the log."""
    append = support._append

    def acting(entry: Entry) -> bool:
        support._append = append  # type: ignore[method-assign]
        act()
        return append(entry)

    support._append = acting  # type: ignore[method-assign]


@pytest.fixture
def unlocked(tmp_path: Path, batch_of: BatchOf) -> LanceSupportSet:
    """A set as at an object store, where nobody can hold a lock: the same documents as `stored`."""
    support = LanceSupportSet.create(
        f"file-object-store://{tmp_path}/support", width=4, labels=LABELS, model="m"
    )
    support.add(batch_of(["a", "b", "c"], tokens=3))
    return support


def test_the_slower_writer_tries_again(unlocked: LanceSupportSet, batch_of: BatchOf) -> None:
    stored, other = unlocked, LanceSupportSet.open(unlocked.where)
    before_append(stored, lambda: other.add(batch_of(["x"], tokens=1)))
    edit = stored.add(batch_of(["y"], tokens=1))
    assert edit.number == 3
    assert stored.ids == ("a", "b", "c", "x", "y")
    before_append(stored, lambda: other.add(batch_of(["z"], tokens=1)))
    with pytest.raises(SupportError, match="document 'z' is in the support set already"):
        stored.add(batch_of(["z"], tokens=1))
    before_append(stored, lambda: other.remove("a"))
    with pytest.raises(SupportError, match="no document 'a'"):
        stored.remove("a")
    again = LanceSupportSet.open(stored.where)
    assert again.version == stored.version
    assert again.ids == ("b", "c", "x", "y", "z")
    again.verify()


def test_compaction_while_another_writes(unlocked: LanceSupportSet, batch_of: BatchOf) -> None:
    """The batch that is written but not yet in the log looks like a leftover: it is dropped, and written again."""
    stored, other = unlocked, LanceSupportSet.open(unlocked.where)
    before_append(stored, other.compact)
    stored.add(batch_of(["x"], tokens=2))
    stored.verify()
    save = stored._save

    def saving(batch: SupportBatch) -> BatchRecord:
        stored._save = save  # type: ignore[method-assign]
        record = save(batch)
        other.compact()
        stored.refresh()
        return record

    stored._save = saving  # type: ignore[method-assign]
    stored.add(batch_of(["y"], tokens=2))
    again = LanceSupportSet.open(stored.where)
    again.verify()
    assert again.ids == ("a", "b", "c", "x", "y")


def test_reader_survives_compaction_elsewhere(stored: LanceSupportSet, batch_of: BatchOf) -> None:
    vectors = stored.vectors(np.arange(9))
    other = LanceSupportSet.open(stored.where)
    other.remove("a")
    other.add(batch_of(["d"], tokens=2))
    other.compact()
    assert stored.vectors(np.arange(3, 9)).tobytes() == vectors[3:].tobytes()  # not refreshed yet
    with pytest.raises(SupportError, match="compacted elsewhere"):
        stored.vectors([0])
    stored.refresh()
    assert stored.version == other.version
    stored.verify()


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_full_disk(
    stored: LanceSupportSet, batch_of: BatchOf, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Whichever of the writes of an edit fails, the set is as before, and nothing of it is left."""
    count, version, before = 0, stored.version, files(stored)

    def full(write: Callable[..., object]) -> Callable[..., object]:
        def writing(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count == failing:
                raise OSError("No space left on device (os error 28), /some/where.rs:1:2")
            return write(*arguments, **options)

        return writing

    monkeypatch.setattr(tables.lance, "write_dataset", full(tables.lance.write_dataset))
    monkeypatch.setattr(head, "write_sealed", full(head.write_sealed))
    with pytest.raises(SupportError, match=r"cannot write to .*: No space left on device \(os error 28\)"):
        stored.add(batch_of(["d"], tokens=2))
    assert files(stored) == before
    assert (stored.version, stored.number) == (version, 1)
    again = LanceSupportSet.open(stored.where)
    assert again.version == version
    stored.add(batch_of(["d"], tokens=2))
    stored.compact()
    stored.verify()
    assert stored.ids == ("a", "b", "c", "d")


def test_compaction_reclaims_and_does_not_double(
    tmp_path: Path, batch_of: BatchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_FILE_BYTES", 1 << 20)
    support = LanceSupportSet.create(tmp_path / "s", width=1000, labels=LABELS, model="m")
    for i in range(20):
        support.add(batch_of([f"{i}.{j}" for j in range(6)], tokens=20, width=1000))
    support.remove([f"{i}.{j}" for i in range(20) for j in range(3)])
    support.add(batch_of(["undone"], tokens=20, width=1000))
    support.undo()
    version, before, peak = support.version, size(tmp_path), 0
    vectors = support.exemplars().vectors
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            try:
                peak = max(peak, size(tmp_path))
            except FileNotFoundError:
                continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    LanceSupportSet.open(support.where).compact()
    done.set()
    watcher.join()
    assert size(tmp_path) < 0.55 * before
    assert 0 < peak < 1.4 * before
    again = LanceSupportSet.open(tmp_path / "s")
    after = again.exemplars().vectors
    assert vectors is not None
    assert after is not None
    assert again.version == version
    assert after.tobytes() == vectors.tobytes()
    assert len(again.log()) == 25


def test_removed_text_is_gone_after_compaction(stored: LanceSupportSet) -> None:
    def found() -> bool:
        return any(
            b"b.0" in file.read_bytes() for file in Path(stored.where).rglob("*.lance") if file.is_file()
        )

    stored.remove("b")
    assert found()
    stored.compact()
    assert not found()


def test_long_logs_stay_few_files(stored: LanceSupportSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_LOG_FILES", 5)
    for i in range(12):
        stored.relabel_token("a", 0, (1, 0, None)[i % 3])
    assert len(stored._log.latest().get_fragments()) <= 5
    again = LanceSupportSet.open(stored.where)
    assert [edit.version for edit in again.log()] == [edit.version for edit in stored.log()]


def test_open(stored: LanceSupportSet, tmp_path: Path) -> None:
    where = stored.where
    assert LanceSupportSet.exists(where)
    assert not LanceSupportSet.exists(tmp_path / "none")
    same = LanceSupportSet.open("file://" + where, width=4, labels=LABELS, model="m")
    assert same.version == stored.version
    same.verify()
    with pytest.raises(SupportError, match="belongs to another model"):
        LanceSupportSet.open(where, model="n")
    with pytest.raises(SupportError, match="width 4"):
        LanceSupportSet.open(where, width=5)
    with pytest.raises(SupportError, match="labelled"):
        LanceSupportSet.open(where, labels=("0", "1"))
    with pytest.raises(SupportError, match="there is no support set here"):
        LanceSupportSet.open(tmp_path / "none")
    with pytest.raises(SupportError, match="there is a support set already"):
        LanceSupportSet.create(where, width=4, labels=LABELS, model="m")
    (tmp_path / "file").write_text("")
    with pytest.raises(SupportError, match="Not a directory"):
        LanceSupportSet.create(tmp_path / "file" / "s", width=4, labels=LABELS, model="m")
    (tmp_path / "full" / "other").mkdir(parents=True)
    with pytest.raises(SupportError, match="cannot create"):
        LanceSupportSet.create(tmp_path / "full", width=4, labels=LABELS, model="m")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "support"]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"head": 1}', '{"head": "x", "tables": {"log": 1}}', "lost"]
)
def test_damaged_head(stored: LanceSupportSet, content: str) -> None:
    file = Path(stored.where, "head.json")
    file.write_text(file.read_text().replace(stored._state.head, "x") if content == "lost" else content)
    with pytest.raises(SupportError, match="is damaged"):
        LanceSupportSet.open(stored.where)


@pytest.mark.parametrize("table", ["log", "documents", "exemplars"])
def test_a_version_that_counts_is_missed(stored: LanceSupportSet, table: str) -> None:
    """Lance would go on with the version before it."""
    newest = min(Path(stored.where, f"{table}.lance", "_versions").glob("*.manifest"))
    newest.unlink()
    with pytest.raises(SupportError, match="cannot read"):
        LanceSupportSet.open(stored.where)


def test_sets_of_0_1(unlocked: LanceSupportSet, tmp_path: Path, batch_of: BatchOf) -> None:
    """Their head was a table, in folders too."""
    local = LanceSupportSet.open(tmp_path / "support")
    assert local.version == unlocked.version
    assert not (tmp_path / "support" / "head.json").exists()
    local.add(batch_of(["d"], tokens=2))
    assert (tmp_path / "support" / "head.json").exists()
    assert not (tmp_path / "support" / "head.lance").exists()
    again = LanceSupportSet.open(tmp_path / "support")
    again.verify()
    assert again.ids == ("a", "b", "c", "d")


def test_compaction_on_a_full_disk(
    stored: LanceSupportSet, batch_of: BatchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is logged, and undo is still there."""
    stored.remove("a")
    version, before = stored.version, files(stored)
    with monkeypatch.context() as patch:
        patch.setattr(tables.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        with pytest.raises(SupportError, match=r"cannot compact .*No space left on device"):
            stored.compact()
    again = LanceSupportSet.open(stored.where)
    assert files(stored) == before
    assert [edit.kind for edit in again.log()] == ["create", "add", "remove"]
    assert again.version == version
    again.undo()
    again.verify()
    assert again.ids == ("a", "b", "c")
    again.compact()


def test_leftovers_of_killed_writers_go(stored: LanceSupportSet) -> None:
    before, folder = files(stored), Path(stored.where)
    stored._log.append(tables.pa.table({"id": ["x"], "entry": ["{}"]}))  # killed before the head was moved
    for name in ("log.lance/data/.tmpAbc", "log.lance/_versions/1.manifest#1", ".head.json.x.tmp"):
        (folder / name).write_text("")
    with stored._writing():  # somebody is at work: all is left alone
        LanceSupportSet.open(folder)
        assert (folder / "log.lance/data/.tmpAbc").exists()
    LanceSupportSet.open(folder)
    assert files(stored) == before


@pytest.mark.parametrize("table", ["log", "documents", "exemplars"])
@pytest.mark.parametrize("damage", ["cut", "noise", "gone", "folder gone", "manifest cut"])
def test_damage(stored: LanceSupportSet, table: str, damage: str) -> None:
    folder = Path(stored.where) / f"{table}.lance"
    part = "_versions/*.manifest" if damage.startswith("manifest") else "data/*"
    for file in folder.glob(part):
        content = file.read_bytes()
        if damage.endswith("cut"):
            file.write_bytes(content[: len(content) // 2])
        elif damage == "noise":
            file.write_bytes(np.random.default_rng(0).bytes(len(content)))
        else:
            file.unlink()
    if damage == "folder gone":
        folder.rename(folder.with_suffix(".away"))
    with pytest.raises(SupportError, match=r"cannot read|is damaged|no support set here"):
        LanceSupportSet.open(stored.where)


def test_verify_finds_a_changed_vector(
    stored: LanceSupportSet, unsealed: Callable[[LanceSupportSet], None]
) -> None:
    vector = stored.vectors([4])[0].tobytes()
    [file] = Path(stored.where).glob("exemplars.lance/data/*")
    content = file.read_bytes()
    assert content.count(vector) == 1
    file.write_bytes(content.replace(vector, bytes(len(vector))))
    unsealed(stored)
    damaged = LanceSupportSet.open(stored.where)
    with pytest.raises(SupportError, match="document 'b' is damaged"):
        damaged.verify()


def test_entries_on_top_of_the_same_one(stored: LanceSupportSet) -> None:
    """The first one counts; the second is refused, and stays in the log unseen."""
    head, version = stored._state.head, stored.version
    entries = [
        Entry("tag", id=name, parent=head, version=version, name=name, target=0)
        for name in ("first", "second")
    ]
    entries = [replace(entry, id=entry.linked(stored._state.link)) for entry in entries]
    assert [stored._append(entry) for entry in entries] == [True, False]
    assert LanceSupportSet.open(stored.where).tags() == {"first": 0}


def test_log_in_any_order(stored: LanceSupportSet, batch_of: BatchOf) -> None:
    """Lance puts what was appended during a compaction before what was compacted."""
    reader = LanceSupportSet.open(stored.where)
    stored.remove("a")
    log = tables.lance.dataset(stored._log.uri)
    task = tables.Compaction.plan(log, {}).tasks[0].execute(log)
    stored.add(batch_of(["d"], tokens=1))
    tables.Compaction.commit(log, [task])
    ids = tables.lance.dataset(stored._log.uri).to_table()["id"].to_pylist()
    assert ids.index(stored._state.head) < ids.index(stored._state.entries[0].id)
    reader.refresh()
    for support in (reader, LanceSupportSet.open(stored.where)):
        assert [edit.version for edit in support.log()] == [edit.version for edit in stored.log()]
    stored.undo()
    reader.refresh()
    assert reader.version == stored.version


BUILDER = (
    EDITS
    + """
from exaudit.support.build import Build
from exaudit.support.store import LanceSupportSet
support = LanceSupportSet.open(sys.argv[1])
build = Build(support, "k")
print("ready", flush=True)
for i in range(30):
    if f"d{i}" not in build.done:
        build.add(batch(f"d{i}"))
build.finish()
"""
)


def test_killed_build_ends_with_the_same_set(tmp_path: Path) -> None:
    versions, draw = [], random.Random(1)
    for name, kills in (("straight", 0), ("killed", 3)):
        LanceSupportSet.create(tmp_path / name, width=8, labels=LABELS, model="m")
        for _ in range(kills):
            builder = start(BUILDER, tmp_path / name)
            assert builder.stdout is not None
            builder.stdout.readline()
            time.sleep(draw.uniform(0.01, 0.15))
            builder.kill()
            builder.communicate()
            LanceSupportSet.open(tmp_path / name).verify()
        if LanceSupportSet.open(tmp_path / name).number == 0:
            builder = start(BUILDER, tmp_path / name)
            builder.communicate()
            assert builder.returncode == 0
        support = LanceSupportSet.open(tmp_path / name)
        support.verify()
        versions.append(support.version)
        assert [edit.kind for edit in support.log()] == ["create", "build"]
        assert support.exemplars(vectors=False).row.tolist() == list(range(600))
    assert versions[0] == versions[1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(stored: LanceSupportSet) -> None:
    folders = [Path(stored.where), *(path for path in Path(stored.where).rglob("*") if path.is_dir())]
    try:
        for folder in folders:
            folder.chmod(0o555)
        reader = LanceSupportSet.open(stored.where)
        reader.verify()
        with pytest.raises(SupportError, match="cannot write"):
            reader.remove("a")
    finally:
        for folder in folders:
            folder.chmod(0o755)
