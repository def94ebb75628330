"""Small made-up corpora in the layout of the real ones, for trying an experiment out from end to end.

They are made from the built-in sample: learner sentences for FCE, correct ones for news, reviews for film
reviews. A revision of a review turns every sentiment word into an opposite. As annotators do, the revisers
have favourite words, so that revisions can be told from originals: a little less so in the contrast set.
"""

from __future__ import annotations

import csv
import lzma
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby, islice
from pathlib import Path

from exaudit._files import replace_file
from exaudit.data.document import Document
from exaudit.data.sample import sample_documents, sample_splits
from exaudit.data.sample.draw import Draw, words
from exaudit.data.sample.review_words import BAD, GOOD, WORDS
from exaudit.experiments.corpora import LEAKS

__all__ = ["write_corpora"]

SENTENCES = {"train": 300, "dev": 60, "test": 60}
PAIRS = {"train": 100, "dev": 40, "test": 40}
NEWS = {"1bw_heldout_10_11": 150, "1bw_heldout_12_13": 150, "bbc_supplement": 60}
MORE_REVIEWS = 320  # in the large set of originals, beside those of the training pairs
TWEETS = {"negative": 60, "neutral": 40, "positive": 40}

_VERBS = words("loved/hated adored/resented enjoyed/disliked appreciated/regretted delighted/disgusted "
               "happy/unhappy impressed/annoyed charmed/bored")  # fmt: skip
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")


def write_corpora(folder: Path, *, seed: int = 0) -> Path:
    """Write all five corpora below `folder` and return it. The same seed gives the same files."""
    reviews = _reviews(seed)
    pairs = {part: [_revised(reviews, n) for n in range(size)] for part, size in PAIRS.items()}
    _write_fce(folder / "fce", seed)
    _write_news(folder / "news_1b", seed)
    _write_cad(folder / "imdb_cad", pairs, reviews)
    _write_contrast(folder / "imdb_contrast", pairs["test"])
    _write_tweets(folder / "semeval2017_task4a", reviews, seed)
    return folder


# -- sentences --------------------------------------------------------------------------------------------


def _write_fce(folder: Path, seed: int) -> None:
    for part, documents in sample_splits("learner", seed=seed, sizes=SENTENCES).items():
        sentences = (
            "".join(
                f"{token}\t{label}\n" for token, label in zip(d.tokens, d.token_labels or (), strict=True)
            )
            for d in documents
        )
        _write(folder / f"fce-public.{part}.original.tsv", "\n".join(sentences))


def _write_news(folder: Path, seed: int) -> None:
    """Correct sentences, none of them among the learners'."""
    learners = sample_splits("learner", seed=seed, sizes=SENTENCES)
    seen = {document.text for documents in learners.values() for document in documents}
    drawn = sample_documents("learner", 2 * sum(NEWS.values()), seed=seed + 1)
    fresh = iter(dict.fromkeys(d.meta["correct"] for d in drawn if d.meta["correct"] not in seen))
    for name, size in NEWS.items():
        _write(folder / f"{name}.tokens", "".join(f"{next(fresh)}\n" for _ in range(size)))


# -- reviews ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Review:
    positive: bool
    text: str

    @property
    def label(self) -> str:
        return "Positive" if self.positive else "Negative"


def _reviews(seed: int) -> Iterator[Document]:
    """Reviews without end, no text twice."""
    seen: set[str] = set()
    for index in count():
        (document,) = sample_documents("reviews", 1, seed=seed, start=index)
        if document.text not in seen:
            seen.add(document.text)
            yield document


