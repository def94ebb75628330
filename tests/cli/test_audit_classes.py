"""The verbs of auditing with a model of three classes, and with one of several labels for a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.readers import read_documents
from tiny import cued, tiny_labeler

Cli = Callable[..., str]
NAMES = ["food", "price", "staff"]


def write(path: Path, documents: Sequence[Document]) -> None:
    rows = (
        {"id": d.id, "tokens": d.tokens, "label": d.label, "token_labels": d.token_labels} for d in documents
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module", params=["multiclass", "multilabel"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a support set, K-NN and limits, and files of documents."""
    folder = tmp_path_factory.mktemp(request.param)
    several = request.param == "multilabel"
    parts = {name: cued(count, several=several, seed=seed) for seed, (name, count) in enumerate(
        {"train": 150, "dev": 40, "test": 12}.items()
    )}  # fmt: skip
    for name, documents in parts.items():
        write(folder / f"{name}.jsonl", documents)
    labeler = tiny_labeler(filters=24, epochs=12, learning_rate=5.0, batch_size=5, boundary="zero")
    labeler.fit(parts["train"], dev=parts["dev"]).save(folder / "model")
    auditor = Auditor.open(folder / "model", device="cpu")
    auditor.build(parts["train"][:60])
    auditor.fit_knn(parts["dev"], k=3, epochs=2)
    auditor.fit_admission(parts["dev"])
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Auditor:
    """Its auditor, in its folder; edits must be undone."""
    monkeypatch.chdir(folder)
    return Auditor.open("model", device="cpu")


def test_label(here: Auditor, cli: Cli) -> None:
    documents = read_documents("test.jsonl")
    for options, call in ((["--rule", "exag"], {"rule": "exag"}), (["--admit"], {"admit": True})):
        lines = [json.loads(line) for line in cli("label", "model", "test.jsonl", *options).splitlines()]
        expected = here.label(documents, nearest=True, **call)  # type: ignore[arg-type]
        assert lines == [one.to_json(here.labels) for one in expected]
    plain = [json.loads(line) for line in cli("label", "model", "test.jsonl").splitlines()]
    assert [line["label"] for line in plain] == [line["label"] for line in lines]


def test_knn_and_admission_tell_of_every_class(here: Auditor, cli: Cli) -> None:
    shown = cli("knn", "show", "model")
    assert [line for line in shown.splitlines() if line in NAMES] == NAMES
    assert shown.count("delta") == 3
    value = json.loads(cli("knn", "show", "model", "--json"))
    assert (value["schema"], value["classes"], len(value["knn"])) == (2, NAMES, 3)
    limits = cli("admission", "show", "model")
    for name in NAMES:
        assert f"not {name}: K-NN output at most" in limits
        assert f"document, {name}: admitted share above" in limits
    assert list(json.loads(cli("admission", "show", "model", "--json"))["classes"]) == NAMES


def test_audit(here: Auditor, cli: Cli, fails: Cli) -> None:
    text = "we had soup and the waiter was rude"
    value = json.loads(cli("audit", "model", text, "--json"))
    flagged = [n for n, token in enumerate(value["tokens"]) if token["label"]]
    assert sorted({each["position"] for each in value["evidence"]}) == flagged
    assert {each["class"] for each in value["evidence"]} <= set(NAMES)
    told = cli("audit", "model", text)
    rude = value["tokens"][7]["label"]
    assert f"rude/{' + '.join(rude) if isinstance(rude, list) else rude}" in told
    named = value["label"] if isinstance(value["label"], list) else [value["label"]]
    assert told.splitlines()[1].startswith((" + ".join(named) or "none") + "  score")
    (about,) = json.loads(cli("audit", "model", text, "--token", "0", "--about", "price", "--json"))[
        "evidence"
    ]
    assert (about["position"], about["class"]) == (0, "price")
    assert "K-NN" in cli("audit", "model", text, "--token", "0", "--about", "price")
    assert "not decided for 'odd'" in fails("audit", "model", text, "--about", "odd")


def test_edits(here: Auditor, cli: Cli, fails: Cli) -> None:
    version, several = here.support.version, here.labels.kind == "multilabel"
    id = next(id for id in here.support.ids if here.support.document(id).label in ("food", ("food",)))
    labels = ["--label", "price", *(["--label", "staff"] if several else [])]
    preview = ["--preview", "test.jsonl", "--rule", "exag"]
    told = json.loads(cli("support", "relabel", "model", id, *labels, *preview, "--json"))
    lines = cli("support", "relabel", "model", id, *labels, *preview).splitlines()
    assert len(lines) == len(told["flips"])
    what = cli("support", "relabel", "model", id, *labels)
    assert (
        f"from 'food' to {chr(39)}price{chr(39)}{' + ' + chr(39) + 'staff' + chr(39) if several else ''}"
        in what
    )
    cli("support", "relabel", "model", id, "--token", "0", "--label", "staff")
    cli("support", "relabel", "model", id, "--token", "1", "--label", "unknown")
    assert "already" in fails("support", "relabel", "model", id, "--token", "1", "--label", "unknown")
    assert "'odd'" in fails("support", "relabel", "model", id, "--token", "1", "--label", "odd")
    assert "'odd'" in fails("support", "relabel", "model", id, "--label", "odd")
    difference = cli("support", "diff", "model", "1")
    after = "price + staff" if several else "price"
    assert f"~ {id}: food -> {after}\n" in difference
    assert f"~ {id}, token 0: none -> staff\n" in difference
    shown: dict[str, Any] = json.loads(cli("support", "show", "model", id, "--json"))
    assert shown["label"] == (["price", "staff"] if several else "price")
    assert shown["token_labels"][:2] == ["staff", "unknown"]
    assert after in cli("support", "show", "model", id).replace("  ", " + ")
    assert list(json.loads(cli("support", "show", "model", "--json"))["labels"]) == NAMES
    if several:
        cli("support", "relabel", "model", id, "--label", "none")
        assert json.loads(cli("support", "show", "model", id, "--json"))["label"] == []
        cli("support", "undo", "model")
    else:
        assert "it must have one of" in fails(
            "support", "relabel", "model", id, "--label", "food", "--label", "staff"
        )
    cli("support", "verify", "model")
    for _ in range(3):
        cli("support", "undo", "model")
    here.support.refresh()
    assert here.support.version == version
