"""Whether an encoder knows the language of some texts: how many of their word pieces are unknown to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

__all__ = ["note_on_language", "unknown_share"]

UNKNOWN = 0.1  # share of the word pieces from which on an encoder was not made for a language
DOCUMENTS, WORDS = 500, 200  # looked at: the first words of the first documents


def note_on_language(folder: Path, token_lists: Iterable[Sequence[str]]) -> str | None:
    """A sentence where the encoder in this folder does not know the language of the documents."""
    share = unknown_share(folder, token_lists)
    if share <= UNKNOWN:
        return None
    return (
        f"{100 * share:.0f}% of the word pieces of these texts are unknown to the encoder: it was not made for "
        "this language"
    )


def unknown_share(folder: Path, token_lists: Iterable[Sequence[str]]) -> float:
    """The share of unknown word pieces; 0 where the encoder has no tokenizer.json, or no unknown piece."""
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
    if unknown is None:
        return 0.0
    texts = [list(tokens[:WORDS]) for tokens in islice(token_lists, DOCUMENTS)]
    found = tokenizer.encode_batch(texts, is_pretokenized=True, add_special_tokens=False)
    ids = [piece for encoding in found for piece in encoding.ids]
    return ids.count(unknown) / max(1, len(ids))
