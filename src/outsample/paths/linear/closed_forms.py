"""Closed forms for linear smoothers ŷ = S y: optimism from leverages and row sums, exact predictions of rows left out.

Nothing is refitted and nothing is drawn. The residuals r_J of a fold J that is left out become (I − S_JJ)⁻¹ r_J.

Weights w, where given, weigh the samples in the risk; S is then the smoother of the weighted fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from outsample.losses.base import label_variance
from outsample.paths.base import Smoother
from outsample.paths.linear.fits import LinearFits
from outsample.resampling.labels import FreePermutation
from outsample.running.arrays import Array, Bools, Floats

# A leverage this close to one counts as one: the difference is rounding.
_ROUNDING = 1e-9


def permutation_optimism(smoother: Smoother, y: Array, weight: Floats | None = None) -> Floats:
    """Expected optimism over all permutations of y, squared error, (models,).

    (2σ̂²_y/n)(tr S − 1ᵀS1/n), σ̂²_y the unbiased variance of y (Magdon-Ismail & Mertsalov, Theorem 3). With weights
    2 Σ w_i cov(y*_i, Σ_j S_ij y*_j)/Σw, where the drawn labels have the weighted variance of y. The mean over several
    outputs.
    """
    own, shared = smoother.mean_leverage(weight), smoother.mean_row_sum(weight)
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
    return 2 * label_variance(y, weight) * smoother.mean_leverage(weight)


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
    fixed = 2 * variance * smoother.mean_leverage(weight)
    excess = None if variance == 0 else smoother.mean_excess(weight)
    return fixed if excess is None else fixed + variance * excess


def degrees_of_freedom(smoother: Smoother, n: float, weight: Floats | None = None) -> Floats:
    """tr S, (models,); with weights n times the weighted mean leverage."""
    return np.asarray(n * smoother.mean_leverage(weight))


def noise_variance(in_sample: Floats, dof: Floats, n: float) -> Floats:
    """RSS/(n − tr S), (models,): unbiased where least squares has no bias; not a number where tr S reaches n."""
    left = n - dof
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > _ROUNDING * n, in_sample * n / left, np.nan)


# A fold with less slack than this is refitted: the formula divides by the slack.
_TOO_TIGHT = 1e-7

Doubtful = tuple[int, Any]
"""A model and a fold."""


def left_out(fits: LinearFits, y: Floats, folds: Array, least_slack: Floats) -> tuple[Floats, list[Doubtful]]:
    """(predictions (models, n) for one output, the models and folds that must be refitted instead).

    The slack of a fold is the smallest pivot of I − S_JJ relative to the largest, 1 − leverage for a single row: how
    far the formula is from dividing by zero; 0 where no prediction could be made. A fold is refitted where a small
    slack would cost digits, or where it is below what the model needs.

    Parameters
    ----------
    least_slack : (models,), the slack that each model needs.
    """
    order = np.argsort(folds, kind="stable")
    starts = np.flatnonzero(np.diff(folds[order], prepend=folds[order[0]] - 1))
    predictions = np.empty((len(fits.kept), len(y)))
    doubtful = []
    if len(starts) == len(y):
        for rows, values, unsure in one_left_out(fits, y, least_slack):
            predictions[:, rows] = values
            doubtful += [(m, folds[row]) for m, row in unsure]
        return predictions, doubtful
    coefficients = fits.coefficients(y)
    residuals = predictions
    for some in fits.row_blocks():
        residuals[:, some] = fits.residuals(y, coefficients, some)
    for inside in np.split(order, starts[1:]):
        within = _FoldSolver(fits, inside)
        for m in range(len(residuals)):
            outside, slack = within.left_out_residuals(m, residuals[m, inside])
            predictions[m, inside] = y[inside] - outside
            if not _solid(slack, least_slack[m]):
                doubtful.append((m, folds[inside[0]]))
    return predictions, doubtful


def one_left_out(
    fits: LinearFits, y: Floats, least_slack: Floats
) -> Iterator[tuple[slice, Floats, list[tuple[int, int]]]]:
    """(rows, predictions (models, rows) without each of them, the models and rows that must be refitted instead)."""
    coefficients = fits.coefficients(y)
    for rows in fits.row_blocks():
        outside, slack = fits.residuals(y, coefficients, rows), fits.slack(rows)
        np.maximum(slack, 0.0, out=slack)
        with np.errstate(divide="ignore", invalid="ignore"):
            outside /= slack
        np.subtract(y[rows], outside, out=outside)
        unsure = []
        if not _solid(slack.min(axis=1), least_slack).all():
            unsure = [(int(m), int(rows.start + i)) for m, i in np.argwhere(~_solid(slack, least_slack[:, None]))]
        yield rows, outside, unsure


def _solid(slack: Any, least: Any) -> Bools:
    """Where the formula holds and divides by enough to keep eight digits."""
    return np.asarray((slack > _TOO_TIGHT) & (slack >= least))


class _FoldSolver:
    """Solves (I − S_JJ) x = r_J in the smaller of |J| and r dimensions.

    In |J|: x = r + L K Lᵀ√W z with (I − √W L K Lᵀ √W) z = √W r, K = diag(kept).
    In r: x = r + L √K (I − √K LᵀWL √K)⁻¹ √K LᵀW r, the identity of Woodbury.
    """

    def __init__(self, fits: LinearFits, rows: NDArray[np.intp]) -> None:
        self._fits = fits
        self._basis = fits.directions(rows)
        weight = np.ones(len(rows)) if fits.weight is None else fits.weight[rows]
        self._root = np.sqrt(weight)
        self._scaled = self._basis * self._root[:, None]
        self._by_rows = len(rows) <= self._basis.shape[1]
        if self._by_rows:
            self._outside = np.eye(len(rows)) - self._scaled @ self._scaled.T
            reproduced = fits.reproduced[rows]
            self._outside[reproduced] = 0.0
            self._outside[:, reproduced] = 0.0
        else:
            self._gram = self._scaled.T @ self._scaled

    def left_out_residuals(self, m: int, residuals: Floats) -> tuple[Floats, float]:
        """(residuals of the fold when it is left out, smallest pivot relative to the largest), model m."""
        kept, lost = self._fits.kept[m], self._fits.lost[m]
        if self._by_rows:
            matrix = self._outside + (self._scaled * lost) @ self._scaled.T
            right = self._root * residuals
        else:
            root_kept = np.sqrt(kept)
            matrix = np.eye(len(kept)) - root_kept[:, None] * self._gram * root_kept
            right = root_kept * (self._scaled.T @ (self._root * residuals))
        solution, pivot = _solution(matrix, right)
        if not self._by_rows:
            return residuals + self._basis @ (root_kept * solution), pivot
        outside = residuals + self._basis @ (kept * (self._scaled.T @ solution))
        counted = self._root > 0
        outside[counted] = solution[counted] / self._root[counted]
        return outside, pivot


def _solution(matrix: Floats, right: Floats) -> tuple[Floats, float]:
    """(solution, smallest over largest squared pivot) of a positive definite system; pivot 0 when it is not."""
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return np.full_like(right, np.nan), 0.0
    pivots = np.square(np.diagonal(factor[0]))
    return cho_solve(factor, right, check_finite=False), float(pivots.min() / pivots.max())
