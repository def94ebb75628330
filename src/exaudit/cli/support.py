"""exaudit support: build, edit and look at the support set of a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.auditor import chosen_rule, opened
from exaudit.cli.many import OnError, RayAt, Workers, all_documents, pool_at
from exaudit.cli.options import (
    AsJson,
    Author,
    Device,
    Encoder,
    Model,
    Precision,
    PreviewFile,
    PreviewRule,
    Reason,
    SupportAt,
    named,
    say,
    tell,
    tell_json,
)
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from exaudit.audit import Auditor
    from exaudit.data.document import Document, Label
    from exaudit.data.labels import LabelSet
    from exaudit.support.history import Edit

__all__ = ["app"]

app = typer.Typer(
    help="The support set: labelled examples that decisions are checked against.", no_args_is_help=True
)

Labelled = Annotated[Path, typer.Argument(metavar="FILE", help="Documents with labels.")]
IdPrefix = Annotated[str, typer.Option(help="Put this before every id, as in news-.")]
DocumentId = Annotated[str, typer.Argument(metavar="DOC_ID", help="The id of a document of the support set.")]
Version = Annotated[
    str, typer.Argument(help="A version: its number, its name, or the start of its fingerprint.")
]


@app.command()
@reads
def build(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Documents with labels; also a folder, pattern or address of many files."
        ),
    ],
    reading: Reading,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put these documents in the place of all that are there.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Do not go on with a build that was stopped; start again.")
    ] = False,
    dtype: Annotated[
        str | None, typer.Option(help="float32 (the default), or float16 for half the space.")
    ] = None,
    id_prefix: IdPrefix = "",
    support: SupportAt = None,
    author: Author = None,
    reason: Reason = "",
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
    precision: Precision = None,
    on_error: OnError = "stop",
    ray: RayAt = None,
    workers: Workers = None,
) -> None:
    """Make the support set: an exemplar for every token of FILE. A stopped build goes on when run again."""
    from exaudit.batch.place import WorkerModel
    from exaudit.errors import SupportError

    documents = all_documents(file, reading, on_error, need_labels=True)
    options = {"device": device, "encoder": encoder, "precision": precision}
    with (
        opened(model, support, **options) as auditor,
        pool_at(ray, workers, device) as pool,
    ):
        maker = WorkerModel.of(model, support=support, **options).exemplar_maker
        edit = auditor.build(
            _prefixed(documents, id_prefix),
            everything=replace,
            resume=not restart,
            dtype=dtype,
            author=author,
            reason=reason,
            batches=None if pool is None else partial(pool.map, maker, ordered=True),
        )
    _report(edit, as_json)
    if auditor.support.folder is not None:  # nothing can be saved elsewhere
        with suppress(SupportError, OSError):  # lack of memory, say: the set is there, and `audit` will tell
            auditor.prepare()


@app.command()
@reads
def add(
    model: Model,
    file: Labelled,
    reading: Reading,
    replace: Annotated[
        bool, typer.Option("--replace", help="Documents with an id that is there take its place.")
    ] = False,
    id_prefix: IdPrefix = "",
    preview: PreviewFile = None,
    rule: PreviewRule = None,
    support: SupportAt = None,
    author: Author = None,
    reason: Reason = "",
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Add the documents of FILE, without training anything."""
    documents = _prefixed(reading.read(file, need_labels=True), id_prefix)
    with opened(model, support, device=device, encoder=encoder) as auditor:
        _edit_or_preview(
            auditor,
            lambda a: a.add(documents, replace=replace, author=author, reason=reason),
            preview,
            rule,
            as_json,
        )


