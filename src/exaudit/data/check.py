"""What is in a file of documents, and what is wrong with it: everything that can be found in one pass."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from statistics import fmean, median
from typing import Any

from exaudit.data.columns import listed
from exaudit.data.document import Document, Label
from exaudit.data.labels import LabelNames, LabelSet
from exaudit.data.notes import Notes, Problem
from exaudit.data.readers import iter_documents
from exaudit.data.spelling import folded, renamed
from exaudit.errors import DataError, SettingError

__all__ = ["CheckReport", "check"]

VERY_LONG = 2000  # words in a document
LONG_WORD = 100  # characters; longer ones are data
RARE = 0.1  # share of the smallest class from which on classes count as imbalanced
MANY_CLASSES = 50
LOOKED_AT = 500  # documents
UNKNOWN = "label words with the classes of the documents"

SUSPICIOUS = {
    "a text holds HTML tags (such as <br />)": re.compile(
        r"</?(?:br|p|div|span|a|b|i|em|strong|li|ul|h\d)\b[^<>]*>", re.IGNORECASE
    ),
    "a text holds HTML entities (such as &amp;)": re.compile(
        r"&(?:amp|lt|gt|quot|nbsp|apos|#\d{1,6}|#x[0-9a-f]{1,6});", re.IGNORECASE
    ),
    "a text holds control characters": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
    "a text holds characters of no width (such as U+200B)": re.compile("[\u200b\u2060\ufeff\u00ad]"),
    "a text holds U+FFFD, a sign of wrong decoding": re.compile("\ufffd"),
    "a text looks decoded twice (such as \u00c3\u00a9 for \u00e9)": re.compile(
        "\u00c3[\u0080-\u00bf]|\u00e2\u20ac[\u0098-\u201d\u2122]"
    ),
    "a text begins or ends with white space": re.compile(r"\A\s|\s\Z"),
}


@dataclass
class CheckReport:
    """The findings of `check`. Errors would stop a reader; warnings would not."""

    path: str
    format: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    documents: int = 0
    tokens: int = 0
    lengths: dict[str, float] = field(default_factory=dict)  # min, median, mean, max, in tokens
    classes: dict[str, int] = field(default_factory=dict)
    unlabelled: int = 0
    token_classes: dict[str, int] = field(default_factory=dict)
    token_positive_share: float | None = None
    kind: str | None = None  # binary, multiclass or multilabel
    positive: str | None = None  # of two classes
    negative: str | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.is_error]

    @property
    def warnings(self) -> list[Problem]:
        return [problem for problem in self.problems if not problem.is_error]

    @property
    def ok(self) -> bool:
        """Whether the file can be read without an error."""
        return not self.errors

    def to_json(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name != "problems"}
        for name, problems in (("errors", self.errors), ("warnings", self.warnings)):
            values[name] = [
                {
                    "what": problem.what,
                    "count": problem.count,
                    "lines": problem.lines,
                    "examples": problem.details,
                }
                | ({"advice": problem.advice} if problem.advice else {})
                for problem in problems
            ]
        return values | {"ok": self.ok}

    def render(self) -> str:
        """Plain text for people."""
        lines = [self.path]
        if self.format is not None:
            chosen = ", ".join(f"{role}: {name}" for role, name in self.columns.items())
            lines.append(f"  format      {self.format}" + (f" ({chosen})" if chosen else ""))
        lines.append(f"  documents   {self.documents:,}")
        if self.documents:
            length = self.lengths
            lines.append(
                f"  words       {self.tokens:,}; per document {length['min']:,.0f} to {length['max']:,.0f}, "
                f"median {length['median']:,.0f}, mean {length['mean']:,.1f}"
            )
            lines.append(f"  labels      {_counts(self.classes) or 'none'}")
            if self.unlabelled and self.classes:
                lines[-1] += f"; {self.unlabelled:,} documents without"
            lines.append(f"  word labels {_counts(self.token_classes) or 'none'}")
            if self.token_positive_share is not None:
                lines[-1] += f"; {self.token_positive_share:.1%} positive"
        if self.positive is not None:
            lines.append(f"  classes     positive: {self.positive!r}, negative: {self.negative!r}")
        elif self.kind is not None:
            each = "one" if self.kind == "multiclass" else "any number"
            lines.append(f"  classes     {len(self.classes or self.token_classes):,}, {each} for a document")
        for title, problems in (("errors", self.errors), ("warnings", self.warnings)):
            lines += [f"  {title}"] if problems else []
            for problem in problems:
                lines.append(f"    - {problem.summary()}")
                lines += [f"        {detail}" for detail in problem.details]
                lines += [f"        what to do: {problem.advice}"] if problem.advice else []
        if not self.problems:
            lines.append("  nothing wrong was found")
        return "\n".join(lines)


def check(
    path: str | os.PathLike[str],
    *,
    positive: str | None = None,
    look: Callable[[list[tuple[str, ...]]], str | None] | None = None,
    **options: Any,
) -> CheckReport:
    """Read a file to its end, past what is wrong with it. Takes the options of `iter_documents`.

    look : is shown the words of the first documents, and may have a warning to add, such as on their language.
    """
    notes = Notes(path, keep_going=True)
    report = CheckReport(str(path))
    tally = _Tally(notes)
    first: list[tuple[str, ...]] = []
    try:
        for document in iter_documents(path, notes=notes, **options):
            tally.add(document)
            if len(first) < LOOKED_AT:
                first.append(document.tokens)
        if look is not None and first and (found := look(first)) is not None:
            notes.warn(found)
        if not tally.lengths:
            notes.error("there are no documents in this file")
    except DataError as error:  # the reader itself cannot go on
        where = f"{error.path}: " if error.line is None else f"{error.path}:{error.line}: "
        notes.error(str(error).removeprefix(where), error.line)
    report.format, report.columns = notes.format, notes.columns
    if tally.lengths:
        tally.fill(report, positive)
    report.problems = sorted(notes.problems.values(), key=lambda problem: not problem.is_error)
    return report


_Kind = tuple[Label | None, frozenset[Label] | None]  # a document's label, and those of its words


class _Tally:
    """Counts over all documents, keeping no document."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.lengths: list[int] = []
        self.labelled = 0
        self.labels: Counter[str] = Counter()
        self.token_labels: Counter[str] = Counter()
        self.ids: dict[str, int] = {}
        self.texts: dict[bytes, tuple[int, Label | None, bytes]] = {}
        self.kinds: Counter[_Kind] = Counter()
        self.first_of_kind: dict[_Kind, Document] = {}

    def add(self, document: Document) -> None:
        line, words = document.line, document.tokens
        self.lengths.append(len(words))
        if document.label is not None:
            self.labelled += 1
            self.labels.update(_each(document.label))
        for label in document.token_labels or ():
            self.token_labels.update(_each(label))
        kind = (document.label, None if document.token_labels is None else frozenset(document.token_labels))
        self.kinds[kind] += 1
        self.first_of_kind.setdefault(kind, document)
        self._find_duplicates(document)
        if len(words) > VERY_LONG:
            self.notes.warn(f"a document has more than {VERY_LONG:,} words", line, f"{len(words):,} words")
        longest = max(words, key=len)
        if len(longest) > LONG_WORD:
            self.notes.warn(
                f"a word is longer than {LONG_WORD} characters",
                line,
                f"{longest[:40]}... ({len(longest):,} characters)",
            )
        for what, pattern in SUSPICIOUS.items():
            if match := pattern.search(document.text):
                start, end = match.span()
                self.notes.warn(what, line, ascii(document.text[max(0, start - 15) : end + 15]))

    def _find_duplicates(self, document: Document) -> None:
        first = self.ids.setdefault(document.id, document.line)
        if first != document.line:
            self.notes.error(
                "an id is used twice",
                document.line,
                detail=f"{document.id!r}, first in line {first}",
                advice="make the ids unique, or name another column with `id_column` ('' numbers the documents)",
            )
        key, word_labels = _digest(document.tokens), _digest(map(str, document.token_labels or ()))
        line, label, first_word_labels = self.texts.setdefault(
            key, (document.line, document.label, word_labels)
        )
        if line == document.line:
            return
        self.notes.warn("a text occurs again", document.line, f"the same as line {line}")
        if _folded(label) != _folded(document.label):
            self.notes.warn(
                "a text occurs again with another label",
                document.line,
                f"{document.label!r} here, {label!r} in line {line}",
            )
        if word_labels != first_word_labels:
            self.notes.warn(
                "a text occurs again with other word labels", document.line, f"compare with line {line}"
            )

    def fill(self, report: CheckReport, positive: str | None) -> None:
        report.documents, report.tokens = len(self.lengths), sum(self.lengths)
        report.lengths = {
            "min": min(self.lengths),
            "median": median(self.lengths),
            "mean": fmean(self.lengths),
            "max": max(self.lengths),
        }
        self._unify()
        report.classes = dict(self.labels.most_common())
        report.unlabelled = report.documents - self.labelled
        report.token_classes = dict(self.token_labels.most_common())
        if not self.labelled and not self.token_labels:
            return  # a file to be labelled
        try:
            labels = LabelSet.infer(self.first_of_kind.values(), positive)
        except SettingError as error:  # harmless: the question is answered when the file is used
            self.notes.warn(str(error))
            return
        except DataError as error:
            self.notes.error(str(error))
            return
        report.kind = labels.kind
        if labels.kind == "binary":
            report.negative, report.positive = labels.names
            self._check_targets(report, labels.views[0])
        else:
            self._check_known(labels)

    def _unify(self) -> None:
        """Labels that differ in case alone are one, as for every other reader."""
        common = {name: chosen for name, chosen, _ in self.notes.spellings.variants()}
        for name, chosen in common.items():
            self.labels[chosen] += self.labels.pop(name)
        for label, words in [kind for kind in self.kinds if renamed(kind[0], common) != kind[0]]:
            kind = (renamed(label, common), words)
            self.kinds[kind] += self.kinds.pop((label, words))
            document = replace(self.first_of_kind.pop((label, words)), label=kind[0])
            self.first_of_kind.setdefault(kind, document)

    def _check_known(self, labels: LabelSet) -> None:
        for document in self.first_of_kind.values():
            try:
                labels.document_classes(document)
                labels.token_targets(document)
            except DataError as error:
                self.notes.error("an unknown label", document.line, detail=str(error), advice=UNKNOWN)

    def _check_targets(self, report: CheckReport, names: LabelNames) -> None:
        """What can be said once it is known which class is positive."""
        positive_tokens = sum(
            count for label, count in self.token_labels.items() if _is_positive_token(label, names)
        )
        if self.token_labels:
            report.token_positive_share = positive_tokens / sum(self.token_labels.values())
        targets: Counter[int] = Counter()
        for (label, token_labels), count in self.kinds.items():
            document = self.first_of_kind[label, token_labels]
            try:
                target, tokens = names.document_target(document), names.token_targets(document)
            except DataError as error:
                self.notes.error("an unknown label", document.line, detail=str(error), advice=UNKNOWN)
                continue
            if target is None:
                continue
            targets[target] += count
            if tokens is not None and bool(tokens.any()) != bool(target):
                what = (
                    "negative, but has positive words"
                    if target == 0
                    else "positive, but has no positive word"
                )
                self.notes.warn(f"a document is labelled {what}", document.line, count=count)
        share = min(targets[0], targets[1]) / max(1, targets.total())
        if share == 0:
            self.notes.warn("all documents are of one class; a classifier needs both")
        elif share < RARE:
            rare = names.name(int(targets[1] < targets[0]))
            self.notes.warn(f"the classes are imbalanced: {share:.1%} of the documents are {rare!r}")


def _is_positive_token(label: str, names: LabelNames) -> bool:
    document = Document("", label, (label,), token_labels=(label,))
    try:
        targets = names.token_targets(document)
    except DataError:
        return False
    return targets is not None and bool(targets[0])


def _folded(label: Label | None) -> list[str] | None:
    return None if label is None else [folded(name) for name in _each(label)]


def _each(label: Label) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else label


def _digest(words: Iterable[str]) -> bytes:
    return blake2b("\0".join(words).encode(errors="replace"), digest_size=16).digest()


def _counts(classes: dict[str, int]) -> str:
    total = sum(classes.values())
    shown = list(classes.items())[:MANY_CLASSES]
    text = ", ".join(f"{listed([name])} {count:,} ({count / total:.1%})" for name, count in shown)
    return text + (f" and {len(classes) - MANY_CLASSES:,} more" if len(classes) > MANY_CLASSES else "")
