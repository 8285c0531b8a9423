"""How good will this model be on new data, and which model should I pick?"""

from . import penalties
from ._version import __version__
from .comparing import Comparison, compare
from .criteria import (
    AIC,
    BIC,
    FPE,
    GCV,
    ApproximateLeaveOneOut,
    Bootstrap,
    Criterion,
    CrossValidation,
    HoldOut,
    LabelBootstrap,
    LeaveOneOut,
    MallowsCp,
    NestedCrossValidation,
    Permutation,
    Rademacher,
    Resubstitution,
    VCPenalty,
)
from .curve import ErrorEstimate, RiskCurve
from .estimating import estimate
from .search import GridSearch, RandomizedSearch

__all__ = [
    "AIC",
    "BIC",
    "FPE",
    "GCV",
    "ApproximateLeaveOneOut",
    "Bootstrap",
    "Comparison",
    "Criterion",
    "CrossValidation",
    "ErrorEstimate",
    "GridSearch",
    "HoldOut",
    "LabelBootstrap",
    "LeaveOneOut",
    "MallowsCp",
    "NestedCrossValidation",
    "Permutation",
    "Rademacher",
    "RandomizedSearch",
    "Resubstitution",
    "RiskCurve",
    "VCPenalty",
    "__version__",
    "compare",
    "estimate",
    "penalties",
]
