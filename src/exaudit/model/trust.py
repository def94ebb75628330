"""What is said of a model's words, in plain sentences: how far they carry its decisions, and where to doubt them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from exaudit.model.faithfulness import Faithfulness

__all__ = ["sentences"]

# Rules of thumb, lenient enough that a warning means something.
LEAST = 10  # documents decided to be of a class, to doubt its words: a share of fewer is mostly luck
BARE = 0.5  # of these documents without a flagged word: half of the answers come without a reason
SPREAD = 1 / 3  # of the words of a class's documents flagged: a reader is hardly spared any
SPREAD_WORDS = 3  # flagged in a document, besides: of a few words, one is a third by itself
ALIKE = 0.75  # of the rate of flagged words in a class's documents, found in others: no evidence of the class
FEW = 0.2  # of decisions that change once the words are erased: nearly all rest on something else
ALARM = 0.25  # of other documents that one masked word makes look like the class: then masks mean something themselves
BEYOND_CHANCE = 0.1  # by which the words must do better than as many random ones


def sentences(record: dict[str, Any] | None, boundaries: Sequence[float], names: Sequence[str]) -> list[str]:
    """What `model.record["words"]` means, warnings last.

    Nothing without it, as in older models, or where the boundaries of the words were moved since.
    names : of the classes that are decided, as they are to be written.
    """
    if record is None or record["boundaries"] != list(boundaries):
        return []
    found = [Faithfulness.from_json(own) for own in record["classes"]]
    known = [(own, name) for own, name in zip(found, names, strict=True) if own.documents]
    if not known:
        return []
    whose = (
        f"of class {known[0][1]}" if len(names) == 1 else f"of a class ({len(known)} classes taken together)"
    )
    lines = [_summary(_sum(known), whose)]
    for is_doubtful, warning in _DOUBTS:
        bad = [(own, name) for own, name in known if own.decided >= LEAST and is_doubtful(own)]
        if bad:
            lines.append("warning: " + warning(_sum(bad), _listed([name for _, name in bad])))
    return lines


def _summary(found: Faithfulness, whose: str) -> str:
    rates = f"words: {found.rate:.1%} are flagged in dev documents {whose}"
    if found.other_documents:
        rates += f", {found.other_rate:.1%} in others"
    if not found.decided:
        return f"{rates}; none of these documents was decided so, and the words could not be tried"
    if _is_form(found):
        return (
            f"{rates}; what they decide cannot be told by erasing them: one erased word makes {found.alarm:.0%} of "
            "other documents look like the class, as where labels are about form or grammar"
        )
    return (
        f"{rates}; without these words {found.necessity:.0%} of the documents are decided otherwise (without as many "
        f"random ones {found.chance:.0%}), by these words alone {found.sufficiency:.0%} are decided the same"
    )


def _is_form(found: Faithfulness) -> bool:
    return found.passed >= LEAST and found.alarm > ALARM


def _is_bare(found: Faithfulness) -> bool:
    return found.bare >= BARE * found.decided


def _is_spread(found: Faithfulness) -> bool:
    return found.rate > SPREAD and found.flagged > SPREAD_WORDS * found.documents


def _is_alike(found: Faithfulness) -> bool:
    return found.flagged > 0 and found.other_rate > ALIKE * found.rate


def _is_needless(found: Faithfulness) -> bool:
    """Where there are flagged words, and the decision does without them."""
    return (
        not _is_form(found)
        and not _is_bare(found)
        and found.necessity < max(FEW, found.chance + BEYOND_CHANCE)
    )


def _warn_bare(found: Faithfulness, who: str) -> str:
    return (
        f"hardly any word is flagged for {who}: {found.bare / found.decided:.0%} of the documents decided so have "
        "none; the boundary of the words may be too high (exaudit boundary moves it)"
    )


def _warn_spread(found: Faithfulness, who: str) -> str:
    return (
        f"the words flagged for {who} are spread over the documents, {found.rate:.0%} of all words there; the boundary "
        "of the words may be too low (exaudit boundary moves it)"
    )


def _warn_alike(found: Faithfulness, who: str) -> str:
    return (
        f"words are flagged for {who} nearly as often in other documents ({found.other_rate:.1%}) as in those of the "
        f"class ({found.rate:.1%}); they may be common words rather than evidence"
    )


def _warn_needless(found: Faithfulness, who: str) -> str:
    return (
        f"the words flagged for {who} decide little: without them {found.necessity:.0%} of the documents are decided "
        f"otherwise, without as many random ones {found.chance:.0%}; take them for hints, not for the reason"
    )


_DOUBTS: tuple[tuple[Callable[[Faithfulness], bool], Callable[[Faithfulness, str], str]], ...] = (
    (_is_bare, _warn_bare),
    (_is_spread, _warn_spread),
    (_is_alike, _warn_alike),
    (_is_needless, _warn_needless),
)


def _sum(known: Sequence[tuple[Faithfulness, str]]) -> Faithfulness:
    return sum((own for own, _ in known), Faithfulness())


def _listed(names: list[str]) -> str:
    """At most three, and how many more there are."""
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3} more classes"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
