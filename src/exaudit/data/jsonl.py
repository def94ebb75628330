"""JSONL: one JSON object a line, with `id`, `text` or `tokens`, `label`, `token_labels`; the rest is metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from exaudit.data.document import Document
from exaudit.data.notes import Notes
from exaudit.data.records import FieldError, Record, read_records
from exaudit.data.source import Line

__all__ = ["read_jsonl"]


def read_jsonl(lines: Iterator[Line], notes: Notes, **fields: Any) -> Iterator[Document]:
    """Documents of JSON objects, one a line. Takes the options of `read_records`."""
    return read_records(_objects(lines, notes), notes, **fields)


def _objects(lines: Iterator[Line], notes: Notes) -> Iterator[Record]:
    for line, raw in lines:
        if not raw.strip():
            continue
        try:
            yield line, _parse(raw)
        except FieldError as problem:
            what, detail, advice = problem.args
            notes.error(what, line, detail=detail, advice=advice)


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
        raise FieldError("a line is not JSON", end, "write one complete JSON object in each line") from None
    except UnicodeEncodeError:
        raise FieldError(
            "a line holds half of a surrogate pair", "\\ud800 to \\udfff without its partner", "remove it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise FieldError(
            "a line is not JSON", str(error)[:80], "write one complete JSON object in each line"
        ) from None
    if not isinstance(fields, dict):
        raise FieldError(
            "a line is not a JSON object",
            f"found {type(fields).__name__}",
            'write objects such as {"text": "...", "label": "..."}, one in each line',
        )
    return fields
