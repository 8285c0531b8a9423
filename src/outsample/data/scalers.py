"""Standardised columns when rows are left out: what a scaler would have learned from the other rows, without refitting.

A `StandardScaler` that is fitted without a fold only stretches and shifts the columns that the scaler of all rows has
made. The stretch follows from sums over rows: those of all rows minus those of the fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

from outsample.running.arrays import Array, Bools, Floats, Rows

# Where the other rows have less than this share of a column's variance, the difference of sums has lost digits.
_TOO_LITTLE = 1e-4
# scikit-learn calls a column constant whose variance is below (n · mean · eps)². Within this factor of it the two of us
# may disagree.
_NEAR_CONSTANT = 1e3


@dataclass(frozen=True, eq=False)
class Rescaling:
    """The scales of columns without each fold, in units of those of all rows.

    Attributes
    ----------
    fold : (n,) position of each row's fold in the arrays below.
    scale : (folds, p) standard deviation of a column without the fold; one unit of the raw column where that is
        constant.
    constant : (folds, p) whether the column is constant without the fold.
    doubtful : (folds,) whether digits are lost, so that the fold must be refitted.
    plain : whether the scaler subtracts means only, so that all scales are one.
    """

    fold: Rows
    scale: Floats
    constant: Bools
    doubtful: Bools
    plain: bool = False

    @property
    def single_rows(self) -> bool:
        """Whether every row is a fold of its own."""
        return len(self.scale) == len(self.fold)

    def of_rows(self) -> Rescaling:
        """The same with one entry per row, in the order of rows."""
        at = self.fold
        if np.array_equal(at, np.arange(len(at))):
            return self
        return Rescaling(np.arange(len(at)), self.scale[at], self.constant[at], self.doubtful[at], self.plain)


def is_exact(scaler: StandardScaler | None, Z: Any) -> bool:
    """Whether what a fitted scaler, which has made Z, would be without some of the rows follows from sums over rows.

    False without a scaler, where Z is sparse, and where the mean of a column is so large that its variance is hardly
    more than rounding.
    """
    if scaler is None or issparse(Z):
        return False
    if scaler.scale_ is None:
        return True
    varies = np.ptp(np.asarray(Z), axis=0) > 0
    return not (varies & (scaler.var_ <= _least_variance(scaler, len(Z)))).any()


def _least_variance(scaler: StandardScaler, n: int) -> Floats:
    """The variance of raw columns below which they may count as constant in scikit-learn, (p,)."""
    return np.asarray(_NEAR_CONSTANT * np.square(n * scaler.mean_ * np.finfo(np.float64).eps))


def rescaling(scaler: StandardScaler, Z: Any, folds: Array) -> Rescaling:
    """What a fitted scaler that has made Z (n, p) of X would have been without each fold.

    Parameters
    ----------
    folds : (n,) integer number of each row's fold.
    """
    table = np.asarray(Z, dtype=np.float64)
    centre = table.mean(axis=0)
    kinds, fold = np.unique(folds, return_inverse=True)
    shape = len(kinds), table.shape[1]
    if scaler.scale_ is None:
        plain = np.zeros(shape, bool)
        return Rescaling(fold, np.ones(shape), plain, np.zeros(len(kinds), bool), plain=True)
    size = np.bincount(fold)
    first, second = _sums(table - centre, fold, size)
    left = (len(table) - size)[:, None]
    whole = second.sum(axis=0) / len(table)
    variance = np.subtract(len(table) * whole, second, out=second)
    variance /= left
    first /= left
    variance -= np.square(first, out=first)
    little = variance < _TOO_LITTLE * whole
    constant = np.zeros(shape, bool)
    constant[:, np.ptp(table, axis=0) == 0] = True
    for k, j in zip(*np.nonzero(little & ~constant), strict=True):
        constant[k, j] = np.ptp(table[fold != k, j]) == 0
    doubtful = (little | (variance <= _least_variance(scaler, len(table)) / np.square(scaler.scale_))) & ~constant
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(np.maximum(np.divide(variance, whole, out=variance), 0.0, out=variance), out=variance)
    np.copyto(scale, 1.0 / scaler.scale_, where=constant)
    np.copyto(scale, 1.0, where=doubtful)
    return Rescaling(fold, scale, constant, doubtful.any(axis=1))


def _sums(table: Floats, fold: Rows, size: Rows) -> tuple[Floats, Floats]:
    """Sums of the columns and of their squares over the rows of each fold, (folds, p) each."""
    rows = table
    if (np.diff(fold) < 0).any():
        rows = table[np.argsort(fold, kind="stable")]
    if len(size) == len(table):
        return rows, np.square(rows)
    parts = np.split(rows, np.cumsum(size)[:-1])
    return np.stack([part.sum(axis=0) for part in parts]), np.stack([np.einsum("ij,ij->j", p, p) for p in parts])
