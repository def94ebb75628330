"""The order in which documents are tuned on, and the loss of two readings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from exaudit._device import rounded_products
from exaudit.encode.packed import Packed
from exaudit.errors import ModelWarning, SettingError
from exaudit.head import tuning_state
from exaudit.head.course import Course
from exaudit.head.labelled import LabelledFeatures
from exaudit.head.losses import disagreement
from exaudit.head.network import Head, HeadConfig
from exaudit.head.tuning import TuningConfig, _add_gradients, _loss, _order, _parts, tune
from exaudit.head.tuning_state import TuningCheckpoint


def test_without_groups_the_order_is_a_plain_permutation() -> None:
    ours = _order(np.random.default_rng(3), 20, None)
    np.testing.assert_array_equal(ours, np.random.default_rng(3).permutation(20))


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30), st.integers(0, 5))
def test_every_document_comes_once_and_groups_stay_together(groups: list[str], seed: int) -> None:
    order = _order(np.random.default_rng(seed), len(groups), groups).tolist()
    assert sorted(order) == list(range(len(groups)))
    names = [groups[place] for place in order]
    changes = sum(a != b for a, b in pairwise(names))
    assert changes == len(set(groups)) - 1


# -- two readings -------------------------------------------------------------------------------------------

TEXTS = [["a", "b", "c"], ["b"], ["c", "d"], ["e", "a", "b", "f"]]  # no letter twice: no tie for a filter


class Letters:
    """An encoder of letters, with a dropout of its own."""

    def __init__(self, dropout: float) -> None:
        torch.manual_seed(1)
        self.module = nn.Sequential(nn.Embedding(6, 6), nn.Dropout(dropout))
        self.dtype = "float32"
        self.calls: list[int] = []

    @contextmanager
    def tunable(self, token_lists: Sequence[Sequence[str]]) -> Iterator[LettersRead]:
        yield LettersRead(self, token_lists)

    def pack(self, token_lists: Sequence[Sequence[str]]) -> Packed:
        self.calls.append(len(token_lists))
        ids = torch.tensor(["abcdef".index(token) for tokens in token_lists for token in tokens])
        words = torch.tensor([place for tokens in token_lists for place in range(len(tokens))])
        bounds = torch.tensor([0, *np.cumsum([len(tokens) for tokens in token_lists]).tolist()])
        return Packed(self.module(ids), bounds, words)


class LettersRead:
    def __init__(self, encoder: Letters, token_lists: Sequence[Sequence[str]], at_once: int = 99) -> None:
        self.encoder, self.token_lists, self.at_once = encoder, token_lists, at_once
        self.lengths = np.array([len(tokens) for tokens in token_lists])

    def __len__(self) -> int:
        return len(self.token_lists)

    def packed(self, indices: Sequence[int]) -> Packed:
        return self.encoder.pack([self.token_lists[i] for i in indices])


def letters(encoder: Letters) -> LabelledFeatures:
    """Of the letter d it is not known whether it is one."""
    label = {"b": 1, "d": -1}
    targets = [np.array([[label.get(token, 0)] for token in tokens], np.int8) for tokens in TEXTS]
    return LabelledFeatures(
        LettersRead(encoder, TEXTS),
        np.array([len(tokens) for tokens in TEXTS]),
        np.array([1, 1, 0, 1]),
        targets,
        None,
    )


def head_with(dropout: float, pool: str = "max") -> Head:
    config = HeadConfig(features=6, vocabulary=0, word_dimension=4, filters=9, dropout=dropout, pool=pool)
    return Head(config, generator=torch.Generator().manual_seed(2)).train()


@given(st.lists(st.tuples(st.floats(-8, 8), st.floats(-8, 8)), min_size=1, max_size=6))
def test_disagreement_is_the_mean_of_both_divergences(pairs: list[tuple[float, float]]) -> None:
    def kl(p: float, q: float) -> float:
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    def probability(score: float) -> float:
        return 1 / (1 + math.exp(-score))

    expected = sum(
        (kl(probability(a), probability(b)) + kl(probability(b), probability(a))) / 2 for a, b in pairs
    )
    first, second = (torch.tensor(column, dtype=torch.float64) for column in zip(*pairs, strict=True))
    assert disagreement(first, second).item() == pytest.approx(expected / len(pairs), abs=1e-9)


@pytest.mark.parametrize("loss", ["document", "token", "document+token", "document+min-max"])
def test_without_dropout_two_readings_are_one(loss: str) -> None:
    losses = []
    for agreement in (0.0, 1.0):
        encoder = Letters(0.0)
        config = TuningConfig(loss=loss, agreement=agreement)
        losses.append(_loss(head_with(0.0), letters(encoder), [2, 0, 3], config, torch.Generator()).item())
        assert encoder.calls == [6 if agreement else 3]  # one pass over the batch, or over the batch twice
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("loss", ["document", "token", "document+token"])
def test_with_dropout_disagreement_is_added(loss: str) -> None:
    """The loss is linear in the weight, and its slope is the disagreement of the two halves, taken apart here."""

    def data() -> LabelledFeatures:
        labelled = letters(Letters(0.4))
        torch.manual_seed(5)
        return labelled

    def total(weight: float) -> float:
        config = TuningConfig(loss=loss, agreement=weight)
        return _loss(head_with(0.0), data(), [2, 0, 3], config, torch.Generator()).item()

    batch = data().batch([2, 0, 3, 2, 0, 3])
    logits, contributions = head_with(0.0)(batch, torch.Generator())
    documents, tokens = logits[:, 1] - logits[:, 0], contributions[:, 1] - contributions[:, 0]
    expected = 0.0
    if "document" in loss:
        expected += disagreement(documents[:3], documents[3:]).item()
    if "token" in loss:
        expected += disagreement(tokens[:9], tokens[9:]).item()
    assert expected > 1e-4
    assert total(3.0) - total(1.0) == pytest.approx(2 * expected, rel=1e-3)


# -- in parts -----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 20), min_size=1, max_size=20), st.integers(1, 40))
def test_parts_are_all_documents_in_order_and_as_large_as_may_be(lengths: list[int], most: int) -> None:
    parts = list(_parts(range(len(lengths)), np.array(lengths), most))
    assert [i for part in parts for i in part] == list(range(len(lengths)))
    sizes = [sum(lengths[i] for i in part) for part in parts]
    assert all(size <= most or len(part) == 1 for size, part in zip(sizes, parts, strict=True))
    assert all(
        size + lengths[after[0]] > most for size, after in zip(sizes, parts[1:], strict=False)
    )  # or it would have been in the part before


@pytest.mark.parametrize("loss", ["document", "token", "document+token", "document+min-max"])
@pytest.mark.parametrize("agreement", [0.0, 1.0])
def test_the_gradients_of_parts_are_those_of_the_batch(loss: str, agreement: float) -> None:
    found = []
    for at_once, readings in ((99, 1), (6, 2 if agreement else 1)):
        encoder, head = Letters(0.0), head_with(0.0, "none" if "token" in loss else "max")
        features = LettersRead(encoder, TEXTS, at_once * readings)
        config = TuningConfig(loss=loss, agreement=agreement)
        total = _add_gradients(head, letters(encoder), features, [3, 0, 2, 1], config, torch.Generator())
        weights = [*encoder.module.parameters(), *head.parameters()]
        found.append((total, [weight.grad for weight in weights], [n // readings for n in encoder.calls]))
    (whole, expected, _), (parts, ours, calls) = found
    assert calls == [1, 3]  # 4 letters, then 3 + 2 + 1
    torch.testing.assert_close(parts, whole)
    assert not parts.requires_grad
    for mine, theirs in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_tuning_learns_letters() -> None:
    encoder, head = Letters(0.1), head_with(0.1, pool="none")
    before = encoder.module[0].weight.detach().clone()
    config = TuningConfig(loss="token", epochs=60, batch_size=2, learning_rate=1e-2, head_learning_rate=1e-2)
    losses: list[float] = []
    tune(encoder, head, TEXTS, letters(encoder), config, report=lambda record: losses.append(record["loss"]))
    assert losses[-1] < 0.2 * losses[0]
    assert not torch.equal(encoder.module[0].weight, before)
    with torch.no_grad():
        _, contributions = head(letters(encoder).batch([0, 1, 2, 3]), torch.Generator())
    decided = (contributions[:, 1] > contributions[:, 0]).tolist()
    known = [
        (yes, token) for yes, token in zip(decided, "".join(map("".join, TEXTS)), strict=True) if token != "d"
    ]
    assert all(yes == (token == "b") for yes, token in known)


@pytest.mark.parametrize("averaged", [-0.1, 1.5])
def test_what_cannot_be_averaged_is_refused(averaged: float) -> None:
    with pytest.raises(SettingError, match="a part of the steps, from 0 to 1"):
        TuningConfig(averaged=averaged)


def test_a_loss_that_is_no_number_stops_tuning() -> None:
    encoder = Letters(0.0)
    next(encoder.module.parameters()).data[0] = math.nan
    head = Head(HeadConfig(features=6, filters=4))
    with pytest.raises(SettingError, match=r"the loss is nan in epoch 1, .* tune in full precision"):
        tune(encoder, head, TEXTS, letters(encoder), TuningConfig(epochs=1))


def test_a_course_is_told_of_every_word() -> None:
    words = sum(map(len, TEXTS))
    for agreement, readings in ((0.0, 1), (1.0, 2)):
        config = TuningConfig(epochs=3, batch_size=3, agreement=agreement)
        encoder = Letters(0.1)
        told: list[float] = []
        labelled = letters(encoder)
        course = Course(config.work(labelled.word_counts), tell=told.append)
        assert course.total == 3 * readings * words
        tune(encoder, head_with(0.1), TEXTS, labelled, config, course=course)
        assert course.done == course.total
        assert len(told) == 1
        assert told[0] >= 0


@pytest.mark.parametrize("pool", ["max", "none"])
def test_a_step_in_bfloat16_is_close_to_one_in_float32(pool: str) -> None:
    """Products are rounded to three digits; weights, their sums and the loss are not."""
    found = []
    for dtype in ("float32", "bfloat16"):
        encoder, head = Letters(0.0), head_with(0.0, pool)
        encoder.dtype = dtype
        config = TuningConfig(loss="document+token" if pool == "none" else "document+min-max", agreement=0.0)
        with rounded_products(torch.device("cpu"), dtype):
            loss = _loss(head, letters(encoder), [0, 1, 2, 3], config, torch.Generator())
        loss.backward()  # type: ignore[no-untyped-call]
        weights = [*encoder.module.parameters(), *head.parameters()]
        assert all(weight.dtype == torch.float32 for weight in weights)
        gradients = [weight.grad.flatten() for weight in weights if weight.grad is not None]
        found.append((loss.item(), torch.cat(gradients)))
    (full, exact), (rounded, close) = found
    assert rounded == pytest.approx(full, rel=0.01)
    assert rounded != full  # it did round
    assert (close - exact).norm() < 0.03 * exact.norm()


# -- averaged -----------------------------------------------------------------------------------------------


def test_the_last_weights_are_averaged() -> None:
    """Against the mean of what each step left, with all documents in one step."""
    encoder, head = Letters(0.3), head_with(0.3)
    weights = [*encoder.module.parameters(), *head.parameters()]
    seen: list[list[torch.Tensor]] = []

    def report(_: dict[str, Any]) -> None:
        seen.append([weight.detach().clone() for weight in weights])

    config = TuningConfig(epochs=7, batch_size=4, learning_rate=1e-2, averaged=0.4)
    tune(encoder, head, TEXTS, letters(encoder), config, report=report)
    for place, weight in enumerate(weights):
        expected = sum((own[place].double() for own in seen[4:]), start=torch.zeros(())) / 3
        torch.testing.assert_close(weight.detach().double(), expected, atol=1e-6, rtol=1e-6)
    assert not torch.equal(weights[0].detach(), seen[-1][0])


# -- stopped ------------------------------------------------------------------------------------------------


def tuned_letters(
    path: Path | None,
    *,
    resume: bool = False,
    stop: int | None = None,
    identity: str = "letters",
    averaged: float = 0.0,
) -> tuple[list[int], list[torch.Tensor]]:
    """The epochs that were run, and the weights in the end."""
    encoder, head, epochs = Letters(0.3), head_with(0.3), []
    checkpoint = None if path is None else TuningCheckpoint(path, identity, resume)

    def report(record: dict[str, Any]) -> None:
        epochs.append(record["tuning_epoch"])
        if record["tuning_epoch"] == stop:
            raise KeyboardInterrupt

    config = TuningConfig(epochs=6, batch_size=2, learning_rate=1e-2, averaged=averaged)
    with nullcontext() if stop is None else pytest.raises(KeyboardInterrupt):
        tune(encoder, head, TEXTS, letters(encoder), config, checkpoint=checkpoint, report=report)
    weights = [*encoder.module.parameters(), *head.parameters()]
    return epochs, [weight.detach().clone() for weight in weights]


@pytest.mark.parametrize(("averaged", "stop"), [(0.0, 4), (0.8, 4), (0.3, 3)])
def test_tuning_that_was_stopped_goes_on_as_if_it_had_not_been(
    averaged: float, stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning_state, "SECONDS", 0.0)
    path = tmp_path / "epochs.safetensors"
    _, whole = tuned_letters(None, averaged=averaged)
    assert tuned_letters(path, stop=stop, averaged=averaged)[0] == [1, 2, 3, 4][:stop]
    torch.randn(7)  # what others draw in between
    epochs, resumed = tuned_letters(path, resume=True, averaged=averaged)
    assert epochs == [3, 4, 5, 6][stop - 3 :]  # the last one was stopped before it was kept
    for mine, expected in zip(resumed, whole, strict=True):
        assert torch.equal(mine, expected)


@pytest.mark.parametrize("how", ["another run", "no resume", "damaged"])
def test_tuning_starts_anew_where_it_cannot_go_on(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning_state, "SECONDS", 0.0)
    path = tmp_path / "epochs.safetensors"
    tuned_letters(path, stop=4)
    if how == "damaged":
        data = bytearray(path.read_bytes())
        data[-3] ^= 1
        path.write_bytes(data)
    warned = pytest.warns(ModelWarning, match="damaged") if how == "damaged" else nullcontext()
    with warned:
        epochs, weights = tuned_letters(
            path, resume=how != "no resume", identity="others" if how == "another run" else "letters"
        )
    assert epochs == [1, 2, 3, 4, 5, 6]
    for mine, expected in zip(weights, tuned_letters(None)[1], strict=True):
        assert torch.equal(mine, expected)


def test_quick_epochs_leave_no_checkpoint(tmp_path: Path) -> None:
    tuned_letters(tmp_path / "epochs.safetensors")
    assert list(tmp_path.iterdir()) == []
