"""The library's messages name parameters (`tune_encoder`); here they name the options of the command line."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

__all__ = ["name_options", "parameters"]

PARAMETER = re.compile(r"`([a-z][a-z_]*)(?:=([^`]+))?`")


def name_options(message: str, parameters: Collection[str]) -> str:
    """`loss=token` becomes --loss token, `positive` becomes --positive, where there are such options."""

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in parameters:
            return found[0]
        return f"--{name.replace('_', '-')}" + ("" if value is None else f" {value}")

    return PARAMETER.sub(option, message)


def parameters(command: Any) -> set[str]:
    """The names of all options of a command and of the commands under it."""
    own = {parameter.name for parameter in command.params if any(o[:2] == "--" for o in parameter.opts)}
    return own.union(*(parameters(below) for below in getattr(command, "commands", {}).values()))
