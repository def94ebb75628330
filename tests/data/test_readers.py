from __future__ import annotations

import gzip
import io
import lzma
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from exaudit.data import LabelSet, Notes, iter_documents, read_documents
from exaudit.data.notes import DataWarning
from exaudit.errors import DataError, SettingError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs = lambda name: pytest.mark.skipif(not (SHARED / name).exists(), reason=f"no {name}")  # noqa: E731


def write(tmp_path: Path, name: str, content: str) -> Path:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.jsonl", '{"text": "a"}', "jsonl"),
        ("a.NDJSON", '{"text": "a"}', "jsonl"),
        ("a.json", '{"text": "a"}', "jsonl"),
        ("a.txt", '{"text": "a"}', "jsonl"),
        ("a.csv", "text\na", "csv"),
        ("a.tsv", "Sentiment\tText\nx\ta\n", "tsv"),
        ("a.tsv", '"label"\t"text"\nx\ta\n', "tsv"),
        ("a.tsv", "a\tc\n\nb\ti\n", "conll"),
        ("a.tsv", "a\tc\n\n", "conll"),
        ("a.tsv", "Text\tc\n\nb\ti\n", "conll"),
        ("a.txt", "a\tc\n\nb\ti\n", "conll"),
        ("a.conll", "a c\n", "conll"),
        ("a.txt", "0 a\n1 b\n", "lines"),
        ("a", "id\ttext\n1\tb\n", "tsv"),
    ],
)
def test_the_format_is_found(tmp_path: Path, name: str, content: str, format: str) -> None:
    path = write(tmp_path, name, content)
    packed = tmp_path / f"{name}.xz"
    packed.write_bytes(lzma.compress(content.encode()))
    for file in (path, packed):
        notes = Notes()
        assert read_documents(file, notes=notes)
        assert notes.format == format


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.tsv",
            "text\tlabel\n\nb\ti\n",
            "cannot tell whether .*'text', 'label'.*`format=tsv` .*`format=conll`",
        ),
        ("a.tsv", "a\tc\nb\ti\n", "cannot tell whether"),
        ("a.txt", "1\tneg\ta tweet\n", "cannot tell whether .*`columns`"),
        ("a.txt", "some prose\n", "cannot tell the format .*'some prose'; pass `format`"),
        ("a.txt", "\n \n", "blank lines only"),
        ("a.json", '[\n{"text": "a"}]', "one object per line"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "text,label\n", "there are no documents"),
        ("a.csv", "\n\n", "there are no documents"),
    ],
)
def test_files_that_cannot_be_told_or_hold_nothing(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as caught:
        read_documents(path)
    assert str(caught.value).startswith(str(path))


def test_the_format_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tsv", "text\tlabel\n\nb\ti\n")
    assert read_documents(path, format="tsv")[0].label == "i"
    assert read_documents(path, format="conll", notes=Notes())[0].tokens == ("text",)
    with pytest.raises(SettingError, match="no format 'xml'; choose one of jsonl, csv"):
        read_documents(path, format="xml")
    with pytest.raises(SettingError, match="`columns` goes with tables"):
        read_documents(path, format="conll", columns="a,b")
    with pytest.raises(TypeError):
        read_documents(path, colour="red")


def test_duplicate_ids_name_both_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'id,text\n7,a\n8,"b\nc"\n7,d\n')
    with pytest.raises(DataError, match=r"a.csv:5: two documents have the id '7', in lines 2 and 5"):
        read_documents(path)
    assert [d.id for d in read_documents(path, id_column="")] == ["1", "2", "3"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(content: bytes) -> None:
        buffer = io.BufferedReader(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))

    feed(gzip.compress(b'{"text": "a b"}\n'))
    assert read_documents("-")[0].tokens == ("a", "b")
    feed(b"text,label\na,b\n")
    assert read_documents("-", format="csv")[0].label == "b"


def test_what_was_skipped_is_a_warning_unless_notes_take_it(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "\ufefftext\na\n \n\t\n")
    with pytest.warns(DataWarning) as caught:
        assert len(read_documents(path)) == 1
    assert [str(warning.message) for warning in caught] == [
        f"{path}: the file starts with a byte order mark (BOM); ignored (once: line 1)",
        f"{path}: a document has no words; skipped (2 times: lines 3, 4)",
    ]
    notes = Notes()
    read_documents(path, notes=notes)
    assert len(notes.warnings()) == 2


@needs("fce")
@pytest.mark.parametrize(
    ("split", "documents", "tokens", "positive_tokens", "positive"),
    [("dev", 2_222, 34_599, 4_640, 1_416), ("test", 2_720, 41_477, 6_305, 1_847)],
)
def test_fce(split: str, documents: int, tokens: int, positive_tokens: int, positive: int) -> None:
    read = read_documents(SHARED / "fce" / f"fce-public.{split}.original.tsv")
    names = LabelSet.infer(read).views[0]
    assert (names.negative, names.positive) == ("c", "i")
    targets = [names.token_targets(document) for document in read]
    assert (len(read), sum(map(len, targets))) == (documents, tokens)
    assert sum(int(t.sum()) for t in targets) == positive_tokens
    assert sum(names.document_target(document) for document in read) == positive


@needs("imdb_cad")
def test_imdb() -> None:
    read = read_documents(SHARED / "imdb_cad" / "combined" / "paired" / "dev_paired.tsv")
    names = LabelSet.infer(read).views[0]
    assert (len(read), names.positive) == (490, "Positive")
    assert sum(names.document_target(document) for document in read) == 245
    assert read[0].meta.keys() == {"batch_id"}
    for document in read:
        assert [document.text[a:b] for a, b in document.spans()] == list(document.tokens)


@needs("semeval2017_task4a")
def test_semeval() -> None:
    path = SHARED / "semeval2017_task4a" / "SemEval2017-task4-test.subtask-A.english.txt"
    with pytest.raises(DataError, match="`columns`"):
        next(iter_documents(path))
    read = read_documents(path, columns="id,label,text", notes=Notes())
    names = LabelSet.infer(read, "positive").views[0]
    assert (len(read), names.negative, names.others) == (12_284, "not positive", ("negative", "neutral"))
    assert sum(names.document_target(document) for document in read) == 2_375
