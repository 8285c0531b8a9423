"""Exact predictions for left-out rows of linear fits: residuals r_J of fold J become (I − S_JJ)⁻¹ r_J.

Exact for every fit that minimises Σ w (y − f)² plus a fixed quadratic penalty in sum form, the intercept
free or not: leaving J out is the same as giving J the labels the fit predicts for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from outsample.paths.linear.fits import LinearFits
from outsample.running.arrays import Array, Bools, Floats, chunks

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
    residuals = fits.residuals(y)
    order = np.argsort(folds, kind="stable")
    starts = np.flatnonzero(np.diff(folds[order], prepend=folds[order[0]] - 1))
    if len(starts) == len(y):
        return _one_left_out(fits, y, residuals, folds, least_slack)
    predictions = np.empty_like(residuals)
    doubtful = []
    for rows in np.split(order, starts[1:]):
        within = _FoldSolver(fits, rows)
        for m in range(len(residuals)):
            outside, slack = within.left_out_residuals(m, residuals[m, rows])
            predictions[m, rows] = y[rows] - outside
            if not _solid(slack, least_slack[m]):
                doubtful.append((m, folds[rows[0]]))
    return predictions, doubtful


def _one_left_out(
    fits: LinearFits, y: Floats, residuals: Floats, folds: Array, least_slack: Floats
) -> tuple[Floats, list[Doubtful]]:
    """The same where every row is a fold of its own; predictions are written over the residuals."""
    doubtful = []
    for models in chunks(residuals):
        outside, slack = residuals[models], fits.slack(models)
        least = slack.min(axis=1)
        if least.min() < 0.0:
            np.maximum(slack, 0.0, out=slack)
        with np.errstate(divide="ignore", invalid="ignore"):
            outside /= slack
        np.subtract(y, outside, out=outside)
        for k in np.flatnonzero(~_solid(least, least_slack[models])):
            m = models.start + k
            doubtful += [(m, fold) for fold in folds[~_solid(slack[k], least_slack[m])]]
    return residuals, doubtful


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
        self._basis = fits.basis[rows]
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
