"""The paper's recipe: what its models are trained with, and what its K-NNs and limits are fitted with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from exaudit.data.document import Document
from exaudit.errors import SettingError
from exaudit.experiments.corpora import read_fce, read_news
from exaudit.experiments.grammar_models import MIN_MAX, SUPERVISED, UNICNN, fce_model
from exaudit.experiments.grammar_support import GrammarSupport
from exaudit.experiments.recipe import OURS, PAPER
from exaudit.experiments.run import Run, RunSettings
from exaudit.experiments.sentiment import sentiment
from exaudit.experiments.supported_model import Searched
from exaudit.model.settings import Settings
from tiny import tiny_bert


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of each model that is to be trained; nothing is."""
    seen: list[Settings] = []

    def train(own: Settings, documents: Sequence[Document], dev: Sequence[Document], **_: Any) -> NoReturn:
        seen.append(own)
        raise InterruptedError

    monkeypatch.setattr("exaudit.experiments.run.train", train)
    return seen


def test_sentences_are_learnt_as_in_the_paper(data: Path, tmp_path: Path, asked: list[Settings]) -> None:
    encoder, vectors = tiny_bert(tmp_path / "tiny"), str(tmp_path / "glove.txt")
    settings = RunSettings(encoder=str(encoder), recipe="paper", word_vectors=vectors)
    run = Run(tmp_path / "run", data, settings, device="cpu")
    with pytest.raises(InterruptedError):
        fce_model(run, read_fce(data), UNICNN, 3)
    (own,) = asked
    assert own.layers == (1, 2, 3), "the last four, where there are as many"
    assert (own.max_length, own.head_epochs, own.seed) == (50, 20, 3)
    assert (own.filters, own.widths, own.dropout, own.batch_size, own.vocabulary) == (
        1000,
        (1,),
        0.5,
        50,
        7500,
    )
    assert (own.word_vectors, own.head_passage, own.word_boundary) == (vectors, 0, "zero")
    training = own.training()
    assert (training.recipe, training.criterion, training.clip, training.learning_rate) == (
        "paper", "linear-f1", None, 1.0,
    )  # fmt: skip
    assert not training.stable


def test_reviews_are_learnt_as_in_the_paper(data: Path, tmp_path: Path, asked: list[Settings]) -> None:
    settings = RunSettings(encoder=str(tiny_bert(tmp_path / "tiny")), recipe="paper")
    with pytest.raises(InterruptedError):
        list(sentiment(Run(tmp_path / "run", data, settings, device="cpu")))
    (own,) = asked
    assert (own.max_length, own.head_epochs, own.training().criterion) == (350, 60, "accuracy")


def test_min_max_and_token_labels_as_in_the_paper() -> None:
    for loss, criterion, min_max in (("min-max", "linear-f1", "padded"), ("token", "token-f0.5", "padded")):
        training = Settings(recipe="paper", loss=loss).training()
        assert (training.criterion, training.min_max) == (criterion, min_max)
        assert PAPER.by_loss[loss]["select"] == criterion
    assert PAPER.by_loss["min-max"]["min_max"] == "padded"
    assert Settings(loss="min-max").training().min_max == "words"


def test_the_paper_tunes_no_encoder_and_other_recipes_are_unknown() -> None:
    with pytest.raises(SettingError, match="leave out --tune-encoder, or --recipe paper"):
        RunSettings(recipe="paper", tune_encoder=True)
    with pytest.raises(SettingError, match="unknown recipe 'fast'; use one of stable, paper"):
        RunSettings(recipe="fast")


@pytest.mark.parametrize("recipe", ["stable", "paper"])
def test_the_supervised_model_is_decided_at_zero_on_k_nn_dev_and_within_limits(
    data: Path, tmp_path: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "exaudit.experiments.grammar_support.KNNS", {"K1NN equal": ("equal", 1), "K8NN dist.": ("dist", 8)}
    )
    fce, news = read_fce(data), read_news(data)
    run = Run(tmp_path, data, RunSettings(encoder="none", filters=20, epochs=2, recipe=recipe), device="cpu")
    seen: list[tuple[str, float]] = []
    real = Searched.knn

    def knn(self: Searched, knn: Any) -> Any:
        seen.append((step, knn.offset))
        return real(self, knn)

    monkeypatch.setattr(Searched, "knn", knn)
    step = ""
    support = GrammarSupport(run, fce, news, SUPERVISED, 0)
    for step in ("_rules", "_knn_dev", "_constraints", "_shifted"):
        original = getattr(GrammarSupport, step)

        def told(self: Any, *args: Any, step_name: str = step, original: Any = original, **more: Any) -> Any:
            nonlocal step
            step = step_name
            return original(self, *args, **more)

        monkeypatch.setattr(GrammarSupport, step, told)
    result = support.tables()
    boundary = result.tables["fce-knn-parameters"]["uniCNN+S*+K8NN dist."][3]
    assert boundary, "so that zero is told from the tuned one"
    offsets = {
        name: {round(o, 4) for s, o in seen if s == name} for name in ("_knn_dev", "_constraints", "_shifted")
    }
    at = {0.0} if recipe == "paper" else {boundary}
    assert offsets["_constraints"] == at
    assert (0.0 in offsets["_knn_dev"]) == (recipe == "paper")
    assert offsets["_shifted"] == {boundary}, "the test tables have the tuned one"
    own = fce_model(run, fce, SUPERVISED, 0)
    assert (own.word_boundaries == (0.0,)) == (recipe == "paper")


def test_recipes_are_plain_values() -> None:
    assert OURS.to_json()["reviews"] == {"max_length": 350, "select": "accuracy"}
    assert PAPER.to_json()["knn_batch"] == {"sentences": 50, "reviews": 10}


def test_min_max_goes_on_from_unicnn(data: Path, tmp_path: Path) -> None:
    run = Run(tmp_path, data, RunSettings(encoder="none", filters=8, epochs=1, recipe="paper"), device="cpu")
    own = fce_model(run, read_fce(data), MIN_MAX, 0).settings
    assert (own.loss, own.min_max, own.select, own.recipe) == ("min-max", "padded", "linear-f1", "paper")
