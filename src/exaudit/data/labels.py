"""The classes of a task: names for people, numbers inside.

A `LabelSet` has all of them. Words are decided one class at a time, so most of the code sees a `LabelNames`: one class,
1 (positive), against all others, 0 (negative). Two classes need one such view, that of the positive class.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from exaudit.data.columns import listed
from exaudit.data.document import Document, Label
from exaudit.data.spelling import folded
from exaudit.errors import DataError, SettingError

__all__ = ["LabelNames", "LabelSet", "Value", "plain_positive"]

Path = str | os.PathLike[str]
Kind = Literal["binary", "multiclass", "multilabel"]
Value = str | int | float | bool  # a label as the caller gave it

# Names that say by themselves which class is meant; "1" and "i" only beside their usual partner, because of files
# with classes 1 and 2, or i and ii.
PLAIN_POSITIVE = {"positive", "pos", "yes", "true"}
PLAIN_PAIRS = {("0", "1"), ("-1", "1"), ("-1", "+1"), ("c", "i")}
# Token labels that are understood whatever the two classes are called.
TOKEN_LABELS = {
    "1": 1, "+1": 1, "i": 1, "true": 1, "yes": 1,
    "0": 0, "-1": 0, "c": 0, "false": 0, "no": 0,
}  # fmt: skip
NO_CLASS = {"o", "", "_", "-", "none"}  # on a word that carries no class
TAG = re.compile(r"[BILUES]-(.+)")  # B-food, I-food: the usual prefixes of chunks


@dataclass(frozen=True)
class LabelNames:
    """One class, `positive`, against the rest: `negative` is their name, `others` what they are called one by one."""

    negative: str
    positive: str
    others: tuple[str, ...] = ()
    shorthand: bool = (
        True  # whether tokens may be labelled 0/1, c/i, no/yes, ... whatever the classes are called
    )
    _targets: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        targets = {**dict.fromkeys(self.others, 0), self.negative: 0, self.positive: 1}
        if self.positive == self.negative or self.positive in self.others:
            raise SettingError(f"the positive and the negative class have the same name, {self.positive!r}")
        object.__setattr__(self, "_targets", targets)

    @classmethod
    def one_against(cls, positive: str, rest: Sequence[str], *, shorthand: bool = True) -> LabelNames:
        """The class against one other, or against several as `not positive`."""
        if len(rest) == 1 and shorthand:
            return cls(rest[0], positive)
        return cls(f"not {positive}", positive, tuple(rest), shorthand)

    def name(self, target: int) -> str:
        """The name of class 0 or 1."""
        return self.positive if target == 1 else self.negative

    def document_target(self, document: Document, *, path: Path | None = None) -> int | None:
        """0 or 1; where a document has token labels only, 1 if any token is positive; None without labels."""
        if document.label is None:
            tokens = self.token_targets(document, path=path)
            return None if tokens is None else int(tokens.any())
        target = 0
        for name in (document.label,) if isinstance(document.label, str) else document.label:
            own = self._target(name)
            if own is None:
                known = listed([self.negative, self.positive, *self.others] if self.shorthand else
                               sorted([self.positive, *self.others]))  # fmt: skip
                raise DataError(
                    f"document {document.id!r} has the unknown label {name!r}; the classes are {known}",
                    path,
                    document.line or None,
                )
            target |= own
        return target

    def _target(self, name: str) -> int | None:
        """Of a class by its name; also where that is written in another case, if it leaves no doubt."""
        target = self._targets.get(name)
        return self._folded.get(folded(name)) if target is None else target

    @cached_property
    def _folded(self) -> dict[str, int]:
        return _unambiguous(self._targets)

    def token_targets(self, document: Document, *, path: Path | None = None) -> NDArray[np.int8] | None:
        """0 or 1 for each token, from class names, tags (B-food, I-food, O), or 0/1, c/i, false/true, no/yes; None
        without token labels."""
        if document.token_labels is None:
            return None
        targets = np.empty(len(document.token_labels), dtype=np.int8)
        for i, label in enumerate(document.token_labels):
            target = self._token_target(label)
            if target is None:
                wanted = f"{self.negative!r} and {self.positive!r}, or 0 and 1"
                if not self.shorthand:
                    wanted = (
                        f"the names of the classes ({listed(sorted([self.positive, *self.others]))}), or O"
                    )
                raise DataError(
                    f"document {document.id!r} has the unknown token label {label!r} on token {i + 1}, "
                    f"{document.tokens[i]!r}; use {wanted}",
                    path,
                    document.line or None,
                )
            targets[i] = target
        return targets

    def _token_target(self, label: Label) -> int | None:
        if not isinstance(label, str):
            each = [self._token_target(one) for one in label]
            return None if None in each else int(1 in each)
        target = self._targets.get(label)
        if target is None and self.shorthand:
            target = TOKEN_LABELS.get(label.casefold())
        if target is None:
            name = _class_of(label)
            target = 0 if name is None else self._target(name)
        return target


@dataclass(frozen=True)
class LabelSet:
    """All classes of a task.

    Parameters
    ----------
    kind
        "binary": two classes, negative and positive. "multiclass": one of several. "multilabel": none, one or several.
    names
        Of the classes, in the order of the model's outputs.
    others
        Of a binary set: classes that count as negative, if `names` has "not X" for them.
    values
        The labels as the caller gave them, in the order of `names`: numbers stay numbers.
    """

    kind: Kind
    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()
    views: tuple[LabelNames, ...] = field(init=False, repr=False, compare=False)
    _number: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or len(set(self.names)) != len(self.names) or len(self.names) < 2 - (
            self.kind == "multilabel"
        ):  # fmt: skip
            raise SettingError(f"a {self.kind} task cannot have the classes {listed(self.names)}")
        if self.kind == "binary":
            views: tuple[LabelNames, ...] = (LabelNames(self.names[0], self.names[1], self.others),)
        else:
            views = tuple(
                LabelNames.one_against(name, [n for n in self.names if n != name], shorthand=False)
                for name in self.names
            )
        object.__setattr__(self, "views", views)
        object.__setattr__(self, "values", self.values or self.names)
        object.__setattr__(self, "_number", {name: c for c, name in enumerate(self.names)})

    @classmethod
    def binary(cls, negative: str, positive: str) -> LabelSet:
        return cls("binary", (negative, positive))

    @classmethod
    def infer(
        cls,
        documents: Iterable[Document],
        positive: str | None = None,
        *,
        values: Mapping[str, Value] | None = None,
        path: Path | None = None,
    ) -> LabelSet:
        """The classes of the document labels, or of the token labels where no document has a label.

        Parameters
        ----------
        documents
            Documents with labels.
        positive
            Look at this class alone, against all others.
        values
            The labels as the caller gave them, by name; they set the order of the classes.
        path
            The file, for messages.
        """
        single: set[str] = set()
        several: set[str] = set()
        of_tokens: set[str] = set()
        lists = False
        for document in documents:
            if isinstance(document.label, tuple):
                lists = True
                several.update(document.label)
            elif document.label is not None:
                single.add(document.label)
            for label in document.token_labels or ():
                of_tokens.update((label,) if isinstance(label, str) else label)
        if not (single or lists):
            return cls._of_tokens(of_tokens, positive, path)
        found = sorted(single | several, key=lambda name: (values or {}).get(name, name))
        return cls.from_classes(found, positive, multilabel=lists, values=values, path=path)

    @classmethod
    def from_classes(
        cls,
        classes: Sequence[str],
        positive: str | None = None,
        *,
        multilabel: bool = False,
        values: Mapping[str, Value] | None = None,
        path: Path | None = None,
    ) -> LabelSet:
        """The positive one of two classes is `positive`, the one with a plain name (positive, pos, yes, true, 1, i), or
        the last."""
        if not classes:
            raise DataError(
                "no document has a label; name the column of the labels with `label_column`", path
            )
        if len(classes) == 1 and not multilabel:
            raise DataError(
                f"all labels are {classes[0]!r}; two classes are needed: add documents of the other, or name another "
                "column with `label_column`",
                path,
            )
        if positive is None and (multilabel or len(classes) > 2):
            kind: Kind = "multilabel" if multilabel else "multiclass"
            return cls(kind, tuple(classes), values=_values(classes, values))
        chosen = plain_positive(classes) or classes[-1] if positive is None else _match(positive, classes)
        if chosen is None:
            raise SettingError(
                f"no label is {positive!r}; the classes are {listed(classes)}; choose by `positive`"
            )
        rest = [name for name in classes if name != chosen]
        if len(rest) == 1 and not multilabel:
            names = (rest[0], chosen)
            return cls("binary", names, values=_values(names, values))
        return cls("binary", (f"not {chosen}", chosen), tuple(rest))

    @classmethod
    def _of_tokens(cls, labels: set[str], positive: str | None, path: Path | None) -> LabelSet:
        """Of documents whose tokens alone are labelled: a document has the labels that its tokens have."""
        carried = {name for label in labels if (name := _class_of(label)) is not None}
        unlabelled = sorted(label for label in labels if _class_of(label) is None)
        if len(carried) == 1 and unlabelled:
            return cls.binary(unlabelled[0], *carried)
        if len(labels) <= 2:
            return cls.from_classes(sorted(labels), positive, path=path)
        return cls.from_classes(sorted(carried), positive, multilabel=True, path=path)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _folded(self) -> dict[str, int]:
        return _unambiguous(self._number)

    @property
    def sorted_values(self) -> NDArray[Any]:
        """The labels as scikit-learn has them in `classes_`."""
        return np.sort(np.array(self.values))

    def document_classes(self, document: Document, *, path: Path | None = None) -> tuple[int, ...] | None:
        """The numbers of the classes that a document is labelled with; None without labels."""
        if self.kind == "binary":
            target = self.views[0].document_target(document, path=path)
            return None if target is None else (target,)
        if document.label is None and document.token_labels is None:
            return None
        found = [c for c, view in enumerate(self.views) if view.document_target(document, path=path)]
        if self.kind == "multiclass" and len(found) != 1:
            raise DataError(
                f"document {document.id!r} has {len(found)} of the classes {listed(self.names)}; it must have one",
                path,
                document.line or None,
            )
        return tuple(found)

    def view_targets(self, document: Document, *, path: Path | None = None) -> NDArray[np.int8] | None:
        """0 or 1 for each view (K,); None without labels."""
        targets = [view.document_target(document, path=path) for view in self.views]
        return None if None in targets else np.array(targets, np.int8)

    def targets(self, documents: Sequence[Document], *, path: Path | None = None) -> NDArray[np.int64]:
        """The class of each document (D,); of several labels a table of zeros and ones (D, C)."""
        table = np.zeros((len(documents), len(self)), np.int64)  # (D, C)
        for row, document in zip(table, documents, strict=True):
            if isinstance(document.label, str) and self.kind == "multiclass":
                number = self._number.get(document.label)
                number = self._folded.get(folded(document.label)) if number is None else number
                if number is not None:
                    row[number] = 1  # the common case, quick for many classes
                    continue
            classes = self.document_classes(document, path=path)
            if classes is None:
                raise DataError(
                    f"document {document.id!r} has no label; every document needs one",
                    path,
                    document.line or None,
                )
            row[list(classes)] = 1
        return table if self.kind == "multilabel" else table.argmax(1)

    def token_targets(self, document: Document, *, path: Path | None = None) -> NDArray[np.int8] | None:
        """0 or 1 for each token and view (N, K); None without token labels."""
        columns = [view.token_targets(document, path=path) for view in self.views]
        known = [column for column in columns if column is not None]
        return np.stack(known, 1) if known else None

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "names": list(self.names),
            "others": list(self.others),
            "values": list(self.values),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LabelSet:
        """What `to_json` gave, or what 0.1 wrote."""
        others = tuple(value.get("others", ()))
        if "kind" not in value:
            return cls("binary", (value["negative"], value["positive"]), others)
        return cls(value["kind"], tuple(value["names"]), others, tuple(value["values"]))


def plain_positive(classes: Sequence[str]) -> str | None:
    """The one of two classes whose name says that it is the positive one."""
    if len(classes) != 2:
        return None
    for name, other in (classes, reversed(classes)):
        plain, partner = name.casefold(), other.casefold()
        if (partner, plain) in PLAIN_PAIRS or (plain in PLAIN_POSITIVE and partner not in PLAIN_POSITIVE):
            return name
    return None


def _unambiguous(numbers: Mapping[str, int]) -> dict[str, int]:
    """Numbers of classes by what is left of their names without case, where that leaves no doubt."""
    found: dict[str, set[int]] = {}
    for name, number in numbers.items():
        found.setdefault(folded(name), set()).add(number)
    return {name: next(iter(several)) for name, several in found.items() if len(several) == 1}


def _class_of(label: str) -> str | None:
    """The class that a token label names, without the prefix of a tag; None for O and its like."""
    if label.strip().casefold() in NO_CLASS:
        return None
    tag = TAG.fullmatch(label)
    return label if tag is None else tag[1]


def _match(wanted: str, classes: Sequence[str]) -> str | None:
    """The class of this name; without regard to case if that leaves no doubt."""
    if wanted in classes:
        return wanted
    close = [name for name in classes if name.casefold() == wanted.strip().casefold()]
    return close[0] if len(close) == 1 else None


def _values(names: Sequence[str], given: Mapping[str, Value] | None) -> tuple[Value, ...]:
    return tuple((given or {}).get(name, name) for name in names)
