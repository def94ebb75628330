"""A promise in the workbench: what it admits, how it survives an edit, and how drift withdraws it."""

from __future__ import annotations

import time
from dataclasses import replace

from exaudit.audit import Auditor
from exaudit.audit.audited import Audited
from exaudit.serve.workbench import Workbench
from webclient import Client, unlike

Promising = tuple[Workbench, Client]


def settled(client: Client) -> None:
    for job in client.get("/api/jobs"):
        client.wait(job["id"])


def page(client: Client, path: str) -> str:
    """A page, once what it shows was made."""
    for _ in range(600):
        text = client.ask("GET", path).body.decode()
        if 'id="waiting"' not in text:
            return text
        time.sleep(0.05)
    raise AssertionError("the analysis does not end")


def test_the_promise_admits_what_it_does_on_the_command_line(promising: Promising) -> None:
    bench, client = promising
    told = Auditor.open(bench.folder).label(list(bench.need_file().documents()), admit="promise")
    assert len({own.admitted for own in told}) == 2
    for place in range(0, len(told), 7):
        view, own = client.get(f"/api/file/documents/{place}"), told[place]
        assert isinstance(own, Audited)
        assert own.admitted_tokens is not None
        assert (view["admitted"], view["reason"]) == (own.admitted, own.reason)
        assert view["refused"] == [n for n, yes in enumerate(own.admitted_tokens) if not yes]
        assert (view["admitted_by"], view["promise"]["status"]) == ("promise", "holds")
        word = client.get(f"/api/file/documents/{place}/words/0")
        assert (word["admitted"], word["limit"]) == (bool(own.admitted_tokens[0]), None)
    refused = client.get("/api/file/documents?admitted=false")["total"]
    assert refused == sum(not own.admitted for own in told)


def test_the_pages_say_what_is_promised(promising: Promising) -> None:
    _, client = promising
    assert "of the admitted documents, at most 40% are wrong" in page(client, "/model").lower()
    shown = page(client, "/reliability")
    assert "What is promised about the admitted answers" in shown
    assert "Risk and coverage: documents" in shown
    assert "No drift: no shift was found" in page(client, "/compare")


def test_an_edit_is_followed_by_a_check(promising: Promising) -> None:
    bench, client = promising
    before = bench.auditor.promise
    first = client.get("/api/file/documents/0/words/0")["exemplars"][0]
    label = ["negative" if first["label"] == ["positive"] else "positive"]
    edit = {"kind": "relabel", "id": first["id"], "label": label}
    client.post("/api/support/edits", {"edit": edit, "version": client.get("/api/support")["version"]})
    settled(client)
    now = client.get("/api/file/documents/0")
    assert (now["admitted_by"], now["promise"]["status"]) == ("promise", "holds")
    assert bench.auditor.promise is not None
    assert before is not None
    assert bench.auditor.promise.made.support_version == bench.auditor.support.version
    assert before.made.support_version != bench.auditor.support.version
    client.post("/api/support/undo", {"version": now["version"]})
    settled(client)


def test_drift_withdraws_it_for_the_file_alone(promising: Promising) -> None:
    bench, client = promising
    client.wait(bench.open("odd.jsonl", unlike(40), fingerprint="odd").id)
    told = client.get("/api/file")["promise"]
    assert told["status"] == "withdrawn"
    assert "documents are shorter" in told["why"]
    view = client.get("/api/file/documents/3")
    assert view["admitted"] is False
    assert view["reason"].startswith("the promise is withdrawn: ")
    assert client.get("/api/file/documents?admitted=true")["total"] == 0
    assert client.get("/api/file/documents/3/words/0")["refusal"].startswith("the promise is withdrawn")
    assert client.post("/api/label", {"text": "The film was superb ."})["promise"]["status"] == "holds"
    assert "Withdrawn for" in page(client, "/model")
    assert "The promise is withdrawn" in page(client, "/reliability")
    shown = page(client, "/compare")
    assert "Drift: the 40 documents are not like" in shown
    (key,) = [key for key, name in bench.kept_files().items() if name == "fresh.jsonl"]
    assert "fresh.jsonl against odd.jsonl" in page(client, f"/compare?beside={key}")
    client.wait(bench.open("few.jsonl", unlike(5), fingerprint="few").id)
    assert "fewer than 20" in client.get("/api/file")["promise"]["why"]


def test_another_boundary_needs_another_promise(promising: Promising) -> None:
    bench, client = promising
    model = bench.model
    bench.use(replace(model, word_boundaries=tuple(each + 0.1 for each in model.word_boundaries)))
    view = client.get("/api/file/documents/0")
    assert (view["admitted"], view["admitted_by"], view["promise"]["status"]) == (None, None, "void")
    assert "Stale: the model or the boundary" in page(client, "/model")
    bench.use(model)
    assert client.get("/api/file/documents/0")["promise"]["status"] == "holds"
