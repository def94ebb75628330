from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data import Document, Notes, iter_documents
from exaudit.data.notes import DataWarning
from exaudit.data.table import read_table
from exaudit.errors import DataError, SettingError


def read(tmp_path: Path, content: str, name: str = "file.csv", **options) -> list[Document]:
    path = tmp_path / name
    path.write_bytes(content.encode())
    options.setdefault("notes", Notes())
    return list(iter_documents(path, **options))


def test_columns_by_their_usual_names(tmp_path: Path) -> None:
    notes = Notes()
    documents = read(tmp_path, "Doc_ID,Stars,Sentiment, REVIEW \nx,5,Good,a  b\n", notes=notes)
    assert documents == [Document("x", "a  b", ("a", "b"), "Good", meta={"Stars": "5"}, line=2)]
    assert notes.columns == {"text": "REVIEW", "label": "Sentiment", "id": "Doc_ID"}
    assert documents[0].spans() == [(0, 1), (3, 4)]


def test_columns_by_request(tmp_path: Path) -> None:
    content = "text,words,label,id\nt,w,l,i\n"
    chosen = {"text_column": "words", "label_column": "text", "id_column": ""}
    (document,) = read(tmp_path, content, **chosen)
    assert (document.text, document.label, document.id) == ("w", "t", "1")
    assert document.meta == {"label": "l", "id": "i"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"file.csv:1: no column of a usual name .*'foo', 'bar'.*`text_column`.*`columns`"),
        ({"text_column": "baz"}, r"no column 'baz'; columns found: 'foo', 'bar'"),
        ({"text_column": "foo", "label_column": "x"}, r"no column 'x'.*'foo', 'bar'.*`label_column`"),
        ({"text_column": "foo", "need_labels": True}, r"holds the label.*'foo', 'bar'.*`label_column`"),
        ({"text_column": "foo", "id_column": "x"}, r"no column 'x'.*`id_column`"),
        ({"text_column": "foo", "label_column": "foo"}, "different columns"),
    ],
)
def test_columns_not_found(tmp_path: Path, options, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, "foo,bar\na,b\n", **options)


def test_table_without_a_header(tmp_path: Path) -> None:
    content = "7\tgood\tfine day\n8\tbad\train\n"
    documents = read(tmp_path, content, "file.txt", columns="id, label,text")
    assert [(d.id, d.label, d.text, d.line) for d in documents] == [
        ("7", "good", "fine day", 1),
        ("8", "bad", "rain", 2),
    ]
    with pytest.raises(DataError, match="names 2 columns, but the first row has 3"):
        read(tmp_path, content, "file.tsv", columns=["label", "text"])
    notes = Notes()
    assert (
        len(read(tmp_path, "ID\tlabel\ttext\n" + content, "f.tsv", columns="id,label,text", notes=notes)) == 2
    )
    assert "skipped as a header (once: line 1)" in notes.warnings()[0]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_by_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    content = f'label{delimiter}text\r\n1{delimiter}"a{delimiter} ""b"""\r\n'
    (document,) = read(tmp_path, content)
    assert document.text == f'a{delimiter} "b"'


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.tuples(cells, st.sampled_from(["pos", "neg"])), max_size=8), st.sampled_from(",\t"))
def test_reads_back_what_the_csv_module_writes(rows: list[tuple[str, str]], delimiter: str) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "label"), *rows])
    lines = enumerate(io.StringIO(file.getvalue(), newline="\n"), start=1)
    # A line inside a field that looks like a row is refused by design; hypothesis does not find one of these.
    documents = list(read_table(lines, Notes(), delimiters=delimiter))
    assert [(d.text, d.label) for d in documents] == [row for row in rows if row[0].split()]


