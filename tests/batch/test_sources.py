from __future__ import annotations

from pathlib import Path

import pytest

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
