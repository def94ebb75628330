"""What the verbs of exemplar auditing share: options, opening the auditor, printing an edit or its preview."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exaudit.cli.options import say

if TYPE_CHECKING:
    from exaudit.audit import Auditor, Rule
    from exaudit.data.document import Document
    from exaudit.support.history import Edit

__all__ = [
    "Admit",
    "AsJson",
    "Author",
    "PreviewFile",
    "PreviewRule",
    "Reason",
    "RuleName",
    "Stream",
    "SupportAt",
    "UseKNN",
    "chosen_rule",
    "clean",
    "edit_or_preview",
    "opened",
    "prefixed",
    "report_edit",
]

SupportAt = Annotated[
    str | None,
    typer.Option("--support", help="Where the support set is; by default support/ in the model folder."),
]
Author = Annotated[
    str | None, typer.Option(help="Who makes the edit, for the log; by default the user's name.")
]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PreviewFile = Annotated[
    Path | None,
    typer.Option("--preview", metavar="FILE", help="Write nothing; show which decisions on FILE would flip."),
]
PreviewRule = Annotated[
    str | None, typer.Option("--rule", help="Of the preview: exag, exat or knn; knn where one was fitted.")
]
RuleName = Annotated[
    str | None,
    typer.Option("--rule", help="exag or exat: admit a positive word only if its nearest exemplar does."),
]
UseKNN = Annotated[bool, typer.Option("--knn", help="Decide the words by the K-NN over exemplars.")]
Admit = Annotated[
    bool, typer.Option("--admit", help="Tell which answers of the K-NN may be relied on, and why not.")
]
Stream = Annotated[
    bool,
    typer.Option("--stream", help="Search from disk: slower, but the support set need not fit in memory."),
]


@contextmanager
def opened(model: Path, support: str | None = None, **options: Any) -> Iterator[Auditor]:
    """The auditor of a model folder; its warnings become lines on standard error."""
    import warnings

    from exaudit.audit import Auditor, OverlapWarning

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", OverlapWarning)
        warnings.showwarning = tell
        yield Auditor.open(model, support=support, **options)


def chosen_rule(rule: str | None, knn: bool) -> Rule | None:
    """The one rule that --rule and --knn ask for."""
    from typing import cast

    from exaudit.audit.audited import check_rule
    from exaudit.errors import SettingError

    check_rule(rule)
    if knn and rule not in (None, "knn"):
        raise SettingError(f"--rule {rule} and --knn exclude each other; give one of them")
    return cast("Rule | None", "knn" if knn else rule)


def prefixed(documents: Sequence[Document], prefix: str) -> list[Document]:
    """Documents whose ids start with a prefix, so that numbered files do not get in each other's way."""
    return (
        [replace(document, id=prefix + document.id) for document in documents] if prefix else list(documents)
    )


def edit_or_preview(
    auditor: Auditor,
    edit: Callable[[Auditor], Edit],
    preview: Path | None,
    rule: str | None,
    as_json: bool,
) -> None:
    """Make an edit and report it; or, with a file to preview on, only tell what it would change there."""
    from exaudit.cli.files import read

    if preview is None:
        report_edit(edit(auditor), as_json)
        return
    told = auditor.preview(edit, read(preview), rule=chosen_rule(rule, False))
    if as_json:
        typer.echo(json.dumps(told.to_json(), ensure_ascii=False))
        return
    names = auditor.names
    for flip in told.flips:
        was, then = names.name(flip.before), names.name(flip.after)
        typer.echo(clean(f"{flip.id}\t{flip.position}\t{flip.token}\t{was} -> {then}"))
    say(
        f"preview, nothing was written: {clean(told.edit.what)}; by {told.rule}, {len(told.flips)} of {told.tokens} "
        f"token decisions in {told.documents} documents would flip"
    )


def report_edit(edit: Edit, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(edit), ensure_ascii=False))
    else:
        typer.echo(clean(f"version {edit.number} ({edit.version[:8]}): {edit.what}"))


def clean(text: str) -> str:
    """Text for a terminal: what would steer it, or turn the writing direction, shows as a replacement mark."""
    return "".join(c if c.isprintable() or c in "\t\n" else " " if c.isspace() else "\ufffd" for c in text)
