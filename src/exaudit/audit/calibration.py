"""Documents to calibrate on: new to the model and its support set, and a promise is for the model as it was then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import islice

from exaudit.audit.place import ModelPlace
from exaudit.audit.promise import Made
from exaudit.data.document import Document
from exaudit.decide.knn import KNN
from exaudit.errors import DataError
from exaudit.model.digests import digest, unpack
from exaudit.model.model import Model
from exaudit.support.support_set import SupportSet

__all__ = ["made_for", "refuse_seen", "seen_in"]

CHUNK = 2048  # documents of the support set read at once


def made_for(model: Model, place: ModelPlace | None, version: str | None, knns: Sequence[KNN]) -> Made:
    """What a promise is made for: all that answers, and the trust in them, depend on."""
    told = [
        None if place is None else place.fingerprint,
        model.word_boundaries,
        model.document_boundaries,
        None if model.confidence is None else model.confidence.to_json(),
    ]
    name = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
    return Made(name, model.precision, tuple(knn.fingerprint() for knn in knns), version)


def refuse_seen(documents: Sequence[Document], model: Model, support: SupportSet | None) -> None:
    """Refuse calibration documents that the model or the support set has seen."""
    trained = unpack(model.record.get("digests", ""))
    kept = set() if support is None else seen_in(support, documents)
    for what, digests in (("documents that the model was trained on", trained), ("the support set", kept)):
        if same := [document for document in documents if digest(document) in digests]:
            raise DataError(
                f"{len(same)} of the {len(documents)} calibration documents (such as {same[0].id!r}) are in {what}, "
                "where answers are better than on new ones; give documents that are not",
                line=same[0].line or None,
            )


def seen_in(support: SupportSet, documents: Sequence[Document]) -> set[str]:
    """The digests of documents whose words are in the support set, under whatever id."""
    wanted, rest = {digest(document) for document in documents}, iter(support.ids)
    found = set[str]()
    while ids := list(islice(rest, CHUNK)):
        kept = (Document(each.id, each.text, each.tokens) for each in support.find(ids))
        found |= wanted & {digest(document) for document in kept}
    return found
