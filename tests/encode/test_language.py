"""Whether an encoder knows a language, by the share of words that it cannot read, or only spell."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from exaudit.encode.language import note_on_language, unknown_share

LETTERS = ["a", "b", "##a", "##b", "ф", "##ф", "語", "##語"]
LONGER = ["ab", "##ab", "aba", "bab", "##ba", "abba", "baab", "##baa", "##bab"]


def saved(folder: Path, pieces: list[str]) -> Path:
    tokenizer = Tokenizer(
        models.WordPiece({p: n for n, p in enumerate(["[UNK]", *pieces])}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=50)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path, [*LETTERS, *LONGER])


def test_words_with_an_unknown_piece_are_counted(folder: Path) -> None:
    found = unknown_share(folder, [["aba", "a", "!", "3"], ["ж", "aж", "abab", "babж"]])
    assert found == 3 / 6  # of words alone, and neither cut off nor filled up
    assert unknown_share(folder, []) == 0


def test_words_that_are_only_spelled_are_unknown(folder: Path, tmp_path: Path) -> None:
    assert (
        unknown_share(folder, [["фффф", "ффф", "abba", "語語語語"]]) == 1 / 4
    )  # short ones, and characters, may be
    assert unknown_share(saved(tmp_path, LETTERS), [["фффф", "abba"]]) == 0  # an encoder of letters


def test_a_unigram_model_has_its_unknown_piece_by_number(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -1.0)], unk_id=0))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert unknown_share(tmp_path, [["a", "b", "a", "ж"]]) == 1 / 4


def test_a_note_is_for_more_than_a_tenth(folder: Path) -> None:
    assert note_on_language(folder, [["a"] * 9 + ["ж"]]) is None
    note = note_on_language(folder, [["a"] * 5 + ["ж"] * 3])
    assert (
        note
        == "38% of the words of these texts are unknown to the encoder: it was not made for this language"
    )


def test_without_a_tokenizer_or_an_unknown_piece_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert note_on_language(tmp_path, [["ж"]]) is None
    Tokenizer(models.BPE({"a": 0}, [])).save(str(tmp_path / "tokenizer.json"))
    assert note_on_language(tmp_path, [["ж"]]) is None
