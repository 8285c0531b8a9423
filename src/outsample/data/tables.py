"""X in any form that users pass (numpy, pandas, polars, scipy sparse, list): its type and the choice of rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from outsample.running.arrays import Rows


class Table(Protocol):
    """What a user calls X: an array, a data frame of any library, a sparse matrix, a list of rows."""

    def __len__(self) -> int:
        """Number of rows; sparse matrices say it as their shape only."""


def n_rows(X: object) -> int:
    """Number of samples in X."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) > 0:
        return int(shape[0])
    try:
        return len(X)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"X must be a table of samples, got {type(X).__name__}") from None


def n_columns(X: Table) -> int:
    """Number of columns of X."""
    return int(np.shape(X)[1])  # type: ignore[call-overload]


def as_table(X: Table) -> Any:
    """X unchanged if it has a shape or a length, else the array that its `__array__` gives."""
    has_rows = hasattr(X, "shape") or hasattr(X, "__len__")
    return np.asarray(X) if not has_rows and hasattr(X, "__array__") else X


def rows(X: Any, index: Rows, columns: Rows | None = None) -> Any:
    """The rows of X at `index`, and of these the columns at `columns` (None for all), as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[index] if columns is None else X.iloc[index, columns]
    if isinstance(X, list):
        return [X[i] for i in index]
    taken = X.tocsr()[index] if sparse.issparse(X) else X[index]
    return taken if columns is None else taken[:, columns]


def split_rows(X: Table, train: Rows, test: Rows, *, pairwise: bool) -> tuple[Any, Any]:
    """(X of the rows to fit, X of the rows to predict).

    Pairwise X, a kernel matrix or distances, has a column for every row; the columns are those of the rows to fit.
    """
    columns = train if pairwise else None
    return rows(X, train, columns), rows(X, test, columns)


def as_pairs(X: Any, learner: str) -> Any:
    """Pairwise X, checked to have a row and a column for every sample; lists become arrays."""
    pairs = np.asarray(X) if isinstance(X, list) else X
    shape = np.shape(pairs)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"X must be a square table for {learner}, which reads a number for every pair, got {shape}")
    return pairs
