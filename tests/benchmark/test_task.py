from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exaudit.benchmark.task import SPLITS, Task, read_tasks, sample_task
from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError
from tiny import cued, reviews


def rows(documents: Sequence[Document], *leave_out: str) -> str:
    """The documents as JSON lines."""
    fields = {"id": "id", "tokens": "tokens", "label": "label", "token_labels": "token_labels"}
    kept = [name for name in fields if name not in leave_out]
    return "".join(json.dumps({name: getattr(d, name) for name in kept}) + "\n" for d in documents)


def put(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, text in texts.items():
        (folder / f"film.{split}.jsonl").write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, train=rows(reviews(40)), dev=rows(reviews(10, seed=1)), test=rows(reviews(12, seed=2)))
    return tmp_path


def test_files_become_a_task_whose_training_words_are_not_labelled(folder: Path) -> None:
    (folder / "README.md").write_text("not a task")
    (task,) = read_tasks(folder)
    assert task.name == "film"
    assert [len(getattr(task, split)) for split in SPLITS] == [40, 10, 12]
    assert all(d.token_labels is None and d.label is not None for d in [*task.train, *task.dev])
    assert task.pretokenised
    assert task.marked_dev is not None
    assert [d.token_labels for d in task.marked_dev] == [d.token_labels for d in reviews(10, seed=1)]
    wanted = [[int(mark == "positive" or mark == "1") for mark in d.token_labels or ()] for d in task.test]
    assert [own[:, 0].tolist() for own in task.truth] == wanted
    assert task.document_truth[:, 0].tolist() == [int(d.label == "positive") for d in task.test]
    assert task.to_json()["test_positive_words"] == sum(map(sum, wanted))


def test_a_task_may_be_a_folder_and_compressed(folder: Path) -> None:
    inside = folder / "other"
    inside.mkdir()
    for split in ("train", "test"):
        with gzip.open(inside / f"{split}.jsonl.gz", "wt") as file:
            file.write((folder / f"film.{split}.jsonl").read_text())
    film, other = read_tasks(folder)
    assert (film.name, other.name) == ("film", "other")
    assert [task.name for task in read_tasks(folder, ["other"])] == ["other"]
    assert other.digest != film.digest, "its dev documents are others"
    assert len(other.train) + len(other.dev) == 40
    assert {d.label for d in other.dev} == {"negative", "positive"}, "some of each class"
    assert not {d.id for d in other.train} & {d.id for d in other.dev}


def test_documents_have_the_labels_of_their_tokens_before_these_are_hidden(tmp_path: Path) -> None:
    right, wrong = "the\tc\ncats\tc\nsit\tc\n\n", "the\tc\ncats\tc\nsits\ti\n\n"
    for split, times in (("train", 20), ("dev", 3), ("test", 2)):
        (tmp_path / f"errors.{split}.original.tsv").write_text((right + wrong) * times)
    (task,) = read_tasks(tmp_path)
    assert task.name == "errors"
    assert [d.label for d in task.train] == ["c", "i"] * 20
    assert all(d.token_labels is None for d in task.train)
    assert task.labels.names == ("c", "i")
    assert [own[:, 0].tolist() for own in task.truth] == [[0, 0, 0], [0, 0, 1]] * 2


def test_several_labels_of_a_document_come_from_its_tokens_too() -> None:
    documents = [replace(d, label=None) for d in cued(60, several=True)]
    task = Task.of("cued", documents, None, documents)
    assert task.labels.kind == "multilabel"
    marks = [{mark for mark in d.token_labels or () if mark != "O"} for d in task.test]
    assert [set(d.label or ()) for d in task.test] == marks


def test_limit_draws_documents_of_every_split_and_keeps_their_order() -> None:
    documents = sorted(reviews(40), key=lambda d: str(d.label))  # sorted by class, as files often are
    small = Task.of("film", documents, documents, documents, limit=10)
    assert [len(getattr(small, split)) for split in SPLITS] == [10, 10, 10]
    places = [[d.id for d in documents].index(d.id) for d in small.train]
    assert places == sorted(places)
    assert places != list(range(10))
    with pytest.raises(SettingError, match="`limit` is 0"):
        Task.of("film", documents, documents, documents, limit=0)


