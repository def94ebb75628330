"""The Transformer against Hugging Face, one document and one window at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from exaudit.encode import Transformer
from exaudit.encode.layers import DEFAULT_LAYERS
from exaudit.errors import EncoderError, SettingError

Tiny = Callable[[str], Path]
KINDS = ("bert-uncased", "bert-large-cased", "roberta", "electra", "deberta")
DOCUMENTS = [
    ["The", "Cat", "sat", "on", "a", "bad", "movie", "."],
    ["cats", "saw"],
    ["x"],
    ["Héllo,", "the", "mat's", "(end)"],
]


def by_hand(folder: Path, tokens: list[str], layers: tuple[int, ...]) -> tuple[torch.Tensor, list[int]]:
    """One document, alone, through the whole Hugging Face model."""
    options: dict[str, Any] = {"add_prefix_space": True} if "roberta" in folder.name else {}
    tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    batch = tokenizer(tokens, is_split_into_words=True, return_tensors="pt", truncation=False, padding=False)
    words = batch.word_ids()
    with torch.no_grad():
        states = model(**batch, output_hidden_states=True).hidden_states
    kept = [i for i, word in enumerate(words) if word is not None]
    return torch.cat([states[layer][0, kept] for layer in layers], dim=1), [words[i] for i in kept]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [(1, 3), (0, 2), (5,)])
def test_equals_hugging_face_alone(tiny: Tiny, kind: str, layers: tuple[int, ...]) -> None:
    folder = tiny(kind)
    transformer = Transformer.load(folder, layers=layers, device="cpu")
    packed = transformer.pack(DOCUMENTS)
    assert transformer.dimension == packed.vectors.shape[1] == 32 * len(layers)
    assert len(transformer.module.encoder.layer) == max(layers)  # no block runs for nothing
    for i, tokens in enumerate(DOCUMENTS):
        vectors, words = by_hand(folder, tokens, layers)
        own = slice(int(packed.bounds[i]), int(packed.bounds[i + 1]))
        torch.testing.assert_close(packed.vectors[own], vectors, atol=1e-5, rtol=1e-5)
        assert packed.words[own].tolist() == words


def test_case_is_kept_or_folded_by_the_tokenizer(tiny: Tiny) -> None:
    cased = Transformer.load(tiny("bert-large-cased"), device="cpu")
    uncased = Transformer.load(tiny("bert-uncased"), device="cpu")
    for transformer, equal in ((cased, False), (uncased, True)):
        upper, lower = (transformer.pieces([[word]]).ids.tolist() for word in ("Cat", "cat"))
        assert (upper == lower) is equal


@pytest.mark.parametrize("kind", ["bert-uncased", "roberta"])
def test_long_documents_are_read_in_windows(tiny: Tiny, kind: str) -> None:
    """Against a literal loop: each piece from the window where it is farthest from an edge."""
    folder = tiny(kind)
    transformer = Transformer.load(folder, layers=(2, 5), device="cpu")
    size = transformer.window
    assert size == 30
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    first, last = (0, 2) if kind == "roberta" else (2, 3)
    for count in (30, 31, 52, 53, 54, 97):
        tokens = ["the" if i % 3 else "cat" for i in range(count)]
        ids = transformer.pieces([tokens]).ids.tolist()
        assert len(ids) == count
        starts = sorted({0, *range(0, max(count - size, 0), size - size // 4), max(count - size, 0)})
        windows = []
        for start in starts:
            inside = [first, *ids[start : start + size], last]
            with torch.no_grad():
                states = model(input_ids=torch.tensor([inside]), output_hidden_states=True).hidden_states
            windows.append((start, torch.cat([states[2][0, 1:-1], states[5][0, 1:-1]], dim=1)))
        expected = []
        for i in range(count):
            edge = [min(i - start, start + len(v) - 1 - i) for start, v in windows]
            start, vectors = windows[edge.index(max(edge))]
            expected.append(vectors[i - start])
        packed = transformer.pack([["x"], tokens])
        torch.testing.assert_close(
            packed.vectors[packed.bounds[1] :], torch.stack(expected), atol=1e-5, rtol=1e-5
        )
        ((indices, batch),) = transformer.batches([tokens], pieces_per_batch=40)
        assert indices == [0]
        torch.testing.assert_close(batch.vectors, torch.stack(expected), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("budget", [1, 12, 40, 10_000])
def test_a_batch_keeps_its_order_however_it_is_cut(
    tiny: Tiny, tmp_path: Path, budget: int, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows of like lengths run together; vectors and gradients are those of one document at a time."""
    monkeypatch.setattr("exaudit.encode.transformer._PIECES_PER_PACK", {"cpu": budget})
    monkeypatch.setattr("exaudit.encode.transformer._UNPADDED", budget)
    Transformer.load(tiny("bert-uncased"), layers=(3,), device="cpu").save(tmp_path)
    transformer = Transformer.load(tmp_path, layers=(1, 3), device="cpu", plain=plain)
    if plain and not transformer.packs:
        pytest.skip("what this version of Transformers writes is left to it")
    assert transformer.packs == plain
    documents = [["cat"] * n + ["bad"] for n in (2, 1, 70, 3, 2, 0, 31)]
    packed = transformer.pack([*documents, []])
    alone = torch.cat([transformer.pack([tokens]).vectors for tokens in documents])
    torch.testing.assert_close(packed.vectors, alone, atol=1e-5, rtol=1e-5)
    assert packed.bounds.tolist() == [0, 3, 5, 76, 80, 83, 84, 116, 116]
    transformer.module.train()
    for module in transformer.module.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        elif isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
    weight = transformer.module.get_input_embeddings().weight
    loss = (transformer.pack(documents).vectors * torch.linspace(-1, 1, len(alone))[:, None]).sum()
    expected = sum(
        (transformer.pack([tokens]).vectors * part[:, None]).sum()
        for tokens, part in zip(
            documents, torch.linspace(-1, 1, len(alone)).split([len(d) for d in documents]), strict=True
        )
    )
    ours, theirs = (torch.autograd.grad(total, weight)[0] for total in (loss, expected))
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_every_word_has_a_piece(tiny: Tiny) -> None:
    for kind in ("bert-uncased", "roberta"):
        transformer = Transformer.load(tiny(kind), device="cpu")
        pieces = transformer.pieces([["\x00", "cat", "\u200d", "\x01\x02"], [], ["\x7f"], ["日本"]])
        for b, count in enumerate((4, 0, 1, 1)):
            words = pieces.words[pieces.bounds[b] : pieces.bounds[b + 1]]
            assert sorted(set(words.tolist())) == list(range(count))
            assert (np.diff(words) >= 0).all()


