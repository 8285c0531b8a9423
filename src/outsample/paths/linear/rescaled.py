"""Ridge behind a scaler, rows left out: the scaler without a fold changes the penalty of each coefficient.

Standardising columns and penalising all coefficients alike is to penalise the coefficient of column j by α s_j², s_j
being the standard deviation of the column. Without a fold the columns have other s_j, and the sums of squares and
products of the training rows are those of all rows minus the fold's. Nothing else of a fit depends on the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from outsample.data.scalers import Rescaling
from outsample.paths.linear.moments import Moments, RidgeOfProducts
from outsample.running.arrays import Floats, Rows
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
        self._alphas, self._intercept = alphas, intercept
        self._weight = np.ones(len(table)) if weight is None else np.asarray(weight, dtype=np.float64)
        # Beside an intercept the coefficient of a constant column is zero.
        self._columns = np.flatnonzero(np.ptp(table, axis=0) > 0) if intercept else np.arange(table.shape[1])
        every = len(self._columns) == table.shape[1]
        varying = np.asarray(table if every else table[:, self._columns], dtype=np.float64)
        mean = varying.mean(axis=0) if weight is None else np.average(varying, axis=0, weights=weight)
        self._rows = varying - mean if intercept else varying
        weighted = self._rows if weight is None else self._rows * self._weight[:, None]
        self._products = weighted.T @ self._rows

    @cached_property
    def sound(self) -> bool:
        """Whether sums of products determine every fit to the digits wanted, as a rule also without some rows."""
        n, p = self._rows.shape
        return n > p + 1 and self._fits_of(np.empty((n, 0))).sound

    def _fits_of(self, y: Floats) -> RidgeOfProducts:
        """The fits to all rows with these labels (n, outputs)."""
        return RidgeOfProducts(
            self._products, self._rows.T @ (self._weight[:, None] * y), self._alphas, self._decomposed
        )

    @cached_property
    def _decomposed(self) -> tuple[Floats, Floats]:
        values, axes = np.linalg.eigh(self._products)
        return values, axes

    def left_out(self, targets: Floats, scales: Rescaling) -> tuple[Floats, Rows]:
        """(predictions of left-out rows (models, n[, outputs]), folds to be refitted as positions in `scales`)."""
        values = targets.reshape(len(targets), -1)
        centre = np.average(values, axis=0, weights=self._weight) if self._intercept else np.zeros(values.shape[1])
        varying = scales.of_columns(self._columns)
        if scales.single_rows:
            predictions, doubtful_rows = self._single_rows(values - centre, varying.of_rows())
            doubtful = np.zeros(len(values), bool)
            doubtful[scales.fold] = doubtful_rows
        else:
            predictions, doubtful = self._folds(values - centre, varying)
        predictions += centre
        return predictions.reshape(len(self._alphas), *targets.shape), np.flatnonzero(doubtful | scales.doubtful)

    def _folds(self, y: Floats, scales: Rescaling) -> tuple[Floats, NDArray[np.bool_]]:
        """(predictions (models, n, outputs), folds in doubt); a small eigendecomposition a fold serves every α."""
        predictions = np.zeros((len(self._alphas), *y.shape))
        doubtful = np.zeros(len(scales.scale), bool)
        whole = Moments.of(self._rows, y, self._weight, self._products)
        for k, inside in enumerate(_rows_of_folds(scales.fold)):
            rows = self._rows[inside]
            outside = whole - Moments.of(rows, y[inside], self._weight[inside])
            live = ~scales.constant[k] if self._intercept else np.ones(rows.shape[1], bool)
            products, covariances, at, level = outside.centred(self._intercept)
            scale = scales.scale[k, live]
            scaled = products[np.ix_(live, live)] / np.outer(scale, scale)
            fits = RidgeOfProducts(scaled, covariances[live] / scale[:, None], self._alphas)
            doubtful[k] = not fits.sound
            if not doubtful[k]:
                predictions[:, inside] = level + (rows - at)[:, live] / scale @ fits.coefficients()
        return predictions, doubtful

    def _single_rows(self, y: Floats, scales: Rescaling) -> tuple[Floats, NDArray[np.bool_]]:
        """(predictions (models, n, outputs), rows in doubt)."""
        total = float(self._weight.sum()) if self._intercept else None
        predictions, doubtful = self._fits_of(y).without_each(
            self._rows, y, self._weight, total, np.square(scales.scale)
        )
        # A column that varies in one row alone has no coefficient without it, which is no small change of the others.
        alone = scales.constant.any(axis=1) if self._intercept else np.zeros(len(y), bool)
        return predictions, doubtful | alone


def _rows_of_folds(fold: Rows) -> list[Rows]:
    """The rows of each fold."""
    order = np.argsort(fold, kind="stable")
    return np.split(order, np.cumsum(np.bincount(fold))[:-1])
