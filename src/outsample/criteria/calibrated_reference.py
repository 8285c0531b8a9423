"""A model of the path as a reference, with as much noise as its estimated out-sample risk says there is.

The noise of a reference decides what overfitting is priced at. Residuals of the model itself understate it, by the
model's own optimism; the total variance of y overstates it. Here it is set so that the model's predictions, judged on
the labels that the reference draws, have the risk that was estimated for the model: no parameter is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from outsample.criteria.reference_choice import predicted_codes
from outsample.learners import fit, respond, seeded
from outsample.losses import Floats, weighted_mean
from outsample.problem import Problem
from outsample.references import Reference, ValueReference, class_reference
from outsample.scorers import SetLoss

Array = NDArray[Any]

HALVINGS = 50


def calibrated_reference(problem: Problem, model: int, risk: float) -> Reference | None:
    """The reference of a model of the path whose out-sample risk was estimated; None where it is a constant.

    Class labels follow the model's class frequencies (its predictions, where it has none), moved toward the shares of
    the classes; real labels are the fitted values plus the model's residuals, enlarged. How far, `risk` decides. None
    means that X says nothing: the model predicts the same of every row, or is expected to be no better than that.
    """
    fitted = problem.fitted[model]
    if problem.target.n_classes is None:
        return _values(problem, fitted, risk)
    return _classes(problem, model, fitted, risk)


def _classes(problem: Problem, model: int, fitted: Array, risk: float) -> Reference | None:
    codes = predicted_codes(fitted, problem.response)
    if (codes == codes[0]).all():
        return None
    ignored = float(problem.loss.crossed_mean(problem.y, fitted, problem.weight))
    if risk >= ignored:
        return None
    frequencies, n_fits = _frequencies(problem, model, fitted, codes)
    believed = _expected_risk(problem, frequencies, fitted)
    # All three risks are those of the same predictions, and the risk is linear in the share that labels are mixed.
    shrink = (risk - believed) / (ignored - believed) if believed < risk else 0.0
    return class_reference(problem.y, frequencies, shrink=shrink, n_fits=n_fits)


def _frequencies(problem: Problem, model: int, fitted: Array, codes: Array) -> tuple[Floats, int]:
    """(class frequencies of the model at every row, (n, classes); fits that took)."""
    classes = problem.target.classes
    assert classes is not None
    if problem.response == "predict_proba":
        return fitted, 0
    estimator = clone(problem.path.estimator).set_params(**problem.path.params[model])
    if isinstance(problem.loss, SetLoss) or not hasattr(estimator, "predict_proba"):
        return np.eye(len(classes))[codes], 0
    estimator = seeded(estimator, problem.real_seed)
    fit(estimator, problem.X, classes[problem.y], problem.weight)
    return respond(estimator, problem.X, "predict_proba", classes), 1


def _expected_risk(problem: Problem, frequencies: Floats, fitted: Array) -> float:
    """Risk of predictions on labels that follow the frequencies."""
    if isinstance(problem.loss, SetLoss):
        return float(problem.loss.risk(frequencies.argmax(axis=1), fitted, problem.weight))
    n, n_classes = frequencies.shape
    expected = sum(frequencies[:, c] * problem.loss.pointwise(np.full(n, c), fitted) for c in range(n_classes))
    return float(weighted_mean(np.asarray(expected), problem.weight))


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
