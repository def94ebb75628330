"""Tiny random encoders of real architectures, with tokenizers written here."""

from __future__ import annotations

import json
import string
import warnings
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, ElectraConfig, ElectraModel, RobertaConfig, RobertaModel
from transformers.utils import logging

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.4,  # large enough that layers and contexts differ visibly
}


def _wordpiece(folder: Path, *, lower: bool) -> int:
    letters = string.ascii_lowercase + string.ascii_uppercase + string.digits + string.punctuation + "é"
    words = ["the", "cat", "The", "Cat", "##ing", "##s", "movie", "bad"]
    vocabulary = list(dict.fromkeys([*_SPECIAL, *letters, *(f"##{letter}" for letter in letters), *words]))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": lower}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return len(vocabulary)


def _byte_pairs(folder: Path) -> int:
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        ["the cat sat on the mat, a bad movie the cats saw"] * 4,
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer.enable_truncation(6)  # as some published files do; it must not cut anything here
    tokenizer.enable_padding(length=6, pad_id=1, pad_token="<pad>")
    tokenizer.save(str(folder / "tokenizer.json"))
    names = dict(
        zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), special, strict=True)
    )
    config = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return tokenizer.get_vocab_size()


def _build(kind: str, folder: Path) -> None:
    folder.mkdir()
    if kind == "roberta":
        config = RobertaConfig(
            vocab_size=_byte_pairs(folder),
            max_position_embeddings=34,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            **_SHAPE,
        )
        model: Any = RobertaModel(config)
    else:
        size = _wordpiece(folder, lower=kind.endswith("uncased"))
        common = {"vocab_size": size, "max_position_embeddings": 32, "pad_token_id": 0, **_SHAPE}
        if kind.startswith("electra"):
            model = ElectraModel(ElectraConfig(embedding_size=16, **common))
        elif kind == "deberta":
            with warnings.catch_warnings():  # the module itself still uses torch.jit
                warnings.simplefilter("ignore", DeprecationWarning)
                from transformers import DebertaV2Config, DebertaV2Model
            model = DebertaV2Model(
                DebertaV2Config(relative_attention=True, pos_att_type=["p2c", "c2p"], **common)
            )
        elif kind == "bert-large-cased":  # 24 x 1024 with 16 heads, scaled down
            model = BertModel(BertConfig(**{**common, "num_hidden_layers": 7, "num_attention_heads": 16}))
        else:
            model = BertModel(BertConfig(**common))
    logging.disable_progress_bar()
    model.save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny random encoder of the given kind."""
    root = tmp_path_factory.mktemp("encoders")

    def get(kind: str) -> Path:
        folder = root / kind
        if not folder.exists():
            torch.manual_seed(0)
            _build(kind, folder)
        return folder

    return get


@pytest.fixture(scope="session")
def double() -> Any:
    """The module `encoder_double.py`."""
    spec = spec_from_file_location("encoder_double", Path(__file__).with_name("encoder_double.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
