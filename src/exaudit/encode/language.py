"""Whether an encoder knows the language of some texts: how many of their words it cannot read, or only spell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import name

__all__ = ["note_on_language", "unknown_share"]

UNKNOWN = 0.1  # share of the words from which on an encoder was not made for a language
DOCUMENTS, WORDS = 500, 200  # looked at: the first words of the first documents
SPELLED = 4  # letters; a word of fewer may come as single letters in any language
BY_CHARACTER = (
    "CJK",
    "HIRAGANA",
    "KATAKANA",
)  # where encoders that know the language read single characters, too


def note_on_language(folder: Path, token_lists: Iterable[Sequence[str]]) -> str | None:
    """A sentence where the encoder in this folder does not know the language of the documents."""
    share = unknown_share(folder, token_lists)
    if share <= UNKNOWN:
        return None
    told = f"{100 * share:.0f}% of the words of these texts are unknown to the encoder"
    return f"{told}: it was not made for this language"


def unknown_share(folder: Path, token_lists: Iterable[Sequence[str]]) -> float:
    """The share of words with an unknown piece, or in no pieces but single letters; 0 without a tokenizer.json."""
    from tokenizers import Tokenizer  # quick to import, unlike transformers

    path = folder / "tokenizer.json"
    if not path.is_file():
        return 0.0
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    unknown = model.get("unk_id")  # of Unigram; the others have its text
    if unknown is None and model.get("unk_token") is not None:
        unknown = tokenizer.token_to_id(model["unk_token"])
    longer = sum(len(piece.removeprefix("##").lstrip("▁Ġ")) > 1 for piece in tokenizer.get_vocab())
    spells = 2 * longer < tokenizer.get_vocab_size()  # an encoder of letters spells whatever it reads
    words = [
        [token for token in tokens[:WORDS] if any(map(str.isalpha, token))]
        for tokens in islice(token_lists, DOCUMENTS)
    ]
    found = tokenizer.encode_batch(words, is_pretokenized=True, add_special_tokens=False)
    strange = 0
    for own, encoding in zip(words, found, strict=True):
        strange += len(_unknown(encoding, unknown) | (set() if spells else _spelled(encoding, own)))
    return strange / max(1, sum(map(len, words)))


def _unknown(encoding: Any, unknown: int | None) -> set[int]:
    return {word for word, piece in zip(encoding.word_ids, encoding.ids, strict=True) if piece == unknown}


def _spelled(encoding: Any, words: Sequence[str]) -> set[int]:
    """The words of which no piece is longer than a letter."""
    read = {
        word
        for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True)
        if end > start + 1
    }
    return {
        n
        for n, word in enumerate(words)
        if n not in read
        and sum(map(str.isalpha, word)) >= SPELLED
        and not name(word[0], "").startswith(BY_CHARACTER)
    }
