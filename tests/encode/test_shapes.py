"""What a tuned uncased encoder is told of upper and lower case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModel

from exaudit.encode import Transformer
from exaudit.encode.shapes import CAPITAL, LOWER, MIXED, OTHER, SHAPES, TITLE, UPPER, shapes_of

Tiny = Callable[[str], Path]
UNCASED = ("bert-uncased", "electra-uncased")  # the second embeds words in fewer dimensions than it hides
LONG = ["The" if i % 3 else "CAT" if i % 2 else "cat" for i in range(75)]  # three windows
DOCUMENTS = [["The", "cats", "!"], LONG, ["x"]]


def test_shapes_of_words() -> None:
    examples = {
        "cat": LOWER, "don't": LOWER, "été": LOWER, "I": CAPITAL, "A.": CAPITAL, "BBC": UPPER, "U.S.": UPPER,
        "Monday": TITLE, "McDonald": TITLE, "iPhone": MIXED, "3D": CAPITAL, "3rd": LOWER, "1999": OTHER, ",": OTHER,
        "": OTHER, "日本": MIXED,
    }  # fmt: skip
    assert shapes_of(list(examples)).tolist() == list(examples.values())


@given(st.lists(st.text(max_size=5)))
def test_every_word_has_one_of_the_shapes(words: list[str]) -> None:
    shapes = shapes_of(words)
    assert len(shapes) == len(words)
    assert ((shapes > 0) & (shapes < SHAPES)).all()  # 0 is for special tokens and padding


@pytest.mark.parametrize("kind", UNCASED)
def test_nothing_changes_before_the_first_step(tiny: Tiny, kind: str) -> None:
    plain, told = (Transformer.load(tiny(kind), layers=(1, 4), device="cpu") for _ in range(2))
    told.learn_shapes()
    assert told.reads_shapes
    assert not plain.reads_shapes
    torch.testing.assert_close(told.pack(DOCUMENTS).vectors, plain.pack(DOCUMENTS).vectors)


@pytest.mark.parametrize("kind", UNCASED)
def test_each_piece_gets_the_shape_of_its_word(tiny: Tiny, kind: str) -> None:
    """Against layer 0, where a vector depends on its own piece and position alone, by hand."""
    folder = tiny(kind)
    transformer = Transformer.load(folder, layers=(0,), device="cpu")
    transformer.learn_shapes()
    torch.nn.init.normal_(transformer.module.shapes.weight, generator=torch.Generator().manual_seed(3))
    table = transformer.module.shapes.weight.detach()
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    packed = transformer.pack(DOCUMENTS[::2])
    pieces = transformer.pieces(DOCUMENTS[::2])
    for b, tokens in enumerate(DOCUMENTS[::2]):
        own = slice(int(packed.bounds[b]), int(packed.bounds[b + 1]))
        words = pieces.words[own].tolist()
        ids = torch.tensor([[2, *pieces.ids[own].tolist(), 3]])  # [CLS] and [SEP] have no shape
        shapes = torch.tensor([[0, *(int(shapes_of(tokens)[word]) for word in words), 0]])
        with torch.no_grad():
            embedded = model.get_input_embeddings()(ids) + table[shapes]
            states = model(inputs_embeds=embedded, output_hidden_states=True).hidden_states
        torch.testing.assert_close(packed.vectors[own], states[0][0, 1:-1], atol=1e-5, rtol=1e-5)


def test_case_is_seen_in_every_window(tiny: Tiny) -> None:
    transformer = Transformer.load(tiny("bert-uncased"), layers=(0,), device="cpu")
    transformer.learn_shapes()
    lower = [word.lower() for word in LONG]
    assert torch.equal(transformer.pack([LONG]).vectors, transformer.pack([lower]).vectors)
    torch.nn.init.normal_(transformer.module.shapes.weight)
    same = (transformer.pack([LONG]).vectors == transformer.pack([lower]).vectors).all(1).tolist()
    assert same == [word == word.lower() for word in LONG]


def test_save_and_load(tiny: Tiny, tmp_path: Path) -> None:
    transformer = Transformer.load(tiny("bert-uncased"), layers=(2, 3), device="cpu")
    before = transformer.fingerprint
    transformer.learn_shapes()
    assert not transformer.changed  # not yet
    torch.nn.init.normal_(transformer.module.shapes.weight)
    assert transformer.changed
    transformer.save(tmp_path / "told")
    state = torch.random.get_rng_state()
    again = Transformer.load(tmp_path / "told", layers=(2, 3), device="cpu")
    assert torch.equal(torch.random.get_rng_state(), state)  # loading draws no numbers from those of training
    assert again.reads_shapes
    assert not again.changed
    assert again.fingerprint != before
    assert torch.equal(again.pack(DOCUMENTS).vectors, transformer.pack(DOCUMENTS).vectors)
    weight = again.module.shapes.weight.clone()
    again.learn_shapes()  # what was learnt is kept
    assert torch.equal(again.module.shapes.weight, weight)


@pytest.mark.parametrize("kind", ["bert-large-cased", "roberta"])
def test_a_cased_encoder_needs_no_shapes(tiny: Tiny, kind: str) -> None:
    transformer = Transformer.load(tiny(kind), device="cpu")
    transformer.learn_shapes()
    assert not transformer.reads_shapes
    assert not transformer.changed
