"""Templates: `{slot}` is filled in, and `[...]` encloses the words that carry a class."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["capitalised", "fill", "read_marks", "unmarked"]

_SLOT = re.compile(r"\{(\w+)\}")
_NO_MARKS = str.maketrans("", "", "[]")


def fill(template: str, choose: Callable[[str], str]) -> str:
    """The template with its slots filled, from left to right; what is filled in may have slots itself."""
    return _SLOT.sub(lambda slot: fill(choose(slot[1]), choose), template)


def capitalised(sentence: str) -> str:
    """The sentence with a capital as its first letter, wherever the marks stand."""
    return re.sub(r"^\W*\w", lambda start: start[0].upper(), sentence)


def unmarked(text: str) -> str:
    return text.translate(_NO_MARKS)


def read_marks(marked: str, label: str, other: str) -> tuple[list[str], list[str]]:
    """Split a marked text into tokens and their labels, and let `a` be `an` before a vowel."""
    tokens, labels, inside = [], [], False
    for piece in marked.split():
        inside = inside or "[" in piece
        tokens.append(unmarked(piece))
        labels.append(label if inside else other)
        inside = inside and "]" not in piece
    for place, following in enumerate(tokens[1:]):
        if tokens[place] in ("a", "A") and re.match(r"\W*(?!use)[aeiou]", following):
            tokens[place] += "n"
    return tokens, labels
