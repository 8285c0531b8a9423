"""Ridge behind a scaler, rows left out: the scaler without a fold changes the penalty of each coefficient.

Standardising columns and penalising all coefficients alike is to penalise the coefficient of column j by α s_j², s_j
being the standard deviation of the column. Without a fold the columns have other s_j, and the sums of squares and
products of the training rows are those of the other folds. Nothing else of a fit depends on the rows.
"""

from __future__ import annotations

import numpy as np

from outsample.paths.linear.moments import Moments, RidgeOfMoments
from outsample.running.arrays import Array, Floats, sums_of_others
from outsample.running.threads import cached_property


class RescaledRidge:
    """Ridge fits of every alpha to a table whose columns a scaler has made.

    Parameters
    ----------
    table : (n, p), the columns as the scaler of all rows has made them.
    alphas : (models,)
    weight : (n,) weights of the rows in the fit, not in the scaler; None where all are one.
    intercept : whether an intercept is fitted.
    """

    def __init__(self, table: Floats, alphas: Floats, weight: Floats | None, intercept: bool) -> None:
        self._alphas, self._intercept, self._weight = alphas, intercept, weight
        self._table = np.asarray(table, dtype=np.float64)
        self._origin = self._table.mean(axis=0)

    @cached_property
    def sound(self) -> bool:
        """Whether sums of products determine every fit to the digits wanted."""
        every = np.arange(len(self._table))
        return self._fits(*self._moments(np.empty((len(every), 0)), every), np.empty(0)).sound

    def _moments(self, y: Floats, rows: Array) -> tuple[Moments, Moments | None]:
        """Sums over some rows, and those without weights where there are any."""
        table, own = self._table[rows] - self._origin, y[rows]
        if self._weight is None:
            return Moments.of(table, own), None
        return Moments.of(table, own, self._weight[rows]), Moments.of(table, own)

    def _fits(self, moments: Moments, unweighted: Moments | None, level: Floats) -> RidgeOfMoments:
        return RidgeOfMoments.of(
            moments, True, self._intercept, self._alphas, self._origin, level, unweighted=unweighted
        )

    def left_out(self, targets: Floats, fold: Array) -> Floats | None:
        """Predictions of left-out rows (models, n[, outputs]); None where digits are lost."""
        y = targets.reshape(len(targets), -1)
        level = np.average(y, axis=0, weights=self._weight)
        parts = np.split(np.argsort(fold, kind="stable"), np.cumsum(np.bincount(fold))[:-1])
        shape = len(self._alphas), *targets.shape
        if len(parts) == len(y):
            fits = self._fits(*self._moments(y - level, np.arange(len(y))), level)
            weight = np.ones(len(y)) if self._weight is None else self._weight
            found, lost = fits.left_out(self._table, y, weight)
            return found.reshape(shape) if fits.sound and not lost else None
        predictions = np.empty((len(self._alphas), *y.shape))
        weighted, plain = zip(*(self._moments(y - level, rows) for rows in parts), strict=True)
        others = sums_of_others(plain) if self._weight is not None else plain
        for rows, moments, unweighted in zip(parts, sums_of_others(weighted), others, strict=True):
            fits = self._fits(moments, unweighted, level)
            if not fits.sound:
                return None
            predictions[:, rows] = fits.predictions(self._table[rows])
        return predictions.reshape(shape)
