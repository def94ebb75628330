"""Reliability: bins, quartiles and admission against literal counts."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import several
from hypothesis import given
from hypothesis import strategies as st
from scored import NAMES, audited, scored
from several import ONE_OF, SEVERAL, admitted, drawn

from exaudit.analyse.reliability import Measured, MultiReliability, Reliability, histogram
from exaudit.analyse.report.reliability_plots import multi_reliability_sections, reliability_sections
from exaudit.data.labels import LabelSet
from exaudit.metrics import Counts


def measured(output: list[float], right: list[int], trust: list[float] | None = None) -> Measured:
    draws = np.arange(len(output), dtype=np.uint64)
    return Measured(
        "m",
        np.array(output),
        np.array(right, dtype=np.int8),
        draws,
        None if trust is None else np.array(trust),
    )


outputs = st.lists(
    st.tuples(st.floats(-9, 9, allow_nan=False), st.integers(0, 1)),
    min_size=1,
    max_size=40,
    unique_by=lambda x: abs(x[0]),
)


@given(outputs)
def test_bins_equal_a_literal_sort(pairs: list[tuple[float, int]]) -> None:
    """Five bins of equal n by magnitude, both classes together."""
    bins = measured([o for o, _ in pairs], [y for _, y in pairs]).bins()
    ordered = sorted(pairs, key=lambda pair: abs(pair[0]))
    assert sum(b.n for b in bins) == len(pairs)
    assert max(b.n for b in bins) - min(b.n for b in bins) <= 1 or len(pairs) < 5
    start = 0
    for one in bins:
        part = ordered[start : start + one.n]
        start += one.n
        assert one.threshold == abs(part[0][0])
        assert one.accuracy == pytest.approx(np.mean([(o > 0) == bool(y) for o, y in part]))
        counts = Counts.of(np.array([o > 0 for o, _ in part]), np.array([y for _, y in part]))
        assert one.f05 == counts.f(0.5)


@given(outputs, st.integers(0, 1))
def test_quartiles_are_cumulative_from_the_largest_of_a_class(
    pairs: list[tuple[float, int]], target: int
) -> None:
    mine = sorted((p for p in pairs if (p[0] > 0) == bool(target)), key=lambda pair: -abs(pair[0]))
    quartiles = measured([o for o, _ in pairs], [y for _, y in pairs]).of_class(target).quantiles()
    if mine:
        assert quartiles[-1].n == len(mine)
    for one in quartiles:
        part = mine[: one.n]
        assert one.threshold == abs(part[-1][0])
        assert one.accuracy == pytest.approx(np.mean([bool(y) == bool(target) for _, y in part]))


def test_trust_other_than_magnitude_sorts_by_it() -> None:
    one = measured([5.0, 1.0, -3.0], [1, 0, 0], trust=[-9.0, -1.0, -4.0])
    assert one.by_trust().tolist() == [1, 2, 0]


def documents() -> list[object]:
    """Many tokens with the same score, as words have that no filter chose."""
    draws = random.Random(5)
    made: list[object] = []
    for n in range(12):
        truth = [draws.randint(0, 1) for _ in range(7)]
        plain = scored(
            "a b c d e f g",
            [draws.choice([-1.0, -1.0, 2.0]) for _ in truth],
            id=f"d{n}",
            output=draws.choice([-1.0, 1.0, 3.0]),
            label=draws.choice(["neg", "pos"]),
            token_labels=truth,
        )
        knn = [draws.choice([-0.5, 0.5, 0.9]) for _ in truth]
        made.append(audited(plain, knn, [draws.random() for _ in truth], [k > 0 for k in knn], n % 3 > 0))
    return made


def test_the_order_of_the_file_does_not_matter() -> None:
    made = documents()
    shuffled = made.copy()
    random.Random(1).shuffle(shuffled)
    one, other = Reliability.of(made, NAMES), Reliability.of(shuffled, NAMES)  # type: ignore[arg-type]
    assert one.to_json() == other.to_json()


def test_everything_is_measured_where_everything_is_known() -> None:
    made = documents()
    found = Reliability.of(made, NAMES)  # type: ignore[arg-type]
    assert [m.name for m in found.tokens] == ["model", "K-NN", "K-NN, nearest exemplars first"]
    assert found.approximation is not None
    agree = np.mean([(k > 0) == (s > 0) for d in made for k, s in zip(d.knn, d.scores, strict=True)])  # type: ignore[attr-defined]
    assert found.approximation.bins(1)[0].accuracy == pytest.approx(agree)
    assert found.admitted_documents is not None
    assert (found.admitted_documents.n, found.admitted_documents.total) == (8, 12)
    assert found.admitted_tokens is not None
    positive = [y for d in made for y, k in zip(d.document.token_labels, d.knn, strict=True) if k > 0]  # type: ignore[attr-defined]
    assert found.admitted_tokens.accuracy == pytest.approx(np.mean([y == "1" for y in positive]))
    json.dumps(found.to_json())


def test_the_model_alone_and_no_labels() -> None:
    labelled = [scored("a b", [1, -1], id=str(n), label="pos") for n in range(6)]
    alone = Reliability.of(labelled, NAMES)
    assert alone.documents is not None
    assert (alone.tokens, alone.approximation, alone.distances, alone.admitted_tokens) == (
        (),
        None,
        None,
        None,
    )
    assert [section.title for section in reliability_sections(alone)] == [
        "Reliability of the documents' labels",
        "Answering less, more rightly",
    ]
    nothing = Reliability.of([scored("a b", [1, -1])], NAMES)
    assert nothing.documents is None
    assert reliability_sections(nothing) == []
    assert nothing.to_json() == {}


def test_sections_show_all_parts() -> None:
    found = Reliability.of(documents(), NAMES)  # type: ignore[arg-type]
    sections = reliability_sections(found, reference=np.linspace(0, 2, 50), limits=[(0.7, "limit")])
    assert len(sections) == 4
    (distances,) = sections[-1].blocks
    assert distances.series[0].name == "this file"  # type: ignore[union-attr]
    for series in distances.series:  # type: ignore[union-attr]
        assert sum(y for y in series.y if y is not None) == pytest.approx(1)


def test_a_histogram_counts_every_value_once() -> None:
    values = np.concatenate([np.linspace(0, 1, 1000), [500.0]])
    centres, (shares,) = histogram([values], count=10)
    assert len(centres) == 10
    assert shares.sum() == pytest.approx(1)
    assert centres[-1] < 2, "one outlier must not flatten the rest"
    _, (same,) = histogram([np.full(5, 3.0)])
    assert same.sum() == pytest.approx(1)


@pytest.mark.parametrize("labels", [ONE_OF, SEVERAL], ids=["multiclass", "multilabel"])
def test_of_several_classes_each_is_judged_and_the_decided_ones_together(labels: LabelSet) -> None:
    labelled = drawn(labels, 60)
    found = MultiReliability.of(labelled, labels)
    pairs = []
    for scores in labelled:
        label = scores.document.label
        has = (label,) if isinstance(label, str) else label or ()
        pairs += [(scores.views[c].output, labels.names[c] in has) for c in scores.decided]
    documents = found.documents
    assert documents is not None
    assert len(documents.output) == len(pairs)
    ordered = sorted(pairs, reverse=True)
    for one in documents.quantiles():
        sure = [pair for pair in ordered if pair[0] >= one.threshold]
        if len(sure) == one.n:  # no tie at the edge
            assert one.accuracy == pytest.approx(np.mean([right for _, right in sure]))
    assert documents.quantiles()[-1].accuracy == pytest.approx(np.mean([right for _, right in pairs]))
    for c, (view, own) in enumerate(zip(labels.views, found.classes, strict=True)):
        alone = Reliability.of([scores.views[c] for scores in labelled], view)
        assert own.to_json() == alone.to_json()
    data = json.loads(json.dumps(found.to_json()))
    assert set(data["classes"]) == set(data["documents"]["by_class"]) == set(labels.names)
    sections = multi_reliability_sections(found)
    assert [section.title for section in sections] == [
        "Reliability of the documents' labels",
        "Reliability of the decisions on words",
    ]
    (plot, table, _) = sections[0].blocks
    assert [series.name for series in plot.series] == ["all classes", *labels.names]  # type: ignore[union-attr]
    assert [row[0] for row in table.rows] == ["all classes", *labels.names]  # type: ignore[union-attr]
    assert [fold.title for fold in sections[1].blocks] == [f"Words, {name}" for name in labels.names]  # type: ignore[union-attr]


def test_admitted_documents_of_several_classes_are_right_as_a_whole() -> None:
    plain = drawn(SEVERAL, 40)
    labelled = [admitted(scores, n % 4 == 0) for n, scores in enumerate(plain)]
    found = MultiReliability.of(labelled, SEVERAL)
    right = [
        sorted(SEVERAL.names[c] for c in scores.decided) == sorted(scores.document.label or ())
        for scores in plain[::4]
    ]
    assert found.admitted_documents is not None
    assert (found.admitted_documents.n, found.admitted_documents.total) == (10, 40)
    assert found.admitted_documents.accuracy == pytest.approx(np.mean(right))
    assert MultiReliability.of(plain, SEVERAL).admitted_documents is None


def test_several_classes_without_labels() -> None:
    unknown = [several.scored("x y", [[1, 0, 0], [0, 0, 1]], [1, -1, -1], id=str(n)) for n in range(8)]
    found = MultiReliability.of(unknown, ONE_OF)
    assert found.documents is None
    assert multi_reliability_sections(found) == []
    assert found.to_json() == {"classes": {"food": {}, "sport": {}, "travel": {}}}