@app.command()
def relabel(
    model: Model,
    id: DocumentId,
    label: Annotated[
        list[str],
        typer.Option(
            help="The new label; may be repeated where documents have several. Of a token 0, 1 or unknown; of more "
            "than two classes a class, none or unknown."
        ),
    ],
    token: Annotated[int | None, typer.Option(help="Relabel this token, counted from 0, alone.")] = None,
    preview: PreviewFile = None,
    rule: PreviewRule = None,
    support: SupportAt = None,
    author: Author = None,
    reason: Reason = "",
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Change the label of a document, or of one of its tokens."""
    with opened(model, support, device=device, encoder=encoder) as auditor:
        if token is None:
            name = _document_label(label, auditor.labels)
            _edit_or_preview(
                auditor, lambda a: a.relabel(id, name, author=author, reason=reason), preview, rule, as_json
            )
        else:
            place, value = token, _token_label(label, auditor.labels)
            _edit_or_preview(
                auditor,
                lambda a: a.relabel_token(id, place, value, author=author, reason=reason),
                preview,
                rule,
                as_json,
            )


@app.command()
def remove(
    model: Model,
    ids: Annotated[list[str], typer.Argument(metavar="DOC_ID...", help="Ids of documents.")],
    preview: PreviewFile = None,
    rule: PreviewRule = None,
    support: SupportAt = None,
    author: Author = None,
    reason: Reason = "",
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Remove documents, all or none of them."""
    with opened(model, support, device=device, encoder=encoder) as auditor:
        _edit_or_preview(
            auditor, lambda a: a.remove(ids, author=author, reason=reason), preview, rule, as_json
        )


@app.command()
def undo(
    model: Model,
    support: SupportAt = None,
    author: Author = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Take back the last edit that stands; again for the one before."""
    with opened(model, support) as auditor:
        _report(auditor.undo(author=author, reason=reason), as_json)
        _check_promise(auditor)


@app.command()
def redo(
    model: Model,
    support: SupportAt = None,
    author: Author = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Do again what was undone last."""
    with opened(model, support) as auditor:
        _report(auditor.redo(author=author, reason=reason), as_json)
        _check_promise(auditor)


@app.command()
def log(model: Model, support: SupportAt = None, as_json: AsJson = False) -> None:
    """Every edit: number, when, who, what and why."""
    with opened(model, support) as auditor:
        edits, names = auditor.support.log(), auditor.support.tags()
    if as_json:
        tell_json([asdict(edit) for edit in edits])
        return
    for edit in edits:
        tags = "".join(f" [{name}]" for name, number in names.items() if number == edit.number)
        why = f" ({edit.why})" if edit.why else ""
        line = f"{edit.number:>4}  {edit.version[:8]}  {edit.when}  {edit.who:<12}  {edit.what}{why}{tags}"
        tell(line)


@app.command()
def diff(
    model: Model,
    before: Version,
    after: Annotated[
        str | None, typer.Argument(help="The other version; the present one by default.")
    ] = None,
    support: SupportAt = None,
    as_json: AsJson = False,
) -> None:
    """What differs between two versions."""
    with opened(model, support) as auditor:
        difference = auditor.support.diff(before, after)
    tokens = [(id, place, _told(old), _told(new)) for id, place, old, new in difference.tokens]
    if as_json:
        tell_json(asdict(difference) | {"tokens": tokens})
        return
    lines = [f"+ {id}" for id in difference.added] + [f"- {id}" for id in difference.removed]
    lines += [f"~ {id}: {named(old)} -> {named(new)}" for id, old, new in difference.relabelled]
    lines += [f"~ {id}, token {place}: {old} -> {new}" for id, place, old, new in tokens]
    for line in lines:
        tell(line)


@app.command()
def tag(
    model: Model,
    name: Annotated[str, typer.Argument(help="A name for the version.")],
    version: Annotated[
        str | None, typer.Option(help="The version to name; the present one by default.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Forget the name.")] = False,
    support: SupportAt = None,
    author: Author = None,
    as_json: AsJson = False,
) -> None:
    """Name a version; a named version survives `compact`."""
    from exaudit.errors import SettingError

    if delete and version is not None:
        raise SettingError("--version is about a new name; --delete forgets one: leave one of them out")
    with opened(model, support) as auditor:
        if delete:
            _report(auditor.support.untag(name, author=author), as_json)
        else:
            _report(auditor.support.tag(name, version, author=author), as_json)


@app.command()
def show(
    model: Model,
    id: Annotated[str | None, typer.Argument(metavar="[DOC_ID]", help="Show this document.")] = None,
    support: SupportAt = None,
    as_json: AsJson = False,
) -> None:
    """What is in the support set; or one of its documents, with its labels."""
    from exaudit.support.summary import summary

    with opened(model, support) as auditor:
        if id is None:
            found = summary(auditor.support)
        else:
            document = auditor.support.document(id)
            found = asdict(document) | {"token_labels": [_told(label) for label in document.token_labels]}
    if as_json:
        tell_json(found)
        return
    for key, value in found.items():
        if isinstance(value, dict):
            value = [f"{name}: {count}" for name, count in value.items()]
        told = "  ".join(map(str, value)) if isinstance(value, list | tuple) else value
        tell(f"{key.replace('_', ' '):<16} {told}")


@app.command()
def verify(model: Model, support: SupportAt = None, as_json: AsJson = False) -> None:
    """Read everything in the support set and compare it with the fingerprints taken when it was added."""
    with opened(model, support) as auditor:
        found = auditor.support
        found.verify()
        checked = {
            "location": found.where,
            "version": found.number,
            "documents": len(found.ids),
            "tokens": len(found),
        }
    if as_json:
        tell_json(checked)
        return
    tell(
        f"{found.where} is whole: the texts, vectors and scores of {checked['documents']} documents with "
        f"{checked['tokens']} tokens (version {checked['version']}) are what was added"
    )


@app.command()
def repair(
    model: Model,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be kept and what is lost.")
    ] = False,
    support: SupportAt = None,
    author: Author = None,
    as_json: AsJson = False,
) -> None:
    """Go back to what is good of a damaged support set; the damaged one is put aside, with all that is in it."""
    from exaudit.support.repair import repair as repaired

    told = repaired(model / "support" if support is None else support, dry_run=dry_run, author=author)
    if as_json:
        tell_json(asdict(told))
        return
    for what in told.lost_edits:
        tell(f"lost edit: {what}")
    for id in told.lost_documents:
        tell(f"lost document: {id}")
    kept = f"{told.documents} documents with {told.tokens} tokens of version {told.version}"
    if told.aside is None:
        say(f"nothing was written; a repair would keep {kept}")
    else:
        say(f"kept {kept}; the damaged set is now {told.aside}. Fit the K-NN and the admission limits again.")


@app.command()
def compact(
    model: Model,
    support: SupportAt = None,
    author: Author = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Reclaim the space of versions without a name: they can no longer be restored, the log stays."""
    with opened(model, support) as auditor:
        _report(auditor.support.compact(author=author, reason=reason), as_json)


def _prefixed(documents: Sequence[Document], prefix: str) -> list[Document]:
    """Documents whose ids start with a prefix, so that numbered files do not get in each other's way."""
    from exaudit.errors import SettingError

    if not prefix.isascii() and prefix != prefix.encode(errors="replace").decode():
        raise SettingError("`id_prefix` is not UTF-8; give another one")
    return [dataclasses.replace(document, id=prefix + document.id) for document in documents]


def _edit_or_preview(
    auditor: Auditor,
    edit: Callable[[Auditor], Edit],
    preview: Path | None,
    rule: str | None,
    as_json: bool,
) -> None:
    """Make an edit and report it; or, with a file to preview on, only tell what it would change there."""
    from exaudit.cli.files import read
    from exaudit.errors import SettingError

    if preview is None:
        if rule is not None:
            raise SettingError("--rule is about the preview; leave it out, or add --preview FILE")
        _report(edit(auditor), as_json)
        _check_promise(auditor)
        return
    told = auditor.preview(edit, read(preview), rule=chosen_rule(rule, False))
    if as_json:
        tell_json(told.to_json())
        return
    for flip in told.flips:
        was, then = (
            named(auditor.labels.names[each] if isinstance(each, int) else each)
            for each in (flip.before, flip.after)
        )
        tell(f"{flip.id}\t{flip.position}\t{flip.token}\t{was} -> {then}")
    say(
        f"preview, nothing was written: {told.edit.what}; by {told.rule}, {len(told.flips)} of {told.tokens} "
        f"token decisions in {told.documents} documents would flip"
    )


def _check_promise(auditor: Auditor) -> None:
    """Say what an edit makes of the promise, if there is one."""
    from exaudit.errors import ExauditError

    try:
        if change := auditor.check_promise():
            say(change)
    except ExauditError as error:  # the edit stands; nothing is admitted until a promise is made again
        say(str(error))


def _report(edit: Edit, as_json: bool) -> None:
    if as_json:
        tell_json(asdict(edit))
    else:
        tell(f"version {edit.number} ({edit.version[:8]}): {edit.what}")


def _document_label(names: Sequence[str], labels: LabelSet) -> Label:
    """One class, or any number of them where documents may have several; none of them as `none`."""
    if labels.kind == "multilabel":
        return () if list(names) == ["none"] and "none" not in labels.names else tuple(names)
    return names[0] if len(names) == 1 else tuple(names)


def _told(label: int | str) -> int | str:
    """The label of a token as `relabel` takes it: of two classes, where the set has -1, 0 and 1, the same words."""
    words: dict[int | str, int | str] = {-1: 0, 0: "unknown", 1: 1}
    return words.get(label, label)


def _token_label(names: Sequence[str], labels: LabelSet) -> int | Label | None:
    from exaudit.errors import SettingError

    if list(names) == ["unknown"] and "unknown" not in labels.names:
        return None
    if labels.kind != "binary":
        return tuple(names)
    if list(names) not in (["0"], ["1"]):
        raise SettingError(f"the label of a token is 0, 1 or unknown, not {' '.join(names)!r}")
    return int(names[0])
