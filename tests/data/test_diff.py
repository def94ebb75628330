"""Diffs: rebuild both sides, and give the labels that the paper prints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data.diff import Diff, Pair, diff_documents, pair_across, pair_by_column
from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError

# The example printed in appendix C of the paper (Schmaltz 2021).
SOURCE = (
    "I saw this in the summer of 1990. I'm still amazed by how good this movie is in 2001.<br /><br />Incredible plot. "
    "You'd have to be a child to think this could not happen.<br /><br />I'm just really amazed by it. Definitely see "
    "this."
)
TARGET = (
    "I saw this in the summer of 1990. I'm still annoyed by how bad this movie is in 2001.<br /><br />Implausible "
    "plot. You'd have to be a child to think this could happen.<br /><br />I'm just really annoyed by it. "
    "Don't see this."
)

tokens = st.lists(st.sampled_from(["a", "b", "c", "not", "<br", "/>"]), max_size=14)


def positive(source: str, target: str) -> list[str]:
    """The source tokens labelled 1."""
    diff = Diff.between(source.split(), target.split())
    return [token for token, label in zip(source.split(), diff.labels, strict=True) if label]


def literal_labels(diff: Diff) -> list[int]:
    """The convention by position: an insertion before source token i marks i, or the last if i is past the end."""
    labels, position = [0] * len(diff.source), 0
    for edit in diff.edits:
        if edit.kind == "insert":
            if labels:
                labels[min(position, len(labels) - 1)] = 1
        elif edit.kind in ("replace", "delete"):
            for i in range(position, position + len(edit.source)):
                labels[i] = 1
        position += len(edit.source)
    return labels


def test_the_papers_example() -> None:
    assert positive(SOURCE, TARGET) == ["amazed", "good", "/>Incredible", "not", "amazed", "Definitely"]
    kinds = [edit.kind for edit in Diff.between(SOURCE.split(), TARGET.split()).edits if edit.kind != "equal"]
    assert kinds == ["replace"] * 3 + ["delete"] + ["replace"] * 2


@given(tokens, tokens)
def test_edits_rebuild_both_sides(source: list[str], target: list[str]) -> None:
    diff = Diff.between(source, target)
    assert diff.source == tuple(source)
    assert diff.target == tuple(target)
    assert all(edit.source == edit.target for edit in diff.edits if edit.kind == "equal")


@given(tokens, tokens)
def test_labels_follow_the_convention(source: list[str], target: list[str]) -> None:
    diff = Diff.between(source, target)
    assert list(diff.labels) == literal_labels(diff)
    assert len(diff.labels) == len(source)
    if source == target:
        assert not any(diff.labels)
    elif source:
        assert any(diff.labels)


@given(tokens, tokens)
def test_unmarked_tokens_and_edits_give_the_target(source: list[str], target: list[str]) -> None:
    """A token labelled 0 is kept: it stands in the target as well."""
    diff = Diff.between(source, target)
    kept = [token for token, label in zip(source, diff.labels, strict=True) if not label]
    remaining = iter(target)
    assert all(token in remaining for token in kept)


def test_an_insertion_marks_the_token_after_it_or_the_last() -> None:
    assert positive("a good film", "a very good film") == ["good"]
    assert positive("a good film", "a good film again") == ["film"]
    assert positive("a good film", "oh a good film") == ["a"]
    assert Diff.between([], ["new"]).labels == ()


def test_frequent_tokens_still_match() -> None:
    """difflib drops what is frequent in long texts; a diff must not."""
    source = ["abc"[(i * i // 5 + i // 7) % 3] for i in range(300)]
    diff = Diff.between(source, [*source[:150], "y", *source[150:]])
    assert [i for i, label in enumerate(diff.labels) if label] == [150]


def rows(*cells: tuple[str, str, str]) -> list[Document]:
    return [
        Document.from_text(text, id=str(n), label=label, meta={"batch_id": pair}, line=n + 1)
        for n, (label, text, pair) in enumerate(cells, 1)
    ]


def test_pairs_by_label_in_either_order() -> None:
    documents = rows(
        ("Negative", "so bad", "7"),
        ("Positive", "so good", "7"),
        ("Positive", "ok !", "8"),
        ("Negative", "no !", "8"),
    )
    pairs = pair_by_column(documents, "batch_id", source="positive")
    assert [(p.source.text, p.target.text, p.id) for p in pairs] == [
        ("so good", "so bad", "7"),
        ("ok !", "no !", "8"),
    ]
    labelled = list(diff_documents(pairs))
    assert [d.token_labels for d in labelled] == [("0", "1"), ("0", "0"), ("1", "0"), ("0", "0")]
    assert [d.label for d in labelled] == ["Positive", "Negative"] * 2


def test_pairs_by_place_are_labelled_by_place() -> None:
    documents = rows(("Negative", "so bad", "7"), ("Positive", "so good", "7"))
    (pair,) = pair_by_column(documents, "batch_id", source="second")
    assert (pair.source.text, pair.source.label, pair.target.label) == ("so good", "1", "0")
    assert pair.source.meta["former_label"] == "Positive"


def test_pairs_across_files() -> None:
    sources, targets = rows(("p", "a b", "1"), ("p", "c d", "2")), rows(("n", "c e", "2"), ("n", "a f", "1"))
    assert [p.target.text for p in pair_across(sources, targets)] == ["c e", "a f"]
    pairs = pair_across(sources, targets, "batch_id")
    assert [p.target.text for p in pairs] == ["a f", "c e"]
    ids = [d.id for d in diff_documents(pairs)]
    assert len(set(ids)) == 4


def test_what_cannot_be_paired() -> None:
    with pytest.raises(DataError, match=r"'7' has 1 documents \(lines 2\)"):
        pair_by_column(rows(("p", "a", "7")), "batch_id", source="first")
    with pytest.raises(DataError, match="has 2 documents labelled 'p'"):
        pair_by_column(
            rows(("p", "a", "7"), ("p", "b", "7"), ("n", "a", "8"), ("p", "b", "8")), "batch_id", source="p"
        )
    with pytest.raises(DataError, match=r"no column 'pair'.*'batch_id'"):
        pair_by_column(rows(("p", "a", "7")), "pair", source="first")
    with pytest.raises(SettingError, match="'good'; the labels are 'n', 'p'"):
        pair_by_column(rows(("p", "a", "7"), ("n", "b", "7")), "batch_id", source="good")
    with pytest.raises(DataError, match="2 source documents but 1 target"):
        pair_across(rows(("p", "a", "7"), ("n", "b", "8")), rows(("p", "a", "7")))
    with pytest.raises(DataError, match="no target has batch_id '7'"):
        pair_across(rows(("p", "a", "7")), rows(("p", "a", "9")), "batch_id")
    twice, once = rows(("p", "a", "7"), ("p", "b", "7")), rows(("n", "a", "7"), ("n", "b", "8"))
    with pytest.raises(DataError, match="sources share the batch_id '7'"):
        pair_across(twice, once, "batch_id")
    with pytest.raises(DataError, match="no target has batch_id '8'"):
        pair_across(once, twice, "batch_id")


def test_a_pair_of_equal_texts_has_no_positive_token() -> None:
    document = Document.from_text("same words", id="1")
    assert Pair(document, document, "1").labelled()[0].token_labels == ("0", "0")
