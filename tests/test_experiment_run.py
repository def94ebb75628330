"""A run of experiments: steps and models that are kept; and evidence, counted again word by word."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from filelock import FileLock
from sklearn.metrics import f1_score, fbeta_score

from exaudit.analyse.exemplars import ExemplarRow, ExemplarTable
from exaudit.audit.evidence import Exemplar
from exaudit.data.document import Document
from exaudit.data.sample import sample_documents
from exaudit.errors import SettingError
from exaudit.experiments.evidence import Evidence, Judged, Scored, Searched, score
from exaudit.experiments.examples import examples_markdown
from exaudit.experiments.figures import Figures
from exaudit.experiments.run import Run, Settings
from exaudit.metrics import Counts, Difference, best_offset
from exaudit.model.labeler import Labeler
from exaudit.model.scores import TokenScores
from tiny import tiny_labeler

SMALL = Settings(encoder="none", filters=8, epochs=1)


def learners(count: int, start: int = 0) -> list[Document]:
    return sample_documents("learner", count, seed=3, start=start)


def new_run(folder: Path, settings: Settings = SMALL) -> Run:
    return Run(folder, folder / "data", settings, device="cpu")


def never(*_: object, **__: object) -> NoReturn:
    raise AssertionError("this was done before")


def whole_figures() -> Figures:
    figures = Figures(seed=2)
    figures.row("t", "r", 1, None, 1 / 3)
    figures.none("t", "q", "why")
    figures.claim("c", "case", Difference(0.1, 0.05, 0.15))
    return figures


# -- steps --------------------------------------------------------------------------------------------------------


def test_a_step_that_is_done_is_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = new_run(tmp_path).step("one", whole_figures)
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["one ...", "one"]
    kept = new_run(tmp_path).step("one", never)
    assert kept == made
    assert kept.tables == {"t": {"r": [1.0, None, 0.3333]}}
    assert kept.claims == {"c": {"case": {"value": 10.0, "low": 5.0, "high": 15.0}}}
    assert capsys.readouterr().err == ""


def test_a_step_that_another_process_is_at_is_left_to_it(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.step("one", whole_figures)
    with FileLock(tmp_path / ".locks" / "two"):
        assert run.step("two", never) == Figures()
        assert run.step("one", never) == run.step("one", never) != Figures()
    assert run.step("two", whole_figures).tables


def test_a_step_that_failed_leaves_nothing_and_is_done_again(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.step("one", whole_figures)
    with pytest.raises(AssertionError, match="done before"):
        run.step("two", never)
    assert [path.name for path in (tmp_path / "steps").iterdir()] == ["one.json"]
    assert run.step("two", Figures) == Figures(seconds=0.0)


@pytest.mark.parametrize(
    "other",
    [
        Settings(encoder="minilm", filters=8, epochs=1),
        Settings(encoder="none", filters=9, epochs=1),
        Settings(encoder="none", filters=8, epochs=1, seeds=(1, 0)),
        Settings(encoder="none", filters=8, epochs=1, sample=True),
        Settings(encoder="none", filters=8, epochs=1, fast=True),
    ],
)
def test_results_of_other_settings_are_never_mixed(tmp_path: Path, other: Settings) -> None:
    new_run(tmp_path)
    kept = (tmp_path / "settings.json").read_bytes()
    with pytest.raises(SettingError, match=r"other settings .*settings\.json\); give another --out"):
        new_run(tmp_path, other)
    assert (tmp_path / "settings.json").read_bytes() == kept
    new_run(tmp_path)


def test_more_seeds_go_on_but_fewer_are_other_results(tmp_path: Path) -> None:
    new_run(tmp_path)
    more = Settings(encoder="none", filters=8, epochs=1, seeds=(0, 1))
    new_run(tmp_path, more)
    with pytest.raises(SettingError, match="other settings"):
        new_run(tmp_path)


def test_a_pattern_that_names_no_step_is_an_error(tmp_path: Path) -> None:
    run = Run(tmp_path, tmp_path, SMALL, device="cpu", only="b*, nothing")
    found = whole_figures()
    assert run.step("a", lambda: found).tables == {}
    assert run.step("bc", lambda: found).tables == found.tables
    with pytest.raises(SettingError, match="no step is called 'nothing'; the steps are a, bc"):
        run.check_steps()


def test_a_folder_from_before_a_setting_existed_goes_on_with_its_default(tmp_path: Path) -> None:
    older = SMALL.to_json()
    del older["sample"]
    (tmp_path / "settings.json").write_text(json.dumps(older))
    new_run(tmp_path)
    with pytest.raises(SettingError):
        new_run(tmp_path, Settings(encoder="none", filters=8, epochs=1, sample=True))


# -- models -------------------------------------------------------------------------------------------------------


def test_a_model_is_trained_once_and_read_back_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, dev, test = learners(30), learners(10, 30), learners(5, 40)
    first = new_run(tmp_path).model("m", train, dev, seed=5)
    left = {path.name for path in (tmp_path / "models").iterdir()}
    assert left - {".m.lock"} == {"m"}, "no working folder is left"
    assert (first.encoder, first.filters, first.epochs, first.seed) == ("none", 8, 1, 5)
    monkeypatch.setattr(Labeler, "fit", never)
    again = new_run(tmp_path).model("m", train, dev, seed=5)
    for a, b in zip(first.label(test), again.label(test), strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)


def test_a_model_that_was_stopped_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, dev, test = learners(30), learners(10, 30), learners(5, 40)
    settings = {"epochs": 3, "seed": 1}
    whole = new_run(tmp_path / "whole").model("m", train, dev, **settings)
    fit, epochs = Labeler.fit, []

    def stopping(self: Labeler, *args: Any, **options: Any) -> Labeler:
        def report(record: dict[str, Any]) -> None:
            epochs.append(record["epoch"])
            if record["epoch"] == 2 and epochs.count(1) == 1 and epochs.count(2) == 1:
                raise KeyboardInterrupt

        return fit(self, *args, **options, report=report)

    monkeypatch.setattr(Labeler, "fit", stopping)
    with pytest.raises(KeyboardInterrupt):
        new_run(tmp_path / "stopped").model("m", train, dev, **settings)
    assert not (tmp_path / "stopped/models/m").exists()
    gone_on = new_run(tmp_path / "stopped").model("m", train, dev, **settings)
    assert epochs == [1, 2, 3], "it did not begin anew"
    for a, b in zip(whole.label(test), gone_on.label(test), strict=True):
        np.testing.assert_array_equal(a.scores, b.scores)


def test_token_labels_are_seen_by_the_token_loss_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, set[bool]] = {}
    fit = Labeler.fit

    def looking(self: Labeler, X: Sequence[Document], **options: Any) -> Labeler:
        every = [*X, *options["dev"]]
        seen[self.loss] = {document.token_labels is not None for document in every}
        return fit(self, X, **options)

    monkeypatch.setattr(Labeler, "fit", looking)
    run, train, dev = new_run(tmp_path), learners(30), learners(10, 30)
    run.model("base", train, dev)
    for loss in ("min-max", "token"):
        run.model(loss, train, dev, init="base", loss=loss)
    assert seen == {"document": {False}, "min-max": {False}, "token": {True}}


def test_a_model_goes_on_from_the_one_named(tmp_path: Path) -> None:
    run, train, dev = new_run(tmp_path), learners(30), learners(10, 30)
    base = run.model("base", train, dev, vocabulary=50)
    after = run.model("after", learners(20, 50), dev, init="base", loss="min-max")
    assert after.vocabulary_ is not None
    assert base.vocabulary_ is not None
    assert after.vocabulary_.to_list() == base.vocabulary_.to_list()
    assert after.record_["initial"] == "document"


# -- evidence, against counting by hand ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labeler() -> Labeler:
    model = tiny_labeler(epochs=8, learning_rate=5.0, batch_size=5)
    model.fit([d.without_token_labels() for d in learners(150)], dev=learners(30, 150))
    model.offset_ = 0.05  # so that a margin is not a score
    return model


@pytest.fixture(scope="module")
def support() -> list[Document]:
    return learners(60)


@pytest.fixture(scope="module")
def searched(labeler: Labeler, support: list[Document]) -> Searched:
    return Evidence(labeler, support).search(learners(40, 200))


def test_scored_documents_are_the_models_own(labeler: Labeler) -> None:
    documents = learners(20, 200)
    scored = score(labeler, documents)
    labelled = labeler.label(documents)
    assert scored.margins.tolist() == [
        m for one in labelled for m in (one.scores - np.float32(0.05)).tolist()
    ]
    assert scored.truth.tolist() == [int(label == "i") for d in documents for label in d.token_labels or ()]
    assert scored.targets.tolist() == [int(d.label == "i") for d in documents]
    assert scored.ends.tolist() == [sum(len(d.tokens) for d in documents[:n]) for n in range(21)]
    assert scored.document_of_token.tolist() == [n for n, d in enumerate(documents) for _ in d.tokens]
    right = [one.decision == int(d.label == "i") for one, d in zip(labelled, documents, strict=True)]
    assert scored.correct.tolist() == right
    assert scored.accuracy == sum(right) / 20
    decisions = [one.decision for one in labelled]
    assert scored.document_f1() == pytest.approx(f1_score(scored.targets, decisions, zero_division=0))


def test_documents_without_token_labels_have_no_truth(labeler: Labeler) -> None:
    some = [*learners(2), learners(1, 2)[0].without_token_labels()]
    assert score(labeler, some).truth.size == 0


def counted(scored: Scored, said: Sequence[bool], true: Sequence[bool], only: Sequence[bool]) -> list[Counts]:
    """Word by word."""
    table, word = [], 0
    for one in scored.scores:
        tp = fp = fn = tn = 0
        for _ in one.document.tokens:
            if only[word]:
                tp += said[word] and true[word]
                fp += said[word] and not true[word]
                fn += not said[word] and true[word]
                tn += not said[word] and not true[word]
            word += 1
        table.append(Counts(tp, fp, fn, tn))
    return table


def test_decisions_are_judged_word_by_word(searched: Searched) -> None:
    rng = np.random.default_rng(0)
    n = len(searched.margins)
    said, only, right = (rng.random(n) < 0.5 for _ in range(3))
    model, truth, every = searched.margins > 0, searched.truth > 0, np.ones(n, bool)
    assert 0 < model.sum() < n
    assert list(searched.judge().documents) == counted(searched, model, truth, every)
    assert list(searched.judge(said).documents) == counted(searched, said, truth, every)
    assert list(searched.judge(said, only=only).documents) == counted(searched, said, truth, only)
    assert list(searched.judge(said, right=right).documents) == counted(searched, said, right, every)
    judged = searched.judge(said)
    assert judged.total == Counts.of(said, truth)
    assert judged.percent("f0.5", "recall") == pytest.approx(
        [100 * fbeta_score(truth, said, beta=0.5), 100 * (said & truth).sum() / truth.sum()]
    )


def test_one_way_over_another_is_the_difference_on_the_same_documents(searched: Searched) -> None:
    truth = searched.truth > 0
    perfect, model = searched.judge(truth), searched.judge()
    better = perfect.over(model)
    assert better.value == pytest.approx(1 - model.metrics()["f0.5"])
    assert 0 < better.low <= better.value <= better.high <= 1
    assert perfect.over(perfect) == Difference(0, 0, 0)
    precision = perfect.over(model, "precision")
    assert precision.value == pytest.approx(1 - model.metrics()["precision"])
    with pytest.raises(ValueError, match="cannot be compared"):
        perfect.over(Judged(model.documents[1:]))


def brute(labeler: Labeler, support: Sequence[Document], queries: Sequence[TokenScores]) -> list[list[int]]:
    """The eight nearest words of the support set for every word, by float64 distances to all of them."""
    vectors = np.concatenate([np.asarray(s.exemplars) for s in labeler.label(support, exemplars=True)])
    near = []
    for one in queries:
        for vector in np.asarray(one.exemplars):
            squares = ((vectors.astype(np.float64) - vector.astype(np.float64)) ** 2).sum(1)
            near.append(np.argsort(squares, kind="stable")[:8].tolist())
    return near


@pytest.fixture(scope="module")
def words(labeler: Labeler, support: list[Document]) -> dict[str, list[Any]]:
    """Every word of the support set: its score, its document's label, its own label."""
    labelled = labeler.label(support)
    return {
        "score": [s for one in labelled for s in one.margins.tolist()],
        "document": [d.label for d in support for _ in d.tokens],
        "own": [label for d in support for label in d.token_labels or ()],
    }


