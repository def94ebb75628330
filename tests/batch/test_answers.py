"""Answers in Parquet: the fields of JSONL, to the last bit, in columns that are the same in every shard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from exaudit.audit import Auditor
from exaudit.audit.audited import Rule
from exaudit.batch import answers
from exaudit.batch.answers import Format, answers_in, parquet_rows
from exaudit.data.labels import LabelSet
from exaudit.data.readers import read_documents
from exaudit.errors import ModelError, SettingError
from exaudit.model.folder import load_model
from exaudit.support.memory import MemorySupportSet
from tiny import cued, reviews, tiny_labeler


@pytest.fixture(scope="module", params=["binary", "multiclass", "multilabel"])
def auditor(request: pytest.FixtureRequest) -> Auditor:
    """With a support set and a fitted K-NN."""
    if request.param == "binary":
        train, dev = reviews(60), reviews(40, seed=1)
    else:
        train, dev = (cued(n, several=request.param == "multilabel", seed=n) for n in (150, 40))
    model = tiny_labeler(epochs=6, learning_rate=5.0, batch_size=5).fit(train, dev=dev).model_
    assert model.labels.kind == request.param
    made = Auditor(
        model,
        MemorySupportSet.create(width=model.width, labels=model.labels.names, kind=model.labels.kind),
    )
    made.build(train[:40])
    made.fit_knn(dev, k=3)
    return made


def written(
    path: Path, rows: list[dict[str, Any]], format: Format, labels: LabelSet, rule: Rule | None
) -> Path:
    with answers_in(path, format, labels, rule) as write:
        for row in rows:
            write(row)
    return path


@pytest.mark.parametrize("rule", [None, "exag", "knn"])
def test_parquet_has_what_json_has(
    auditor: Auditor, rule: Rule | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "ROWS", 7)
    labels, documents = auditor.labels, reviews(20, seed=4)
    if rule is None:
        rows = [scores.to_json(labels) for scores in auditor.model.label(documents)]
    else:
        rows = [scores.to_json(labels) for scores in auditor.label(documents, rule=rule, nearest=True)]
        rows[3]["verified"] = False
    lines = written(tmp_path / "a.jsonl", rows, "jsonl", labels, rule)
    table = pq.read_table(written(tmp_path / "a.parquet", rows, "parquet", labels, rule))
    found = table.to_pylist()
    wanted = [json.loads(line) for line in lines.read_text().splitlines()]
    if rule is not None:
        wanted = [{"verified": True, **row} for row in wanted]
    assert found == wanted
    empty = pq.read_table(written(tmp_path / "empty.parquet", [], "parquet", labels, rule))
    assert empty.schema == table.schema
    assert len(empty) == 0


def test_our_reader_reads_it(model: Path, tmp_path: Path) -> None:
    loaded, documents = load_model(model, device="cpu"), reviews(9, seed=8)
    rows = [scores.to_json(loaded.labels) for scores in loaded.label(documents)]
    formats: tuple[Format, ...] = ("jsonl", "parquet")
    json_, parquet = (
        read_documents(written(tmp_path / f"a.{format}", rows, format, loaded.labels, None))
        for format in formats
    )
    assert parquet == json_
    assert [d.tokens for d in parquet] == [d.tokens for d in documents]
    assert [d.label for d in parquet] == [row["label"] for row in rows]


def test_numbers_stay_numbers_and_mixtures_are_refused(tmp_path: Path) -> None:
    labels = LabelSet("multiclass", ("1", "2", "3"), values=(1, 2, 3))
    scores = dict.fromkeys(labels.names, 0.5)
    row = {"id": "a", "label": 2, "score": 0.5, "scores": scores, "tokens": []}
    assert pq.read_table(written(tmp_path / "a.parquet", [row], "parquet", labels, None)).to_pylist() == [row]
    mixed = LabelSet("binary", ("not 3", "3"), values=("not 3", 3))
    with (
        pytest.raises(
            SettingError, match=r"'not 3', 3 are of several types, and a column has one; write JSONL"
        ),
        parquet_rows(tmp_path / "b.parquet", mixed, None),
    ):
        pass


def test_what_no_column_holds_is_refused(tmp_path: Path) -> None:
    row: dict[str, Any] = {"id": "a", "label": "yes", "score": float("nan"), "scores": None, "tokens": []}
    labels = LabelSet.binary("no", "yes")
    with pytest.raises(ModelError, match="a figure is not a number"):
        written(tmp_path / "a.parquet", [row], "parquet", labels, None)
    with pytest.raises(SettingError, match=r"do not fit into columns of one type each .*; write JSONL"):
        written(tmp_path / "a.parquet", [row | {"score": 1.0, "label": ["yes"]}], "parquet", labels, None)
