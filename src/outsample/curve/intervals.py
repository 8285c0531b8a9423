"""Intervals: around the estimate of one model, and around the difference between two.

An estimate with limits on both sides, such as a share of errors or an area under the ROC curve, has Wilson's interval
at the number of rows that would know it as well as its standard error says; it stays within the limits, and is not a
point where no error was seen. One with a limit on one side, such as a squared error or r2, has an interval that is
symmetric in the logarithm of its distance from that limit: losses are skewed. Everything else is estimate ± quantile ×
error.

Rows are independent, or groups of rows where there are any (`of_units`).

A difference is taken from the losses of two models on the same left-out rows, which tell how far a difference of means
is off, given the fitted models. From one data set to the next it varies more, because all rows are judged by models
that share training rows. Nadeau & Bengio (2003) allow for that by counting the training rows as a second sample: with
σ² the variance of a row's difference, n rows tested and m rows in a training set, the variance of the mean is
σ² (1/n + 1/m). They derived it for random splits. For folds that is more than needed: with σ² (1/n + c/m), c that of
the learners (`data.stability`), tests of equally good learners keep their level, as `benchmarks/paired.py` shows. The
difference is that of the learners, averaged over training sets of this size. The models fitted to these very data may
differ by more or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from outsample.losses.base import weighted_mean
from outsample.running.arrays import Array, Floats, chunks


def effective_number(n: int, weight: Floats | None) -> float:
    """Number of equally weighted rows that carry the same information."""
    return float(n) if weight is None else float(weight.sum() ** 2 / (weight**2).sum())


def of_units(losses: Floats, weight: Floats | None, groups: Array | None) -> tuple[Floats, Floats | None]:
    """(losses (models, units), weights (units,)) of what is independent: rows, or groups with the means of their rows.

    The mean over units is that over rows. Not a number where one of the rows of a group is not.
    """
    if groups is None:
        return losses, weight
    code = np.unique(groups, return_inverse=True)[1].reshape(-1)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    weight = np.ones(len(code)) if weight is None else weight
    mass = np.add.reduceat(weight[order], starts)
    return np.asarray(np.add.reduceat((losses * weight)[:, order], starts, axis=1) / mass), mass


def error_of_mean(losses: Floats, weight: Floats | None, groups: Array | None = None) -> Floats:
    """Standard error of the (weighted) mean of losses, (models,); not a number for a single row or group.

    Rows are independent, or groups where there are any.
    """
    losses, weight = of_units(losses, weight, groups)
    m = effective_number(losses.shape[-1], weight)
    if m <= 1:
        return np.full(len(losses), np.nan)
    share = 1 / losses.shape[-1] if weight is None else weight / weight.sum()
    squares = []
    for models in chunks(losses):
        spread = losses[models] - weighted_mean(losses[models], weight)[:, None]
        spread *= share
        squares.append(np.einsum("ij,ij->i", spread, spread))
    return np.sqrt(np.concatenate(squares) * m / (m - 1))


def telling_rows(apart: Floats) -> Floats:
    """Number of rows that tell two models apart, (Σ d²)²/Σ d⁴, (pairs,); 0 where none does.

    Parameters
    ----------
    apart : (pairs, n) differences between the losses of two models, times weights.
    """
    squares, fourths = np.square(apart).sum(axis=1), np.square(np.square(apart)).sum(axis=1)
    return np.asarray(np.divide(squares**2, fourths, out=np.zeros(len(apart)), where=fourths > 0))


def lengthening(telling: Floats, level: float) -> Floats:
    """Student's quantile over the normal one for means that so few rows decide, (pairs,)."""
    return np.asarray(stats.t.ppf(level, np.maximum(1.0, telling - 1)) / stats.norm.ppf(level))


def quantile(probability: float, freedom: float | None) -> float:
    """Of Student's distribution, or of the normal one where degrees of freedom are None."""
    return float(stats.norm.ppf(probability) if freedom is None else stats.t.ppf(probability, freedom))


def hoeffding_radius(n: float, delta: float) -> float:
    """√(ln(2/δ)/(2n)): how far the mean of n losses in [0, 1] may be from its expectation but for probability δ."""
    return math.sqrt(math.log(2 / delta) / (2 * n))


