"""A tiny random BERT in Hugging Face layout, and models that train in a second, for the rooms above encode/."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertModel
from transformers.utils import logging

from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.model.labeler import Labeler


def tiny_bert(folder: Path, *, seed: int = 0) -> Path:
    """Letters as word pieces, three layers of width 16, windows of 30 pieces."""
    folder.mkdir(parents=True)
    letters = string.ascii_letters + string.digits + string.punctuation
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = list(dict.fromkeys([*special, *letters, *(f"##{c}" for c in letters), "the", "was", "and"]))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "BertTokenizer", "do_lower_case": true}'
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.4,
    )
    logging.disable_progress_bar()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(folder, safe_serialization=True)
    return folder


def reviews(count: int = 60, *, seed: int = 0) -> list[Document]:
    return sample_documents("reviews", count, seed=seed)


# Word embeddings only, few filters: trains in a second.
SMALL: dict[str, Any] = {
    "encoder": "none",
    "vocabulary": 200,
    "word_dimension": 12,
    "filters": 20,
    "epochs": 3,
    "device": "cpu",
    "cache": "",
}


def tiny_labeler(**options: Any) -> Labeler:
    return Labeler(**SMALL | options)


CUES = {"food": ["soup", "bread"], "price": ["bill", "dear"], "staff": ["waiter", "rude"]}
FILLER = ("the", "we", "had", "was", "and", "very", "again", "then", "so", "there", "it", "on", "a", "for")


def cued(count: int, *, several: bool = False, seed: int = 0) -> list[Document]:
    """A few filler words, and cue words of the classes that a document has."""
    draws = np.random.default_rng(seed)
    made = []
    for n in range(count):
        names = [name for name in CUES if draws.random() < 0.4] if several else [list(CUES)[n % 3]]
        words = [(str(word), "O") for word in draws.choice(FILLER, 5)]
        words += [(str(draws.choice(CUES[name])), name) for name in names]
        order = draws.permutation(len(words))
        tokens, marks = zip(*(words[i] for i in order), strict=True)
        label = tuple(names) if several else names[0]
        made.append(Document(f"{seed}-{n}", " ".join(tokens), tokens, label, marks))
    return made
