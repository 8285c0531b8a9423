"""The predictions of a model as a reference, with as much noise as its estimated out-sample risk says there is.

The noise of a reference decides what overfitting is priced at. Residuals of the model itself understate it, by the
model's own optimism; the total variance of y overstates it. Here it is set so that the model's predictions, judged on
the labels that the reference draws, have the risk that was estimated for the model: no parameter is left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from outsample.criteria.reference_choice import predicted_codes
from outsample.losses import Floats, label_variance, weighted_mean
from outsample.problem import Problem
from outsample.references import Reference, ValueReference, class_reference
from outsample.scorers import SetLoss

Array = NDArray[Any]

HALVINGS = 50

# How far sums of equal numbers may differ, relative to the numbers.
ROUNDING = 64 * float(np.finfo(np.float64).eps)

# Learners that predict the first class of greatest frequency, to the letter.
VOTERS = frozenset({DecisionTreeClassifier, ExtraTreeClassifier, KNeighborsClassifier, RandomForestClassifier})


def calibrated_reference(
    problem: Problem, predicted: Array, risk: float, frequencies: Floats | None = None, error: float = 0.0
) -> Reference | None:
    """The reference around the predictions of a model whose out-sample risk was estimated; None if it is constant.

    Class labels follow the frequencies, moved toward the shares of the classes; real labels are the predictions plus
    their residuals, made larger or smaller. How far, `risk` decides. None means that X says nothing: the predictions
    are the same for every row, or are expected to be no better than that.

    Parameters
    ----------
    predicted : (n[, classes]) as the problem's loss reads them, by the model fitted to all rows or to other rows.
    frequencies : (n, classes) class frequencies behind them; None for predictions that are believed as they are.
    error : Monte-Carlo error of `risk`.
    """
    if problem.target.n_classes is None:
        return _values(problem, predicted, risk, error)
    codes = predicted_codes(predicted, problem.response)
    ignored = float(problem.loss.crossed_mean(problem.y, predicted, problem.weight, problem.label_weight))
    if (codes == codes[0]).all() or risk >= ignored:
        return None
    if frequencies is None:
        frequencies = np.eye(problem.target.n_classes)[codes]
    believed = _expected_risk(problem, frequencies, predicted)
    # All three risks are those of the same predictions, and the risk is linear in the share that labels are mixed.
    shares = [_share(believed, min(risk + sign * error, ignored), ignored) for sign in (-1, 0, 1)]
    low, found, high = (
        class_reference(problem.y, frequencies, shrink=share, weight=problem.label_weight) for share in shares
    )
    return found.between(low, high)


def _share(believed: float, risk: float, ignored: float) -> float:
    """How far risk is on the way from what believed labels to what ignored predictions have; 0 before it begins."""
    return (risk - believed) / (ignored - believed) if believed < risk else 0.0


def has_frequencies(problem: Problem) -> bool:
    """Whether the learner predicts the class of which it gives the greatest frequency, so that either tells both."""
    if problem.target.classes is None or isinstance(problem.loss, SetLoss):
        return False
    learner = problem.path.estimator
    last = learner.steps[-1][1] if isinstance(learner, Pipeline) else learner
    return problem.response == "predict_proba" or (problem.response == "predict" and type(last) in VOTERS)


def _expected_risk(problem: Problem, frequencies: Floats, fitted: Array) -> float:
    """Risk of predictions on labels that follow the frequencies."""
    if isinstance(problem.loss, SetLoss):
        return float(problem.loss.risk(frequencies.argmax(axis=1), fitted, problem.weight))
    n, n_classes = frequencies.shape
    expected = sum(frequencies[:, c] * problem.loss.pointwise(np.full(n, c), fitted) for c in range(n_classes))
    return float(weighted_mean(np.asarray(expected), problem.weight))


def _values(problem: Problem, fitted: Floats, risk: float, error: float) -> Reference | None:
    y, weight = problem.y, problem.label_weight
    spread = math.sqrt(label_variance(y, weight))
    # Equal predictions differ by the rounding of labels, which are larger than their spread where they are far from 0.
    if np.ptp(fitted) <= max(1e-12 * spread, ROUNDING * float(np.abs(y).max())):
        return None
    residuals = (y - fitted) - np.average(y - fitted, weights=weight)
    if math.sqrt(label_variance(residuals, weight)) <= 1e-12 * spread:
        residuals = y - np.average(y, weights=weight)
    largest = spread / math.sqrt(label_variance(residuals, weight))
    if _risk_at(problem, fitted, residuals, largest) <= risk:
        return None
    enlarged = residuals * _enlargement(problem, fitted, residuals, risk, largest)
    # Residuals are enlarged in proportion to the risk, and so is the optimism around them.
    return ValueReference(fitted, enlarged, weight=weight, relative_error=abs(error / risk) if risk != 0 else 0.0)


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
