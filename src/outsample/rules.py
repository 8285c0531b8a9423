"""From a risk curve to the chosen model. Curves come simplest first."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np

from outsample.curve import RiskCurve
from outsample.losses import RELATIVE_ROUNDING, Floats
from outsample.penalized import oracle_terms

Rule = Callable[[RiskCurve], int]

PATIENCE = 3


def minimum(curve: RiskCurve) -> int:
    """The model of least estimated risk; ties, up to rounding, go to the simplest."""
    risk = _comparable(curve.out_sample)
    return int(np.flatnonzero(risk <= risk.min() + _rounding(curve))[0])


def one_standard_error(curve: RiskCurve) -> int:
    """The simplest model within one standard error, not standard deviation, of the minimum."""
    if curve.standard_error is None:
        raise ValueError(
            f'rule "one-standard-error" needs a standard error, which criterion {curve.criterion!r} does not give; '
            'use rule "minimum", or a criterion such as "permutation" or "kfold"'
        )
    risk = _comparable(curve.out_sample)
    best = minimum(curve)
    limit = risk[best] + np.nan_to_num(curve.standard_error[best])
    return int(np.flatnonzero(risk <= limit)[0])


def first_local_minimum(curve: RiskCurve, patience: int = PATIENCE) -> int:
    """The first significant local minimum, walking up in complexity; the minimum where the walk never ends."""
    found = significant_minimum(curve, patience)
    return minimum(curve) if found is None else found


def significant_minimum(curve: RiskCurve, patience: int = PATIENCE) -> int | None:
    """Where the running minimum stood when the curve had risen above it for `patience` steps in a row.

    A step counts when the risk exceeds the running minimum by more than its error: the Monte-Carlo error where labels
    are drawn, because all models meet the same data and the same draws, else the standard error. None when that never
    happens, so that a longer curve is needed.
    """
    risk, error, rounding = _comparable(curve.out_sample), _error(curve), _rounding(curve)
    best, above = 0, 0
    for k in range(1, len(risk)):
        if risk[k] < risk[best] - rounding:
            best, above = k, 0
        else:
            above = above + 1 if risk[k] > risk[best] + error[k] else 0
        if above >= patience:
            return best
    return None


def penalized(curve: RiskCurve) -> int:
    """The model of least R_k + √(ln k/m), k counted from the simplest, m the criterion's own; see `oracle_terms`."""
    return oracle_terms(curve).chosen


def _comparable(risk: Floats) -> Floats:
    """Risks that are not numbers lose against all others."""
    return np.where(np.isnan(risk), np.inf, risk)


def _rounding(curve: RiskCurve) -> float:
    """Differences this small are rounding. The least risk decides, because the others may be of any size."""
    finite = curve.out_sample[np.isfinite(curve.out_sample)]
    return max(curve.rounding, RELATIVE_ROUNDING * abs(float(finite.min()))) if len(finite) else 0.0


def _error(curve: RiskCurve) -> Floats:
    for error in (curve.monte_carlo_error, curve.standard_error):
        if error is not None:
            return np.nan_to_num(error)
    return np.zeros(len(curve))


RULES: dict[str, Rule] = {
    "minimum": minimum,
    "one-standard-error": one_standard_error,
    "first-local-minimum": first_local_minimum,
    "penalized": penalized,
}


def as_rule(rule: Any) -> Rule:
    """A rule from its name or a function of a risk curve."""
    if callable(rule):
        return rule  # type: ignore[no-any-return]
    if isinstance(rule, str) and rule in RULES:
        return RULES[rule]
    near = difflib.get_close_matches(str(rule), RULES, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"rule {rule!r} is unknown: use {', '.join(RULES)} or a function of a risk curve{hint}")
