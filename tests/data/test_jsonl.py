from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data import Document, Notes, iter_documents
from exaudit.data.jsonl import read_jsonl
from exaudit.errors import DataError


def read(*lines: Any, notes: Notes | None = None, **options) -> list[Document]:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return list(read_jsonl(iter(list(enumerate(texts, start=1))), notes or Notes("file.jsonl"), **options))


def test_fields() -> None:
    documents = read(
        {"id": 7, "text": "a  b", "label": True, "token_labels": [0, 1], "stars": 5, "by": "me"},
        "",
        {"Review": "c", "sentiment": 1.0, "label": None},
    )
    assert documents[0] == Document(
        "7", "a  b", ("a", "b"), "true", ("0", "1"), {"stars": "5", "by": "me"}, line=1
    )
    assert (documents[1].id, documents[1].text, documents[1].label) == ("2", "c", None)
    assert read({"Review": "c", "sentiment": 1.0})[0].label == "1"
    assert read({"text": "c", "sentiment": 1.5})[0].label == "1.5"
    (chosen,) = read({"text": "t", "x": "w", "y": "l"}, text_column="x", label_column="y", id_column="")
    assert (chosen.text, chosen.label, chosen.id, chosen.meta) == ("w", "l", "1", {"text": "t"})


def test_tokens_with_and_without_text() -> None:
    (document,) = read({"tokens": ["do", "n't"], "token_labels": ["c", "i"]})
    assert (document.text, document.spans()) == ("do n't", [(0, 2), (3, 6)])
    (document,) = read({"tokens": ["do", "n't"], "text": "I don't"})
    assert document.spans() == [(2, 4), (4, 7)]


def test_several_labels() -> None:
    documents = read(
        {"text": "a", "label": ["x", 2, "x"]},
        {"text": "a", "label": []},
        {"text": "a b c", "label": "x", "token_labels": [["x", 1], "B-x", []]},
    )
    assert [d.label for d in documents] == [("x", "2"), (), "x"]
    assert documents[2].token_labels == (("x", "1"), "B-x", ())
    split = read(
        {"text": "a", "label": "x | y"},
        {"text": "a", "label": ""},
        {"text": "a b", "label": 1, "token_labels": ["x|y", "O"]},
        {"text": "a", "label": None},
        label_separator="|",
    )
    assert [d.label for d in split] == [("x", "y"), (), ("1",), None]
    assert split[2].token_labels == (("x", "y"), "O")


def test_fields_that_only_look_like_tokens() -> None:
    (document,) = read({"text": "a b", "tokens": 512, "stars": None, "label": float("nan")})
    assert (document.tokens, document.meta, document.label) == (("a", "b"), {"tokens": "512"}, None)
    (document,) = read({"tokens": ["a"], "ner_tags": ["B-x"]}, need_labels=True)
    assert document.token_labels == ("B-x",)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(texts, st.data())
def test_reads_what_label_writes(text: str, data: st.DataObject) -> None:
    """Words, offsets and decisions come back, with the text and without it."""
    document = Document.from_text(text, id="x")
    decisions = data.draw(
        st.lists(st.integers(0, 1), min_size=len(document.tokens), max_size=len(document.tokens))
    )
    tokens = [
        {"text": token, "start": start, "end": end, "score": -0.5, "label": label}
        for token, (start, end), label in zip(document.tokens, document.spans(), decisions, strict=True)
    ]
    written = {"id": "x", "label": "positive", "score": 0.25, "tokens": tokens}
    for fields in (written, written | {"text": text}):
        notes = Notes()
        for back in read(fields, notes=notes):
            assert back.tokens == document.tokens
            assert back.spans() == document.spans()
            assert back.token_labels == tuple(map(str, decisions))
            assert (back.id, back.label, back.meta) == ("x", "positive", {"score": "0.25"})
        assert len(notes.problems) == (not tokens)


