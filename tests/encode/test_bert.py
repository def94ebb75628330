"""The plain BERT against that of Transformers: the same pieces, and the same numbers but for the order of sums."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer, __version__

from exaudit.encode.bert import Bert, read_bert
from exaudit.encode.transformer import Transformer
from exaudit.errors import EncoderError

Tiny = Callable[[str], Path]
pytestmark = pytest.mark.skipif(
    tuple(map(int, __version__.split(".")[:2])) < (5, 20),
    reason="what older versions of Transformers write is left to them",
)
DOCUMENTS = [
    ["The", "Cat", "sat", "on", "a", "bad", "movie", "."],
    ["cats", "saw"],
    ["Héllo,", "the", "mat's", "(end)", "[MASK]", "##ing", "\x00", "日本語", "a\u200bb", "x" * 101],
    ["the", "cat"] * 40,  # several windows
]


@pytest.fixture(params=["bert-uncased", "bert-large-cased"])
def folder(request: pytest.FixtureRequest, tiny: Tiny, tmp_path: Path) -> Path:
    """An encoder with a tokenizer.json, as published ones have."""
    Transformer.load(tiny(request.param), layers=(5,), device="cpu").save(tmp_path / "bert")
    return tmp_path / "bert"


def both(folder: Path, **options: Any) -> tuple[Transformer, Transformer]:
    theirs, ours = (Transformer.load(folder, device="cpu", plain=plain, **options) for plain in (False, True))
    assert isinstance(ours.module, Bert)
    assert not isinstance(theirs.module, Bert)
    return theirs, ours


def each_document(encoder: Transformer, documents: list[list[str]]) -> list[torch.Tensor]:
    """The vectors of each, from batches that need not be the same."""
    found = {}
    for indices, batch in encoder.batches(documents):
        found |= dict(zip(indices, batch.vectors.split(batch.bounds.diff().tolist()), strict=True))
    return [found[i] for i in range(len(documents))]


@pytest.mark.parametrize("layers", [(1, 3), (0, 5)])
def test_same_numbers_as_transformers(folder: Path, layers: tuple[int, ...]) -> None:
    theirs, ours = both(folder, layers=layers)
    pieces, own = theirs.pieces(DOCUMENTS), ours.pieces(DOCUMENTS)
    assert (own.ids.tolist(), own.words.tolist()) == (pieces.ids.tolist(), pieces.words.tolist())
    for attribute in ("prefix", "suffix", "padding", "mask", "uncased", "_unknown"):
        assert getattr(ours.tokenizer, attribute) == getattr(theirs.tokenizer, attribute)
    assert (ours.window, ours.fingerprint, ours.hidden) == (theirs.window, theirs.fingerprint, theirs.hidden)
    for documents in (DOCUMENTS, DOCUMENTS[:1]):  # padded by Transformers, and not
        for mine, yours in zip(each_document(ours, documents), each_document(theirs, documents), strict=True):
            torch.testing.assert_close(mine, yours, atol=1e-5, rtol=1e-5)
        packed = ours.pack(documents).vectors, theirs.pack(documents).vectors
        torch.testing.assert_close(*packed, atol=1e-5, rtol=1e-5)
    ids, mask = torch.tensor([[2, 30, 31, 3], [2, 30, 3, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    states = [
        one.module(input_ids=ids, attention_mask=mask, output_hidden_states=True) for one in (ours, theirs)
    ]
    assert all(map(torch.equal, *(one.hidden_states for one in states)))  # padded, to the last bit


def test_same_gradients_as_transformers(folder: Path) -> None:
    """So tuning may start from either, and does without padding from ours."""
    found = []
    for encoder in both(folder, layers=(4, 5)):
        encoder.learn_shapes()
        without_dropout(encoder.module.train())
        encoder.pack(DOCUMENTS).vectors.square().sum().backward()
        found.append({name: p.grad for name, p in encoder.module.named_parameters() if p.grad is not None})
    theirs, ours = found
    assert list(ours) == list(theirs)
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-4, atol=1e-3)


def without_dropout(module: torch.nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
        elif isinstance(getattr(part, "dropout", None), float):  # of our attention
            part.dropout = 0.0


def test_nothing_is_drawn_and_weights_can_be_tuned(folder: Path) -> None:
    state = torch.get_rng_state()
    encoder = Transformer.load(folder, device="cpu", plain=True)
    assert torch.equal(state, torch.get_rng_state())
    assert all(p.requires_grad and p.device.type == "cpu" for p in encoder.module.parameters())
    copied = encoder.copy()
    with torch.no_grad():
        next(copied.module.parameters()).add_(1)
    assert copied.changed
    assert not encoder.changed


def test_saved_for_transformers(folder: Path, tmp_path: Path) -> None:
    """Onto the very files that its weights are mapped from, too."""
    encoder = Transformer.load(folder, layers=(2, 3), device="cpu", plain=True)
    encoder.learn_shapes()
    with torch.no_grad():
        for parameter in encoder.module.parameters():
            parameter.mul_(1.1)
    expected = encoder.pack(DOCUMENTS).vectors
    for place in (tmp_path / "saved", folder):
        encoder.save(place)
        for again in both(place, layers=(2, 3)):
            assert again.reads_shapes == encoder.reads_shapes
            found = again.pack(DOCUMENTS).vectors
            torch.testing.assert_close(found, expected, atol=5e-5, rtol=1e-5)  # larger weights round more
    assert AutoTokenizer.from_pretrained(folder).mask_token == "[MASK]"
    assert AutoModel.from_pretrained(folder).config.num_hidden_layers == 3


def changed(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"is_decoder": True}),
        ("config.json", {"hidden_size": None}),
        ("tokenizer_config.json", {"do_lower_case": None}),
        ("tokenizer_config.json", {"tokenizer_class": "MPNetTokenizer"}),
        ("tokenizer_config.json", {"mask_token": "<mask>"}),
        ("tokenizer_config.json", {"extra_special_tokens": ["<x>"]}),
        ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}),
        ("tokenizer.json", {"added_tokens": []}),
    ],
)
def test_what_is_not_plain_is_left_to_transformers(folder: Path, file: str, values: dict[str, Any]) -> None:
    assert read_bert(folder) is not None
    changed(folder / file, **values)
    assert read_bert(folder) is None


def test_other_kinds_are_left_to_transformers(tiny: Tiny) -> None:
    for kind in ("roberta", "electra", "bert-uncased"):  # the last has no tokenizer.json
        assert read_bert(tiny(kind)) is None
        assert not isinstance(Transformer.load(tiny(kind), device="cpu", plain=True).module, Bert)


def test_damage_is_told_as_before(folder: Path) -> None:
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EncoderError, match="damaged"):
        Transformer.load(folder, device="cpu", plain=True)


def test_neither_transformers_nor_the_compiler_is_loaded(folder: Path) -> None:
    code = f"""
import sys
from exaudit.encode.transformer import Transformer
Transformer.load({str(folder)!r}, device="cpu", plain=True).pack([["the", "cat"]])
sys.exit(", ".join({{"transformers", "torch._dynamo", "scipy"}} & sys.modules.keys()) or None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
