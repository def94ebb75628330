"""JSONL: one JSON object a line, with `id`, `text` or `tokens`, `label`, `token_labels`; the rest is metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from exaudit.data.columns import ID_NAMES, LABEL_NAMES, TEXT_NAMES, find_column, listed
from exaudit.data.document import Document
from exaudit.data.notes import NO_WORDS, Notes
from exaudit.data.source import Line

__all__ = ["read_jsonl"]

WIDEST_GAP = 1_000_000  # characters between two tokens; more is a wrong offset


class _FieldError(Exception):
    """What is wrong in a line: what, detail, advice."""


def read_jsonl(
    lines: Iterator[Line],
    notes: Notes,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    need_labels: bool = False,
) -> Iterator[Document]:
    """Documents of JSON objects; also of what `exaudit label` writes, where tokens are objects with offsets."""
    number = 0
    for line, raw in lines:
        if not raw.strip():
            continue
        number += 1
        try:
            fields = _parse(raw)
            names = list(fields)
            text = _key(names, text_column, TEXT_NAMES, "--text-column")
            label = _key(names, label_column, LABEL_NAMES, "--label-column")
            id_ = None if id_column == "" else _key(names, id_column, ID_NAMES, "--id-column")
            for role, name in (("text", text), ("label", label), ("id", id_)):
                if name is not None:
                    notes.columns[role] = name
            label_value = None if label is None else _label(fields[label], label)
            if label_value is None and need_labels and not _has_token_labels(fields):
                raise _FieldError(
                    "a document has no label",
                    f"fields found: {listed(names)}",
                    "add a `label`, or name its field with --label-column",
                )
            meta = {
                name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                for name, value in fields.items()
                if name not in {text, label, id_, "tokens", "token_labels"}
            }
            given_id = None if id_ is None else _label(fields[id_], id_)
            document = _document(fields, text, given_id or str(number), label_value, meta, line)
        except _FieldError as problem:
            what, detail, advice = problem.args
            notes.error(what, line, detail=detail, advice=advice)
            continue
        if not document.tokens:
            notes.warn(NO_WORDS, line)
            continue
        if label is not None and label_value is None:
            notes.warn("a document has no label", line)
        yield document


def _parse(raw: str) -> dict[str, Any]:
    try:
        fields = json.loads(raw)
        if "\\u" in raw:
            json.dumps(
                fields, ensure_ascii=False
            ).encode()  # half of a surrogate pair cannot be written as UTF-8
    except json.JSONDecodeError as error:
        end = (
            "it is cut off" if error.pos >= len(raw.rstrip()) else f"{error.msg} at character {error.pos + 1}"
        )
        raise _FieldError("a line is not JSON", end, "write one complete JSON object in each line") from None
    except UnicodeEncodeError:
        raise _FieldError(
            "a line holds half of a surrogate pair", "\\ud800 to \\udfff without its partner", "remove it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise _FieldError(
            "a line is not JSON", str(error)[:80], "write one complete JSON object in each line"
        ) from None
    if not isinstance(fields, dict):
        raise _FieldError(
            "a line is not a JSON object",
            f"found {type(fields).__name__}",
            'write objects such as {"text": "...", "label": "..."}, one in each line',
        )
    return fields


def _has_token_labels(fields: dict[str, Any]) -> bool:
    tokens = fields.get("tokens")
    return fields.get("token_labels") is not None or (
        isinstance(tokens, list) and any(isinstance(token, dict) and "label" in token for token in tokens)
    )


def _key(names: Sequence[str], wanted: str | None, usual: Sequence[str], option: str) -> str | None:
    place = find_column(names, wanted, usual)
    if place is None and wanted:
        raise _FieldError(f"no field {wanted!r}", f"fields found: {listed(names)}", f"name one with {option}")
    return None if place is None else names[place]


def _label(value: Any, name: str) -> str | None:
    """Labels and ids as strings: 1 and 1.0 (as data frames write it) are "1", true is "true", null and "" None."""
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if value == value // 1 and abs(value) < 2**53 else str(value)
    raise _FieldError(
        f"the field {name!r} is not a name or a number", f"found {json.dumps(value)[:60]}", "give one value"
    )


def _document(
    fields: dict[str, Any], text_key: str | None, id: str, label: str | None, meta: dict[str, str], line: int
) -> Document:
    text = None if text_key is None else fields[text_key]
    given = fields.get("tokens")
    if text is None and given is None and text_key is None and "tokens" not in fields:
        raise _FieldError(
            "a document has neither text nor tokens",
            f"fields found: {listed(list(fields))}",
            "name the field of the text with --text-column",
        )
    if text is not None and not isinstance(text, str):
        raise _FieldError("the text is not a string", f"found {json.dumps(text)[:60]}", "give a JSON string")
    starts: tuple[int, ...] | None = None
    labels: list[str] | None = None
    if given is None:
        text = text or ""
        tokens = text.split()
    else:
        tokens, starts, labels = _tokens(given)
        text, starts = _fit(tokens, starts, text)
    if fields.get("token_labels") is not None:
        labels = _token_labels(fields["token_labels"])
    if labels is not None and len(labels) != len(tokens):
        raise _FieldError(
            "the token labels do not fit the tokens",
            f"{len(labels)} labels for {len(tokens)} tokens",
            "give one label per token (text without `tokens` is split at white space)",
        )
    return Document(
        id, text, tuple(tokens), label, None if labels is None else tuple(labels), meta, line, starts
    )


def _tokens(given: Any) -> tuple[list[str], tuple[int, ...] | None, list[str] | None]:
    """Words, where they start, and their labels, of a list of strings or of objects with `text`."""
    items = given if isinstance(given, list) else [given]
    objects = [item if isinstance(item, dict) else {"text": item} for item in items]
    tokens = [item.get("text") for item in objects]
    for token in tokens:
        if not isinstance(token, str) or not token.strip() or not isinstance(given, list):
            raise _FieldError(
                "`tokens` is not a list of words",
                f"found {json.dumps(token if isinstance(given, list) else given)[:60]}",
                'give strings, or objects with "text"',
            )
    words = [str(token) for token in tokens]
    labels = [item.get("label") for item in objects]
    starts = [item.get("start") for item in objects]
    known = any(start is not None for start in starts)
    for word, item in zip(words, objects, strict=True):
        start, end = item.get("start"), item.get("end")
        wrong = type(start) is not int or start < 0 or (end is not None and end != start + len(word))
        if known and wrong:
            raise _FieldError(
                "the offsets of a token are wrong",
                f"{word!r} from {start!r} to {end!r}",
                "give every token `start` and `end` in characters, or none",
            )
    return (
        words,
        tuple(int(start) for start in starts if start is not None) if known else None,
        _token_labels(labels) if any(label is not None for label in labels) else None,
    )


def _token_labels(given: Any) -> list[str]:
    labels = [_label(value, "token_labels") for value in given] if isinstance(given, list) else []
    if not isinstance(given, list) or None in labels:
        raise _FieldError(
            "`token_labels` is not a list of labels",
            f"found {json.dumps(given)[:60]}",
            "label every token, or none",
        )
    return [str(label) for label in labels]


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
            raise _FieldError(
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
            raise _FieldError(
                "the offsets of a token are wrong",
                f"{token!r} starts at {start}, after {end}",
                "order the tokens",
            )
        parts += [" " * (start - end), token]
        end = start + len(token)
    return "".join(parts)