def test_where_a_limit_leaves_too_few_documents_it_is_the_limit_that_is_blamed(folder: Path) -> None:
    def limited(limit: int) -> str:
        with pytest.raises(DataError) as caught:
            read_tasks(folder, limit=limit)
        return str(caught.value)

    path, task = folder / "film.train.jsonl", "task 'film': with a limit of"
    assert limited(1) == f"{path}: {task} one document a split, train has one document; raise `limit`"
    good = [d for d in reviews(40) if d.label == "positive"]
    bad = next(d for d in reviews(40) if d.label == "negative")
    put(folder, train=rows([*good, bad]))
    found = f"{path}: {task} 2 documents a split, train: all labels are 'positive'; raise `limit`"
    assert limited(2) == found
    put(folder, train=rows(good))
    assert "all labels are 'positive'; two classes are needed: add documents of the other" in limited(2)


def test_advice_can_be_followed_without_settings_of_a_reader(folder: Path) -> None:
    train = folder / "film.train.jsonl"
    whole = train.read_text()
    train.write_text(whole.replace('"label"', '"grade"').replace('"token_labels"', '"marks"'))
    assert refused(folder).endswith("no document has a label; call what holds the label 'label' in the file")
    train.write_text(whole.replace('"tokens"', '"words"'))
    assert "; call what holds the text 'text' in the file" in refused(folder)
    train.write_text(whole + rows(reviews(5), "label", "token_labels").replace('"id": "', '"id": "new '))
    assert refused(folder).endswith("; fill them in")
    train.write_text(whole + whole)
    assert refused(folder).endswith("; make the ids unique")
    train.unlink()
    for name, text in (("film.train.csv", "a,b\ngood,1\n"), ("film.train.tsv", "a\tb\ngood\t1\n")):
        (folder / name).write_text(text)
        message = refused(folder)
        assert "text" in message
        assert "`" not in message
        (folder / name).unlink()


def test_the_digest_knows_every_label_and_split() -> None:
    documents = reviews(40)
    task = Task.of("film", documents, documents, documents)
    marks = documents[0].token_labels or ()
    other = replace(documents[0], token_labels=(*marks[:-1], "0" if marks[-1] == "1" else "1"))
    assert task.digest == Task.of("renamed", documents, documents, documents).digest
    assert task.digest != Task.of("film", documents, documents, [other, *documents[1:]]).digest
    assert task.digest != Task.of("film", documents[1:], documents, documents).digest


@pytest.mark.parametrize("kind", ["reviews", "learner", "requests", "complaints"])
def test_samples_are_tasks(kind: str) -> None:
    task = sample_task(kind, limit=300)
    assert np.concatenate(task.truth).any(0).all()


def test_unknown_names_are_refused(folder: Path) -> None:
    with pytest.raises(SettingError, match="no built-in sample 'films'; choose one of reviews, learner"):
        sample_task("films")
    with pytest.raises(SettingError, match="there is no task 'films'; the tasks are 'film'"):
        read_tasks(folder, ["films"])
    other = folder / "other"
    other.mkdir()
    for split in SPLITS:
        (folder / f"film.{split}.jsonl").rename(other / f"book.{split}.jsonl")
        (folder / f"film.{split}.jsonl").write_text((other / f"book.{split}.jsonl").read_text())
    assert [task.name for task in read_tasks([folder, other])] == ["book", "film"]
    with pytest.raises(DataError, match=f"there is a task 'film' in {folder}, too; rename one"):
        read_tasks([folder, folder])


