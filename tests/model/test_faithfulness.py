"""Whether words can be trusted: counts against a literal reference, and the sentences that they lead to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.model import faithfulness as module
from exaudit.model.card import card
from exaudit.model.faithfulness import Faithfulness, faithfulness, words_record
from exaudit.model.folder import load_model, read_description, save_model
from exaudit.model.model import Model
from exaudit.model.options import RunOptions
from exaudit.model.settings import Settings
from exaudit.model.train import train
from exaudit.model.trust import sentences
from tiny import FILLER, SMALL, cued, tiny_bert, tiny_labeler


def one_cue(count: int, seed: int = 0) -> list[Document]:
    """Filler words, and in every other document one cue word that decides it."""
    draws = np.random.default_rng(seed)
    made = []
    for n in range(count):
        words = [str(word) for word in draws.choice(FILLER, 12)]
        words[draws.integers(12)] = "awful" if n % 2 else "chair"
        made.append(Document.from_tokens(words, id=str(n), label="yes" if n % 2 else "no"))
    return made


@pytest.fixture(scope="module")
def model() -> Model:
    return (
        tiny_labeler(epochs=20, filters=60, batch_size=10, boundary="documents")
        .fit(one_cue(200), dev=one_cue(80, 1))
        .model_
    )


def said(model: Model) -> list[str]:
    return sentences(
        model.record["words"], model.word_boundaries, [repr(v.positive) for v in model.labels.views]
    )


def with_words_at(model: Model, boundary: float) -> Model:
    """The model with another boundary of its words, and tried again."""
    moved = replace(model, word_boundaries=(boundary,) * len(model.word_boundaries))
    return replace(moved, record=model.record | {"words": words_record(moved, one_cue(80, 1))})


def test_a_cue_that_decides_is_necessary_and_sufficient(model: Model) -> None:
    (found,) = faithfulness(model, one_cue(80, 1))
    assert (found.documents, found.words, found.other_documents, found.other_words) == (40, 480, 40, 480)
    assert found.decided == 40
    assert found.necessity > 0.9
    assert found.sufficiency > 0.9
    assert found.chance < 0.3
    assert found.rate == pytest.approx(1 / 12, abs=0.02)
    assert found.other_rate < 0.01
    (line,) = said(model)
    assert line.startswith(
        "words: 8.3% are flagged in dev documents of class 'yes', 0.0% in others; without these"
    )


def by_hand(model: Model, documents: list[Document], k: int) -> dict[str, int]:
    """Necessity and sufficiency, one document at a time, of a model without an encoder: its labels of texts with words
    that it does not know."""
    name = model.labels.views[k].positive
    counts = dict.fromkeys(
        ("documents", "flagged", "other_flagged", "decided", "bare", "changed", "standing"), 0
    )
    for document in documents:
        (scores,) = model.label([document])
        view = scores.views[k]
        flags = view.scores - np.float32(view.doubt) > np.float32(view.offset)
        label = document.label if isinstance(document.label, tuple) else (document.label,)
        if name not in label:
            counts["other_flagged"] += int(flags.sum())
            continue
        counts["documents"] += 1
        counts["flagged"] += int(flags.sum())
        if view.output <= 0:
            continue
        counts["decided"] += 1
        counts["bare"] += int(flags.sum() == 0)
        for key, gone in (("changed", flags), ("standing", ~flags)):
            words = ["no-such-word" if out else w for w, out in zip(document.tokens, gone, strict=True)]
            (again,) = model.label([words])
            counts[key] += int((again.views[k].output > 0) == (key == "standing"))
    return counts


@pytest.mark.parametrize("several", [False, True])
def test_the_counts_of_many_classes_are_those_made_by_hand(several: bool) -> None:
    dev = cued(60, several=several, seed=1)
    model = tiny_labeler(epochs=8, filters=60).fit(cued(150, several=several), dev=dev).model_
    found = faithfulness(model, dev)
    assert len(found) == 3
    assert sum(own.changed for own in found) > 0
    for k, own in enumerate(found):
        expected = by_hand(model, dev, k)
        assert {key: getattr(own, key) for key in expected} == expected
    assert said(model)[0].startswith("words: ")
    assert "(3 classes taken together)" in said(model)[0]


def test_where_the_largest_word_decides_and_each_stands_alone_nothing_else_can() -> None:
    labeler = tiny_labeler(epochs=40, filters=60, loss="min-max", pool="none", batch_size=10)
    fitted = labeler.fit(one_cue(200), dev=one_cue(80, 1)).model_
    assert fitted.by_tokens
    (found,) = faithfulness(fitted, one_cue(80, 1))
    assert found.decided > 0
    assert (found.bare, found.necessity, found.sufficiency) == (0, 1.0, 1.0)


def test_a_boundary_far_too_high_is_told(model: Model) -> None:
    _, line, *rest = said(with_words_at(model, 1e6))
    assert line.startswith(
        "warning: hardly any word is flagged for 'yes': 100% of the documents decided so have none"
    )
    assert not rest  # that no decision changes goes without saying


def test_a_boundary_far_too_low_is_told(model: Model) -> None:
    _, spread, alike, *_ = said(with_words_at(model, -1e6))
    assert spread.startswith(
        "warning: the words flagged for 'yes' are spread over the documents, 100% of all words"
    )
    assert "nearly as often in other documents (100.0%) as in those of the class (100.0%)" in alike


GOOD = Faithfulness(100, 1000, 100, 100, 1000, 20, 90, 5, 80, 10, 85)


def told(*found: Faithfulness) -> list[str]:
    record = {"boundaries": [0.0], "classes": [vars(own) for own in found]}
    return sentences(record, (0.0,), [f"c{k}" for k in range(len(found))])[1:]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"bare": 45}, ["hardly any word"]),
        ({"bare": 44}, []),
        ({"words": 1000, "flagged": 400}, ["spread over"]),
        ({"words": 300, "flagged": 120, "other_words": 300}, []),  # one in a document of three words
        ({"other_flagged": 80}, ["nearly as often"]),
        ({"changed": 17}, ["decide little"]),
        ({"changed": 40, "changed_by_chance": 38}, ["decide little"]),  # as random words do
        ({"changed": 2, "decided": 9, "bare": 9}, []),  # too few documents to tell
    ],
)
def test_what_is_warned_of(changes: dict[str, int], expected: list[str]) -> None:
    found = told(replace(GOOD, **changes))
    assert len(found) == len(expected)
    for line, part in zip(found, expected, strict=True):
        assert line.startswith("warning: ")
        assert part in line


def test_at_most_three_classes_are_named() -> None:
    bad = replace(GOOD, changed=9)
    assert "flagged for c1 and c2 decide" in told(GOOD, bad, bad)[0]
    (line,) = told(GOOD, *[bad] * 5)
    assert "flagged for c1, c2, c3 and 2 more classes decide little: without them 10% of" in line


def test_a_class_that_is_never_decided_could_not_be_tried() -> None:
    record = {"boundaries": [0.0], "classes": [vars(Faithfulness(3, 30, 2, 3, 30, 1))]}
    (line,) = sentences(record, (0.0,), ["yes"])
    assert line.endswith("none of these documents was decided so, and the words could not be tried")
    empty = {"boundaries": [0.0], "classes": [vars(Faithfulness())]}
    assert sentences(empty, (0.0,), ["yes"]) == []  # no dev document has the class


def test_nothing_is_said_of_an_old_model_or_a_boundary_that_was_moved(model: Model) -> None:
    assert sentences(None, (0.0,), ["yes"]) == []
    assert sentences(model.record["words"], (model.word_boundaries[0] + 1,), ["yes"]) == []


def test_saved_and_loaded_and_on_the_card(model: Model, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model", device="cpu")
    assert again.record["words"] == model.record["words"]
    assert said(again) == said(model)
    description = read_description(tmp_path / "model")
    assert "- words: 8.3% are flagged in dev documents of class **yes**" in card(description)
    del description["record"]["words"]
    assert "words: " not in card(description)


def test_of_many_or_long_documents_some_are_tried(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def tried(**limits: int) -> int:
        for name, limit in limits.items():
            monkeypatch.setattr(module, name, limit)
        (found,) = faithfulness(model, one_cue(80, 1))
        assert (found.documents, found.other_documents, found.words) == (40, 40, 480)
        return found.decided

    assert tried() == 40
    assert tried(DOCUMENTS=25) == 25
    assert tried(DOCUMENTS=5) == 20
    assert tried(WORDS=12 * 7) == 7
    assert tried(WORDS=1) == 1


def test_features_that_are_known_need_not_be_read_again(model: Model) -> None:
    assert model.record["words"] == words_record(
        model, one_cue(80, 1)
    )  # that of training came from its features


def test_documents_without_labels_are_refused(model: Model) -> None:
    with pytest.raises(DataError, match="or some without"):
        faithfulness(model, [Document.from_tokens(["awful"], id="1")])
    with pytest.raises(DataError, match="here are none"):
        faithfulness(model, [])


def test_an_encoder_reads_masks_and_a_resumed_run_says_the_same(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    settings = Settings(**SMALL | {"encoder": str(folder), "epochs": 2})
    whole = train(settings, one_cue(60), one_cue(40, 1))

    def stop(record: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    work = tmp_path / "work" / "of this run"  # not there yet
    with pytest.raises(KeyboardInterrupt):
        train(settings, one_cue(60), one_cue(40, 1), options=RunOptions(work, report=stop))
    resumed = train(settings, one_cue(60), one_cue(40, 1), options=RunOptions(work, resume=True))
    assert resumed.record["words"] == whole.record["words"]
    assert whole.record["words"]["classes"][0]["documents"] == 20
