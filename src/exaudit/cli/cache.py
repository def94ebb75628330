"""exaudit cache: what the feature cache holds, and how to empty it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(help="The feature cache on disk.", no_args_is_help=True)
Folder = Annotated[Path | None, typer.Option(help="The cache's folder; by default the usual place.")]


@app.command()
def show(folder: Folder = None) -> None:
    """Where the cache is, how large it is, and how large it may grow."""
    from exaudit.encode.cache import FeatureCache

    _check(folder)
    info = FeatureCache(folder).info()
    typer.echo(
        f"{info.folder}: {info.bytes / 1e9:.2f} GB in {info.shards} shards, limit {info.limit_bytes / 1e9:.0f} GB"
    )


@app.command()
def clear(folder: Folder = None) -> None:
    """Delete all cached features; they are computed again when needed."""
    from exaudit.encode.cache import FeatureCache

    _check(folder)
    freed = FeatureCache(folder).clear()
    typer.echo(f"freed {freed / 1e9:.2f} GB")


def _check(folder: Path | None) -> None:
    from exaudit.errors import SettingError

    if folder is not None and not folder.is_dir():
        raise SettingError(f"there is no folder {folder}; check the path")
