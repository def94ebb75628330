"""Tasks for `exaudit benchmark words` whose truth is known because they are made: from a file of plain sentences.

    python benchmarks/made_tasks.py made SENTENCES.txt [--documents 4000]     # a sentence a line, spaces between words
    exaudit benchmark words made

No rule and no number of ours was chosen on them, so they show what is to be expected of data that nobody has seen.

dates     a sentence that names a day of the week or a month; those words
amounts   a sentence with a sum of money; its words, as "$ 2.5 million"
quotes    a sentence with a quotation; the words within it and their marks: much is true, and only the marks show
slips     a sentence with words changed as by a hasty writer (`exaudit.data.changes`); those words
long      ten sentences, some of which name a day or a month, or none; those words
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from exaudit._files import replace_file
from exaudit.data.changes import Changer

Marked = tuple[list[str], list[int]]  # words, and 1 for each that is true

DATES = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    "January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December",
}  # fmt: skip
MONEY = {"$", "£", "€", "US$", "A$", "C$"}
NUMBER = re.compile(r"\d[\d,.]*(m|bn|k)?")
SIZES = {"thousand", "million", "billion", "trillion", "m", "bn"}
SENTENCES = 10  # of a long document
SPLITS = {"train": 0.75, "dev": 0.1, "test": 0.15}


def dates(words: Sequence[str]) -> list[int]:
    return [int(word in DATES) for word in words]


def amounts(words: Sequence[str]) -> list[int]:
    """The sign, the number after it, and how many of a thousand it is."""
    marks = [0] * len(words)
    for i, word in enumerate(words[:-1]):
        if word in MONEY and NUMBER.fullmatch(words[i + 1]):
            marks[i] = marks[i + 1] = 1
            if words[i + 2 : i + 3] and words[i + 2] in SIZES:
                marks[i + 2] = 1
    return marks


def quotes(words: Sequence[str]) -> list[int]:
    """From one quotation mark to the next."""
    marks, within = [], False
    for word in words:
        marks.append(int(within or word == '"'))
        within ^= word == '"'
    return marks


def found(sentences: Sequence[list[str]], mark: Callable[[Sequence[str]], list[int]]) -> Iterator[Marked]:
    """Sentences as they are, at most as many without a true word as three times those with one."""
    marked = [(words, mark(words)) for words in sentences]
    positive = [own for own in marked if any(own[1])]
    negative = [own for own in marked if not any(own[1])]
    yield from positive
    yield from negative[: 3 * len(positive)]


def slips(sentences: Sequence[list[str]]) -> Iterator[Marked]:
    change = Changer(sentences, seed=0)
    for i, words in enumerate(sentences):
        yield change(words) if i % 2 else (words, [0] * len(words))


def long(sentences: Sequence[list[str]], draws: random.Random) -> Iterator[Marked]:
    """Half of the documents have from one to three sentences with a date."""
    positive = [(words, dates(words)) for words in sentences if any(dates(words))]
    negative = [(words, [0] * len(words)) for words in sentences if not any(dates(words))]
    while len(negative) >= SENTENCES and len(positive) >= 3:
        count = draws.choice([0, 0, 0, 1, 2, 3])
        parts = [positive.pop() for _ in range(count)] + [negative.pop() for _ in range(SENTENCES - count)]
        draws.shuffle(parts)
        yield [word for words, _ in parts for word in words], [mark for _, marks in parts for mark in marks]


def write(folder: Path, name: str, documents: Sequence[Marked]) -> None:
    first = 0
    for split, share in SPLITS.items():
        last = first + round(share * len(documents))
        path = folder / f"{name}.{split}.jsonl"
        with replace_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            for i, (words, marks) in enumerate(documents[first:last]):
                label = "positive" if any(marks) else "negative"
                row = {"id": str(i), "tokens": words, "label": label, "token_labels": marks}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        first = last
        print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("sentences", type=Path, nargs="+")
    parser.add_argument("--documents", type=int, default=4000)
    options = parser.parse_args()
    lines = [line for path in options.sentences for line in path.read_text(encoding="utf-8").splitlines()]
    sentences = [line.split() for line in lines if 4 <= len(line.split()) <= 60]
    draws = random.Random(0)
    draws.shuffle(sentences)
    options.out.mkdir(parents=True, exist_ok=True)
    made: dict[str, Iterator[Marked]] = {
        "dates": found(sentences, dates),
        "amounts": found(sentences, amounts),
        "quotes": found(sentences, quotes),
        "slips": slips(sentences[: options.documents]),
        "long": long(sentences, draws),
    }
    for name, own in made.items():
        documents = [(words, marks) for words, marks in own if words]
        draws.shuffle(documents)
        write(options.out, name, documents[: options.documents])


if __name__ == "__main__":
    main()
