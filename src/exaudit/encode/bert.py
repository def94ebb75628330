"""A plain BERT with its tokenizer, for encoders that are one: the numbers of Transformers, without seconds of imports.

Only what is a BERT in every respect is read here, MiniLM and gte-small among them. All else, and all that is damaged,
is left to Transformers, which knows every kind of encoder, and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from exaudit._arrays import ranges
from exaudit._files import read_json, replace_file, write_json
from exaudit.encode.attention import Attend, attend, attend_packed, groups_of
from exaudit.encode.reading import Layout, ReadingLayer, few_sizes

__all__ = ["Bert", "BertTokenizer", "read_bert"]

PLAIN = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
    "quantization_config": None,
}  # what a configuration must say, if it says anything of it
SPECIAL = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
}


def read_bert(folder: Path) -> tuple[Bert, BertTokenizer] | None:
    """The encoder and the tokenizer of a folder; None where they are not a plain BERT's, or damaged."""
    try:
        config = read_json(folder / "config.json")
        tokenizer = _tokenizer(folder)
        weights = folder / "model.safetensors"
        plain = config["model_type"] == "bert" and all(config.get(k, v) == v for k, v in PLAIN.items())
        if tokenizer is None or not plain or not weights.is_file():
            return None
        with torch.device("meta"):  # no memory, and no random numbers, for weights that are read right after
            module = Bert(SimpleNamespace(**config))
        tensors = {name.removeprefix("bert."): value.float() for name, value in load_file(weights).items()}
        if module.load_state_dict(tensors, strict=False, assign=True).missing_keys:
            return None
    except Exception:  # tokenizers and safetensors raise bare Exceptions of their own
        return None
    return module, tokenizer


class Bert(nn.Module):
    """Hidden layers of BERT, with the names that its weights have in Hugging Face's files. It has no pooler."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.config, width = config, config.hidden_size
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": _embedding(config.vocab_size, width, getattr(config, "pad_token_id", 0)),
                "position_embeddings": _embedding(config.max_position_embeddings, width),
                "token_type_embeddings": _embedding(config.type_vocab_size, width),
                "LayerNorm": nn.LayerNorm(width, eps=config.layer_norm_eps),
                "dropout": nn.Dropout(config.hidden_dropout_prob),
            }
        )
        layers = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})

    def get_input_embeddings(self) -> Any:
        return self.embeddings["word_embeddings"]

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **_: Any,
    ) -> SimpleNamespace:
        """Word pieces (B, L), or their embeddings (B, L, E); `hidden_states` has those of the embeddings first."""
        words = self.get_input_embeddings()(input_ids) if inputs_embeds is None else inputs_embeds
        place = torch.arange(words.shape[1], device=words.device)  # (L,)
        seen = attention_mask
        if seen is not None:
            seen = seen.bool()[:, None, None].expand(-1, -1, len(place), -1)  # (B, 1, L, L)
        states = self._states(words, place, self._layers(partial(attend, seen=seen)))
        return SimpleNamespace(hidden_states=states, last_hidden_state=states[-1])

    def packed(
        self, words: Tensor, lengths: NDArray[np.int64], reading: Sequence[ReadingLayer] | None = None
    ) -> list[Tensor]:
        """Hidden states (T, E) of texts laid end to end, of which only attention sees a padded copy.

        words : embeddings of the word pieces (T, E). Texts of like lengths should stand together.
        reading : what `reading` gives, in place of the layers themselves; then rows may follow that are nobody's.
        """
        places = torch.from_numpy(ranges(np.zeros_like(lengths), lengths))  # (T,)
        if reading is None:
            groups = list(groups_of(lengths))
            return self._states(words, places, self._layers(partial(attend_packed, groups=groups)))
        rows = few_sizes(len(words))
        more = rows - len(words)
        words, places = F.pad(words, (0, 0, 0, more)), F.pad(places, (0, more))
        layout = Layout.of(lengths, self.config.num_attention_heads, rows)
        return self._states(words, places, [partial(layer, layout=layout) for layer in reading])

    def reading(self, dtype: torch.dtype) -> list[ReadingLayer]:
        """The layers with their weights as they are now, to read with, in float32 or bfloat16."""
        return [ReadingLayer.of(layer, dtype) for layer in self.encoder["layer"].children()]

    def _layers(self, attend: Attend) -> list[Callable[[Tensor], Tensor]]:
        return [partial(layer, attend=attend) for layer in self.encoder["layer"].children()]

    def _states(
        self, words: Tensor, places: Tensor, layers: Sequence[Callable[[Tensor], Tensor]]
    ) -> list[Tensor]:
        kinds = self.embeddings["token_type_embeddings"](places.new_zeros(1))  # (1, E): one text, no pairs
        hidden = words + kinds + self.embeddings["position_embeddings"](places)  # (..., L, E)
        states = [self.embeddings["dropout"](self.embeddings["LayerNorm"](hidden))]
        for layer in layers:
            states.append(layer(states[-1]))
        return states

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """In Hugging Face's layout, as Transformers does."""
        tensors = {name: value.detach().cpu().contiguous() for name, value in self.state_dict().items()}
        Path(folder).mkdir(parents=True, exist_ok=True)
        with replace_file(
            Path(folder, "model.safetensors")
        ) as temporary:  # the old one may be mapped into memory
            save_file(tensors, temporary, metadata={"format": "pt"})
        write_json(Path(folder, "config.json"), vars(self.config))