def test_max_length_cuts_only_when_asked(tiny: Tiny) -> None:
    tokens = ["cat"] * 50
    whole = Transformer.load(tiny("bert-uncased"), device="cpu")
    cut = Transformer.load(tiny("bert-uncased"), device="cpu", max_length=7)
    assert len(whole.pack([tokens]).vectors) == 50
    assert torch.equal(cut.pack([tokens]).vectors, whole.pack([tokens[:7]]).vectors)


@pytest.mark.parametrize("budget", [1, 64, 100_000])
def test_batches_cover_all_documents_once(tiny: Tiny, budget: int) -> None:
    transformer = Transformer.load(tiny("bert-uncased"), device="cpu")
    rng = np.random.default_rng(0)
    documents = [["cat", "movies", "bad"] * int(n) for n in rng.integers(0, 30, 40)]
    seen = []
    for indices, batch in transformer.batches(documents, pieces_per_batch=budget):
        seen += indices
        assert batch.vectors.dtype == torch.float32
        assert not batch.vectors.requires_grad
        for b, i in enumerate(indices):
            own = slice(int(batch.bounds[b]), int(batch.bounds[b + 1]))
            alone = transformer.pack([documents[i]])
            torch.testing.assert_close(batch.vectors[own], alone.vectors, atol=1e-5, rtol=1e-5)
            assert torch.equal(batch.words[own], alone.words)
    assert sorted(seen) == list(range(40))
    assert list(transformer.batches([])) == []


