from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from exaudit import _files
from exaudit.batch import answers, labelling, shards
from exaudit.batch.answers import Format
from exaudit.batch.labelling import LabelJob, Outcome, label_files
from exaudit.batch.place import WorkerModel
from exaudit.batch.reading import FileReader
from exaudit.batch.shards import Shard
from exaudit.batch.sources import SourceFile, find_files
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.errors import DataError, SettingError
from exaudit.model import model as model_module
from exaudit.model.folder import load_model
from tiny import reviews

Write = Callable[..., Path]


@pytest.fixture
def corpus(write: Write, tmp_path: Path) -> Path:
    """Three files of 30, 50 and 20 documents."""
    documents = reviews(100, seed=5)
    for name, first, last in (("a", 0, 30), ("deep/b", 30, 80), ("c", 80, 100)):
        write(f"corpus/{name}.jsonl", documents[first:last])
    return tmp_path / "corpus"


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are large from 3,000 bytes on, and cut into shards of 8 documents."""
    monkeypatch.setattr(shards, "LARGE", 3000)
    monkeypatch.setattr(shards, "DOCUMENTS", 8)


def job(model: Path, out: Path, *, format: Format = "jsonl", **options: Any) -> LabelJob:
    return LabelJob(WorkerModel.of(model, device="cpu"), str(out), FileReader(**options), format=format)


def rows(out: Path) -> list[dict[str, Any]]:
    paths = sorted(out.rglob("*.part-*.jsonl"), key=lambda path: path.relative_to(out).as_posix())
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def names(out: Path) -> list[str]:
    return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())


def plain(model: Path, corpus: Path) -> list[dict[str, Any]]:
    """What the model says of one file after another."""
    loaded = load_model(model, device="cpu")
    documents = [d for file in find_files(corpus)[0] for d in FileReader().read(file, [])]
    return [json.loads(json.dumps(scores.to_json(loaded.labels))) for scores in loaded.iter_label(documents)]


def same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert [row["id"] for row in found] == [row["id"] for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert (one["label"], one["score"]) == (other["label"], pytest.approx(other["score"], abs=1e-5))
        assert [t["label"] for t in one["tokens"]] == [t["label"] for t in other["tokens"]]
        assert [t["score"] for t in one["tokens"]] == pytest.approx(
            [t["score"] for t in other["tokens"]], abs=1e-5
        )


def test_every_file_becomes_a_shard(model: Path, corpus: Path, tmp_path: Path) -> None:
    done = label_files(job(model, tmp_path / "out"), find_files(corpus)[0])
    assert (done.documents, done.shards, done.done_before, done.set_aside) == (100, 3, 0, {})
    ends = ["a.jsonl.part-00000.jsonl", "c.jsonl.part-00000.jsonl", "deep/b.jsonl.part-00000.jsonl"]
    assert names(tmp_path / "out") == ["_exaudit.json", *ends]
    same(rows(tmp_path / "out"), plain(model, corpus))


@pytest.mark.usefixtures("cut")
def test_large_files_are_cut(model: Path, corpus: Path, tmp_path: Path) -> None:
    done = label_files(job(model, tmp_path / "out"), find_files(corpus)[0])
    large = [f for f in find_files(corpus)[0] if f.size > 3000]
    assert large
    assert done.shards > 3
    assert "deep/b.jsonl.part-00006.jsonl" in names(tmp_path / "out")
    same(rows(tmp_path / "out"), plain(model, corpus))


@pytest.mark.usefixtures("cut")
def test_where_there_are_many_none_is_cut(
    model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "MANY", 3)
    assert label_files(job(model, tmp_path / "out"), find_files(corpus)[0]).shards == 3


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_stopped_run_goes_on(model: Path, corpus: Path, tmp_path: Path, after: int) -> None:
    whole = label_files(job(model, tmp_path / "whole"), find_files(corpus)[0])

    def stop(start: Any, items: Any) -> Any:
        work = start()
        for number, item in enumerate(items):
            if number == after:
                raise KeyboardInterrupt
            yield work(item)

    with pytest.raises(KeyboardInterrupt):
        label_files(job(model, tmp_path / "out"), find_files(corpus)[0], spread=stop)
    labelled: list[str] = []

    def note(start: Any, items: Any) -> Any:
        work = start()
        for item in items:
            labelled.append(item.name)
            yield work(item)

    done = label_files(job(model, tmp_path / "out"), find_files(corpus)[0], spread=note)
    assert (done.shards, done.done_before) == (whole.shards - after, after)
    assert len(labelled) == whole.shards - after
    assert rows(tmp_path / "out") == rows(tmp_path / "whole")


@pytest.mark.usefixtures("cut")
def test_shards_of_parquet_go_on_and_are_one_table(model: Path, corpus: Path, tmp_path: Path) -> None:
    import pyarrow.dataset

    files = find_files(corpus)[0]
    label_files(job(model, tmp_path / "json"), files)
    whole = label_files(job(model, tmp_path / "out", format="parquet"), files)
    (tmp_path / "out" / "deep" / "b.jsonl.part-00003.parquet").unlink()
    (tmp_path / "out" / ".a.jsonl.part-00000.parquet.x1y2.tmp").touch()  # of a worker that was killed
    inodes = {path: path.stat().st_ino for path in (tmp_path / "out").rglob("*.parquet")}
    done = label_files(job(model, tmp_path / "out", format="parquet"), files)
    assert (done.shards, done.done_before) == (1, whole.shards - 1)
    assert all(path.stat().st_ino == inode for path, inode in inodes.items())
    assert [name.replace(".parquet", ".jsonl") for name in names(tmp_path / "out")] == names(
        tmp_path / "json"
    )
    table = pyarrow.dataset.dataset(tmp_path / "out", format="parquet").to_table()
    assert sorted(table.to_pylist(), key=lambda row: row["id"]) == sorted(
        rows(tmp_path / "json"), key=lambda row: row["id"]
    )
    with pytest.raises(SettingError, match=r"output of another job \(format differ\)"):
        label_files(job(model, tmp_path / "out"), files)
    (corpus / "a.jsonl").write_text("broken\n")
    (tmp_path / "out" / "a.jsonl.part-00000.parquet").rename(tmp_path / "kept")
    for part in (tmp_path / "out").glob("a.jsonl.part-*"):
        part.unlink()
    done = label_files(job(model, tmp_path / "out", format="parquet"), files, skip=True)
    assert [file.name for file in done.set_aside] == ["a.jsonl"]
    assert not any(name.startswith("a.jsonl") for name in names(tmp_path / "out"))


def test_a_third_run_does_not_load_the_model(model: Path, corpus: Path, tmp_path: Path) -> None:
    def refuse(start: Any, items: Any) -> Any:
        assert list(items) == []
        yield from ()

    label_files(job(model, tmp_path / "out"), find_files(corpus)[0])
    (tmp_path / "out" / "deep" / ".b.jsonl.part-00000.jsonl.x1y2.tmp").touch()  # of a worker that was killed
    done = label_files(job(model, tmp_path / "out"), find_files(corpus)[0], spread=refuse)
    assert (done.documents, done.done_before) == (0, 3)
    assert len(names(tmp_path / "out")) == 4


@pytest.mark.usefixtures("cut")
def test_new_files_are_added_and_others_stay_as_they_were_cut(
    model: Path, corpus: Path, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    label_files(job(model, tmp_path / "out"), find_files(corpus)[0])
    before = names(tmp_path / "out")
    write("corpus/new.jsonl", reviews(4, seed=9))
    monkeypatch.setattr(shards, "MANY", 4)  # which are not cut
    done = label_files(job(model, tmp_path / "out"), find_files(corpus)[0])
    assert (done.shards, done.documents) == (1, 4)
    assert set(names(tmp_path / "out")) - set(before) == {"new.jsonl.part-00000.jsonl"}


def test_the_output_of_another_job_is_not_gone_on_with(
    model: Path, corpus: Path, tmp_path: Path, write: Write
) -> None:
    files = find_files(corpus)[0]
    label_files(job(model, tmp_path / "out"), files)
    with pytest.raises(SettingError, match=r"output of another job \(options differ\); choose another"):
        label_files(job(model, tmp_path / "out", options={"text_column": "text"}), files)
    with pytest.raises(SettingError, match=r"is not empty, and not of `exaudit label`"):
        label_files(job(model, corpus), files)
    write("corpus/a.jsonl", reviews(3))
    with pytest.raises(DataError, match=r"a.jsonl: the file has changed since a part of it was labelled"):
        label_files(job(model, tmp_path / "out"), find_files(corpus)[0])
    (tmp_path / "out" / "_exaudit.json").write_text("{")
    with pytest.raises(SettingError, match=r"_exaudit.json is damaged"):
        label_files(job(model, tmp_path / "out"), files)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("name", ["a", "deep/b", "c"])
def test_a_damaged_file_is_set_aside(model: Path, corpus: Path, tmp_path: Path, name: str) -> None:
    """Its first documents, too, where it was cut; without `skip`, the run stops there."""
    path = corpus / f"{name}.jsonl"
    path.write_text(path.read_text() + "broken\n")
    lines = path.read_text().count("\n")
    with pytest.raises(DataError, match=f"{path}:{lines}: a line is not JSON"):
        label_files(job(model, tmp_path / "out"), find_files(corpus)[0])
    done = label_files(job(model, tmp_path / "out"), find_files(corpus)[0], skip=True)
    assert [file.name for file in done.set_aside] == [f"{name}.jsonl"]
    assert str(path) in next(iter(done.set_aside.values()))
    record = json.loads((tmp_path / "out" / "_exaudit.json").read_text())
    assert list(record["set_aside"]) == [f"{name}.jsonl"]
    assert not any(found.startswith(f"{name}.jsonl.") for found in names(tmp_path / "out"))
    path.write_text(path.read_text().removesuffix("broken\n"))  # mended
    assert label_files(job(model, tmp_path / "out"), find_files(corpus)[0]).set_aside == {}
    same(rows(tmp_path / "out"), plain(model, corpus))


def test_numbered_documents_of_many_files_get_its_name(model: Path, write: Write, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(f"corpus/{name}.jsonl", reviews(2), ids=False)
    write("corpus/c.jsonl", reviews(1))
    label_files(job(model, tmp_path / "out", named=True), find_files(tmp_path / "corpus")[0])
    found = [row["id"] for row in rows(tmp_path / "out")]
    assert found == ["a.jsonl:1", "a.jsonl:2", "b.jsonl:1", "b.jsonl:2", reviews(1)[0].id]


def test_the_same_document_twice_is_told(write: Write, tmp_path: Path) -> None:
    write("corpus/a.jsonl", reviews(2))
    write("corpus/b.jsonl", reviews(1))
    files = find_files(tmp_path / "corpus")[0]
    told: dict[str, str] = {}
    read = FileReader().read_all(files, [], lambda file, error: told.update({file.name: str(error)}))
    assert len(list(read)) == 2
    assert list(told) == ["b.jsonl"]
    assert f"is in {tmp_path / 'corpus' / 'a.jsonl'}, too" in told["b.jsonl"]


def test_names_and_outcomes_travel(corpus: Path) -> None:
    import pickle

    shard = Shard(find_files(corpus)[0][0], 12, tuple(reviews(2)))
    assert pickle.loads(pickle.dumps(shard)) == shard
    assert shard.name == "a.jsonl.part-00012"
    assert pickle.loads(pickle.dumps(Outcome(shard.file, 3))) == Outcome(shard.file, 3)


class Instant:
    """A model that needs no time."""

    labels = LabelSet.binary("no", "yes")

    def iter_label(self, documents: Iterable[Document]) -> Iterator[Any]:
        for document in documents:
            yield SimpleNamespace(to_json=lambda labels, id=document.id: {"id": id})

    def note_on_language(self, documents: Any) -> None:
        pass

    note_on_length = note_on_language


@pytest.mark.slow
def test_a_damaged_file_in_the_middle_of_ten_thousand(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the model and the disk is as ever."""
    monkeypatch.setattr(WorkerModel, "load", lambda self: Instant())
    monkeypatch.setattr(_files, "sync", lambda path: None)
    (tmp_path / "corpus").mkdir()
    for n in range(10_000):
        (tmp_path / "corpus" / f"{n:05}.jsonl").write_text(f'{{"id": "d{n}", "text": "good"}}\n')
    damaged = tmp_path / "corpus" / "05000.jsonl"
    damaged.write_bytes(b'{"id": "d5000", "te')
    files = find_files(tmp_path / "corpus")[0]
    told = f"{damaged}:1: a line is not JSON"
    with pytest.raises(DataError, match=told):
        label_files(job(model, tmp_path / "out"), files)
    assert len(names(tmp_path / "out")) == 5_001  # and the record
    done = label_files(job(model, tmp_path / "out"), files, skip=True)
    assert (done.documents, done.shards, done.done_before) == (4_999, 4_999, 5_000)
    ((file, reason),) = done.set_aside.items()
    assert file.name == "05000.jsonl"
    assert reason.startswith(told)
    record = json.loads((tmp_path / "out" / "_exaudit.json").read_text())
    assert list(record["set_aside"]) == ["05000.jsonl"]
    assert [row["id"] for row in rows(tmp_path / "out")] == [f"d{n}" for n in range(10_000) if n != 5000]


@pytest.mark.parametrize(("format", "large"), [("jsonl", 0), ("parquet", 1 << 30)])
def test_memory_does_not_grow_with_the_file(
    model: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Format, large: int
) -> None:
    """Whether it is cut or not. What stays of a document is its id, as no other may have the same: tens of bytes."""
    for place, name in (
        (labelling, "LOOK"),
        (shards, "DOCUMENTS"),
        (model_module, "_CHUNK"),
        (answers, "ROWS"),
    ):
        monkeypatch.setattr(place, name, 32)
    monkeypatch.setattr(shards, "LARGE", large)
    documents = reviews(100)

    def peak(count: int, work: Callable[[list[SourceFile]], object]) -> int:
        file = write(f"{count}/a.jsonl", [replace(documents[n % 100], id=f"{n}") for n in range(count)])
        files = find_files(file)[0]
        tracemalloc.start()
        try:
            work(files)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def label(files: list[SourceFile]) -> None:
        assert label_files(job(model, tmp_path / f"out-{files[0].size}", format=format), files).shards

    peak(100, label)  # which imports what is needed
    kept = peak(2000, lambda files: list(FileReader().read(files[0], []))) / 2000
    assert (peak(2000, label) - peak(200, label)) / 1800 < kept / 3
