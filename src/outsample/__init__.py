"""How good will this model be on new data, and which model should I pick?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._public import *

__all__ = [
    "AIC",
    "BIC",
    "FPE",
    "GCV",
    "ApproximateLeaveOneOut",
    "Audit",
    "Auto",
    "Bootstrap",
    "Comparison",
    "CovariancePenalty",
    "Criterion",
    "CrossValidation",
    "DiscrepancyBound",
    "ErrorEstimate",
    "ExpectedDiscrepancy",
    "ForwardStepwise",
    "GridSearch",
    "HoldOut",
    "HypothesisSet",
    "LabelBootstrap",
    "LeadingColumns",
    "LeaveOneOut",
    "MallowsCp",
    "MarginBound",
    "MaximalDiscrepancy",
    "NestedCrossValidation",
    "Permutation",
    "PermutationBound",
    "Rademacher",
    "RademacherBound",
    "RandomizedSearch",
    "RegretStudy",
    "Resubstitution",
    "RiskCurve",
    "RowsAndLabels",
    "StumpClassifier",
    "TwoStagePermutation",
    "VCBound",
    "VCPenalty",
    "__version__",
    "audit",
    "bounds",
    "compare",
    "effective_vc_dimension",
    "estimate",
    "expected_discrepancy",
    "generalized_degrees_of_freedom",
    "label_bootstrap_complexity",
    "maximal_discrepancy",
    "penalties",
    "permutation_complexity",
    "permutation_test",
    "permutation_test_columns",
    "rademacher_complexity",
    "regret_study",
]

_MODULES = ("bounds", "penalties")


def __getattr__(name: str) -> Any:
    """Load the library when it is first used: the command line must answer `--help` before scikit-learn is there."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module(f"{__name__}._public")
    globals().update({known: getattr(public, known) for known in __all__})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
