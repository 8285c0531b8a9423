"""How good will this model be on new data, and which model should I pick?"""

from ._version import __version__
from .criteria import ApproximateLeaveOneOut, Criterion, LabelBootstrap, Permutation, Rademacher, Resubstitution
from .curve import ErrorEstimate, RiskCurve
from .estimating import estimate
from .search import GridSearch, RandomizedSearch

__all__ = [
    "ApproximateLeaveOneOut",
    "Criterion",
    "ErrorEstimate",
    "GridSearch",
    "LabelBootstrap",
    "Permutation",
    "Rademacher",
    "RandomizedSearch",
    "Resubstitution",
    "RiskCurve",
    "__version__",
    "estimate",
]
