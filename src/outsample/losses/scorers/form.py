"""What a score is made of: its value for all sets at once, its mean without information, and its influence per row.

A `Form` evaluates a score for every set of a stack: labels (..., n), predictions (..., n[, classes or outputs]) and
weights (n,) or (..., n) are broadcast against each other. Where scikit-learn's own function would refuse a set, warn
about it or treat it in a special way, the value is nan, and `ScorerLoss` asks the scorer itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from outsample.losses.base import SufficientStatistic
from outsample.running.arrays import Array, Bools, Floats


class Form(ABC):
    """A score, greater or smaller is better as scikit-learn's function has it.

    Attributes
    ----------
    statistic : the sufficient statistic of a fit from which value and permuted mean follow; None where predictions
        are needed.
    additive : whether it is the mean of a loss per row, so that labels with weights and pools have a crossed mean.
    relative : whether it is measured against the best constant of the same rows.
    closed : whether `permuted_mean` is known.
    every_digit : whether `scored` has every digit that scikit-learn gives for rows without weights; otherwise the last
        ones may differ.
    any_precision : whether it has them for predictions in single precision, too, in which scikit-learn computes.
    takes_many_labels : whether many label vectors that meet the same predictions cost little more than one.
    ranks : whether it judges the order in which predictions put the rows.
    """

    statistic: SufficientStatistic | None = None
    additive: bool = False
    relative: bool = False
    closed: bool = False
    every_digit: bool = False
    any_precision: bool = False
    takes_many_labels: bool = False
    ranks: bool = False

    @abstractmethod
    def value(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        """The score of every set, (...); nan where the scorer itself must be asked."""

    @abstractmethod
    def row_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        """Score + influence of each row, (..., n): their (weighted) mean is the score.

        The influence of row i is the derivative of the score in the weight of that row, n times as large: the score
        of other rows of the same kind differs from this one by about the mean of their influences.
        """

    def permuted_mean(self, pool: Array, prediction: Array, mass: Floats | None = None) -> Floats | None:
        """Mean score over all ways to assign the labels of the pool to the rows, (...); None where it is not known.

        Parameters
        ----------
        pool : (m,) as many labels as there are rows.
        mass : (..., n) number of rows that each prediction stands for; None for one.
        """
        return None

    def crossed_mean(
        self, pool: Array, prediction: Array, weight: Floats | None, label_weight: Floats | None
    ) -> Floats | None:
        """Mean score on labels drawn from the pool, (...); None where it is not known.

        Without weights these are permutations, which needs a pool as long as the predictions.
        """
        if weight is not None or label_weight is not None or len(pool) != self._n_rows(prediction):
            return None
        return self.permuted_mean(pool, prediction)

    def from_statistic(self, values: Floats, pool: Array) -> tuple[Floats, Floats]:
        """(score, permuted mean), each (draws, models), from the values of `statistic` of rows without weights."""
        raise TypeError("this score has no sufficient summary")

    def value_and_warning(self, y: Array, prediction: Array, weight: Floats | None = None) -> tuple[Floats, str | None]:
        """(value, why scikit-learn would warn that it sets the score of some set to a fixed value or None)."""
        return self.value(y, prediction, weight), None

    def scored(self, y: Array, prediction: Array) -> tuple[Floats, str | None]:
        """As `value_and_warning` for labels (n,), with every digit that scikit-learn gives if the form has them."""
        return self.value_and_warning(y, prediction)

    def _n_rows(self, prediction: Array) -> int:
        return int(prediction.shape[-1])


def mean_of_rows(values: Array, weight: Floats | None) -> Floats:
    """(Weighted) mean over the last axis, (...), with weights (n,) or (..., n)."""
    # The order of summation depends on the memory layout: along the last axis it is that of scikit-learn.
    values = np.ascontiguousarray(values)
    if weight is None:
        return np.asarray(values.mean(axis=-1, dtype=np.float64))
    return np.asarray((values * weight).sum(axis=-1) / weight.sum(axis=-1))


def paired_sums(labels: Array, values: Array, weight: Floats | None = None) -> Floats:
    """Σ_i label_i value_i (weight_i) over the last axis with the other axes broadcast, (...).

    Label vectors (draws, 1, n) that meet the same values (models, n) are one product of matrices.
    """
    crossed = labels.ndim == 3 and labels.shape[1] == 1 and values.ndim == 2
    if crossed and (weight is None or weight.ndim == 1):
        held = labels[:, 0] if weight is None else labels[:, 0] * weight
        return np.asarray(held.astype(np.float64) @ values.T.astype(np.float64))
    if weight is None and labels.dtype == values.dtype == np.bool_:
        return np.asarray(np.count_nonzero(labels & values, axis=-1), dtype=np.float64)
    products = np.multiply(labels, values, dtype=np.float64)
    return np.asarray(products.sum(axis=-1) if weight is None else (products * weight).sum(axis=-1))


def sums(marked: Bools, weight: Floats | None = None) -> Floats:
    """Number or weight of the marked rows, (...)."""
    if weight is None:
        return np.asarray(np.count_nonzero(marked, axis=-1), dtype=np.float64)
    return np.asarray((marked * weight).sum(axis=-1))


def total_weight(y: Array, weight: Floats | None) -> Floats:
    """Number or weight of all rows, () or (...)."""
    return np.asarray(float(y.shape[-1]) if weight is None else weight.sum(axis=-1))
