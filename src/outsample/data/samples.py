"""The data of a problem as one value: X, labels, weights and groups, checked together."""

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

# Squares of sums of larger weights overflow; those of weights below its inverse vanish.
LARGEST_WEIGHT = 1e75


@dataclass(frozen=True, eq=False)
class AllRows:
    """The data as they came, where some rows have weight zero.

    A row of weight zero is no data, so that `Data` holds the other rows only. What names rows by their number, such as
    folds that a user lists, names these.

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
    """The rows that count, those of positive weight.

    Attributes
    ----------
    X : table of samples.
    target : labels as codes or real values.
    weight : (n,) None means that all weights are one; weights that are all equal to another number matter to some
        learners, and stay.
    groups : (n,) rows of one group belong together; None without groups.
    all_rows : the rows as they came, None where all of them count.
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
        """Number of equally weighted rows that carry the same information."""
        return float(self.n_samples) if self.weight is None else self.weight.sum() ** 2 / (self.weight**2).sum()

    @cached_property
    def label_weight(self) -> Floats | None:
        """What labels are drawn in proportion to, (n,): the weights, None where they are all equal."""
        return None if self.weight is None or np.ptp(self.weight) == 0 else self.weight


def as_data(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Data:
    """Check everything a user hands over for a learner.

    Raises
    ------
    ValueError, TypeError
        One sentence naming the parameter and the value.
    """
    X = as_table(X)
    n = n_rows(X)
    target = as_target(y, estimator, n)
    if is_pairwise(estimator):
        X = as_pairs(X, type(estimator).__name__)
    weight = _checked_weight(sample_weight, n, estimator)
    data = Data(X, target, weight, _checked_groups(groups, n))
    if weight is not None and (weight == 0).any():
        data = _rows_that_count(data, weight, estimator)
    if data.weight is not None and (data.weight == 1).all():
        data = Data(data.X, data.target, None, data.groups, data.all_rows)
    return data


def _rows_that_count(data: Data, weight: Floats, estimator: BaseEstimator) -> Data:
    """The data without the rows of weight zero, and without classes that only those have."""
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


def _checked_groups(groups: ArrayLike | None, n: int) -> Array | None:
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one entry per row, shape ({n},), got {labels.shape}")
    return labels
