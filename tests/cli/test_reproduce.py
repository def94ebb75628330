"""exaudit reproduce, from end to end on the made-up corpora."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from filelock import FileLock

from exaudit import __version__
from exaudit.cli import run as cli
from exaudit.experiments.claims import CLAIMS
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.provenance import code_used
from exaudit.experiments.registry import EXPERIMENTS
from exaudit.experiments.results import Results
from exaudit.experiments.run import Run, RunSettings
from exaudit.experiments.sample import write_corpora
from exaudit.experiments.workers import _work
from exaudit.model.model import Model

SMALL = ("--sample", "--epochs", "1", "--filters", "20", "--encoder", "none", "--device", "cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpora(tmp_path_factory.mktemp("corpora"))


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli([str(a) for a in arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli([str(a) for a in arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("exaudit: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all experiments on the made-up corpora, with a second seed."""
    out = tmp_path_factory.mktemp("out")
    assert cli(["reproduce", "all", *SMALL, "--seeds", "0,1", "--out", str(out)]) == 0
    return out


def test_list_names_tables_and_what_is_missing(
    capsys: pytest.CaptureFixture[str], data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = said(capsys, "reproduce", "list", "--data", data)
    assert "MISSING" not in whole
    assert all(table in whole for table in paper_tables())
    for number in (*(f"Table {n}" for n in range(1, 28)), *(f"Figure {n}" for n in range(1, 5))):
        assert re.search(rf"^  {number} +\S", whole, re.MULTILINE), number
    monkeypatch.setenv("EXAUDIT_DATA", str(tmp_path))
    nothing = said(capsys, "reproduce", "list")
    assert "    MISSING fce/fce-public.train.original.tsv\n" in nothing
    assert "    missing news_1b/bbc_supplement.tokens (without it: " in nothing
    assert f"data in {tmp_path}:" in nothing


def test_all_experiments_run_from_end_to_end(finished: Path) -> None:
    comparison = Results.read(finished).comparison
    assert comparison.experiments == tuple(EXPERIMENTS)
    assert not [(t.id, r.name) for t in comparison.tables for r in t.rows if r.why == "not run yet"]
    assert all(table.why is None for table in comparison.ngram_tables)
    assert all(finding.counted for finding in comparison.findings)
    names = {table.id: {row.name for row in table.rows} for table in comparison.tables}
    for id, paper in paper_tables().items():  # a row of another name would stand alone beside the paper's
        if id in names and id != "sentiment-frozen":
            note = {"50k"} if id == "fce-news" else set()  # what the support set was made of
            assert names[id] - note == {row.name for row in paper.rows}, id
    seeds = [
        table.row("uniCNN") for table in comparison.tables if table.id in ("fce-zero-shot", "fce-supervised")
    ]
    assert [list(row.by_seed) for row in seeds if row] == [[0, 1], [0, 1]]
    rules = next(table for table in comparison.tables if table.id == "fce-rules")
    assert {row.name: list(row.by_seed) for row in rules.rows if len(row.by_seed) > 1} == {
        f"{model}+{rule}": [0, 1]
        for model in ("uniCNN", "uniCNN+mm", "uniCNN+S*")
        for rule in ("ExAG", "K1NN equal", "K8NN dist.")
    }


def test_a_finished_run_leaves_pages_pictures_and_json(finished: Path) -> None:
    files = {p.name for p in finished.iterdir() if p.is_file()}
    pages = {"fce.md", "sentiment.md", "annotation.md", "claims.md"}
    assert files == pages | {
        "contents.md",
        "results.json",
        "figure-2.svg",
        "figure-3.svg",
        "settings.json",
        "data.json",
    }
    examples = {path.name: path.read_text() for path in (finished / "examples").iterdir()}
    assert examples.keys() == {"uniCNN.md", "mm.md", "supervised.md", "cnn.md", "revised.md"}
    assert all("- Pred.: " in text for text in examples.values())
    for name, panels in (("figure-2.svg", 6), ("figure-3.svg", 3)):
        root = ET.parse(finished / name).getroot()
        assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == panels
        assert f"]({name})" in (finished / "fce.md").read_text()
    for page in pages:
        text = (finished / page).read_text()
        assert "--sample --encoder none --seeds 0,1 --epochs 1 --filters 20\n" in text
        assert "made-up corpora" in text
        assert f"exaudit {__version__}" in text
        assert str(finished) not in text
    assert "exaudit reproduce sentiment --sample" in (finished / "sentiment.md").read_text()
    value = json.loads((finished / "results.json").read_text())
    assert value["settings"]["seeds"] == [0, 1]
    assert set(value["seconds"]) == {path.stem for path in (finished / "steps").iterdir()}
    assert {claim["id"] for claim in value["claims"]} == set(CLAIMS)


def test_a_second_run_does_nothing_and_shows_the_same(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise AssertionError("nothing is to be trained or labelled again")

    monkeypatch.setattr("exaudit.experiments.run.train", fail)
    monkeypatch.setattr(Model, "iter_label", fail)
    before = {path: path.read_bytes() for path in finished.iterdir() if path.is_file()}
    again = said(capsys, "reproduce", "all", *SMALL, "--seeds", "0,1", "--out", finished)
    assert {path: path.read_bytes() for path in before} == before
    assert said(capsys, "reproduce", "show", finished) == again
    assert again.startswith(
        "NOTE: made-up corpora: these figures say nothing about the paper\n\nGrammatical "
    )
    assert "\nzero-shot: " in again
    alone = said(capsys, "reproduce", "annotation", *SMALL, "--seeds", "0,1", "--out", finished)
    assert "\n\nOriginal or revised reviews\n===" in alone
    assert "zero-shot" not in alone


def test_other_settings_in_the_same_folder_are_refused(
    finished: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, "reproduce", "fce", *SMALL, "--seeds", "0", "--out", finished)
    assert f"{finished} holds results of other settings" in told
    real = ["--data", data, *SMALL[1:], "--seeds", "0,1", "--out", finished]
    assert "other settings" in refused(capsys, "reproduce", "fce", *real), (
        "made-up and real data are not mixed"
    )


def test_a_run_that_was_stopped_is_shown_as_far_as_it_came_and_goes_on(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "settings.json").write_bytes((finished / "settings.json").read_bytes())
    for name in ("fce-uniCNN-0", "fce-mm-0"):
        (tmp_path / "steps" / f"{name}.json").write_bytes((finished / "steps" / f"{name}.json").read_bytes())
    half = said(capsys, "reproduce", "show", tmp_path)
    assert "  cnn, CNN: not run yet\n" in half
    assert "knn: no figures\n" in half
    assert "min-max: " in half

    def stop(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("exaudit.experiments.run.train", stop)
        assert cli(["reproduce", "fce", *SMALL, "--seeds", "0,1", "--out", str(tmp_path)]) == 130
    assert sorted(path.stem for path in (tmp_path / "steps").iterdir()) == ["fce-mm-0", "fce-uniCNN-0"]
    whole = said(capsys, "reproduce", "fce", *SMALL, "--seeds", "0,1", "--out", tmp_path)
    assert whole == said(capsys, "reproduce", "fce", *SMALL, "--seeds", "0,1", "--out", finished)


def test_missing_data_names_the_file_and_what_to_do(
    capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = refused(capsys, "reproduce", "fce", "--data", tmp_path / "none", "--encoder", "none")
    assert str(tmp_path / "none/fce/fce-public.train.original.tsv") in told
    assert "exaudit data fetch fce" in told
    for corpus in ("fce", "news_1b", "imdb_cad", "imdb_contrast"):
        (tmp_path / "part").mkdir(exist_ok=True)
        (tmp_path / "part" / corpus).symlink_to(data / corpus)
    told = refused(capsys, "reproduce", "all", "--data", tmp_path / "part", "--encoder", "none")
    assert "semeval2017_task4a" in told, "before the first of three experiments is begun"
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "0,x"], "--seeds is '0,x'"),
        (["--seeds", ""], "--seeds is ''"),
        (["--seeds", "1,1"], "each once"),
        (["--seeds", "-1"], "--seeds is '-1'"),
        (["--tune-encoder"], "no encoder to tune"),
        (["--word-vectors", "nowhere.txt"], "there is no file nowhere.txt"),
        (["--device", "abacus"], "unknown device 'abacus'"),
        (["--encoder", "./nowhere"], "no encoder folder './nowhere'"),
        (["--data", "."], "--sample makes its own corpora"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert message in refused(capsys, "reproduce", "fce", *SMALL, "--out", out, *options)
    assert not out.exists()


def test_processes_that_share_a_run_find_what_one_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for jobs in (1, 2):
        out = tmp_path / str(jobs)
        said(capsys, "reproduce", "annotation", *SMALL, "--steps", "annotation-words", "--out", out)
        if jobs == 2:  # a worker takes seconds to start: the first process would have done all by then
            run = Run(out, out / "data", Results.read(out).settings, device="cpu")
            worker = multiprocessing.get_context("spawn").Process(target=_work, args=(["annotation"], run, 1))
            worker.start()
            worker.join()
            assert worker.exitcode == 0
            assert len(list((out / "steps").iterdir())) == 3
        threads = torch.get_num_threads()
        said(capsys, "reproduce", "annotation", *SMALL, "--jobs", str(jobs), "--out", out)
        assert torch.get_num_threads() == threads
        steps = [json.loads(path.read_text()) for path in sorted((out / "steps").iterdir())]
        found.append([step | {"seconds": None} for step in steps])
    assert found[0] == found[1]


def test_the_workers_of_a_cluster_find_what_one_process_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Workers:
        """As those of a cluster, but here."""

        workers = 2

        def map(self, begin: Any, items: Any) -> Any:
            work = pickle.loads(pickle.dumps(begin))()
            yield from map(work, items)

    @contextmanager
    def pool_at(ray: str | None, workers: int | None, device: str) -> Iterator[Workers | None]:
        yield None if ray is None else Workers()

    monkeypatch.setattr("exaudit.cli.reproduce.pool_at", pool_at)
    steps = []
    for more in ([], ["--ray", "auto"]):
        out = tmp_path / str(len(more))
        said(capsys, "reproduce", "annotation", *SMALL, "--out", out, *more)
        found = [json.loads(path.read_text()) for path in sorted((out / "steps").iterdir())]
        steps.append([step | {"seconds": None} for step in found])
    assert steps[0] == steps[1]
    assert "leave one of them out" in refused(
        capsys, "reproduce", "fce", *SMALL, "--out", tmp_path / "x", "--ray", "auto", "--jobs", "2"
    )


def test_what_another_process_is_at_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    (out / ".locks").mkdir(parents=True)
    with FileLock(out / ".locks" / "annotation-words"):
        assert cli(["reproduce", "annotation", *SMALL, "--out", str(out)]) == 0
    told = capsys.readouterr().err
    assert "another process is at annotation-words; once it is done" in told
    assert cli(["reproduce", "annotation", *SMALL, "--out", str(out)]) == 0
    assert "another process" not in capsys.readouterr().err


def test_an_error_of_shared_work_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write_corpora(data)
    (data / "fce" / "fce-public.dev.original.tsv").write_text("no tab\n")
    options = [option for option in SMALL if option != "--sample"]
    monkeypatch.setattr("exaudit._progress._hushed", False)  # put back afterwards
    run = Run(out, data, RunSettings(encoder="none", filters=20, epochs=1), device="cpu")
    with pytest.raises(SystemExit, match="1"):
        _work(["fce"], run, torch.get_num_threads())
    assert "tried again at the end" in capsys.readouterr().err
    assert cli(["reproduce", "fce", *options, "--data", str(data), "--jobs", "2", "--out", str(out)]) == 1
    told = capsys.readouterr().err
    assert told.count("document 'fce-dev-1' has the unknown token label 'tab'") == 1
    assert "Traceback" not in told


def test_show_writes_the_pages_again_where_asked_even_without_the_models(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("steps", "settings.json"):
        (tmp_path / path).symlink_to(finished / path)
    kept = json.loads((finished / "results.json").read_text()) | {"fingerprints": {"fce-x": "f" * 64}}
    (tmp_path / "results.json").write_text(json.dumps(kept))
    said(capsys, "reproduce", "show", tmp_path)
    assert not (tmp_path / "fce.md").exists()
    said(capsys, "reproduce", "show", tmp_path, "--write")
    for page in ("fce.md", "sentiment.md", "annotation.md", "claims.md", "figure-2.svg", "figure-3.svg"):
        assert (tmp_path / page).read_text() == (finished / page).read_text()
    assert json.loads((tmp_path / "results.json").read_text()) == kept


def test_show_refuses_what_is_not_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no results" in refused(capsys, "reproduce", "show", tmp_path)
    (tmp_path / "steps").mkdir()
    (tmp_path / "settings.json").write_text(json.dumps(RunSettings().to_json()))
    assert "holds no results" in refused(capsys, "reproduce", "show", tmp_path)
    step = tmp_path / "steps" / "fce-cnn.json"
    for text in ("{", '{"unheard-of": 1}', "[1]", "{}"):
        step.write_text(text)
        told = refused(capsys, "reproduce", "show", tmp_path)
        assert str(step) in told
        assert "delete the file and run again" in told


def test_a_run_names_the_damaged_file_of_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "fce-cnn.json").write_text('{"seed": 0, "tab')
    command = ["reproduce", "fce", *SMALL, "--steps", "fce-cnn", "--out", tmp_path]
    assert f"{tmp_path / 'steps' / 'fce-cnn.json'}: damaged" in refused(capsys, *command)
    for name in ("data.json", "settings.json"):
        (tmp_path / name).write_text("{")
        assert f"{tmp_path / name}: damaged" in refused(capsys, *command)
    (tmp_path / "file").touch()
    assert "is a file" in refused(capsys, *command[:-1], tmp_path / "file")


def test_the_papers_recipe_on_a_tenth_of_the_made_up_corpora(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAUDIT_COMMIT", "c" * 40)
    code_used.cache_clear()
    options = [
        "--sample",
        "--fast",
        "--recipe",
        "paper",
        "--encoder",
        "none",
        "--filters",
        "20",
        "--epochs",
        "2",
    ]
    whole = said(capsys, "reproduce", "fce", *options, "--out", tmp_path)
    assert "\nmagnitude-tracks: " in whole
    page = (tmp_path / "fce.md").read_text()
    assert "exaudit reproduce fce --sample --encoder none --recipe paper --fast " in page
    assert "- recipe: the paper's, to the letter of its code\n" in page
    results = Results.read(tmp_path)
    assert not [r.name for t in results.comparison.tables for r in t.rows if r.why == "not run yet"]
    parameters = results.comparison.table("fce-knn-parameters").row("uniCNN+K8NN dist.")
    assert parameters is not None
    assert parameters.ours is not None
    tau, gamma = parameters.ours[:2]
    assert tau is not None
    assert gamma is not None
    assert abs(tau - 10) < 0.5, "Adadelta takes small steps from where it starts"
    assert gamma < 1
    verified = said(capsys, "reproduce", "verify", tmp_path)
    assert "pages, results.json and recipe agree" in verified
    assert "recipe paper" in verified
    code_used.cache_clear()
    (tmp_path / "fce.md").write_text(page + "more\n")
    capsys.readouterr()
    assert cli(["reproduce", "verify", str(tmp_path)]) == 1
    assert "fce.md is not what results.json gives" in capsys.readouterr().err