def refused(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_tasks(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_folders_without_a_whole_task_are_refused(tmp_path: Path) -> None:
    assert "there is no such folder" in refused(tmp_path / "nowhere")
    assert "there is no task in this folder; a task has files such as NAME.train.jsonl" in refused(tmp_path)
    put(tmp_path, train=rows(reviews(40)))
    assert "the task 'film' has no test file, only 'film.train.jsonl'" in refused(tmp_path)
    (tmp_path / "film.train.jsonl").rename(tmp_path / "film.test.jsonl")
    assert "the task 'film' has no train file, only 'film.test.jsonl'" in refused(tmp_path)
    put(tmp_path, train=rows(reviews(40)))
    (tmp_path / "film.train.csv").write_text("text,label\n")
    assert "more than one train file: 'film.train.csv', 'film.train.jsonl'; keep one" in refused(tmp_path)


def test_test_needs_token_truth(folder: Path) -> None:
    put(folder, test=rows(reviews(3), "token_labels") + rows(reviews(9, seed=2)))
    message = refused(folder)
    assert (
        f"{folder / 'film.test.jsonl'}:1: task 'film': 3 of 12 test documents have no token labels" in message
    )
    without = [replace(d, token_labels=("0",) * len(d.tokens)) for d in reviews(12)]
    put(folder, test=rows(without))
    assert "no word of test is labelled positive" in refused(folder)
    everywhere = [replace(d, token_labels=("1",) * len(d.tokens)) for d in reviews(12)]
    put(folder, test=rows(everywhere))
    assert "every word of test is labelled positive, so there is nothing to find" in refused(folder)


def test_both_classes_are_needed(folder: Path) -> None:
    good = [d for d in reviews(40) if d.label == "positive"]
    whole = rows(reviews(40))
    put(folder, train=rows(good))
    assert "task 'film': train: all labels are 'positive'; two classes are needed" in refused(folder)
    put(folder, train=whole, dev=rows(good))
    assert "task 'film': dev has no document of class 'negative'" in refused(folder)
    put(folder, dev=whole, test=rows(good))
    assert "task 'film': test has no document of class 'negative'" in refused(folder)


def test_one_document_is_not_enough(folder: Path) -> None:
    for split in SPLITS[::-1]:
        put(folder, **{split: rows(reviews(1))})
        assert f"task 'film': {split} has one document; give more" in refused(folder)


def test_a_tenth_that_cannot_be_set_aside_is_told(folder: Path) -> None:
    (folder / "film.dev.jsonl").unlink()
    both = [next(d for d in reviews(40) if d.label == name) for name in ("negative", "positive")]
    put(folder, train=rows(both))
    assert "there is no dev file, and only 1 documents of class 'negative'" in refused(folder)


def test_labels_must_have_the_same_names_in_every_split(folder: Path) -> None:
    renamed = [replace(d, label=str(d.label)[:3]) for d in reviews(12)]
    put(folder, test=rows(renamed))
    message = refused(folder)
    assert (
        "test has the label 'neg', which train does not have: its labels are 'negative', 'positive'"
        in message
    )


def test_oddities_of_files_are_told(folder: Path) -> None:
    with open(folder / "film.train.jsonl", "a") as file:
        file.write('{"id": "empty", "tokens": [], "label": "positive"}\n')
    told: list[str] = []
    (task,) = read_tasks(folder, tell=told.append)
    assert len(task.train) == 40
    assert len(told) == 1
    assert told[0].startswith(f"{folder / 'film.train.jsonl'}: a document has no words")


def test_a_class_that_is_hardly_the_positive_one_is_told(folder: Path) -> None:
    for split in SPLITS:
        names = {"negative": "none", "positive": "fault"}  # the last of two names counts as positive
        put(folder, **{split: rows([replace(d, label=names[str(d.label)]) for d in reviews(40)])})
    assert "no test document of class 'none' has a positive word" in refused(folder)


def test_a_document_without_a_label_is_told_with_its_line(folder: Path) -> None:
    unlabelled = reviews(5, seed=3)
    put(folder, dev=rows(reviews(5)) + rows(unlabelled, "label", "token_labels"))
    assert f"{folder / 'film.dev.jsonl'}:6: 5 of 10 documents have no label" in refused(folder)
    bare = [replace(d, label=None, token_labels=None, line=3) for d in unlabelled]
    with pytest.raises(DataError, match="task 'film': a document of dev has no label"):
        Task.of("film", reviews(40), bare, reviews(12))
