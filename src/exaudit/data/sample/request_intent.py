"""A class of requests: what it is called, and how people put it."""

from __future__ import annotations

from dataclasses import dataclass

from exaudit.data.sample.draw import lines

__all__ = ["Intent"]


@dataclass(frozen=True)
class Intent:
    """One thing people ask for. All but `name` are templates as in `marked.py`.

    `nouns` name it in a word or two. Each of `sentences` carries the class by itself; each of `pairs` is two
    sentences with ` // ` between them that carry it together. `words` are the slots that only this class has.
    """

    name: str
    nouns: tuple[str, ...]
    sentences: tuple[str, ...]
    pairs: tuple[str, ...]
    words: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls, name: str, nouns: str, sentences: str, pairs: str, **words: str) -> Intent:
        """From plain text: a sentence or a pair a line, and ` / ` between nouns and between words."""
        slots = {slot: tuple(options.split(" / ")) for slot, options in words.items()}
        return cls(name, tuple(nouns.split(" / ")), lines(sentences), lines(pairs), slots)
