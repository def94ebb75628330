from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exaudit.batch import sources
from exaudit.batch.sources import find_files, is_many
from exaudit.errors import DataError


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    names = (
        "b.csv",
        "a.jsonl",
        "deep/er/c.parquet",
        "d.tsv.gz",
        "README.md",
        "_SUCCESS",
        ".x.csv",
        "_old/e.csv",
    )
    for name in names:
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "corpus"


def test_a_folder_is_its_files_sorted_and_without_hidden_ones(corpus: Path) -> None:
    files, others = find_files(corpus)
    assert [file.name for file in files] == ["a.jsonl", "b.csv", "d.tsv.gz", "deep/er/c.parquet"]
    assert others == ["README.md"]
    assert (files[1].place, files[1].size) == (str(corpus / "b.csv"), 5)
    assert next(file.name for file in find_files(corpus, every=True)[0]) == "README.md"


def test_a_pattern_is_what_it_matches(corpus: Path) -> None:
    names = [[file.name for file in find_files(corpus / end)[0]] for end in ("*.csv", "**/*.parquet")]
    assert names == [["b.csv"], ["deep/er/c.parquet"]]


@pytest.mark.parametrize("end", ["", "/*.csv", "/**/*.parquet", "/b.csv"])
def test_an_address_is_what_the_path_is(corpus: Path, end: str) -> None:
    here, there = find_files(f"{corpus}{end}"), find_files(f"file://{corpus}{end}")
    assert [(f.name, f.size, f.changed) for f in here[0]] == [(f.name, f.size, f.changed) for f in there[0]]
    assert here[1] == there[1]
    with there[0][0].local() as copy:
        assert copy.read_text() == Path(here[0][0].place).read_text()
    assert not copy.exists()


def test_fsspec_has_the_stores_that_arrow_does_not_know(corpus: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").put(f"{corpus}/", "/bucket/corpus/", recursive=True)
    try:
        here, there = find_files(corpus), find_files("memory://bucket/corpus")
        assert [(f.name, f.size) for f in here[0]] == [(f.name, f.size) for f in there[0]]
        assert here[1] == there[1]
        assert [f.name for f in find_files("memory://bucket/corpus/**/*.parquet")[0]] == ["deep/er/c.parquet"]
        for one, other in zip(here[0], there[0], strict=True):
            with other.local() as copy:
                assert copy.read_text() == Path(one.place).read_text()
    finally:
        fsspec.filesystem("memory").rm("/bucket", recursive=True)


def test_a_store_without_its_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(DataError, match=r"az://box/x: this address cannot be read \(Install adlfs"):
        find_files("az://box/x")


def test_what_follows_an_address_goes_with_every_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region or an endpoint, without which a worker would look for the file elsewhere."""
    from pyarrow.fs import FileInfo, FileType

    class Store:
        def get_file_info(self, asked: object) -> object:
            if isinstance(asked, str):
                return FileInfo(asked, FileType.Directory)
            return [FileInfo("box/x/a.csv", FileType.File, size=3, mtime_ns=5)]

    monkeypatch.setattr(sources, "_filesystem", lambda address: (Store(), "box/x"))
    (file,), _ = find_files("s3://box/x?region=eu-west-1")
    assert (file.name, file.place) == ("a.csv", "s3://box/x/a.csv?region=eu-west-1")


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "AWS_EC2_METADATA_DISABLED", "true"
    )  # where credentials are looked for beyond this machine
    with pytest.raises(
        DataError, match=r"^s3://box/x\?.*: this address cannot be read \(.*NETWORK_CONNECTION"
    ):
        find_files("s3://box/x?scheme=http&endpoint_override=127.0.0.1:1&region=us-east-1")


def test_the_path_of_an_address_has_lost_a_slash(corpus: Path) -> None:
    assert find_files(Path(f"file://{corpus}")) == find_files(f"file://{corpus}")


def test_what_means_many_files(corpus: Path) -> None:
    assert all(map(is_many, (corpus, corpus / "*.csv", "s3://bucket/x.csv", Path("s3://bucket/x.csv"))))
    (corpus / "saved").mkdir()
    (corpus / "saved" / "state.json").touch()
    (corpus / "odd[1].csv").touch()
    assert not any(
        map(is_many, (corpus / "b.csv", corpus / "saved", "-", corpus / "odd[1].csv", corpus / "no"))
    )


def test_nothing_to_read_is_told(corpus: Path) -> None:
    (corpus / "empty").mkdir()
    with pytest.raises(DataError, match="empty: there are no files of documents here; check the path"):
        find_files(corpus / "empty")
    with pytest.raises(DataError, match="here; name their format with `format`"):
        find_files(corpus / "*.md")
    with pytest.raises(DataError, match=r"gone\.csv: the file cannot be read"):
        find_files(corpus / "gone.csv")
    with pytest.raises(DataError, match=r"http://x/y: this is a web address"):
        find_files("http://x/y")
    (corpus / "a\udcffb.csv").touch()
    with pytest.raises(DataError, match=r"the name of this file is not UTF-8; rename it"):
        find_files(corpus)
    with pytest.raises(DataError, match=r"nowhere://x/y: this address cannot be read"):
        find_files("nowhere://x/y")


def test_shards_are_read_as_the_whole_file_would_be() -> None:
    """A model sorts so many documents by length together, and bfloat16 rounds by what stands together."""
    from exaudit.batch import shards
    from exaudit.model import model

    assert shards.DOCUMENTS % model._CHUNK == 0
