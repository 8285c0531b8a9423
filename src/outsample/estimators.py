"""The simplest nested family: the first columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from outsample.data.tables import Table
from outsample.running.arrays import Floats


class LeadingColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps the first `n_columns` columns of X, all of them when None or when X has no more.

    Before a linear regression it makes the nested family of models x₁, (x₁, x₂), (x₁, x₂, x₃), …

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
        if self.n_columns is not None and self.n_columns < 1:
            raise ValueError(f"n_columns must be at least 1, got {self.n_columns}")
        kept = table.shape[1] if self.n_columns is None else self.n_columns
        self.n_columns_ = min(int(kept), int(table.shape[1]))
        return self

    def transform(self, X: Table) -> Any:
        """The first columns of X, (n, n_columns)."""
        check_is_fitted(self)
        table = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan", reset=False)
        return table[:, : self.n_columns_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
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


# Gains closer than this to the best are ties, which go to the lowest column.
_TIE = 1e-10
# A column with less than this share of its length left is a combination of the columns chosen before.
_DEPENDENT = 1e-10


@dataclass(frozen=True)
class Steps:
    """The columns in the order they entered, and the orthonormal directions they added.

    Attributes
    ----------
    chosen : (steps,) column numbers.
    directions : (n, steps), orthonormal.
    coefficients : (steps,), the labels along each direction.
    """

    chosen: NDArray[np.intp]
    directions: Floats
    coefficients: Floats


def greedy_steps(columns: Floats, labels: Floats, n_steps: int) -> Steps:
    """Greedy least squares on centred (and √w-scaled) columns and labels.

    Each step takes the column whose part orthogonal to the columns before it explains most of the residual,
    (zᵀr)²/zᵀz; ties go to the lowest column. It ends early once every column left depends on those chosen.
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
    coef_ : (p,), intercept_ : float

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
        if self.n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {self.n_steps}")
        table, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        means, level = table.mean(axis=0), float(np.mean(values))
        steps = greedy_steps(table - means, np.asarray(values, dtype=np.float64) - level, self.n_steps)
        self.selected_ = steps.chosen
        self.coef_ = step_coefficients(X - means, steps, self.n_steps)
        self.intercept_ = level - float(means @ self.coef_)
        return self

    def predict(self, X: Table) -> Floats:
        """Fitted values at X, (n,)."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(table @ self.coef_ + self.intercept_)
