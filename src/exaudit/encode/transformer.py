"""The frozen Transformer: words in, one vector per word piece out, hidden layers side by side."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from exaudit._arrays import ranges
from exaudit._device import pick_device, pick_precision
from exaudit._progress import progress
from exaudit._side_by_side import exclusively, on_one_core, side_by_side
from exaudit.encode.batching import by_length, evenly
from exaudit.encode.bert import Bert, read_bert
from exaudit.encode.layers import choose_layers
from exaudit.encode.locate import MINILM, fingerprint, locate
from exaudit.encode.packed import Packed
from exaudit.encode.pieces import Ints, Pieces, Tokenizer, Windows, windows_of
from exaudit.encode.reading import ReadingLayer
from exaudit.encode.shapes import NONE, add_shapes, restore_shapes
from exaudit.encode.sizes import check_sizes
from exaudit.errors import EncoderError, EncoderMismatchError, SettingError

__all__ = ["OnTheFlyFeatures", "Transformer"]

# Padding included. CPU: 512 and 1024 were faster than 2048 and 4096 for MiniLM on one thread. CUDA: not measured yet.
_PIECES_PER_BATCH = {"cpu": 1024, "cuda": 65536}
_PIECES_PER_PACK = {
    "cpu": 1024
}  # of a batch to be tuned on; a GPU, waiting for kernels to start, is quicker whole
_UNPADDED = 4096  # of such a batch without padding
_HELD = {"cpu": 2e9, "cuda": 12e9}  # bytes of what gradients need, while the encoder is tuned
_HELD_PER_UNIT = (
    100  # of them for a piece and each of its hidden units, in all layers; 95 to 104 were measured
)
_FEW = 64  # pieces to read, a sentence or two: with a second core MiniLM is a tenth quicker

Result = TypeVar("Result")


class Transformer:
    """An encoder with the hidden layers to use (1 is the output of the first block, 0 the embeddings).

    Special tokens are fed to the model and dropped from its output. Documents longer than the model can take are
    read in overlapping windows. After changing `module` (tuning), `save` and `load` again before caching features.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        module: Any,
        tokenizer: Tokenizer,
        *,
        layers: tuple[int, ...],
        device: torch.device,
        precision: str,
        max_length: int | None,
        fingerprint: str,
    ) -> None:
        self.name = name
        self.folder = folder
        self.fingerprint = fingerprint
        self.module = module.to(device).eval()
        self.layers = layers
        self.device = device
        self.precision, self.dtype = precision, pick_precision(precision, device)
        self.max_length = max_length
        self.hidden: int = self.module.config.hidden_size
        self.dimension = len(layers) * self.hidden
        self.tokenizer = tokenizer
        self.window = _positions(self.module) - len(tokenizer.prefix) - len(tokenizer.suffix)
        if self.window < 1:
            raise EncoderError(
                f"{name} takes {_positions(self.module)} positions; its special tokens fill them all"
            )
        if tokenizer.mask is not None and tokenizer.mask >= self.module.get_input_embeddings().num_embeddings:
            tokenizer.mask = None  # a name without a vector
        self._rows: Ints | None = None  # of the word pieces, while only some of them have embeddings
        self._reading: tuple[tuple[int, int, str], list[ReadingLayer]] | None = None
        self._loaded = self._version()

    @classmethod
    def load(
        cls,
        name: str | PathLike[str] = MINILM,
        *,
        layers: Sequence[int] | None = None,
        device: str | torch.device = "auto",
        precision: str = "float32",
        max_length: int | None = None,
        download: bool = True,
        expected: str | None = None,
        plain: bool = False,
    ) -> Transformer:
        """Load `minilm`, a folder in Hugging Face layout, or an encoder of the Hugging Face hub.

        Without `download` the hub is not asked for an encoder that is not on this machine. Files without the
        `expected` fingerprint are refused before anything in them is believed. With `plain`, a BERT is read without
        Transformers, the library: that is quicker by seconds, and the vectors are the same. A `precision` of auto is
        bfloat16 where the hardware has it, else float32: `dtype` tells.
        """
        name = fspath(name)
        where = pick_device(device)
        pick_precision(precision, where)  # a wrong one is told before anything is read
        if max_length is not None and max_length < 1:
            raise SettingError(f"max_length is {max_length}; give a number of word pieces, at least 1")
        folder = locate(name, download=download)
        found = fingerprint(folder)
        if expected not in (None, found):
            raise EncoderMismatchError(f"{name} has fingerprint {found[:12]}, not {str(expected)[:12]}")
        check_sizes(name, folder)
        module, tokenizer = (read_bert(folder) if plain else None) or _read(name, folder)
        restore_shapes(module, folder)
        chosen = choose_layers(name, layers, module.config.num_hidden_layers)
        _cut(module, max(chosen))
        return cls(
            name, folder, module, Tokenizer(tokenizer),
            layers=chosen, device=where, precision=precision, max_length=max_length, fingerprint=found,
        )  # fmt: skip

    @property
    def changed(self) -> bool:
        """Whether the weights are no longer those of `folder`, so that `fingerprint` does not speak for them."""
        return self._version() != self._loaded

    @property
    def reads_shapes(self) -> bool:
        """Whether it was tuned to tell upper from lower case though its tokenizer does not."""
        return hasattr(self.module, "shapes")

    def learn_shapes(self) -> None:
        """Before tuning: let an uncased encoder learn to tell words by their shapes."""
        if self.tokenizer.uncased and not self.reads_shapes:
            add_shapes(self.module)

    @property
    def packs(self) -> bool:
        """Whether documents are read without padding: by a plain BERT on a CPU. A GPU, waiting for kernels
        to start, would be slower."""
        return isinstance(self.module, Bert) and self.device.type == "cpu"

    @contextmanager
    def tunable(self, token_lists: Sequence[Sequence[str]]) -> Iterator[OnTheFlyFeatures]:
        """Documents to tune on. Where they are read without padding, only their word pieces have embeddings meanwhile:
        those of others would not change, and are most of what an optimiser goes through at every step."""
        features = self.on_the_fly(token_lists)
        if not self.packs:
            yield features
            return
        table, special = self.module.get_input_embeddings(), [*self.tokenizer.prefix, *self.tokenizer.suffix]
        used = np.unique(np.concatenate([features.pieces.ids, np.array(special, np.int64)]))  # (U,)
        whole, chosen = table.weight, torch.from_numpy(used)
        self._rows = np.zeros(len(whole), np.int64)
        self._rows[used] = np.arange(len(used))
        table.weight = nn.Parameter(whole.detach()[chosen])  # (U, E)
        try:
            yield features
        finally:
            with torch.no_grad():
                whole[chosen] = table.weight
            table.weight, self._rows = whole, None

    def at(self, precision: str) -> Transformer:
        """The same encoder, weights and all, that reads in another precision."""
        if precision == self.precision:
            return self
        other = copy.copy(self)
        other.precision, other.dtype = precision, pick_precision(precision, self.device)
        return other

    def copy(self, layers: Sequence[int] | None = None) -> Transformer:
        """The same encoder, perhaps with other layers, to be tuned without changing this one."""
        other = copy.copy(self)
        if layers is not None:
            other.layers = choose_layers(self.name, layers, self.module.config.num_hidden_layers)
            other.dimension = len(other.layers) * self.hidden
        other.module = copy.deepcopy(self.module)
        other._loaded = -1 if self.changed else other._version()
        return other

    def pieces(
        self, token_lists: Sequence[Sequence[str]], *, erased: Sequence[NDArray[np.bool_]] | None = None
    ) -> Pieces:
        """The word pieces of many documents, cut at `max_length` if that was asked for.

        erased : whether each word (N,) is hidden: masked, or left out by an encoder that knows no mask.
        """
        pieces = self.tokenizer(token_lists, self.max_length)
        return pieces if erased is None else self.tokenizer.erase(pieces, erased)

    def pack(self, token_lists: Sequence[Sequence[str]]) -> Packed:
        """One batch in the given order; differentiable while the module trains."""
        return self.on_the_fly(token_lists).packed(range(len(token_lists)))

    def on_the_fly(self, token_lists: Sequence[Sequence[str]]) -> OnTheFlyFeatures:
        """Documents to be packed batch by batch, their words cut into pieces once."""
        return OnTheFlyFeatures(self, self.pieces(token_lists))

    def batches(
        self,
        token_lists: Sequence[Sequence[str]],
        *,
        pieces_per_batch: int | None = None,
        desc: str | None = None,
    ) -> Iterator[tuple[list[int], Packed]]:
        """All documents, longest first, as (indices, batch); each index comes once. No gradients. A bar if named."""
        return self.each_batch(
            lambda indices, batch: (indices, batch), token_lists, pieces_per_batch=pieces_per_batch, desc=desc
        )

    def each_batch(
        self,
        work: Callable[[list[int], Packed], Result],
        token_lists: Sequence[Sequence[str]],
        *,
        erased: Sequence[NDArray[np.bool_]] | None = None,
        pieces_per_batch: int | None = None,
        desc: str | None = None,
    ) -> Iterator[Result]:
        """`work(indices, batch)` of all `batches`, by the thread that has read the batch: there may be several.

        erased : words to hide, as for `pieces`.
        """
        budget = pieces_per_batch or _PIECES_PER_BATCH.get(self.device.type, 1024)
        pieces = self.pieces(token_lists, erased=erased)
        extra = len(self.tokenizer.prefix) + len(self.tokenizer.suffix)

        @torch.no_grad()
        def read(indices: Ints) -> tuple[int, Result]:
            batch = self._encode(pieces, indices, budget, packed=self.packs)
            return len(indices), work(indices.tolist(), batch)

        def read_alone(indices: Ints) -> tuple[int, Result]:
            few = self.packs and int(pieces.lengths[indices].sum()) <= _FEW
            return on_one_core(partial(read, indices)) if few else read(indices)

        if self.packs:
            plan = evenly(pieces.lengths + extra, budget, torch.get_num_threads())
            # What is large, and cut anyway, would be in memory several times over.
            alone = sum(int(pieces.lengths[indices[0]]) > _UNPADDED for indices in plan)
            alone = len(plan) if len(plan) == 1 else alone
        else:  # of Transformers' modules nobody knows what they keep while they read
            plan = list(by_length(pieces.lengths, self.window, extra, budget))
            alone = len(plan)
        with progress(total=len(token_lists), unit="doc", desc=desc) as bar:
            for count, result in chain(map(read_alone, plan[:alone]), side_by_side(read, plan[alone:])):
                yield result
                bar.update(count)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the (cut) model and its tokenizer in Hugging Face layout."""
        with nullcontext() if isinstance(self.module, Bert) else _quiet():
            self.module.save_pretrained(folder)
            self.tokenizer.hf.save_pretrained(folder)

    def _encode(self, pieces: Pieces, indices: Ints, budget: int | None, *, packed: bool = False) -> Packed:
        lengths = pieces.lengths[indices]
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        rows = ranges(pieces.bounds[indices], lengths)
        ids, shapes, windows = pieces.ids[rows], pieces.shapes[rows], windows_of(bounds, self.window)
        parts, run = self._parts(windows, budget), self._run
        if packed:
            parts, run = self._packed_parts(windows), self._run_packed
        if len(parts) == 1:
            vectors = run(ids, shapes, windows, parts[0])  # (T, D)
        else:  # each into its place, so that a long document is in memory once
            vectors = torch.zeros(len(ids), self.dimension, device=self.device)  # (T, D)
            first = np.cumsum(windows.keep) - windows.keep
            for part in parts:
                own = np.sort(part)
                places = torch.from_numpy(ranges(first[own], windows.keep[own])).to(self.device)
                vectors = vectors.index_copy_(0, places, run(ids, shapes, windows, part))
        words = torch.from_numpy(pieces.words[rows]).to(self.device)
        return Packed(vectors, torch.from_numpy(bounds), words)

    def _parts(self, windows: Windows, budget: int | None) -> list[Ints]:
        """All windows, or those of like lengths together where all, padded, are more than `budget` pieces."""
        count = len(windows.start)
        if count == 0:
            return []
        extra = len(self.tokenizer.prefix) + len(self.tokenizer.suffix)
        if budget is None or count * (int(windows.length.max()) + extra) <= budget:
            return [np.arange(count)]
        return [np.sort(part) for part in by_length(windows.length, self.window, extra, budget)]

    def _packed_parts(self, windows: Windows) -> list[Ints]:
        """All windows, or so many of like lengths together as have, without padding, `_UNPADDED` pieces."""
        order = np.argsort(windows.length, kind="stable")
        ends = np.cumsum(
            windows.length[order] + len(self.tokenizer.prefix) + len(self.tokenizer.suffix)
        )  # (W,)
        parts = np.split(order, np.flatnonzero(np.diff(ends // _UNPADDED)) + 1)
        return [part for part in parts if len(part)]

    def _run(self, ids: Ints, shapes: Ints, windows: Windows, part: Ints) -> Tensor:
        """Run some windows as one padded batch; return the vectors of the pieces they keep."""
        start, length = windows.start[part], windows.length[part]
        prefix, suffix = self.tokenizer.prefix, self.tokenizer.suffix
        before, after = len(prefix), len(suffix)
        W, L = len(start), int(length.max()) + before + after
        row = np.arange(W) * L
        batch, own = np.full(W * L, self.tokenizer.padding), ranges(row + before, length)
        batch[own] = ids[ranges(start, length)]
        for i, token in enumerate(prefix):
            batch[row + i] = token
        for i, token in enumerate(suffix):
            batch[row + before + length + i] = token
        seen = np.arange(L) < (length + before + after)[:, None]  # (W, L)
        mask = None if seen.all() else torch.from_numpy(seen.astype(np.int64)).to(self.device)
        inputs = {"input_ids": torch.from_numpy(batch.reshape(W, L)).to(self.device)}
        if self.reads_shapes:
            kinds = np.zeros(W * L, np.int64)  # special tokens and padding have none
            kinds[own] = shapes[ranges(start, length)]
            embedded = self.module.get_input_embeddings()(inputs["input_ids"])  # (W, L, E)
            inputs = {
                "inputs_embeds": embedded
                + self.module.shapes(torch.from_numpy(kinds.reshape(W, L)).to(self.device))
            }
        with self.autocast():
            output = self.module(**inputs, attention_mask=mask, output_hidden_states=True)
        kept = torch.from_numpy(ranges(row + before + windows.skip[part], windows.keep[part])).to(self.device)
        hidden = [output.hidden_states[layer].reshape(W * L, -1)[kept] for layer in self.layers]
        return torch.cat(hidden, dim=1).float()  # (T, D)

    def _run_packed(self, ids: Ints, shapes: Ints, windows: Windows, part: Ints) -> Tensor:
        """The same without padding, of windows in any order: the vectors come in that of the documents."""
        start, length = windows.start[part], windows.length[part]
        prefix, suffix = self.tokenizer.prefix, self.tokenizer.suffix
        whole = length + len(prefix) + len(suffix)  # (W,)
        row = np.cumsum(whole) - whole
        batch, own = np.zeros(whole.sum(), np.int64), ranges(row + len(prefix), length)
        batch[own] = ids[ranges(start, length)]
        for i, token in enumerate(prefix):
            batch[row + i] = token
        for i, token in enumerate(suffix):
            batch[row + len(prefix) + length + i] = token
        rows = batch if self._rows is None else self._rows[batch]
        words = self.module.get_input_embeddings()(torch.from_numpy(rows))  # (T, E)
        if self.reads_shapes:
            kinds = np.full(len(batch), NONE)
            kinds[own] = shapes[ranges(start, length)]
            words = words + self.module.shapes(torch.from_numpy(kinds))
        reading = self._reading_layers()
        with self.autocast() if reading is None else nullcontext():
            states = self.module.packed(words, whole, reading)
        order = np.argsort(part)  # as the documents have them
        own = ranges((row + len(prefix) + windows.skip[part])[order], windows.keep[part][order])
        kept = torch.from_numpy(own)
        return torch.cat(
            [states[layer].index_select(0, kept) for layer in self.layers], dim=1
        ).float()  # (T, D)

    def _reading_layers(self) -> list[ReadingLayer] | None:
        """Layers to read with, made once for weights as they are; None where gradients are wanted."""
        if torch.is_grad_enabled() or self.module.training:
            return None
        state = (id(self.module), self._version(), self.dtype)
        with exclusively():
            if self._reading is None or self._reading[0] != state:
                self._reading = (state, self.module.reading(getattr(torch, self.dtype)))
            return self._reading[1]

    def autocast(self) -> Any:
        """bfloat16 by autocast: weights stay float32 for tuning and saving, and so do residual sums and norms.

        That costs no time (all products are in bfloat16), and halves the distance to float32.
        """
        return torch.autocast(self.device.type, torch.bfloat16) if self.dtype == "bfloat16" else nullcontext()

    def _version(self) -> int:
        return sum(parameter._version for parameter in self.module.parameters())


@dataclass(frozen=True)
class OnTheFlyFeatures:
    """Documents that go through an encoder whenever their features are asked for."""

    encoder: Transformer
    pieces: Pieces

    def __len__(self) -> int:
        return len(self.pieces.lengths)

    @property
    def lengths(self) -> Ints:
        """The pieces of each document (D,)."""
        return self.pieces.lengths

    @property
    def at_once(self) -> int:
        """How many pieces should be in memory together, with all that their gradients need."""
        encoder = self.encoder
        units = encoder.module.config.num_hidden_layers * encoder.hidden
        return int(_HELD.get(encoder.device.type, _HELD["cpu"]) // (_HELD_PER_UNIT * units))

    def packed(self, indices: Sequence[int]) -> Packed:
        """One batch in the given order; differentiable while the encoder trains."""
        encoder = self.encoder
        budget = _PIECES_PER_PACK.get(encoder.device.type)
        with nullcontext() if encoder.module.training else torch.no_grad():
            return encoder._encode(self.pieces, np.asarray(indices, np.int64), budget, packed=encoder.packs)


def _read(name: str, folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        with _quiet(), torch.random.fork_rng(devices=[]):  # a missing pooler is drawn at random, then dropped
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, **local)
            module, report = AutoModel.from_pretrained(
                folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **local
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, TypeError, AttributeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise EncoderError(f"the encoder {name} cannot be loaded: {reason}") from error
    except (
        Exception
    ) as error:  # tokenizers and safetensors raise bare Exceptions of their own on damaged files
        raise EncoderError(f"the encoder {name} is damaged: {error}") from error
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise EncoderError(f"the encoder {name} lacks {len(missing)} weights, {missing[0]} among them")
    if getattr(module, "pooler", None) is not None:
        module.pooler = None  # sentence-level; never used here
    return module, tokenizer


def _cut(module: Any, layers: int) -> None:
    """Drop the blocks above the highest layer used, so that none runs for nothing."""
    blocks = getattr(getattr(module, "encoder", None), "layer", None)
    if isinstance(blocks, nn.ModuleList):
        module.encoder.layer = blocks[: max(1, layers)]
        module.config.num_hidden_layers = max(1, layers)


def _positions(module: Any) -> int:
    """How many positions the model can take; RoBERTa and its kin count from the padding index on."""
    count = int(getattr(module.config, "max_position_embeddings", 0) or 512)
    table = getattr(getattr(module, "embeddings", None), "position_embeddings", None)
    offset = getattr(table, "padding_idx", None)
    return count if offset is None else count - offset - 1


@contextmanager
def _quiet() -> Iterator[None]:
    """No bars and no notices of transformers while it loads; what matters is checked here."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
