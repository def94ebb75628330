from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data import Document, Notes, iter_documents
from exaudit.data.conll import read_conll
from exaudit.errors import DataError


def read(tmp_path: Path, content: str, name: str = "file.conll", **options) -> list[Document]:
    (tmp_path / name).write_bytes(content.encode())
    return list(iter_documents(tmp_path / name, notes=options.pop("notes", Notes()), **options))


def test_tokens_and_labels(tmp_path: Path) -> None:
    documents = read(tmp_path, 'Dear\tc\r\n"\ti\r\n\r\n\r\nSir\tc', "file.tsv")
    assert documents == [
        Document("1", 'Dear "', ("Dear", '"'), token_labels=("c", "i"), line=1),
        Document("2", "Sir", ("Sir",), token_labels=("c",), line=5),
    ]


words = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=5)


@given(st.lists(st.lists(st.tuples(words, st.sampled_from("ci")), min_size=1, max_size=5), max_size=5))
def test_reads_back_what_was_written(documents: list[list[tuple[str, str]]]) -> None:
    text = "\n".join("".join(f"{token}\t{label}\n" for token, label in document) for document in documents)
    read_back = read_conll(enumerate(text.splitlines(keepends=True), start=1), Notes())
    assert [list(zip(d.tokens, d.token_labels or (), strict=True)) for d in read_back] == documents


def test_more_columns_spaces_and_bare_tokens(tmp_path: Path) -> None:
    (document,) = read(tmp_path, "EU NNP B-ORG\nrejects VBZ O\n")
    assert (document.tokens, document.token_labels) == (("EU", "rejects"), ("B-ORG", "O"))
    first, second = read(tmp_path, "a\nb\n\nc\n")
    assert (first.tokens, first.token_labels, second.tokens) == (("a", "b"), None, ("c",))


def test_lines_about_a_document(tmp_path: Path) -> None:
    text = "# id = s 7\n# marked = no\nA\tO\n# x = y\tB\n\n#\tO\n"
    first, second = read(tmp_path, text)
    assert (first.id, first.meta, first.tokens, first.line) == ("s 7", {"marked": "no"}, ("A", "# x = y"), 3)
    assert (second.id, second.meta, second.tokens) == ("2", {}, ("#",))
    with pytest.raises(DataError, match="1 columns where the first line has 2: '# x = y'"):
        read(tmp_path, "A\tO\n# x = y\n")


def test_header_is_skipped(tmp_path: Path) -> None:
    notes = Notes()
    (document,) = read(tmp_path, "Token\tLabel\nlabel\tc\n", notes=notes)
    assert document.tokens == ("label",)
    assert "skipped as a header" in notes.warnings()[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b", r"file.conll:2: .*1 columns where the first line has 2: 'b'.*token<TAB>label"),
        ("b\tc\td", r"file.conll:2: .*3 columns"),
        ("\tc", r"file.conll:2: .*no token"),
        ("b\t", r"file.conll:2: .*no label"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, f"a\tc\n{line}\nd\ti\n")
    notes = Notes(keep_going=True)
    (document,) = read(tmp_path, f"a\tc\n{line}\nd\ti\n", notes=notes)
    assert (document.tokens, document.token_labels) == (("a", "d"), ("c", "i"))
    assert [p.count for p in notes.problems.values()] == [1]


def test_several_labels_of_a_token(tmp_path: Path) -> None:
    path = tmp_path / "file.conll"
    path.write_text("a\tB-x|B-y\nb\tO\n")
    (document,) = iter_documents(path, label_separator="|")
    assert (document.label, document.token_labels) == (None, (("B-x", "B-y"), "O"))
