"""Criteria by name: each turns a problem into a risk curve."""

from __future__ import annotations

import difflib
from functools import partial
from typing import Any

from .approximate import ApproximateLeaveOneOut
from .auto import Auto
from .base import Criterion
from .bootstrap import Bootstrap
from .bounds import DiscrepancyBound, MarginBound, PermutationBound, RademacherBound, VCBound
from .covariance import CovariancePenalty, generalized_degrees_of_freedom
from .discrepancy import ExpectedDiscrepancy, MaximalDiscrepancy
from .formulas import AIC, BIC, FPE, GCV, MallowsCp, VCPenalty
from .labels import LabelBootstrap, Permutation, Rademacher, Resubstitution
from .nested import NestedCrossValidation
from .one_row_out import LeaveOneOut
from .rows import CrossValidation, HoldOut
from .rows_and_labels import RowsAndLabels
from .two_stage import TwoStagePermutation

CRITERIA: dict[str, Any] = {
    "permutation": Permutation,
    "label-bootstrap": LabelBootstrap,
    "rademacher": Rademacher,
    "resubstitution": Resubstitution,
    "holdout": HoldOut,
    "kfold": partial(CrossValidation, shuffle=True),
    "loo": LeaveOneOut,
    "alo": ApproximateLeaveOneOut,
    "nested-kfold": NestedCrossValidation,
    "bootstrap": Bootstrap,
    "632": partial(Bootstrap, kind="632"),
    "632+": partial(Bootstrap, kind="632+"),
    "optimism-bootstrap": partial(Bootstrap, kind="optimism"),
    "fpe": FPE,
    "aic": AIC,
    "bic": BIC,
    "cp": MallowsCp,
    "gcv": GCV,
    "vc": VCPenalty,
    "discrepancy": MaximalDiscrepancy,
    "expected-discrepancy": ExpectedDiscrepancy,
    "covariance": CovariancePenalty,
    "two-stage": TwoStagePermutation,
    "rows-and-labels": RowsAndLabels,
    "auto": Auto,
    "permutation-bound": PermutationBound,
    "rademacher-bound": RademacherBound,
    "discrepancy-bound": DiscrepancyBound,
    "vc-bound": VCBound,
    "margin-bound": MarginBound,
}


def as_criterion(criterion: Any) -> Criterion:
    """A criterion from its name (with its defaults), its class or itself."""
    if isinstance(criterion, Criterion):
        return criterion
    if isinstance(criterion, type) and issubclass(criterion, Criterion):
        return criterion()
    if isinstance(criterion, str) and criterion in CRITERIA:
        made: Criterion = CRITERIA[criterion]()
        return made
    near = difflib.get_close_matches(str(criterion), CRITERIA, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"criterion {criterion!r} is unknown: use one of {', '.join(CRITERIA)}{hint}")


__all__ = [
    "AIC",
    "BIC",
    "CRITERIA",
    "FPE",
    "GCV",
    "ApproximateLeaveOneOut",
    "Auto",
    "Bootstrap",
    "CovariancePenalty",
    "Criterion",
    "CrossValidation",
    "DiscrepancyBound",
    "ExpectedDiscrepancy",
    "HoldOut",
    "LabelBootstrap",
    "LeaveOneOut",
    "MallowsCp",
    "MarginBound",
    "MaximalDiscrepancy",
    "NestedCrossValidation",
    "Permutation",
    "PermutationBound",
    "Rademacher",
    "RademacherBound",
    "Resubstitution",
    "RowsAndLabels",
    "TwoStagePermutation",
    "VCBound",
    "VCPenalty",
    "as_criterion",
    "generalized_degrees_of_freedom",
]
