"""Many files at once, here or on a Ray cluster: the options, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.options import say
from exaudit.cli.reading import Reading

if TYPE_CHECKING:
    from exaudit.audit import Rule
    from exaudit.batch.answers import Format
    from exaudit.batch.place import WorkerModel
    from exaudit.batch.reading import FileReader
    from exaudit.batch.sources import SourceFile
    from exaudit.cluster.pool import Pool
    from exaudit.data.document import Document

__all__ = [
    "OnError",
    "RayAt",
    "Workers",
    "all_documents",
    "documents_of",
    "label_many",
    "pool_at",
    "refuse_alone",
]

SHOWN = 10  # remarks, of which there may be some about each file

CLUSTER = "Cluster"  # the panel of the help
RayAt = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Work on a Ray cluster: auto, local, host:port or ray://host:port. It is trusted like a shell.",
        rich_help_panel=CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="With --ray, how many; by default one for each GPU or, without any, core.",
        rich_help_panel=CLUSTER,
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        help="Of many files, what to do where one is damaged: stop, or skip it and tell at the end."
    ),
]


@contextmanager
def pool_at(ray: str | None, workers: int | None, device: str) -> Iterator[Pool | None]:
    """The workers of a cluster, where one was asked for."""
    from exaudit.errors import SettingError

    if ray is None:
        if workers is not None:
            raise SettingError("--workers are those of a cluster; add --ray, or leave it out")
        yield None
        return
    from exaudit.cluster.connect import connected
    from exaudit.cluster.pool import Pool

    with connected(ray) as module:
        yield Pool(module, workers=workers, device=device, tell=say)


def label_many(
    model: WorkerModel,
    source: Path,
    reading: Reading,
    out: Path | None,
    *,
    rule: Rule | None,
    format: Format,
    ray: str | None,
    workers: int | None,
    on_error: str,
) -> None:
    """Label all files of a source into a folder, going on with what is there."""
    from exaudit.batch.labelling import LabelJob, label_files
    from exaudit.cli.outputs import check_folder
    from exaudit.errors import SettingError

    if out is None:
        raise SettingError("many files are labelled into a folder; name it with --out")
    check_folder(out, source, Path(model.folder))
    if source.is_dir() and out.resolve().is_relative_to(source.resolve()):
        raise SettingError(f"cannot write into {out}: it lies in {source}, which the command reads")
    skip = _skips(on_error)
    files, reader = _files(source, reading)
    job = LabelJob(model, str(out.resolve()), reader, rule=rule, format=format)
    with pool_at(ray, workers, model.device) as pool:
        done = label_files(job, files, spread=None if pool is None else pool.map, skip=skip)
    _tell_remarks(done.remarks)
    _tell_set_aside(done.set_aside)
    before = f"; {_count(done.done_before, 'shard')} had been labelled before" if done.done_before else ""
    say(f"labelled {_count(done.documents, 'document')} of {_count(len(files), 'file')} into {out}{before}")


def refuse_alone(on_error: str, workers: int | None) -> None:
    """Options that mean nothing where one file is labelled here."""
    from exaudit.errors import SettingError

    if _skips(on_error):
        raise SettingError("--on-error skip is about many files; give a folder or a pattern, or leave it out")
    if workers is not None:
        raise SettingError("--workers are those of a cluster; add --ray, or leave it out")


def documents_of(source: Path, reading: Reading, on_error: str, **more: object) -> Iterator[Document]:
    """The documents of one file or of many, one after another."""
    from exaudit.batch.sources import is_many
    from exaudit.errors import DataError

    if not is_many(source):
        refuse_alone(on_error, None)
        yield from reading.iterate(source, **more)
        return
    skip = _skips(on_error)
    files, reader = _files(source, reading, **more)
    aside: dict[SourceFile, str] = {}
    remarks: list[str] = []

    def failed(file: SourceFile, error: DataError) -> None:
        if not skip:
            raise error
        aside[file] = str(error)

    yield from reader.read_all(files, remarks, failed)
    _tell_remarks(remarks)
    _tell_set_aside(aside)


def all_documents(source: Path, reading: Reading, on_error: str, **more: object) -> list[Document]:
    """The same as a list; of one file, labels that differ in case alone are one."""
    from exaudit.batch.sources import is_many

    if is_many(source):
        return list(documents_of(source, reading, on_error, **more))
    refuse_alone(on_error, None)
    return reading.read(source, **more)


def _files(source: Path, reading: Reading, **more: object) -> tuple[list[SourceFile], FileReader]:
    from exaudit.batch.reading import FileReader
    from exaudit.batch.sources import find_files, is_many
    from exaudit.errors import SettingError

    if reading.token_labels is not None:
        raise SettingError(
            "`token_labels` is a file beside one other; it cannot go with many, or with a cluster"
        )
    if str(source) == "-":
        raise SettingError("standard input is one stream, which cannot be shared; save it to a file")
    files, others = find_files(source, every=reading.format is not None)
    if others:
        shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        say(f"passed over {_count(len(others), 'file')} of no known format: {shown}")
    options = {k: v for k, v in (reading.options() | more).items() if v is not None}
    return files, FileReader(options, named=is_many(source))


def _skips(on_error: str) -> bool:
    from exaudit.errors import SettingError

    if on_error not in ("stop", "skip"):
        raise SettingError(f"`on_error` is {on_error!r}; choose stop or skip")
    return on_error == "skip"


def _tell_remarks(remarks: Iterable[str]) -> None:
    told = list(remarks)
    for line in told[:SHOWN]:
        say(line)
    if len(told) > SHOWN:
        say(f"and {len(told) - SHOWN:,} more remarks like these")


def _tell_set_aside(aside: dict[SourceFile, str]) -> None:
    for reason in aside.values():  # which starts with the place of the file
        say(f"set aside: {reason}")
    if aside:
        say(f"{_count(len(aside), 'file')} set aside as damaged; the rest is done")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
