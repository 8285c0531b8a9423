"""The data of a problem as one value: X, labels, weights and groups, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.data.learners import is_pairwise, takes_weight
from outsample.data.tables import Table, as_pairs, as_table, n_rows, rows
from outsample.data.target import Target, as_target
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

# Squares of sums of larger weights overflow; squares of weights below the inverse become zero.
LARGEST_WEIGHT = 1e75


@dataclass(frozen=True, eq=False)
class AllRows:
    """The data as the user gave them, where some rows have weight zero.

    `Data` holds the rows of positive weight only. Row numbers that come from the user, such as those in a list of
    folds, refer to all rows.

    Attributes
    ----------
    X, y, groups : all rows; y as in `Target.values`.
    counted : positions of the rows of positive weight.
    """

    X: Table
    y: Array
    groups: Array | None
    counted: Rows


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of positive weight.

    Attributes
    ----------
    X : table of samples.
    target : labels as codes or real values.
    weight : (n,) None where all weights are one. Weights that all equal another number are kept, because some learners
        depend on them.
    groups : (n,) the group of each row; rows of one group belong together. None without groups.
    all_rows : the data with the rows of weight zero; None where there are none.
    """

    X: Table
    target: Target
    weight: Floats | None = None
    groups: Array | None = None
    all_rows: AllRows | None = None

    @property
    def y(self) -> Array:
        """Labels as codes or real values, (n,) or (n, outputs)."""
        return self.target.values

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.target.values)

    @property
    def labels(self) -> Array:
        """Labels as the user gave them, (n,) or (n, outputs)."""
        classes = self.target.classes
        return self.y if classes is None else np.asarray(classes[self.y])

    @property
    def effective_n(self) -> float:
        """Number of equally weighted rows that carry the same information, (Σw)²/Σw² (Kish 1965)."""
        return float(self.n_samples) if self.weight is None else self.weight.sum() ** 2 / (self.weight**2).sum()

    @cached_property
    def label_weight(self) -> Floats | None:
        """Weights with which labels are drawn, (n,); None where all rows weigh the same."""
        return None if self.weight is None or np.ptp(self.weight) == 0 else self.weight


def as_data(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Data:
    """The data of a learner, after checking X, y, weights and groups.

    Raises
    ------
    ValueError, TypeError
        With one sentence that names the parameter and the value.
    """
    X = as_table(X)
    n = n_rows(X)
    target = as_target(y, estimator, n)
    if is_pairwise(estimator):
        X = as_pairs(X, type(estimator).__name__)
    weight = _checked_weight(sample_weight, n, estimator)
    data = Data(X, target, weight, as_groups(groups, n))
    if weight is not None and (weight == 0).any():
        data = _without_zero_weights(data, weight, estimator)
    if data.weight is not None and (data.weight == 1).all():
        data = Data(data.X, data.target, None, data.groups, data.all_rows)
    return data


def _without_zero_weights(data: Data, weight: Floats, estimator: BaseEstimator) -> Data:
    """The data without the rows of weight zero and the classes that occur in those rows only."""
    counted = np.flatnonzero(weight)
    try:
        kept = as_target(data.labels[counted], estimator, len(counted))
    except ValueError as error:
        raise ValueError(f"sample_weight: without the rows of weight zero, {error}") from error
    return Data(
        rows(data.X, counted, counted if is_pairwise(estimator) else None),
        kept,
        weight[counted],
        None if data.groups is None else data.groups[counted],
        AllRows(data.X, data.y, data.groups, counted),
    )


def _checked_weight(sample_weight: ArrayLike | None, n: int, estimator: BaseEstimator) -> Floats | None:
    if sample_weight is None:
        return None
    weight = _real_weight(sample_weight)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have one entry per row, shape ({n},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight must be finite, non-negative and not all zero")
    largest = float(weight.max())
    if not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has {largest:.3g} as its largest value, squares of sums of such weights "
            f"{'overflow' if largest > 1 else 'vanish'}; rescale them"
        )
    if not takes_weight(estimator):
        raise ValueError(
            f"sample_weight: {type(estimator).__name__} takes no weights in fit; "
            "leave them out or use a learner that takes them"
        )
    return weight


def _real_weight(sample_weight: ArrayLike) -> Floats:
    weight = np.asarray(sample_weight)
    try:
        if weight.dtype.kind in "fiubO":
            return weight.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"sample_weight must be real numbers, got {weight.dtype}")


def as_groups(groups: ArrayLike | None, n: int) -> Array | None:
    """The group of each of n rows as an array, (n,); None without groups."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one entry per row, shape ({n},), got {labels.shape}")
    return labels
