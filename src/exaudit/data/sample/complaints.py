"""Feedback of hotel guests with the aspects they complain about, none to four of eight, and the words that do.

A token carries an aspect if it is part of a complaint about it: what is bad, and how ("the [wifi] was very
[slow]"). Everything else is "O": scenes, aspects that are praised or just mentioned, and complaints that are
not this guest's ("I had read that the wifi was slow, but that is not true").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from exaudit.data.document import Document
from exaudit.data.sample.complaint_aspects import ASPECTS, Aspect
from exaudit.data.sample.complaint_frames import (
    CLOSINGS,
    CONTRAST,
    LEADS,
    LIKE,
    RUMOURS,
    SCENES,
    WORDS,
)
from exaudit.data.sample.draw import Draw
from exaudit.data.sample.marked import capitalised, fill, read_marks, unmarked

__all__ = ["complaint"]

_FEWEST_SENTENCES, _MOST_SENTENCES = 2, 4
_MOST_WORDS = 60


@dataclass(frozen=True)
class _Clause:
    """A sentence or half of one; `label` is the aspect it complains about. A closed one is not joined to another."""

    marked: str
    label: str = "O"
    closed: bool = False


def complaint(id: str, draw: Draw) -> Document:
    """One piece of feedback of 2 to 4 sentences and at most 60 words."""
    aspects = draw.shuffled(ASPECTS)
    # Repeats are weights.
    blamed = aspects[: draw.pick((0, 0, 1, 1, 1, 2, 2, 2, 3, 4))]
    while True:
        others = aspects[len(blamed) :][: draw.pick((0, 1, 1, 2))]
        sentences = _sentences(_plan(blamed, others, draw), draw)
        parts = [read_marks(part.marked, part.label, "O") for sentence in sentences for part in sentence]
        tokens = [token for words, _ in parts for token in words]
        if _FEWEST_SENTENCES <= len(sentences) <= _MOST_SENTENCES and len(tokens) <= _MOST_WORDS:
            break
    return Document.from_text(
        " ".join(tokens),
        id=id,
        label=tuple(aspect.name for aspect in ASPECTS if aspect in blamed),
        token_labels=[label for _, labels in parts for label in labels],
    )


def _plan(blamed: list[Aspect], others: list[Aspect], draw: Draw) -> list[_Clause]:
    """What one guest writes: complaints, and aspects that are no cause for complaint, in any order."""
    clauses = [_Clause(_write(draw.pick(aspect.complaints), draw, aspect), aspect.name) for aspect in blamed]
    for aspect in others:
        rumour = draw.chance(0.25)
        text = _write(draw.pick(RUMOURS if rumour else aspect.others), draw, aspect)
        clauses.append(_Clause(unmarked(text), closed=rumour))
    clauses = draw.shuffled(clauses)
    if draw.chance(0.5):
        clauses.insert(0, _Clause(_write(draw.pick(SCENES), draw), closed=True))
    if draw.chance(0.25):
        clauses.append(_Clause(_write(draw.pick(CLOSINGS), draw), closed=True))
    return clauses


def _write(template: str, draw: Draw, aspect: Aspect | None = None) -> str:
    def choose(slot: str) -> str:
        if aspect is None:
            return draw.pick(WORDS[slot])
        return draw.pick(aspect.rumours if slot == "rumour" else aspect.words.get(slot) or WORDS[slot])

    return fill(template, choose)


def _sentences(clauses: list[_Clause], draw: Draw) -> list[list[_Clause]]:
    """One or two clauses a sentence, with what goes between them, a capital and a full stop."""
    groups: list[list[_Clause]] = []
    for clause in clauses:
        last = groups[-1] if groups else []
        if len(last) == 1 and not last[0].closed and not clause.closed and draw.chance(0.5):
            alike = (last[0].label == "O") == (clause.label == "O")
            end, start = draw.pick(LIKE if alike else CONTRAST)
            last[0] = replace(last[0], marked=last[0].marked + end)
            last.append(replace(clause, marked=f"{start} {clause.marked}"))
        elif not clause.closed and draw.chance(0.15):
            groups.append([replace(clause, marked=f"{_write(draw.pick(LEADS), draw)} {clause.marked}")])
        else:
            groups.append([clause])
    for group in groups:
        group[0] = replace(group[0], marked=capitalised(group[0].marked))
        group[-1] = replace(group[-1], marked=group[-1].marked + draw.pick(["."] * 19 + ["!"]))
    return groups