def test_save_and_load_and_gradients(tiny: Tiny, tmp_path: Path) -> None:
    transformer = Transformer.load(tiny("roberta"), layers=(2, 3), device="cpu")
    assert not transformer.pack(DOCUMENTS).vectors.requires_grad
    transformer.module.train()
    packed = transformer.pack(DOCUMENTS)
    packed.vectors.square().sum().backward()
    optimiser = torch.optim.AdamW([p for p in transformer.module.parameters() if p.grad is not None])
    assert not transformer.changed
    optimiser.step()
    assert transformer.changed
    transformer.module.eval()
    transformer.save(tmp_path / "tuned")
    state = torch.get_rng_state()
    again = Transformer.load(tmp_path / "tuned", layers=(2, 3), device="cpu")
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(again.pack(DOCUMENTS).vectors, transformer.pack(DOCUMENTS).vectors)
    assert again.fingerprint != transformer.fingerprint
    assert not list((tmp_path / "tuned").glob("*.bin"))


def test_a_copy_is_tuned_alone(tiny: Tiny) -> None:
    transformer = Transformer.load(tiny("bert-uncased"), device="cpu")
    before = transformer.pack(DOCUMENTS).vectors
    copied = transformer.copy()
    assert not copied.changed
    torch.testing.assert_close(copied.pack(DOCUMENTS).vectors, before)
    copied.learn_shapes()
    with torch.no_grad():
        for parameter in copied.module.parameters():
            parameter.add_(0.1)
    assert copied.changed
    assert copied.copy().changed
    assert not transformer.changed
    assert torch.equal(transformer.pack(DOCUMENTS).vectors, before)


def test_a_copy_with_other_layers(tiny: Tiny) -> None:
    transformer = Transformer.load(tiny("bert-uncased"), layers=(2, 3), device="cpu")
    copied = transformer.copy(range(1, 4))
    assert (copied.layers, copied.dimension) == ((1, 2, 3), 3 * transformer.hidden)
    width = transformer.hidden
    torch.testing.assert_close(copied.pack(DOCUMENTS).vectors[:, width:], transformer.pack(DOCUMENTS).vectors)
    assert transformer.layers == (2, 3)
    with pytest.raises(SettingError, match="layers are"):
        transformer.copy((4,))  # cut off above the third


def test_a_reading_packs_any_documents_in_any_order(tiny: Tiny) -> None:
    transformer = Transformer.load(tiny("bert-uncased"), device="cpu")
    reading = transformer.on_the_fly(DOCUMENTS)
    assert len(reading) == len(DOCUMENTS)
    order = [2, 0, 2, 1]
    packed, expected = reading.packed(order), transformer.pack([DOCUMENTS[i] for i in order])
    torch.testing.assert_close(packed.vectors, expected.vectors)
    assert torch.equal(packed.bounds, expected.bounds)
    assert torch.equal(packed.words, expected.words)


def test_only_the_embeddings_of_what_is_tuned_on_are_tuned(tiny: Tiny, tmp_path: Path) -> None:
    Transformer.load(tiny("bert-uncased"), layers=(3,), device="cpu").save(tmp_path)
    transformer = Transformer.load(tmp_path, device="cpu", plain=True)
    if not transformer.packs:
        pytest.skip("what this version of Transformers writes is left to it")
    transformer.module.train()
    table, tokenizer = transformer.module.get_input_embeddings(), transformer.tokenizer
    whole, before = table.weight, table.weight.detach().clone()
    used = np.unique([*transformer.pieces(DOCUMENTS).ids, *tokenizer.prefix, *tokenizer.suffix])

    def stopped() -> None:
        with transformer.tunable(DOCUMENTS) as features:
            assert len(table.weight) == len(used) < len(whole)
            features.packed(range(len(DOCUMENTS))).vectors.sum().backward()
            with torch.no_grad():
                table.weight += 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert table.weight is whole
    assert transformer.changed
    moved = (whole.detach() - before)[:, 0]
    torch.testing.assert_close(moved, torch.from_numpy(np.isin(np.arange(len(whole)), used)).float())


def test_what_is_tuned_on_tells_its_lengths_and_how_much_goes_at_once(tiny: Tiny) -> None:
    few, all_layers = (
        Transformer.load(tiny("bert-uncased"), layers=layers, device="cpu") for layers in ((1,), (3,))
    )
    with few.tunable(DOCUMENTS) as features:
        packed = features.packed(range(len(DOCUMENTS)))
        assert features.lengths.tolist() == packed.bounds.diff().tolist()
        at_once = features.at_once
    with all_layers.tunable(DOCUMENTS) as features:
        assert at_once == pytest.approx(3 * features.at_once, rel=1e-3)  # three layers need as much more each


