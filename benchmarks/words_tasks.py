"""The data of the paper as tasks for `exaudit benchmark words`: FCE, and film reviews with their sentiment diffs.

    python benchmarks/words_tasks.py tasks --data DIR       # DIR as `exaudit data fetch` leaves it
    exaudit benchmark words tasks

Writes tasks/fce.SPLIT.jsonl and tasks/sentiment.SPLIT.jsonl. Sentiment is trained on original and revised reviews
(1.7k each); a positive word of test is one that was changed to make a positive review negative. The token labels of
train and dev are written, too: the benchmark takes them away before it trains.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from exaudit._files import replace_file
from exaudit.data.document import Document
from exaudit.data.fetch import data_folder
from exaudit.errors import DataError
from exaudit.experiments.corpora import Splits, read_fce, read_reviews


def sentiment(data: Path) -> Splits:
    reviews = read_reviews(data)
    pairs = zip((reviews.orig.train, reviews.orig.dev, reviews.orig.test),
                (reviews.rev.train, reviews.rev.dev, reviews.rev.test), strict=True)  # fmt: skip
    return Splits(*([*original, *revised] for original, revised in pairs))


def write(path: Path, documents: Sequence[Document]) -> None:
    with replace_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for d in documents:
            row = {"id": d.id, "tokens": d.tokens, "label": d.label, "token_labels": d.token_labels}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=data_folder())
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, read in (("fce", read_fce), ("sentiment", sentiment)):
        try:
            splits = read(options.data)
        except DataError as error:
            print(f"{name} is left out: {error}")
            continue
        for split in ("train", "dev", "test"):
            write(options.out / f"{name}.{split}.jsonl", getattr(splits, split))
            print(options.out / f"{name}.{split}.jsonl")


if __name__ == "__main__":
    main()
