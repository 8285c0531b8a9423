"""Rows of whatever a user calls X: numpy, pandas, polars, sparse or a plain list."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def n_rows(X: Any) -> int:
    """Number of samples in X."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) > 0:
        return int(shape[0])
    try:
        return len(X)
    except TypeError:
        raise TypeError(f"X must be a table of samples, got {type(X).__name__}") from None


def as_table(X: Any) -> Any:
    """X as it is, or as an array where it is only something that can become one."""
    has_rows = hasattr(X, "shape") or hasattr(X, "__len__")
    return np.asarray(X) if not has_rows and hasattr(X, "__array__") else X


def rows(X: Any, index: NDArray[np.intp]) -> Any:
    """The rows of X at `index`, as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if sparse.issparse(X):
        return X.tocsr()[index]
    if isinstance(X, list):
        return [X[i] for i in index]
    return X[index]
