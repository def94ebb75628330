"""Losses against their formulas, and training runs that repeat, resume and choose as they should."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import make_batch
from safetensors.torch import load

from exaudit.encode.packed import Packed
from exaudit.errors import ModelError, ModelWarning, SettingError
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.losses import document_max, document_min, min_max_loss, token_loss
from exaudit.head.network import Head, HeadConfig
from exaudit.head.training import TrainingConfig, evaluate, train


class Planted:
    """Documents of random pieces; positive ones hold a piece that points along the first axis."""

    def __init__(self, documents: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.parts, self.truth = [], []
        for d in range(documents):
            n = int(rng.integers(2, 9))
            vectors, truth = rng.standard_normal((n, 6)), np.zeros(n, dtype=np.int8)
            vectors[:, 0] = -1
            if d % 2:
                at = int(rng.integers(n))
                vectors[at, 0], truth[at] = 3, 1
            self.parts.append(vectors.astype(np.float32))
            self.truth.append(truth)

    def __len__(self) -> int:
        return len(self.parts)

    def packed(self, indices) -> Packed:
        chosen = [self.parts[i] for i in indices]
        lengths = [len(c) for c in chosen]
        words = torch.cat([torch.arange(n) for n in lengths])
        bounds = torch.tensor([0, *np.cumsum(lengths).tolist()])
        return Packed(torch.from_numpy(np.concatenate(chosen)), bounds, words)


def planted(documents: int = 80, seed: int = 0, *, tokens: bool = True) -> LabelledFeatures:
    features = Planted(documents, seed)
    targets = np.array([int(t.any()) for t in features.truth], dtype=np.int64)
    counts = np.array([len(p) for p in features.parts])
    truth = [own[:, None] for own in features.truth] if tokens else None
    return LabelledFeatures(features, counts, targets, truth)


def new_head(seed: int = 0, **options) -> Head:
    config = HeadConfig(features=6, filters=16, **options)
    return Head(config, generator=torch.Generator().manual_seed(seed))


@given(
    scores=st.lists(st.lists(st.floats(-8, 8), min_size=1, max_size=6), min_size=1, max_size=4),
    labels=st.lists(st.booleans(), min_size=4, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_min_max_loss_equals_the_formula(scores: list[list[float]], labels: list[bool]) -> None:
    batch = make_batch([len(s) for s in scores], 1)
    flat = torch.tensor([[x] for s in scores for x in s], dtype=torch.double)
    targets = torch.tensor(labels[: len(scores)]).long()[:, None]

    def sigma(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    expected = 0.0
    for s, label in zip(scores, labels, strict=False):
        y = int(label)
        l_min = -math.log(1 - sigma(min(s)))
        l_max = -y * math.log(sigma(max(s))) - (1 - y) * math.log(1 - sigma(max(s)))
        expected += (l_min + l_max) / 2 / len(scores)
    assert float(min_max_loss(batch, flat, targets)) == pytest.approx(expected, abs=1e-8)
    assert document_max(batch, flat).tolist() == [[max(s)] for s in scores]
    assert document_min(batch, flat).tolist() == [[min(s)] for s in scores]


@given(
    scores=st.lists(st.lists(st.floats(-8, 8), min_size=1, max_size=6), min_size=1, max_size=4),
    labels=st.lists(st.booleans(), min_size=4, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_padded_min_max_loss_is_the_papers_code(scores: list[list[float]], labels: list[bool]) -> None:
    batch = make_batch([len(s) for s in scores], 1)
    flat = torch.tensor([[x] for s in scores for x in s], dtype=torch.double, requires_grad=True)
    targets = torch.tensor(labels[: len(scores)]).long()[:, None]
    loss = min_max_loss(batch, flat, targets, padded=True)
    loss.backward()
    # The code pads every document to one length, and multiplies scores with a mask that is 0 for padding.
    padded = torch.tensor(
        [[*s, *[3.0] * (7 - len(s))] for s in scores], dtype=torch.double, requires_grad=True
    )
    mask = torch.tensor([[1.0] * len(s) + [0.0] * (7 - len(s)) for s in scores], dtype=torch.double)
    ends = torch.stack([torch.min(mask * padded, 1)[0], torch.max(mask * padded, 1)[0]], 1)
    gold = torch.tensor([[0.0, float(label)] for label in labels[: len(scores)]], dtype=torch.double)
    expected = torch.nn.BCEWithLogitsLoss(reduction="none")(ends, gold).mean()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-8)
    if all(len(set(s)) == len(s) and 0 not in s for s in scores):  # among equals any may have the gradient
        assert torch.allclose(flat.grad[:, 0], padded.grad[mask > 0], atol=1e-8)


def test_padding_leaves_a_positive_document_without_a_positive_word_alone() -> None:
    batch = make_batch([2], 1)
    scores = torch.tensor([[-1.0], [-2.0]], requires_grad=True)
    min_max_loss(batch, scores, torch.tensor([[1]]), padded=True).backward()
    assert scores.grad[0] == 0  # the largest is the padding's
    assert scores.grad[1] > 0  # and the smallest goes further down


def test_token_loss_equals_the_formula() -> None:
    s, y = [1.5, -0.3, 0.0], [1, 0, 1]
    sigma = [1 / (1 + math.exp(-x)) for x in s]
    expected = -sum(b * math.log(p) + (1 - b) * math.log(1 - p) for p, b in zip(sigma, y, strict=True)) / 3
    assert float(token_loss(torch.tensor(s), torch.tensor(y).float())) == pytest.approx(expected, abs=1e-6)


def test_a_label_that_is_not_known_adds_nothing_to_the_token_loss() -> None:
    scores = torch.tensor([[0.5], [-2.0], [3.0]], requires_grad=True)
    loss = token_loss(scores, torch.tensor([[1.0], [-1.0], [0.0]]))
    assert float(loss.detach()) == pytest.approx(
        (math.log1p(math.exp(-0.5)) + math.log1p(math.exp(3.0))) / 3, abs=1e-6
    )
    loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    assert (scores.grad[:, 0] != 0).tolist() == [True, False, True]


@pytest.mark.parametrize("loss", ["document", "min-max", "token"])
def test_each_loss_learns_the_planted_piece(loss: str) -> None:
    head = new_head()
    history = train(head, planted(), planted(40, seed=1), TrainingConfig(loss=loss, epochs=30, batch_size=10))
    result = evaluate(head, planted(60, seed=2), by_tokens=loss != "document")
    assert result["document"]["accuracy"] > 0.9
    if loss != "document":
        assert result["token"]["f1"] > 0.8
    assert len(history.epochs) == 30


@pytest.mark.parametrize("recipe", ["stable", "paper"])
def test_a_stopped_run_resumes_to_the_same_weights(tmp_path: Path, recipe: str) -> None:
    config = TrainingConfig(epochs=6, batch_size=7, recipe=recipe)
    whole, stopped, resumed = new_head(), new_head(), new_head(seed=5)
    train(whole, planted(), planted(20, seed=1), config)

    def stop(record) -> None:
        if record["epoch"] == 3:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(stopped, planted(), planted(20, seed=1), config, checkpoint=checkpoint, report=stop)
    history = train(resumed, planted(), planted(20, seed=1), config, checkpoint=checkpoint, resume=True)
    assert len(history.epochs) == 6
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_runs_repeat_with_their_seed_and_differ_with_another() -> None:
    heads = []
    for seed in (3, 3, 4):
        head = new_head()
        train(head, planted(), planted(20, seed=1), TrainingConfig(epochs=2, seed=seed))
        heads.append(head.weight.detach().clone())
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])


def test_the_paper_recipe_keeps_the_last_epoch_with_the_best_dev_accuracy() -> None:
    head = new_head()
    history = train(
        head, planted(), planted(20, seed=1), TrainingConfig(epochs=8, recipe="paper", select="accuracy")
    )
    scores = [record["document"]["accuracy"] for record in history.epochs]
    assert history.best == len(scores) - scores[::-1].index(max(scores))
    assert evaluate(head, planted(20, seed=1), by_tokens=False)["document"]["accuracy"] == max(scores)


def test_after_min_max_the_paper_recipe_chooses_the_epoch_by_the_linear_layer() -> None:
    head = new_head()
    config = TrainingConfig(loss="min-max", min_max="padded", epochs=12, batch_size=7, recipe="paper")
    history = train(head, planted(), planted(20, seed=1), config)
    by_layer = [record["linear_f1"] for record in history.epochs]
    assert config.criterion == "linear-f1"
    assert history.best == by_layer.index(max(by_layer)) + 1
    assert history.kept["linear_f1"] == evaluate(head, planted(20, seed=1), by_tokens=True)["linear_f1"]


def test_the_stable_recipe_chooses_among_the_later_half() -> None:
    head = new_head()
    history = train(head, planted(), planted(20, seed=1), TrainingConfig(epochs=8, select="loss"))
    later = {record["epoch"]: record["dev_loss"] for record in history.epochs if record["epoch"] >= 4}
    assert history.best == min(later, key=later.get)


def test_a_checkpoint_of_another_run_is_refused_and_a_damaged_one_replaced(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    train(new_head(), planted(), planted(20, seed=1), TrainingConfig(epochs=1), checkpoint=path)
    with pytest.raises(ModelError, match="other settings"):
        train(new_head(), planted(), planted(20), TrainingConfig(epochs=2), checkpoint=path, resume=True)
    content = path.read_bytes()
    whole = load(content)
    for damaged in (content[:50], content[:-100] + bytes(100), content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(damaged)
        with pytest.warns(ModelWarning, match="damaged .* starts anew"):
            train(
                new_head(),
                planted(),
                planted(20, seed=1),
                TrainingConfig(epochs=1),
                checkpoint=path,
                resume=True,
            )
        again = load(path.read_bytes())
        assert all(torch.equal(again[name], whole[name]) for name in whole)


def test_token_training_without_token_labels_is_refused() -> None:
    with pytest.raises(SettingError, match="token labels"):
        train(new_head(), planted(tokens=False), planted(20), TrainingConfig(loss="token"))


@pytest.mark.parametrize(
    "bad",
    [{"min_max": "x"}, {"loss": "x"}, {"select": "x"}, {"recipe": "x"}, {"epochs": 0}, {"batch_size": 0}],
)
def test_bad_settings_are_refused(bad: dict) -> None:
    with pytest.raises(SettingError):
        TrainingConfig(**bad)


@pytest.mark.parametrize("where", ["training", "dev"])
def test_a_loss_that_is_no_number_stops_training(where: str, tmp_path: Path) -> None:
    data, dev = planted(), planted(seed=1)
    bad = data if where == "training" else dev
    bad.features.parts[3][:] = math.nan  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match=r"the loss is nan in epoch 1, .* try a smaller `learning_rate`"):
        train(new_head(), data, dev, TrainingConfig(epochs=2), checkpoint=tmp_path / "head.safetensors")
    assert not (tmp_path / "head.safetensors").exists()


def test_an_epoch_cannot_be_chosen_by_labels_that_are_not_there() -> None:
    with pytest.raises(SettingError, match=r"`select=token-f0\.5` needs token labels in the dev documents"):
        train(new_head(), planted(), planted(tokens=False), TrainingConfig(select="token-f0.5", epochs=1))
