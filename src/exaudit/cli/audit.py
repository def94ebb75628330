"""exaudit audit: one document with its decisions, and the examples behind each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit._escape import visible
from exaudit.cli.auditor import opened
from exaudit.cli.many import RayAt
from exaudit.cli.options import AsJson, Device, Encoder, Model, Stream, SupportAt, named, say, tell_json
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from rich.text import Text

    from exaudit.audit import Evidence, Exemplar
    from exaudit.audit.audited import AuditedScores
    from exaudit.data.document import Document
    from exaudit.data.labels import LabelNames, LabelSet

__all__ = ["audit"]

OTHER_ENDINGS = (".tsv", ".tab", ".txt", ".json", ".xls")  # of files, beside those that tell their format
_AROUND = 12  # words shown on either side of an exemplar


@reads
def audit(
    model: Model,
    text: Annotated[
        str, typer.Argument(metavar="TEXT|FILE", help="A text, or a file of documents (see --id).")
    ],
    reading: Reading,
    is_text: Annotated[
        bool, typer.Option("--text", help="It is a text, even if it looks like the name of a file.")
    ] = False,
    id: Annotated[str | None, typer.Option("--id", help="The document of FILE to audit.")] = None,
    token: Annotated[
        list[int] | None, typer.Option("--token", help="Audit this token, counted from 0; may be repeated.")
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(help="Of more than two classes, the one to explain; by default those of the word."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", "--k", min=1, help="Exemplars to show for each token.")
    ] = None,
    support: SupportAt = None,
    stream: Stream = False,
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
    ray: RayAt = None,
) -> None:
    """Show which words the model flags, and for each (or any chosen) word its nearest exemplars in context.

    With --ray the support set is searched in the memory of a cluster's nodes, with the same answers. All of them must
    be able to read it.
    """
    document = _document(text, id, reading, is_text=is_text)
    with opened(model, support, ray=ray, device=device, encoder=encoder, stream=stream) as auditor:
        audited, evidence = auditor.audit(document, token or None, about=about, k=k)
        labels = auditor.labels
    if as_json:
        value = {**audited.to_json(labels), "evidence": [each.to_json() for each in evidence]}
        tell_json(value)
        return
    _print(audited, evidence, labels)
    if auditor.knn is None:
        say("no K-NN was fitted, so the exemplars have no weights (exaudit knn fit)")


def _document(text: str, id: str | None, reading: Reading, *, is_text: bool) -> Document:
    from exaudit.data.document import Document
    from exaudit.errors import DataError, SettingError

    path = Path(text)
    if is_text or not _is_file(text):
        if id is not None or reading != Reading():
            option = "the options of reading files go" if id is None else "--id goes"
            raise SettingError(f"{option} with a file, and this is a text: {text[:80]!r}")
        if not text.split():
            raise SettingError("the text has no words; give some, or a file")
        return Document.from_text(text, id="text")
    documents = reading.read(path)
    if id is None:
        if len(documents) == 1:
            return documents[0]
        some = ", ".join(document.id for document in documents[:3])
        raise SettingError(f"{path} has {len(documents)} documents; choose one with --id ({some}, ...)")
    for document in documents:
        if document.id == id:
            return document
    raise DataError(f"there is no document {id!r}", path)


def _is_file(text: str) -> bool:
    """Whether a file is meant; a name that looks like one must be there, for a slip of the pen is not to be audited."""
    from exaudit.data.readers import COMPRESSED, ENDINGS
    from exaudit.data.source import WEB_ADDRESS
    from exaudit.errors import SettingError

    path = Path(text)
    try:
        if text == "-" or path.is_file() or (path / "state.json").is_file():
            return True
        is_folder = path.is_dir()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False
    looks = "/" in text or "\\" in text or path.suffix.lower() in {*ENDINGS, *COMPRESSED, *OTHER_ENDINGS}
    if len(text.split()) == 1 and (is_folder or looks):
        what = (
            "is a folder; give a file of documents"
            if is_folder
            else "is a web address; exaudit reads files on this machine: download it first"
            if WEB_ADDRESS.match(text)
            else "looks like the name of a file, and there is no such file; check the path"
        )
        raise SettingError(f"{text!r} {what} (or, if it is the text to audit, add --text)")
    return False


def _print(audited: AuditedScores, evidence: list[Evidence], labels: LabelSet) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    sentence = Text()
    document = audited.document
    words = zip(
        document.tokens, document.spans(), _word_classes(audited, labels), _for_negative(audited), strict=True
    )
    before = 0
    for word, (start, end), classes, negative in words:
        style = "bold blue" if negative else "" if classes is None else "bold red"
        sentence.append(" " if 0 < before < start else "").append(visible(word), style=style)
        before = end
        sentence.append(f"/{visible(classes)}" if classes else "", style="dim")
    console.print(sentence)
    decided = named(tuple(labels.names[c] for c in audited.decided))
    score = max(view.output for view in audited.views)
    verdict = Text(f"{visible(decided)}  score {score:+.3f}", style="bold")
    if (admitted := audited.admitted_tokens) is not None:
        verdict.append(f"  {int(admitted.sum())} of {len(admitted)} tokens admitted", style="not bold")
    if audited.admitted is not None:
        refused = f"  refused: {visible(audited.reason or '')}"
        verdict.append("  admitted" if audited.admitted else refused, style="not bold")
    console.print(verdict)
    if not evidence:
        console.print(Text("no word is flagged; choose one with --token", style="dim"))
    views = {names.positive: names for names in labels.views}
    for each in evidence:
        names = labels.views[0] if each.about is None else views[each.about]
        console.print()
        console.print(_heading(each, names))
        for rank, exemplar in enumerate(each.exemplars, 1):
            console.print(_line(rank, exemplar, names))


def _word_classes(audited: AuditedScores, labels: LabelSet) -> list[str | None]:
    """What to write behind each word: its classes, but of two only the negative one; None where it carries none."""
    from exaudit.audit import Audited

    if isinstance(audited, Audited):
        told = zip(audited.decisions.tolist(), _for_negative(audited), strict=True)
        return [labels.names[0] if negative else "" if positive else None for positive, negative in told]
    return [
        named(tuple(labels.names[c] for c in classes)) if classes else None
        for classes in audited.word_classes
    ]


def _for_negative(audited: AuditedScores) -> list[bool]:
    """Which words speak for the negative class, where a document was decided to be of it."""
    from exaudit.audit import Audited

    if isinstance(audited, Audited) and not audited.decision:
        return [side < 0 for side in audited.evidence.tolist()]
    return [False] * len(audited.document.tokens)


def _heading(evidence: Evidence, names: LabelNames) -> Text:
    from rich.text import Text

    flagged = "bold red" if evidence.decision else "bold"
    line = Text(f"[{evidence.position}] ").append(visible(evidence.token), style=flagged)
    line.append(f"  {visible(names.name(evidence.decision))}  score {evidence.score:+.3f}")
    if (sum_ := evidence.explanation) is not None:
        says = visible(names.name(int(sum_.prediction > 0)))
        line.append(f"  K-NN {sum_.output:+.3f} (beta {sum_.beta:+.3f}): {says}")
    if evidence.refusal is not None:
        line.append(f"  refused: {visible(evidence.refusal)}", style="yellow")
    return line


def _line(rank: int, exemplar: Exemplar, names: LabelNames) -> Text:
    """Distance, weight, prediction and label of an exemplar, and its words with the token marked."""
    from rich.text import Text

    weight = "     -" if exemplar.weight is None else f"{exemplar.weight:6.3f}"
    known = "" if exemplar.token_label is None else f", token {exemplar.token_label}"
    line = Text(f"{rank:>3}  distance {exemplar.distance:8.3f}  weight {weight}")
    line.append(f"  predicted {visible(names.name(exemplar.prediction))} {exemplar.score:+.2f}")
    line.append(f"  labelled {visible(named(exemplar.label))}{known}  ")
    line.append(f"{visible(exemplar.id)}:{exemplar.position}  ", style="dim")
    first, last = max(0, exemplar.position - _AROUND), exemplar.position + _AROUND + 1
    before, after = exemplar.tokens[first : exemplar.position], exemplar.tokens[exemplar.position + 1 : last]
    line.append("... " if first else "").append("".join(visible(word) + " " for word in before))
    line.append(f"»{visible(exemplar.token)}«", style="bold red" if exemplar.prediction else "bold")
    line.append("".join(" " + visible(word) for word in after)).append(
        " ..." if last < len(exemplar.tokens) else ""
    )
    return line
