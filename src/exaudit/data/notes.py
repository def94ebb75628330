"""What a reader noticed: harmless things are counted, wrong ones are raised, or collected when asked to go on."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field

from exaudit.data.spelling import Spellings
from exaudit.errors import DataError

__all__ = ["NO_WORDS", "DataWarning", "Notes", "Problem"]

NO_WORDS = "a document has no words; skipped"

EXAMPLES = 5  # lines named per problem


class DataWarning(UserWarning):
    """Something harmless in a file of documents was skipped or ignored."""


@dataclass
class Problem:
    """One kind of problem: how often it occurs, and the first few places."""

    what: str
    is_error: bool
    advice: str = ""
    count: int = 0
    lines: list[int] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def add(self, line: int | None = None, detail: str = "", count: int = 1) -> None:
        self.count += count
        if line and len(self.lines) < EXAMPLES and line not in self.lines:
            self.lines.append(line)
        if detail and len(self.details) < EXAMPLES:
            self.details.append(f"line {line}: {detail}" if line else detail)

    def summary(self) -> str:
        """One line, such as `a document has no words; skipped (3 times: lines 4, 9, 12)`."""
        times = "once" if self.count == 1 else f"{self.count:,} times"
        more = ", ..." if self.count > len(self.lines) else ""
        name = "line" if self.count == 1 else "lines"
        where = f": {name} {', '.join(map(str, self.lines))}{more}" if self.lines else ""
        return f"{self.what} ({times}{where})"


class Notes:
    """Collects what a reader noticed in one file, and how it read it.

    A warning is counted. An error is raised as a DataError, unless `keep_going` is set: then it is counted too,
    and the reader leaves out what it could not read.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, keep_going: bool = False) -> None:
        self.path = path
        self.keep_going = keep_going
        self.format: str | None = None
        self.columns: dict[str, str] = {}  # "text" -> the column read as text, and so on
        self.problems: dict[str, Problem] = {}
        self.spellings = Spellings()

    def warn(self, what: str, line: int | None = None, detail: str = "", *, count: int = 1) -> None:
        self._problem(what, is_error=False).add(line, detail, count)

    def error(self, what: str, line: int | None = None, *, detail: str = "", advice: str = "") -> None:
        if not self.keep_going:
            message = f"{what}: {detail}" if detail else what
            raise DataError(f"{message}; {advice}" if advice else message, self.path, line)
        self._problem(what, is_error=True, advice=advice).add(line, detail)

    def warnings(self) -> list[str]:
        """One line per kind of warning, with its count, for people."""
        prefix = "" if self.path is None else f"{self.path}: "
        return [prefix + problem.summary() for problem in self.problems.values() if not problem.is_error]

    def issue_warnings(self) -> None:
        """Hand the warnings to Python's `warnings`, for callers who did not ask for notes."""
        for line in self.warnings():
            warnings.warn(line, DataWarning, stacklevel=3)

    def _problem(self, what: str, *, is_error: bool, advice: str = "") -> Problem:
        return self.problems.setdefault(what, Problem(what, is_error, advice))
