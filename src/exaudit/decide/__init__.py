"""Evidence becomes decisions: the rules ExAG and ExAT, the K-NN, and admission."""

from exaudit.decide.admission import (
    Admission,
    DocumentAdmission,
    DocumentLimits,
    TokenAdmission,
    TokenLimits,
)
from exaudit.decide.explanation import Explanation, Term
from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.rules import exag, exat, sgn
from exaudit.decide.training import Epoch, KNNReport, best_offset, fit_knn

__all__ = [
    "KNN",
    "Admission",
    "DocumentAdmission",
    "DocumentLimits",
    "Epoch",
    "Explanation",
    "KNNReport",
    "Neighbours",
    "Term",
    "TokenAdmission",
    "TokenLimits",
    "best_offset",
    "exag",
    "exat",
    "fit_knn",
    "sgn",
]
