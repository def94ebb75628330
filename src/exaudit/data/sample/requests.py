"""Short messages to a town hall, each of one of twenty classes, and the words in them that say which.

A token carries the class if it tells what is asked for: its name, or what is wrong with it ("the [lamp post]
outside our house is [out]"). Greetings, names, places, times and small talk are "O", and so is the name of
another class where it is mentioned in passing ("this is not about the noise").
"""

from __future__ import annotations

from exaudit.data.document import Document
from exaudit.data.sample.draw import Draw
from exaudit.data.sample.marked import capitalised, fill, read_marks, unmarked
from exaudit.data.sample.request_faults import FAULTS
from exaudit.data.sample.request_frames import (
    ASIDES,
    CLOSINGS,
    CONTRASTS,
    FRAMES,
    GREETINGS,
    LANDMARKS,
    SCENES,
    WORDS,
)
from exaudit.data.sample.request_intent import Intent
from exaudit.data.sample.request_papers import PAPERS

__all__ = ["INTENTS", "request"]

INTENTS = (*FAULTS, *PAPERS)
_FEWEST_WORDS, _MOST_WORDS = 8, 35


def request(id: str, draw: Draw) -> Document:
    """One message of 1 to 3 sentences and 8 to 35 words."""
    intent = draw.pick(INTENTS)
    while True:
        marked = [
            fill(template, lambda slot: _filler(slot, intent, draw)) for template in _plan(intent, draw)
        ]
        tokens, labels = read_marks(" ".join(map(capitalised, marked)), intent.name, "O")
        if _FEWEST_WORDS <= len(tokens) <= _MOST_WORDS:
            break
    text = " ".join(_typed(tokens, draw))
    return Document.from_text(text, id=id, label=intent.name, token_labels=labels)


def _plan(intent: Intent, draw: Draw) -> list[str]:
    """The templates of one message: what it is about, with small talk around it or in its midst."""
    # Repeats are weights.
    source = draw.pick([intent.sentences] * 13 + [intent.pairs] * 4 + [FRAMES] * 2 + [CONTRASTS])
    plan = draw.pick(source).split(" // ")
    room = draw.pick((1, 2, 2, 3)) - len(plan)
    if room > 0 and draw.chance(0.5):
        plan.insert(draw.pick((0, 0, 1)), draw.pick(ASIDES if draw.chance(0.25) else SCENES))
        room -= 1
    if room > 0:
        plan.append(draw.pick(CLOSINGS))
    if draw.chance(0.3):
        plan[0] = f"{draw.pick(GREETINGS)} {plan[0]}"
    return plan


def _filler(slot: str, intent: Intent, draw: Draw) -> str:
    match slot:
        case "noun":
            return draw.pick(intent.nouns)
        case "other":
            return unmarked(draw.pick(draw.pick([other for other in INTENTS if other is not intent]).nouns))
        case "where":
            elsewhere = [place for name in LANDMARKS if name != intent.name for place in LANDMARKS[name]]
            return draw.pick([*WORDS["where"], *elsewhere])
        case _:
            return draw.pick(intent.words.get(slot) or WORDS[slot])


def _typed(tokens: list[str], draw: Draw) -> list[str]:
    """The tokens as people type them: some without capitals, some with two letters the wrong way round."""
    if draw.chance(0.1):
        tokens = [token.lower() for token in tokens]
    if draw.chance(0.15):
        place = draw.below(len(tokens))
        word = tokens[place]
        if len(word) > 5 and word.isalpha():
            at = 1 + draw.below(len(word) - 3)
            tokens[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return tokens
