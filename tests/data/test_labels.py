from __future__ import annotations

import json

import pytest

from exaudit.data import Document, LabelNames
from exaudit.errors import DataError, SettingError


def labelled(*labels: str | None) -> list[Document]:
    return [Document.from_text("a b", id=str(i), label=label) for i, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("classes", "negative", "positive"),
    [
        (("Negative", "Positive"), "Negative", "Positive"),
        (("pos", "neg"), "neg", "pos"),
        (("1", "0"), "0", "1"),
        (("-1", "1"), "-1", "1"),
        (("i", "c"), "c", "i"),
        (("YES", "NO"), "NO", "YES"),
        (("true", "false"), "false", "true"),
        (("positive", "neutral"), "neutral", "positive"),
    ],
)
def test_plain_names_say_which_class_is_positive(classes, negative: str, positive: str) -> None:
    assert LabelNames.infer(labelled(*classes, None)) == LabelNames(negative, positive)


@pytest.mark.parametrize(
    "classes",
    [("ham", "spam"), ("1", "2"), ("i", "ii"), ("yes", "true"), ("positive", "negative", "neutral")],
)
def test_otherwise_the_classes_are_listed_and_positive_asked_for(classes) -> None:
    with pytest.raises(SettingError, match="--positive") as caught:
        LabelNames.infer(labelled(*classes))
    assert all(repr(name) in str(caught.value) for name in classes)


def test_positive_can_be_chosen() -> None:
    documents = labelled("ham", "Spam")
    assert LabelNames.infer(documents, "Spam") == LabelNames("ham", "Spam")
    assert LabelNames.infer(documents, "spam") == LabelNames("ham", "Spam")
    assert LabelNames.infer(labelled("0", "1"), "0") == LabelNames("1", "0")
    with pytest.raises(SettingError, match=r"no label is 'eggs'; the classes are 'Spam', 'ham'"):
        LabelNames.infer(documents, "eggs")
    with pytest.raises(SettingError, match="no label is 'SPAM'"):
        LabelNames.infer(labelled("spam", "Spam"), "SPAM")  # two classes differ by case alone


def test_more_than_two_classes_count_as_one_against_the_rest() -> None:
    documents = labelled("red", "green", "blue", None)
    names = LabelNames.infer(documents, "green")
    assert names == LabelNames("not green", "green", ("blue", "red"))
    assert [names.document_target(document) for document in documents] == [0, 1, 0, None]
    assert (names.name(0), names.name(1)) == ("not green", "green")


def test_one_class_or_none() -> None:
    with pytest.raises(DataError, match=r"f.csv: all labels are 'x'; two classes are needed"):
        LabelNames.infer(labelled("x", "x"), path="f.csv")
    with pytest.raises(DataError, match="no document has a label"):
        LabelNames.infer(labelled(None))


def test_token_labels_alone_make_a_document_positive_if_any_token_is() -> None:
    documents = [
        Document.from_text("a b", token_labels=["c", "c"]),
        Document.from_text("a b", token_labels=["c", "i"]),
    ]
    names = LabelNames.infer(documents)
    assert names == LabelNames("c", "i")
    assert [names.document_target(document) for document in documents] == [0, 1]
    swapped = LabelNames.infer(documents, "c")
    assert [swapped.document_target(document) for document in documents] == [1, 1]
    assert swapped.token_targets(documents[1]).tolist() == [1, 0]


def test_document_labels_win_over_token_labels() -> None:
    document = Document.from_text("a b", label="negative", token_labels=["0", "1"])
    names = LabelNames.infer([document, *labelled("positive")])
    assert names == LabelNames("negative", "positive")
    assert names.document_target(document) == 0


@pytest.mark.parametrize("pair", ["no yes", "0 1", "c i", "C I", "false true", "-1 +1", "bad good"])
def test_token_labels_in_many_words(pair: str) -> None:
    names = LabelNames("bad", "good")
    targets = names.token_targets(Document.from_text("a b", token_labels=pair.split()))
    assert targets.tolist() == [0, 1]
    assert targets.dtype == "int8"


def test_class_names_come_before_the_usual_token_labels() -> None:
    names = LabelNames("1", "0")
    assert names.token_targets(Document.from_text("a b", token_labels=["0", "1"])).tolist() == [1, 0]


def test_unknown_labels_name_file_line_and_label() -> None:
    names = LabelNames("c", "i")
    document = Document.from_text("a b", id="7", label="x", line=3)
    with pytest.raises(DataError, match=r"f.tsv:3: document '7' has the unknown label 'x'; .*'c', 'i'"):
        names.document_target(document, path="f.tsv")
    document = Document.from_text("a b", id="7", token_labels=["c", "B-X"], line=3)
    message = r"f.tsv:3: document '7' has the unknown token label 'B-X' on token 2, 'b'; use 'c' and 'i'"
    with pytest.raises(DataError, match=message):
        names.token_targets(document, path="f.tsv")


def test_saved_and_loaded() -> None:
    for names in (LabelNames("a", "b"), LabelNames("not b", "b", ("a", "é"))):
        assert LabelNames.from_json(json.loads(json.dumps(names.to_json()))) == names
    with pytest.raises(SettingError, match="same name"):
        LabelNames("a", "a")