def _embedding(count: int, width: int, padding: int | None = None) -> nn.Embedding:
    """Without the usual random weights: torch would load its compiler to draw them for the meta device."""
    return nn.Embedding(count, width, padding, _weight=torch.empty(count, width))


class _Layer(nn.Module):
    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size
        self.heads, self.dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        parts = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        self.attention = nn.ModuleDict({"self": nn.ModuleDict(parts), "output": _Residual(width, config)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = _Residual(inner, config)

    def forward(self, hidden: Tensor, attend: Attend) -> Tensor:
        query, key, value = (
            part(hidden).unflatten(-1, (self.heads, -1))  # (..., L, H, E / H)
            for part in self.attention["self"].children()
        )
        mixed = attend(query, key, value, self.dropout if self.training else 0.0)
        hidden = self.attention["output"](mixed.flatten(-2), hidden)  # (..., L, E)
        out: Tensor = self.output(F.gelu(self.intermediate["dense"](hidden)), hidden)  # (..., L, E)
        return out


class _Residual(nn.Module):
    def __init__(self, inner: int, config: SimpleNamespace) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, inner: Tensor, hidden: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(inner)) + hidden)
        return out


@dataclass(frozen=True)
class BertTokenizer:
    """As much of Transformers' BertTokenizer as is used here."""

    backend_tokenizer: Any
    config: dict[str, Any]
    unk_token_id: int | None
    pad_token_id: int | None
    mask_token_id: int | None

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        self.backend_tokenizer.save(str(Path(folder, "tokenizer.json")))
        write_json(Path(folder, "tokenizer_config.json"), self.config)


def _tokenizer(folder: Path) -> BertTokenizer | None:
    """None where Transformers would make another tokenizer of these files: it heeds the settings beside them more."""
    from tokenizers import Tokenizer

    if (folder / "added_tokens.json").exists():
        return None
    config = read_json(folder / "tokenizer_config.json")
    special = folder / "special_tokens_map.json"
    told = [*config.items(), *(read_json(special).items() if special.is_file() else ())]
    added = [token["content"] for token in config.get("added_tokens_decoder", {}).values()]
    file = read_json(folder / "tokenizer.json")
    added += [token["content"] for token in file["added_tokens"]]
    model = file["model"]
    if (
        config["tokenizer_class"] not in ("BertTokenizer", "BertTokenizerFast")
        or any(key in SPECIAL and _content(value) != SPECIAL[key] for key, value in told)
        or any(key in ("additional_special_tokens", "extra_special_tokens") and value for key, value in told)
        or set(added) != set(SPECIAL.values())
        or file["normalizer"]
        != {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
            "strip_accents": config.get("strip_accents"),
            "lowercase": config.get("do_lower_case", True),
        }
        or file["pre_tokenizer"] != {"type": "BertPreTokenizer"}
        or [
            model[key]
            for key in ("type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word")
        ]
        != ["WordPiece", "[UNK]", "##", 100]
    ):
        return None
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    unknown, padding, mask = (backend.token_to_id(SPECIAL[f"{n}_token"]) for n in ("unk", "pad", "mask"))
    return BertTokenizer(backend, config, unknown, padding, mask)


def _content(token: Any) -> Any:
    return token.get("content") if isinstance(token, dict) else token
