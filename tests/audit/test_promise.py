"""A promise in a model folder: made, kept, shown, checked again after edits, and refused where it could not hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exaudit.audit import Auditor, OverlapWarning
from exaudit.audit.audited import Audited
from exaudit.audit.part import Verdict
from exaudit.audit.signals import signals_of
from exaudit.data.document import Document
from exaudit.data.sample import sample_splits
from exaudit.decide.risk import Goal
from exaudit.errors import DataError, ModelError, SettingError, SupportError
from exaudit.model.digests import digest, pack, unpack
from exaudit.model.folder import load_model, save_model, update_model

Splits = dict[str, list[Document]]
GOAL = Goal(0.35, 0.9)


@pytest.fixture(scope="module")
def held_out(splits: Splits) -> list[Document]:
    """Documents of the same kind that the model has not seen."""
    seen = {digest(document) for part in ("train", "dev") for document in splits[part]}
    more = sample_splits("reviews", sizes={"train": 300, "dev": 40, "test": 500})["test"]
    return [document for document in more if digest(document) not in seen]


@pytest.fixture
def promised(model: Path, held_out: list[Document]) -> Auditor:
    auditor = Auditor.open(model)
    auditor.fit_promise(held_out[:300], GOAL)
    return auditor


def test_it_is_kept_with_the_model_and_admits_the_same_again(
    promised: Auditor, model: Path, held_out: list[Document]
) -> None:
    again = Auditor.open(model)
    kept, made = again.promise, promised.promise
    assert kept is not None
    assert made is not None
    assert (kept.goal, kept.made, kept.k, kept.parts) == (made.goal, made.made, made.k, made.parts)
    assert [document.token_labels for document in kept.calibration] == [
        d.token_labels for d in made.calibration
    ]
    for ours, theirs in zip(
        promised.label(held_out[300:], admit=True), again.label(held_out[300:], admit=True), strict=True
    ):
        assert (ours.admitted, ours.reason) == (theirs.admitted, theirs.reason)


def test_the_admitted_are_those_above_the_threshold_and_the_refused_say_by_how_much(
    promised: Auditor, held_out: list[Document]
) -> None:
    promise = promised.promise
    assert promise is not None
    part = promise.parts["documents"]
    threshold = part.risks[-1].threshold
    assert threshold is not None
    refused = 0
    for audited in promised.label(held_out[300:], admit=True):
        assert isinstance(audited, Audited)
        signals = signals_of(audited, (), (), promised.labels)
        trust = part.trust(signals.document[None], np.array([signals.said]))[0]
        assert audited.admitted == (trust >= threshold)
        if not audited.admitted:
            refused += 1
            assert audited.reason is not None
            assert audited.reason.startswith("trust ")
            assert "smaller one than" in audited.reason
            assert "of all answers" in audited.reason
        line = audited.to_json(promised.labels)
        assert line["promise"]["risk"] == 0.35
        assert line["promise"]["withdrawn"] is None
        assert all(
            "admitted" in token for token in line["tokens"]
        )  # the words are labelled, so they are promised, too
    assert refused


def test_it_says_what_it_promises(promised: Auditor) -> None:
    assert promised.promise is not None
    documents, words = promised.promise.sentences(promised.labels)
    assert documents.startswith("of the admitted documents, at most 35% are wrong, with 90% confidence")
    assert words.startswith("of the admitted words, at most 35% are wrong")


def test_withdrawn_it_admits_nothing_and_says_so_in_the_output(
    promised: Auditor, held_out: list[Document]
) -> None:
    assert promised.promise is not None
    promised._promise = promised.promise.withdrawn("the documents are longer")
    (audited,) = promised.label(held_out[300:301], admit=True)
    assert audited.admitted is False
    assert audited.reason == "the promise is withdrawn: the documents are longer"
    assert audited.admitted_tokens is not None
    assert not audited.admitted_tokens.any()
    assert audited.to_json(promised.labels)["promise"]["withdrawn"] == "the documents are longer"
    assert promised.promise.sentences(promised.labels) == [
        "the promise is withdrawn: the documents are longer"
    ]


def test_an_edit_of_the_support_set_has_it_checked_again(promised: Auditor, splits: Splits) -> None:
    assert promised.check_promise() is None
    promised.build(splits["train"][:60])
    told = promised.check_promise()
    assert told is not None
    assert told.startswith(
        "the promise was checked again on the 300 calibration documents; documents: admits "
    )
    assert promised.promise is not None
    assert promised.promise.parts["documents"].trust.signals[-2:] == (
        "distance",
        "agreement",
    )
    promised.fit_knn(splits["dev"])
    assert promised.check_promise() is not None
    assert promised.promise.parts["documents"].trust.signals[-1] == "K-NN"
    assert promised.check_promise() is None


def test_calibration_documents_that_get_into_the_support_set_are_left_out(
    promised: Auditor, held_out: list[Document]
) -> None:
    promised.build([replace(document, id=f"again-{document.id}") for document in held_out[:10]])
    told = promised.check_promise()
    assert told is not None
    assert told.endswith("; 10 that are in the support set now were left out")


def test_documents_that_were_trained_on_are_refused(
    model: Path, splits: Splits, held_out: list[Document]
) -> None:
    auditor = Auditor.open(model)
    seen = [replace(document, id=f"new-{n}") for n, document in enumerate(splits["train"][:3])]
    with pytest.raises(
        DataError, match=r"3 of the 303 calibration documents \(such as 'new-0'\) are in documents that the"
    ):
        auditor.fit_promise([*held_out[:300], *seen], GOAL)
    auditor.build([replace(document, id=f"kept-{document.id}") for document in held_out[:2]])
    with pytest.raises(DataError, match=r"2 of the 300 calibration documents .* are in the support set"):
        auditor.fit_promise(held_out[:300], GOAL)
    assert not (model / "promise.json").exists()


def test_too_few_or_of_one_class_are_refused(model: Path, held_out: list[Document]) -> None:
    auditor = Auditor.open(model)
    with pytest.raises(
        DataError, match=r"50 documents are too few to promise a risk of 5% .* it would take 89"
    ):
        auditor.fit_promise(held_out[:50], Goal(0.05))
    positive = [document for document in held_out if document.label == "positive"]
    with pytest.raises(DataError, match="calibration documents are positive; give documents of all classes"):
        auditor.fit_promise(positive, GOAL)
    with pytest.raises(DataError, match="has no label"):
        auditor.fit_promise([replace(held_out[0], label=None, token_labels=None), *held_out[1:300]], GOAL)
    with pytest.raises(SettingError, match="give `risk`"):
        auditor.fit_promise(held_out[:300])
    assert not (model / "promise.json").exists()


def test_what_cannot_be_met_is_told_with_what_can_be(model: Path, held_out: list[Document]) -> None:
    with pytest.raises(
        SupportError, match="cannot be promised with these 300 documents, and nothing was kept"
    ) as told:
        Auditor.open(model).fit_promise(held_out[:300], Goal(0.02))
    assert "can be met, with" in str(told.value)
    assert not (model / "promise.json").exists()


def test_more_documents_are_added_to_those_that_it_rests_on(
    promised: Auditor, held_out: list[Document]
) -> None:
    more = promised.fit_promise(held_out[290:400], add=True)
    assert len(more.calibration) == 400
    assert more.goal == GOAL


def test_another_model_or_boundary_needs_another_promise(
    promised: Auditor, model: Path, held_out: list[Document]
) -> None:
    loaded = load_model(model)
    update_model(replace(loaded, document_boundaries=(0.5,)), model)
    with pytest.raises(SupportError, match="trained again, or its decision boundaries were moved"):
        Auditor.open(model).label(held_out[:1], admit=True)
    save_model(loaded, model, overwrite=True)
    assert Auditor.open(model).promise is None


def test_a_rule_of_its_own_is_not_promised_anything(
    promised: Auditor, splits: Splits, held_out: list[Document]
) -> None:
    promised.build(splits["train"][:60])
    promised.fit_knn(splits["dev"])
    with pytest.raises(SettingError, match="the promise is about the model's own answers, not those of knn"):
        promised.label(held_out[:1], rule="knn", admit=True)
    promised.fit_admission(splits["dev"])
    (by_limits,) = promised.label(held_out[:1], admit="mean")
    assert isinstance(by_limits, Audited)
    assert not isinstance(by_limits.admission, Verdict)
    promised.check_promise()
    scores, evidence = promised.audit(held_out[0], [0])
    assert isinstance(scores.admission, Verdict)
    assert evidence[0].refusal == scores.admission.reason(0)


@pytest.mark.parametrize("aim", ["precision", "recall"])
def test_precision_and_recall_are_about_the_positive_class(
    model: Path, held_out: list[Document], aim: str
) -> None:
    auditor = Auditor.open(model)
    promise = auditor.fit_promise(held_out[:300], Goal(0.5, 0.8, aim))  # type: ignore[arg-type]
    assert "positive" in promise.sentences(auditor.labels)[0]
    for audited in auditor.label(held_out[300:], admit=True):
        yes = audited.decided == (1,)
        if aim == "recall" and yes:
            assert audited.admitted
        if aim == "precision" and not yes:
            assert audited.reason == "the promise is about documents that are positive; this is negative"


def test_by_class_every_predicted_class_has_its_threshold(model: Path, held_out: list[Document]) -> None:
    promise = Auditor.open(model).fit_promise(held_out[:300], Goal(0.45, 0.8, by_class=True))
    assert set(promise.parts["documents"].risks) == {0, 1}


def test_damage_is_told(promised: Auditor, model: Path) -> None:
    path = model / "promise.json"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"k": 0', '"k": 1'), "utf-8")
    with pytest.raises(ModelError, match=r"promise\.json is damaged"):
        assert Auditor.open(model).promise
    path.unlink()
    with pytest.raises(
        ModelError, match=r"promise\.json is missing; restore it, or run `exaudit admission fit` again"
    ):
        assert Auditor.open(model).promise


def test_a_model_that_does_not_tell_its_documents_is_told(model: Path, held_out: list[Document]) -> None:
    auditor = Auditor.open(model)
    del auditor.model.record["digests"]
    with pytest.warns(OverlapWarning, match="does not tell by which documents"):
        auditor.fit_promise(held_out[:300], GOAL)


def test_digests_are_of_the_words_alone() -> None:
    one, same, other = (
        Document.from_text(text, id=str(n)) for n, text in enumerate(("A film.", "A  film.", "A film!"))
    )
    assert digest(one) == digest(same) != digest(other)
    assert unpack(pack([one, same, other])) == {digest(one), digest(other)}
    assert unpack(pack([other], pack([one]))) == {digest(one), digest(other)}
    assert unpack(pack([])) == frozenset()
