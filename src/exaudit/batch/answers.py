"""Answers on their way into a file: a line of JSON for each document, or Parquet with the same fields as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

from exaudit._escape import json_text
from exaudit._files import to_json
from exaudit.audit.audited import Rule
from exaudit.data.labels import LabelSet
from exaudit.errors import SettingError

__all__ = ["Format", "Write", "answers_in", "json_lines", "parquet_rows"]

Format = Literal["jsonl", "parquet"]
Write = Callable[[dict[str, Any]], None]

ROWS = 1000  # answers that are kept until they are written: a row group


@contextmanager
def answers_in(path: Path, format: Format, labels: LabelSet, rule: Rule | None) -> Iterator[Write]:
    """What writes one answer (`to_json` of scores) after another into a new file."""
    if format == "parquet":
        with parquet_rows(path, labels, rule) as write:
            yield write
        return
    with open(path, "w", encoding="utf-8") as file:
        yield json_lines(file)


def json_lines(stream: TextIO) -> Write:
    def write(answer: dict[str, Any]) -> None:
        stream.write(json_text(answer) + "\n")

    return write


@contextmanager
def parquet_rows(path: Path, labels: LabelSet, rule: Rule | None) -> Iterator[Write]:
    """The columns depend on the model and the rule alone, so that the shards of a corpus are one table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(labels, rule)
    rows: list[dict[str, Any]] = []

    def flush() -> None:
        try:
            file.write_table(pa.Table.from_pylist(rows, schema))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise SettingError(
                f"the answers do not fit into columns of one type each ({str(error).splitlines()[0]}); write JSONL"
            ) from None
        rows.clear()

    def write(answer: dict[str, Any]) -> None:
        to_json(answer)  # which refuses figures that are none
        rows.append(answer if rule is None else {"verified": True, **answer})
        if len(rows) >= ROWS:
            flush()

    with pq.ParquetWriter(path, schema) as file:
        yield write
        if rows:
            flush()


def _schema(labels: LabelSet, rule: Rule | None) -> Any:
    """The fields of `to_json`, one by one: what is null in a whole shard has its type all the same."""
    import pyarrow as pa

    if len({type(value) for value in labels.values}) > 1:
        raise SettingError(
            f"the labels {', '.join(map(repr, labels.values))} are of several types, and a column has one; write JSONL"
        )
    binary, text, whole, number = labels.kind == "binary", pa.string(), pa.int64(), pa.float64()
    value = pa.array(list(labels.values)).type
    decided = pa.list_(value) if labels.kind == "multilabel" else value
    scores = pa.struct([(name, number) for name in labels.names])
    token = {"text": text, "start": whole, "end": whole, "score": number, "scores": scores}
    token |= {"label": whole, "evidence": text} if binary else {"label": decided}
    if rule == "knn":
        token["knn"] = number if binary else scores
    if rule is not None:
        exemplar = {"id": text, "position": whole, "token": text, "distance": number}
        if binary:
            exemplar |= {"score": number, "prediction": whole, "label": text, "token_label": whole}
        else:
            exemplar |= {"scores": scores, "prediction": decided, "label": decided}
            exemplar |= {"token_label": pa.list_(value)}
        token["exemplar"] = pa.struct(list(exemplar.items()))
    columns = {"id": text, "label": decided, "score": number, "scores": scores}
    columns |= {"tokens": pa.list_(pa.struct(list(token.items())))}
    return pa.schema(list((columns if rule is None else columns | {"verified": pa.bool_()}).items()))