def exact_interval(share: float, n: float, level: float) -> tuple[float, float]:
    """The interval of Clopper & Pearson (1934) for a share of n rows."""
    wrong, tail = share * n, (1 - level) / 2
    # A count that is not whole only by rounding is taken as whole: 3/7 · 7.
    wrong = round(wrong) if abs(wrong - round(wrong)) < 1e-9 * max(1.0, n) else wrong
    low = 0.0 if wrong == 0 else float(stats.beta.ppf(tail, wrong, n - wrong + 1))
    high = 1.0 if wrong == n else float(stats.beta.ppf(1 - tail, wrong + 1, n - wrong))
    return low, high


def inside(share: float) -> bool:
    """Whether a share is neither 0 nor 1, but for rounding."""
    return 1e-12 < share < 1 - 1e-12


def logit_interval(share: float, half: float, n: float, level: float) -> tuple[float, float]:
    """Symmetric in log(s/(1 − s)) for a share s known to ± half; where it is 0 or 1, that of no error in n rows."""
    if inside(share):
        by = half / (share * (1 - share))
        low, high = special.expit(special.logit(share) + np.array([-by, by])).tolist()
        return low, high
    beyond = 1 - ((1 - level) / 2) ** (1 / n)
    return (0.0, beyond) if share < 0.5 else (1 - beyond, 1.0)


def shaped_interval(
    center: float,
    error: float,
    quantile: float,
    limits: tuple[float, float],
    rows: float,
    units: float | None = None,
) -> tuple[float, float]:
    """(low, high) around `center`.

    Parameters
    ----------
    error : standard error of `center`, everything included.
    quantile : of the normal distribution or Student's, for the wanted level.
    limits : least and greatest possible value, infinite where there is none.
    rows : equally weighted rows that are behind the estimate, which limit what can be known of one near a limit.
    units : those of them that are independent, which tell of an estimate at a limit; all unless given.

    Examples
    --------
    >>> [round(end, 3) for end in shaped_interval(0.1, 0.03, 1.96, (0.0, 1.0), 100)]
    [0.055, 0.174]
    >>> [round(end, 3) for end in shaped_interval(0.0, 0.0, 1.96, (0.0, 1.0), 100)]
    [0.0, 0.037]
    >>> [round(end, 2) for end in shaped_interval(4.0, 1.0, 1.96, (0.0, math.inf), 100)]
    [2.45, 6.53]
    """
    low, high = limits
    units = rows if units is None else units
    if math.isfinite(low) and math.isfinite(high):
        start, end = _wilson((center - low) / (high - low), error / (high - low), quantile, rows, units)
        return low + (high - low) * start, low + (high - low) * end
    if math.isfinite(low) and center > low:
        factor = _factor(quantile * error / (center - low))
        return low + (center - low) / factor, low + (center - low) * factor
    if math.isfinite(high) and center < high:
        factor = _factor(quantile * error / (high - center))
        return high - (high - center) * factor, high - (high - center) / factor
    return center - quantile * error, center + quantile * error


# An error that is far larger than the distance from the limit says little of orders of magnitude: beyond this power the
# exponential function goes on along its tangent, so that the far end is some seven times that of estimate ± error.
_TANGENT_FROM = 2.0


def _factor(power: float) -> float:
    """By how much an end is further from the limit than the estimate, or nearer."""
    return math.exp(min(power, _TANGENT_FROM)) * (1 + max(0.0, power - _TANGENT_FROM))


# An interval may stand for so many times the rows there are. The area A under a ROC curve that is nearly 1 is known as
# well as a share of twice its m positive rows (its variance is then (1 − A)/(2 m), Hanley & McNeil 1982). The standard
# error may be much smaller by luck, because hardly any pair of rows is out of order.
MOST_PER_ROW = 2.0


def _wilson(share: float, error: float, quantile: float, rows: float, units: float) -> tuple[float, float]:
    """Wilson's interval for a share, at the number of rows that its standard error stands for."""
    share = min(max(share, 0.0), 1.0)
    spread = share * (1 - share)
    n = min(spread / error**2, MOST_PER_ROW * rows) if spread > 0 and error > 0 else max(units, 1.0)
    weight = quantile**2 / n
    middle = (share + weight / 2) / (1 + weight)
    half = quantile / (1 + weight) * math.sqrt(spread / n + weight / (4 * n))
    # The end at a limit is known; computed, it would be off by rounding.
    low = max(0.0, middle - half) if share > 0 else 0.0
    return low, min(1.0, middle + half) if share < 1 else 1.0


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
