"""exaudit serve: the workbench, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exaudit.cli.options import Device, Encoder, Stream, SupportAt, say
from exaudit.cli.reading import Reading, reads

if TYPE_CHECKING:
    from exaudit.serve import Workbench

__all__ = ["serve"]


@reads
def serve(
    reading: Reading,
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="A model folder, as `exaudit train --out` writes it."),
    ] = None,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Documents to open, with or without labels.")
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Start on the built-in sample; its model is made at the first start."),
    ] = False,
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than this machine need --token.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(help="What browsers must show: at least 16 characters, or 'new' for a random one."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Where marks and decisions are kept; by default workbench/ in the model folder."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    support: SupportAt = None,
    stream: Stream = False,
    device: Device = "auto",
    encoder: Encoder = None,
) -> None:
    """Audit, correct and understand a model in the browser. It listens on this machine alone."""
    from exaudit.errors import SettingError

    try:
        from exaudit.serve import Workbench
        from exaudit.serve.listening import check_token, listen, take_place
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "starlette", "uvicorn", "pydantic"):
            raise
        raise SettingError("the workbench needs more packages: pip install 'exaudit[serve]'") from None

    token = check_token(host, token)
    if demo == (model is not None):
        raise SettingError("give a MODEL folder, or --demo alone")
    with take_place(host, port) as place:
        if demo:
            from exaudit.serve.demo import demo_model

            model = demo_model(tell=say)
        assert model is not None
        bench = Workbench(model, state, support=support, device=device, encoder=encoder, stream=stream)
        try:
            _open(bench, reading, file, demo)
            listen(bench, place, host=host, token=token, tell=say, browser=browser)
        finally:
            bench.close()


def _open(bench: Workbench, reading: Reading, file: Path | None, demo: bool) -> None:
    """Open the file that is named, the demo's, or the one that was open last."""
    from exaudit._files import sha256_file

    if file is not None:
        documents = reading.read(file)
        told = f"{sha256_file(file) if file.is_file() else file} {reading}"
        bench.open(file.name, documents, fingerprint=told, total=len(documents))
    elif bench.reopen() is None and demo:
        from exaudit.serve.demo import demo_documents

        documents = demo_documents()
        bench.open("reviews (sample)", documents, fingerprint="demo", total=len(documents))