def test_a_word_of_none_of_several_classes() -> None:
    """As `exaudit label` writes it with a model of more than two classes; elsewhere a null is a slip."""
    words = [("my", None), ("soup", "food"), ("was", None)]
    tokens = [{"text": word, "label": label, "scores": {"food": 0.0, "price": 0.0}} for word, label in words]
    (document,) = read({"label": "food", "tokens": tokens})
    assert document.token_labels == ("O", "food", "O")
    (nothing,) = read({"label": "food", "tokens": tokens[:1]})
    assert nothing.token_labels == ("O",)
    for token in tokens:
        del token["scores"]
    with pytest.raises(DataError, match="label every token, or none"):
        read({"label": "food", "tokens": tokens})


def test_given_offsets_are_kept() -> None:
    (document,) = read({"text": "ab b", "tokens": [{"text": "b", "start": 3, "end": 4}]})
    assert document.spans() == [(3, 4)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a"', r"file.jsonl:1: a line is not JSON: it is cut off; write one complete JSON object"),
        ('{"text": a}', r"a line is not JSON: Expecting value at character 10"),
        ("[" * 100_000, r"a line is not JSON"),
        ("[1]", r"not a JSON object: found list"),
        ('{"text": "\\ud800"}', r"half of a surrogate pair"),
        ({"x": 1}, r"neither text nor tokens: fields found: 'x'; .*`text_column`"),
        ({"text": 5}, r"the text is not a string: found 5"),
        ({"text": "a", "label": {"x": 1}}, r"'label' is not a name or a number: found {\"x\": 1}"),
        ({"text": "a", "label": ["x", None]}, r"a list in 'label' has an empty label"),
        ({"text": "a b", "token_labels": [1]}, r"1 labels for 2 tokens; give one label per token"),
        ({"text": "a", "token_labels": [None]}, r"`token_labels` is not a list of labels"),
        ({"text": "a", "token_labels": "1"}, r"`token_labels` is not a list of labels"),
        ({"text": "a b", "tokens": ["b", "a"]}, r"in order: 'a' is not there after character 3"),
        ({"tokens": "a b"}, r"`tokens` is not a list of words: found \"a b\""),
        ({"tokens": ["a", " "]}, r"`tokens` is not a list of words"),
        ({"tokens": [{"word": "a"}]}, r"`tokens` is not a list of words: found null"),
        ({"tokens": [{"text": "a", "start": 0, "end": 5}]}, r"offsets of a token are wrong: 'a' from 0 to 5"),
        ({"tokens": [{"text": "a", "start": 0}, "b"]}, r"offsets of a token are wrong: 'b' from None"),
        ({"tokens": [{"text": "a", "start": 10**12}]}, r"offsets of a token are wrong: 'a' starts at 10"),
        ({"tokens": [{"text": "a", "start": 3}, {"text": "b", "start": 0}]}, r"'b' starts at 0, after 4"),
        ({"text": "xa", "tokens": [{"text": "a", "start": 0}]}, r"'a' is not there after character 0"),
        ({"tokens": [{"text": "a", "label": 1}, {"text": "b"}]}, r"label every token, or none"),
    ],
)
def test_bad_lines(line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(line)
    notes = Notes("file.jsonl", keep_going=True)
    assert [d.text for d in read({"text": "before"}, line, {"text": "after"}, notes=notes)] == [
        "before",
        "after",
    ]
    assert [(p.count, p.lines) for p in notes.problems.values()] == [(1, [2])]


def test_missing_fields_are_named() -> None:
    with pytest.raises(DataError, match=r"no field 'x': fields found: 'text'; name one with `label_column`"):
        read({"text": "a"}, label_column="x")
    with pytest.raises(DataError, match=r"text, label and id must be different fields"):
        read({"text": "a"}, label_column="text")
    assert len(read({"text": "a", "token_labels": ["i"]}, need_labels=True)) == 1


@pytest.mark.parametrize("fields", [{"text": ""}, {"text": None}, {"tokens": []}, {"text": " \n"}])
def test_empty_documents_are_counted(fields: dict[str, Any]) -> None:
    notes = Notes()
    assert [d.id for d in read(fields, {"text": "a"}, notes=notes)] == ["2"]
    assert notes.problems["a document has no words; skipped"].lines == [1]


def test_read_is_streaming(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"text": "a"}\n' * 1500 + "broken")
    documents = iter_documents(path, notes=Notes())
    assert [next(documents).id for _ in range(1500)][-1] == "1500"
    with pytest.raises(DataError, match=r"file.jsonl:1501"):
        next(documents)
