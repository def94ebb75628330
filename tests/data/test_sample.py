"""The built-in samples: the same everywhere; those of two classes balanced, and not given away by single words."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from exaudit.data.document import Document
from exaudit.data.readers import read_documents
from exaudit.data.sample import (
    SAMPLE_SIZES,
    SampleKind,
    learner_templates,
    review_templates,
    review_topics,
    review_words,
    sample_documents,
    sample_splits,
    write_sample,
)
from exaudit.data.sample.draw import Draw
from exaudit.data.sample.learner import _Item, _read_item, _render
from exaudit.data.sample.learner_words import FILLERS, noun_forms, verb_forms
from exaudit.data.sample.marked import read_marks
from exaudit.errors import SettingError

KINDS: tuple[SampleKind, ...] = ("reviews", "learner")
ALL_KINDS: tuple[SampleKind, ...] = (*KINDS, "requests", "complaints")
# The same under Python 3.11, 3.12 and 3.13. Whoever changes a template or a word changes the digests on purpose.
FROZEN_DRAWS = [676, 929, 655, 733, 366]
FROZEN_SHUFFLE = list("efcdab")
FROZEN_SAMPLES = {
    "reviews": "5000a07092fa2409",
    "learner": "4bad843f0f96977c",
    "requests": "dddbef9804e8464f",
    "complaints": "feff59fa3fc6fd1d",
}
TRUE = {"1", "i"}
POSITIVE = {"positive", "i"}


@pytest.fixture(scope="module")
def splits() -> dict[str, dict[str, list[Document]]]:
    return {kind: sample_splits(kind) for kind in ALL_KINDS}


def word(token: str) -> str:
    return token.lower().strip('.,;:!?"') or token


def truths(documents: Iterable[Document]) -> Iterable[tuple[str, bool]]:
    for document in documents:
        for token, label in zip(document.tokens, document.token_labels or (), strict=True):
            yield word(token), label in TRUE


# The draws


def test_draws_use_nothing_but_random_so_that_they_never_change() -> None:
    # Frozen values: a change here changes everybody's sample.
    draw = Draw("a", 1)
    assert [draw.below(1000) for _ in range(5)] == FROZEN_DRAWS
    assert Draw("a", 1).shuffled("abcdef") == FROZEN_SHUFFLE


def test_a_shuffle_keeps_every_item() -> None:
    assert sorted(Draw(3).shuffled(range(50))) == list(range(50))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_same_seed_gives_the_same_documents_whatever_the_count(kind: SampleKind) -> None:
    whole = sample_documents(kind, 30, seed=7)
    assert whole == sample_documents(kind, 30, seed=7)
    assert whole[20:] == sample_documents(kind, 10, seed=7, start=20)
    assert [d.text for d in whole] != [d.text for d in sample_documents(kind, 30, seed=8)]
    assert len({d.id for d in whole + sample_documents(kind, 30, seed=8)}) == 60


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_default_sample_is_frozen(kind: SampleKind, splits: dict[str, dict[str, list[Document]]]) -> None:
    digest = hashlib.sha256()
    for documents in splits[kind].values():
        for d in documents:
            digest.update(repr((d.id, d.text, d.label, d.token_labels)).encode())
    assert digest.hexdigest()[:16] == FROZEN_SAMPLES[kind]


# What every document is like


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_well_formed(kind: SampleKind, splits: dict[str, dict[str, list[Document]]]) -> None:
    fewest, most = (15, 45) if kind == "reviews" else (8, 20)
    for document in (d for documents in splits[kind].values() for d in documents):
        assert document.text.split() == list(document.tokens)
        assert [document.text[a:b] for a, b in document.spans()] == list(document.tokens)
        assert fewest <= len(document.tokens) <= most
        assert not re.search(r"[][{}<>_~/|]", document.text), "markup left in the text"
        assert document.token_labels is not None
        assert (document.label in POSITIVE) == any(label in TRUE for label in document.token_labels)


def test_reviews_have_two_to_five_sentences(splits: dict[str, dict[str, list[Document]]]) -> None:
    counts = Counter(len(re.findall(r"[.!](?:\s|$)", d.text)) for d in splits["reviews"]["train"])
    assert set(counts) == {2, 3, 4, 5}


@pytest.mark.parametrize(("kind", "share"), [("reviews", 0.5), ("learner", 0.6)])
def test_classes_are_balanced(
    kind: SampleKind, share: float, splits: dict[str, dict[str, list[Document]]]
) -> None:
    train = splits[kind]["train"]
    assert sum(d.label in POSITIVE for d in train) / len(train) == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_splits_have_their_sizes_and_no_text_in_common(
    kind: SampleKind, splits: dict[str, dict[str, list[Document]]]
) -> None:
    assert {split: len(documents) for split, documents in splits[kind].items()} == dict(SAMPLE_SIZES[kind])
    texts = [d.text for documents in splits[kind].values() for d in documents]
    assert len(texts) == len(set(texts))


def test_length_does_not_tell_the_classes_apart(splits: dict[str, dict[str, list[Document]]]) -> None:
    for kind in KINDS:
        lengths = defaultdict(list)
        for d in splits[kind]["train"]:
            lengths[d.label in POSITIVE].append(len(d.tokens))
        means = [sum(of) / len(of) for of in lengths.values()]
        assert abs(means[0] - means[1]) < 0.1 * means[0]


# The truth is not trivial


def test_there_are_hundreds_of_templates_and_fillers() -> None:
    own = [s for t in review_topics.TOPICS for s in (*t.neutral, *t.praise, *t.complaint)]
    general = [s for name in review_templates.__all__ for s in getattr(review_templates, name)]
    assert len({*own, *general}) >= 300
    adjectives = {
        w for pools in (review_words.GOOD, review_words.BAD) for pool in pools.values() for w in pool
    }
    nouns = {n for t in review_topics.TOPICS for pool in t.aspects.values() for n in pool}
    assert len(adjectives) >= 150
    assert len(nouns) >= 120
    situations = learner_templates.SITUATIONS
    assert len({s for it in situations for s in (*it.openings, *it.cores, *it.endings)}) >= 200
    assert sum(map(len, FILLERS.values())) >= 100


def test_praise_and_complaint_share_their_adjectives_with_the_other_class(
    splits: dict[str, dict[str, list[Document]]],
) -> None:
    seen = Counter((word(t), d.label) for d in splits["reviews"]["train"] for t in d.tokens)
    for adjective in ("good", "wonderful", "excellent", "awful", "terrible", "dreadful"):
        assert seen[adjective, "positive"] > 0
        assert seen[adjective, "negative"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_carry_truth_also_occur_without(
    kind: SampleKind, splits: dict[str, dict[str, list[Document]]]
) -> None:
    carried, plain = Counter[str](), Counter[str]()
    for token, true in truths(splits[kind]["train"]):
        (carried if true else plain)[token] += 1
    both = carried.keys() & plain.keys()
    assert len(both) > 0.5 * len(carried)
    assert sum(carried[w] for w in both) > 0.5 * carried.total()


@pytest.mark.parametrize("kind", KINDS)
def test_looking_words_up_by_document_label_is_a_poor_labeller(
    kind: SampleKind, splits: dict[str, dict[str, list[Document]]]
) -> None:
    documents_with: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    train = splits[kind]["train"]
    for d in train:
        for w in {word(t) for t in d.tokens}:
            documents_with[w][d.label in POSITIVE] += 1
    prior = sum(d.label in POSITIVE for d in train) / len(train)

    def f1(margin: float) -> float:
        """Token F1 on test of: a word is positive if its share of positive documents exceeds the prior so much."""
        share = {w: (1 + pos) / (2 + neg + pos) for w, (neg, pos) in documents_with.items()}
        hits = Counter((share.get(w, 0.0) > prior + margin, true) for w, true in truths(splits[kind]["test"]))
        return 2 * hits[True, True] / (2 * hits[True, True] + hits[True, False] + hits[False, True])

    scores = [f1(margin / 50) for margin in range(20)]
    assert 0.05 < max(scores) < 0.6  # not hopeless: words do tell something


def test_denied_praise_is_not_praise_and_denied_complaint_is() -> None:
    text = "The soup was [not bad] at all. My old phone was good, but this is a [excellent] one."
    tokens, truth = read_marks(text, "1", "0")
    assert (
        " ".join(tokens)
        == "The soup was not bad at all. My old phone was good, but this is an excellent one."
    )
    assert [t for t, label in zip(tokens, truth, strict=True) if label == "1"] == ["not", "bad", "excellent"]


def test_marks_are_closed_and_only_in_praise() -> None:
    positive = {"PRAISE", "DENIED_COMPLAINT", "GOOD_CONTRAST", "BUT_GOOD"}
    for name in review_templates.__all__:
        for sentence in getattr(review_templates, name):
            marks = "".join(re.findall(r"[][]", sentence))
            assert re.fullmatch(r"(\[\])*", marks), sentence
            assert (bool(marks) or "{loved}" in sentence) == (name in positive), sentence
    for topic in review_topics.TOPICS:
        assert all("[" in sentence for sentence in topic.praise)
        assert not any("[" in s or "{loved}" in s for s in (*topic.complaint, *topic.neutral))


# Learner errors


@pytest.mark.parametrize(
    ("source", "written", "expected"),
    [
        ("goes/go", "go", "She [go] home"),
        ("the/~", "", "She [home]"),
        ("~/the", "the", "She [the] home"),
        ("listens_to/listens", "listens", "She listens [home]"),
        ("to_go/go", "go", "She [go] home"),
        ("to_go/to_going", "to going", "She to [going] home"),
        ("visited/has_visited", "has visited", "She [has] visited home"),
        ("where_he_is/where_is_he", "where is he", "She where [is] [he] home"),
    ],
)
def test_what_differs_is_wrong_and_what_follows_a_gap(source: str, written: str, expected: str) -> None:
    items = [_Item(("she",), ()), _read_item(source, "third"), _Item(("home",), ())]
    assert tuple(written.split()) in items[1].wrong
    tokens, labels = _render(items, {1: tuple(written.split())})
    assert " ".join(f"[{t}]" if x == "i" else t for t, x in zip(tokens, labels, strict=True)) == expected


def test_errors_are_one_to_three_changes_of_the_correct_sentence(
    splits: dict[str, dict[str, list[Document]]],
) -> None:
    documents = [d for of in splits["learner"].values() for d in of]
    correct = {d.meta["correct"] for d in documents}
    for d in documents:
        assert (d.text == d.meta["correct"]) == (d.label == "c")
        assert d.text not in correct or d.label == "c", "an error that makes another correct sentence"
        runs = re.findall("i+", "".join(d.token_labels or ()))
        assert len(runs) <= 3
        kept = [t.lower() for t, x in zip(d.tokens, d.token_labels or (), strict=True) if x == "c"]
        rest = iter(d.meta["correct"].lower().split())
        assert all(token in rest for token in kept), (
            "a token that is not in the correct sentence counts as correct"
        )


def test_many_kinds_of_error_occur(splits: dict[str, dict[str, list[Document]]]) -> None:
    wrong = {w for w, true in truths(splits["learner"]["train"]) if true}
    assert {"informations", "peoples", "becouse", "is", "are", "on", "their", "goed", "go"} <= wrong


def test_word_forms() -> None:
    assert verb_forms("study")["third"] == "studies"
    assert verb_forms("travel")["ing"] == "travelling"
    assert verb_forms("see") == {
        "base": "see", "third": "sees", "past": "saw", "participle": "seen", "ing": "seeing", "regular": "seed",
    }  # fmt: skip
    assert verb_forms("go")["third"] == "goes"
    assert verb_forms("arrive")["past"] == "arrived"
    assert noun_forms("child") == ("children", ("childrens", "child"))
    assert noun_forms("story") == ("stories", ("story", "storys"))


# Files and bad input


def test_written_files_hold_the_splits(tmp_path: Path) -> None:
    sizes = {"train": 20, "dev": 5, "test": 7}
    paths = write_sample(tmp_path / "new" / "folder", seed=3, sizes=sizes)
    assert sorted(p.name for p in paths) == sorted(p.name for p in (tmp_path / "new" / "folder").iterdir())
    assert len(paths) == 21
    for split in sizes:
        reviews = sample_splits("reviews", seed=3, sizes=sizes)[split]
        folder = paths[0].parent
        with open(folder / f"reviews.{split}.csv", encoding="utf-8", newline="") as file:
            assert [(r["text"], r["label"]) for r in csv.DictReader(file)] == [
                (d.text, d.label) for d in reviews
            ]
        rows = [json.loads(x) for x in (folder / f"reviews.{split}.jsonl").read_text("utf-8").splitlines()]
        assert [(r["id"], r["text"], tuple(r["token_labels"]), r["topic"]) for r in rows] == [
            (d.id, d.text, d.token_labels, d.meta["topic"]) for d in reviews
        ]
        blocks = (folder / f"learner.{split}.tsv").read_text("utf-8").strip().split("\n\n")
        learner = sample_splits("learner", seed=3, sizes=sizes)[split]
        assert [[tuple(line.split("\t")) for line in block.split("\n")] for block in blocks] == [
            list(zip(d.tokens, d.token_labels or (), strict=True)) for d in learner
        ]


def test_written_files_are_read_back(tmp_path: Path) -> None:
    sizes = {"train": 20, "dev": 5}
    write_sample(tmp_path, sizes=sizes)
    reviews, learner = sample_splits("reviews", sizes=sizes), sample_splits("learner", sizes=sizes)
    for split in sizes:
        table = read_documents(tmp_path / f"reviews.{split}.csv")
        assert [(d.text, d.label) for d in table] == [(d.text, d.label) for d in reviews[split]]
        for name, expected in ((f"reviews.{split}.jsonl", reviews), (f"learner.{split}.tsv", learner)):
            read = read_documents(tmp_path / name)
            assert [(d.tokens, d.token_labels) for d in read] == [
                (d.tokens, d.token_labels) for d in expected[split]
            ]


def test_bad_requests_say_what_to_do() -> None:
    with pytest.raises(SettingError, match="'poems'; choose one of reviews, learner, requests, complaints"):
        sample_documents("poems", 3, seed=0)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="reviews, learner"):
        sample_splits("poems")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="-1"):
        sample_documents("reviews", -1, seed=0)
    assert sample_documents("reviews", 0, seed=0) == []
