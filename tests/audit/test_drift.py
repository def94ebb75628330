"""Drift of documents against a reference, in figures that are made up and in those of a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from exaudit.audit import Auditor, DriftReference, DriftWatch
from exaudit.audit.drift import MOST, find_drift
from exaudit.audit.profile import DIRECTIONS, Profile, figures
from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.errors import DataError, ModelError, SettingError
from exaudit.model.model import Model
from tiny import reviews, tiny_bert, tiny_labeler

NAMES = ("length", "distance", "far", "score", "margin", "flagged")
Splits = dict[str, list[Document]]


def made(count: int, seed: int, **shifts: float) -> Profile:
    """Figures drawn from normal distributions, some of them shifted."""
    draws = np.random.default_rng(seed)
    values = np.round(draws.normal(10, 2, size=(count, len(NAMES))), 2)
    for name, shift in shifts.items():
        if name in NAMES:
            values[:, NAMES.index(name)] += shift
    content = draws.normal(shifts.get("content", 0.0), 1, size=(count, DIRECTIONS))
    ids = tuple(f"d{n}" for n in range(count))
    return Profile(ids, NAMES, values, content, tuple(f"text {n}" for n in range(count)))


@pytest.fixture
def reference(trained: Model) -> DriftReference:
    return DriftReference.of(made(300, 0), trained, "v1")


def test_what_shifted_is_named_with_its_numbers(reference: DriftReference) -> None:
    drift = find_drift(reference, made(80, 1, length=30.0, far=-5.0))
    assert drift.detected
    assert {shift.measure for shift in drift.found} == {"length", "far"}
    told = {shift.measure: shift.sentence for shift in drift.found}
    assert told["length"].startswith("documents are longer: median 40.04 words against 9.87; ")
    assert "100% of the documents have more than " in told["length"]
    assert told["length"].endswith(", against 0%")
    assert told["far"].startswith(
        "the farthest words are nearer to an exemplar: median distance 4.53 against 9.975; 3% "
    )
    assert told["length"] in drift.reason
    assert drift.verdict.startswith("Drift: the 80 documents are not like the 300 of the reference")
    assert [shift.p for shift in drift.shifts] == sorted(shift.p for shift in drift.shifts)
    assert json.loads(json.dumps(drift.to_json()))["detected"] is True


def test_content_alone(reference: DriftReference) -> None:
    drift = find_drift(reference, made(80, 2, content=0.8))
    assert [shift.measure for shift in drift.found] == ["content"]
    assert "energy distance" in drift.reason


def test_no_shift(reference: DriftReference) -> None:
    drift = find_drift(reference, made(80, 3))
    assert not drift.detected
    assert drift.found == ()
    assert drift.reason.startswith("no shift was found among 80 documents against 300")
    assert find_drift(reference, made(80, 3)).p == drift.p


def test_the_farthest_documents(reference: DriftReference) -> None:
    new = made(40, 4)
    new.values[17, 0], new.values[5, 2] = 500.0, 90.0
    first, second, *rest = find_drift(reference, new).farthest
    assert (first.id, first.measure, first.value, first.text) == ("d17", "length", 500.0, "text 17")
    assert (second.id, second.measure) == ("d5", "far")
    assert first.sentence.startswith("length 500, usually ")
    assert len(rest) == 3


def test_weights_stand_for_the_new_documents(reference: DriftReference) -> None:
    drift = find_drift(reference, made(200, 8, score=1.5))
    weights = drift.weights()
    old, new = (profile.column("score") for profile in drift.profiles)
    assert abs(np.average(old, weights=weights) - new.mean()) < 0.4 < new.mean() - old.mean()


def test_many_documents_are_drawn_from(trained: Model) -> None:
    large = DriftReference.of(made(MOST + 500, 5), trained, None)
    assert len(large.profile) == MOST


def test_bad_input(reference: DriftReference, trained: Model) -> None:
    with pytest.raises(DataError, match="has only 19 documents; with fewer than 20"):
        find_drift(reference, made(19, 0))
    with pytest.raises(DataError, match="the reference has only 1 document;"):
        DriftReference.of(made(1, 0), trained, None)
    for rate in (0.0, 0.5, float("nan")):
        with pytest.raises(SettingError, match=r"must be from 0.001 to 0.2"):
            find_drift(reference, made(30, 0), rate=rate)


def test_save_and_load(reference: DriftReference, model: Path) -> None:
    assert DriftReference.load(model) is None
    reference.save(model)
    again = DriftReference.load(model)
    assert again is not None
    assert find_drift(again, made(50, 6)).to_json() == find_drift(reference, made(50, 6)).to_json()
    assert again.support_version == "v1"
    path = model / "drift.json"
    value = json.loads(path.read_text())
    bad_values = [
        {"measures": ["odd"]},
        {"measures": list(NAMES[:2])},
        {"figures": [[1.0] * len(NAMES)]},
        {"content": [[1.0]]},
        {"figures": "many"},
        {"boundaries": None},
    ]
    for bad in bad_values:
        changed = {k: v for k, v in (value | bad).items() if k != "checksum"}
        path.write_text(json.dumps(changed))
        with pytest.raises(ModelError, match=r"drift.json is damaged"):
            DriftReference.load(model)
    path.write_text(json.dumps({"schema": 2}))
    with pytest.raises(ModelError, match="newer exaudit"):
        DriftReference.load(model)


def test_a_reference_of_another_support_set_loses_its_distances(
    reference: DriftReference, trained: Model
) -> None:
    assert reference.fitting(trained, "v1") is reference
    other = reference.fitting(trained, "v2")
    assert other.profile.names == ("length", "score", "margin", "flagged")
    drift = find_drift(other, made(50, 7, far=30.0))
    assert not drift.detected
    assert "the support set has changed" in drift.notes[0]


def test_figures_are_the_literal_ones(auditor: Auditor, splits: Splits) -> None:
    documents = splits["test"]
    profile = Profile.of(auditor.model, documents, near=auditor._near)
    plain = auditor.model.label(documents, exemplars=True)
    audited = auditor.label(documents, rule="exag")
    vocabulary = auditor.model.vocabulary
    assert vocabulary is not None
    for n, (scores, one) in enumerate(zip(plain, audited, strict=True)):
        tokens = scores.document.tokens
        near = sorted(one.views[0].neighbours.distances[:, 0].tolist())  # type: ignore[union-attr]
        expected = {
            "length": len(tokens),
            "unknown": sum(token not in vocabulary for token in tokens) / len(tokens),
            "distance": np.median(near),
            "far": np.quantile(near, 0.9),
            "score": scores.output,  # type: ignore[union-attr]
            "margin": abs(scores.output),  # type: ignore[union-attr]
            "flagged": sum(margin > 0 for margin in scores.margins) / len(tokens),  # type: ignore[union-attr]
        }
        assert dict(zip(profile.names, profile.values[n], strict=True)) == pytest.approx(expected, rel=1e-4)
        assert figures(one, auditor.model) == pytest.approx(expected, rel=1e-4)  # the model's, not the rule's
    assert profile.content is not None
    assert profile.content.shape == (len(documents), DIRECTIONS)
    apart = np.linalg.norm(profile.content[0] - profile.content[1])
    vectors = [scores.exemplars.mean(0) for scores in plain[:2]]  # type: ignore[union-attr]
    assert 0.4 < apart / np.linalg.norm(vectors[0] - vectors[1]) / np.sqrt(DIRECTIONS / 20) < 1.6


def test_a_model_with_an_encoder_and_no_support_set(tmp_path: Path) -> None:
    """Its vocabulary is letters, so the pieces of a word are its letters."""
    bert = tiny_bert(tmp_path / "bert")
    labeler = tiny_labeler(encoder=str(bert), vocabulary=0, epochs=1).fit(
        reviews(40), dev=reviews(20, seed=1)
    )
    labeler.save(tmp_path / "model")
    auditor = Auditor.open(tmp_path / "model", device="cpu")
    documents = [Document.from_tokens(["ab", "cde", "f"], id=str(n)) for n in range(25)]
    profile = auditor.fit_drift(documents).profile
    assert profile.names == ("length", "pieces", "score", "margin", "flagged")
    assert set(profile.column("pieces")) == {2.0}
    assert auditor.drift(documents).p == 1.0
    again = Auditor.open(tmp_path / "model", device="cpu")
    assert again.drift(reviews(30, seed=2)).detected


def test_an_auditor_in_memory(auditor: Auditor, splits: Splits) -> None:
    with pytest.raises(SettingError, match="nothing to compare with"):
        auditor.drift(splits["test"])
    auditor.fit_drift(splits["dev"])
    assert not auditor.drift(splits["test"]).detected
    strange = sample_documents("requests", 50, seed=1)
    assert auditor.drift(strange).detected
    watch = DriftWatch(auditor.drift_reference(), auditor.model)
    for scores in auditor.iter_label([*splits["test"], *strange]):
        watch.see(scores)
    assert watch.detected
    assert watch.since is not None
    assert len(splits["test"]) < watch.since < len(splits["test"]) + 50
    assert watch.reason is not None
    assert watch.reason.startswith("of the last ")


def test_a_watch_is_seldom_wrong(reference: DriftReference, trained: Model) -> None:
    """200 streams of 150 documents at 5%, over six measures together."""
    alarms = 0
    for n in range(200):
        rows = made(450, 100 + n)
        known = DriftReference.of(rows.rows(range(300)), trained, None)
        watch = DriftWatch(known, trained, rate=0.05, seed=n)
        for row in rows.values[300:]:
            watch.see_figures(dict(zip(NAMES, row.tolist(), strict=True)))
        alarms += watch.detected
    assert alarms <= 19  # ten, and three standard deviations
