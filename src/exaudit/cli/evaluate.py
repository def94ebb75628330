"""exaudit evaluate: how well a model does on documents whose labels are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.auditor import admission_rule, chosen_rule, opened, refuse_without_rule
from exaudit.cli.options import (
    Admit,
    AdmitRule,
    Device,
    Encoder,
    Model,
    Precision,
    RuleName,
    Stream,
    SupportAt,
    UseKNN,
    say,
    tell,
    tell_json,
    with_notes,
)
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaudit.audit.audited import AuditedScores

__all__ = ["evaluate"]


@reads
def evaluate(
    model: Model,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Documents with labels.")],
    reading: Reading,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, fractions of one, and nothing else.")
    ] = False,
    ci: Annotated[
        bool, typer.Option("--ci", help="Add bootstrap intervals (95%), drawn over documents.")
    ] = False,
    rule: RuleName = None,
    knn: UseKNN = False,
    admit: Admit = False,
    admit_rule: AdmitRule = None,
    support: SupportAt = None,
    stream: Stream = False,
    device: Device = "auto",
    encoder: Encoder = None,
    precision: Precision = None,
) -> None:
    """Document and token metrics, with random and majority baselines beside them.

    With --rule or --knn the decisions of the rule are scored; with --admit, only what is admitted.
    """
    from dataclasses import replace

    from exaudit.analyse.evaluation import Evaluation
    from exaudit.model.folder import load_model

    chosen, admitting = chosen_rule(rule, knn), admission_rule(admit, admit_rule)
    if chosen is None and not admit:
        refuse_without_rule(support, stream)
        trained = load_model(model, device=device, encoder=encoder, precision=precision)
        told = with_notes(trained, reading.iterate(file, need_labels=True))
        evaluation = Evaluation.of(trained.iter_label(told), trained.labels)
    else:
        documents = reading.iterate(file, need_labels=True)
        with opened(
            model, support, device=device, encoder=encoder, precision=precision, stream=stream
        ) as auditor:
            promising = auditor.promises(admitting)
            if auditor.has_support or not promising:
                auditor.support.refresh()  # one that is not there is told first
            if promising and (change := auditor.check_promise(keep=False)):
                say(change)
            stale = auditor.staleness() if admit and not promising else None
            told = with_notes(auditor.model, documents)
            told = auditor.watch_overlap(told) if auditor.has_support else told
            admitted: list[tuple[bool, NDArray[np.bool_] | None]] = []  # a document, and its tokens

            def watched(labelled: Iterable[AuditedScores]) -> Iterator[AuditedScores]:
                for one in labelled:
                    admitted.append((one.admitted is not False, one.admitted_tokens))
                    if stale is not None:
                        stale.count(one)
                    yield one

            labelled = auditor.iter_label(told, rule=chosen, admit=admitting)
            evaluation = Evaluation.of(watched(labelled), auditor.labels)
            if admit:
                kept = [document for document, _ in admitted]
                masks = [tokens for _, tokens in admitted if tokens is not None]
                if not masks:  # nothing is promised about words
                    evaluation = replace(evaluation, tokens=None, token_truth=None)
                evaluation = evaluation.only(kept, masks)
                say(
                    f"admitted: {sum(kept)} of {len(kept)} documents, {sum(int(mask.sum()) for mask in masks)} of "
                    f"{sum(map(len, masks))} tokens; only these are scored"
                )
            if stale is not None:
                say(stale.render())
    if as_json:
        tell_json(evaluation.to_json(ci=ci))
    else:
        tell(evaluation.render(ci=ci))