def test_fields_over_several_lines_and_large_ones(tmp_path: Path) -> None:
    large = "word " * 100_000
    content = f'text,label\n"a\r\nb, c\n",pos\n"{large}",neg\n"x\ny",pos\nlast,neg\n'
    documents = read(tmp_path, content)
    assert [d.text for d in documents] == ["a\r\nb, c\n", large, "x\ny", "last"]
    assert [d.line for d in documents] == [2, 5, 6, 8]
    first_column_last = 'label\ttext\npos\t"a\nb"\nneg\tc\n'
    assert [d.text for d in read(tmp_path, first_column_last, "f.tsv")] == ["a\nb", "c"]
    tabs_inside = 'label\ttext\npos\t"a\nb\tc"\nneg\t"d\ne\t"\n'
    assert [d.text for d in read(tmp_path, tabs_inside, "f.tsv")] == ["a\nb\tc", "d\ne\t"]
    last_column_first = 'text\tlabel\n"a\nb"\tpos\nc\tneg\n'
    assert [d.text for d in read(tmp_path, last_column_first, "f.tsv")] == ["a\nb", "c"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            'text,label\na,pos\n"b,neg\nc,pos\nd,neg\n',
            r":3: a stray quote: .* before line 4, which looks like",
        ),
        ('text,label\n"b,neg\nc,pos\n', r":2: a stray quote: .* not closed until the end of the file.*twice"),
        (
            'text,label\na,pos\n"b" c,neg\n',
            r":3: a stray quote: text goes on after the closing quote in line 3",
        ),
        ('label,text\npos,a\nneg,"b\npos,5"\nneg,d\n', r":3: a stray quote: .* before line 4"),
        ('text,label\n"a\n' + "x\n" * 10_001 + '",pos\n', r":2: a stray quote: .* within 10,000 lines"),
    ],
)
def test_stray_quotes_in_csv(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


def test_going_on_after_a_stray_quote_loses_that_row_only(tmp_path: Path) -> None:
    notes = Notes(keep_going=True)
    documents = read(tmp_path, 'text,label\na,pos\n"b,neg\nc,pos\nd,neg\n', notes=notes)
    assert [d.text for d in documents] == ["a", "c", "d"]
    assert notes.problems["a stray quote"].lines == [3]


def test_tab_separated_files_written_without_quoting(tmp_path: Path) -> None:
    rows = ['"open', 'say "hi"', 'ends"', '"', '"a" b', '"quoted ""x"""', "plain"]
    content = "label\ttext\n" + "".join(f"pos\t{row}\n" for row in rows)
    notes = Notes()
    documents = read(tmp_path, content, "f.tsv", notes=notes)
    assert [d.text for d in documents] == ['"open', 'say "hi"', 'ends"', '"', '"a" b', 'quoted "x"', "plain"]
    assert notes.problems["a quote does not follow the rules of csv; kept as written"].lines == [2, 5, 6]


@pytest.mark.parametrize("row", ["only", "a,b,c"])
def test_rows_of_another_width(tmp_path: Path, row: str) -> None:
    content = f"text,label\nx,1\n{row}\ny,0\n"
    with pytest.raises(DataError, match=r"file.csv:3: .*wrong number of columns: \d instead of 2 .*quote"):
        read(tmp_path, content)
    notes = Notes(keep_going=True)
    assert [d.text for d in read(tmp_path, content, notes=notes)] == ["x", "y"]


def test_harmless_things_are_counted(tmp_path: Path) -> None:
    content = "id,text,label\n1,a,x\n\n2, ,x\n,b,x\n4,c,\n5,\t,y\n"
    notes = Notes()
    documents = read(tmp_path, content, notes=notes)
    assert [(d.id, d.text, d.label) for d in documents] == [
        ("1", "a", "x"),
        ("3", "b", "x"),
        ("4", "c", None),
    ]
    assert {p.what: (p.count, p.lines) for p in notes.problems.values()} == {
        "a document has no words; skipped": (2, [4, 7]),
        "a document has no id; numbered": (1, [5]),
        "a document has no label": (1, [6]),
    }
    with pytest.raises(DataError, match=r":6: 1 of 3 documents has no label \(line 6\); .*`skip_unlabelled`"):
        read(tmp_path, content, need_labels=True)
    with pytest.warns(DataWarning, match=r"no words; skipped \(once: line 3\)"):
        read(tmp_path, "text\na\n \n", notes=None)


def test_several_labels(tmp_path: Path) -> None:
    content = "text,label\na,x| y\nb,\nc,z\n"
    labels = [d.label for d in read(tmp_path, content, label_separator="|", need_labels=True)]
    assert labels == [("x", "y"), (), ("z",)]
    with pytest.raises(SettingError, match="the label separator is blank"):
        read(tmp_path, content, label_separator=" ")
    with pytest.raises(
        SettingError, match="`label_separator` goes with tables, jsonl and conll, not with text"
    ):
        read(tmp_path, content, label_separator="|", format="text")
