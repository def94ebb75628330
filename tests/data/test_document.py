from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data import Document
from exaudit.errors import DataError


@given(st.text())
def test_offsets_of_split_text_are_exact(text: str) -> None:
    """Against a literal scan for runs of characters that are not white space."""
    runs, start = [], None
    for i, character in enumerate([*text, " "]):
        if character.isspace() and start is not None:
            runs.append((start, i))
            start = None
        elif not character.isspace() and start is None:
            start = i
    document = Document.from_text(text, cut="whitespace")
    assert document.spans() == runs
    assert tuple(text[a:b] for a, b in runs) == document.tokens


def test_starts_win_over_looking_for_the_token() -> None:
    document = Document("1", "ab b", ("b",), starts=(3,))
    assert document.spans() == [(3, 4)]
    assert Document("1", "ab b", ("b",)).spans() == [(1, 2)]


@pytest.mark.parametrize("starts", [(0, 0), (1, 0), (9, 9)])
def test_wrong_starts_are_refused(starts: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="not in the text"):
        Document("1", "a a", ("a", "a"), starts=starts).spans()


def test_lengths_must_agree() -> None:
    with pytest.raises(DataError, match="2 tokens but 1 token labels"):
        Document.from_text("a b", token_labels=["1"])
    with pytest.raises(DataError, match="2 tokens but 1 starts"):
        Document("1", "a b", ("a", "b"), starts=(0,))


def test_tokens_missing_from_the_text() -> None:
    with pytest.raises(DataError, match="'c' is not in the text"):
        Document.from_tokens(["a", "c"], text="a b").spans()


def test_documents_can_be_copied_and_sent_to_other_processes() -> None:
    document = Document.from_text("a b", id="1", meta={"x": "y"})
    assert pickle.loads(pickle.dumps(document)) == document == copy.deepcopy(document)
    assert hash(document) == hash(copy.deepcopy(document))
