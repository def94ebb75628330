"""Tasks for `exaudit benchmark words` whose truth is known because they are made: from a file of plain sentences.

    python benchmarks/made_tasks.py made SENTENCES.txt [--documents 4000]     # a sentence a line, spaces between words
    exaudit benchmark words made

No rule and no number of ours was chosen on them, so they show what is to be expected of data that nobody has seen.

dates     a sentence that names a day of the week or a month; those words
amounts   a sentence with a sum of money; its words, as "$ 2.5 million"
quotes    a sentence with a quotation; the words within it and their marks: much is true, and only the marks show
slips     a sentence with words changed as by a hasty writer (`exaudit.data.changes`); those words
long      ten sentences, some of which name a day or a month, or none; those words
negations a sentence with not, never, nobody and the like; those words
names     a sentence with somebody's title; the title and the name after it
pronouns  a sentence about a woman, against one about a man; she, her, hers, herself
rare      like dates, but one sentence in twenty is positive
noisy     like dates, but one label in ten of train and dev is wrong
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
NEGATIONS = {
    "not", "n't", "no", "never", "none", "nobody", "nothing", "neither", "nor", "nowhere", "without", "cannot",
}  # fmt: skip
TITLES = {
    "Mr", "Mr.", "Mrs", "Mrs.", "Ms", "Ms.", "Miss", "Dr", "Dr.", "Sir", "Lord", "Lady", "Prof", "Professor",
    "President", "Senator", "Sen.", "Rev", "Rev.", "Judge", "Gen.", "Captain", "Sgt", "Sgt.",
}  # fmt: skip
HERS, HIS = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}
WRONG = 0.1  # of noisy labels
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


def negations(words: Sequence[str]) -> list[int]:
    return [int(word.lower() in NEGATIONS) for word in words]


def names(words: Sequence[str]) -> list[int]:
    """A title with a capitalised word after it, and all such words that follow."""
    marks = [0] * len(words)
    for i, word in enumerate(words):
        after = word[:1].isupper() and i > 0 and marks[i - 1]
        title = word in TITLES and words[i + 1 : i + 2] and words[i + 1][:1].isupper()
        marks[i] = int(bool(after or title))
    return marks


def pronouns(sentences: Sequence[list[str]]) -> Iterator[Marked]:
    """Sentences with pronouns for women alone, and as many with pronouns for men alone."""
    women, men = [], []
    for words in sentences:
        marks = [int(word.lower() in HERS) for word in words]
        his = any(word.lower() in HIS for word in words)
        if any(marks) != his:
            (men if his else women).append((words, marks))
    yield from women
    yield from men[: len(women)]


def rare(sentences: Sequence[list[str]], documents: int) -> Iterator[Marked]:
    marked = [(words, dates(words)) for words in sentences]
    positive = [own for own in marked if any(own[1])][: documents // 20]
    yield from positive
    yield from [own for own in marked if not any(own[1])][: documents - len(positive)]


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


def write(folder: Path, name: str, documents: Sequence[Marked], draws: random.Random, wrong: float) -> None:
    """In train and dev, this part of the labels is wrong; these have no token labels then."""
    first = 0
    for split, share in SPLITS.items():
        last = first + round(share * len(documents))
        path = folder / f"{name}.{split}.jsonl"
        with replace_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            for i, (words, marks) in enumerate(documents[first:last]):
                noisy = wrong > 0 and split != "test"
                positive = any(marks) != (noisy and draws.random() < wrong)
                row = {"id": str(i), "tokens": words, "label": "positive" if positive else "negative"}
                row |= {} if noisy else {"token_labels": marks}
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
        "negations": found(sentences, negations),
        "names": found(sentences, names),
        "pronouns": pronouns(sentences),
        "rare": rare(sentences, options.documents),
        "noisy": found(sentences, dates),
    }
    for name, own in made.items():
        documents = [(words, marks) for words, marks in own if words]
        draws.shuffle(documents)
        wrong = WRONG if name == "noisy" else 0.0
        write(options.out, name, documents[: options.documents], draws, wrong)


if __name__ == "__main__":
    main()
