"""Every error that exaudit raises on purpose.

    ExauditError
     ├── SettingError    an option or argument is wrong (also a ValueError)
     ├── DataError       a file of documents is wrong; names the file and the line
     ├── EncoderError    the Transformer cannot be found or loaded
     │    └── EncoderMismatchError    it is not the one asked for
     ├── ModelError      a model folder is damaged, too new, or of another encoder
     ├── SupportError    a support set is damaged, or does not fit the model or the request
     └── ClusterError    a Ray cluster cannot be reached, or has lost what it needs to answer

    ModelWarning         a model folder of another version was read, but not all of it
    PrecisionWarning     texts are read in the precision of the support set, which is not the model's here

Messages name parameters, as in `tune_encoder`; the command line turns these into its options (--tune-encoder).

The command line prints the message of an ExauditError as one line and exits with status 1; anything else is a
defect of ours. A message says what was found and what to do.
"""

from __future__ import annotations

from os import PathLike

__all__ = [
    "ClusterError",
    "DataError",
    "EncoderError",
    "EncoderMismatchError",
    "ExauditError",
    "ModelError",
    "ModelWarning",
    "PrecisionWarning",
    "SettingError",
    "SupportError",
]


class ExauditError(Exception):
    """Base of all errors that exaudit raises on purpose."""


class SettingError(ExauditError, ValueError):
    """An option or an argument has a value that cannot be used."""


class DataError(ExauditError, ValueError):
    """A file of documents is wrong. The message starts with `file:line:` where they are known."""

    def __init__(
        self, message: str, path: str | PathLike[str] | None = None, line: int | None = None
    ) -> None:
        self.message, self.path, self.line = message, path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)

    def at(self, path: str | PathLike[str]) -> DataError:
        """The same, where the one who raised it did not know the file."""
        return DataError(self.message, path, self.line)


class EncoderError(ExauditError):
    """The Transformer cannot be found or loaded, or it is not the one asked for."""


class EncoderMismatchError(EncoderError):
    """The Transformer's files are not those asked for: it is another one, or they are damaged."""


class ModelError(ExauditError):
    """A model folder is missing, damaged, too new, or belongs to another encoder."""


class SupportError(ExauditError):
    """A support set is missing, damaged, or does not fit the model or the request."""


class ClusterError(ExauditError):
    """A Ray cluster cannot be reached, or has lost what it needs to answer."""


class ModelWarning(UserWarning):
    """A model folder of another version was read, but something in it has no meaning any more."""


class PrecisionWarning(UserWarning):
    """A support set was made in another precision than the model would use here; texts are read in that of the set."""
