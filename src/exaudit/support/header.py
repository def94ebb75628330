"""What all exemplars of a support set have in common, and its labels as names, as signs and as numbers of the log.

Of every class that words are decided for (of two, the positive one alone; otherwise each), a label says -1 or +1: the
signs of a document (K,), or of a token, where 0 is unknown. The log keeps the signs as one whole number: 0 for unknown,
-1 for none of the classes, otherwise the sum of 2^k over the classes k that the label has: -1 or +1 of two classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exaudit.data.document import Label
from exaudit.data.labels import Kind
from exaudit.errors import SupportError

__all__ = ["SupportHeader", "number_of", "signs_of"]

Signs = npt.NDArray[np.int8]


def signs_of(number: int, classes: int) -> Signs:
    """The signs (K,) of a label, from its number in the log."""
    if number <= 0:
        return np.full(classes, number, np.int8)
    return np.array([1 if number >> k & 1 else -1 for k in range(classes)], np.int8)


def number_of(signs: npt.ArrayLike) -> int:
    """The number in the log of a label, from its signs (K,)."""
    each = np.asarray(signs).tolist()
    return sum(1 << k for k, sign in enumerate(each) if sign > 0) or min(each)


@dataclass(frozen=True, slots=True)
class SupportHeader:
    """What every exemplar of a set has in common; exemplars of another model cannot be compared with them."""

    width: int
    labels: tuple[str, ...]  # of all classes; of two, the negative one first
    model: str
    dtype: str = "float32"
    kind: Kind = "binary"
    precision: str = "float32"  # of the encoder that made them; queries are read in the same

    def __post_init__(self) -> None:
        if self.width < 1:
            raise SupportError(f"a support set needs vectors of width 1 or more, not {self.width}")
        if self.dtype not in ("float32", "float16"):
            raise SupportError(f"vectors are kept as float32 or float16, not {self.dtype!r}")
        if self.precision not in ("float32", "bfloat16"):
            raise SupportError(f"vectors are made in float32 or bfloat16, not {self.precision!r}")
        fits = (
            len(self.labels) == 2 if self.kind == "binary" else len(self.labels) > (self.kind == "multiclass")
        )
        if not fits or len(set(self.labels)) < len(self.labels):
            wanted = "two different" if self.kind == "binary" else "several different"
            raise SupportError(f"a support set has {wanted} document labels, not {list(self.labels)}")

    @property
    def classes(self) -> int:
        """K, the classes that words are decided for."""
        return 1 if self.kind == "binary" else len(self.labels)

    def check(
        self,
        where: str,
        *,
        width: int | None = None,
        labels: Sequence[str] | None = None,
        kind: Kind | None = None,
        model: str | None = None,
    ) -> None:
        """Refuse a set that was made for something else than what is asked for (None: anything will do)."""
        if model is not None and model != self.model:
            raise SupportError(
                f"{where}: this support set belongs to another model (its fingerprint is {self.model}, "
                f"the model's is {model}); build it anew with this model"
            )
        if width is not None and width != self.width:
            raise SupportError(
                f"{where}: this support set has vectors of width {self.width}, the model's are {width}; "
                "build it anew with this model"
            )
        if labels is not None and tuple(labels) != self.labels:
            mine, theirs = (" / ".join(map(repr, names)) for names in (self.labels, labels))
            raise SupportError(
                f"{where}: this support set is labelled {mine}, the model {theirs}; build it anew with this model"
            )
        if kind is not None and kind != self.kind:
            raise SupportError(
                f"{where}: this support set is {self.kind}, the model {kind}; build it anew with this model"
            )

    # Labels of documents

    def document_number(self, label: Label | None, what: str) -> int:
        """The number of a document's label: of one class, or of several where documents may have several."""
        if label is None:
            raise SupportError(f"{what} has no label; the labels are {self._listed()}")
        names = (label,) if isinstance(label, str) else tuple(label)
        if self.kind != "multilabel" and len(names) != 1:
            raise SupportError(f"{what} has {len(names)} labels; it must have one of {self._listed()}")
        return self._number(names, what)

    def document_label(self, number: int) -> Label:
        """The name of the class, or the names where documents may have several."""
        if self.kind == "binary":
            return self.labels[number > 0]
        names = self._names(number)
        return names if self.kind == "multilabel" else names[0]

    def document_text(self, number: int) -> str:
        """The same as one line."""
        label = self.document_label(number)
        return repr(label) if isinstance(label, str) else " + ".join(map(repr, label)) or "none"

    # Labels of tokens

    def token_number(self, label: int | Label | None) -> int:
        """The number of a token's label: 0, 1 or a name of two classes; otherwise names of classes, none of them, or
        None (unknown)."""
        if label is None:
            return 0
        if isinstance(label, int):
            if self.kind != "binary" or label not in (0, 1):
                raise SupportError(f"a token label is {self._token_labels()}, not {label!r}")
            return 2 * label - 1
        names = (label,) if isinstance(label, str) else tuple(label)
        if names == ("none",) and "none" not in self.labels:
            names = ()
        if self.kind != "multilabel" and len(names) > 1:
            raise SupportError(f"a token has one label at most, not {len(names)}")
        if self.kind == "binary" and not names:
            return -1
        if any(name not in self.labels for name in names):
            raise SupportError(f"a token label is {self._token_labels()}, not {' + '.join(names)!r}")
        return self._number(names, "the token")

    def token_label(self, number: int) -> int | str:
        """For people and JSON: of two classes the sign itself, otherwise names."""
        if self.kind == "binary":
            return number
        return "unknown" if number == 0 else " + ".join(self._names(number)) or "none"

    def token_labels(self, signs: Signs) -> tuple[int | str, ...]:
        """The same of many tokens (n, K)."""
        if self.kind == "binary":
            return tuple(signs[:, 0].tolist())
        different, which = np.unique(signs, axis=0, return_inverse=True)
        told = [self.token_label(number_of(each)) for each in different]
        return tuple(told[i] for i in which.reshape(-1).tolist())

    def token_text(self, number: int) -> str:
        """0, 1 or unknown of two classes; otherwise names."""
        return (
            {-1: "0", 0: "unknown", 1: "1"}[number]
            if self.kind == "binary"
            else str(self.token_label(number))
        )

    def to_json(self) -> dict[str, Any]:
        """As 0.1 wrote it where there are two classes, and float32: it must not mistake another precision for that."""
        usual = {"kind": "binary", "precision": "float32"}
        return {name: value for name, value in asdict(self).items() if usual.get(name) != value}

    def _number(self, names: tuple[str, ...], what: str) -> int:
        for name in names:
            if name not in self.labels:
                raise SupportError(f"{what} has the label {name!r}; the labels are {self._listed()}")
        if self.kind == "binary":
            return 1 if names[0] == self.labels[1] else -1
        return sum(1 << self.labels.index(name) for name in set(names)) or -1

    def _names(self, number: int) -> tuple[str, ...]:
        signs = signs_of(number, self.classes).tolist()
        return tuple(name for name, sign in zip(self.labels, signs, strict=True) if sign > 0)

    def _listed(self) -> str:
        *rest, last = map(repr, self.labels)
        return f"{', '.join(rest)} and {last}" if rest else last

    def _token_labels(self) -> str:
        return (
            "0, 1 or None (unknown)" if self.kind == "binary" else f"{self._listed()}, none or None (unknown)"
        )
