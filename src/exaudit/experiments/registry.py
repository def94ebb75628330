"""Which experiments there are, and the files that each of them reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from exaudit.errors import DataError

if TYPE_CHECKING:
    from exaudit.experiments.run import Run
    from exaudit.experiments.step_result import StepResult

__all__ = ["EXPERIMENTS", "Experiment"]

_CAD = tuple(f"imdb_cad/combined/paired/{split}_paired.tsv" for split in ("train", "dev", "test"))
_CONTRAST = ("imdb_contrast/test_original.tsv", "imdb_contrast/test_contrast.tsv")


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments; `module` has a function of its own name that runs it."""

    id: str
    title: str
    place: str
    module: str
    needs: tuple[str, ...]  # files below the data folder
    optional: tuple[tuple[str, str], ...] = ()  # a file, and what happens without it
    steps: tuple[str, ...] = ()  # patterns of their names

    @property
    def files(self) -> tuple[str, ...]:
        """All that it may read."""
        return (*self.needs, *(name for name, _ in self.optional))

    def run(self, run: Run) -> Iterator[StepResult]:
        """What each step finds, as it is found (or was found before)."""
        run.check_data(self.files)
        module = import_module(f"exaudit.experiments.{self.module}")
        yield from getattr(module, self.module)(run)

    def check(self, data: Path) -> None:
        """Every file is there, before hours are spent on the first of them."""
        for name in self.needs:
            if not (data / name).is_file():
                corpus = name.split("/")[0]
                raise DataError(
                    f"there is no such file, and {self.id} needs it; the data folder is {data} (--data, or "
                    f"EXAUDIT_DATA): put the corpus there, or get it with `exaudit data fetch {corpus} --data {data}`",
                    data / name,
                )


EXPERIMENTS = {
    one.id: one
    for one in (
        Experiment(
            "fce",
            "Grammatical error detection",
            "section 4 and appendix B",
            "grammar",
            (
                *(f"fce/fce-public.{split}.original.tsv" for split in ("train", "dev", "test")),
                "news_1b/1bw_heldout_10_11.tokens",
                "news_1b/1bw_heldout_12_13.tokens",
            ),
            (
                ("news_1b/1bw_heldout_00_09.tokens", "the supplement fills up the support set"),
                (
                    "news_1b/bbc_supplement.tokens",
                    "fewer news sentences in the support set, if both are missing",
                ),
            ),
            (
                "fce-uniCNN-[0-9]*",
                "fce-mm-[0-9]*",
                "fce-supervised-[0-9]*",
                "fce-news-trained",
                "fce-cnn",
                "fce-two-filters",
                "fce-widths",
                "fce-evidence-*",
                "fce-rules-*-[0-9]*",
                "fce-unigrams",
            ),
        ),
        Experiment(
            "sentiment",
            "Sentiment of film reviews",
            "section 5 and appendix C",
            "sentiment",
            (*_CAD, *_CONTRAST, "semeval2017_task4a/SemEval2017-task4-test.subtask-A.english.txt"),
            (
                ("imdb_cad/orig/eighty_percent/train.tsv", "the reconstruction of it is taken"),
                (
                    "imdb_cad/orig_eighty_percent_reconstructed/train.tsv.xz",
                    "no rows that train on more originals, if both are missing",
                ),
            ),
            (
                "sentiment-baselines",
                *(
                    f"sentiment-{size}{name}"
                    for name in ("orig", "paired", "disjoint")
                    for size in ("", "without-")
                ),
                *(
                    f"sentiment-{size}{name}-19k"
                    for name in ("orig", "paired", "disjoint")
                    for size in ("", "without-")
                ),
                "sentiment-compared-*",
                "sentiment-knn",
                "sentiment-rules-*",
            ),
        ),
        Experiment(
            "annotation",
            "Original or revised reviews",
            "section 6 and appendix D",
            "annotation",
            (*_CAD, *_CONTRAST),
            tuple(
                (f"imdb_contrast/dev_{side}.tsv", "no page of table 27") for side in ("original", "contrast")
            ),
            ("annotation-domain", "annotation-contrast", "annotation-words"),
        ),
    )
}
