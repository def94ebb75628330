"""A model cuts texts as it learnt to: by words or at white space, whoever hands them over, now and after loading."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.data.readers import read_documents
from exaudit.errors import SettingError
from exaudit.model.folder import load_model
from exaudit.model.labeler import Labeler
from exaudit.model.settings import Settings
from exaudit.model.train import train
from tiny import reviews, tiny_labeler

OLD = Path(__file__).with_name("written_by_0_1") / "frozen"
TEXT = "Truly great.<br />Not dull!"
WORDS = ("Truly", "great", ".", "Not", "dull", "!")


def texts() -> tuple[list[str], list[str]]:
    documents = reviews(60)
    return [d.text for d in documents], [str(d.label) for d in documents]


@pytest.mark.parametrize("how", ["words", "whitespace"])
def test_a_model_cuts_as_it_was_told_and_remembers(how: str, tmp_path: Path) -> None:
    expected = {"words": WORDS, "whitespace": tuple(TEXT.split())}[how]
    labeler = tiny_labeler(tokens=how, epochs=1).fit(*texts())
    assert labeler.model_.vocabulary is not None
    assert ("." in labeler.model_.vocabulary.to_list()) == (how == "words")
    labeler.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "model.json").read_text())["settings"]["tokens"] == how
    assert f"cut into tokens by: {how}" in (tmp_path / "model" / "README.md").read_text()
    again = Labeler.load(tmp_path / "model", device="cpu")
    assert again.tokens == how
    file = tmp_path / "texts.csv"
    file.write_text(f"text\n{TEXT}\n")
    for given in (
        TEXT,
        Document.from_text(TEXT),
        Document.from_text(TEXT, cut="whitespace"),
        *read_documents(file),
    ):
        (scores,) = again.label([given])
        assert scores.document.tokens == expected
        spans = scores.document.spans()
        assert [TEXT[start:end] for start, end in spans] == list(expected)
        assert [t["start"] for t in scores.to_json(again.model_.labels)["tokens"]] == [s for s, _ in spans]


def test_tokens_that_were_given_stay() -> None:
    model = tiny_labeler(epochs=1).fit(*texts()).model_
    marked = Document.from_text("So dull.", token_labels=("0", "1"))
    found = model.label([["So", "dull."], marked, Document.from_tokens(["So", "dull."])])
    assert {scores.document.tokens for scores in found} == {("So", "dull.")}


def test_a_support_set_is_cut_as_its_model_cuts(tmp_path: Path) -> None:
    words, labels = texts()
    tiny_labeler(tokens="whitespace", epochs=1).fit(words, labels).save(tmp_path / "model")
    auditor = Auditor.open(tmp_path / "model", device="cpu")
    documents = [
        Document.from_text(t, id=str(n), label=y) for n, (t, y) in enumerate(zip(words, labels, strict=True))
    ]
    auditor.build(documents[:20])
    assert auditor.support.documents([0])[0].tokens == tuple(words[0].split())
    audited, _ = auditor.audit(TEXT)
    assert audited.document.tokens == tuple(TEXT.split())


@pytest.mark.filterwarnings("ignore::exaudit.errors.ModelWarning")
def test_folders_of_0_1_cut_at_white_space(tmp_path: Path) -> None:
    model = load_model(Path(shutil.copytree(OLD, tmp_path / "old")), device="cpu")
    assert model.settings.tokens == "whitespace"
    (scores,) = model.label([TEXT])
    assert scores.document.tokens == tuple(TEXT.split())


def test_a_model_that_goes_on_from_another_cuts_as_that_did() -> None:
    first = tiny_labeler(tokens="whitespace", epochs=1).fit(*texts())
    second = tiny_labeler(epochs=1).fit(*texts(), init=first)
    assert second.model_.settings.tokens == "whitespace"
    assert second.label([TEXT])[0].document.tokens == tuple(TEXT.split())


def test_other_ways_are_refused() -> None:
    with pytest.raises(SettingError, match="`tokens` is words or whitespace"):
        Settings(tokens="bytes")


def marked(document: Document) -> Document:
    """With a label for every word between white space, and a full stop that sticks to the last."""
    return Document.from_text(
        document.text + ".", label=document.label, token_labels=["0"] * len(document.tokens)
    )


def test_a_model_of_words_between_white_space_cuts_texts_there(tmp_path: Path) -> None:
    """It learnt from `dull.`: it must not be handed `dull` and `.` later."""
    labeler = tiny_labeler(epochs=1).fit([marked(d) for d in reviews(60)])
    labeler.save(tmp_path / "model")
    again = load_model(tmp_path / "model", device="cpu")
    assert again.settings.tokens == "whitespace"
    (scores,) = again.label([TEXT])
    assert scores.document.tokens == tuple(TEXT.split())


def test_a_model_of_tokens_with_punctuation_apart_cuts_texts_into_words() -> None:
    documents = [Document.from_tokens(Document.from_text(d.text).tokens, label=d.label) for d in reviews(60)]
    model = tiny_labeler(epochs=1).fit(documents).model_
    (scores,) = model.label([TEXT])
    assert scores.document.tokens == WORDS


def test_texts_among_the_documents_decide_how_texts_are_cut() -> None:
    documents = [marked(d) for d in reviews(60)]
    plain = Document.from_text("Great film.", label=documents[0].label)
    assert tiny_labeler(epochs=1).fit([*documents, plain]).model_.settings.tokens == "words"


def test_a_model_goes_on_with_the_cut_of_the_one_before() -> None:
    before = tiny_labeler(epochs=1).fit(*texts()).model_
    settings = replace(before.settings, epochs=1)
    after = train(settings, [marked(d) for d in reviews(60)], init=before)
    assert after.settings.tokens == "words"
