"""The API against the library that it calls."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.readers import read_documents
from exaudit.model.folder import load_model, save_model
from exaudit.serve.jobs import Job
from exaudit.serve.workbench import Workbench
from tiny import cued, tiny_labeler
from webclient import CSRF, Client, Serve

Splits = dict[str, list[Document]]


@pytest.fixture(scope="module")
def bench(opened: tuple[Workbench, Client]) -> Workbench:
    return opened[0]


@pytest.fixture(scope="module")
def client(opened: tuple[Workbench, Client]) -> Client:
    return opened[1]


@pytest.fixture
def version(client: Client) -> Iterator[int]:
    """The version of the support set, which is brought back after the test."""
    before = client.get("/api/support")["name"]
    yield client.get("/api/support")["version"]
    while (now := client.get("/api/support"))["name"] != before:
        client.post("/api/support/undo", {"version": now["version"]})
    for job in client.get("/api/jobs"):
        client.wait(job["id"]) if job["status"] in ("waiting", "running") else None


def flagged(view: dict[str, Any], rule: str) -> list[bool]:
    """As the page decides it, of two classes."""
    values = view["knn"][0] if rule == "knn" else view["margins"][0]
    gates = view["borne_out"].get(rule, [[True] * len(values)])[0]
    return [value > 0 and gate for value, gate in zip(values, gates, strict=True)]


# -- labels -----------------------------------------------------------------------------------------------


def test_a_document_is_decided_as_the_auditor_decides(
    client: Client, bench: Workbench, splits: Splits
) -> None:
    auditor = Auditor.open(bench.folder)
    for place in (0, 7, 33):
        view = client.get(f"/api/file/documents/{place}")
        document = splits["test"][place]
        assert (
            "".join(g + t for g, t in zip(view["gaps"], [*view["tokens"], ""], strict=True)) == document.text
        )
        for rule in ("exag", "exat", "knn"):
            (told,) = auditor.label([document], rule=rule, admit=rule == "knn")  # type: ignore[arg-type]
            assert flagged(view, rule) == told.decisions.tolist()
        (told,) = auditor.label([document], rule="knn", admit=True)
        assert view["admitted"] == told.admitted
        assert view["reason"] == told.reason
        assert view["refused"] == np.flatnonzero(~told.admitted_tokens).tolist()  # type: ignore[operator]
        (plain,) = auditor.model.label([document])
        assert flagged(view, "model") == plain.decisions.tolist()
        assert view["decided"] == [auditor.labels.names[c] for c in plain.decided]
        assert view["truth"] == [document.label]


def test_a_text_is_the_same_as_a_document(client: Client, splits: Splits) -> None:
    text = client.post("/api/label", {"text": splits["test"][3].text})
    document = client.get("/api/file/documents/3")
    for name in (
        "tokens",
        "gaps",
        "margins",
        "knn",
        "borne_out",
        "refused",
        "admitted",
        "distances",
        "decided",
    ):
        assert text[name] == document[name]
    assert client.get(f"/api/texts/{text['key']}")["margins"] == text["margins"]
    word = int(np.argmax(text["margins"][0]))
    asked = [
        client.get(f"/api/texts/{text['key']}/words/{word}"),
        client.get(f"/api/file/documents/3/words/{word}"),
    ]
    assert asked[0] == asked[1]
    assert client.ask("GET", "/api/texts/" + "0" * 20).status == 404


def test_a_text_without_words_is_told(client: Client) -> None:
    assert client.post("/api/label", {"text": " \n"}, status=400) == {"error": "the text has no words"}


def test_lists_filter_search_and_order(client: Client, bench: Workbench, splits: Splits) -> None:
    scores = load_model(bench.folder).label(splits["test"])
    outputs = [own.output for own in scores]  # type: ignore[union-attr]

    def places(query: str) -> list[int]:
        found = client.get(f"/api/file/documents?count=100&{query}")
        assert found["total"] == len(found["documents"])
        return [each["place"] for each in found["documents"]]

    wrong = [n for n, d in enumerate(splits["test"]) if (d.label == "positive") != (outputs[n] > 0)]
    assert places("wrong=true") == wrong
    assert places("wrong=false") == [n for n in range(40) if n not in wrong]
    assert places("predicted=positive") == [n for n in range(40) if outputs[n] > 0]
    assert places("truth=negative") == [n for n, d in enumerate(splits["test"]) if d.label == "negative"]
    assert places("order=weakest") == np.argsort(np.abs(outputs), kind="stable").tolist()
    assert places("text=" + splits["test"][5].id) == [5]
    assert places("text=THE%20%20") == [n for n, d in enumerate(splits["test"]) if "the" in d.text.casefold()]
    assert places("text=%22The%22") == [n for n, d in enumerate(splits["test"]) if "the" in _lower(d)]
    assert places("text=%22%22") == []
    admitted, refused = places("admitted=true"), places("admitted=false")
    assert sorted(admitted + refused) == list(range(40))
    assert refused
    page = client.get("/api/file/documents?start=38&count=5")
    assert [each["place"] for each in page["documents"]] == [38, 39]
    assert client.ask("GET", "/api/file/documents?predicted=nothing").status == 404
    assert client.ask("GET", "/api/file/documents/40").status == 404


def _lower(document: Document) -> list[str]:
    return [token.casefold() for token in document.tokens]


@pytest.mark.parametrize("most", [5000, 25])
def test_shares_are_those_of_the_file(
    client: Client, bench: Workbench, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("exaudit.serve.label.DRAWN", most)
    places = bench.need_file().drawn(most).tolist()
    views = [client.get(f"/api/file/documents/{place}") for place in places]
    for rule in ("model", "knn", "exag", "exat"):
        values = np.concatenate([view["knn" if rule == "knn" else "margins"][0] for view in views])
        if rule in ("exag", "exat"):
            gates = np.concatenate([view["borne_out"][rule][0] for view in views])
            assert 0 < (values[gates] > 0).sum() < (values > 0).sum()
            values = np.where(gates, values, -1e3)
        told = client.get(f"/api/file/shares?rule={rule}")
        assert told["drawn"] == (most < 40)
        assert told["flagged"][0] == pytest.approx((values > 0).mean(), abs=2e-3)
        for share, move in list(zip(told["shares"], told["moves"][0], strict=True))[::40]:
            assert (values >= move - 1e-3).mean() >= share - 2e-3


# -- evidence ---------------------------------------------------------------------------------------------


def test_evidence_adds_up_and_is_the_auditors(client: Client, bench: Workbench, splits: Splits) -> None:
    auditor = Auditor.open(bench.folder)
    for place, word in ((0, 2), (7, 0), (12, 5)):
        found = client.get(f"/api/file/documents/{place}/words/{word}")
        assert found["beta"] + sum(each["term"] for each in found["exemplars"]) == pytest.approx(
            found["output"]
        )
        for each in found["exemplars"]:
            assert each["term"] == pytest.approx(each["weight"] * (each["tanh"] + each["label_term"]))
        told = auditor.explain(splits["test"][place], word)
        assert [(each["id"], each["position"]) for each in found["exemplars"]] == [
            (each.id, each.position) for each in told.exemplars
        ]
        assert found["refusal"] == told.refusal
        assert found["score"] == pytest.approx(told.score, abs=1e-5)
    assert client.ask("GET", "/api/file/documents/0/words/9999").status == 400
    assert client.ask("GET", "/api/file/documents/0/words/0?about=nothing").status == 400


# -- corrections ------------------------------------------------------------------------------------------


def a_flip(client: Client) -> tuple[int, int, dict[str, Any]]:
    """A document, a word of it that ExAG flags, and its nearest exemplar."""
    for place in range(40):
        words = np.flatnonzero(flagged(client.get(f"/api/file/documents/{place}"), "exag"))
        if len(words):
            found = client.get(f"/api/file/documents/{place}/words/{words[0]}")
            return place, int(words[0]), found["exemplars"][0]
    raise AssertionError("ExAG flags no word")


def test_a_relabel_is_previewed_made_and_undone(
    client: Client, bench: Workbench, splits: Splits, version: int
) -> None:
    place, word, exemplar = a_flip(client)
    edit = {"kind": "relabel", "id": exemplar["id"], "label": ["negative"]}
    told = client.preview(edit, "exag")
    auditor = Auditor.open(bench.folder)
    literal = auditor.preview(
        lambda trial: trial.relabel(exemplar["id"], "negative"), splits["test"], rule="exag"
    )
    assert [(each["id"], each["position"]) for each in told["flips"]] == [
        (flip.id, flip.position) for flip in literal.flips
    ]
    assert (place, word) in [(each["place"], each["position"]) for each in told["flips"]]
    assert told["documents"] == 40
    assert client.get("/api/support")["version"] == version
    made = client.post(
        "/api/support/edits", {"edit": edit, "version": version, "reason": "why not", "author": "bo"}
    )
    assert (made["who"], made["why"]) == ("bo", "why not")
    assert not flagged(client.get(f"/api/file/documents/{place}"), "exag")[word]
    (now,) = Auditor.open(bench.folder).label([splits["test"][place]], rule="knn", admit=True)
    assert client.get(f"/api/file/documents/{place}")["admitted"] == now.admitted
    listed = client.get(f"/api/file/documents?start={place}&count=1")["documents"][0]
    assert listed["admitted"] == now.admitted
    undone = client.post("/api/support/undo", {"version": made["number"]})
    assert flagged(client.get(f"/api/file/documents/{place}"), "exag")[word]
    history = client.get("/api/support")["history"]
    assert [each["number"] for each in history[:2]] == [undone["number"], made["number"]]
    redone = client.post("/api/support/redo", {"version": undone["number"]})
    assert not flagged(client.get(f"/api/file/documents/{place}"), "exag")[word]
    assert redone["version"] == made["version"]


def test_the_later_of_two_editors_is_told(client: Client, version: int) -> None:
    _, _, exemplar = a_flip(client)
    edit = {"kind": "relabel", "id": exemplar["id"], "label": ["negative"]}
    client.post("/api/support/edits", {"edit": edit, "version": version})
    other = {"kind": "remove", "id": client.get("/api/file/documents/1/words/0")["exemplars"][0]["id"]}
    told = client.post("/api/support/edits", {"edit": other, "version": version}, status=409)
    assert told["error"].startswith("somebody else has edited the support set")
    assert client.post("/api/support/undo", {"version": version}, status=409)
    assert client.get("/api/support")["version"] == version + 1


def test_an_added_text_is_found_and_a_removed_one_is_not(client: Client, version: int) -> None:
    text = "What an utterly marvellous zebra this was ."
    edit = {"kind": "add", "text": text, "label": ["positive"]}
    assert client.preview(edit, "knn")["documents"] == 40
    made = client.post("/api/support/edits", {"edit": edit, "version": version})
    assert client.get("/api/support")["documents"] == 81
    id = made["what"].split("'")[1]
    assert client.get(f"/api/support/document?id={id}")["tokens"] == text.split()
    view = client.post("/api/label", {"text": text})
    removed = client.post(
        "/api/support/edits", {"edit": {"kind": "remove", "id": id}, "version": made["number"]}
    )
    assert removed["kind"] == "remove"
    for word in range(len(view["tokens"])):
        found = client.get(f"/api/texts/{view['key']}/words/{word}")["exemplars"]
        assert id not in [each["id"] for each in found]


def test_the_open_file_is_looked_up_again_when_exemplars_go(
    client: Client, bench: Workbench, splits: Splits, version: int
) -> None:
    place, word, exemplar = a_flip(client)
    client.post("/api/support/edits", {"edit": {"kind": "remove", "id": exemplar["id"]}, "version": version})
    now = Auditor.open(bench.folder)

    def same() -> None:
        view = client.get(f"/api/file/documents/{place}")
        (told,) = now.label([splits["test"][place]], rule="knn", admit=True)
        assert flagged(view, "knn") == told.decisions.tolist()
        assert view["admitted"] == told.admitted
        found = client.get(f"/api/file/documents/{place}/words/{word}")["exemplars"]
        assert exemplar["id"] not in [each["id"] for each in found]

    same()  # at once, and when all of the file was looked up
    for job in client.get("/api/jobs"):
        client.wait(job["id"])
    assert bench.file is not None
    assert bench.file.number == version + 1
    same()
    listed = client.get("/api/file/documents?count=100")["documents"]
    told = now.label(splits["test"], rule="knn", admit=True)
    assert [each["admitted"] for each in listed] == [own.admitted for own in told]


def test_a_word_is_relabelled(client: Client, version: int) -> None:
    _, _, exemplar = a_flip(client)
    edit = {"kind": "relabel-word", "id": exemplar["id"], "position": exemplar["position"], "label": None}

    def now() -> Any:
        return client.get(f"/api/support/document?id={exemplar['id']}")["word_labels"][exemplar["position"]]

    assert now() in (["positive"], [])
    for label in (None, ["positive"], []):
        changed = {**edit, "label": label}
        version = client.post("/api/support/edits", {"edit": changed, "version": version})["number"]
        assert now() == label


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ({"kind": "relabel", "id": "nobody", "label": ["negative"]}, "there is no document 'nobody'"),
        ({"kind": "relabel", "id": "nobody", "label": []}, "it must have one of"),
        ({"kind": "add", "label": ["positive"]}, "nothing to add"),
        ({"kind": "add", "label": ["so-so"], "text": "Fine ."}, "so-so"),
    ],
)
def test_edits_that_make_no_sense_are_told(
    client: Client, edit: dict[str, Any], why: str, version: int
) -> None:
    body = json.dumps({"edit": edit, "version": version}).encode()
    answer = client.ask("POST", "/api/support/edits", body, {**CSRF, "content-type": "application/json"})
    assert answer.status in (400, 404)
    assert why in answer.json["error"]
    assert client.get("/api/support")["version"] == version


# -- marks ------------------------------------------------------------------------------------------------


def test_ten_marked_documents_set_the_boundary_and_back(serve: Serve, splits: Splits, tmp_path: Path) -> None:
    bench, client = serve()
    client.wait(bench.open("test.jsonl", splits["test"], fingerprint="test").id)
    before = bench.model.word_boundaries
    found = client.get("/api/marks")
    assert found["classes"] == ["positive"]
    assert len(found["documents"]) == 20
    for n, each in enumerate(found["documents"][:10]):
        document = splits["test"][each["place"]]
        truth = [i for i, label in enumerate(document.token_labels or ()) if label == "1"]
        if n == 9:
            short = client.post("/api/marks/boundary", {}, status=400)
            assert short["error"] == "mark 1 more document: 10 set a boundary"
        saved = client.send("PUT", f"/api/marks/{each['place']}", {"marks": [truth], "revision": 0})
        assert saved == {"revision": 1, "marked": n + 1}
    first = found["documents"][0]["place"]
    late = client.send("PUT", f"/api/marks/{first}", {"marks": [[0]], "revision": 0}, status=409)
    assert "somebody else" in late["error"]
    (tmp_path / "marked.jsonl").write_bytes(client.ask("GET", "/api/marks/export").body)
    exported = read_documents(tmp_path / "marked.jsonl")
    assert [d.token_labels for d in exported] == [
        splits["test"][each["place"]].token_labels for each in found["documents"][:10]
    ]
    told = client.post("/api/marks/boundary", {"beta": 0.5})
    assert bench.model.word_boundaries == before
    saved = client.post("/api/marks/boundary", {"beta": 0.5, "save": True})
    after = saved["classes"][0]["after"]
    assert told["classes"] == saved["classes"]
    assert load_model(bench.folder).word_boundaries == (after,) == bench.model.word_boundaries
    assert client.get("/api/file/documents/0")["rules"]["knn"].startswith(
        "the boundary of the words has moved"
    )
    interval = saved["classes"][0]["precision"]
    assert interval["low"] <= interval["high"]
    client.post("/api/marks/boundary/undo")
    assert load_model(bench.folder).word_boundaries == before
    assert client.get("/api/file/documents/0")["rules"]["knn"] is None


def test_marks_that_make_no_sense_are_told(client: Client) -> None:
    place = client.get("/api/marks")["documents"][0]["place"]
    for marks, why in (([[10_000]], "a mark is on another"), ([[0], [1]], "marks for 2 classes")):
        told = client.send("PUT", f"/api/marks/{place}", {"marks": marks, "revision": 0}, status=400)
        assert why in told["error"]


# -- the queue --------------------------------------------------------------------------------------------


def test_the_queue_survives_a_crash_and_feeds_the_support_set(
    serve: Serve, splits: Splits, made: Path
) -> None:
    bench, client = serve()
    client.wait(bench.open("test.jsonl", splits["test"], fingerprint="test").id)
    queue = client.get("/api/queue")
    places = [each["place"] for each in queue["documents"]]
    refused = [
        each["place"] for each in client.get("/api/file/documents?admitted=false&count=100")["documents"]
    ]
    weakest = [
        each["place"] for each in client.get("/api/file/documents?order=weakest&count=100")["documents"]
    ]
    assert places == [place for place in weakest if place in refused]
    for place in places[:2]:
        client.send("PUT", f"/api/queue/{place}", {"label": ["negative"], "revision": 0})
    client.send("PUT", f"/api/queue/{places[0]}", {"label": ["positive"], "revision": 0}, status=409)
    client.send("DELETE", f"/api/queue/{places[1]}?revision=1")
    client.send("PUT", f"/api/queue/{places[1]}", {"label": ["so-so"], "revision": 2}, status=400)
    # Another process, on the same folder, as after a crash
    again, other = serve(bench.folder)
    job = again.reopen()
    assert job is not None
    other.wait(job.id)
    kept = other.get("/api/queue")
    assert kept["decided"] == 1
    decisions = [each["decision"] for each in kept["documents"] if each["decision"]]
    assert decisions == [{"label": ["negative"], "added": False}]
    exported = [json.loads(line) for line in other.ask("GET", "/api/queue/export").body.splitlines()]
    assert [(each["id"], each["label"]) for each in exported] == [(splits["test"][places[0]].id, "negative")]
    edit = other.post("/api/queue/add", {"version": 1})
    assert edit["what"] == f"added document '{splits['test'][places[0]].id}'"
    assert other.post("/api/queue/add", {"version": 2}, status=400)["error"].startswith("nothing was decided")
    assert splits["test"][places[0]].id in Auditor.open(bench.folder).support


# -- files and jobs ---------------------------------------------------------------------------------------


def upload(client: Client, name: str, format: str, body: bytes) -> Any:
    answer = client.ask(
        "POST", f"/api/file?name={name}&format={format}", body, {**CSRF, "content-type": "text/plain"}
    )
    assert answer.status == 200, answer.body
    return client.wait(answer.json["id"])


def test_files_are_opened_closed_and_opened_again(serve: Serve) -> None:
    _, client = serve()
    assert client.get("/api/file")["name"] is None
    assert client.ask("GET", "/api/file/documents").status == 404
    upload(client, "a.csv", "csv", "text,label\nIt was superb .,positive\n坏的 خبر .,negative\n".encode())
    info = client.get("/api/file")
    assert (info["name"], info["documents"], info["has_truth"]) == ("a.csv", 2, True)
    assert client.get("/api/file/documents/1")["tokens"][0] == "坏的"
    upload(client, "b.txt", "text", b"No label here .\n")
    assert client.get("/api/file")["has_truth"] is False
    assert client.send("DELETE", "/api/file")["name"] is None
    bad = client.ask("POST", "/api/file?name=c.csv&format=csv", b"text,label\n", CSRF)
    assert (bad.status, bad.json["error"].startswith("c.csv")) == (400, True)


def test_an_open_can_be_cancelled(serve: Serve, splits: Splits) -> None:
    bench, client = serve()

    def slowly() -> Iterator[Document]:
        client.post(f"/api/jobs/{client.get('/api/jobs')[-1]['id']}/cancel")
        yield from splits["train"]

    job = bench.open("train", slowly(), fingerprint="slow", total=300)
    while not job.ended:
        time.sleep(0.01)
    assert job.status == "cancelled"
    assert bench.file is None


def test_a_build_can_be_cancelled_and_made_again(
    serve: Serve, made: Path, splits: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(load_model(made), tmp_path / "model")
    bench, client = serve(tmp_path / "model")
    client.wait(bench.open("train", splits["train"], fingerprint="train").id)
    told = Job.tell

    def cancelled(job: Job, step: str, done: int, total: int | None) -> None:
        if step == "build" and done:
            assert total == 300
            client.post(f"/api/jobs/{job.id}/cancel")
        told(job, step, done, total)

    monkeypatch.setattr(Job, "tell", cancelled)
    job = bench.jobs.get(client.post("/api/support/build")["id"])
    assert job is not None
    while not job.ended:
        time.sleep(0.01)
    assert job.status == "cancelled"
    assert client.get("/api/support")["exists"] is False
    monkeypatch.undo()
    bench, client = serve(tmp_path / "model")  # which finds what was begun
    opening = bench.reopen()
    assert opening is not None
    client.wait(opening.id)
    assert client.get("/api/support")["documents"] == 0
    assert b'id="build"' in client.ask("GET", "/correct").body
    client.wait(client.post("/api/support/build")["id"])
    assert client.get("/api/support")["documents"] == 300
    assert b'id="build"' not in client.ask("GET", "/correct").body


# -- more classes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("several", [False, True])
def test_any_number_of_classes(serve: Serve, tmp_path: Path, several: bool) -> None:
    folder = tmp_path / "model"
    documents = cued(120, several=several)
    tiny_labeler(epochs=20).fit(documents[:90], dev=documents[90:]).save(folder)
    bench, client = serve(folder)
    client.wait(bench.open("cued", cued(30, several=several, seed=5), fingerprint="cued").id)
    view = client.get("/api/file/documents/0")
    assert view["classes"] == ["food", "price", "staff"]
    assert view["rules"]["exag"] == "there is no support set yet"
    assert client.ask("GET", "/api/file/documents/0/words/0").status == 400
    client.wait(client.post("/api/support/build")["id"])
    for job in client.get("/api/jobs"):
        client.wait(job["id"])
    found = client.get("/api/file/documents/0/words/0?about=staff")
    assert (found["about"], found["beta"]) == ("staff", None)
    shown = client.get("/api/support")
    label = ["food", "staff"] if several else ["staff"]
    first = next(each for each in found["exemplars"] if each["label"] != label)
    edit = {"kind": "relabel", "id": first["id"], "label": label}
    assert client.preview(edit, "exag")["what"].startswith("relabelled document")
    client.post("/api/support/edits", {"edit": edit, "version": shown["version"]})
    assert client.get(f"/api/support/document?id={first['id']}")["label"] == label
    place = client.get("/api/marks")["documents"][0]["place"]
    marks: list[list[int]] = [[0], [], [0, 1]]
    answer = client.send(
        "PUT", f"/api/marks/{place}", {"marks": marks, "revision": 0}, status=200 if several else 409
    )
    assert ("revision" in answer) == several
    for name in ("features?class=food", "features", "reliability", "compare", "model", "mark", "queue"):
        assert client.ask("GET", f"/{name}").status == 200
    shutil.rmtree(folder / "workbench")
