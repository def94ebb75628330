"""A support set and its queries are of one precision, whatever machine they meet on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exaudit import _device
from exaudit.audit import Auditor
from exaudit.decide.risk import Goal
from exaudit.errors import PrecisionWarning, SupportError
from exaudit.model.digests import digest, unpack
from exaudit.model.folder import save_model
from exaudit.model.model import Model
from exaudit.support.memory import MemorySupportSet
from exaudit.support.repair import repair
from exaudit.support.store import LanceSupportSet
from exaudit.support.summary import summary
from tiny import reviews, tiny_bert, tiny_labeler

SUPPORT = reviews(12, seed=5)
OTHER = {"float32": "bfloat16", "bfloat16": "float32"}


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model with an encoder; its settings leave the precision to the machine."""
    bert = tiny_bert(tmp_path_factory.mktemp("encoder") / "bert")
    return tiny_labeler(encoder=str(bert)).fit(reviews(40)).model_


@pytest.fixture(params=["float32", "bfloat16"])
def made(request: pytest.FixtureRequest, encoded: Model, tmp_path: Path) -> str:
    """The precision of the support set of a model folder, on a machine that would choose it."""
    save_model(encoded, tmp_path / "model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_device, "has_bfloat16", lambda device: request.param == "bfloat16")
        Auditor.open(tmp_path / "model", device="cpu").build(SUPPORT)
    return str(request.param)


def test_queries_are_read_in_the_precision_of_the_set(
    monkeypatch: pytest.MonkeyPatch, made: str, encoded: Model, tmp_path: Path
) -> None:
    monkeypatch.setattr(_device, "has_bfloat16", lambda device: made == "float32")  # the other machine
    auditor = Auditor.open(tmp_path / "model", device="cpu")
    told = f"made in {made}, so texts are read in {made}, not in {OTHER[made]}"
    with pytest.warns(PrecisionWarning, match=told):
        assert auditor.model.precision == made
    scores = auditor.model.label(SUPPORT, exemplars=True)
    (near,) = auditor.neighbours(scores, 1)
    assert np.abs(near.distances).max() < 1e-3  # every token finds itself
    (far,) = auditor.neighbours(encoded.at(OTHER[made]).label(SUPPORT, exemplars=True), 1)
    assert far.distances.max() > 1e-3  # as it would not, had the two been mixed
    auditor.add(reviews(3, seed=9))
    added = np.concatenate([s.exemplars for s in encoded.at(made).label(reviews(3, seed=9), exemplars=True)])
    np.testing.assert_allclose(auditor.support.exemplars().vectors[-len(added) :], added, atol=1e-5)


def test_the_set_tells_its_precision(made: str, tmp_path: Path) -> None:
    support = LanceSupportSet.open(tmp_path / "model" / "support")
    assert support.header.precision == summary(support)["precision"] == made
    assert ("precision" in support.header.to_json()) == (made == "bfloat16")  # 0.1 knows float32 alone
    repair(tmp_path / "model" / "support")
    assert LanceSupportSet.open(tmp_path / "model" / "support").header.precision == made


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_set_may_be_made_in_either(encoded: Model, tmp_path: Path, precision: str) -> None:
    save_model(encoded, tmp_path / "model")
    auditor = Auditor.open(tmp_path / "model", device="cpu", precision=precision)
    auditor.build(SUPPORT)
    assert auditor.support.header.precision == auditor.model.precision == precision
    assert Auditor.open(tmp_path / "model", device="cpu", precision=precision).model.precision == precision


def test_a_model_and_a_set_at_hand(encoded: Model) -> None:
    sets = {
        p: MemorySupportSet.create(width=encoded.width, labels=encoded.labels.names, precision=p)
        for p in OTHER
    }
    assert Auditor(encoded.at("bfloat16"), sets["bfloat16"]).model.precision == "bfloat16"
    with pytest.warns(PrecisionWarning, match="read in float32, not in bfloat16"):
        auditor = Auditor(encoded.at("bfloat16"), sets["float32"])
    assert auditor.model.precision == "float32"
    with pytest.raises(SupportError, match="made in float32 or bfloat16, not 'auto'"):
        MemorySupportSet.create(width=1, labels=encoded.labels.names, precision="auto")


def test_a_promise_of_one_precision_does_not_hold_in_silence_in_another(
    encoded: Model, tmp_path: Path
) -> None:
    save_model(encoded, tmp_path / "model")
    known = unpack(encoded.record["digests"])
    documents = [each for each in reviews(200, seed=3) if digest(each) not in known]
    first = Auditor.open(tmp_path / "model", device="cpu", precision="float32")
    made = first.fit_promise(documents, Goal(0.7, 0.5))
    assert made.made.precision == "float32"
    other = Auditor.open(tmp_path / "model", device="cpu", precision="bfloat16")
    told = other.check_promise(keep=False)
    assert told is not None
    assert told.endswith("texts are read in bfloat16 now, and were in float32")
    assert other.promise is not None
    assert other.promise.made.precision == "bfloat16"
    assert Auditor.open(tmp_path / "model", device="cpu", precision="float32").check_promise() is None
