"""Which documents are chosen to be marked, what they stand for, and how they are written."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.data.readers import read_documents
from exaudit.errors import DataError, SettingError
from exaudit.model.boundaries import with_boundary
from exaudit.model.model import Model
from exaudit.model.scores import TokenScores
from exaudit.model.suggestion import _chances, choose, suggest
from tiny import cued, reviews, tiny_labeler


@pytest.fixture(scope="module")
def model() -> Model:
    return tiny_labeler(epochs=6).fit(reviews(120), dev=reviews(30, seed=1)).model_


@pytest.fixture(scope="module")
def pool() -> list[Document]:
    return [replace(d, id=f"p{n}", label=None, token_labels=None) for n, d in enumerate(reviews(150, seed=3))]


def test_the_same_are_chosen_again_and_others_by_another_seed(model: Model, pool: list[Document]) -> None:
    def ids(seed: int) -> list[str]:
        return [one.document.id for one in suggest(model, pool, 12, seed=seed)]

    first = ids(0)
    assert first == ids(0)
    assert len(set(first)) == 12
    assert first == sorted(first, key=lambda id_: int(id_[1:])), "in the order of the pool"
    assert first != ids(1)


def test_each_stands_for_one_over_its_chance(model: Model, pool: list[Document]) -> None:
    """Drawn often enough, the documents that are drawn stand for the whole pool."""
    scores = model.label(pool)
    times: Counter[str] = Counter()
    totals, stands_for = [], {}
    for seed in range(300):
        drawn = choose(scores, model.labels, 20, seed=seed)
        chosen = {one.document.id: one.stands_for for one in drawn}
        totals.append(sum(chosen.values()))
        times.update(chosen.keys())
        stands_for |= chosen
    assert np.mean(totals) == pytest.approx(len(pool), rel=0.05)
    assert len(times) > 0.9 * len(pool), "any document may be drawn"
    often = [id_ for id_, count in times.items() if count > 40]
    assert often
    for id_ in often:
        assert 300 / times[id_] == pytest.approx(stands_for[id_], rel=0.5)


def test_documents_with_more_words_near_the_boundary_are_likelier() -> None:
    """Of 100 documents, 20 have four words above the boundary or near it; all others are idle."""
    scored = []
    for n in range(100):
        document = Document.from_tokens([f"{letter}{n}" for letter in "abcdef"], id=str(n))
        near = [2.0, 1.0, -0.1, -0.2] if n < 20 else [-3.0] * 4
        positive = np.array([*near, -3.0, -3.0], np.float32)
        scored.append(TokenScores(document, 1.0, np.zeros(6, np.float32), positive))
    chosen = choose(scored, LabelSet.binary("negative", "positive"), 20)
    assert {one.near for one in chosen if int(one.document.id) < 20} == {3}  # all but the highest
    assert {one.near for one in chosen if int(one.document.id) >= 20} == {0}
    # The 40 flagged words: at half, 20 words lie above, then 40; at twice and four times, 80, since the rest is equal.
    dense, bare = 0.2 / 100 + 0.8 / 20, 0.2 / 100
    assert [one.stands_for for one in chosen] == pytest.approx(
        [1 / (20 * dense) if int(one.document.id) < 20 else 1 / (20 * bare) for one in chosen]
    )
    assert len(chosen) == 20
    assert sum(int(one.document.id) < 20 for one in chosen) in (16, 17)


def test_chances_are_at_most_one_and_add_up() -> None:
    np.testing.assert_allclose(_chances(np.array([1.0, 1, 2]), 2), [0.5, 0.5, 1.0])
    np.testing.assert_allclose(_chances(np.array([1.0, 1, 98]), 2), [0.5, 0.5, 1.0])
    np.testing.assert_allclose(_chances(np.array([1.0, 9, 90]), 5), 1.0)


def test_copies_and_near_copies_are_marked_once(model: Model, pool: list[Document]) -> None:
    shouted = [
        Document.from_tokens([t.upper() for t in d.tokens], id=f"{d.id}-again")
        for d in pool[:10]
        for _ in "ab"
    ]
    chosen = suggest(model, [*pool[:10], *shouted], 30)
    assert sorted(one.document.id for one in chosen) == sorted(d.id for d in pool[:10])
    assert [one.stands_for for one in chosen] == [3.0] * 10
    words = [f"w{n}" for n in range(20)]
    near = [Document.from_tokens([*words, f"x{n}"], id=str(n)) for n in range(6)]
    assert len(suggest(model, near, 4)) == 1


def test_what_is_written_is_read_again(model: Model, pool: list[Document], tmp_path: Path) -> None:
    pool = [replace(d, meta={"shop": "7"}) for d in pool]
    chosen = suggest(model, pool, 6)
    lines, words = tmp_path / "mark.jsonl", tmp_path / "mark.conll"
    lines.write_text("".join(json.dumps(one.to_json()) + "\n" for one in chosen))
    words.write_text("\n".join(one.to_conll() for one in chosen))
    for path in (lines, words):
        found = read_documents(path)
        assert [d.id for d in found] == [one.document.id for one in chosen]
        for document, one in zip(found, chosen, strict=True):
            assert document.tokens == one.scores.document.tokens
            assert document.token_labels == tuple(str(int(x)) for x in one.scores.views[0].decisions)
            assert float(document.meta["stands_for"]) == pytest.approx(one.stands_for, rel=1e-3)
            assert document.label is None, "a decision is not a label"
        with pytest.raises(DataError, match="not marked yet"):
            with_boundary(model, found)
        done = tmp_path / f"done{path.suffix}"
        done.write_text(path.read_text().replace("marked = false", "marked = true").replace(
            '"marked": false', '"marked": true'))  # fmt: skip
        assert with_boundary(model, read_documents(done)).record["boundary"]["documents"] == 6
    assert read_documents(lines)[0].meta["shop"] == "7"


@pytest.mark.parametrize("several", [False, True])
def test_more_classes(several: bool, tmp_path: Path) -> None:
    train, dev = cued(90, several=several), cued(30, several=several, seed=1)
    model = tiny_labeler(epochs=3).fit(train, dev=dev).model_
    chosen = suggest(model, cued(40, several=several, seed=2), 8)
    for one in chosen:
        marks = one.document.token_labels or ()
        own = [tuple(model.labels.names[c] for c in classes) for classes in one.scores.word_classes]  # type: ignore[union-attr]
        assert [(m,) if isinstance(m, str) else m for m in marks] == [names or ("O",) for names in own]
    path = tmp_path / "mark.conll"
    path.write_text("\n".join(one.to_conll() for one in chosen))
    found = read_documents(path, label_separator="|")
    assert [d.token_labels for d in found] == [one.document.token_labels for one in chosen]


def test_the_reason_is_told(model: Model, pool: list[Document]) -> None:
    (one, *_) = suggest(model, pool, 3)
    told = replace(one, flagged=1, near=2, stands_for=1.2).why
    name = model.labels.names[one.scores.decided[0]]
    length = len(one.document.tokens)
    assert told == (f"decided {name}, 1 word of {length} flagged, 2 near the boundary; stands for 1 document")


def test_bad_input(model: Model, pool: list[Document]) -> None:
    with pytest.raises(SettingError, match="`count` is 0"):
        suggest(model, pool, 0)
    with pytest.raises(SettingError, match="`seed` is -1"):
        suggest(model, pool, 3, seed=-1)
    with pytest.raises(SettingError, match="no documents to choose from"):
        suggest(model, [])
    assert len(suggest(model, pool[:2], 5)) == 2
