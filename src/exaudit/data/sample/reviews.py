"""Short reviews with a label, and the words in them that make a review positive.

A token carries the positive class (truth 1) if it says something good of the reviewed thing: words of praise,
or a denied complaint, from the negation to the word it denies ("[not a bad] film"). Everything else is 0:
intensifiers, names, complaints, and praise that is denied ("not good"), of another thing ("my old phone was
great"), of the past, expected, or reported. So no token of a negative review is 1.
"""

from __future__ import annotations

import re

from exaudit.data.document import Document
from exaudit.data.sample import review_templates as templates
from exaudit.data.sample.draw import Draw
from exaudit.data.sample.marked import capitalised, fill, read_marks, unmarked
from exaudit.data.sample.review_topics import TOPICS, Topic
from exaudit.data.sample.review_words import BAD, GOOD, WORDS

__all__ = ["review"]

_FEWEST_WORDS, _MOST_WORDS = 15, 45


def review(id: str, draw: Draw) -> Document:
    """One review of 2 to 5 sentences and 15 to 45 words."""
    positive = draw.chance(0.5)
    while True:
        topic = draw.pick(TOPICS)
        writer = _Writer(topic, draw)
        marked = [writer.write(template) for template in _plan(topic, positive, draw)]
        tokens, truth = read_marks(" ".join(marked), "1", "0")
        if _FEWEST_WORDS <= len(tokens) <= _MOST_WORDS:
            break
    label = "positive" if positive else "negative"
    return Document.from_text(
        " ".join(tokens), id=id, label=label, token_labels=truth, meta={"topic": topic.name}
    )


def _plan(topic: Topic, positive: bool, draw: Draw) -> list[str]:
    """The templates of one review. The classes differ in what is said of the thing, and in nothing else."""
    verdicts = []
    for _ in range(draw.pick((1, 2, 2, 3))):
        plain, own, denied, contrast = (
            (templates.PRAISE, topic.praise, templates.DENIED_COMPLAINT, templates.GOOD_CONTRAST)
            if positive
            else (templates.COMPLAINT, topic.complaint, templates.DENIED_PRAISE, templates.BAD_CONTRAST)
        )
        if positive and draw.chance(0.1):
            contrast = templates.BUT_GOOD
        # Repeats are weights: plain words in most sentences, negation and contrast in a third.
        verdicts.append(draw.pick(draw.pick([plain] * 6 + [denied] * 2 + [contrast] + [own])))
    asides = []
    for _ in range(draw.pick((0, 1, 1, 2))):
        elsewhere = draw.pick([templates.PRAISED_ELSEWHERE, templates.BLAMED_ELSEWHERE])
        asides.append(draw.pick(draw.pick([templates.NEUTRAL, topic.neutral, elsewhere])))
    if len(verdicts) + len(asides) < 2:
        asides.append(draw.pick(topic.neutral))
    # Most people set the scene first.
    ordered = asides + verdicts if draw.chance(0.5) else draw.shuffled(asides + verdicts)
    return list(dict.fromkeys(ordered))


class _Writer:
    """Fills templates for one review, which keeps to one thing and one name throughout."""

    def __init__(self, topic: Topic, draw: Draw) -> None:
        self._topic, self._draw = topic, draw
        self._thing, self._name = draw.pick(topic.things).replace("-", " "), draw.pick(WORDS["name"])
        self._aspects = draw.shuffled(
            [(kind, noun) for kind, nouns in topic.aspects.items() for noun in nouns]
        )

    def write(self, template: str) -> str:
        """The sentence, its marks still in it."""
        self._kind, self._be = self._topic.kind, "was"
        sentence = capitalised(fill(template, self._fill))
        if sentence.endswith("."):
            sentence = sentence[:-1] + self._draw.pick(["."] * 9 + ["!"])
        return sentence

    def _fill(self, slot: str) -> str:
        draw = self._draw
        match slot:
            case "thing":
                return self._thing
            case "things":
                return _plural(self._thing)
            case "name":
                return self._name
            case "aspect" | "aspects":
                return self._aspect(plural=slot == "aspects")
            case "be":
                return self._be
            case "do":
                return self._topic.visit[0]
            case "did":
                return self._topic.visit[1]
            case "good" | "bad":
                pools = GOOD if slot == "good" else BAD
                return draw.pick(pools[draw.pick([self._kind, "any"])])
            case "great" | "grim":
                return draw.pick((GOOD if slot == "great" else BAD)["any"])
            case "liked":
                return unmarked(draw.pick(WORDS["loved"]))
            case _:
                return draw.pick(WORDS[slot])

    def _aspect(self, *, plural: bool) -> str:
        """The next aspect that was not mentioned yet; it decides on `{be}` and on the adjectives to come."""
        place = next(i for i, (_, noun) in enumerate(self._aspects) if not plural or noun.endswith("+"))
        kind, noun = self._aspects.pop(place)
        self._aspects.append((kind, noun))
        self._kind, self._be = kind, "were" if noun.endswith("+") else "was"
        return noun.rstrip("+").replace("-", " ")


def _plural(noun: str) -> str:
    if re.search("[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith("s") else "s")
