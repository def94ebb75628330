"""The estimator as a user meets it: scikit-learn manners, save and load, batches that do not matter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from exaudit.analyse.evaluation import Evaluation
from exaudit.data.document import Document
from exaudit.errors import DataError, ExauditError, ModelError, ModelWarning, SettingError
from exaudit.head.pseudo_labels import pseudo_labels
from exaudit.head.tuning import tune
from exaudit.metrics import Counts
from exaudit.model import model as module
from exaudit.model.boundaries import knows_choices, with_boundary, with_boundary_at_zero
from exaudit.model.documents import as_documents
from exaudit.model.folder import update_model
from exaudit.model.labeler import Labeler
from exaudit.model.teaching import Merit
from tiny import reviews, tiny_bert, tiny_labeler


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "bert")


@pytest.fixture(scope="module")
def trained(bert: Path) -> Labeler:
    documents = reviews(80)
    return tiny_labeler(encoder=str(bert)).fit(documents[:60], dev=documents[60:])


def test_texts_and_labels_as_in_scikit_learn() -> None:
    documents = reviews(60)
    texts, labels = [d.text for d in documents], [d.label for d in documents]
    model = tiny_labeler().fit(texts, labels)
    assert set(model.predict(texts)) <= {"negative", "positive"}
    probabilities = model.predict_proba(texts)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert (model.classes_[probabilities.argmax(1)] == model.predict(texts)).all()
    assert 0 <= model.score(texts, labels) <= 1
    assert ((model.decision_function(texts) > 0) == (model.predict(texts) == "positive")).all()


def test_numeric_labels_stay_numbers() -> None:
    documents = reviews(40)
    y = [int(d.label == "positive") for d in documents]
    predicted = (
        tiny_labeler(epochs=1).fit([d.text for d in documents], y).predict([d.text for d in documents])
    )
    assert predicted.dtype.kind == "i"


def test_works_in_a_pipeline_and_clones() -> None:
    documents = reviews(40)
    texts, labels = [d.text for d in documents], [d.label for d in documents]
    lower = FunctionTransformer(lambda X: [t.lower() for t in X])
    pipeline = Pipeline([("lower", lower), ("label", tiny_labeler(epochs=1))]).fit(texts, labels)
    assert len(pipeline.predict(texts)) == 40
    copy = clone(pipeline.named_steps["label"])
    assert copy.get_params() == tiny_labeler(epochs=1).get_params()
    with pytest.raises(NotFittedError):
        copy.predict(texts)


def test_batch_size_and_order_change_nothing(trained: Labeler, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = reviews(30, seed=3)
    whole = trained.label(documents, exemplars=True)
    backwards = trained.label(documents[::-1], exemplars=True)[::-1]
    monkeypatch.setattr(module, "_CHUNK", 7)
    chunks = trained.label(documents, exemplars=True)
    alone = [trained.label([document], exemplars=True)[0] for document in documents]
    for other in (backwards, chunks, alone):
        for a, b in zip(whole, other, strict=True):
            assert a.document is b.document
            assert a.output == pytest.approx(b.output, abs=1e-5)
            np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)
            np.testing.assert_allclose(a.exemplars, b.exemplars, atol=1e-5)


def test_save_and_load_give_the_same_bits(trained: Labeler, tmp_path: Path) -> None:
    documents = reviews(20, seed=4)
    trained.save(tmp_path / "model")
    loaded = Labeler.load(tmp_path / "model", device="cpu")
    for a, b in zip(
        trained.label(documents, exemplars=True), loaded.label(documents, exemplars=True), strict=True
    ):
        assert a.output == b.output
        assert (a.positive == b.positive).all()
        assert (a.negative == b.negative).all()
        assert (a.exemplars == b.exemplars).all()
    assert list(loaded.classes_) == ["negative", "positive"]
    assert loaded.get_params()["filters"] == 20
    card = (tmp_path / "model" / "README.md").read_text()
    assert "positive" in card
    assert "epoch kept" in card


def test_the_record_tells_what_evaluate_would(bert: Path) -> None:
    train, dev = reviews(80)[:60], reviews(80)[60:]
    # where the encoder is rounded, so is the head in labelling: a word at the boundary may be decided otherwise
    trained = tiny_labeler(encoder=str(bert), precision="float32").fit(train, dev=dev)
    evaluation = Evaluation.of(trained.label(dev), trained.model_.labels)
    assert trained.model_.record["dev"]["document"] == pytest.approx(evaluation.document_metrics())
    assert trained.model_.record["dev"]["token"] == pytest.approx(evaluation.token_metrics())


def test_label_json_maps_back_to_the_text(trained: Labeler) -> None:
    scores = trained.label(["A  fine\tmeal , truly"])[0]
    line = scores.to_json(trained.model_.labels)
    assert set(line) == {"id", "label", "score", "scores", "tokens"}
    assert [t["text"] for t in line["tokens"]] == ["A", "fine", "meal", ",", "truly"]
    for token in line["tokens"]:
        assert "A  fine\tmeal , truly"[token["start"] : token["end"]] == token["text"]
        assert token["label"] == int(token["score"] > 0)
    assert line["label"] == ("positive" if line["score"] > 0 else "negative")
    json.dumps(line)


@pytest.mark.parametrize("loss", ["min-max", "token"])
def test_fine_tuning_starts_from_a_trained_model(trained: Labeler, loss: str) -> None:
    documents = reviews(80)
    tuned = tiny_labeler(loss=loss, epochs=2).fit(documents[:60], dev=documents[60:], init=trained)
    assert tuned.model_.encoder is trained.model_.encoder
    assert tuned.model_.by_tokens
    for scores in tuned.label(documents[60:]):
        assert scores.output == pytest.approx(float(scores.margins.max()), abs=1e-6)
        assert bool(scores.decision) == bool(scores.decisions.any())


@pytest.mark.parametrize("loss", ["document", "token"])
def test_tuning_changes_the_encoder_and_travels_with_the_model(bert: Path, loss: str, tmp_path: Path) -> None:
    documents = reviews(40)
    # In bfloat16, an encoder that Transformers has read and one that we have are rounded in different places.
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, loss=loss, epochs=1, precision="float32")
    model.fit(documents[:30], dev=documents[30:])
    kept = "student" if loss == "token" else model.model_.record["tuning"]["kept"]
    assert model.model_.head.config.pool == ("none" if kept == "student" else "max")
    plain = tiny_labeler(encoder=str(bert), epochs=1).fit(documents[:30], dev=documents[30:])
    assert model.model_.encoder.fingerprint != plain.model_.encoder.fingerprint
    assert model.model_.encoder.reads_shapes  # the tokenizer folds case
    assert not plain.model_.encoder.reads_shapes
    tuning = model.model_.record["tuning"]
    assert all(
        turn["agreement"] == 1.0
        for turn in ([tuning] if loss == "token" else [tuning["teacher"], tuning["student"]])
    )
    model.save(tmp_path / "tuned")
    loaded = Labeler.load(tmp_path / "tuned", device="cpu")
    for a, b in zip(model.label(documents), loaded.label(documents), strict=True):
        np.testing.assert_allclose(
            a.scores, b.scores, rtol=1e-5
        )  # Transformers and we add up in different orders
    again = tiny_labeler(loss="min-max", epochs=1).fit(documents[:30], dev=documents[30:], init=loaded)
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "encoder" / "config.json").exists()


def test_documents_that_are_cut_are_told(bert: Path) -> None:
    documents = [
        Document.from_text(text, id=text) for text in ("the was", "the was and the", "the wasand", "and")
    ]
    train = reviews(30)
    for length, count in ((2, 1), (3, 1), (4, 0), (None, 0)):  # the last word of "the wasand" is read in part
        model = tiny_labeler(encoder=str(bert), epochs=1, max_length=length).fit(train[:20], dev=train[20:])
        note = model.model_.note_on_length(documents)
        assert (note is not None) == bool(count)
        if note is not None:
            assert note.startswith(f"{count} of 4 documents are longer than the {length} word pieces")
    assert tiny_labeler(epochs=1).fit(train[:20], dev=train[20:]).model_.note_on_length(documents) is None


def test_a_word_that_no_filter_chose_gets_no_pseudo_label(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []

    def spy(scores: list[np.ndarray], targets: np.ndarray) -> list[np.ndarray]:
        seen.extend(scores)
        return pseudo_labels(scores, targets)

    monkeypatch.setattr("exaudit.model.teaching.pseudo_labels", spy)
    documents = reviews(40)
    model = tiny_labeler(
        encoder=str(bert), tune_encoder=True, epochs=1, filters=1
    )  # one word a document is chosen, by each of two teachers
    model.fit(documents[:30], dev=documents[30:])
    assert any(len(scores) > 2 for scores in seen)
    for scores in seen:
        assert (scores[:, 0] > 0).sum() <= 2


@pytest.mark.parametrize("loss", ["min-max", "token"])
def test_the_model_to_go_on_from_stays_as_it_is(bert: Path, loss: str) -> None:
    documents = reviews(40)
    first = tiny_labeler(encoder=str(bert), epochs=1).fit(documents[:30], dev=documents[30:])
    before = [scores.scores for scores in first.label(documents)]
    told: list[str] = []
    tiny_labeler(loss=loss, tune_encoder=True, epochs=1).fit(
        documents[:30],
        dev=documents[30:],
        init=first,
        report=lambda record: told.append(record.get("tuning", "head")),
    )
    assert set(told) == {"encoder", "head"}  # neither teacher nor student
    assert not first.model_.encoder.changed
    for scores, own in zip(first.label(documents), before, strict=True):
        np.testing.assert_array_equal(scores.scores, own)


def test_an_encoder_is_tuned_on_as_much_of_a_document_as_it_reads(bert: Path) -> None:
    documents = reviews(40)
    first = tiny_labeler(encoder=str(bert), epochs=1, max_length=5).fit(documents[:30], dev=documents[30:])
    tuned = tiny_labeler(loss="min-max", tune_encoder=True, epochs=1).fit(
        documents[:30], dev=documents[30:], init=first
    )
    assert tuned.model_.encoder.max_length == 5


def test_pairs_are_tuned_on_together(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str] | None] = []

    def tune(*_: object, groups: list[str] | None, **__: object) -> None:
        seen.append(groups)

    monkeypatch.setattr("exaudit.model.tuning.tune", tune)
    documents = [replace(d, meta={"pair": str(n // 2)}) for n, d in enumerate(reviews(30))]
    model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1)
    model.fit(documents[:20], dev=documents[20:], group="pair")
    pairs = [str(n // 2) for n in range(20)]
    assert seen == [
        None,
        pairs,
        pairs,
    ]  # pre-training, which has other texts; the teacher's turn and the student's
    model.fit(documents[:20], dev=documents[20:])
    assert seen[3:] == [None, None, None]


def test_a_student_stands_in_for_its_teacher_unless_documents_suffer(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = reviews(40)
    one = [0.7, 0.5, 0.8, 0.8, 0.8]  # the second opinion; the tuned head, the new one, and again; the teacher
    merits = iter([*one, 0.79, *one, 0.7])  # each with a student

    def merit(*_: object) -> Merit:
        right = round(1000 * next(merits))
        return Merit(np.arange(1000)[:, None] < right, np.ones((1000, 1), np.int8), "accuracy")

    monkeypatch.setattr("exaudit.model.teaching._merit", merit)
    for kept, pool in (("student", "none"), ("teacher", "max")):
        model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=1)
        model.fit(documents[:30], dev=documents[30:])
        assert model.model_.record["tuning"]["kept"] == kept
        assert model.model_.head.config.pool == pool
        assert model.model_.vocabulary is None  # a tuned encoder learns the words itself
        known = model.model_.record["boundary"]
        assert known["excess"]  # what the second opinion shows, by the scores of the one that is kept
        dev = [d.without_token_labels() for d in documents[30:]]
        again = with_boundary(with_boundary_at_zero(model.model_), dev, by="f0.5")
        assert again.record["boundary"].get("excess") == known.get("excess")
        assert again.word_boundaries == pytest.approx(model.model_.word_boundaries, abs=0.01)


def test_a_tuned_model_that_decides_at_zero_can_be_told_otherwise_later(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Merit, "clearly_above", lambda *_: False)  # the student is kept
    documents = reviews(40)
    dev = [d.without_token_labels() for d in documents[30:]]
    found = []
    for boundary in ("f0.5", "zero", "documents"):
        options = {"encoder": str(bert), "tune_encoder": True, "epochs": 1, "boundary": boundary}
        model = tiny_labeler(**options).fit(documents[:30], dev=documents[30:]).model_
        assert knows_choices(model) == (boundary == "f0.5")
        found.append(with_boundary(model, dev, by="f0.5").word_boundaries)
    assert found[1] == pytest.approx(found[0], abs=0.01)
    assert found[2] == pytest.approx(found[0], abs=0.01)


def test_what_chance_may_have_done_is_no_clear_difference() -> None:
    def merits(documents: int, only_one: int, only_other: int) -> tuple[Merit, Merit]:
        one, other = np.ones((documents, 1), np.bool_), np.ones((documents, 1), np.bool_)
        one[:only_other], other[only_other : only_other + only_one] = False, False
        truth = np.ones((documents, 1), np.int8)
        return Merit(one, truth, "accuracy"), Merit(other, truth, "accuracy")

    for documents, only_one, only_other, clear in (
        (200, 6, 2, False),  # two percent, by eight documents
        (2000, 60, 20, True),  # two percent, by eighty
        (2000, 12, 0, False),  # clearly, but of no consequence
    ):
        better, worse = merits(documents, only_one, only_other)
        assert better.clearly_above(worse) == clear
        assert not worse.clearly_above(better)


@pytest.mark.parametrize(("times", "clear"), [(1, False), (10, True)])
def test_f1_of_a_rare_class_rests_on_its_few_documents(times: int, clear: bool) -> None:
    truth = np.zeros((2000, 1), np.int8)
    truth[:40] = 1
    one, other = np.zeros((2000, 1), np.bool_), np.zeros((2000, 1), np.bool_)
    one[:30], other[:25], other[30:31] = True, True, True  # five documents to one
    one[1000:1008], other[1000:1008] = True, True  # and the same false alarms
    better, worse = (
        Merit(np.tile(found, (times, 1)), np.tile(truth, (times, 1)), "f1") for found in (one, other)
    )
    assert better.score - worse.score > 0.05
    assert better.clearly_above(worse) == clear


def test_wide_filters_and_word_vectors(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 1 2 3\nwas 4 5 6\n")
    documents = reviews(40)
    model = tiny_labeler(widths=(3, 4, 5), word_vectors=str(vectors), epochs=1).fit(documents)
    assert model.model_.head.config.word_dimension == 3
    assert len(model.label(documents)) == 40
    with pytest.raises(SettingError, match="width 1"):
        model.label(documents, exemplars=True)


def test_max_length_cuts_only_when_asked(bert: Path) -> None:
    documents = reviews(30)
    short = tiny_labeler(encoder=str(bert), max_length=4, epochs=1).fit(documents)
    scores = short.label([documents[0]])[0]
    bias = (short.model_.head.bias[1] - short.model_.head.bias[0]).item()
    assert len(scores.scores) == len(documents[0].tokens)
    np.testing.assert_allclose(scores.scores[-1], bias, atol=1e-6)


def test_boundary_moves_the_token_decisions_only(trained: Labeler, tmp_path: Path) -> None:
    documents = reviews(40, seed=5)
    trained.save(tmp_path / "model")
    model = Labeler.load(tmp_path / "model", device="cpu")
    before = [s.output for s in model.label(documents)]
    model.tune_boundary(documents)
    update_model(model.model_, tmp_path / "model")
    loaded = Labeler.load(tmp_path / "model", device="cpu")
    assert loaded.model_.word_boundaries[0] == model.model_.word_boundaries[0]
    assert [s.output for s in loaded.label(documents)] == before
    assert all(
        (s.decisions == (s.weighed > np.float32(model.model_.word_boundaries[0]))).all()
        for s in loaded.label(documents)
    )
    with pytest.raises(DataError, match="labels of tokens"):
        model.tune_boundary(["no labels here"])


def test_the_dev_documents_set_the_boundary_of_the_words_unless_zero_is_asked_for() -> None:
    documents = reviews(80)
    train, dev = documents[:60], documents[60:]
    zero = tiny_labeler(boundary="zero").fit(train, dev=dev)
    assert zero.model_.word_boundaries[0] == 0
    assert tiny_labeler(recipe="paper").fit(train, dev=dev).model_.word_boundaries[0] == 0
    assert tiny_labeler(loss="min-max").fit(train, dev=dev).model_.word_boundaries[0] == 0
    model = tiny_labeler(boundary="documents").fit(train, dev=dev)
    found = model.model_.word_boundaries[0]
    assert found != 0
    assert model.model_.record["boundary"] == {"by": "documents", "beta": 0.5}
    model.tune_boundary(dev, by="documents")  # the same rule, on the same documents
    assert found == pytest.approx(model.model_.word_boundaries[0], abs=1e-6)
    for a, b in zip(zero.label(dev), model.label(dev), strict=True):  # nothing else differs
        np.testing.assert_array_equal(a.scores, b.scores)
        assert a.output == b.output
    with pytest.raises(SettingError, match=r"f0\.5, f1, documents or zero, not 'one'"):
        tiny_labeler(boundary="one").fit(train, dev=dev)


def test_boundary_by_documents_lies_where_the_largest_token_decides_best(trained: Labeler) -> None:
    documents = [d.without_token_labels() for d in reviews(60, seed=5)]
    targets = np.array([trained.model_.labels.views[0].document_target(d) for d in documents])
    largest = np.array([s.scores.max() for s in trained.label(documents)])
    model = Labeler()._take(trained.model_)  # the fixture stays as it is
    model.tune_boundary(documents, beta=1.0, by="documents")
    found = model.model_.word_boundaries[0]
    assert all(d.decisions.any() == (m > found) for d, m in zip(model.label(documents), largest, strict=True))
    possible = [Counts.of(largest > cut, targets).f() for cut in [*largest - 1e-4, largest.max() + 1]]
    assert (
        Counts.of(largest > found, targets).f() >= max(possible) - 0.05
    )  # the median of resampled documents
    assert model.model_.record["boundary"]["by"] == "documents"
    with pytest.raises(DataError, match="labels of documents"):
        model.tune_boundary(["no labels here"], by="documents")
    with pytest.raises(SettingError, match="not 'words'"):
        model.tune_boundary(documents, by="words")


def test_bad_input_is_named() -> None:
    with pytest.raises(DataError, match="3 documents but 2 labels"):
        as_documents(["a", "b", "c"], ["x", "y"])
    with pytest.raises(SettingError, match="one string"):
        as_documents("a text")
    with pytest.raises(SettingError, match="item 2 of X is a int"):
        as_documents(["a", 3])
    with pytest.raises(DataError, match="empty"):
        as_documents(["a", "  "])
    with pytest.raises(SettingError, match="no encoder to tune"):
        tiny_labeler(tune_encoder=True).fit(reviews(20))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: (p / "model.json").unlink(), "no model.json"),
        (lambda p: (p / "model.json").write_text("{"), "damaged"),
        (lambda p: (p / "model.json").write_text("[]"), "damaged"),
        (lambda p: (p / "head.safetensors").unlink(), "missing"),
        (lambda p: (p / "head.safetensors").write_bytes(b"short"), "checksum"),
        (
            lambda p: (p / "model.json").write_text(json.dumps(_get(p) | {"by_tokens": 1})),
            "was changed after",
        ),
        (lambda p: _set(p, schema=99), "install a newer one"),
        (lambda p: _set(p, head={}), "damaged"),
        (lambda p: _set(p, encoder={**_get(p)["encoder"], "fingerprint": "0" * 64}), "another encoder"),
    ],
)
def test_damaged_folders_are_refused(trained: Labeler, tmp_path: Path, damage, message: str) -> None:
    trained.save(tmp_path / "model")
    damage(tmp_path / "model")
    with pytest.raises(ModelError, match=message):
        Labeler.load(tmp_path / "model", device="cpu")


def _get(path: Path) -> dict:
    return json.loads((path / "model.json").read_text())


def _set(path: Path, **changes) -> None:
    """As a folder without a checksum."""
    (path / "model.json").write_text(json.dumps(_get(path) | changes | {"checksum": None}))


def test_wrong_paths_are_refused(trained: Labeler, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        Labeler.load(tmp_path / "nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    with pytest.raises(ModelError, match="is no model, and exaudit replaces only"):
        trained.save(tmp_path / "full")
    assert (tmp_path / "full" / "file").exists()


def test_a_failed_save_leaves_nothing(
    trained: Labeler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("exaudit.model.folder.save_file", full)
    with pytest.raises(OSError, match="No space"):
        trained.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_tuned_run_resumes_to_the_same_weights(bert: Path, tmp_path: Path) -> None:
    documents = reviews(40)

    def fit(work: Path, *, stop: bool = False, resume: bool = False) -> Labeler:
        def report(record: dict) -> None:
            if stop and record.get("epoch") == 1:
                raise KeyboardInterrupt

        model = tiny_labeler(encoder=str(bert), tune_encoder=True, epochs=2)
        return model.fit(documents[:30], dev=documents[30:], work=work, resume=resume, report=report)

    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    whole = fit(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path / "stopped", stop=True)
    resumed = fit(tmp_path / "stopped", resume=True)
    for a, b in zip(whole.model_.head.parameters(), resumed.model_.head.parameters(), strict=True):
        assert torch.equal(a, b)
    assert whole.model_.encoder.fingerprint == resumed.model_.encoder.fingerprint
    weights = min((tmp_path / "stopped").glob("*/model.safetensors"))
    content = weights.read_bytes()
    weights.write_bytes(content[:-64] + bytes(byte ^ 1 for byte in content[-64:]))
    with pytest.warns(ModelWarning, match="damaged, so it is tuned again"):
        fit(tmp_path / "stopped", resume=True)
    assert weights.read_bytes() == content


def test_a_resumed_run_does_not_take_what_other_labels_taught(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [replace(d, meta={"pair": str(n // 2)}) for n, d in enumerate(reviews(40))]
    turned = [
        replace(d, token_labels=tuple("0" if label == "1" else "1" for label in d.token_labels or ()))
        for d in documents
    ]
    tunings = 0

    def counted(*arguments: Any, **options: Any) -> None:
        nonlocal tunings
        tunings += 1
        tune(*arguments, **options)

    monkeypatch.setattr("exaudit.model.tuning.tune", counted)

    def fit(given: list[Document], group: str | None = None, max_length: int | None = None) -> int:
        model = tiny_labeler(
            encoder=str(bert), tune_encoder=True, loss="token", epochs=1, max_length=max_length
        )
        before = tunings
        model.fit(given[:30], dev=given[30:], work=tmp_path, resume=True, group=group)
        return tunings - before

    first = [fit(documents), fit(documents), fit(turned)]
    assert first == [1, 0, 1]
    assert [fit(turned, "pair"), fit(turned, "pair"), fit(turned, "pair", max_length=4)] == [1, 0, 1]


def test_every_error_is_ours() -> None:
    assert issubclass(ModelError, ExauditError)
