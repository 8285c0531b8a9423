"""Bootstrap bags of rows: how often each row is in, and whether a weight says the same as repeating a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample.running import child_generator

Counts = NDArray[np.intp]
Rows = NDArray[np.intp]
Floats = NDArray[np.float64]

_SUMS_OVER_ROWS = (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    KernelRidge,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)


def draw_bags(units: Rows, n_bags: int, seed: np.random.SeedSequence) -> Counts:
    """How often each row is in each bag, (bags, n): as many units as there are, drawn with replacement.

    Parameters
    ----------
    units : (n,) number of the unit each row belongs to, its own or its group's.
    """
    n_units = int(units.max()) + 1
    drawn = [child_generator(seed, b).integers(n_units, size=n_units) for b in range(n_bags)]
    per_unit = np.stack([np.bincount(d, minlength=n_units) for d in drawn])
    return np.asarray(per_unit[:, units], dtype=np.intp)


def drawing_units(n: int, groups: NDArray[Any] | None) -> Rows:
    """The unit of each row, (n,): the row itself or its group."""
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(n)
    return np.asarray(units, dtype=np.intp)


def weight_repeats(estimator: Any) -> bool:
    """Whether fitting with whole-number weights is fitting with repeated rows.

    True for scikit-learn's own learners whose objective is a sum (or weighted mean) over rows, up to the tolerance
    of their solvers, and for trees that set no minimum number of rows. Everything else gets repeated rows: pipelines,
    whose earlier steps see no weights; learners that count rows (`min_samples_leaf`), draw them (forests), bin them
    (histograms) or scale by them (`gamma="scale"`, balanced class weights); learners not known here.
    """
    if type(estimator) in _TREES:
        return bool(estimator.min_samples_leaf == 1 and estimator.min_samples_split == 2)
    return type(estimator) in _SUMS_OVER_ROWS and getattr(estimator, "class_weight", None) != "balanced"
