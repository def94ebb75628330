"""Named fields become a document: `id`, `text` or `tokens`, `label`, `token_labels`; the rest is metadata.

For lines of JSON, and for tables with typed columns (Parquet, Arrow, data frames), whose cells may be lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from exaudit.data.columns import (
    ID_NAMES,
    LABEL_NAMES,
    TEXT_NAMES,
    find_column,
    listed,
)
from exaudit.data.document import Document, Label
from exaudit.data.notes import NO_WORDS, Notes
from exaudit.data.spelling import label_name, label_names, number_name, split_names
from exaudit.errors import DataError

__all__ = ["FieldError", "Record", "read_records"]

Record = tuple[int, dict[str, Any]]  # its line or row, and its fields

TOKEN_LABEL_NAMES = ("token_labels", "ner_tags")
WIDEST_GAP = 1_000_000  # characters between two tokens; more is a wrong offset


class FieldError(Exception):
    """What is wrong in a record: what, detail, advice."""


class _Roles(NamedTuple):
    """The names of the fields; None: there is no such field."""

    text: str | None
    label: str | None
    id: str | None
    tokens: str | None
    token_labels: str | None


def read_records(
    records: Iterator[Record],
    notes: Notes,
    *,
    word: str = "field",
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    need_labels: bool = False,
    label_separator: str | None = None,
) -> Iterator[Document]:
    """Documents of records; also of what `exaudit label` writes, where tokens are objects with offsets.

    word : what a field is called in messages. Where it is "column" all records have the same ones, so that a column
    that is missing is the end.
    """
    names: tuple[str, ...] | None = None  # of the record before, which mostly has the same
    for number, (line, fields) in enumerate(records, start=1):
        try:
            if names != tuple(fields):
                found = tuple(fields)
                roles = _find_roles(found, word, text_column, label_column, id_column, need_labels)
                names = found
                notes.columns |= {
                    role: name for role, name in zip(_Roles._fields[:3], roles, strict=False) if name
                }
        except FieldError as problem:
            what, detail, advice = problem.args
            if word == "column":
                raise DataError(f"{what}; {detail}; {advice}", notes.path) from None
            notes.error(what, line, detail=detail, advice=advice)
            continue
        try:
            document = _document(fields, roles, number, line, label_separator)
        except FieldError as problem:
            what, detail, advice = problem.args
            notes.error(what, line, detail=detail, advice=advice)
            continue
        if not document.tokens:
            notes.warn(NO_WORDS, line)
            continue
        yield document


def _find_roles(
    names: Sequence[str],
    word: str,
    text_column: str | None,
    label_column: str | None,
    id_column: str | None,
    need_labels: bool,
) -> _Roles:
    found = f"{word}s found: {listed(names)}"

    def name_of(wanted: str | None, usual: Sequence[str], option: str) -> str | None:
        place = find_column(names, wanted, usual)
        if place is None and wanted:
            raise FieldError(f"no {word} {wanted!r}", found, f"name one with {option}")
        return None if place is None else names[place]

    text = name_of(text_column, TEXT_NAMES, "`text_column`")
    label = name_of(label_column, LABEL_NAMES, "`label_column`")
    id_ = None if id_column == "" else name_of(id_column, ID_NAMES, "`id_column`")
    tokens = "tokens" if "tokens" in names else None
    token_labels = next((name for name in TOKEN_LABEL_NAMES if name in names), None)
    if text is None and tokens is None:
        raise FieldError(
            "a document has neither text nor tokens", found, f"name the {word} of the text with `text_column`"
        )
    if need_labels and word == "column" and label is None and token_labels is None and tokens is None:
        raise FieldError("a document has no label", found, f"add one, or name its {word} with `label_column`")
    given = [name for name in (text, label, id_) if name is not None]
    if len(set(given)) < len(given):
        raise FieldError(f"text, label and id must be different {word}s", found, "name others")
    return _Roles(text, label, id_, tokens, token_labels)


def _document(
    fields: dict[str, Any], roles: _Roles, number: int, line: int, separator: str | None
) -> Document:
    text = None if roles.text is None else fields[roles.text]
    if text is not None and not isinstance(text, str):
        raise FieldError("the text is not a string", f"found {_shown(text)}", "give strings")
    given = None if roles.tokens is None else fields[roles.tokens]
    if text is not None and not isinstance(given, list):
        given = None  # `tokens` is something else, such as their number
    used = {*roles} if given is not None else {*roles} - {roles.tokens}
    meta = {name: _meta(value) for name, value in fields.items() if name not in used and value is not None}
    id_ = None if roles.id is None else _name(fields[roles.id], roles.id)
    label = None if roles.label is None else _label(fields[roles.label], roles.label, separator)
    starts: tuple[int, ...] | None = None
    labels: list[Label] | None = None
    if given is None:
        text = text or ""
        tokens = text.split()
    else:
        tokens, starts, labels = _tokens(given, separator)
        text, starts = _fit(tokens, starts, text)
    if roles.token_labels is not None and fields[roles.token_labels] is not None:
        labels = _token_labels(fields[roles.token_labels], separator)
    if given is None and labels is None:
        return Document.from_text(
            text, id=id_ or str(number), label=label, meta=meta, line=line, cut="whitespace"
        )
    if labels is not None and len(labels) != len(tokens):
        raise FieldError(
            "the token labels do not fit the tokens",
            f"{len(labels)} labels for {len(tokens)} tokens",
            "give one label per token (beside a text without tokens: per word between white space)",
        )
    token_labels = None if labels is None else tuple(labels)
    return Document(id_ or str(number), text, tuple(tokens), label, token_labels, meta, line, starts)


def _label(value: Any, name: str, separator: str | None) -> Label | None:
    """The label of a document, or all those of a list, or of a string that a separator divides."""
    if isinstance(value, str):
        return label_name(value) if separator is None else label_names(value, separator)
    if isinstance(value, list):
        return _several([label_name(one) if isinstance(one, str) else one for one in value], name)
    one = _name(value, name)
    return one if one is None or separator is None else (one,)


def _token_label(value: Any, separator: str | None) -> Label | None:
    """The label of a token as it is written: there, none is a label like O."""
    if separator is not None and isinstance(value, str) and separator in value:
        return split_names(value, separator)
    return _several(value, "token_labels") if isinstance(value, list) else _name(value, "token_labels")


def _several(values: list[Any], name: str) -> tuple[str, ...]:
    names = [_name(one, name) for one in values]
    if None in names:
        raise FieldError(f"a list in {name!r} has an empty label", f"found {_shown(values)}", "leave it out")
    return tuple(dict.fromkeys(str(one) for one in names))


def _name(value: Any, name: str) -> str | None:
    """Labels and ids as strings: 1 and 1.0 (as data frames write it) are "1", true is "true"; null, NaN and "" None."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return number_name(value)
    raise FieldError(
        f"the field {name!r} is not a name or a number", f"found {_shown(value)}", "give one value"
    )


