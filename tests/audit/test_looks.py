"""What was looked up once is decided as it would be anew."""

from __future__ import annotations

import numpy as np
import pytest

from exaudit.audit import Auditor
from exaudit.audit.looks import Looks, StaleLookError
from exaudit.data.document import Document
from exaudit.errors import SettingError, SupportError
from exaudit.model.model import Model
from exaudit.support.memory import MemorySupportSet

Splits = dict[str, list[Document]]


def same(looks: Looks, documents: list[Document], rule: str) -> None:
    for look, told in zip(looks.of(documents), looks.auditor.label(documents, rule=rule), strict=True):  # type: ignore[arg-type]
        assert looks.decided(look, rule).views[0].decisions.tolist() == told.views[0].decisions.tolist()  # type: ignore[arg-type]


def test_decisions_follow_labels_that_were_changed_since(auditor: Auditor, splits: Splits) -> None:
    looks, documents = Looks(auditor), splits["test"][:10]
    auditor.fit_knn(splits["dev"])
    same(looks, documents, "exag")
    same(looks, documents, "knn")
    kept = looks.of(documents)
    for document in splits["train"][:30]:
        auditor.relabel(document.id, "negative" if document.label == "positive" else "positive")
    for look, told in zip(kept, auditor.label(documents, rule="exag"), strict=True):
        assert looks.holds(look.number, look.rows)
        assert looks.decided(look, "exag").views[0].decisions.tolist() == told.views[0].decisions.tolist()
    for n in (0, 3):
        found, literal = looks.evidence(kept[0], n), auditor.explain(documents[0], n)
        assert found.exemplars == literal.exemplars
        assert found.explanation == literal.explanation


def test_a_look_holds_until_an_exemplar_comes_or_goes(auditor: Auditor, splits: Splits) -> None:
    looks = Looks(auditor)
    (look,) = looks.of([splits["test"][0]])
    rows = set(np.unique(look.rows).tolist())
    far = next(
        document.id
        for document in splits["train"][:60]
        if not rows
        & set(range((own := auditor.support.document(document.id)).row, own.row + len(own.tokens)))
    )
    auditor.remove(far)
    assert looks.holds(look.number, look.rows)
    near = auditor.explain(splits["test"][0], 0).exemplars[0].id
    auditor.remove(near)
    assert not looks.holds(look.number, look.rows)
    with pytest.raises(StaleLookError, match="look the document up again"):
        looks.decided(look, "exag")
    with pytest.raises(StaleLookError, match="look the document up again"):
        looks.evidence(look, 0)
    (look,) = looks.of([splits["test"][0]])
    auditor.add([splits["train"][70]])
    assert not looks.holds(look.number, look.rows)


def test_without_a_support_set_the_model_alone_decides(trained: Model, splits: Splits) -> None:
    auditor = Auditor(trained, MemorySupportSet.create(width=20, labels=trained.labels.names))
    looks = Looks(auditor, has_support=False)
    (look,) = looks.of([splits["test"][0]])
    assert looks.decided(look) is look.scores
    assert look.rows.shape == (len(splits["test"][0].tokens), 0)
    with pytest.raises(SupportError, match="nothing but the model can decide"):
        looks.decided(look, "exag")


def test_a_token_that_is_not_there_is_told(auditor: Auditor, splits: Splits) -> None:
    looks = Looks(auditor)
    (look,) = looks.of([splits["test"][0]])
    with pytest.raises(SettingError, match="there is no token 999"):
        looks.evidence(look, 999)
