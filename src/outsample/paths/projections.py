"""Least squares on nested columns: one QR decomposition, as long as the columns are well conditioned.

scikit-learn's LinearRegression drops directions whose singular value is below a share of the largest. Models
near that border, or beyond it, get their own singular value decomposition and the rank that scikit-learn itself
reports, so that both drop the same directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.base import clone

from outsample.learners import fit

from .base import Floats
from .linear import LinearFits, centred, scaled_rows, with_constant
from .linear_design import Part

# Smallest over largest singular value from which on no version of scikit-learn drops a direction, with room.
_WELL_CONDITIONED = 1e-5
# The share below which the version of scikit-learn with the widest cutoff drops directions.
_WIDEST_CUTOFF = 1e-6
# Singular values of directions dropped for certain: nothing but rounding.
_ROUNDING = 1e-12


class Columns:
    """A table whose leading columns are the models: centred, weighted, decomposed once.

    Parameters
    ----------
    table : (n, p), the columns of the largest model.
    estimator : the LinearRegression that fits each model.
    """

    def __init__(self, table: Floats, estimator: Any, weight: Floats | None) -> None:
        self.table, self.estimator, self.weight = table, estimator, weight
        self.intercept = bool(estimator.fit_intercept)
        shifted, means = centred(table, weight, self.intercept)
        # A constant column beside an intercept, such as the bias of polynomials, adds nothing but rounding.
        spread = np.abs(shifted).max(axis=0)
        self._varying = np.flatnonzero(spread > _ROUNDING * np.abs(table).max(axis=0))
        self._centred, self._means = shifted[:, self._varying], means[self._varying]
        self._counted = len(table) if weight is None else int(np.count_nonzero(weight))

    def parts(self, counts: Sequence[int], models: NDArray[np.intp]) -> list[Part]:
        """The models with `counts` leading columns, at positions `models` of the path."""
        widths = np.searchsorted(self._varying, np.asarray(counts))
        most = min(int(widths.max()), self._counted - self.intercept)
        Q, R = np.linalg.qr(scaled_rows(self._centred[:, :most], self.weight))
        shared = widths <= _soundest_width(R)
        parts = [
            self._truncated(int(counts[i]), int(widths[i]), models[i : i + 1]) for i in np.flatnonzero(~shared).tolist()
        ]
        if shared.any():
            parts.append(self._nested(Q, R, widths[shared], models[shared]))
        return parts

    def _nested(self, Q: Floats, R: Floats, widths: NDArray[np.intp], models: NDArray[np.intp]) -> Part:
        """Models that share the QR decomposition: prefixes of its columns."""
        width = int(widths.max())
        Q, R = Q[:, :width], R[:width, :width]
        kept = (np.arange(width) < widths[:, None]).astype(np.float64)
        condition = np.array([_condition(R[:w, :w]) for w in widths])
        inverse = solve_triangular(R, np.eye(width))
        return self._part(Q, inverse, kept, models, (4.0 * _WIDEST_CUTOFF / condition) ** 2)

    def _truncated(self, count: int, width: int, models: NDArray[np.intp]) -> Part:
        """A model of its own, on the directions scikit-learn keeps."""
        Q, singular, axes = np.linalg.svd(scaled_rows(self._centred[:, :width], self.weight), full_matrices=False)
        labels = np.zeros(len(self.table))
        rank = int(fit(clone(self.estimator), self.table[:, :count], labels, self.weight).rank_)
        # Centred rows have a direction less than there are rows, whatever rounding makes of it.
        rank = min(rank, self._counted - self.intercept)
        ratios = singular / singular[0]
        clear = bool((ratios[rank:] < _ROUNDING).all()) and rank > 0
        least = (4.0 * _WIDEST_CUTOFF / ratios[rank - 1]) ** 2 if clear else np.inf
        inverse = axes[:rank].T / singular[:rank]
        return self._part(Q[:, :rank], inverse, np.ones((1, rank)), models, np.array([least]))

    def _part(self, Q: Floats, inverse: Floats, kept: Floats, models: NDArray[np.intp], least_slack: Floats) -> Part:
        """`inverse` (columns, r) takes centred columns to the basis."""
        varying = self._varying[: len(inverse)]
        basis = Q
        if self._counted < len(Q):
            basis = self._centred[:, : len(inverse)] @ inverse
        elif self.weight is not None:
            basis = Q / np.sqrt(self.weight)[:, None]
        n, weight, means, intercept = len(Q), self.weight, self._means[: len(inverse)], self.intercept
        if intercept:
            basis = with_constant(basis, weight, n)
            kept = np.column_stack([np.ones(len(kept)), kept])

        def evaluated(table: Floats) -> Floats:
            new = (table[:, varying] - means) @ inverse
            return with_constant(new, weight, n) if intercept else new

        fits = LinearFits(basis, kept, 1.0 - kept, weight, constant=intercept)
        return Part(models, fits, evaluated, kept, least_slack)


def _condition(triangle: Floats) -> float:
    """Smallest over largest singular value; 1 when there are no columns."""
    if not len(triangle):
        return 1.0
    singular = np.linalg.svd(triangle, compute_uv=False)
    return float(singular[-1] / singular[0]) if singular[0] > 0 else 0.0


def _soundest_width(R: Floats) -> int:
    """The largest number of leading columns that are well conditioned.

    By interlacing, more columns are never better conditioned, so bisection finds it.
    """
    low, high = 0, R.shape[1]
    while low < high:
        middle = (low + high + 1) // 2
        if _condition(R[:middle, :middle]) >= _WELL_CONDITIONED:
            low = middle
        else:
            high = middle - 1
    return low
