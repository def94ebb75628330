"""The page of example sentences."""

from __future__ import annotations

import numpy as np

from exaudit.analyse.exemplars import ExemplarRow, ExemplarTable
from exaudit.audit.evidence import Exemplar
from exaudit.data.document import Document
from exaudit.experiments.examples import examples_markdown


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
