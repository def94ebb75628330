"""The verbs of analysis, from files to files."""

from __future__ import annotations

import csv
import html
import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.cli import run
from exaudit.data.document import Document
from exaudit.data.readers import read_documents
from exaudit.data.sample import sample_documents
from exaudit.model.folder import load_model
from exaudit.model.labeler import Labeler

TINY = {
    "encoder": "none",
    "filters": 20,
    "epochs": 2,
    "vocabulary": 200,
    "word_dimension": 20,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model, and files with and without labels."""
    path = tmp_path_factory.mktemp("analyse")
    documents = sample_documents("reviews", 120, seed=1)
    Labeler(**TINY).fit(documents[:90]).save(path / "model")
    for name, rows, fields in (
        ("train", documents[:90], ("id", "text", "label", "token_labels")),
        ("test", documents[90:], ("id", "text", "label", "token_labels")),
        ("plain", documents[90:], ("id", "text")),
    ):
        lines = [json.dumps({field: getattr(d, field) for field in fields}) for d in rows]
        (path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def audited(folder: Path) -> Path:
    """The same model with a support set, a K-NN and admission limits."""
    model = folder / "audited"
    Labeler(**TINY).fit(read_documents(folder / "train.jsonl")).save(model)
    assert run(["support", "build", str(model), str(folder / "train.jsonl")]) == 0
    assert run(["knn", "fit", str(model), str(folder / "test.jsonl"), "-k", "3"]) == 0
    assert run(["admission", "fit", str(model), str(folder / "test.jsonl")]) == 0
    return model


THEMES = {"food": ("soup", "bread"), "sport": ("goal", "team"), "travel": ("train", "hotel")}


@pytest.fixture(scope="module", params=["multiclass", "multilabel"])
def several(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of three classes with a support set, a K-NN and admission limits, and its files."""
    path = tmp_path_factory.mktemp(request.param)
    draws = random.Random(1)

    def document(n: int) -> Document:
        themes = [draws.choice(list(THEMES))]
        if request.param == "multilabel":
            themes = sorted(draws.sample(list(THEMES), draws.randint(0, 2)))
        pairs = [(draws.choice(["the", "was", "and", "we"]), "O") for _ in range(6)]
        pairs += [(draws.choice(THEMES[theme]), theme) for theme in themes for _ in range(2)]
        draws.shuffle(pairs)
        words, tags = zip(*pairs, strict=True)
        label = tuple(themes) if request.param == "multilabel" else themes[0]
        return Document.from_tokens(words, id=f"d{n}", label=label, token_labels=tags)

    documents = [document(n) for n in range(160)]
    for name, rows in (("train", documents[:100]), ("dev", documents[100:130]), ("test", documents[130:])):
        lines = [
            json.dumps({"id": d.id, "text": d.text, "label": d.label, "token_labels": d.token_labels})
            for d in rows
        ]
        (path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    small = TINY | {"epochs": 20, "batch_size": 10, "learning_rate": 2.0}
    Labeler(**small).fit(documents[:100]).save(path / "model")
    shutil.copytree(path / "model", path / "audited")
    for verb in (["support", "build"], ["knn", "fit"], ["admission", "fit"]):
        file = "train" if verb[0] == "support" else "dev"
        assert run([*verb, str(path / "audited"), str(path / f"{file}.jsonl")]) == 0
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    rows = ["Sentiment\tText\tbatch_id"]
    for n in range(40):
        rows += [
            f"Negative\tthe {n} soup was awful [red]\t{n}",
            f"Positive\tthe {n} soup was fine [red]\t{n}",
        ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_features_as_table_csv_and_json(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["features", str(folder / "model"), str(folder / "test.jsonl"), "--ngrams", "1,3", "--top", "3"]
    assert run(command) == 0
    shown = capsys.readouterr().out
    assert "by mean score" in shown
    assert "total frequency" in shown
    assert run([*command, "--as", "json", "--by", "total"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {"negative", "positive"}
    assert sum(data[name]["all"]["documents"] for name in data) == 30
    for name in data:
        ngrams = data[name]["all"]["ngrams"]
        assert set(ngrams) == {"1", "3"}
        totals = [gram["total"] for gram in ngrams["1"]["top"]]
        assert totals == sorted(totals, reverse=True)
    assert run([*command, "--as", "csv", "--out", str(tmp_path / "f.csv")]) == 0
    with open(tmp_path / "f.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["end"] for row in rows} == {"top", "lowest"}
    assert {row["documents"] for row in rows} == {"all", "truly negative", "truly positive"}
    assert {row["what"] for row in rows} == {"1-gram", "3-gram", "document by mean", "document by total"}
    assert max(int(row["rank"]) for row in rows) == 3  # --top, of documents as well
    for row in rows:
        assert None not in row.values()
        assert None not in row
        assert float(row["mean"]) * int(row["occurrences"]) == pytest.approx(float(row["total"]), abs=1e-9)
    of_documents = [row for row in rows if row["what"].startswith("document")]
    assert all(row["id"] and row["truly"] in ("negative", "positive") for row in of_documents)
    for name in data:
        for end, sign in (("top", -1), ("lowest", 1)):
            means = [d["normalised"] for d in data[name]["all"]["documents_by_mean"][end]]
            assert means == sorted(means, key=lambda mean: sign * mean)
    for told in ("rightly predicted", "wrongly predicted", "lowest first"):
        assert told in shown


def test_features_do_not_depend_on_the_order_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = (folder / "test.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "back.jsonl").write_text("\n".join(reversed(lines)), encoding="utf-8")
    printed = []
    for file in (folder / "test.jsonl", tmp_path / "back.jsonl"):
        assert run(["features", str(folder / "model"), str(file), "--as", "json"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_diff_writes_what_the_reader_reads(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "labels.jsonl"
    assert run(["diff", str(pairs), "--source", "positive", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "<del> fine </del> <ins> awful </ins>" in printed.out
    assert "[red]" in printed.out, "text is not markup"
    assert "40 pairs; 80 documents" in printed.err
    documents = read_documents(out)
    assert len(documents) == 80
    assert documents[0].label == "Positive"
    assert documents[0].token_labels == ("0", "0", "0", "0", "1", "0")
    assert documents[1].token_labels == ("0",) * 6
    assert documents[0].meta["batch_id"] == "0"


def test_diff_of_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new.csv").write_text('text,label\n"a b c",x\n"d e",y\n', encoding="utf-8")
    (tmp_path / "old.csv").write_text('text,label\n"a c",x\n"d f e",y\n', encoding="utf-8")
    files = [str(tmp_path / "new.csv"), str(tmp_path / "old.csv")]
    assert run(["diff", *files, "--out", "-"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["token_labels"] for line in lines] == [
        ["0", "1", "0"],
        ["0", "0"],
        ["0", "1"],
        ["0", "0", "0"],
    ]
    assert [line["label"] for line in lines] == ["1", "0", "1", "0"]
    assert run(["diff", *files, "--source", "second"]) == 0
    assert "<ins> b </ins>" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_rows_of_parallel_files_are_not_shifted(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row without words would be passed over, and every pair after it be a wrong one."""
    for name, texts in (("new", ["a b", "", "e f", "g"]), ("old", ["a c", "d", "", "h"])):
        lines = [f'{n},"{text}"' for n, text in enumerate(texts)] if ending == "csv" else texts
        head = ["k,text"] if ending == "csv" else []
        (tmp_path / f"{name}.{ending}").write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    files = [str(tmp_path / f"{name}.{ending}") for name in ("new", "old")]
    options = ["--format", "text"] if ending == "txt" else []
    assert run(["diff", *files, *options]) == 1
    line = 3 if ending == "csv" else 2
    assert (
        f"{files[0]}:{line}: a document has no words, and these files are paired row by row"
        in capsys.readouterr().err
    )


def test_compare_finds_the_pairs_of_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["--encoder", "none", "--filters", "5", "--epochs", "1", "--device", "cpu", "--ngrams", "1"]
    for name, word in (("old", "fine"), ("new", "awful")):
        rows = [f"the {n} soup was {word},{n}" for n in range(30)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,batch_id", *rows]) + "\n", encoding="utf-8")
    files = [str(tmp_path / "old.csv"), str(tmp_path / "new.csv")]
    out = tmp_path / "c.json"
    assert run(["compare", *files, "--out", str(out), *tiny]) == 0
    assert "the same batch_id are taken for pairs" in capsys.readouterr().err
    assert json.loads(out.read_text(encoding="utf-8"))["diffs_found"] is not None
    others = [f"the {n} soup was awful,x{n}" for n in range(30)]
    (tmp_path / "new.csv").write_text("\n".join(["text,batch_id", *others]) + "\n", encoding="utf-8")
    assert run(["compare", *files, "--out", str(out), *tiny]) == 0  # the ids have nothing in common
    assert "taken for pairs" not in capsys.readouterr().err
    assert json.loads(out.read_text(encoding="utf-8"))["diffs_found"] is None


def test_compare_looks_before_it_trains(
    pairs: Path,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for options, message in (
        (["--out", str(tmp_path / "no" / "x.html")], "its folder does not exist"),
        (["--out", str(tmp_path / "x.html"), "--model", str(folder / "model")], "exists already"),
        (["--out", str(tmp_path / "x.html"), "--test", str(pairs), str(pairs)], "give --test-pairs FILE"),
    ):
        monkeypatch.setattr("exaudit.analyse.comparison.compare", None)
        assert run(["compare", str(pairs), *options]) == 1
        assert message in capsys.readouterr().err


def test_compare_from_pairs(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "compare.html"
    tiny = ["--encoder", "none", "--filters", "20", "--epochs", "3", "--device", "cpu", "--ngrams", "1-2"]
    assert run(["compare", str(pairs), "--out", str(out), *tiny]) == 0
    said = capsys.readouterr().err
    assert "40 documents of A, 40 of B" in said
    assert "chance 50.0" in said
    assert "Most typical of B" in out.read_text(encoding="utf-8")
    named = ["--names", "old", "new"]
    assert run(["compare", str(pairs), "--out", str(tmp_path / "c.json"), *tiny, *named]) == 0
    data = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert data["documents"] == {"train": 56, "dev": 8, "test": 16}
    assert data["diffs_found"] is not None
    assert (data["a"], data["b"]) == ("old", "new")
    assert set(data["by_label"]) == {"Negative", "Positive"}


def test_reliability_and_report_of_the_model_alone(folder: Path, tmp_path: Path) -> None:
    model, test, plain = (str(folder / name) for name in ("model", "test.jsonl", "plain.jsonl"))
    assert run(["reliability", model, test, "--out", str(tmp_path / "r.json")]) == 0
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["reliability"]
    assert set(data) == {"documents", "tokens, model"}
    assert run(["report", model, test, "--out", str(tmp_path / "r.html")]) == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    for title in ("How right the model is", "What speaks for each class", "The documents"):
        assert f"<h2>{title}</h2>" in text
    assert "Exemplars" not in text
    assert run(["report", model, plain, "--out", str(tmp_path / "p.md")]) == 0
    assert "How right" not in (tmp_path / "p.md").read_text(encoding="utf-8")


def test_report_with_all_evidence(folder: Path, audited: Path, tmp_path: Path) -> None:
    command = ["report", str(audited), str(folder / "test.jsonl"), "--ngrams", "1", "--exemplars", "3"]
    assert run([*command, "--out", str(tmp_path / "r.html")]) == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    for title in ("Reliability of the decisions on words", "How near the support set is", "Exemplars"):
        assert f"<h2>{title}</h2>" in text
    assert "K-NN against the truth" in text
    assert "Admitted answers beside all answers" in text
    assert run([*command, "--out", str(tmp_path / "r.json")]) == 0
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert len(data["exemplars"]) == 3
    assert {"approximation", "admitted tokens", "tokens, K-NN"} <= set(data["reliability"])
    assert data["words"][0].startswith("words: ")
    for line in data["words"]:  # the same as on the page
        assert html.escape(line[1:]).replace("&#x27;", "&#39;") in text


def test_report_marks_the_exemplars_documents_as_they_are_now(
    folder: Path, audited: Path, tmp_path: Path
) -> None:
    """Predictions and truth of the exemplars' documents, from labelling and reading these documents."""
    model, train = tmp_path / "model", folder / "train.jsonl"
    shutil.copytree(audited, model)
    # An exemplar is a word by itself: its prediction is the sign of its own score, whatever its document looks like.
    loaded = load_model(model, device="cpu")
    labelled = loaded.label(read_documents(train))
    predicted = {
        one.document.id: (one.views[0].scores > np.float32(loaded.word_boundaries[0])).astype(int).tolist()
        for one in labelled
    }
    truth = {d.id: [int(y) for y in d.token_labels or ()] for d in read_documents(train)}

    def exemplars() -> list[dict[str, Any]]:
        command = ["report", str(model), str(folder / "test.jsonl"), "--ngrams", "1", "--exemplars", "5"]
        assert run([*command, "--out", str(tmp_path / "r.json")]) == 0
        data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
        return [row["exemplar"] for table in data["exemplars"] for row in table["rows"]]

    before = exemplars()
    assert before
    for exemplar in before:
        assert exemplar["predictions"] == predicted[exemplar["id"]]
        assert exemplar["token_labels"] == truth[exemplar["id"]]
    assert {0, 1} == {p for exemplar in before for p in exemplar["predictions"]}
    id = before[0]["id"]
    assert run(["support", "relabel", str(model), id, "--token", "0", "--label", "unknown"]) == 0
    for exemplar in exemplars():
        changed = [None, *truth[id][1:]] if exemplar["id"] == id else truth[exemplar["id"]]
        assert exemplar["token_labels"] == changed
    assert id in {exemplar["id"] for exemplar in exemplars()}


def test_evaluate_several_classes(several: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    command = ["evaluate", str(several / "model"), str(several / "test.jsonl")]
    assert run([*command, "--json", "--ci"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["classes"] == list(THEMES)
    assert data["document"]["macro_f1"] > 0.5
    assert set(data["by_class"]["token"]) == set(THEMES)
    assert sum(map(sum, data.get("confusion", []))) in (0, 30)
    assert run(command) == 0
    assert "documents by class" in capsys.readouterr().out
    assert run(["evaluate", str(several / "audited"), str(several / "test.jsonl"), "--knn", "--admit"]) == 0
    assert "only these are scored" in capsys.readouterr().err


def test_features_of_several_classes(several: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    command = [
        "features",
        str(several / "model"),
        str(several / "test.jsonl"),
        "--ngrams",
        "1",
        "--by",
        "total",
    ]
    assert run([*command, "--as", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == list(THEMES)
    for name, words in THEMES.items():
        assert data[name]["all"]["ngrams"]["1"]["top"][0]["text"] in words
    assert run([*command, "--as", "csv", "--class", "sport"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["predicted"] for row in rows} == {"sport"}
    assert {row["documents"] for row in rows} <= {"all", "truly sport", "truly another class"}
    assert run([*command, "--class", "music"]) == 1
    said = capsys.readouterr().err
    assert "--class is 'music'; the classes of the model are 'food', 'sport', 'travel'" in said


def test_reliability_and_report_of_several_classes(several: Path, tmp_path: Path) -> None:
    files = str(several / "audited"), str(several / "test.jsonl")
    assert run(["reliability", *files, "--out", str(tmp_path / "r.json")]) == 0
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["reliability"]
    assert set(data["classes"]) == set(THEMES)
    assert {"tokens, model", "tokens, K-NN", "approximation"} <= set(data["classes"]["food"])
    assert data["admitted documents"]["total"] == 30
    command = ["report", *files, "--ngrams", "1", "--exemplars", "4"]
    assert run([*command, "--out", str(tmp_path / "r.html")]) == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Documents by class, in percent" in text
    assert "<summary>Words, travel</summary>" in text
    assert run([*command, "--out", str(tmp_path / "r.json")]) == 0
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data["names"]["names"] == list(THEMES)
    tables = data["exemplars"]
    assert len(tables) == 4
    assert {table["class"] for table in tables} == set(THEMES)
    for table in tables:
        assert table["predicted"] == table["class"]
    assert run([*command, "--out", str(tmp_path / "r.md")]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["features", "MODEL", "TEST", "--ngrams", "0-3"], "--ngrams is '0-3'; give sizes from 1 to 10"),
        (["features", "MODEL", "TEST", "--by", "sum"], "--by is 'sum'; choose mean or total"),
        (["features", "MODEL", "TEST", "--as", "xml"], "--as is 'xml'"),
        (["report", "MODEL", "TEST", "--out", "r.pdf"], "cannot tell the format from 'r.pdf'"),
        (["reliability", "MODEL", "TEST", "--out", "nowhere/r.html"], "its folder does not exist"),
        (["diff", "TEST"], "no column names the pair"),
        (["diff", "TEST", "TEST", "--source", "positive"], "with two files --source is first or second"),
        (["compare", "TEST"], "no column names the pair"),
        (["compare", "TEST", "TEST", "--test-pairs", "TEST"], "--test-pairs goes with one file of pairs"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"MODEL": str(folder / "model"), "TEST": str(folder / "test.jsonl")}
    assert run([places.get(argument, argument) for argument in arguments]) == 1
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("exaudit: ")
    assert message in said


def test_an_error_names_the_file_and_the_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("id,text,label\n1,a b,Good\n2,c d,Bad\n", encoding="utf-8")
    for verb in ("report", "reliability"):
        assert run([verb, str(folder / "model"), str(other), "--out", str(tmp_path / "x.html")]) == 1
        assert f"{other}:2: document '1' has the unknown label 'Good'" in capsys.readouterr().err
    three = tmp_path / "three.csv"
    three.write_text("text,batch_id\na,1\nb,1\nc,1\n", encoding="utf-8")
    assert run(["diff", str(three)]) == 1
    assert f"{three}:2: batch_id '1' has 3 documents" in capsys.readouterr().err
    assert run(["diff", str(three), str(three), "--pair-column", "k"]) == 1  # either of two: neither is named
    assert "exaudit: document '1' has no column 'k'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["features", "MODEL", "TEST", "--top", "0"],
        ["features", "MODEL", "TEST", "--minimum", "-4"],
        ["report", "MODEL", "TEST", "--out", "x.html", "--top", "-3"],
        ["report", "MODEL", "TEST", "--out", "x.html", "--exemplars", "-1"],
        ["compare", "TEST", "TEST", "--top", "0"],
        ["diff", "TEST", "TEST", "--show", "-1"],
    ],
)
def test_numbers_that_make_no_sense(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"MODEL": str(folder / "model"), "TEST": str(folder / "test.jsonl")}
    assert run([places.get(argument, argument) for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"Invalid value for '{arguments[-2]}'" in said
