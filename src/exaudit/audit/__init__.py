"""Evidence joined: a model and its support set answer together for every decision."""

from exaudit.audit.audited import RULES, Audited, MultiAudited, Rule
from exaudit.audit.auditor import Auditor, OverlapWarning
from exaudit.audit.drift import Drift, DriftReference, DriftWatch
from exaudit.audit.evidence import Evidence, Exemplar
from exaudit.audit.fitted import FittedAdmission, FittedKNN
from exaudit.audit.index import ExemplarIndex, Index
from exaudit.audit.preview import Flip, Preview
from exaudit.audit.shift import Shift
from exaudit.audit.staleness import Staleness

__all__ = [
    "RULES",
    "Audited",
    "Auditor",
    "Drift",
    "DriftReference",
    "DriftWatch",
    "Evidence",
    "Exemplar",
    "ExemplarIndex",
    "FittedAdmission",
    "FittedKNN",
    "Flip",
    "Index",
    "MultiAudited",
    "OverlapWarning",
    "Preview",
    "Rule",
    "Shift",
    "Staleness",
]