def _meta(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:60]


def _tokens(
    given: Any, separator: str | None
) -> tuple[list[str], tuple[int, ...] | None, list[Label] | None]:
    """Words, where they start, and their labels, of a list of strings or of objects with `text`."""
    items = given if isinstance(given, list) else [given]
    objects = [item if isinstance(item, dict) else {"text": item} for item in items]
    tokens = [item.get("text") for item in objects]
    for token in tokens:
        if not isinstance(token, str) or not token.strip() or not isinstance(given, list):
            raise FieldError(
                "`tokens` is not a list of words",
                f"found {_shown(token if isinstance(given, list) else given)}",
                'give strings, or objects with "text"',
            )
    words = [str(token) for token in tokens]
    labels = [_decided(item) for item in objects]
    starts = [item.get("start") for item in objects]
    known = any(start is not None for start in starts)
    for word, item in zip(words, objects, strict=True):
        start, end = item.get("start"), item.get("end")
        wrong = type(start) is not int or start < 0 or (end is not None and end != start + len(word))
        if known and wrong:
            raise FieldError(
                "the offsets of a token are wrong",
                f"{word!r} from {start!r} to {end!r}",
                "give every token `start` and `end` in characters, or none",
            )
    return (
        words,
        tuple(int(start) for start in starts if start is not None) if known else None,
        _token_labels(labels, separator) if any(label is not None for label in labels) else None,
    )


def _decided(token: dict[str, Any]) -> Any:
    """The label of a token. `exaudit label` writes null for a word that is decided for none of the classes."""
    none = "scores" in token and "label" in token and token["label"] is None
    return "O" if none else token.get("label")


def _token_labels(given: Any, separator: str | None) -> list[Label]:
    """One label for each token, or a list of them; a single one of a string stays as it is."""
    labels: list[Label | None] = []
    for value in given if isinstance(given, list) else [None]:
        labels.append(_token_label(value, separator))
    known = [label for label in labels if label is not None]
    if not isinstance(given, list) or len(known) < len(labels):
        raise FieldError(
            "`token_labels` is not a list of labels", f"found {_shown(given)}", "label every token, or none"
        )
    return known


def _fit(
    tokens: list[str], starts: tuple[int, ...] | None, text: str | None
) -> tuple[str, tuple[int, ...] | None]:
    """The text in which the tokens stand, after checking that they do."""
    if text is None:
        return (" ".join(tokens) if starts is None else _spaced(tokens, starts)), starts
    position = 0
    for i, token in enumerate(tokens):
        start = text.find(token, position) if starts is None else starts[i]
        if start < position or not text.startswith(token, start):
            raise FieldError(
                "the tokens do not occur in the text in order",
                f"{token!r} is not there after character {position}",
                "give the tokens as they stand in the text, or leave out `text` or `tokens`",
            )
        position = start + len(token)
    return text, starts


def _spaced(tokens: list[str], starts: tuple[int, ...]) -> str:
    """Tokens put back where they stood in a text that was not written down, so that offsets stay true."""
    parts, end = [], 0
    for token, start in zip(tokens, starts, strict=True):
        if not end <= start <= end + WIDEST_GAP:
            raise FieldError(
                "the offsets of a token are wrong",
                f"{token!r} starts at {start}, after {end}",
                "order the tokens",
            )
        parts += [" " * (start - end), token]
        end = start + len(token)
    return "".join(parts)
