"""The difference between two models, from their losses on the same left-out rows.

The rows tell how far a difference of means is off, given the fitted models. From one data set to the next it varies
more, because all rows are judged by models that share training rows. Nadeau & Bengio (2003) allow for that by counting
the training rows as a second sample: with σ² the variance of a row's difference, n rows tested and m rows in a training
set, the variance of the mean is σ² (1/n + 1/m). They derived it for random splits. For folds that is more than needed:
with σ² (1/n + c/m), c that of the learners (`data.stability`), tests of equally good learners keep their level, as
`benchmarks/paired.py` shows.

The difference is that of the learners, averaged over training sets of this size. The models fitted to these very data
may differ by more or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from outsample.curve.left_out import effective_number, of_units
from outsample.running.arrays import Array, Floats


@dataclass(frozen=True)
class Difference:
    """A difference between two risks, positive where the first is larger.

    Attributes
    ----------
    value : the difference.
    error : its standard error over data sets; nan where it cannot be told, 0 where the two never differ.
    freedom : degrees of freedom of `error`.
    """

    value: float
    error: float
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(low, high) by Student's t."""
        if self.error == 0:
            return self.value, self.value
        half = float(stats.t.isf((1 - level) / 2, self.freedom)) * self.error
        return self.value - half, self.value + half

    @property
    def pvalue(self) -> float:
        """Two-sided, of no difference; 1 where the two never differ."""
        if self.error == 0:
            return 1.0
        return float(2 * stats.t.sf(abs(self.value) / self.error, self.freedom))


def widening(n_tested: int, n_train: float, share: float = 1.0) -> float:
    """Factor by which the error of a difference exceeds what its rows tell, √(1 + share · n/m)."""
    return math.sqrt(1 + share * n_tested / n_train)


def difference_of_rows(
    first: Floats, second: Floats, weight: Floats | None, groups: Array | None, factor: float
) -> Difference:
    """The difference between the mean losses of two models on the rows that both have.

    Parameters
    ----------
    first, second : (n,) losses, nan where a row was not tested.
    groups : (n,) rows that belong together; groups are independent. None where rows are.
    factor : see `widening`.
    """
    apart = first - second
    known = ~np.isnan(apart)
    of_rows = (None if values is None else values[known] for values in (weight, groups))
    (apart,), mass = of_units(apart[None, known], *of_rows)
    m = effective_number(len(apart), mass)
    share = np.ones(len(apart)) if mass is None else mass
    share = share / share.sum()
    value = float(apart @ share)
    parts, counted = share * (apart - value), share * apart
    if not counted.any():
        return Difference(0.0, 0.0, math.inf)
    if m <= 1:
        return Difference(value, math.nan, 1.0)
    error = math.sqrt(float(np.square(parts).sum()) * m / (m - 1)) * factor
    # Where all differ by the same, one more row that differs by as much the other way is thought of.
    floor = float(np.abs(counted).max()) * factor
    return Difference(value, max(error, floor), m - 1)


def difference_of_folds(first: Floats, second: Floats, test_share: float) -> Difference:
    """The same where only risks on folds are known, (folds,), nan where one was not tested.

    `test_share` is test rows over training rows.
    """
    apart = first - second
    apart = apart[~np.isnan(apart)]
    K, value = len(apart), float(np.mean(apart)) if len(apart) else math.nan
    if K and not apart.any():
        return Difference(0.0, 0.0, math.inf)
    if K < 2:
        return Difference(value, math.nan, 1.0)
    return Difference(value, float(np.std(apart, ddof=1)) * math.sqrt(1 / K + test_share), K - 1.0)


def holm(pvalues: Floats) -> Floats:
    """p-values adjusted for being many (Holm 1979): their smallest still holds for all of them together."""
    order = np.argsort(pvalues, kind="stable")
    steps = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted
