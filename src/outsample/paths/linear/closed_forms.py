"""Estimates for linear smoothers ŷ = S y, from leverages and row sums alone: no refit, nothing drawn.

Weights w, where given, weigh the samples in the risk; S is then the smoother of the weighted fit.
"""

from __future__ import annotations

import numpy as np

from outsample.losses.base import label_variance, weighted_mean
from outsample.paths.base import Smoother
from outsample.resampling.labels import FreePermutation
from outsample.running.arrays import Array, Floats

# A leverage this close to one counts as one: the difference is rounding.
_ROUNDING = 1e-9


def permutation_optimism(smoother: Smoother, y: Array, weight: Floats | None = None) -> Floats:
    """Expected optimism over all permutations of y, squared error, (models,).

    (2σ̂²_y/n)(tr S − 1ᵀS1/n), σ̂²_y the unbiased variance of y (Magdon-Ismail & Mertsalov, Theorem 3). With weights
    2 Σ w_i cov(y*_i, Σ_j S_ij y*_j)/Σw, where the drawn labels have the weighted variance of y. The mean over several
    outputs.
    """
    own, shared = weighted_mean(smoother.leverages, weight), weighted_mean(smoother.row_sums, weight)
    unequal = None if weight is None or np.ptp(weight) == 0 else weight
    if unequal is None:
        variance = float(np.mean(np.var(y, axis=0, ddof=1)))
        return np.asarray(2 * variance * (own - shared / len(y)))
    variance, covariance = FreePermutation(unequal).label_moments(y)
    return np.asarray(2 * (variance * own + covariance * (shared - own)))


def label_bootstrap_optimism(smoother: Smoother, y: Array, weight: Floats | None = None) -> Floats:
    """Expected optimism over labels drawn with replacement, squared error, (models,): 2 s²_y tr(S)/n (§2.3).

    With weights s²_y is the weighted variance, and the mean leverage is weighted.
    """
    return 2 * label_variance(y, weight) * weighted_mean(smoother.leverages, weight)


def new_row_optimism(smoother: Smoother, variance: float, weight: Floats | None = None) -> Floats:
    """Expected optimism over labels with noise of this variance, squared error, rows at new places included, (models,).

    2σ² tr(S)/n is the optimism at the rows themselves. At a new place x the fit s(x)ᵀy has variance σ²‖s(x)‖², more
    than the σ²‖S_i‖² at a row that was fitted, and much more where least squares extrapolates. A row left out stands
    for a new one: row i left out has the weights S_ij/(1 − S_ii), j ≠ i, which adds σ² times the mean of
    (‖S_i‖² − S_ii²)/(1 − S_ii)² − ‖S_i‖², for a projection S_ii²/(1 − S_ii) (the excess variance of Rosset &
    Tibshirani 2020, with rows left out in place of new rows). Infinite where the fit of a row depends on its own label
    alone. Where a fit of minimum norm reproduces every label, so does the one without a row. Nothing is added where
    the squared norms are not known, as for nearest neighbours, whose weights at new places are no larger.
    """
    fixed = 2 * variance * weighted_mean(smoother.leverages, weight)
    if smoother.squared_norms is None or smoother.left_out_norms is None or variance == 0:
        return fixed
    excess = np.maximum(smoother.left_out_norms - smoother.squared_norms, 0.0)
    return fixed + variance * weighted_mean(excess, weight)


def degrees_of_freedom(smoother: Smoother, n: float, weight: Floats | None = None) -> Floats:
    """tr S, (models,); with weights n times the weighted mean leverage."""
    return np.asarray(n * weighted_mean(smoother.leverages, weight))


def noise_variance(in_sample: Floats, dof: Floats, n: float) -> Floats:
    """RSS/(n − tr S), (models,): unbiased where least squares has no bias; not a number where tr S reaches n."""
    left = n - dof
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > _ROUNDING * n, in_sample * n / left, np.nan)


def leave_one_out_losses(smoother: Smoother, y: Array, fitted: Array) -> Floats:
    """Squared error of each row when it is left out, (models, n): ((y_i − ŷ_i)/(1 − S_ii))², averaged over outputs.

    Exact for least squares with a fixed quadratic penalty in sum form (Allen 1974). Infinite where the
    fit of a row depends on its own label alone, S_ii = 1: the other rows say nothing about it.

    Parameters
    ----------
    y : (n,) or (n, outputs).
    fitted : (models, n[, outputs]) in-sample predictions.
    """
    residuals = np.square(y - fitted)
    if residuals.ndim == 3:
        residuals = residuals.mean(axis=-1)
    alone = smoother.slack <= _ROUNDING
    return np.where(alone, np.inf, residuals / np.square(np.where(alone, 1.0, smoother.slack)))
