"""Texts with some words changed, and which: something to learn from before there is a label to learn from.

The changes are those of a hasty writer: a word left out, put in, swapped with the one before, misspelt, in another
form, another in its place, with a capital or without. What may stand where is known from the texts themselves.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

__all__ = ["Changer"]

MOST = 0.25  # of the words of a text are changed at most; in the mean half as many
KINDS = {"omit": 18, "insert": 14, "swap": 6, "case": 4, "replace": 58}
FREQUENT = 150  # words, the short ones among which are taken for one another
STEM = 4  # letters that forms of a word share
_EDGE = ""  # stands before the first word and after the last


class Changer:
    """Changes texts at random, each time otherwise, and marks the words where it shows."""

    def __init__(self, texts: Iterable[Sequence[str]], *, seed: int = 0) -> None:
        self._random = random.Random(seed)
        counts: Counter[str] = Counter()
        after: dict[str, Counter[str]] = defaultdict(Counter)
        before: dict[str, Counter[str]] = defaultdict(Counter)
        for text in texts:
            counts.update(text)
            for left, right in pairwise([_EDGE, *text, _EDGE]):
                after[left][right] += 1
                before[right][left] += 1
        forms: dict[str, Counter[str]] = defaultdict(Counter)
        for word, count in counts.items():
            if count > 1 and len(word) >= STEM and word.isalpha():
                forms[word[:STEM].lower()][word] = count
        frequent = {w: n for w, n in counts.most_common(FREQUENT) if len(w) < 7 and w.isalpha()}
        self._words = _Urn(counts)
        self._after = {word: _Urn(beside) for word, beside in after.items()}
        self._before = {word: _Urn(beside) for word, beside in before.items()}
        self._forms = {stem: _Urn(words) for stem, words in forms.items()}
        self._frequent = _Urn(frequent)

    def __call__(self, text: Sequence[str]) -> tuple[list[str], list[int]]:
        """The words, some of them changed, and 1 for each that was. A word left out is marked on the next."""
        rate = MOST * self._random.random()
        words: list[str] = []
        marks: list[int] = []
        gap = 0
        for left, word, right in zip([_EDGE, *text], text, [*text[1:], _EDGE], strict=False):
            kind = "keep"
            if self._random.random() < rate:
                kind = self._random.choices(list(KINDS), list(KINDS.values()))[0]
            if kind == "omit":
                gap = 1
                continue
            now, mark = word, gap
            if kind == "insert":
                words.append(self._neighbour(left, word))
                marks.append(1)
                mark = 0
            elif kind == "swap" and words and words[-1] != word:
                now, words[-1] = words[-1], word
                marks[-1] = mark = 1
            elif kind == "case":
                now = word[:1].swapcase() + word[1:]
            elif kind == "replace":
                now = self._instead_of(left, word, right)
            words.append(now)
            marks.append(mark or int(now != word))
            gap = 0
        return (words, marks) if words else (list(text), [0] * len(text))

    def _instead_of(self, left: str, word: str, right: str) -> str:
        draw = self._random.random()
        if word in self._frequent and draw < 0.5:
            return self._frequent.draw(self._random)
        if len(word) >= STEM:
            forms = self._forms.get(word[:STEM].lower())
            if forms is not None and draw < 0.65:
                return forms.draw(self._random)
            if draw > 0.85:
                return self._misspelt(word)
        return self._neighbour(left, right)

    def _neighbour(self, left: str, right: str) -> str:
        """A word that the texts have after `left`, or before `right`."""
        beside = self._after.get(left) if self._random.random() < 0.5 else self._before.get(right)
        return (beside or self._words).draw(self._random) or self._words.draw(self._random)

    def _misspelt(self, word: str) -> str:
        place = self._random.randrange(len(word) - 1)
        head, here, there, tail = word[:place], word[place], word[place + 1], word[place + 2 :]
        other = self._random.choice("etaoinshrdlu")
        ways = (there + here, there, here + here + there, other + there)
        return head + self._random.choices(ways, (3, 3, 2, 2))[0] + tail


class _Urn:
    """Words to draw from, as often as they were counted."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._words = list(counts)
        self._members = counts
        self._sums = list(accumulate(counts.values()))

    def __contains__(self, word: str) -> bool:
        return word in self._members

    def draw(self, source: random.Random) -> str:
        return source.choices(self._words, cum_weights=self._sums)[0]
