"""Evidence becomes decisions: the rules ExAG and ExAT, the K-NN, and admission."""

from exaudit.decide.admission import (
    Admission,
    DocumentAdmission,
    DocumentLimits,
    TokenAdmission,
    TokenLimits,
)
from exaudit.decide.explanation import Explanation, Term
from exaudit.decide.fitting import Epoch, KNNReport, fit_knn
from exaudit.decide.knn import KNN
from exaudit.decide.neighbours import Neighbours
from exaudit.decide.rules import exag, exat, sgn

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
    "exag",
    "exat",
    "fit_knn",
    "sgn",
]
