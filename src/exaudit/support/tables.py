"""A Lance table of a support set: appended to, read by place, and now and then rid of what nobody needs.

Only this module and `store` know Lance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance.optimize import Compaction

from exaudit.errors import SupportError

__all__ = ["KeyedTable", "Table"]

Numbers = npt.NDArray[np.int64]


class Table:
    """A table at a folder or an object-store URL; it need not exist before the first `append`."""

    def __init__(self, uri: str, rows_per_file: int = 1 << 20) -> None:
        self.uri, self.rows_per_file = uri, rows_per_file
        self._dataset: Any = None

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Turn what Lance raises (OSError, ValueError, RuntimeError, Arrow's errors, a panic) into a SupportError."""
        try:
            yield
        except BaseException as error:
            ours = isinstance(error, (SupportError, MemoryError)) or not isinstance(error, Exception)
            if ours and type(error).__name__ != "PanicException":
                raise
            # Lance ends its messages with places in its own source, of no use to a reader
            said = (str(error).splitlines() or [type(error).__name__])[0].split(", /")[0]
            raise SupportError(f"{self.uri}: cannot {what} this table of the support set: {said}") from error

    def exists(self) -> bool:
        return self.latest() is not None

    def latest(self) -> Any:
        """The newest version of the table, None where there is no table."""
        with self.doing("read"):
            if self._dataset is not None:
                self._dataset.checkout_latest()
                return self._dataset
            try:
                self._dataset = lance.dataset(self.uri)
            except ValueError as error:
                if "was not found" not in str(error):
                    raise
        return self._dataset

    def create(self, rows: pa.Table) -> None:
        """Write the first rows; fails where there is a table already."""
        with self.doing("create"):
            if "://" not in self.uri:
                Path(self.uri).parent.mkdir(parents=True, exist_ok=True)
            lance.write_dataset(rows, self.uri, mode="create", max_rows_per_file=self.rows_per_file)

    def append(self, rows: pa.Table) -> None:
        """Add rows to the end, all or none of them."""
        if not self.exists():
            try:
                return self.create(rows)
            except SupportError:
                if not self.exists():  # else another writer was faster to create it
                    raise
        with self.doing("write to"):
            lance.write_dataset(rows, self.uri, mode="append", max_rows_per_file=self.rows_per_file)

    def tail(self, start: int, columns: Sequence[str]) -> pa.Table | None:
        """Rows from place `start` on; None when there are none."""
        dataset = self.latest()
        with self.doing("read"):
            count = 0 if dataset is None else dataset.count_rows() - start
            if count <= 0:
                return None
            return dataset.scanner(columns=list(columns), offset=start, limit=count).to_table()

    def merge_files(self, limit: int) -> None:
        """Keep a table of many small appends quick to read."""
        dataset = self.latest()
        try:
            if dataset is not None and len(dataset.get_fragments()) >= limit:
                dataset.optimize.compact_files()
        except (OSError, RuntimeError):  # another writer is at it; the next time will do
            return

    def delete(self, condition: str) -> None:
        dataset = self.latest()
        with self.doing("write to"):
            if dataset is not None:
                dataset.delete(condition)

    def shrink(self) -> None:
        """Reclaim deleted rows and old versions, one file at a time, so that the table never takes twice its space.

        Files that another writer is just writing are left alone.
        """
        dataset = self.latest()
        if dataset is None:
            return
        options = {"target_rows_per_fragment": self.rows_per_file, "materialize_deletions_threshold": 0.0}
        with self.doing("compact"):
            dataset.cleanup_old_versions(older_than=timedelta(0))
            for _ in range(len(dataset.get_fragments())):
                tasks = Compaction.plan(dataset, options).tasks
                if not tasks:
                    break
                Compaction.commit(dataset, [tasks[0].execute(dataset)])
                dataset.checkout_latest()
                dataset.cleanup_old_versions(older_than=timedelta(0))


