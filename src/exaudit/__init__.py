"""Which words carry a label, when only whole documents were labelled, and real examples to check every answer.

The names below are the public interface; they are imported when first used, so that `exaudit --help` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from exaudit._threads import settle_threads
from exaudit._version import __version__ as __version__

if TYPE_CHECKING:
    from exaudit.analyse.evaluation import Evaluation
    from exaudit.audit.auditor import Auditor
    from exaudit.audit.drift import Drift, DriftWatch
    from exaudit.data.diff import diff_documents
    from exaudit.data.document import Document
    from exaudit.data.labels import LabelNames, LabelSet
    from exaudit.data.readers import iter_documents, read_documents
    from exaudit.data.sample import sample_documents, sample_splits
    from exaudit.errors import (
        ClusterError,
        DataError,
        EncoderError,
        ExauditError,
        ModelError,
        ModelWarning,
        PrecisionWarning,
        SettingError,
        SupportError,
    )
    from exaudit.model.folder import load_model, save_model
    from exaudit.model.labeler import Labeler
    from exaudit.model.model import Model
    from exaudit.model.scores import MultiScores, TokenScores
    from exaudit.model.settings import Settings
    from exaudit.model.train import train

settle_threads()  # here, because nothing of exaudit that loads torch is imported before this

_HOME = {
    "Auditor": "audit.auditor",
    "ClusterError": "errors",
    "DataError": "errors",
    "Document": "data.document",
    "Drift": "audit.drift",
    "DriftWatch": "audit.drift",
    "EncoderError": "errors",
    "Evaluation": "analyse.evaluation",
    "ExauditError": "errors",
    "LabelNames": "data.labels",
    "LabelSet": "data.labels",
    "Labeler": "model.labeler",
    "Model": "model.model",
    "ModelError": "errors",
    "ModelWarning": "errors",
    "MultiScores": "model.scores",
    "PrecisionWarning": "errors",
    "SettingError": "errors",
    "Settings": "model.settings",
    "SupportError": "errors",
    "TokenScores": "model.scores",
    "diff_documents": "data.diff",
    "iter_documents": "data.readers",
    "load_model": "model.folder",
    "read_documents": "data.readers",
    "sample_documents": "data.sample",
    "sample_splits": "data.sample",
    "save_model": "model.folder",
    "train": "model.train",
}

__all__ = [
    "Auditor",
    "ClusterError",
    "DataError",
    "Document",
    "Drift",
    "DriftWatch",
    "EncoderError",
    "Evaluation",
    "ExauditError",
    "LabelNames",
    "LabelSet",
    "Labeler",
    "Model",
    "ModelError",
    "ModelWarning",
    "MultiScores",
    "PrecisionWarning",
    "SettingError",
    "Settings",
    "SupportError",
    "TokenScores",
    "diff_documents",
    "iter_documents",
    "load_model",
    "read_documents",
    "sample_documents",
    "sample_splits",
    "save_model",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'exaudit' has no attribute {name!r}")
    return getattr(import_module(f"exaudit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
