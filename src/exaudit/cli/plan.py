"""exaudit plan: what a corpus or a support set would take, before any of it is done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.options import AsJson, Device, say, tell, tell_json

if TYPE_CHECKING:
    from exaudit.plan.estimate import Plan
    from exaudit.plan.rates import Rates, Unit

__all__ = ["plan"]


def plan(
    documents: Annotated[float | None, typer.Option(help="Documents of the corpus, as in 1e9.")] = None,
    tokens_per_document: Annotated[float, typer.Option(help="Words of a document, on average.")] = 200,
    exemplars: Annotated[
        float | None, typer.Option(help="Words of the support set; by default all of the corpus.")
    ] = None,
    queries: Annotated[float, typer.Option(help="Words that are looked up in the support set.")] = 1e6,
    k: Annotated[int, typer.Option(help="Nearest exemplars of each.")] = 8,
    dtype: Annotated[
        str, typer.Option(metavar="float32|float16", help="How the vectors of exemplars are kept.")
    ] = "float32",
    precision: Annotated[
        str, typer.Option(help="What the encoder reads in: auto, float32 or bfloat16.")
    ] = "auto",
    hours: Annotated[float, typer.Option(help="Each job is to end within so many hours.")] = 24,
    cores_per_node: Annotated[int, typer.Option(help="Cores of a machine.")] = 16,
    memory_per_node: Annotated[float, typer.Option(help="Memory of a machine, in GB.")] = 64,
    gpus_per_node: Annotated[int, typer.Option(help="GPUs of a machine.")] = 0,
    rates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rates in JSON: read, or written by --measure."),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure the rates of this machine first; some 40 s of CPU time."),
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(help="Of --measure: a model folder; by default a small one on the default encoder."),
    ] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Tell storage, memory, time and machines for labelling, a support set, a search in it, and features.

    The rates are those of a machine that was measured; `exaudit plan --measure --rates here.json` takes those of this
    one, for `exaudit plan --documents 1e9 --rates here.json`.
    """
    from exaudit.cli.outputs import check_output
    from exaudit.errors import SettingError
    from exaudit.plan.estimate import make_plan
    from exaudit.plan.rates import load_rates, save_rates, usual_rates
    from exaudit.plan.workload import Nodes, Workload

    if documents is None and not measure:
        raise SettingError("say how many `documents` the corpus has, or `measure` the rates of this machine")
    if not measure and (model is not None or device != "auto"):
        raise SettingError("`model` and `device` are about `measure`; leave them out, or measure")
    workload = None
    if documents is not None:
        workload = Workload(documents, tokens_per_document, exemplars, queries, k, dtype, precision)
    nodes = Nodes(hours, cores_per_node, memory_per_node * 1e9, gpus_per_node)
    if measure:
        from exaudit.plan.measure import measure_rates

        check_output(rates, model)
        found = measure_rates(model, device=device, say=say)
        if rates is not None:
            save_rates(found, rates)
            say(f"written to {rates}")
    else:
        found = usual_rates() if rates is None else load_rates(rates)
    if workload is None:
        tell_json(found.to_json()) if as_json else _tell_rates(found)
        return
    planned = make_plan(workload, nodes, found)
    tell_json(planned.to_json()) if as_json else _tell(planned)


def _tell(planned: Plan) -> None:
    asked, nodes = planned.workload, planned.nodes
    gpus = f", {nodes.gpus} GPU{'' if nodes.gpus == 1 else 's'}" if nodes.gpus else ""
    tell(f"corpus    {_count(asked.documents)} documents with {_count(asked.words)} words")
    tell(
        f"search    {_count(asked.queries)} words, the {asked.k} nearest of {_count(asked.rows)} exemplars "
        f"({planned.rates.sizes.width:g} numbers in {asked.dtype})"
    )
    tell(
        f"nodes     {nodes.cores} cores, {_bytes(nodes.memory)}{gpus}; each job within {nodes.hours:g} hours"
    )
    tell("")
    head = ("", "nodes", "hours", "busy", "storage", "memory", "on a node")
    rows = [
        (
            stage.name,
            _count(stage.nodes),
            f"{stage.hours:.3g}",
            f"{_count(stage.unit_hours)} {'GPU' if stage.on == 'GPUs' else 'core'}-hours",
            _bytes(stage.storage) if stage.storage else "",
            _bytes(stage.memory),
            _bytes(stage.memory_per_node),
        )
        for stage in planned.stages
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        tell("  ".join(cells).rstrip())
    tell("")
    for stage in planned.stages:
        if stage.copies > 1:
            tell(f"{stage.name}: {_count(stage.copies)} copies of the support set share the queries")
    for note in planned.notes:
        tell(f"note: {note}")
    _tell_rates(planned.rates if nodes.gpus else replace(planned.rates, gpu=None))
    tell("Nothing fails in a plan, and no node waits for another: allow for that.")


def _tell_rates(rates: Rates) -> None:
    _tell_unit(rates.core)
    if rates.gpu is not None:
        _tell_unit(rates.gpu)
    sizes = rates.sizes
    tell(
        f"an exemplar: {_bytes(4 * sizes.width)} of float32 or {_bytes(2 * sizes.width)} of float16, its sketch "
        f"{_bytes(sizes.sketch)}, and {_bytes(sizes.store)} of text and labels"
    )


def _tell_unit(unit: Unit) -> None:
    words = ", ".join(f"{_count(rate)} words a second in {name}" for name, rate in unit.label_words.items())
    tell(
        f"{unit.name}: {words or 'encoder not measured'}; {_count(unit.search_pairs)} exemplars x queries a second "
        f"({unit.measured_by})"
    )


def _count(value: float) -> str:
    """A number that can be read."""
    for unit, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if value >= size:
            return f"{value / size:,.3g} {unit}" if value < 1000 * size else f"{value / size:,.0f} {unit}"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def _bytes(value: float) -> str:
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:,.3g} {unit}" if value < 1000 * size else f"{value / size:,.0f} {unit}"
    return f"{value:.0f} bytes"
