"""The race on a tiny encoder: figures, resuming, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.benchmark import explainers, race_pages
from exaudit.benchmark.contestants import Decomposition, ExemplarKNN
from exaudit.benchmark.explained import Explained, figures
from exaudit.benchmark.explainers import Explainer
from exaudit.benchmark.race import METHODS, Race, RaceSettings, race
from exaudit.benchmark.race_pages import race_markdown, race_text, write_race
from exaudit.benchmark.task import Task, draw
from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError
from exaudit.metrics import f_beta
from exaudit.model.folder import load_model
from exaudit.model.settings import Settings
from tiny import cued, reviews, tiny_bert

PLAIN = ("decomposition", "knn", "gradient-x-input", "occlusion", "attention")  # need no package


# -- figures ----------------------------------------------------------------------------------------------

SCORES = [np.array([0.5, -0.2, 0.1]), np.array([0.9, 0.3]), np.array([-0.1, 0.4])]
TRUTH = [np.array([1, 0, 0]), np.array([0, 0]), np.array([0, 1])]
DECIDED = [True, False, True]


def test_words_of_documents_decided_negative_are_negative_within() -> None:
    explained = Explained.of(SCORES, DECIDED, TRUTH)
    found = figures(explained, None, within=True)
    assert found["natural"]["precision"] == 2 / 3  # 0.5, 0.1 and 0.4
    assert found["natural"]["recall"] == 1
    without = figures(explained, None, within=False)
    assert without["natural"]["precision"] == 2 / 5
    # 0.9 comes first, then 0.5 (1 of 2) and 0.4 (2 of 3); ranked, the two are first
    assert found["ap"] == without["ap"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found["ap_ranked"] == 1
    assert found["tuned"] is None


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_tuned_boundary_is_the_best_there_is_on_dev(within: bool, seed: int) -> None:
    draws = np.random.default_rng(seed)
    lengths = draws.integers(1, 6, 8)
    dev = Explained.of(
        [draws.normal(size=n) for n in lengths],
        (draws.random(8) < 0.6).tolist(),
        [draws.integers(0, 2, n) for n in lengths],
    )
    found = figures(dev, dev, within=within)
    for name, beta in (("f1", 1.0), ("f0.5", 0.5)):
        tried = [
            f_beta((dev.scores > at) & (dev.decided if within else True), dev.truth, beta)
            for at in (*dev.scores.tolist(), dev.scores.min() - 1)
        ]
        assert found["tuned"][name] == pytest.approx(max(tried))


def test_where_no_document_is_decided_positive_nothing_is_found() -> None:
    none = Explained.of(SCORES, [False] * 3, TRUTH)
    found = figures(none, none, within=True)
    assert found["boundaries"] == {"f1": 0.0, "f0.5": 0.0}
    assert found["tuned"] == {"f1": 0.0, "f0.5": 0.0}


def test_scores_of_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="the same words"):
        Explained.of(SCORES[:2], DECIDED[:2], TRUTH[1:])


# -- the race ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task() -> Task:
    return Task.of("reviews", reviews(40), reviews(20, seed=1), reviews(20, seed=2))


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> RaceSettings:
    bert = tiny_bert(tmp_path_factory.mktemp("encoder") / "bert")
    model = Settings(
        encoder=str(bert), vocabulary=100, word_dimension=8, filters=20, epochs=2, device="cpu", cache=""
    )
    return RaceSettings(model=model, methods=PLAIN, documents=6)


@pytest.fixture(scope="module")
def raced(task: Task, settings: RaceSettings, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Race]:
    out = tmp_path_factory.mktemp("race")
    return out, race([task], out, settings)


def test_every_method_has_figures(raced: tuple[Path, Race]) -> None:
    _, done = raced
    assert [result["method"] for result in done.results] == list(PLAIN)
    for result in done.results:
        assert (result["documents"], result["dev_documents"]) == (6, 6)
        assert result["seconds"] > 0
        ours = result["method"] in ("decomposition", "knn")
        assert (0 < result["seconds_batched"] != result["seconds"]) == ours
        assert 0 <= result["ap"] <= 1
        assert result["tuned"].keys() == {"f1", "f0.5"}
    assert done.values("reviews", "knn", "natural", "f1") == [done.results[1]["natural"]["f1"]]
    assert done.values("reviews", "lime", "natural", "f1") == []


def test_ours_are_the_models_own_decisions(raced: tuple[Path, Race], task: Task) -> None:
    out, done = raced
    (folder,) = (out / "models").iterdir()
    model = load_model(folder, device="cpu")
    drawn = draw(task.test, 6)
    scores = [view for own in model.label(drawn) for view in own.views]
    said = np.concatenate([own.decisions for own in scores])
    rows = [task.test.index(document) for document in drawn]
    truth = np.concatenate([task.truth[row] for row in rows])[:, 0]
    assert done.results[0]["natural"]["f1"] == f_beta(said, truth)
    right = np.array([own.decision for own in scores]) == task.document_truth[rows, 0]
    assert done.results[0]["document_accuracy"] == right.mean()

    by_knn = ExemplarKNN.fit(model, task.train, task.dev)
    for document, scores in zip(task.test[:3], by_knn.score(task.test[:3]), strict=True):
        (audited,) = by_knn.auditor.label([document], rule="knn")
        assert ((scores > 0) == audited.views[0].decisions).all()
        assert by_knn.score([document])[0] == pytest.approx(scores, abs=1e-4)
        assert by_knn.decide(document) == Decomposition(model).decide(document)


def test_a_stopped_race_goes_on_with_the_methods_that_are_missing(
    raced: tuple[Path, Race], task: Task, settings: RaceSettings
) -> None:
    out, done = raced
    gone = out / "steps" / "reviews-0-attention.json"
    before = gone.read_text()
    written = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path != gone}
    gone.unlink()
    lines: list[str] = []
    again = race([task], out, settings, tell=lines.append)
    assert [line.split(":")[0] for line in lines] == ["reviews-0 attention"]
    assert {path: path.stat().st_mtime_ns for path in written} == written
    no_time = {"seconds": 0, "seconds_batched": 0}
    timeless = [[dict(one) | no_time for one in each.results] for each in (done, again)]
    assert timeless[0] == timeless[1]
    assert json.loads(before) | no_time == timeless[0][-1]


def test_results_of_other_settings_or_documents_are_not_taken(
    raced: tuple[Path, Race], task: Task, settings: RaceSettings
) -> None:
    out, _ = raced
    with pytest.raises(SettingError, match="other documents or settings"):
        race([task], out, replace(settings, documents=7))
    with pytest.raises(SettingError, match="other documents or settings"):
        race([task], out, replace(settings, model=replace(settings.model, filters=21)))
    path = out / "steps" / "reviews-0-attention.json"
    whole = path.read_text()
    path.write_text(whole[:40])
    with pytest.raises(SettingError, match=r"is damaged .* delete it"):
        race([task], out, settings)
    path.write_text(whole)


def test_a_model_of_other_settings_is_not_taken(
    task: Task, settings: RaceSettings, raced: tuple[Path, Race], tmp_path: Path
) -> None:
    """Not even where no method of theirs was done."""
    shutil.copytree(raced[0] / "models", tmp_path / "models")
    wider = replace(settings, model=replace(settings.model, filters=21), methods=("decomposition",))
    race([task], tmp_path, wider)
    filters = [
        load_model(folder, device="cpu").settings.filters for folder in (tmp_path / "models").iterdir()
    ]
    assert sorted(filters) == [20, 21]


def test_a_package_that_is_missing_leaves_its_method_out(
    task: Task, settings: RaceSettings, raced: tuple[Path, Race], monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = Explainer(explainers.lime, "no_such_package")
    monkeypatch.setitem(explainers.EXPLAINERS, "lime", missing)
    lines: list[str] = []
    done = race([task], raced[0], replace(settings, methods=("occlusion", "lime")), tell=lines.append)
    (note,) = lines
    assert note == ("lime was left out: no_such_package is not installed (pip install 'exaudit[explainers]')")
    assert done.methods == ["occlusion"]
    assert note in race_text(done)
    assert "lime was left out" in race_markdown(done)


def test_where_no_method_is_installed_nothing_is_written(
    task: Task, settings: RaceSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lime", "shap"):
        monkeypatch.setitem(explainers.EXPLAINERS, name, Explainer(explainers.lime, "no_such_package"))
    with pytest.raises(SettingError, match=r"\(lime, shap\); pip install 'exaudit\[explainers\]'"):
        race([task], tmp_path / "race", replace(settings, methods=("lime", "shap")))
    assert not (tmp_path / "race").exists()


def test_a_folder_is_read_with_the_results_of_all_runs(
    raced: tuple[Path, Race], task: Task, settings: RaceSettings, tmp_path: Path
) -> None:
    out = tmp_path / "race"
    shutil.copytree(raced[0], out)
    done = race([task], out, replace(settings, methods=("attention",)))
    assert done.methods == ["attention"]
    left_out = "lime was left out: it is not installed"
    whole = Race.read(out, Race(done.results, [left_out, "knn was left out: it is not installed"]))
    assert whole.methods == list(PLAIN)
    assert whole.notes == [left_out]  # an earlier run had the K-NN
    assert Race.read(out) == Race(whole.results, [])

    def step(name: str, **changes: Any) -> None:
        result = whole.results[0] | changes
        (out / "steps" / f"{name}.json").write_text(json.dumps(result))
        os.utime(out / "steps" / f"{name}.json", (1, 1))  # older than all others

    about = whole.results[0]["task"]
    step("seed", seed=1, settings=whole.results[0]["settings"] | {"seed": 1})
    step("task", task=about | {"name": "another"}, documents=7)
    both = Race.read(out)
    assert (both.tasks, both.notes) == (["another", "reviews"], [])
    assert [result["seed"] for result in both.results[1:3]] == [0, 1]
    assert Race.read(out, done) == both

    step("older", schema=1)
    step("more", seed=2, documents=7)
    step("changed", seed=3, task=about | {"digest": "0"})
    step("wider", task=about | {"name": "wide"}, settings=whole.results[0]["settings"] | {"filters": 21})
    for again in (Race.read(out), Race.read(out, done)):
        assert again.results == both.results
        assert again.notes == ["4 of the 11 results in the folder are of other settings or documents"]


def test_a_folder_without_results_has_none(tmp_path: Path) -> None:
    assert Race.read(tmp_path / "nowhere") == Race([], [])


def test_without_token_labels_of_dev_nothing_is_tuned(settings: RaceSettings, tmp_path: Path) -> None:
    dev = [document.without_token_labels() for document in reviews(20, seed=1)]
    task = Task.of("reviews", reviews(40), dev, reviews(20, seed=2))
    done = race([task], tmp_path, replace(settings, methods=("decomposition",)))
    assert done.results[0]["tuned"] is None
    row = race_text(done, width=400).splitlines()[-1]
    assert row.split("  ")[0] == "decomposition (ours)"
    assert row.split().count("-") == 2


# -- what is refused --------------------------------------------------------------------------------------


def test_bad_settings_are_refused() -> None:
    for change, message in (
        ({"methods": ("lime", "deeplift")}, "no 'deeplift'; choose from decomposition"),
        ({"methods": ()}, "one at least"),
        ({"documents": 1}, "`documents` is 1"),
        ({"seeds": (0, 0)}, "two of the seed 0; give each once"),
        ({"seeds": (0, -1)}, "`seeds` has -1; give whole numbers from 0"),
        ({"seeds": (10**20,)}, f"from 0 to {2**63 - 1}"),
        ({"methods": ("occlusion", "occlusion")}, "two of the method 'occlusion'; give each once"),
        ({"model": Settings(encoder="none")}, "another `encoder` than none"),
    ):
        with pytest.raises(SettingError, match=message):
            RaceSettings(**change)  # type: ignore[arg-type]


def test_bad_tasks_are_refused_before_anything_is_trained(settings: RaceSettings, tmp_path: Path) -> None:
    def of(test: list[Document]) -> Task:
        return Task.of("reviews", reviews(40), reviews(20, seed=1), test)

    test = reviews(20, seed=2)
    other = next(d for d in test if d.label != test[0].label)
    one_class = [other, *[d for d in test if d.label != other.label] * 5]
    drawn = {d.id for d in draw(test, settings.documents)}
    few_marked = [replace(d, token_labels=("1",) * len(d.tokens)) if d.id in drawn else d for d in test]
    for documents, message in (
        (one_class, "6 test documents that were drawn are all of one class; take more `documents`"),
        (few_marked, "6 test documents that were drawn have positive words alone; take more `documents`"),
        (test[:1], "test has one document"),
        ([d.without_token_labels() for d in test], "no token labels"),
    ):
        with pytest.raises(DataError, match=message):
            race([of(documents)], tmp_path, settings)
    several = Task.of("cues", cued(30), cued(12, seed=1), cued(12, seed=2))
    with pytest.raises(DataError, match="task 'cues' has 3 classes"):
        race([several], tmp_path, settings)
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="is a file"):
        race([of(test)], tmp_path / "file", settings)
    with pytest.raises(SettingError, match="no task to race on"):
        race([], tmp_path, settings)
    with pytest.raises(SettingError, match="two of the task 'reviews'; each must have a name of its own"):
        race([of(test), of(test)], tmp_path, settings)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# -- pages ------------------------------------------------------------------------------------------------


def _result(task: str, method: str, seed: int, f05: float, seconds: float) -> dict[str, Any]:
    return {
        "task": {"name": task, "documents": {"train": 9, "dev": 4, "test": 5}},
        "method": method,
        "seed": seed,
        "documents": 3,
        "dev_documents": 2,
        "settings": {"encoder": "tiny"},
        "ap": f05,
        "ap_ranked": f05,
        "natural": {"precision": f05, "recall": f05, "f1": f05, "f0.5": f05},
        "tuned": {"f1": f05, "f0.5": f05},
        "document_accuracy": 0.5,
        "seconds": seconds,
        "seconds_batched": seconds if method == "shap" else seconds / 4,
        "device": "a machine",
    }


def test_tables_have_means_spreads_and_ratios(tmp_path: Path) -> None:
    done = Race(
        [
            _result("one", "decomposition", 0, 0.5, 0.01),
            _result("one", "decomposition", 1, 0.6, 0.03),
            _result("one", "shap", 0, 0.25, 2.0),
            _result("two", "decomposition", 0, 0.5, 0.01),
        ],
        ["lime was left out"],
    )
    read, one, two, note = race_text(done, width=400).split("\n\n")
    assert "the mean over seeds" in read
    assert note == "lime was left out"
    title, head, ours, theirs = one.splitlines()
    assert title == "one"
    assert head.split("  ")[0] == "method"
    assert "55.0 (50.0-60.0) *" in ours
    assert ours.split()[-4:] == ["0.0200", "1.0", "0.0050", "1.0"]
    assert "25.0  " in theirs
    assert theirs.split()[-4:] == ["2.0000", "100.0", "2.0000", "400.0"]
    assert len(two.splitlines()) == 3

    written = write_race(done, tmp_path / "pages")
    assert [path.name for path in written] == ["explainers.svg", "explainers.md", "explainers.json"]
    page = written[1].read_text("utf-8")
    assert "(explainers.svg)" in page
    assert "- documents: train 9, dev 4, test 5; explained: 3 of test, 2 of dev" in page
    assert "SHAP 25.0" in written[0].read_text("utf-8")
    assert json.loads(written[2].read_text("utf-8")) == done.to_json()


def test_every_method_has_a_name() -> None:
    assert set(race_pages.NAMES) == set(METHODS)
