"""Learner-like sentences, correct or with one to three errors, and where the errors are.

Sentences are tokenised and labelled as in the FCE corpus: `i` for a wrong token, `c` for a correct one, and the
token that follows for a missing one. A sentence with an error is the correct sentence of the same draw with
some of its items gone wrong, so nothing but the errors distinguishes the classes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from exaudit.data.document import Document
from exaudit.data.sample.draw import Draw
from exaudit.data.sample.learner_templates import SITUATIONS
from exaudit.data.sample.learner_words import FILLERS, MISSPELT, noun_forms, verb_forms

__all__ = ["learner_sentence"]

_SLOT = re.compile(r"\{(\w+)\}")
_FEWEST_TOKENS, _MOST_TOKENS = 8, 20
_ERROR_SHARE = 0.6
_ERROR_COUNTS = (1, 1, 2, 2, 3)
# Errors closer than this could cancel out: "a friend" gone wrong twice is "friends".
_APART = 3


@dataclass(frozen=True)
class _Item:
    """One place of a sentence: the correct words, and what a learner may write instead."""

    right: tuple[str, ...]
    wrong: tuple[tuple[str, ...], ...]


def learner_sentence(id: str, draw: Draw) -> Document:
    """One sentence of 8 to 20 tokens."""
    faulty = draw.chance(_ERROR_SHARE)
    while True:
        items = _correct_sentence(draw)
        errors = _choose_errors(items, draw.pick(_ERROR_COUNTS), draw)
        correct, wrong = _render(items, {}), _render(items, errors)
        # Both must do, whichever is taken, so that neither length nor template tells the classes apart.
        if errors and all(_FEWEST_TOKENS <= len(tokens) <= _MOST_TOKENS for tokens, _ in (correct, wrong)):
            break
    tokens, labels = wrong if faulty else correct
    return Document.from_tokens(
        tokens,
        id=id,
        label="i" if faulty else "c",
        token_labels=labels,
        meta={"correct": " ".join(correct[0])},
    )


def _correct_sentence(draw: Draw) -> list[_Item]:
    situation = draw.pick(SITUATIONS)
    core = draw.pick(situation.cores)
    question = core.endswith("?")
    ending = "~" if question else draw.pick(situation.endings)
    template = " ".join([draw.pick(situation.openings), core, ending, "" if question else "."])
    subject, number, pronoun = (part.strip() for part in draw.pick(FILLERS["subject"]).split("|"))
    state = {"subject": subject, "pronoun": pronoun}

    while _SLOT.search(template):  # fillers have slots of their own
        template = _SLOT.sub(lambda slot: state.get(slot[1]) or draw.pick(FILLERS[slot[1]]), template)
    person = "first" if subject == "I" else number
    return [_read_item(source, person) for source in template.split() if source != "~"]


def _read_item(source: str, person: str) -> _Item:
    """`right/wrong`, `<word:form>` or a plain word, with the usual misspellings of what is right."""
    if source.startswith("<"):
        word, form = source.strip("<>").split(":")
        variants = _forms(word, form, person)
    else:
        variants = source.split("/")
    right, *wrong = (tuple(variant.replace("~", "").replace("_", " ").split()) for variant in variants)
    if len(right) == 1:
        wrong += [(spelling,) for spelling in MISSPELT.get(right[0], ())]
    return _Item(right, tuple(dict.fromkeys(variant for variant in wrong if variant != right)))


def _forms(word: str, form: str, person: str) -> list[str]:
    """The right form first, then the forms it is mistaken for."""
    if form in ("sg", "pl", "un"):
        plural, mistaken = noun_forms(word)
        return [plural, *mistaken] if form == "pl" else [word, plural]
    if word == "be":
        return _forms_of_be(form, person)
    verb = verb_forms(word)
    base, past, third = word, verb["past"], verb["third"]
    match form:
        case "pres":
            return [third, base] if person == "third" else [base, third]
        case "they":
            return [base, third]
        case "past":
            have = "has" if person == "third" else "have"
            return [past, base, f"{have}_{verb['participle']}", verb["regular"]]
        case "simple":
            return [past, base, verb["regular"]]
        case "base":  # after can, will, did
            return [base, f"to_{base}", third, verb["ing"], past]
        case "inf":
            return [f"to_{base}", base, f"to_{verb['ing']}", f"for_{base}"]
        case "ing":  # after a verb or a preposition
            return [verb["ing"], base, f"to_{base}"]
        case "gerund":  # where "to do" would do as well, or follows a "to"
            return [verb["ing"], base]
        case "part":
            return [verb["participle"], base, past, verb["ing"]]
    raise KeyError(form)


def _forms_of_be(form: str, person: str) -> list[str]:
    present = {"first": "am", "third": "is", "other": "are"}[person]
    past, other_past = ("were", "was") if person == "other" else ("was", "were")
    return {
        "pres": [present, "are" if person == "third" else "is", "be"],
        "past": [past, other_past, present],
        "base": ["be", "to_be", "is", "being"],
        "gerund": ["being", "be"],
        "part": ["been", "be", "was", "being"],
    }[form]


def _choose_errors(items: list[_Item], count: int, draw: Draw) -> dict[int, tuple[str, ...]]:
    """Up to `count` items, well apart, with what is written in their place."""
    places = draw.shuffled([place for place, item in enumerate(items) if item.wrong])
    chosen: dict[int, tuple[str, ...]] = {}
    for place in places:
        if len(chosen) < count and all(abs(place - other) >= _APART for other in chosen):
            chosen[place] = draw.pick(items[place].wrong)
    return chosen


def _render(items: list[_Item], errors: dict[int, tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Tokens and labels. What differs from the right words is wrong; if words are missing, what follows is."""
    tokens: list[str] = []
    wrong: set[int] = set()
    for place, item in enumerate(items):
        start, written = len(tokens), errors.get(place, item.right)
        tokens += written
        if place in errors:
            before = _common(written, item.right)
            after = _common(written[before:][::-1], item.right[before:][::-1])
            differing = range(start + before, start + len(written) - after)
            wrong.update(differing or [start + before])
    tokens[0] = tokens[0][0].upper() + tokens[0][1:]
    return tokens, ["i" if place in wrong else "c" for place in range(len(tokens))]


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    """How many words the two have in common at the start."""
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return count
