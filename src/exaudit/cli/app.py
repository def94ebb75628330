"""The verbs, gathered. Each verb's module adds itself here; imports of torch stay inside the verbs."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    name="exaudit",
    help="Which words carry a label, when only whole documents were labelled.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        from exaudit._version import __version__

        typer.echo(f"exaudit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


from exaudit.cli import (  # noqa: E402
    admission,
    audit,
    benchmark,
    boundary,
    cache,
    compare,
    data,
    demo,
    diff,
    drift,
    evaluate,
    features,
    knn,
    label,
    plan,
    reliability,
    report,
    reproduce,
    serve,
    suggest,
    support,
    train,
    verify,
)

app.command("train")(train.train)
app.command("label")(label.label)
app.command("evaluate")(evaluate.evaluate)
app.command("audit")(audit.audit)
app.command("boundary")(boundary.boundary)
app.command("suggest")(suggest.suggest)
app.command("features")(features.features)
app.command("diff")(diff.diff)
app.command("compare")(compare.compare)
app.command("drift")(drift.drift)
app.command("reliability")(reliability.reliability)
app.command("report")(report.report)
app.command("plan")(plan.plan)
app.command("serve")(serve.serve)
app.command("verify")(verify.verify)
app.command("demo")(demo.demo)
app.add_typer(support.app, name="support")
app.add_typer(knn.app, name="knn")
app.add_typer(admission.app, name="admission")
app.add_typer(data.app, name="data")
app.add_typer(cache.app, name="cache")
app.add_typer(reproduce.app, name="reproduce")
app.add_typer(benchmark.app, name="benchmark")
