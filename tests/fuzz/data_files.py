"""Files of documents, drawn at random: every format that is read, well made or not, and damaged afterwards or not."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

__all__ = ["content", "write_data"]

WORDS = (
    "a",
    "the",
    "was",
    "film",
    "great",
    "awful",
    "dull",
    "lovely",
    "plot",
    ",",
    ".",
    "!",
    "and",
    "not",
    "very",
    "it",
)
TEXTS = (
    "", " ", "\t", ".", "0", "nan", "1 good", "{", '"', "'", '"a" "b"', "a\x00b", "a\x1b[31mb", "\u202eevil\u202c",
    "e\u0301\u0301\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "<br/>great<br/>", "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0", "这部电影很好看", "これは良い映画です", "หนังเรื่องนี้ดีมาก", "\ufeffgreat", "a\u2028b", "a\rb",
    "line\nbreak", "\u00a0", "\u200b", "x" * 3000, "great " * 700, "[bold]great[/bold]", "\\", "ß İ ŉ", "\ufffd",
    "\x85",
)  # fmt: skip
LABELS = (
    "", " ", "nan", "None", "N/A", "NULL", "1.0", "0.0", "-1", "1e400", "POSITIVE", " positive ", "positive|negative",
    "pos,neg", "\u202e", "x" * 500, "=1+1", "other", "third", "0", "1", "true", "\n", "\udcff", "B-positive", "O", "[]",
)  # fmt: skip
VALUES = (
    None,
    0,
    1,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    10**30,
    True,
    [],
    {},
    [[]],
    ["a", None],
    {"a": [1]},
    "x",
)
NAMES = (
    "text",
    "label",
    "id",
    "tokens",
    "token_labels",
    "labels",
    "line",
    "",
    "TEXT",
    " text ",
    "sentence",
    "é",
    "\0",
)
ENDINGS = {
    "csv": (".csv", ".csv", ".txt"), "tsv": (".tsv", ".tab", ".txt"), "jsonl": (".jsonl", ".ndjson", ".json", ""),
    "conll": (".conll", ".txt", ".tsv"), "lines": (".txt", ""), "text": (".txt", ""), "parquet": (".parquet", ".pq"),
    "excel": (".xlsx", ".xlsm"), "arrow": (".arrow", ".feather"), "noise": (".csv", ".jsonl", ".parquet", ".xlsx", ""),
}  # fmt: skip
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-7", "cp037")
MAGIC = (
    b"PK\x03\x04",
    b"PAR1",
    b"ARROW1",
    b"\x1f\x8b",
    b"BZh91AY&SY",
    b"\xfd7zXZ\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
)
SPLINTERS = (
    b"\0",
    b"\xff",
    b"\r",
    b"\n\n",
    b'"',
    b'\\ud800"',
    b"\x80abc",
    b"\t",
    b"NaN",
    b"[" * 20_000,
    b"{}",
    b"\xed\xa0\x80",
)

Row = dict[str, Any]


def write_data(rng: random.Random, folder: Path, name: str, odd: float, *, plain: bool = False) -> Path:
    """A file of documents; `odd` is the share of what is not as it should be. A plain one has all that verbs need."""
    if plain:
        kind = rng.choice(["csv", "tsv", "jsonl"])
        path = folder / f"{name}.{kind}"
        path.write_text(PLAIN[kind]([_row(rng, n, 0) for n in range(16)]))
        return path
    kind = rng.choice(list(ENDINGS))
    ending = rng.choice(ENDINGS[kind])
    data = content(rng, kind, odd)
    if rng.random() < odd / 4:
        ending = rng.choice(
            [".csv", ".jsonl", ".parquet", ".xlsx", ".arrow", ".conll", ".gz", ".xls", ".pdf", "."]
        )
    if rng.random() < odd / 4:
        pack, suffix = rng.choice([(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")])
        data, ending = pack(data), ending + suffix
    if rng.random() < odd / 2:
        data = damaged(rng, data)
    path = folder / f"{name}{ending}"
    path.write_bytes(data)
    return path


def content(rng: random.Random, kind: str, odd: float) -> bytes:
    """The bytes of a file of one kind."""
    if kind == "noise":
        return rng.choice([b"", *MAGIC]) + rng.randbytes(rng.choice((0, 1, 50, 5000)))
    rows = [
        _row(rng, n, odd) for n in range(rng.choice((0, 1, 2, 8, 8, 20) if rng.random() < odd else (8, 12)))
    ]
    if kind in BINARY:
        return BINARY[kind](rows)
    text = TEXT[kind](rng, rows)
    encoding = rng.choice(ENCODINGS) if rng.random() < odd / 4 else "utf-8"
    return text.encode(encoding, errors="surrogateescape" if encoding == "utf-8" else "replace")


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The same with something flipped, cut out, doubled or put in."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        at, size = rng.randrange(len(found) + 1), rng.choice((1, 8, 100))
        how = rng.randrange(6)
        if how == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del found[at:]
        elif how == 2:
            del found[at : at + size]
        elif how == 3:
            found[at:at] = found[at : at + size] * 2
        elif how == 4:
            found[at:at] = rng.choice(SPLINTERS)
        else:
            found[at : at + size] = bytes(len(found[at : at + size]))
    return bytes(found)


def _row(rng: random.Random, number: int, odd: float) -> Row:
    text = rng.choice(TEXTS) if rng.random() < odd / 6 else " ".join(rng.choices(WORDS, k=rng.randint(1, 9)))
    label = rng.choice(LABELS) if rng.random() < odd / 6 else rng.choice(["negative", "positive"])
    return {
        "id": f"d{number}" if rng.random() > odd / 20 else rng.choice(["d0", "", " "]),
        "text": text,
        "label": label,
    }


# Files of text


def _table(rng: random.Random, rows: list[Row], delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=rng.choice(["\n", "\n", "\r\n"]))
    names = ["id", "text", "label"] if rng.random() < 0.8 else rng.choices(NAMES, k=rng.randint(1, 5))
    if rng.random() < 0.9:
        writer.writerow(names)
    for row in rows:
        cells = [row.get(name, "x") for name in names]
        writer.writerow(cells[: rng.randint(0, 3)] if rng.random() < 0.02 else cells)
    return out.getvalue()


def _jsonl(rng: random.Random, rows: list[Row]) -> str:
    def line(row: Row) -> str:
        if rng.random() < 0.05:
            row = row | {rng.choice(NAMES): rng.choice(VALUES)}
        if rng.random() < 0.1:
            words = str(row["text"]).split()
            row = row | {"tokens": words, "token_labels": [rng.choice((*LABELS, 0, 1)) for _ in words]}
        return (
            json.dumps(row, ensure_ascii=rng.random() < 0.5)
            if rng.random() > 0.02
            else repr(rng.choice(VALUES))
        )

    return "".join(line(row) + "\n" for row in rows)


def _conll(rng: random.Random, rows: list[Row]) -> str:
    tags = (
        ["0", "1"] if rng.random() < 0.6 else ["O", "B-positive", "I-positive", "negative", "", "_", "a\tb"]
    )
    return "\n".join("".join(f"{w}\t{rng.choice(tags)}\n" for w in row["text"].split(" ")) for row in rows)


def _lines(rng: random.Random, rows: list[Row]) -> str:
    return "".join(f"{rng.choice('0101012 -')} {row['text']}\n" for row in rows)


def _plain(rng: random.Random, rows: list[Row]) -> str:
    return "".join(row["text"] + rng.choice(["\n", "\n", "\r\n"]) for row in rows)


TEXT: dict[str, Callable[[random.Random, list[Row]], str]] = {
    "csv": lambda rng, rows: _table(rng, rows, rng.choice(",,;|")),
    "tsv": lambda rng, rows: _table(rng, rows, "\t"),
    "jsonl": _jsonl, "conll": _conll, "lines": _lines, "text": _plain,
}  # fmt: skip


def _plain_table(rows: list[Row], delimiter: str) -> str:
    lines = ["id", "text", "label"], *(row.values() for row in rows)
    return "".join(delimiter.join(f'"{cell}"' for cell in line) + "\n" for line in lines)


PLAIN: dict[str, Callable[[list[Row]], str]] = {
    "csv": lambda rows: _plain_table(rows, ","), "tsv": lambda rows: _plain_table(rows, "\t"),
    "jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows),
}  # fmt: skip


# Files of other kinds


def _arrow_table(rows: list[Row]) -> Any:
    """A table whose columns have a kind that follows from what is in it."""
    import pyarrow as pa

    clean = [
        {name: str(value).encode(errors="replace").decode() for name, value in row.items()} for row in rows
    ]
    table = pa.Table.from_pylist(
        clean, schema=pa.schema([(name, pa.string()) for name in ("id", "text", "label")])
    )
    kinds: list[Any] = [
        None,
        lambda column: column.dictionary_encode(),
        lambda column: pa.array([n % 2 for n in range(len(column))]),
        lambda column: pa.array([float(n % 2) if n else float("nan") for n in range(len(column))]),
        lambda column: pa.array([[str(cell)] for cell in column]),
        lambda column: pa.nulls(len(column)),
        lambda column: pa.array([date(2024, 1, 1)] * len(column)),
        lambda column: pa.array([str(cell).encode() for cell in column]),
        lambda column: pa.array([{"a": n} for n in range(len(column))]),
    ]
    size = sum(map(len, (row["text"] for row in rows)))
    if change := kinds[size % (3 * len(kinds))] if size % (3 * len(kinds)) < len(kinds) else None:
        at = size % 3
        table = table.set_column(at, table.column_names[at], change(table.column(at)))
    return table


def _parquet(rows: list[Row]) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(_arrow_table(rows), out)
    return out.getvalue()


def _arrow(rows: list[Row]) -> bytes:
    import pyarrow as pa

    out, table = io.BytesIO(), _arrow_table(rows)
    new = pa.ipc.new_file if len(rows) % 2 else pa.ipc.new_stream
    with new(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _excel(rows: list[Row]) -> bytes:
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book, out = Workbook(), io.BytesIO()
    sheet = book.active
    sheet.append(["id", "text", "label"])
    for row in rows:
        try:
            sheet.append([str(cell).encode(errors="replace").decode() for cell in row.values()])
        except IllegalCharacterError:
            sheet.append([len(rows), 1.5, None])
    book.save(out)
    return out.getvalue()


BINARY: dict[str, Callable[[list[Row]], bytes]] = {"parquet": _parquet, "arrow": _arrow, "excel": _excel}
