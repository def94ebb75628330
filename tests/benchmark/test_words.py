from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.benchmark import words
from exaudit.benchmark.measures import average_precision
from exaudit.benchmark.task import Task
from exaudit.benchmark.words import benchmark_words, measure_model, read_runs
from exaudit.data.document import Document
from exaudit.errors import SettingError
from exaudit.metrics import Counts, best_offset
from exaudit.model.boundaries import with_choice
from exaudit.model.model import Model
from exaudit.model.settings import Settings
from exaudit.model.train import train
from tiny import SMALL, reviews, tiny_bert

FAST = ("frozen", "min-max")


def without_seconds(run: words.WordRun) -> dict[str, Any]:
    return {name: value for name, value in asdict(run).items() if name != "seconds"}


def test_every_task_recipe_and_seed_is_run_once(
    film: Task, meals: Task, small: Settings, tmp_path: Path
) -> None:
    told: list[str] = []
    runs = benchmark_words(
        [film, meals], tmp_path, recipes=FAST, seeds=(0, 3), settings=small, tell=told.append
    )
    wanted = [(task, recipe, seed) for task in ("film", "meals") for seed in (0, 3) for recipe in FAST]
    assert [(run.task["name"], run.recipe, run.seed) for run in runs] == wanted
    assert sum(line.endswith(" ...") for line in told) == 8
    assert len(read_runs(tmp_path)) == 8
    assert not (tmp_path / "work").exists()
    again = benchmark_words(
        [film, meals], tmp_path, recipes=FAST, seeds=(0, 3), settings=small, tell=told.append
    )
    assert again == runs
    assert len(told) == 16, "nothing was run again"
    assert all(run.seconds["train"] is not None for run in runs)
    assert all(run.tokens == "whitespace" for run in runs)


def test_the_work_of_another_process_in_the_same_folder_stays(
    film: Task, small: Settings, tmp_path: Path
) -> None:
    others = [
        tmp_path / "work" / name / "checkpoint"
        for name in ("another/frozen.0", f"{film.digest[:16]}/frozen.1")
    ]
    for path in others:
        path.parent.mkdir(parents=True)
        path.write_text("half an hour")
    benchmark_words([film], tmp_path, recipes=("frozen",), seeds=(0,), settings=small)
    assert sorted(path for path in (tmp_path / "work").rglob("*") if path.is_file()) == sorted(others)


def test_workers_elsewhere_find_the_same(film: Task, small: Settings, tmp_path: Path) -> None:
    def spread(start: Any, pairs: Any) -> Any:
        for pair in reversed(list(pairs)):  # in any order
            yield pickle.loads(pickle.dumps(start))()(pair)

    told: list[str] = []
    options: dict[str, Any] = {"recipes": FAST, "seeds": (0, 3), "settings": small}
    runs = benchmark_words([film], tmp_path / "spread", **options, tell=told.append, spread=spread)
    here = benchmark_words([film], tmp_path / "here", **options)
    assert list(map(without_seconds, runs)) == list(map(without_seconds, here))
    assert next(line for line in told if line.endswith(" ...")) == "film, frozen, seed 3 ..."


def test_no_model_ever_sees_a_token_label(
    film: Task, small: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Document] = []
    initial: list[Model | None] = []

    def spy(settings: Settings, documents: list[Document], dev: list[Document], **options: Any) -> Model:
        seen.extend([*documents, *dev])
        initial.append(options["init"])
        return train(settings, documents, dev, **options)

    monkeypatch.setattr(words, "train", spy)
    benchmark_words([film], tmp_path, recipes=FAST, seeds=(0,), settings=small)
    assert len(seen) == 2 * 80
    assert all(document.token_labels is None for document in seen)
    assert initial[0] is None
    assert initial[1] is not None
    assert initial[1].record["loss"] == "document", "min-max goes on from the frozen model"


def test_figures_are_those_of_the_model(film: Task, small: Settings) -> None:
    model = train(small, film.train, film.dev)
    found = measure_model(model, film)
    views = [own.views[0] for own in model.label(film.test)]
    scores, plain = np.concatenate([v.weighed for v in views]), np.concatenate([v.scores for v in views])
    truth = np.concatenate([[int(mark == "1") for mark in d.token_labels or ()] for d in film.test])
    assert truth.sum() == film.to_json()["test_positive_words"]
    assert found["words"]["ap"] == pytest.approx(average_precision(scores, truth))
    flags = scores > model.word_boundaries[0]
    assert found["words"]["flagged"]["all"] == pytest.approx(flags.mean())
    hits = (flags & (truth == 1)).sum()
    assert found["words"]["default"]["f0.5"] == pytest.approx(1.25 * hits / (flags.sum() + truth.sum() / 4))
    assert found["words"]["f0.5"]["f1"] == pytest.approx(2 * hits / (flags.sum() + truth.sum()))
    more = scores > with_choice(model, "f1").word_boundaries[0]
    hits = (more & (truth == 1)).sum()
    assert found["words"]["default"]["f1"] == pytest.approx(2 * hits / (more.sum() + truth.sum()))
    hits = ((plain > 0) & (truth == 1)).sum()
    assert found["words"]["zero"]["f1"] == pytest.approx(2 * hits / ((plain > 0).sum() + truth.sum()))
    for beta, name in ((1.0, "f1"), (0.5, "f0.5")):
        ideal = Counts.of(scores > best_offset(scores, truth, beta), truth)
        assert found["words"]["best"][name] == pytest.approx(ideal.f(beta))
    right = [
        own.decided == (int(d.label == "positive"),)
        for own, d in zip(model.label(film.test), film.test, strict=True)
    ]
    assert found["documents"]["accuracy"] == pytest.approx(np.mean(right))


