"""The command line: one file a verb. Nothing is computed here; the verbs call the library."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import nullcontext
from io import TextIOWrapper

__all__ = ["main"]

LONGEST = 400  # characters of an error line


def main() -> None:
    """Run the command line; every failure is one line on standard error and a status other than 0."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # nothing leaves the machine unasked
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # a name that is not UTF-8 goes out as it came in
    sys.exit(run(arguments, debug=debug))


def run(arguments: list[str], *, debug: bool = False) -> int:
    import typer
    from typer.main import get_command

    from exaudit.cli.app import app
    from exaudit.cli.panics import without_panics
    from exaudit.cli.wording import name_options, speak_of
    from exaudit.errors import ExauditError

    command = get_command(app)
    speak_of(command, arguments)
    try:
        with nullcontext() if debug else without_panics():
            status = command.main(arguments, prog_name="exaudit", standalone_mode=False)
        return _fail("interrupted", 130) if status == 130 else int(status or 0)  # typer turns Ctrl-C into 130
    except typer.Abort:
        return _fail("interrupted", 130)
    except typer.Exit as stop:
        return stop.exit_code
    except Exception as error:
        if debug:
            raise
        if (
            type(error).__name__ == "NoArgsIsHelpError"
        ):  # the help is its message, where it was not printed yet
            print(error.format_message(), end="")  # type: ignore[attr-defined]
            return 0
        if _is_usage(error):
            return _fail(_usage_message(error), 2)
        if isinstance(error, ExauditError):
            return _fail(name_options(str(error)))
        if isinstance(error, BrokenPipeError):  # the reader of our output has gone: say nothing more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return _fail(f"the disk is full{_at(error)}; free some room and run the command again")
        if isinstance(error, OSError):
            return _fail(f"{error.strerror or error}{_at(error)}")
        if isinstance(error, MemoryError):
            return _fail("out of memory; try a smaller --batch-size or fewer documents")
        if type(error).__name__ == "OutOfMemoryError":  # torch's, which is not imported for this
            return _fail("the GPU is out of memory; try a smaller --max-length, or --device cpu")
        return _fail(f"unexpected {type(error).__name__}: {error} (run again with --debug for the details)")
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BaseException as error:
        if (
            debug or type(error).__name__ != "PanicException"
        ):  # of a library in Rust, at what makes no sense to it
            raise
        return _fail("a file is damaged, but a library does not say which; look for it with `exaudit verify`")


def _is_usage(error: Exception) -> bool:
    # typer may carry a click of its own, so the class is known by what it offers
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _usage_message(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "exaudit"
    return f"{error.format_message()} (see {command} --help)"  # type: ignore[attr-defined]


def _at(error: OSError) -> str:
    return f": {error.filename}" if error.filename else ""


def _fail(message: str, status: int = 1) -> int:
    from exaudit._escape import visible

    line = visible(" ".join(message.split()))
    if len(line) > LONGEST:  # what is wrong comes first, what to do last; between may be a whole document
        line = f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
    print(f"exaudit: {line}", file=sys.stderr)
    return status
