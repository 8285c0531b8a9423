"""Nested linear models: the first columns of a table, and the columns that a forward search adds one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from outsample.checks import whole_number
from outsample.data.tables import Table
from outsample.running.arrays import Floats


class LeadingColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps the first `n_columns` columns of X, all of them when None or when X has no more.

    Before a linear regression it makes the nested models x₁, (x₁, x₂), (x₁, x₂, x₃), …

    Parameters
    ----------
    n_columns : int or None
        Number of columns kept.

    Examples
    --------
    >>> import numpy as np
    >>> LeadingColumns(2).fit_transform(np.arange(6).reshape(2, 3))
    array([[0, 1],
           [3, 4]])
    """

    def __init__(self, n_columns: int | None = None) -> None:
        self.n_columns = n_columns

    def fit(self, X: Table, y: ArrayLike | None = None) -> Self:
        """Check X; nothing is learned from it."""
        table = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan")
        most = int(table.shape[1])
        self.n_columns_ = most if self.n_columns is None else min(whole_number("n_columns", self.n_columns), most)
        return self

    def transform(self, X: Table) -> Any:
        """The first columns of X, (n, n_columns)."""
        check_is_fitted(self)
        table = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan", reset=False)
        return table[:, : self.n_columns_]

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the columns kept."""
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        return np.asarray(input_features, dtype=object)[: self.n_columns_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


# Gains within this share of the best one are ties, which go to the first column.
_TIE = 1e-10
# A column whose residual on the chosen columns is shorter than this share of its own length depends on them linearly.
_DEPENDENT = 1e-10


@dataclass(frozen=True)
class Steps:
    """A forward search: the columns in the order they entered, and the orthonormal directions they added.

    Attributes
    ----------
    chosen : (steps,) column numbers.
    directions : (n, steps), orthonormal; the residual of each chosen column on those before it.
    coefficients : (steps,), inner products of the labels with the directions.
    """

    chosen: NDArray[np.intp]
    directions: Floats
    coefficients: Floats


def greedy_steps(columns: Floats, labels: Floats, n_steps: int) -> Steps:
    """Greedy least squares on centred (and √w-scaled) columns and labels.

    With z a column made orthogonal to those chosen before, and r the residual of the labels, each step takes the
    column with the largest (zᵀr)²/zᵀz; ties go to the first column. The search ends early once every column left is a
    linear combination of those chosen.
    """
    rest, residual = columns.copy(), labels.copy()
    lengths = np.square(columns).sum(axis=0)
    open_ = lengths > 0
    chosen: list[int] = []
    directions = np.empty((len(columns), min(n_steps, columns.shape[1])))
    coefficients: list[float] = []
    while len(chosen) < directions.shape[1]:
        left = np.square(rest).sum(axis=0)
        open_ &= left > _DEPENDENT**2 * lengths
        if not open_.any():
            break
        gains = np.where(open_, np.square(residual @ rest) / np.where(open_, left, 1.0), -1.0)
        column = int(np.argmax(gains >= gains.max() * (1.0 - _TIE)))
        direction = rest[:, column] / np.sqrt(left[column])
        coefficient = float(direction @ residual)
        rest -= np.outer(direction, direction @ rest)
        residual -= coefficient * direction
        directions[:, len(chosen)] = direction
        chosen.append(column)
        coefficients.append(coefficient)
        open_[column] = False
    return Steps(np.array(chosen, dtype=np.intp), directions[:, : len(chosen)], np.array(coefficients))


def step_coefficients(columns: Floats, steps: Steps, n_steps: int) -> Floats:
    """Coefficients of all columns after the first `n_steps` steps, (p,), zero for columns not chosen."""
    chosen = steps.chosen[:n_steps]
    coefficients = np.zeros(columns.shape[1])
    triangle = steps.directions[:, : len(chosen)].T @ columns[:, chosen]
    coefficients[chosen] = solve_triangular(triangle, steps.coefficients[: len(chosen)])
    return coefficients


class ForwardStepwise(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on the columns that a greedy search adds one by one, with an intercept.

    Parameters
    ----------
    n_steps : int
        Number of columns to add; all that are linearly independent when there are fewer.

    Attributes
    ----------
    selected_ : (steps,) column numbers in the order they entered.
    coef_ : (p,) zero where a column was not selected.
    intercept_ : float

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> ForwardStepwise(1).fit(X, [0.0, 1.0, 2.0, 3.0]).selected_
    array([0])
    """

    def __init__(self, n_steps: int = 1) -> None:
        self.n_steps = n_steps

    def fit(self, X: Table, y: ArrayLike) -> Self:
        """Choose the columns and fit them."""
        n_steps = whole_number("n_steps", self.n_steps)
        table, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        means, level = table.mean(axis=0), float(np.mean(values))
        centred = table - means
        steps = greedy_steps(centred, np.asarray(values, dtype=np.float64) - level, n_steps)
        self.selected_ = steps.chosen
        self.coef_ = step_coefficients(centred, steps, n_steps)
        self.intercept_ = level - float(means @ self.coef_)
        return self

    def predict(self, X: Table) -> Floats:
        """Fitted values at X, (n,)."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(table @ self.coef_ + self.intercept_)
