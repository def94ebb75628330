"""Whether an encoder knows a language, by the share of unknown word pieces."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from exaudit.encode.language import note_on_language, unknown_share

LETTERS = {"[UNK]": 0, "a": 1, "b": 2, "##a": 3, "##b": 4}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = Tokenizer(models.WordPiece(LETTERS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=50)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_unknown_pieces_are_counted(folder: Path) -> None:
    assert unknown_share(folder, [["aba", "a"], ["ж", "ab", "語"]]) == 2 / 8  # neither cut off nor filled up
    assert unknown_share(folder, []) == 0


def test_a_unigram_model_has_its_unknown_piece_by_number(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -1.0)], unk_id=0))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert unknown_share(tmp_path, [["a", "b", "a", "ж"]]) == 1 / 4


def test_a_note_is_for_a_tenth_and_more(folder: Path) -> None:
    assert note_on_language(folder, [["a"] * 9 + ["ж"]]) is None
    note = note_on_language(folder, [["a"] * 5 + ["ж"] * 3])
    assert note == (
        "38% of the word pieces of these texts are unknown to the encoder: it was not made for this language"
    )


def test_without_a_tokenizer_or_an_unknown_piece_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert note_on_language(tmp_path, [["ж"]]) is None
    Tokenizer(models.BPE({"a": 0}, [])).save(str(tmp_path / "tokenizer.json"))
    assert note_on_language(tmp_path, [["ж"]]) is None