def test_fingerprint_follows_the_files(tiny: Tiny, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny("bert-uncased"), copy)
    first = Transformer.load(copy, device="cpu").fingerprint
    assert first == Transformer.load(tiny("bert-uncased"), device="cpu").fingerprint
    with open(copy / "vocab.txt", "a") as file:
        file.write("zzz\n")
    shutil.copy(copy / "vocab.txt", copy / "unrelated.md")
    assert Transformer.load(copy, device="cpu").fingerprint != first


def test_default_layers(tiny: Tiny) -> None:
    assert Transformer.load(tiny("bert-large-cased"), device="cpu").layers == (4, 5, 6, 7)
    assert set(DEFAULT_LAYERS) == {"minilm", "gte-small"}


@pytest.mark.parametrize("layers", [(), (6,), (-1,), (2, 2)])
def test_wrong_layers(tiny: Tiny, layers: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match=r"0 \(embeddings\) to 5"):
        Transformer.load(tiny("bert-uncased"), layers=layers)


def test_wrong_settings(tiny: Tiny) -> None:
    with pytest.raises(SettingError, match="at least 1"):
        Transformer.load(tiny("bert-uncased"), max_length=0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./nowhere", "no encoder folder"),
        ("a/b/c", "no encoder folder"),
        ("", "no encoder folder"),
        ("nobody/no-such-encoder", "could not be fetched"),
        ("two words", "nor a Hugging Face name"),
    ],
)
def test_missing_encoder(name: str, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        Transformer.load(name)


def test_bad_folders(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"config\.json"):
        Transformer.load(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(EncoderError, match="is a file"):
        Transformer.load(file)

    def copy(name: str) -> Path:
        return Path(shutil.copytree(tiny("bert-uncased"), tmp_path / name))

    pickled = copy("pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="pickled"):
        Transformer.load(pickled)
    short = copy("short")
    content = (short / "model.safetensors").read_bytes()
    (short / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(EncoderError, match="short"):
        Transformer.load(short)
    broken = copy("broken")
    (broken / "config.json").write_text("{")
    with pytest.raises(EncoderError, match="broken"):
        Transformer.load(broken)
    foreign = copy("foreign")
    config = (foreign / "config.json").read_text().replace('"num_hidden_layers": 5', '"num_hidden_layers": 6')
    (foreign / "config.json").write_text(config)
    with pytest.raises(EncoderError, match=r"lacks \d+ weights"):
        Transformer.load(foreign)
    code = copy("code")
    config = (code / "config.json").read_text().replace('"model_type": "bert"', '"model_type": "own"')
    config = config.replace("{", '{"auto_map": {"AutoModel": "run.Model", "AutoConfig": "run.Config"},', 1)
    (code / "config.json").write_text(config)
    (code / "run.py").write_text("raise SystemExit('foreign code ran')")
    with pytest.raises(EncoderError, match="code"):
        Transformer.load(code)


@pytest.fixture(scope="module")
def minilm() -> Transformer:
    try:
        return Transformer.load("minilm", device="cpu")
    except EncoderError:
        pytest.skip("the default encoder is not installed")


def test_minilm_results_do_not_depend_on_batch_mates(minilm: Transformer) -> None:
    documents = [
        ["I", "can", "'t", "beleive", "it", "!"],
        ["Yes"],
        ["a", "much", "longer", "sentence", "than", "the", "others", "here"] * 5,
    ]
    together = minilm.pack(documents)
    for indices, batch in minilm.batches(documents[::-1]):
        for b, i in enumerate(indices):
            own = batch.vectors[batch.bounds[b] : batch.bounds[b + 1]]
            i = len(documents) - 1 - i
            alone = minilm.pack([documents[i]]).vectors
            torch.testing.assert_close(own, alone, atol=1e-5, rtol=0)
            mixed = together.vectors[together.bounds[i] : together.bounds[i + 1]]
            torch.testing.assert_close(mixed, alone, atol=1e-5, rtol=0)


def test_minilm_equals_hugging_face(minilm: Transformer) -> None:
    tokens = ["An", "unbelievably", "dull", "film", ",", "sadly", "."]
    vectors, words = by_hand(minilm.folder, tokens, minilm.layers)
    packed = minilm.pack([tokens])
    torch.testing.assert_close(packed.vectors, vectors, atol=1e-5, rtol=0)
    assert packed.words.tolist() == words