class KeyedTable(Table):
    """A table whose rows have names of ours: document numbers, or rows of exemplars.

    The table itself holds (batch, place in the batch), which never changes; `locate` turns these into names once
    the log says what became of the batch, and gives -1 for what does not count.
    """

    def __init__(
        self,
        uri: str,
        keys: Sequence[str],
        locate: Callable[..., Numbers],
        rows_per_file: int = 1 << 20,
    ) -> None:
        super().__init__(uri, rows_per_file)
        self.keys, self._locate = keys, locate
        self._snapshot: tuple[Any, list[tuple[int, int]], Numbers] = (None, [], np.zeros(0, np.int64))

    def places(self, names: Numbers) -> tuple[Any, Numbers]:
        """A version of the table and the places in it of the rows with these names, -1 for those it has not."""
        for attempt in range(3):
            dataset, _, place = self._snapshot if attempt == 0 else self._follow(afresh=attempt == 2)
            found = np.full(len(names), -1, np.int64)
            inside = (names >= 0) & (names < len(place))
            found[inside] = place[names[inside]]
            if (found >= 0).all():
                break
        return dataset, found

    def _follow(self, afresh: bool = False) -> tuple[Any, list[tuple[int, int]], Numbers]:
        """Look at the newest version. Files known from before are not looked at again unless asked for: what did
        not count may count by now, but that is rare."""
        dataset = self.latest()
        self._dataset = None  # the snapshot keeps this one, at this version
        if dataset is None:
            return self._snapshot
        with self.doing("read"):
            files = [(part.fragment_id, part.count_rows()) for part in dataset.get_fragments()]
            _, before, place = self._snapshot
            known = len(before) if not afresh and files[: len(before)] == before else 0
            start, total = sum(n for _, n in files[:known]), sum(n for _, n in files)
            if total > start or not known:
                new = dataset.scanner(columns=list(self.keys), offset=start, limit=total - start).to_table()
                names = self._locate(*(new[key].to_numpy() for key in self.keys))
                size = int(names.max(initial=-1)) + 1
                grown = np.full(max(size, len(place) if known else 0), -1, np.int64)
                if known:
                    grown[: len(place)] = place
                grown[names[names >= 0]] = start + np.flatnonzero(names >= 0)
                place = grown
        self._snapshot = (dataset, files, place)
        return self._snapshot

    def take(self, names: Numbers, columns: Sequence[str]) -> pa.Table:
        """The rows with these names, in that order."""
        dataset, places = self._found(names)
        with self.doing("read"):
            return dataset.take(places, columns=list(columns))

    def read_into(self, names: Numbers, column: str, out: npt.NDArray[Any]) -> None:
        """Read a column of vectors into `out`, in the order of the names."""
        if not len(names):
            return
        dataset, places = self._found(names)
        low, span = int(places.min()), int(places.max() - places.min()) + 1
        with self.doing("read"):
            if span > 2 * len(names):
                out[:] = _matrix(dataset.take(places, columns=[column])[column].combine_chunks())
                return
            target, done = np.full(span, -1, np.int64), 0
            target[places - low] = np.arange(len(names))
            unique = len(names) == np.count_nonzero(target >= 0)
            scan = dataset.scanner(columns=[column], offset=low, limit=span, batch_readahead=2)
            for part in scan.to_batches():
                where = target[done : done + len(part)]
                wanted = where >= 0
                out[where[wanted]] = _matrix(part[column])[wanted]
                done += len(part)
            if not unique:  # a name given twice was read once
                out[:] = out[target[places - low]]

    def _found(self, names: Numbers) -> tuple[Any, Numbers]:
        dataset, places = self.places(names)
        if (places < 0).any():
            raise SupportError(
                f"{self.uri}: {int(names[places < 0][0])} is not in this table (any more); "
                "if the support set was compacted elsewhere open it again, else restore it from a backup"
            )
        return dataset, places

    def delete_batches(self, plan: Mapping[int, Sequence[int] | None]) -> None:
        """Delete the documents at these places of each batch, or all of a batch (None)."""
        whole = [key for key, places in plan.items() if places is None]
        if whole:
            self.delete(f"batch IN ({', '.join(map(str, whole))})")
        for key, places in plan.items():
            if places is not None:
                self.delete(f"batch = {key} AND document IN ({', '.join(map(str, places))})")


def _matrix(vectors: Any) -> npt.NDArray[Any]:
    """A column of fixed-size lists as an array (n, M), without a copy."""
    values = vectors.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(values.reshape(len(vectors), -1))
