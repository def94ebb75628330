"""The built-in samples of many classes: every class there, its words marked, and words alone not enough."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from exaudit.data.document import Document
from exaudit.data.readers import read_documents
from exaudit.data.sample import request_frames, sample_splits, write_sample
from exaudit.data.sample.complaint_aspects import ASPECTS
from exaudit.data.sample.marked import capitalised, fill, read_marks
from exaudit.data.sample.requests import INTENTS

CLASSES = {
    "requests": {
        "street light", "traffic light", "pothole", "graffiti", "fallen tree", "dumped rubbish", "abandoned car",
        "noise", "pests", "missed bin", "parking permit", "parking fine", "building permit", "hall hire",
        "new bin", "passport", "birth certificate", "council tax", "change of address", "school place",
    },
    "complaints": {
        "cleanliness", "noise", "staff", "breakfast", "price", "wifi", "location", "heating",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def requests() -> dict[str, list[Document]]:
    return sample_splits("requests")


@pytest.fixture(scope="module")
def complaints() -> dict[str, list[Document]]:
    return sample_splits("complaints")


def every(splits: dict[str, list[Document]]) -> list[Document]:
    return [document for documents in splits.values() for document in documents]


def carried(document: Document) -> set[str]:
    assert document.token_labels is not None
    return set(document.token_labels) - {"O"}


def word(token: str) -> str:
    return token.lower().strip('.,;:!?"')


# What every document is like


def test_a_request_has_one_class_and_words_of_that_class_alone(requests: dict[str, list[Document]]) -> None:
    for document in every(requests):
        assert carried(document) == {document.label}, document.text
        assert 8 <= len(document.tokens) <= 35
    for documents in requests.values():
        counts = Counter(document.label for document in documents)
        assert counts.keys() == CLASSES["requests"]
        assert min(counts.values()) > 0.5 * len(documents) / 20


def test_a_complaint_has_words_of_exactly_its_labels(complaints: dict[str, list[Document]]) -> None:
    for document in every(complaints):
        assert isinstance(document.label, tuple)
        assert carried(document) == set(document.label), document.text
        assert len(document.tokens) <= 60
        assert 2 <= len(re.findall(r"[.!](?:\s|$)", document.text)) <= 4
    for documents in complaints.values():
        assert {len(document.label or ()) for document in documents} == {0, 1, 2, 3, 4}
        counts = Counter(label for document in documents for label in document.label or ())
        assert counts.keys() == CLASSES["complaints"]
        assert min(counts.values()) > 0.1 * len(documents)


def test_labels_keep_one_order(complaints: dict[str, list[Document]]) -> None:
    order = [aspect.name for aspect in ASPECTS]
    for document in every(complaints):
        assert sorted(document.label or (), key=order.index) == list(document.label or ())


def test_texts_are_well_formed(
    requests: dict[str, list[Document]], complaints: dict[str, list[Document]]
) -> None:
    for document in every(requests) + every(complaints):
        assert document.text.split() == list(document.tokens)
        assert not re.search(r"[][{}<>_~/|]", document.text), "markup left in the text"
        assert not re.search(r"(?i)\b(a a|an an|the the|the a|a the|the my)\b|,,|\.\.", document.text)


# Templates


def test_every_class_has_many_phrasings() -> None:
    assert {intent.name for intent in INTENTS} == CLASSES["requests"]
    for intent in INTENTS:
        assert len(set(intent.sentences)) >= 12
        assert len(set(intent.pairs)) >= 3
    assert {aspect.name for aspect in ASPECTS} == CLASSES["complaints"]
    for aspect in ASPECTS:
        assert len(set(aspect.complaints)) >= 12
        assert len(set(aspect.others)) >= 8


def test_marks_are_closed_and_only_where_evidence_is() -> None:
    marked = [t for i in INTENTS for t in (*i.sentences, *i.pairs, *i.nouns)]
    marked += [t for aspect in ASPECTS for t in aspect.complaints]
    for template in marked:
        assert re.fullmatch(r"(\[\])*", "".join(re.findall(r"[][]", template))), template
    plain = [t for aspect in ASPECTS for t in (*aspect.others, *aspect.rumours)]
    plain += [t for name in request_frames.__all__ for t in getattr(request_frames, name)]
    assert not any("[" in template for template in plain)


def test_slots_are_filled_from_left_to_right_and_within() -> None:
    asked: list[str] = []

    def choose(slot: str) -> str:
        asked.append(slot)
        return {"where": "in {street}", "street": "Mill Lane", "hole": "[hole]"}[slot]

    marked = capitalised(fill("a {hole} {where}, and a [awful] one", choose))
    assert asked == ["hole", "where", "street"]
    assert read_marks(marked, "pothole", "O") == (
        ["A", "hole", "in", "Mill", "Lane,", "and", "an", "awful", "one"],
        ["O", "pothole", "O", "O", "O", "O", "O", "pothole", "O"],
    )


# The truth is not trivial


def test_words_of_one_class_occur_in_others(requests: dict[str, list[Document]]) -> None:
    carries, occurs = defaultdict(set), defaultdict(set)
    for document in requests["train"]:
        for token, label in zip(document.tokens, document.token_labels or (), strict=True):
            occurs[word(token)].add(document.label)
            if label != "O":
                carries[word(token)].add(label)
    assert carries["permit"] == {"parking permit", "building permit"}
    assert carries["bin"] == {"missed bin", "new bin"}
    assert {"street light", "traffic light"} <= carries["light"]
    for name in ("passport", "graffiti", "noise", "council", "rats"):
        assert len(occurs[name]) > len(carries[name]), f"{name} is never mentioned in passing"


def test_landmarks_are_named_by_other_classes_alone(requests: dict[str, list[Document]]) -> None:
    for name, place in (("fallen tree", "the big oak"), ("traffic light", "by the traffic lights in")):
        naming = {document.label for document in every(requests) if place in document.text}
        assert len(naming) > 5
        assert name not in naming


def test_topics_of_complaints_are_also_praised(complaints: dict[str, list[Document]]) -> None:
    without: Counter[str] = Counter()
    for document in complaints["train"]:
        assert document.label is not None
        for topic, name in (
            ("wifi", "wifi"),
            ("breakfast", "breakfast"),
            ("staff", "staff"),
            ("heating", "heating"),
        ):
            without[topic] += name not in document.label and topic in map(word, document.tokens)
    assert min(without[topic] for topic in ("wifi", "breakfast", "staff", "heating")) > 20


def fitted(splits: dict[str, list[Document]], wanted: Sequence[bool], size: int) -> list[bool]:
    """Bag of words, one class against the rest: what it says of the test documents."""
    words = CountVectorizer()
    train = words.fit_transform([document.text for document in splits["train"][:size]])
    model = LogisticRegression(max_iter=300).fit(train, wanted[:size])
    return list(model.predict(words.transform([document.text for document in splits["test"]])))


@pytest.mark.parametrize("name", ["wifi", "heating"])
def test_a_bag_of_words_is_good_at_complaints_but_not_perfect(
    name: str, complaints: dict[str, list[Document]]
) -> None:
    told = {split: [name in (d.label or ()) for d in of] for split, of in complaints.items()}
    assert 0.7 < f1_score(told["test"], fitted(complaints, told["train"], 1500)) < 0.95


def test_a_bag_of_words_is_good_at_requests_but_not_perfect(requests: dict[str, list[Document]]) -> None:
    told = {split: [d.label for d in of] for split, of in requests.items()}
    words = CountVectorizer()
    train = words.fit_transform([document.text for document in requests["train"]])
    model = LogisticRegression(max_iter=300).fit(train, told["train"])
    accuracy = model.score(words.transform([document.text for document in requests["test"]]), told["test"])
    assert 0.88 < accuracy < 0.97


# Files


def test_requests_are_read_back(tmp_path: Path) -> None:
    write_sample(tmp_path, sizes={"dev": 30})
    expected = sample_splits("requests", sizes={"dev": 30})["dev"]
    table = read_documents(tmp_path / "requests.dev.csv")
    assert [(d.text, d.label) for d in table] == [(d.text, d.label) for d in expected]
    read = read_documents(tmp_path / "requests.dev.jsonl")
    assert [(d.tokens, d.label, d.token_labels) for d in read] == [
        (d.tokens, d.label, d.token_labels) for d in expected
    ]


def test_several_labels_are_joined_in_tables_and_lists_in_json(tmp_path: Path) -> None:
    write_sample(tmp_path, sizes={"dev": 30})
    expected = sample_splits("complaints", sizes={"dev": 30})["dev"]
    assert any(d.label == () for d in expected)
    with open(tmp_path / "complaints.dev.csv", encoding="utf-8", newline="") as file:
        table = [(row["text"], tuple(filter(None, row["label"].split("|")))) for row in csv.DictReader(file)]
    assert table == [(d.text, d.label) for d in expected]
    rows = [json.loads(line) for line in (tmp_path / "complaints.dev.jsonl").read_text("utf-8").splitlines()]
    assert [(r["text"], r["label"], r["token_labels"]) for r in rows] == [
        (d.text, list(d.label or ()), list(d.token_labels or ())) for d in expected
    ]
