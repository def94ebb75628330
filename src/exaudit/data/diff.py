"""Before and after become token labels: what an edit took out or changed is positive.

    Diff.between("a great film".split(), "a dull film".split()).labels       # (0, 1, 0)

A diff is a list of edits over white-space tokens that turns the source into the target. Replaced and deleted
source tokens are 1; an insertion marks the source token that follows it, the last where none does; every token of
the target is 0. For sentiment the source is the positive text, for finding annotators' edits the revised one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from exaudit.data.columns import listed
from exaudit.data.document import Document
from exaudit.errors import DataError, SettingError

__all__ = ["FORMER", "Diff", "Edit", "Pair", "diff_documents", "pair_across", "pair_by_column"]

PLACES = ("first", "second")
FORMER = "former_label"  # where a label is kept that makes room for "1" or "0"


@dataclass(frozen=True, slots=True)
class Edit:
    """A step of a diff. `kind` is equal, replace, delete or insert."""

    kind: str
    source: tuple[str, ...]
    target: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The edits from a source to a target, in order; together they hold every token of both."""

    edits: tuple[Edit, ...]

    @classmethod
    def between(cls, source: Sequence[str], target: Sequence[str]) -> Diff:
        """The same edits for the same tokens, always. No token is too frequent to match (difflib's autojunk)."""
        opcodes = SequenceMatcher(None, source, target, autojunk=False).get_opcodes()
        return cls(tuple(Edit(kind, tuple(source[i:j]), tuple(target[k:m])) for kind, i, j, k, m in opcodes))

    @property
    def source(self) -> tuple[str, ...]:
        return tuple(token for edit in self.edits for token in edit.source)

    @property
    def target(self) -> tuple[str, ...]:
        return tuple(token for edit in self.edits for token in edit.target)

    @property
    def labels(self) -> tuple[int, ...]:
        """0 or 1 for each token of the source."""
        labels: list[int] = []
        inserted = False  # text was inserted before the token that comes next
        for edit in self.edits:
            if edit.kind == "insert":
                inserted = True
                continue
            labels += [int(edit.kind != "equal")] * len(edit.source)
            if inserted:
                labels[-len(edit.source)] = 1
                inserted = False
        if inserted and labels:
            labels[-1] = 1
        return tuple(labels)

    @property
    def changed(self) -> int:
        """How many edits are not `equal`."""
        return sum(edit.kind != "equal" for edit in self.edits)


@dataclass(frozen=True, slots=True)
class Pair:
    """A source document and the target it was turned into."""

    source: Document
    target: Document
    id: str

    def diff(self) -> Diff:
        return Diff.between(self.source.tokens, self.target.tokens)

    def labelled(self) -> tuple[Document, Document]:
        """Both documents with token labels: the diff's for the source, all 0 for the target."""
        labels = tuple(map(str, self.diff().labels))
        zeros = ("0",) * len(self.target.tokens)
        return replace(self.source, token_labels=labels), replace(self.target, token_labels=zeros)


def pair_by_column(documents: Sequence[Document], column: str, *, source: str) -> list[Pair]:
    """Pairs of the documents that share a value of `column`.

    `source` names the label of the source documents; or `first` or `second`, by the order in the file. In that case
    the documents' labels say nothing about the diff, so the source becomes "1" and the target "0".
    """
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(_value(document, column), []).append(document)
    label = _source_label(documents, source)
    return [_pair(group, name, column, label, source) for name, group in groups.items()]


def pair_across(
    sources: Sequence[Document], targets: Sequence[Document], column: str | None = None
) -> list[Pair]:
    """Pairs of two lists: by the value of `column`, or else in order. Sources are labelled "1", targets "0"."""
    if len(sources) != len(targets):
        raise DataError(
            f"{len(sources):,} source documents but {len(targets):,} target documents; each source needs one target"
        )
    if column is not None:
        place = {_value(target, column): target for target in targets}
        names = [_value(source, column) for source in sources]
        missing = [name for name in names if name not in place]
        if missing or len(place) < len(targets) or len(set(names)) < len(names):
            twice = next((name for name in names if names.count(name) > 1), None)
            what = (
                f"sources share the {column} {twice!r}" if twice is not None else f"targets share a {column}"
            )
            raise DataError(
                f"{f'no target has {column} {missing[0]!r}' if missing else what}; each source needs one target"
            )
        targets = [place[_value(s, column)] for s in sources]
    return [
        Pair(
            replace(_relabelled(s, "1"), id=f"source-{s.id}"),  # both files may use the same ids
            replace(_relabelled(t, "0"), id=f"target-{t.id}"),
            s.id if column is None else _value(s, column),
        )
        for s, t in zip(sources, targets, strict=True)
    ]


def diff_documents(pairs: Iterable[Pair]) -> Iterator[Document]:
    """Source and target of each pair in turn, with token labels."""
    for pair in pairs:
        yield from pair.labelled()


def _value(document: Document, column: str) -> str:
    value = document.id if column == "id" else document.meta.get(column)
    if value is None:
        raise DataError(
            f"document {document.id!r} has no column {column!r} to pair it by; columns beside text, label and id: "
            f"{listed(list(document.meta)) or 'none'}; name one with `pair_column`",
            line=document.line or None,
        )
    return value.strip()


def _source_label(documents: Sequence[Document], source: str) -> str | None:
    """The label that `source` names, without regard to case; None where it names a place."""
    labels = sorted({document.label for document in documents if isinstance(document.label, str)})
    matches = [label for label in labels if label == source] or [
        label for label in labels if label.casefold() == source.strip().casefold()
    ]
    if len(matches) == 1:
        return matches[0]
    if source in PLACES:
        return None
    raise SettingError(
        f"no document is labelled {source!r}; the labels are {listed(labels) or 'missing'}; choose one of them as "
        "the source, or `first` or `second` for the order in the file"
    )


def _pair(group: list[Document], name: str, column: str, label: str | None, source: str) -> Pair:
    lines = ", ".join(str(document.line) for document in group[:6])
    if len(group) != 2:
        raise DataError(
            f"{column} {name!r} has {len(group)} documents (lines {lines}); a pair has two",
            line=group[0].line or None,
        )
    if label is None:
        first, second = group if source == "first" else reversed(group)
        return Pair(_relabelled(first, "1"), _relabelled(second, "0"), name)
    sources = [document for document in group if document.label == label]
    if len(sources) != 1:
        raise DataError(
            f"{column} {name!r} has {len(sources)} documents labelled {label!r} (lines {lines}); a pair has one",
            line=group[0].line or None,
        )
    target = group[0] if sources[0] is group[1] else group[1]
    return Pair(sources[0], target, name)


def _relabelled(document: Document, label: str) -> Document:
    meta = dict(document.meta)
    if document.label is not None:
        former = document.label if isinstance(document.label, str) else ", ".join(document.label)
        meta.setdefault(FORMER, former)
    return replace(document, label=label, meta=meta)
