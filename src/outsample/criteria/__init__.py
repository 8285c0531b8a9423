"""Criteria by name: each turns a problem into a risk curve. A criterion's module is loaded when it is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from outsample.criteria.base import Criterion


@dataclass(frozen=True)
class Named:
    """A criterion that has a name: its class, and what the name settles of it."""

    module: str
    class_name: str
    settled: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> type[Criterion]:
        """The class."""
        found: type[Criterion] = getattr(import_module(f"outsample.criteria.{self.module}"), self.class_name)
        return found

    def __call__(self, *positional: Any, **named: Any) -> Criterion:
        """The criterion with these settings; its defaults for the others."""
        return self.kind(*positional, **{**self.settled, **named})


CRITERIA: dict[str, Named] = {
    "permutation": Named("labels", "Permutation"),
    "label-bootstrap": Named("labels", "LabelBootstrap"),
    "rademacher": Named("labels", "Rademacher"),
    "resubstitution": Named("labels", "Resubstitution"),
    "holdout": Named("cross_validation", "HoldOut"),
    "kfold": Named("cross_validation", "CrossValidation", {"shuffle": True}),
    "loo": Named("leave_one_out", "LeaveOneOut"),
    "alo": Named("approximate", "ApproximateLeaveOneOut"),
    "nested-kfold": Named("nested", "NestedCrossValidation"),
    "bootstrap": Named("bootstrap", "Bootstrap"),
    "632": Named("bootstrap", "Bootstrap", {"kind": "632"}),
    "632+": Named("bootstrap", "Bootstrap", {"kind": "632+"}),
    "optimism-bootstrap": Named("bootstrap", "Bootstrap", {"kind": "optimism"}),
    "fpe": Named("formulas", "FPE"),
    "aic": Named("formulas", "AIC"),
    "bic": Named("formulas", "BIC"),
    "cp": Named("formulas", "MallowsCp"),
    "gcv": Named("formulas", "GCV"),
    "vc": Named("formulas", "VCPenalty"),
    "discrepancy": Named("discrepancy", "MaximalDiscrepancy"),
    "expected-discrepancy": Named("discrepancy", "ExpectedDiscrepancy"),
    "covariance": Named("covariance", "CovariancePenalty"),
    "two-stage": Named("two_stage", "TwoStagePermutation"),
    "rows-and-labels": Named("rows_and_labels", "RowsAndLabels"),
    "auto": Named("auto", "Auto"),
    "permutation-bound": Named("bounds", "PermutationBound"),
    "rademacher-bound": Named("bounds", "RademacherBound"),
    "discrepancy-bound": Named("bounds", "DiscrepancyBound"),
    "vc-bound": Named("bounds", "VCBound"),
    "margin-bound": Named("bounds", "MarginBound"),
}


def as_criterion(criterion: object) -> Criterion:
    """A criterion from its name (with its defaults), its class or itself."""
    if isinstance(criterion, Criterion):
        return criterion
    if isinstance(criterion, type) and issubclass(criterion, Criterion):
        return criterion()
    if isinstance(criterion, str) and criterion in CRITERIA:
        return CRITERIA[criterion]()
    near = difflib.get_close_matches(str(criterion), CRITERIA, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"criterion {criterion!r} is unknown: use one of {', '.join(CRITERIA)}{hint}")
