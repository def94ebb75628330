"""exaudit admission: promise how many of the admitted answers are wrong at most, or fit limits; and look at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.auditor import opened
from exaudit.cli.options import (
    AsJson,
    Device,
    Encoder,
    Model,
    Precision,
    Stream,
    SupportAt,
    say,
    tell,
    tell_json,
)
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from exaudit.audit import Auditor, FittedAdmission

__all__ = ["app"]

app = typer.Typer(help="Which answers are admitted: a promise about them, or limits.", no_args_is_help=True)


@app.command()
@reads
def fit(
    model: Model,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Labelled documents that nothing was trained on; for limits, those that the K-NN was fitted on.",
        ),
    ],
    reading: Reading,
    risk: Annotated[
        float | None, typer.Option(help="Promise that at most this share is wrong of what is admitted.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="How sure the promise is to be kept; 0.95 by default.")
    ] = None,
    promise: Annotated[
        str | None,
        typer.Option(
            help="accuracy (the default), precision of what is flagged, or recall: miss at most --risk of them."
        ),
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="Promise the same for the answers of each predicted class.")
    ] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Add FILE to the documents that the promise rests on already.")
    ] = False,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Promise for documents like these, without labels, where FILE is of another kind: weigh it to look so."
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            help="promise (the default with --risk), or mean: the paper's limits, which promise nothing."
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="Of limits: distance, magnitude or both, the default.")
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Of limits: those that this share of correct answers keeps, not their means."
        ),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Of limits: also on the number of admitted tokens of a document.")
    ] = False,
    recipe: Annotated[
        str,
        typer.Option(
            help="Of limits: stable (default), or paper, means as in the paper's code: distances of agreeing matches "
            "only, counts of documents with an admitted token only."
        ),
    ] = "stable",
    support: SupportAt = None,
    stream: Stream = False,
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
    precision: Precision = None,
) -> None:
    """Promise something about the answers to be admitted (--risk), or fit limits, and store that."""
    from typing import cast, get_args

    from exaudit.decide.admission import AdmissionKind
    from exaudit.decide.risk import Aim, Goal
    from exaudit.errors import SettingError

    promised = {
        "--risk": risk,
        "--confidence": confidence,
        "--promise": promise,
        "--by-class": by_class,
        "--add": add,
        "--like": like,
    }
    limits = {"--kind": kind, "--quantile": quantile, "--count": count, "--recipe": recipe != "stable"}
    rule = rule or ("promise" if any(promised.values()) else "mean")
    if rule not in ("promise", "mean"):
        raise SettingError(f"`rule` is {rule!r}; choose promise or mean")
    foreign = promised if rule == "mean" else limits
    if given := [option for option, value in foreign.items() if value not in (None, False)]:
        raise SettingError(f"{given[0]} does not go with --rule {rule}; leave one of them out")
    if kind not in (None, *get_args(AdmissionKind)):
        raise SettingError(f"`kind` is {kind!r}; choose one of {', '.join(get_args(AdmissionKind))}")
    if (
        risk is None
        and rule == "promise"
        and not (add and confidence is None and promise is None and not by_class)
    ):
        raise SettingError("say what to promise: give --risk, as in --risk 0.05")
    goal = None
    if risk is not None:
        goal = Goal(
            risk, 0.95 if confidence is None else confidence, cast("Aim", promise or "accuracy"), by_class
        )
    documents = reading.read(file, need_labels=True)
    new = None if like is None else reading.read_beside(like)
    with opened(
        model, support, device=device, encoder=encoder, precision=precision, stream=stream
    ) as auditor:
        if rule == "promise":
            made = auditor.fit_promise(documents, goal, add=add, like=new)
            auditor.fit_drift(made.reference)  # what new documents are to be like, for the promise to hold
            _print_promise(auditor, as_json)
            return
        fitted = auditor.fit_admission(
            documents,
            kind=cast("AdmissionKind", kind or "both"),
            quantile=quantile,
            use_count=count,
            recipe=recipe,
        )
        _print(auditor, fitted, as_json)


@app.command()
def show(
    model: Model,
    support: SupportAt = None,
    as_json: AsJson = False,
    device: Device = "auto",
    encoder: Encoder = None,
    precision: Precision = None,
) -> None:
    """The promise in words, its curve and what it rests on; or the limits, and whether the support set has changed."""
    from exaudit.errors import SupportError

    with opened(model, support, device=device, encoder=encoder, precision=precision) as auditor:
        if auditor.promise is not None:
            if change := auditor.check_promise(keep=False):
                say(change)
            _print_promise(auditor, as_json)
            return
        if auditor.admission is None:
            raise SupportError(
                f"{model}: no admission limits were fitted yet; fit them first (exaudit admission fit)"
            )
        _print(auditor, auditor.admission, as_json)


def _print_promise(auditor: Auditor, as_json: bool) -> None:
    from exaudit.audit.signals import name_of

    promise, labels = auditor.promise, auditor.labels
    assert promise is not None
    sentences = promise.sentences(labels)
    if as_json:
        parts = {level: part.to_json() for level, part in promise.parts.items()}
        counts = {
            "documents": len(promise.calibration),
            "new": None if promise.target is None else len(promise.target.documents),
        }
        tell_json(promise.told() | {"promise": sentences} | counts | {"parts": parts})
        return
    for sentence in sentences:
        tell(sentence[0].upper() + sentence[1:] + ".")
    for level, part in promise.parts.items():
        for kind, risk in part.risks.items():
            which = "" if kind < 0 else f", {name_of(kind, labels)}"
            tell(f"\n{level + which:<24} admitted    wrong    at most")
            shown = {*risk.levels[9::10], *([] if risk.level is None else [risk.level])}
            for point in sorted(shown, key=lambda each: -each.threshold):
                mark = "  <- admitted" if point == risk.level else ""
                tell(f"{'':<24} {point.coverage:>8.1%} {point.error:>8.2%} {point.bound:>10.2%}{mark}")
        tell(f"\n{level + ' that are':<24} admitted          wrong")
        for kind, (answers, through, wrong) in part.kinds.items():
            tell(f"{name_of(kind, labels):<24} {through:>8} of {answers:<7} {wrong:>4}")
        for kind, (answers, through) in part.new.items():
            tell(f"{name_of(kind, labels) + ', new':<24} {through:>8} of {answers}")
        tell(f"{level} by {', '.join(part.trust.signals)}")
    rest = (
        "no support set"
        if promise.made.support_version is None
        else f"version {promise.made.support_version[:8]}"
    )
    say(f"rests on {len(promise.calibration)} calibration documents and {rest}")


def _print(auditor: Auditor, fitted: FittedAdmission, as_json: bool) -> None:
    from exaudit.audit.staleness import limits_text

    stale = fitted.is_stale(auditor.support.version)
    if as_json:
        limits = [view.to_json() for view in fitted.views]
        of_class = {"classes": dict(zip(auditor.labels.names, limits, strict=False))}
        value = {
            **(limits[0] if len(limits) == 1 else of_class),
            "documents": len(fitted.documents),
            "stale": stale,
        }
        tell_json(value)
        return
    for what, limit in limits_text(fitted.views, auditor.labels).items():
        tell(f"{what:<34} {limit:>14}")
    told = "stale: the support set has changed since" if stale else "the support set as it is"
    typer.echo(
        f"fitted on {len(fitted.documents)} documents and version {fitted.support_version[:8]} ({told})"
    )
