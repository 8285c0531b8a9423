"""A model of the path as a reference, with as much noise as its estimated out-sample risk says there is.

The noise of a reference decides what overfitting is priced at. Residuals of the model itself understate it, by the
model's own optimism; the total variance of y overstates it. Here it is set so that the model's predictions, judged on
the labels that the reference draws, have the risk that was estimated for the model: no parameter is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.criteria.reference_choice import predicted_codes
from outsample.losses import Floats
from outsample.problem import Problem
from outsample.references import Reference, ValueReference, class_reference

Array = NDArray[Any]

HALVINGS = 50


def calibrated_reference(problem: Problem, model: int, risk: float) -> Reference | None:
    """The reference of a model of the path whose out-sample risk was estimated; None where it is a constant.

    Class labels are the model's predictions, moved toward the shares of the classes; real labels are the fitted
    values plus the model's residuals, enlarged. How far, `risk` decides. None means that X says nothing: the model
    predicts the same of every row, or is expected to be no better than that.
    """
    fitted = problem.fitted[model]
    if problem.target.n_classes is None:
        return _values(problem, fitted, risk)
    return _classes(problem, fitted, risk)


def _classes(problem: Problem, fitted: Array, risk: float) -> Reference | None:
    codes = predicted_codes(fitted, problem.response)
    if (codes == codes[0]).all():
        return None
    believed = float(problem.loss.risk(codes, fitted, problem.weight))
    ignored = float(problem.loss.crossed_mean(problem.y, fitted, problem.weight))
    # Both risks are those of the same predictions, and the risk on mixed labels is linear in the share that is mixed.
    shrink = (risk - believed) / (ignored - believed) if ignored > believed else 1.0
    if shrink >= 1:
        return None
    n_classes = problem.target.n_classes or 2
    return class_reference(problem.y, np.eye(n_classes)[codes], shrink=max(0.0, shrink))


def _values(problem: Problem, fitted: Floats, risk: float) -> Reference | None:
    y = problem.y
    spread = float(np.std(y))
    if np.ptp(fitted) <= 1e-12 * max(1.0, float(np.abs(y).max())):
        return None
    residuals = (y - fitted) - np.mean(y - fitted)
    if np.std(residuals) <= 1e-12 * spread:
        residuals = y - y.mean()
    largest = spread / float(np.std(residuals))
    if _risk_at(problem, fitted, residuals, largest) <= risk:
        return None
    return ValueReference(fitted, residuals * _enlargement(problem, fitted, residuals, risk, largest))


def _enlargement(problem: Problem, fitted: Floats, residuals: Floats, risk: float, largest: float) -> float:
    """By how much residuals must be multiplied for the fitted values to have this risk, by halving."""
    low, high = 0.0, largest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _risk_at(problem, fitted, residuals, middle) < risk:
            low = middle
        else:
            high = middle
    return high


def _risk_at(problem: Problem, fitted: Floats, residuals: Floats, factor: float) -> float:
    return float(problem.loss.risk(fitted + factor * residuals, fitted, problem.weight))
