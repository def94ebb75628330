"""Changed texts: what was changed is marked, and nothing else."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data import changes
from exaudit.data.changes import Changer

SENTENCES = (
    "The waiters were friendly and the soup was hot .",
    "We waited an hour for the soup , and the waiter forgot us .",
    "I would go there again with friends .",
    "The room was cold but the waiter was a friend of mine .",
)
TEXTS = [sentence.split() for sentence in SENTENCES]
words = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6), max_size=9
)


@given(st.lists(words, min_size=1, max_size=4), st.integers(0, 50))
def test_every_word_has_a_mark_and_kept_words_come_in_their_order(texts: list[list[str]], seed: int) -> None:
    change = Changer(texts, seed=seed)
    for text in texts:
        changed, marks = change(text)
        assert len(changed) == len(marks)
        assert bool(changed) == bool(text)
        assert "" not in changed
        assert set(marks) <= {0, 1}
        rest = iter(text)
        assert all(
            word in rest for word, mark in zip(changed, marks, strict=True) if not mark
        )  # a subsequence


def test_what_is_not_marked_was_not_changed() -> None:
    """Without a mark nothing was put in, left out (but at the very end), or replaced."""
    change = Changer(TEXTS, seed=3)
    touched = 0
    for _ in range(300):
        for text in TEXTS:
            changed, marks = change(text)
            if not any(marks):
                assert changed == text[: len(changed)]
            touched += changed != text
    assert touched > 600


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("omit", lambda text, changed: len(changed) < len(text)),
        ("insert", lambda text, changed: len(changed) > len(text)),
        ("swap", lambda text, changed: Counter(changed) == Counter(text) and changed != text),
        (
            "case",
            lambda text, changed: (
                [w.lower() for w in changed] == [w.lower() for w in text] and changed != text
            ),
        ),
        ("replace", lambda text, changed: len(changed) == len(text) and changed != text),
    ],
)
def test_each_kind_of_change(kind: str, expected, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "KINDS", {kind: 1})
    change = Changer(TEXTS, seed=1)
    seen = 0
    for _ in range(50):
        for text in TEXTS:
            changed, marks = change(text)
            if any(marks):
                assert expected(text, changed)
                seen += 1
    assert seen > 50


def test_marks_stand_where_a_comparison_would_put_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "KINDS", {"replace": 1})
    change = Changer(TEXTS, seed=5)
    for _ in range(40):
        for text in TEXTS:
            changed, marks = change(text)
            assert marks == [int(a != b) for a, b in zip(text, changed, strict=True)]


def test_a_word_left_out_is_marked_on_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "KINDS", {"omit": 1})
    text = list("abcdefghijklmnop")
    change = Changer([text], seed=2)
    for _ in range(60):
        changed, marks = change(text)
        expected = [0] * len(changed)
        for what, _, _, at, _ in SequenceMatcher(None, text, changed, autojunk=False).get_opcodes():
            if what == "delete" and at < len(changed):
                expected[at] = 1
        assert marks == expected


def test_replacements_are_words_of_the_texts_or_misspellings() -> None:
    change = Changer(TEXTS, seed=4)
    known = {word for text in TEXTS for word in text}
    drawn = {change._instead_of("the", "waiter", "was") for _ in range(300)}
    assert {"waiter", "soup"} <= drawn  # a form of it; what follows "the"
    assert drawn - known  # misspelt


def test_the_same_seed_changes_alike() -> None:
    first, again, other = (Changer(TEXTS, seed=seed) for seed in (7, 7, 8))
    ours, same, others = ([change(text) for text in TEXTS * 5] for change in (first, again, other))
    assert ours == same
    assert ours != others


def test_equal_words_cannot_be_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "KINDS", {"swap": 1})
    text = ["very"] * 12
    change = Changer([text], seed=0)
    assert all(change(text) == (text, [0] * 12) for _ in range(30))
