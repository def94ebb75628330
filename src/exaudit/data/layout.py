"""A row of cells becomes a document: where in it the text, the label and the id stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exaudit.data.columns import ID_NAMES, LABEL_NAMES, TEXT_NAMES, find_column, listed
from exaudit.data.document import Document, Label
from exaudit.data.notes import NO_WORDS, Notes
from exaudit.data.spelling import label_name, label_names
from exaudit.errors import DataError

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Where the text, the label and the id stand in a row, and what is to be made of the label."""

    names: tuple[str, ...]
    text: int
    label: int | None
    id: int | None
    label_separator: str | None

    @classmethod
    def find(
        cls,
        names: Sequence[str],
        text_column: str | None,
        label_column: str | None,
        id_column: str | None,
        need_labels: bool,
        label_separator: str | None,
    ) -> Layout:
        def place(role: str, wanted: str | None, usual: Sequence[str], needed: bool) -> int | None:
            found = None if wanted == "" else find_column(names, wanted, usual)
            if found is None and (needed or wanted):
                what = f"no column {wanted!r}" if wanted else f"no column of a usual name holds the {role}"
                raise DataError(f"{what}; columns found: {listed(names)}; name one with `{role}_column`")
            return found

        text = place("text", text_column, TEXT_NAMES, True)
        label = place("label", label_column, LABEL_NAMES, need_labels)
        id_ = place("id", id_column, ID_NAMES, False)
        given = [found for found in (text, label, id_) if found is not None]
        if text is None or len(set(given)) < len(given):
            raise DataError(f"text, label and id must be different columns; columns found: {listed(names)}")
        return cls(tuple(names), text, label, id_, label_separator)

    def roles(self) -> dict[str, str]:
        """The names of the columns, as `Notes` has them."""
        places = (("text", self.text), ("label", self.label), ("id", self.id))
        return {role: self.names[place] for role, place in places if place is not None}

    def document(self, cells: Sequence[str], line: int, number: int, notes: Notes) -> Document | None:
        """The document of a row; None if it has no words."""
        text = cells[self.text]
        if not text.split():
            notes.warn(NO_WORDS, line)
            return None
        id_ = "" if self.id is None else cells[self.id].strip()
        if self.id is not None and not id_:
            notes.warn("a document has no id; numbered", line)
        used = {self.text, self.label, self.id}
        meta = {name: cells[i] for i, name in enumerate(self.names) if i not in used and name}
        return Document.from_text(
            text, id=id_ or str(number), label=self._label(cells), meta=meta, line=line, cut="whitespace"
        )

    def _label(self, cells: Sequence[str]) -> Label | None:
        if self.label is None:
            return None
        if self.label_separator is not None:
            return label_names(cells[self.label], self.label_separator)
        return label_name(cells[self.label])