def test_exemplars_are_the_nearest_words_of_the_support_set(
    labeler: Labeler, support: list[Document], searched: Searched, words: dict[str, list[Any]]
) -> None:
    expected = brute(labeler, support, searched.scores)
    vectors = np.concatenate([np.asarray(s.exemplars) for s in labeler.label(support, exemplars=True)])
    queries = np.concatenate([np.asarray(s.exemplars) for s in searched.scores])
    assert searched.near.rows.shape == (len(searched.margins), 8)
    for word, rows in enumerate(expected):
        distances = np.sqrt(((vectors[rows].astype(np.float64) - queries[word]) ** 2).sum(1))
        np.testing.assert_allclose(searched.near.distances[word], distances, atol=1e-4)
        own = searched.near.rows[word]
        assert searched.near.labels[word].tolist() == [1 if words["document"][r] == "i" else -1 for r in own]
        assert searched.near.token_labels[word].tolist() == [1 if words["own"][r] == "i" else -1 for r in own]
        np.testing.assert_allclose(searched.near.scores[word], [words["score"][r] for r in own], atol=1e-6)


def test_rules_decide_by_the_nearest_word(searched: Searched, words: dict[str, list[Any]]) -> None:
    nearest = searched.near.rows[:, 0].tolist()
    positive = [margin > 0 for margin in searched.margins.tolist()]
    borne_out = [p and words["score"][r] > 0 for p, r in zip(positive, nearest, strict=True)]
    exag = [b and words["document"][r] == "i" for b, r in zip(borne_out, nearest, strict=True)]
    exat = [b and words["own"][r] == "i" for b, r in zip(borne_out, nearest, strict=True)]
    assert searched.exag().tolist() == exag
    assert searched.exat().tolist() == exat
    assert 0 < sum(exat) <= sum(exag) < sum(positive), "the rules have something to decide"


