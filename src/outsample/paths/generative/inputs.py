"""Tables and priors as generative classifiers read them; None or False where only scikit-learn can tell what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from outsample.data.tables import Table
from outsample.running.arrays import Floats


def double_table(X: Table) -> Floats | None:
    """X as doubles, (n, p), whatever its numbers are stored as; None for sparse X and for invalid X."""
    if sparse.issparse(X):
        return None
    try:
        return np.asarray(check_array(X), dtype=np.float64)
    except (ValueError, TypeError):
        return None


def usable_priors(priors: Any, n_classes: int, sum_to_one: bool = True) -> bool:
    """Whether priors are None, or one positive number per class."""
    if priors is None:
        return True
    try:
        numbers = np.asarray(priors, dtype=np.float64)
    except (ValueError, TypeError):
        return False
    valid = numbers.shape == (n_classes,) and np.isfinite(numbers).all() and bool((numbers > 0).all())
    return bool(valid and (not sum_to_one or abs(numbers.sum() - 1.0) < 1e-8))


def is_number(value: object, least: float, most: float = np.inf) -> bool:
    """Whether a value of a parameter is a finite number from `least` to `most`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return False
    number = float(value)
    return bool(np.isfinite(number) and least <= number <= most)
