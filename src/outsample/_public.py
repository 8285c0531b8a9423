"""Every public name at once; `outsample` itself loads this module when the first of them is asked for."""

from . import bounds, penalties
from ._version import __version__
from .auditing import Audit, audit
from .column_tests import permutation_test_columns
from .columns import LeadingColumns
from .comparing import Comparison, compare
from .complexity import (
    expected_discrepancy,
    label_bootstrap_complexity,
    maximal_discrepancy,
    permutation_complexity,
    rademacher_complexity,
)
from .criteria import (
    AIC,
    BIC,
    FPE,
    GCV,
    ApproximateLeaveOneOut,
    Auto,
    Bootstrap,
    CovariancePenalty,
    Criterion,
    CrossValidation,
    DiscrepancyBound,
    ExpectedDiscrepancy,
    HoldOut,
    LabelBootstrap,
    LeaveOneOut,
    MallowsCp,
    MarginBound,
    MaximalDiscrepancy,
    NestedCrossValidation,
    Permutation,
    PermutationBound,
    Rademacher,
    RademacherBound,
    Resubstitution,
    RowsAndLabels,
    TwoStagePermutation,
    VCBound,
    VCPenalty,
    generalized_degrees_of_freedom,
)
from .curve import ErrorEstimate, RiskCurve
from .effective_vc import effective_vc_dimension
from .estimating import estimate
from .hypotheses import HypothesisSet, StumpClassifier
from .search import GridSearch, RandomizedSearch
from .significance import permutation_test
from .stepwise import ForwardStepwise
from .studies.regret import regret_study
from .studies.regret_record import RegretStudy

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
