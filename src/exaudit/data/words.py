"""A text is cut into words: punctuation stands by itself, and scripts without spaces are cut as their readers would.

    split_words("Hopeless.<br />Don't!")        # words Hopeless . Don't !, starting at 0, 8, 15, 20

Nothing of a text is lost but white space, HTML tags and HTML entities; `text[start:start + len(word)] == word`, always.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING
from unicodedata import category

import regex

from exaudit.errors import SettingError

if TYPE_CHECKING:
    from budoux import Parser

__all__ = ["CUTS", "check_cut", "cut_like", "split_words"]

CUTS = ("words", "whitespace")

_ELEMENTS = (
    "a|abbr|acronym|address|article|aside|audio|b|big|blockquote|body|br|button|canvas|caption|center|cite|code|col|dd|"
    "del|details|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|"
    "input|ins|kbd|label|legend|li|link|main|mark|meta|nav|noscript|object|ol|option|p|param|picture|pre|q|s|samp|script|"
    "section|select|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|textarea|tfoot|th|thead|"
    "time|title|tr|tt|u|ul|var|video|wbr"
)
_TAG = re.compile(
    rf"<!--[^<>]*+(?<=--)>|<!doctype[^<>]*+>|</?(?:{_ELEMENTS})(?:\s*+/?|\s[^<>=]*+=[^<>]*+)>", re.IGNORECASE
)
_ENTITY = re.compile(r"&(?:[a-z][a-z0-9]{1,31}|#[0-9]{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)

_BLANK = r"\s\x1c-\x1f\u200b\ufeff"  # what str.split takes for white space, and spaces of no width
_EAST = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70"
_THAI = r"\p{Thai}"
_OTHER = r"\p{Lao}\p{Khmer}\p{Myanmar}"
_MARKS = r"[\p{M}\u00ad\u200c\u200d]*+"
_LETTERS = rf"(?:[[\p{{L}}\p{{N}}_]--[{_EAST}{_THAI}{_OTHER}]]{_MARKS})++"
_PICTURE = r"\p{Extended_Pictographic}[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*+"

_WORD = regex.compile(
    rf"""
    [a-zA-Z]++(?=[{_BLANK}]|\Z)                                      # most words: nothing else need be tried
  | (?:https?://|ftp://|www\.)[!\#-;=?-~]+(?<![.,;:!?'()\[\]{{}}])   # an address
  | [\w.+-]{{1,64}}+@[\w-]++(?:\.[\w-]++)++                          # a mail address
  | [@\#]\w++                                                        # @name, #tag
  | <\w{{1,40}}>                                                     # a placeholder, such as <NAME>
  | (?<!\w)[:;=][-^']?[()\[\]DPp/\\|*]++(?!\w) | <3(?!\d)            # :-)
  | (?:\p{{L}}\.){{2,}}+(?:\p{{L}}(?!\p{{L}}))?                      # U.S.
  | (?:\p{{Nd}}++(?:[.,:/]\p{{Nd}}++)++(?:{_LETTERS})?+|{_LETTERS})  # 3.5, don't, e-mail
    (?:(?:['’ʼ·‐‑-]|(?<=\p{{Hebrew}})["״׳](?=\p{{Hebrew}})){_LETTERS})*+
  | (?P<east>(?:[{_EAST}]{_MARKS})++)
  | (?P<thai>(?:[{_THAI}]{_MARKS})++)
  | [{_OTHER}]{_MARKS}
  | \p{{Regional_Indicator}}{{2}} | {_PICTURE}(?:\u200d{_PICTURE})*+ # a flag, a picture
  | (?P<sign>[\p{{P}}=+~^$|<>])(?P=sign)++                           # ..., !!!
  | [^{_BLANK}]{_MARKS}
    """,
    regex.VERBOSE | regex.VERSION1,
)
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_HAN = regex.compile(r"\p{Han}")


def check_cut(how: str) -> None:
    if how not in CUTS:
        raise SettingError(f"`tokens` is words or whitespace, not {how!r}")


def split_words(text: str, how: str = "words") -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The words of a text, and the characters at which they start.

    how : "words", or "whitespace" for what stands between white space. A text of nothing but tags is cut at white
        space in any case, so that every text that is not blank has a word.
    """
    check_cut(how)
    spans = _spans(text) if how == "words" else []
    if not spans:
        spans = [match.span() for match in re.finditer(r"\S+", text)]
    return tuple(text[start:end] for start, end in spans), tuple(start for start, _ in spans)


def cut_like(tokens: Iterable[str]) -> str:
    """How a text is cut into tokens like these: at "whitespace" where punctuation sticks to words ("amazing.") more
    often than it stands alone, else into "words"."""
    stuck = alone = 0
    for token, count in Counter(tokens).items():
        pieces, _ = split_words(token)
        marks = [piece for piece in pieces if not any(map(str.isalnum, piece))]
        if len(marks) == len(pieces):
            alone += count
        elif marks:
            stuck += count
    return "whitespace" if stuck > alone else "words"


def _spans(text: str) -> list[tuple[int, int]]:
    plain, language = _without_html(text), ""
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(plain):
        start, end = match.span()
        if match.lastgroup == "east" and end - start > 1:
            language = language or _language(plain)
            pieces = _parser(language).parse(match[0])
        elif match.lastgroup == "thai":
            pieces = _parser("thai").parse(match[0])
        else:
            spans.append((start, end))
            continue
        for piece in pieces:
            end = start + len(piece)
            if category(piece[0]).startswith("M") and start > match.start():  # a mark stays with its letter
                start = spans.pop()[0]
            spans.append((start, end))
            start = end
    return spans


def _without_html(text: str) -> str:
    """The text with blanks in place of tags and entities, as long as it was. An entity inside a word stays."""
    if "<" in text:
        text = _TAG.sub(lambda match: " " * len(match[0]), text)
    return _ENTITY.sub(_instead, text) if "&" in text else text


def _instead(entity: re.Match[str]) -> str:
    """Letters in place of an entity that is one, or an apostrophe within a word, as in caf&eacute; and don&#39;t."""
    if entity[0][1] != "#" and entity[0][1:] not in html5:
        return entity[0]
    sign, (start, end) = unescape(entity[0]), entity.span()
    inside = start > 0 and entity.string[start - 1].isalpha() and entity.string[end : end + 1].isalpha()
    return ("x" if sign.isalpha() or (sign in "'’" and inside) else " ") * (end - start)


def _language(text: str) -> str:
    """Whose words a text in Chinese characters is made of: Japanese has kana between them."""
    han = "".join(_HAN.findall(text))
    if 10 * len(_KANA.findall(text)) >= len(han):
        return "japanese"
    # The older national standards tell the two ways of writing Chinese apart: each lacks the other's characters.
    traditional, simplified = (len(han.encode(code, "ignore")) for code in ("big5", "gb2312"))
    return "traditional_chinese" if traditional > simplified else "simplified_chinese"


@cache
def _parser(language: str) -> Parser:
    import budoux

    parser: Parser = getattr(budoux, f"load_default_{language}_parser")()
    return parser
