"""The library's messages name parameters (`tune_encoder`); here they name the options of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

__all__ = ["name_options", "speak_of"]

PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]+))?`")
_options: ContextVar[dict[str, str]] = ContextVar("options", default={})  # noqa: B039 - it is never changed


def speak_of(command: Any, arguments: Iterable[str]) -> None:
    """From now on, messages are about the verb that the arguments name."""
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument, command)
    named = {p.name.rstrip("_"): next((o for o in p.opts if o[:2] == "--"), None) for p in command.params}
    _options.set({name: option for name, option in named.items() if option is not None})


def name_options(message: str) -> str:
    """`loss=token` becomes --loss token, `positive` becomes --positive, where the verb has such an option."""

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in _options.get():
            return found[0]
        return _options.get()[name] + ("" if value is None else f" {value}")

    return PARAMETER.sub(option, message)
