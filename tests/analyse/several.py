"""Documents of three classes, labelled by hand, for tests of the analyses."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from exaudit.audit.audited import Audited, MultiAudited
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.model.scores import MultiScores, TokenScores

NAMES = ("food", "sport", "travel")
ONE_OF = LabelSet("multiclass", NAMES)
SEVERAL = LabelSet("multilabel", NAMES)
BIAS = (0.25, -0.5, 0.125)


def scored(
    text: str,
    own: Sequence[Sequence[float]],
    outputs: Sequence[float],
    *,
    labels: LabelSet = ONE_OF,
    id: str = "1",
    label: str | tuple[str, ...] | None = None,
    token_labels: Sequence[str] | None = None,
) -> MultiScores:
    """A document whose words have these scores (N, C), as a model would show it."""
    document = Document.from_text(text, id=id, label=label, token_labels=token_labels)
    scores = np.array(own, dtype=np.float32)  # (N, C)
    one_of = labels.kind == "multiclass"
    views = []
    for c in range(len(labels)):
        others = np.delete(scores, c, axis=1).max(1) if one_of else np.zeros(len(scores), np.float32)
        views.append(TokenScores(document, float(outputs[c]), others, scores[:, c]))
    return MultiScores(document, tuple(views), one_of)


def admitted(plain: MultiScores, whole: bool) -> MultiAudited:
    """The same after an audit that tells whether the document may be relied on."""
    views = tuple(Audited(v.document, v.output, v.negative, v.positive, admitted=whole) for v in plain.views)
    return MultiAudited(plain.document, views, plain.one_of, admitted=whole)


def drawn(labels: LabelSet, count: int = 40, seed: int = 0) -> list[MultiScores]:
    """Documents with labels, whose scores are drawn, in quarters so that sums are exact."""
    draws = random.Random(seed)
    made = []
    for n in range(count):
        length = draws.randint(1, 9)
        words = [draws.choice("abcd") for _ in range(length)]
        own = [[draws.randint(-8, 8) / 4 for _ in NAMES] for _ in range(length)]
        raw = [draws.randint(-8, 8) + c / 10 for c in range(len(NAMES))]
        label: str | tuple[str, ...] = draws.choice(NAMES)
        if labels.kind == "multiclass":
            outputs = [o - max(raw[:c] + raw[c + 1 :]) for c, o in enumerate(raw)]
        else:
            outputs = raw
            label = tuple(sorted(draws.sample(NAMES, draws.randint(0, 3))))
        tags = [draws.choice([*NAMES, "O", "O"]) for _ in words]
        made.append(
            scored(" ".join(words), own, outputs, labels=labels, id=f"d{n}", label=label, token_labels=tags)
        )
    return made