def test_the_support_set_grows_and_scored_documents_are_not_scored_again(
    labeler: Labeler, support: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    more, documents = learners(20, 300), learners(10, 200)
    evidence = Evidence(labeler, support)
    before = evidence.search(documents)
    evidence.add(more)
    with monkeypatch.context() as patch:
        patch.setattr(Labeler, "iter_label", never)
        after = evidence.search(Scored(before.scores, before.truth, before.targets))
    assert (after.near.distances <= before.near.distances + 1e-6).all()
    vectors = [
        np.concatenate([np.asarray(s.exemplars) for s in labeler.label(part, exemplars=True)])
        for part in (support, more)
    ]
    both = np.concatenate(vectors).astype(np.float64)
    queries = np.concatenate([np.asarray(s.exemplars) for s in before.scores]).astype(np.float64)
    nearest = [np.sqrt(((both - q) ** 2).sum(1).min()) for q in queries]
    np.testing.assert_allclose(after.near.distances[:, 0], nearest, atol=1e-4)
    assert (after.near.rows[:, 0] >= len(vectors[0])).any(), "some word has found a new neighbour"


def test_some_of_the_documents_are_what_they_are_among_all(searched: Searched) -> None:
    part = searched.part(np.array([7, 2, 30]))
    assert [one.document.id for one in part.scores] == [searched.scores[n].document.id for n in (2, 7, 30)]
    ends = searched.ends
    places = np.concatenate([np.arange(ends[n], ends[n + 1]) for n in (2, 7, 30)])
    assert part.truth.tolist() == searched.truth[places].tolist()
    assert part.margins.tolist() == searched.margins[places].tolist()
    assert part.near.rows.tolist() == searched.near.rows[places].tolist()
    assert part.targets.tolist() == searched.targets[[2, 7, 30]].tolist()
    every = searched.judge().documents
    assert part.judge().documents == (every[2], every[7], every[30])


def test_the_k_nn_takes_the_models_place(searched: Searched) -> None:
    report = searched.fit_knn("dist", 8, epochs=5)
    knn = report.knn
    near = searched.near
    outputs = []
    for n in range(len(near)):
        weights = np.exp(-near.distances[n].astype(np.float64) / knn.tau)
        weights /= weights.sum()
        votes = np.tanh(near.scores[n].astype(np.float64)) + knn.gamma * near.labels[n]
        outputs.append(knn.beta + float((weights * votes).sum()))
    assert searched.knn(knn).tolist() == [output > 0 for output in outputs]
    held = searched.part(report.dev_documents)
    assert report.agreement == pytest.approx((held.knn(knn) == (held.margins > 0)).mean())
    assert knn.offset == 0


def test_the_boundary_of_a_supervised_k_nn_is_the_best_on_the_half_that_chose(searched: Searched) -> None:
    report = searched.fit_knn("dist", 8, supervised=True, epochs=5)
    assert report.knn.use_token_labels
    held = searched.part(report.dev_documents)
    reached = held.judge(held.knn(report.knn)).metrics()["f0.5"]
    output = report.knn.output(held.near)
    best = best_offset(output, held.truth)
    assert reached == pytest.approx(held.judge(output > best).metrics()["f0.5"])
    assert reached >= max(held.judge(output > edge).metrics()["f0.5"] for edge in output) - 1e-12


def test_measured_outputs_come_with_the_same_draws_every_time(searched: Searched) -> None:
    output = searched.margins.astype(np.float64)
    one, two = (searched.measured(output, searched.truth, "model") for _ in range(2))
    assert one.draws.tolist() == two.draws.tolist()
    assert one.output.tolist() == output.tolist()
    assert one.right.tolist() == searched.truth.tolist()


def test_an_example_page_marks_truth_predictions_and_exemplars() -> None:
    exemplar = Exemplar(
        row=3,
        id="x",
        position=1,
        tokens=("two", "<informations>", "here"),
        distance=2.345,
        score=0.5,
        label="i",
        token_labels=(None, 1, 0),
        token_scores=np.array([-1.0, 0.5, 0.7], np.float32),
    )
    document = Document.from_tokens(["some", "informations"], id="d")
    row = ExemplarRow(1, "informations", 1, 1, exemplar, exemplar.decisions(0.0))
    table = ExemplarTable(document, "i", "i", (0, 1), (1, 1), (row,))
    assert examples_markdown("A model", [table]).splitlines()[4:] == [
        "## d",
        "",
        "- True: _some_ _informations_[1]",
        "- Pred.: some _informations_[1]",
        "- Exemplar [1] Dist.: 2.3",
        "- Exemplar [1] True: two _\\<informations\\>_[1] here",
        "- Exemplar [1] Pred.: two _\\<informations\\>_[1] _here_",
    ]


def test_a_run_does_not_go_on_with_other_data(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.tsv").write_text("one")
    run = Run(tmp_path / "out", data, SMALL)
    run.check_data(["a.tsv", "b.tsv"])
    (data / "b.tsv").write_text("came later")  # as when another corpus is put beside the first
    run.check_data(["b.tsv"])
    Run(tmp_path / "out", data, SMALL).check_data(["a.tsv", "b.tsv"])
    (data / "a.tsv").write_text("two")
    run.check_data(["b.tsv"])  # another experiment, whose files are the same
    with pytest.raises(SettingError, match=r"holds results of another a\.tsv"):
        run.check_data(["a.tsv"])
