"""How the characters of a text file are written: told by its first bytes, or by the first line that is not UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from exaudit.data.notes import Notes
from exaudit.errors import SettingError

__all__ = ["Decoder", "check_encoding", "wide_encoding"]

MARKS = {  # the longer first: UTF-32's begins like UTF-16's
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# What western European text in cp1252 does not have: four different characters beyond ASCII in a row (Cyrillic, Greek,
# Chinese, ...), or a sign within a word that nobody writes there (Polish, Mac and DOS files, Japanese, ...).
FOREIGN = re.compile(
    r"(?!([^\0-\x7f])\1)[^\0-\x7f]{4}|[A-Za-z][‚ƒ„†‡ˆ‰‹›˜¢£¤¥¦§¨ª¬¯°±²³µ¶¸¹º¼½¾×÷][A-Za-z]|[a-z][ŠŒŽŸ][a-z]"
)


def check_encoding(name: str | None) -> str | None:
    """The name that Python has for an encoding of text."""
    if name is None:
        return None
    try:
        "".encode(name)
        return codecs.lookup(name).name
    except (LookupError, UnicodeError):  # a name that is no text itself, as bytes of a terminal may be
        raise SettingError(
            f"there is no encoding {name!r}; give one such as utf-8, cp1252, utf-16 or shift_jis"
        ) from None


def wide_encoding(start: bytes) -> str | None:
    """UTF-16 or UTF-32, by the mark at the start of a file or else by where its zero bytes are; None: neither."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    if b"\0" not in start:
        return None
    whole = start[: len(start) // 4 * 4]
    zeros = [whole[n::4].count(0) for n in range(4)]
    if 4 * sum(zeros) > 2 * len(whole):
        name = "utf-32-be" if zeros[0] > zeros[3] else "utf-32-le"
    else:
        name = "utf-16-be" if zeros[0] + zeros[2] > zeros[1] + zeros[3] else "utf-16-le"
    try:
        text = codecs.getincrementaldecoder(name)().decode(whole)
    except UnicodeDecodeError:
        return None
    plausible = any(character.isascii() for character in text) and not CONTROL.search(text)
    return name if plausible else None


class Decoder:
    """Decodes line by line. Unless the caller names an encoding it is UTF-8, and where the first line beyond ASCII
    is not, it is cp1252 if that line and what follows it look like it."""

    def __init__(self, encoding: str | None, notes: Notes) -> None:
        self._encoding = encoding or "utf-8"
        self._certain = encoding is not None
        self._notes = notes

    def decode(self, raw: bytes, number: int, following: Callable[[], bytes] = bytes) -> str:
        """A line; `following` gives some bytes after it, to judge by."""
        try:
            text = raw.decode(self._encoding)
        except UnicodeDecodeError as error:
            return self._mend(raw, number, following, error)
        self._certain = self._certain or not raw.isascii()
        return text

    def _mend(
        self, raw: bytes, number: int, following: Callable[[], bytes], error: UnicodeDecodeError
    ) -> str:
        where = f"byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the line"
        if not self._certain and _looks_western(raw + following()):
            self._encoding, self._certain = "cp1252", True
            self._notes.warn(
                "the file is not UTF-8; read as cp1252 (`encoding` names another)", number, where
            )
            return self.decode(raw, number)
        before = raw[max(0, error.start - 20) : error.start].decode(self._encoding, errors="replace")
        self._notes.error(
            f"a line is not {'UTF-8' if self._encoding == 'utf-8' else self._encoding}",
            number,
            detail=f"{where}, after {before!r}",
            advice="name the file's encoding with `encoding`, or save it as UTF-8",
        )
        return raw.decode(self._encoding, errors="replace")


def _looks_western(sample: bytes) -> bool:
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:  # a byte that cp1252 does not define
        return False
    return not FOREIGN.search(text)
