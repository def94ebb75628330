from __future__ import annotations

import json

import pytest

from exaudit.data import Document, LabelNames, LabelSet
from exaudit.data.labels import plain_positive
from exaudit.errors import DataError, SettingError


def labelled(*labels: str | None) -> list[Document]:
    return [Document.from_text("a b", id=str(i), label=label) for i, label in enumerate(labels)]


def view(documents: list[Document], positive: str | None = None, **options: str) -> LabelNames:
    """The one view of two classes."""
    labels = LabelSet.infer(documents, positive, **options)
    assert labels.kind == "binary"
    (names,) = labels.views
    return names


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
    assert view(labelled(*classes, None)) == LabelNames(negative, positive)


@pytest.mark.parametrize("classes", [("spam", "ham"), ("1", "2"), ("i", "ii"), ("yes", "true")])
def test_otherwise_the_last_of_two_is_positive(classes) -> None:
    assert view(labelled(*classes)) == LabelNames(*sorted(classes))
    assert plain_positive(sorted(classes)) is None


def test_positive_can_be_chosen() -> None:
    documents = labelled("ham", "Spam")
    assert view(documents, "Spam") == LabelNames("ham", "Spam")
    assert view(documents, "spam") == LabelNames("ham", "Spam")
    assert view(labelled("0", "1"), "0") == LabelNames("1", "0")
    with pytest.raises(SettingError, match=r"no label is 'eggs'; the classes are 'Spam', 'ham'"):
        view(documents, "eggs")
    with pytest.raises(SettingError, match="no label is 'SPAM'"):
        view(labelled("spam", "Spam"), "SPAM")  # two classes differ by case alone


def test_more_than_two_classes_count_as_one_against_the_rest() -> None:
    documents = labelled("red", "green", "blue", None)
    names = view(documents, "green")
    assert names == LabelNames("not green", "green", ("blue", "red"))
    assert [names.document_target(document) for document in documents] == [0, 1, 0, None]
    assert (names.name(0), names.name(1)) == ("not green", "green")


def test_one_class_or_none() -> None:
    with pytest.raises(DataError, match=r"f.csv: all labels are 'x'; two classes are needed"):
        view(labelled("x", "x"), path="f.csv")
    with pytest.raises(DataError, match="no document has a label"):
        view(labelled(None))


def test_token_labels_alone_make_a_document_positive_if_any_token_is() -> None:
    documents = [
        Document.from_text("a b", token_labels=["c", "c"]),
        Document.from_text("a b", token_labels=["c", "i"]),
    ]
    names = view(documents)
    assert names == LabelNames("c", "i")
    assert [names.document_target(document) for document in documents] == [0, 1]
    swapped = view(documents, "c")
    assert [swapped.document_target(document) for document in documents] == [1, 1]
    assert swapped.token_targets(documents[1]).tolist() == [1, 0]


def test_document_labels_win_over_token_labels() -> None:
    document = Document.from_text("a b", label="negative", token_labels=["0", "1"])
    names = view([document, *labelled("positive")])
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


def test_names_that_do_not_differ() -> None:
    with pytest.raises(SettingError, match="same name"):
        LabelNames("a", "a")


# -- any set of labels ------------------------------------------------------------------------------------------


def test_three_classes_are_seen_one_at_a_time() -> None:
    documents = labelled("red", "green", "blue", "green")
    labels = LabelSet.infer(documents)
    assert (labels.kind, labels.names) == ("multiclass", ("blue", "green", "red"))
    assert labels.targets(documents).tolist() == [2, 1, 0, 1]
    assert [view.positive for view in labels.views] == ["blue", "green", "red"]
    assert [[view.document_target(d) for view in labels.views] for d in documents[:2]] == [
        [0, 0, 1],
        [0, 1, 0],
    ]
    assert labels.views[1].name(0) == "not green"
    with pytest.raises(
        DataError, match=r"document '0' has the unknown label 'pink'; .*'blue', 'green', 'red'"
    ):
        labels.targets(labelled("pink"))
    with pytest.raises(DataError, match="document '0' has no label"):
        labels.targets(labelled(None))


def test_lists_of_labels() -> None:
    documents = [
        Document.from_text("a b", id=str(i), label=label)
        for i, label in enumerate([("food", "price"), (), ("price",)])
    ]
    labels = LabelSet.infer(documents)
    assert (labels.kind, labels.names) == ("multilabel", ("food", "price"))
    assert labels.targets(documents).tolist() == [[1, 1], [0, 0], [0, 1]]
    assert labels.document_classes(documents[1]) == ()
    assert labels.document_classes(Document.from_text("a")) is None
    assert view(documents, "food") == LabelNames("not food", "food", ("price",))
    assert LabelSet.infer(documents[2:]).names == ("price",)  # a single class, or none of it


def test_tags_name_the_class_of_a_word() -> None:
    labels = LabelSet.infer(labelled("food", "price", "staff"))
    document = Document.from_text(
        "a b c d e f", label="food", token_labels=["B-food", "I-food", "O", "S-price", "staff", "_"]
    )
    assert labels.token_targets(document).tolist() == [
        [1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0],
    ]  # fmt: skip
    several = Document.from_text("a b", label="food", token_labels=[("food", "price"), ()])
    assert labels.token_targets(several).tolist() == [[1, 1, 0], [0, 0, 0]]
    with pytest.raises(DataError, match="unknown token label '1' on token 1"):  # which of three would it be?
        labels.token_targets(Document.from_text("a", token_labels=["1"]))


def test_classes_of_tagged_words_are_those_of_their_documents() -> None:
    documents = [
        Document.from_text("a b c", id="1", token_labels=["B-PER", "I-PER", "O"]),
        Document.from_text("a b c", id="2", token_labels=["B-LOC", "O", "B-PER"]),
        Document.from_text("a b", id="3", token_labels=["O", "O"]),
    ]
    labels = LabelSet.infer(documents)
    assert (labels.kind, labels.names) == ("multilabel", ("LOC", "PER"))
    assert labels.targets(documents).tolist() == [[0, 1], [1, 1], [0, 0]]
    assert view(documents[::2]) == LabelNames("O", "PER")


def test_labels_come_back_as_they_went_in() -> None:
    numbers = labelled("1", "2", "10")
    values = {"1": 1, "2": 2, "10": 10}
    labels = LabelSet.infer(numbers, values=values)
    assert labels.names == ("1", "2", "10")  # in the order of the numbers
    assert labels.sorted_values.tolist() == [1, 2, 10]
    two = LabelSet.infer(labelled("0.5", "-1.0"), values={"0.5": 0.5, "-1.0": -1.0})
    assert (two.values, two.sorted_values.tolist()) == ((-1.0, 0.5), [-1.0, 0.5])
    for kept in (labels, two, LabelSet.infer(labelled("a", "b", "c"), "b")):
        assert LabelSet.from_json(json.loads(json.dumps(kept.to_json()))) == kept
    old = LabelSet.from_json({"negative": "c", "positive": "i", "others": []})
    assert old == LabelSet.binary("c", "i")


@pytest.mark.parametrize(
    ("kind", "names"), [("binary", ("a",)), ("multiclass", ("a", "a")), ("other", ("a", "b"))]
)
def test_label_sets_that_make_no_sense(kind: str, names: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match="cannot have the classes"):
        LabelSet(kind, names)
