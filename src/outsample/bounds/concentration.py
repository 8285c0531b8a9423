"""Concentration inequalities, and the empirical distribution with what exchangeability says of it.

How far a function of independent variables is from its mean, and how rarely farther: the three inequalities of
Bartlett, Boucheron & Lugosi, §3, on which all bounds here rest. Each takes numbers or arrays and returns a probability,
at most 1, that is an upper bound for every distribution of the variables.

If S_1, …, S_N are exchangeable and q(α) is their empirical quantile, then P[S_N ≤ q(α)] ≥ α for every α; if they are
also distinct with probability one, P[S_N ≤ q(α)] ≤ α + 1/N (Duchi, STATS 305A, lecture 16, Theorem 1). Permutation
tests and conformal intervals rest on it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from outsample.bounds.record import Numbers, as_number
from outsample.checks import probability
from outsample.docstrings import described
from outsample.running.arrays import Floats

# α N is rounded up to a whole number; products that exceed one by less than this are that number.
_ROUNDING = 1e-9

_tail = described(
    {
        "t": "positive deviations.",
        "differences": "c_i, (n,): the most that f changes when the i-th of n independent variables changes.",
        "mean": "E f.",
    },
    "float or array\n    The probability at most, of the shape of t.",
)
_empirical = described({"values": "S_1, …, S_N."})


@_tail
def mcdiarmid_tail(t: ArrayLike, differences: ArrayLike) -> Numbers:
    """P[f − E f ≥ t] ≤ exp(−2t²/Σ c_i²), and the same for E f − f (McDiarmid 1989; Theorem 3).

    Examples
    --------
    >>> round(mcdiarmid_tail(0.1, [0.01] * 100), 4)  # a mean of 100 losses in [0, 1]
    0.1353
    """
    return as_number(np.exp(-2 * _positive("t", t) ** 2 / _sum_of_squares(differences)))


@_tail
def mcdiarmid_deviation(differences: ArrayLike, delta: float = 0.05) -> float:
    """√(½ Σ c_i² ln(1/δ)): f ≤ E f + this with probability at least 1 − δ, and E f ≤ f + this likewise.

    Both at once hold with probability 1 − 2δ (Magdon-Ismail & Mertsalov, Corollary 1, print 1 − δ).

    Parameters
    ----------
    delta : probability with which the inequality may fail.

    Returns
    -------
    float
        The deviation.

    Examples
    --------
    >>> round(mcdiarmid_deviation([0.01] * 100), 4)  # a mean of 100 losses in [0, 1]
    0.1224
    """
    return math.sqrt(_sum_of_squares(differences) * math.log(1 / probability("delta", delta)) / 2)


@_tail
def self_bounding_upper_tail(t: ArrayLike, mean: ArrayLike) -> Numbers:
    """P[f ≥ E f + t] ≤ exp(−t²/(2 E f + 2t/3)) for self-bounding f (Boucheron, Lugosi & Massart 2000; Theorem 4).

    f ≥ 0 of n independent variables is self-bounding if leaving out the i-th changes it by d_i between 0 and 1, and
    Σ d_i ≤ f: the logarithm of the number of labellings, the VC dimension on the data, Rademacher averages times n.

    Examples
    --------
    >>> round(float(self_bounding_upper_tail(10.0, 20.0)), 4)
    0.1173
    """
    mu, deviation = _mean(mean), _positive("t", t)
    return as_number(np.exp(-(deviation**2) / (2 * mu + 2 * deviation / 3)))


@_tail
def self_bounding_lower_tail(t: ArrayLike, mean: ArrayLike) -> Numbers:
    """P[f ≤ E f − t] ≤ exp(−t²/(2 E f)) for self-bounding f, see `self_bounding_upper_tail`.

    Examples
    --------
    >>> round(float(self_bounding_lower_tail(10.0, 20.0)), 4)
    0.0821
    """
    mu, deviation = _mean(mean), _positive("t", t)
    with np.errstate(divide="ignore"):
        return as_number(np.where(deviation > mu, 0.0, np.exp(-(deviation**2) / (2 * mu))))


@_tail
def subadditive_tail(t: ArrayLike, mean: ArrayLike) -> Numbers:
    """P[f > t] ≤ exp(−(t/2) ln(t/(8 E f + 4))) (van der Vaart & Wellner 1996; Theorem 5).

    For f of n independent variables of one distribution, with values in [0, n], that does not depend on their order,
    does not fall when variables are added, and is subadditive: f(x, y) ≤ f(x) + f(y). It says something for t above
    8 E f + 4 only.

    Parameters
    ----------
    t : positive values of f, not deviations.

    Examples
    --------
    >>> round(float(subadditive_tail(20.0, 1.0)), 4)
    0.006
    """
    mu, value = _mean(mean), _positive("t", t)
    return as_number(np.minimum(1.0, np.exp(-value / 2 * np.log(value / (8 * mu + 4)))))


@_empirical
def empirical_distribution(values: ArrayLike, t: ArrayLike) -> Floats:
    """F_N(t) = (1/N) Σ 1[S_i ≤ t], of the shape of t.

    Parameters
    ----------
    t : where to evaluate; F_N is a step function, continuous from the right.

    Returns
    -------
    array
        F_N at each t.

    Examples
    --------
    >>> empirical_distribution([3.0, 1.0, 2.0, 2.0], [0.0, 2.0, 2.5, 3.0])
    array([0.  , 0.75, 0.75, 1.  ])
    """
    ordered = _ordered(values)
    return np.asarray(np.searchsorted(ordered, np.asarray(t, dtype=np.float64), side="right") / len(ordered))


@_empirical
def empirical_quantile(values: ArrayLike, alpha: ArrayLike) -> Floats:
    """q_N(α) = inf{t : F_N(t) ≥ α}, of the shape of α: the value of rank ⌈αN⌉; minus infinity at α = 0.

    Parameters
    ----------
    alpha : levels between 0 and 1.

    Returns
    -------
    array
        q_N at each alpha.

    Examples
    --------
    >>> empirical_quantile([3.0, 1.0, 2.0, 4.0], [0.25, 0.26, 0.5, 1.0])
    array([1., 2., 2., 4.])
    """
    ordered, levels = _ordered(values), np.asarray(alpha, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}")
    rank = np.ceil(levels * len(ordered) - _ROUNDING).astype(np.intp)
    return np.asarray(np.where(levels > 0, ordered[np.maximum(rank - 1, 0)], -np.inf))


def _sum_of_squares(differences: ArrayLike) -> float:
    c = np.asarray(differences, dtype=np.float64).ravel()
    total = float(c @ c)
    if not 0 < total < math.inf or (c < 0).any():
        raise ValueError(f"differences must be finite, non-negative and not all zero, got {differences!r}")
    return total


def _positive(name: str, value: ArrayLike) -> Floats:
    values = np.asarray(value, dtype=np.float64)
    if not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return values


def _mean(mean: ArrayLike) -> Floats:
    values = np.asarray(mean, dtype=np.float64)
    if not np.all((values >= 0) & np.isfinite(values)):
        raise ValueError(f"mean must be finite and not negative, got {mean!r}")
    return values


def _ordered(values: ArrayLike) -> Floats:
    ordered = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if len(ordered) == 0 or np.isnan(ordered).any():
        raise ValueError(f"values must be one or more real numbers, got {values!r}")
    return ordered
