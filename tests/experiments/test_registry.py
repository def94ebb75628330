"""The files an experiment says it needs are those it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exaudit.experiments import corpora
from exaudit.experiments.registry import EXPERIMENTS

READERS = {
    "fce": (corpora.read_fce, corpora.read_news),
    "sentiment": (corpora.read_reviews, corpora.read_contrast, corpora.read_tweets),
    "annotation": (corpora.read_reviews, corpora.read_contrast),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_files_an_experiment_needs_are_those_it_reads(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = EXPERIMENTS[name]
    opened: list[str] = []
    read = corpora._read

    def noted(folder: Path, corpus: str, file: str, **options: Any) -> Any:
        opened.append(f"{corpus}/{file}")
        return read(folder, corpus, file, **options)

    monkeypatch.setattr(corpora, "_read", noted)
    for reader in READERS[name]:
        reader(data)
    optional = {file for file, _ in experiment.optional}
    assert set(experiment.needs) <= set(opened) <= {*experiment.needs, *optional, *READ_BESIDE}
    experiment.check(data)


# read_reviews brings the large set of originals, which annotation has no use for
READ_BESIDE = {"imdb_cad/orig_eighty_percent_reconstructed/train.tsv.xz"}
