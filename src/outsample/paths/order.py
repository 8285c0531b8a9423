"""Which way a parameter makes a model richer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.running.arrays import Floats

_RICHER_WHEN_LARGER = frozenset(
    {
        "max_leaf_nodes",
        "max_depth",
        "n_estimators",
        "max_iter",
        "iterations",
        "num_trees",
        "num_boost_round",
        "C",
        "degree",
        "n_components",
        "n_knots",
        "gamma",
        "n_features_to_select",
        "max_features",
        "n_columns",
        "k",
        "n_nonzero_coefs",
        "learning_rate",
        "max_bins",
        "num_leaves",
    }
)
_RICHER_WHEN_SMALLER = frozenset(
    {
        "n_neighbors",
        "alpha",
        "ccp_alpha",
        "min_samples_leaf",
        "min_samples_split",
        "min_impurity_decrease",
        "radius",
        "lambda",
        "reg_alpha",
        "reg_lambda",
        "l2_regularization",
        "shrinkage",
        "bandwidth",
        "length_scale",
        "tol",
        "min_weight_fraction_leaf",
        "var_smoothing",
        "reg_param",
        "shrink_threshold",
    }
)


def complexity_of(parameter: str, values: Sequence[Any]) -> tuple[Floats, bool]:
    """(complexity of each value, (values,), whether that is a natural order); larger is richer.

    A parameter that makes models simpler as it grows, such as a penalty or a number of neighbours, counts by its
    reciprocal: k nearest neighbours have complexity 1/k. Without a natural order, complexity is the position.
    """
    name = parameter.rpartition("__")[2]
    position = np.arange(len(values), dtype=np.float64)
    if len(values) < 2 and name not in _RICHER_WHEN_LARGER | _RICHER_WHEN_SMALLER:
        return position, True
    # None is no limit, and no shrinkage: the richest either way.
    numbers = _numbers(values, 0.0 if name in _RICHER_WHEN_SMALLER else np.inf)
    if numbers is None or (name not in _RICHER_WHEN_LARGER and name not in _RICHER_WHEN_SMALLER):
        return position, False
    if name in _RICHER_WHEN_LARGER:
        return numbers, True
    with np.errstate(divide="ignore"):
        return 1.0 / numbers, True


def simplest_first(complexity: Floats) -> NDArray[np.intp]:
    """Positions from simple to rich; equal complexities keep their order."""
    return np.argsort(complexity, kind="stable")


def _numbers(values: Sequence[Any], for_none: float) -> Floats | None:
    """Values as floats, `for_none` for None; None when some value is not a number."""
    numbers = []
    for value in values:
        if value is None:
            numbers.append(for_none)
        elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
            numbers.append(float(value))
        else:
            return None
    return np.asarray(numbers)