@pytest.mark.slow
def test_an_encoder_is_tuned(film: Task, tmp_path: Path) -> None:
    settings = Settings(**SMALL | {"encoder": str(tiny_bert(tmp_path / "bert")), "pretrain": False})
    tiny = Task.of("film", film.train[:20], film.dev[:10], film.test)
    (run,) = benchmark_words([tiny], tmp_path / "out", recipes=["tuned"], seeds=[0], settings=settings)
    assert run.words["ap"] > 0
    kept = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert kept["encoder"] == "bert", "the folder's own name, wherever it is"
    assert len(kept["fingerprint"]) == 64
    other = replace(settings, encoder=str(tiny_bert(tmp_path / "other" / "bert", seed=1)))
    with pytest.raises(SettingError, match="holds runs with another fingerprint"):
        benchmark_words([tiny], tmp_path / "out", recipes=["tuned"], seeds=[0], settings=other)


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tiny import SMALL, reviews
from exaudit.benchmark import words
from exaudit.benchmark.task import Task
from exaudit.model.settings import Settings

write = words.write_json

def killed(path, value):
    if path.name == "film.min-max.0.json":
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, value)

words.write_json = killed
film = Task.of("film", reviews(60), reviews(20, seed=1), reviews(20, seed=2))
words.benchmark_words(
    [film], Path({out!r}), recipes=("frozen", "min-max"), seeds=(0, 1), settings=Settings(**SMALL)
)
"""


@pytest.mark.slow
def test_a_killed_benchmark_goes_on_where_it_was(film: Task, small: Settings, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = KILLED.format(tests=str(Path(__file__).parents[1]), out=str(out))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [path.name for path in (out / "runs").iterdir()] == ["film.frozen.0.json"]
    before = (out / "runs" / "film.frozen.0.json").read_text()

    told: list[str] = []
    runs = benchmark_words([film], out, recipes=FAST, seeds=(0, 1), settings=small, tell=told.append)
    begun = [line.removesuffix(" ...") for line in told if line.endswith(" ...")]
    assert begun == ["film, min-max, seed 0", "film, frozen, seed 1", "film, min-max, seed 1"]
    assert (out / "runs" / "film.frozen.0.json").read_text() == before
    assert runs[1].seconds["train"] is None, "how long it took is not known"
    assert not (out / "work").exists()

    whole = benchmark_words([film], tmp_path / "whole", recipes=FAST, seeds=(0, 1), settings=small)
    assert [without_seconds(run) for run in runs] == [without_seconds(run) for run in whole]


def test_results_of_other_settings_or_documents_are_never_mixed(
    film: Task, small: Settings, tmp_path: Path
) -> None:
    def run(task: Task, settings: Settings, **options: Any) -> None:
        benchmark_words([task], tmp_path, recipes=["frozen"], seeds=[0], settings=settings, **options)

    run(film, small)
    with pytest.raises(
        SettingError, match=r"holds runs with another filters \(20, now 30\); give another `out`"
    ):
        run(film, replace(small, filters=30))
    with pytest.raises(SettingError, match="holds runs with another tokens"):
        run(film, small, tokens="words")
    other = Task.of("film", reviews(59), film.dev, film.test)
    with pytest.raises(SettingError, match=r"film\.frozen\.0\.json is a run on other documents"):
        run(other, small)
    (tmp_path / "runs" / "film.frozen.0.json").write_text("{}")
    with pytest.raises(SettingError, match="is no run of this version; delete it"):
        run(film, small)
    (tmp_path / "runs" / "film.frozen.0.json").write_text('{"task"')
    with pytest.raises(SettingError, match=r"film\.frozen\.0\.json is missing or damaged"):
        run(film, small)


def test_what_cannot_be_run_is_told_before_anything_is(film: Task, small: Settings, tmp_path: Path) -> None:
    def refused(tasks: list[Task], **options: Any) -> str:
        with pytest.raises(SettingError) as caught:
            benchmark_words(tasks, tmp_path / "out", **{"settings": small, "recipes": ["frozen"]} | options)
        assert not (tmp_path / "out").exists()
        return str(caught.value)

    assert "there is no task to run" in refused([])
    assert "there are two of the task 'film'" in refused([film, film])
    assert "there are two of the seed 1" in refused([film], seeds=[1, 1])
    for seed in (-1, 2**63, 10**20):
        assert f"`seeds` has {seed}; give whole numbers from 0 to {2**63 - 1}" in refused(
            [film], seeds=[seed]
        )
    assert "there is no recipe 'frosen'; the recipes are 'frozen', 'min-max', 'tuned'" in refused(
        [film], recipes=["frosen"]
    )
    assert "no seeds to run" in refused([film], seeds=[])
    assert "the recipe tuned tunes an encoder, and `encoder=none` has none" in refused(
        [film], recipes=["tuned"]
    )
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="is a file; `out` is a folder"):
        benchmark_words([film], tmp_path / "file", settings=small, recipes=["frozen"])


def test_texts_are_cut_into_words_where_documents_have_no_tokens(
    film: Task, small: Settings, tmp_path: Path
) -> None:
    texts = [Document.from_text(d.text, id=d.id, label=d.label) for d in film.train]
    task = Task.of("film", texts, None, film.test)
    (run,) = benchmark_words([task], tmp_path, recipes=["frozen"], seeds=[0], settings=small)
    assert run.tokens == "words"
