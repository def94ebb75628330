"""Texts cut into words: where the cuts fall, in many languages, and that nothing is lost on the way."""

from __future__ import annotations

import re
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaudit.data.document import Document
from exaudit.data.words import cut_like, split_words
from exaudit.errors import SettingError


def cut(text: str) -> str:
    return "|".join(split_words(text)[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("An amazing film.", "An|amazing|film|."),
        ("Hopeless.<br />Really!", "Hopeless|.|Really|!"),
        ('<p class="x">So <b>good</b></p><!-- no -->', "So|good"),
        ("a < b > c, <3 and <NAME>", "a|<|b|>|c|,|<3|and|<NAME>"),
        ("R&amp;B &quot;live&quot; &nosuch; AT&T", "R|B|live|&|nosuch|;|AT|&|T"),
        ("caf&eacute; don&#39;t &#39;so&#39;", "caf&eacute;|don&#39;t|so"),
        ("don't re-read e-mail, rock'n'roll", "don't|re-read|e-mail|,|rock'n'roll"),
        ("'quoted' dogs' well-- known", "'|quoted|'|dogs|'|well|--|known"),
        ("3.5 of 1,000 at 10:30: 10/10!!!", "3.5|of|1,000|at|10:30|:|10/10|!!!"),
        ("the U.S. and e.g. this. End.Next", "the|U.S.|and|e.g.|this|.|End|.|Next"),
        ("(see http://a.org/b?c=1, www.x.de.)", "(|see|http://a.org/b?c=1|,|www.x.de|.|)"),
        ("ask me@x.org, @bob or #fun... :-) :(", "ask|me@x.org|,|@bob|or|#fun|...|:-)|:("),
        ("good😀👍🏽👩‍👩‍👧🇩🇪", "good|😀|👍🏽|👩‍👩‍👧|🇩🇪"),
        ("snake_case C++ x²", "snake_case|C|++|x²"),
        ("Donaudampfschifffahrt, Straßen-Café", "Donaudampfschifffahrt|,|Straßen-Café"),
        ("Bois de l'eau, aujourd’hui !", "Bois|de|l'eau|,|aujourd’hui|!"),
        ("cafe\u0301s", "cafe\u0301s"),
        ("الفيلم رائع جداً، أنصح به!", "الفيلم|رائع|جداً|،|أنصح|به|!"),
        ("می‌خواهم ببینم", "می‌خواهم|ببینم"),
        ('הסרט מצוין! צה"ל', 'הסרט|מצוין|!|צה"ל'),
        ("यह किताब अच्छी है।", "यह|किताब|अच्छी|है|।"),
        ("영화가 재미있었어요!", "영화가|재미있었어요|!"),
        ("这部电影非常精彩，我很喜欢。", "这|部|电影|非常|精彩|，|我|很|喜欢|。"),
        ("這部電影非常精彩，我很喜歡。", "這|部|電影|非常|精彩|，|我|很|喜歡|。"),
        ("この映画は本当に素晴らしかったです。", "この|映画は|本当に|素晴らしかったです|。"),
        ("หนังเรื่องนี้สนุกมาก", "หนัง|เรื่อง|นี้|สนุก|มาก"),
        ("AI技术v2很好", "AI|技术|v2|很|好"),
        ("a\u200bb\ufeff c\x1cd", "a|b|c|d"),
    ],
)
def test_where_the_cuts_fall(text: str, words: str) -> None:
    assert cut(text) == words


@pytest.mark.parametrize("text", ["ສະບາຍດີ", "ကောင်းတယ်", "ភាពយន្ត"])
def test_scripts_without_a_dictionary_are_cut_into_letters_with_their_marks(text: str) -> None:
    words, _ = split_words(text)
    assert len(words) > 1
    assert "".join(words) == text
    assert not any(category(word[0]).startswith("M") for word in words)


def test_a_text_of_tags_alone_has_words_all_the_same() -> None:
    assert cut("<br /> <hr>") == "<br|/>|<hr>"
    assert split_words("  \n") == ((), ())


def test_the_old_way_is_kept() -> None:
    text = "Hopeless.<br /> Don't\tgo."
    assert split_words(text, "whitespace") == (tuple(text.split()), (0, 13, 16, 22))
    with pytest.raises(SettingError, match="`tokens` is words or whitespace, not 'letters'"):
        split_words(text, "letters")


PARTS = st.sampled_from(
    [
        *"aZ'-.,<>/&;#@:!3_éß电影のーカห้ລាកعא\"한कि😀🇩\U00020000",
        *"\u0301\u200d\ufe0f\u0600\x00\x1c\u200b\u00a0",
        *("<br/>", "&amp;", "&eacute;", "http://", "www.", "U.S.", "หนัง"),
    ]
)


@given(st.lists(st.one_of(PARTS, st.characters(), st.just(" ")), max_size=40).map("".join))
def test_nothing_is_lost_but_blanks_and_html(text: str) -> None:
    document = Document.from_text(text)
    end, left_out = 0, []
    for token, (start, stop) in zip(document.tokens, document.spans(), strict=True):
        assert text[start:stop] == token
        assert not re.search(r"\s", token)
        left_out.append(text[end:start])
        end = stop
    left_out.append(text[end:])
    for part in left_out:
        assert re.fullmatch(
            r"(?:[\s\u200b\ufeff]|</?br\s*/?>|<[a-z]>|</[a-z]>|&#?\w+;)*", part, re.IGNORECASE
        )
    assert bool(document.tokens) == bool(text.split())


@given(st.text(max_size=30))
def test_cutting_again_gives_the_same_document(text: str) -> None:
    document = Document.from_text(text, id="1", label="x")
    old = document.recut("whitespace")
    assert (old.tokens, old.cut) == (tuple(text.split()), "whitespace")
    assert old.recut("words") == document


def test_tokens_that_came_with_a_document_stay() -> None:
    labelled = Document.from_text("So good.", token_labels=("0", "1"))
    given_ = Document.from_tokens(["So", "good."])
    assert labelled.recut("words").tokens == given_.recut("words").tokens == ("So", "good.")
    assert labelled.without_token_labels().recut("words").tokens == ("So", "good.")


def test_places_are_right_behind_tags_that_look_like_words() -> None:
    document = Document.from_text("<b>b</b> &amp; amp")
    assert document.tokens == ("b", "amp")
    assert document.spans() == [(3, 4), (15, 18)]


@pytest.mark.parametrize(
    ("tokens", "how"),
    [
        (["It", "was", "amazing,", "really.", "I", "laughed", "!"], "whitespace"),
        (["It", "was", "amazing", ",", "really", ".", "I", "laughed."], "words"),
        (["no", "marks", "at", "all"], "words"),
        (["don't", "e-mail", "U.S.", "3.5"], "words"),  # marks within words tell nothing
        (["这部电影", "非常精彩"], "words"),  # cut further, but not for a mark
        ([], "words"),
    ],
)
def test_a_text_is_cut_like_tokens_at_hand(tokens: list[str], how: str) -> None:
    assert cut_like(tokens) == how