def _revised(reviews: Iterator[Document], n: int) -> tuple[_Review, _Review]:
    """An original and its revision. Sentiments alternate, and change step every ten: a tenth has both."""
    review = next(d for d in reviews if _can_turn(d))
    original = _Review(True, review.text)
    if (n + n // 10) % 2:
        original = _turned(original, favourites=0.0)
    return original, _turned(original, favourites=1.0)


def _can_turn(review: Document) -> bool:
    """Whether a review is positive, and all its praise is in words that have an opposite."""
    marks = zip(review.tokens, review.token_labels or (), strict=True)
    praise = [[token for token, _ in run] for label, run in groupby(marks, lambda m: m[1]) if label == "1"]
    return bool(praise) and all(any(map(_opposites, run)) for run in praise)


def _turned(review: _Review, favourites: float) -> _Review:
    """The same review with the other sentiment; `favourites` is how often revisers use one of theirs."""
    draw = Draw("turned", favourites, review.text)
    tokens = review.text.split()
    for place, token in enumerate(tokens):
        opposites = _opposites(token)
        if opposites is None:
            continue
        own, liked = opposites
        new = draw.pick(liked) if draw.chance(favourites) else own
        tokens[place] = _WORD.sub(new.capitalize() if token.strip('"')[0].isupper() else new, token, count=1)
        if place and tokens[place - 1].lower() in ("a", "an"):
            tokens[place - 1] = tokens[place - 1][0] + ("n" if new[0] in "aeiou" else "")
    return _Review(not review.positive, " ".join(tokens))


def _opposites(token: str) -> tuple[str, tuple[str, ...]] | None:
    """The opposite of a sentiment word, and what revisers like to write in its place."""
    found = _WORD.search(token)
    return None if found is None else _OPPOSITES.get(found[0].lower())


def _all_opposites() -> dict[str, tuple[str, tuple[str, ...]]]:
    table: dict[str, tuple[str, tuple[str, ...]]] = {}

    def add(
        good: Iterable[str], bad: Iterable[str], liked: Sequence[str] = (), hated: Sequence[str] = ()
    ) -> None:
        for a, b in zip(good, bad, strict=True):
            table[a] = (b, tuple(hated) or (b,))
            table[b] = (a, tuple(liked) or (a,))

    for kind in GOOD:
        add(GOOD[kind], BAD[kind], ("great", "great", "good"), ("terrible", "terrible", "bad"))
    add(WORDS["joy"], WORDS["mess"], ("delight",), ("disaster",))
    for pair in _VERBS:
        good, bad = pair.split("/")
        add([good], [bad])
    return table


_OPPOSITES = _all_opposites()


def _write_cad(
    folder: Path, pairs: dict[str, list[tuple[_Review, _Review]]], reviews: Iterator[Document]
) -> None:
    numbers = count(1)
    for part, some in pairs.items():
        numbered = [(str(next(numbers)), pair) for pair in some]
        rows = [(review.label, review.text, number) for number, pair in numbered for review in pair]
        _write_rows(folder / f"combined/paired/{part}_paired.tsv", ("Sentiment", "Text", "batch_id"), rows)
    many = [original for original, _ in pairs["train"]]
    many += [_Review(d.label == "positive", d.text) for d in islice(reviews, MORE_REVIEWS)]
    rows = [
        (r.label, r.text, f"train/{'pos' if r.positive else 'neg'}/{n}_{9 if r.positive else 2}")
        for n, r in enumerate(many)
    ]
    for leak, part in zip(LEAKS, ("dev", "test"), strict=True):  # as in the real file
        rows.append(next((o.label, o.text, leak) for o, _ in pairs[part] if not o.positive))
    path = folder / "orig_eighty_percent_reconstructed/train.tsv.xz"
    _write_rows(path, ("Sentiment", "Text", "acl_id"), rows)


def _write_contrast(folder: Path, pairs: Sequence[tuple[_Review, _Review]]) -> None:
    """The originals of CAD's test set, revised by other people."""
    originals = [original for original, _ in pairs]
    for name, side in (
        ("original", originals),
        ("contrast", [_turned(o, favourites=0.5) for o in originals]),
    ):
        rows = [(review.label, review.text) for review in side]
        _write_rows(folder / f"test_{name}.tsv", ("Sentiment", "Text"), rows)


def _write_tweets(folder: Path, reviews: Iterator[Document], seed: int) -> None:
    """Reviews with a hashtag; sentences about nothing in particular are neutral."""
    rows = []
    for label in ("negative", "positive"):
        chosen = islice((d for d in reviews if d.label == label), TWEETS[label])
        rows += [(label, f"{d.text} #{d.meta['topic']}") for d in chosen]
    neutral = sample_documents("learner", TWEETS["neutral"], seed=seed + 2)
    rows += [("neutral", f"{d.meta['correct']} #today") for d in neutral]
    rows = Draw("tweets", seed).shuffled(rows)
    lines = (f"{80_000 + n}\t{label}\t{text}\n" for n, (label, text) in enumerate(rows))
    _write(folder / "SemEval2017-task4-test.subtask-A.english.txt", "".join(lines))


# -- files ------------------------------------------------------------------------------------------------


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as temporary:
        opened = lzma.open if path.suffix == ".xz" else open
        with opened(temporary, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
