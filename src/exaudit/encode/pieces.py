"""Words become word pieces, and long documents become windows: all bookkeeping before the Transformer runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exaudit.encode.shapes import NONE, shapes_of
from exaudit.errors import EncoderError

__all__ = ["Pieces", "Tokenizer", "Windows", "windows_of"]

Ints = NDArray[np.int64]
_CHUNK = 1024  # documents per call of the tokenizer: its own objects are heavy, ours are flat arrays


@dataclass(frozen=True)
class Pieces:
    """The word pieces of many documents, laid end to end; no special tokens among them."""

    ids: Ints  # (T,) rows of the Transformer's vocabulary
    words: Ints  # (T,) index of the word in its document
    shapes: Ints  # (T,) of the word as it was written
    bounds: Ints  # (B + 1,)

    @property
    def lengths(self) -> Ints:
        return np.diff(self.bounds)


@dataclass(frozen=True)
class Windows:
    """Stretches of pieces that go through the Transformer one by one, and the part of each that is kept.

    The kept parts, in order, are exactly the pieces of the documents, in order.
    """

    start: Ints  # (W,) first piece, counted over all documents
    length: Ints  # (W,)
    skip: Ints  # (W,) pieces at the left whose vectors come from the window before
    keep: Ints  # (W,) pieces kept after those


class Tokenizer:
    """A fast Hugging Face tokenizer, applied to words that are already split."""

    def __init__(self, tokenizer: Any) -> None:
        self.hf = tokenizer
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise EncoderError(
                f"{type(tokenizer).__name__} has no fast form, and only fast tokenizers say which word a piece "
                "belongs to; save the encoder with a tokenizer.json"
            )
        backend.no_truncation()  # some tokenizer.json files carry a cut at 128 pieces
        backend.no_padding()
        if getattr(backend.pre_tokenizer, "add_prefix_space", None) is False:
            backend.pre_tokenizer.add_prefix_space = (
                True  # byte-level BPE sees " word", as inside running text
            )
        self._backend = backend
        whole, bare = (
            backend.encode(["a"], is_pretokenized=True, add_special_tokens=s) for s in (True, False)
        )
        before = whole.special_tokens_mask.index(0) if bare.ids else len(whole.ids)
        self.prefix: list[int] = whole.ids[:before]  # [CLS] or <s>
        self.suffix: list[int] = whole.ids[before + len(bare.ids) :]  # [SEP] or </s>
        unknown = tokenizer.unk_token_id
        self._unknown: int = next(i for i in (unknown, tokenizer.pad_token_id, 0) if i is not None)
        self.padding: int = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        self.mask: int | None = tokenizer.mask_token_id
        upper, lower = (backend.encode([word], is_pretokenized=True).ids for word in ("It", "it"))
        self.uncased: bool = upper == lower

    def __call__(self, token_lists: Sequence[Sequence[str]], max_length: int | None = None) -> Pieces:
        """Cut words into pieces. Every word gets at least one, unless `max_length` (pieces) cuts it off."""
        ids: list[Ints] = [np.zeros(0, np.int64)]
        words: list[Ints] = [np.zeros(0, np.int64)]
        shapes: list[Ints] = [np.zeros(0, np.int64)]
        lengths: list[int] = []
        for first in range(0, len(token_lists), _CHUNK):
            chunk = [list(tokens) for tokens in token_lists[first : first + _CHUNK]]
            for tokens, encoding in zip(chunk, self._encode(chunk), strict=True):
                own_ids = np.array(encoding.ids, np.int64)
                own_words = np.array(encoding.word_ids, np.int64)
                if len(own_words) < len(tokens) or _distinct(own_words) < len(tokens):
                    own_ids, own_words = self._fill(own_ids, own_words, len(tokens))
                ids.append(own_ids[:max_length])
                words.append(own_words[:max_length])
                shapes.append(shapes_of(tokens)[words[-1]])
                lengths.append(len(ids[-1]))
        bounds = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        return Pieces(np.concatenate(ids), np.concatenate(words), np.concatenate(shapes), bounds)

    def erase(self, pieces: Pieces, erased: Sequence[NDArray[np.bool_]]) -> Pieces:
        """The same documents without some of their words (N,): each is one mask piece, or left out where there is no
        mask. The mask is put in by its number, whatever words the texts hold. No document is left without a piece.
        """
        counts = np.array([len(own) for own in erased], np.int64)  # (B,)
        owner = np.repeat(np.arange(len(counts)), pieces.lengths)  # (T,)
        word = (np.cumsum(counts) - counts)[owner] + pieces.words  # (T,) counted over all documents
        gone = np.concatenate([np.zeros(0, np.bool_), *erased])[word]  # (T,)
        if self.mask is not None:
            kept = ~gone | (np.diff(word, prepend=-1) != 0)  # the first piece of a word stands for it
        else:
            empty = np.bincount(owner[~gone], minlength=len(counts)) == 0  # (B,)
            kept = ~gone | (empty[owner] & (np.diff(owner, prepend=-1) != 0))  # the first piece of all
        ids = np.where(gone, self._unknown if self.mask is None else self.mask, pieces.ids)[kept]
        bounds = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=len(counts)))])
        return Pieces(ids, pieces.words[kept], np.where(gone, NONE, pieces.shapes)[kept], bounds)

    def _encode(self, chunk: list[list[str]]) -> Any:
        try:
            return self._backend.encode_batch(chunk, is_pretokenized=True, add_special_tokens=False)
        except (TypeError, UnicodeError) as error:
            raise EncoderError(f"the tokenizer cannot read these words: {error}") from error

    def _fill(self, ids: Ints, words: Ints, count: int) -> tuple[Ints, Ints]:
        """Give the unknown token to words without pieces, such as control characters."""
        missing = np.setdiff1d(np.arange(count), words)
        order = np.argsort(np.concatenate([words, missing]), kind="stable")
        filled = np.concatenate([ids, np.full(len(missing), self._unknown)])
        return filled[order], np.concatenate([words, missing])[order]


def _distinct(words: Ints) -> int:
    """How many values a sorted array holds."""
    return 0 if len(words) == 0 else 1 + int(np.count_nonzero(np.diff(words)))


def windows_of(bounds: Ints, size: int) -> Windows:
    """Windows of at most `size` pieces that overlap by a quarter at least; the last one ends with the document.

    A piece in several windows takes its vector from the one where it is farthest from an edge, so neighbouring
    windows part in the middle of their overlap.
    """
    whole = np.diff(bounds)
    rows: list[Ints] = []  # (W', 5): owner, start, length, skip, keep
    fits = np.flatnonzero(whole <= size)
    rows.append(np.stack([fits, bounds[fits], whole[fits], np.zeros_like(fits), whole[fits]], axis=1))
    for document in np.flatnonzero(whole > size):
        total = int(whole[document])
        start = np.append(np.arange(0, total - size, size - size // 4), total - size)
        middle = (start[:-1] + size - 1 + start[1:]) // 2 + 1  # the first piece that the next window owns
        from_, to = np.append(0, middle), np.append(middle, total)
        owner, length = np.full_like(start, document), np.full_like(start, size)
        rows.append(np.stack([owner, bounds[document] + start, length, from_ - start, to - from_], axis=1))
    table = np.concatenate(rows)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Windows(*table[:, 1:].T)
