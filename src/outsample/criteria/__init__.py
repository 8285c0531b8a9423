"""Criteria by name: each turns a problem into a risk curve."""

from __future__ import annotations

import difflib
from functools import partial
from typing import Any

from outsample.criteria.approximate import ApproximateLeaveOneOut
from outsample.criteria.auto import Auto
from outsample.criteria.base import Criterion
from outsample.criteria.bootstrap import Bootstrap
from outsample.criteria.bounds import DiscrepancyBound, MarginBound, PermutationBound, RademacherBound, VCBound
from outsample.criteria.covariance import CovariancePenalty, generalized_degrees_of_freedom
from outsample.criteria.cross_validation import CrossValidation, HoldOut
from outsample.criteria.discrepancy import ExpectedDiscrepancy, MaximalDiscrepancy
from outsample.criteria.formulas import AIC, BIC, FPE, GCV, MallowsCp, VCPenalty
from outsample.criteria.labels import LabelBootstrap, Permutation, Rademacher, Resubstitution
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.criteria.nested import NestedCrossValidation
from outsample.criteria.rows_and_labels import RowsAndLabels
from outsample.criteria.two_stage import TwoStagePermutation

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
