from exaudit.data.document import Document
from exaudit.data.labels import LabelNames, LabelSet
from exaudit.data.notes import DataWarning, Notes
from exaudit.data.readers import FORMATS, iter_documents, read_documents

__all__ = [
    "FORMATS",
    "DataWarning",
    "Document",
    "LabelNames",
    "LabelSet",
    "Notes",
    "iter_documents",
    "read_documents",
]
