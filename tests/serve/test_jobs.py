from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from exaudit._progress import progress
from exaudit.data.document import Document
from exaudit.errors import DataError
from exaudit.serve.batching import Batcher
from exaudit.serve.jobs import Job, Jobs


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def ended(job: Job) -> Job:
    for _ in range(500):
        if job.ended:
            return job
        time.sleep(0.01)
    raise AssertionError(job)


def test_progress_of_the_library_is_the_jobs(jobs: Jobs) -> None:
    told = []

    def work(job: Job) -> str:
        for _ in progress([1, 2, 3], desc="count"):
            told.append((job.step, job.done, job.total))
        with progress(total=9, desc="more") as bar:
            bar.update(4)
        return "result"

    job = ended(jobs.start("count", work))
    assert told == [("", 0, None), ("count", 1, 3), ("count", 2, 3)]
    assert (job.status, job.result, job.step, job.done, job.total) == ("done", "result", "more", 4, 9)


def test_a_job_ends_where_it_is_cancelled(jobs: Jobs) -> None:
    started, go, seen = threading.Event(), threading.Event(), []

    def work(job: Job) -> None:
        for n in progress(range(100), desc="count"):
            seen.append(n)
            started.set()
            go.wait(10)

    job = jobs.start("count", work)
    behind = jobs.start("behind", lambda _: 7)
    started.wait(10)
    assert (job.status, behind.status) == ("running", "waiting")
    job.cancel()
    go.set()
    assert ended(job).status == "cancelled"
    assert seen == [0]
    assert ended(behind).result == 7


def test_who_waits_for_a_short_job_does_not_wait_for_a_long_one(jobs: Jobs) -> None:
    go = threading.Event()
    long = jobs.start("open", lambda _: go.wait(10))
    assert ended(jobs.start("preview", lambda _: 7, short=True)).result == 7
    assert not long.ended
    go.set()
    assert ended(long).status == "done"


def test_errors_are_told_and_defects_are_not(jobs: Jobs, caplog: pytest.LogCaptureFixture) -> None:
    def fail(error: Exception) -> Job:
        def work(_: Job) -> None:
            raise error

        return ended(jobs.start("fail", work))

    assert fail(DataError("the file is empty")).error == "the file is empty"
    job = fail(ZeroDivisionError("secret"))
    assert (job.status, "secret" in (job.error or "")) == ("failed", False)
    assert "secret" in caplog.text


def document(text: str) -> Document:
    return Document.from_text(text, id=text)


def test_what_is_asked_meanwhile_is_labelled_together() -> None:
    batches: list[int] = []
    first, go = threading.Event(), threading.Event()

    def label(documents: Sequence[Document]) -> list[str]:
        batches.append(len(documents))
        first.set()
        go.wait(10)
        return [document.text.upper() for document in documents]

    batcher = Batcher(label)
    answers = [batcher.submit(document("a"))]
    first.wait(10)
    answers += [batcher.submit(document(text)) for text in "bcdef"]
    go.set()
    assert [answer.result(10) for answer in answers] == list("ABCDEF")
    assert batches == [1, 5]
    batcher.close()


def test_one_bad_text_does_not_spoil_the_others() -> None:
    def label(documents: Sequence[Document]) -> list[str]:
        if any(document.text == "bad" for document in documents):
            raise DataError("bad text")
        return [document.text for document in documents]

    batcher = Batcher(label)
    answers = [batcher.submit(document(text)) for text in ("a", "bad", "b")]
    assert [answers[0].result(10), answers[2].result(10)] == ["a", "b"]
    with pytest.raises(DataError, match="bad text"):
        answers[1].result(10)
    batcher.close()
