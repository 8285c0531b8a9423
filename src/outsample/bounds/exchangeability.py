"""Empirical distribution and quantile functions, and what exchangeability says of them.

If S_1, …, S_N are exchangeable and q(α) is their empirical quantile, then P[S_N ≤ q(α)] ≥ α for every α; if they are
also distinct with probability one, P[S_N ≤ q(α)] ≤ α + 1/N (Duchi, STATS 305A, lecture 16, Theorem 1). Permutation
tests and conformal intervals rest on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from outsample.running.arrays import Floats

# α N is rounded up to a whole number; products that exceed one by less than this are that number.
_ROUNDING = 1e-9


def empirical_distribution(values: ArrayLike, t: ArrayLike) -> Floats:
    """F_N(t) = (1/N) Σ 1[S_i ≤ t], of the shape of t.

    Parameters
    ----------
    values : S_1, …, S_N.
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


def empirical_quantile(values: ArrayLike, alpha: ArrayLike) -> Floats:
    """q_N(α) = inf{t : F_N(t) ≥ α}, of the shape of α: the value of rank ⌈αN⌉; minus infinity at α = 0.

    Parameters
    ----------
    values : S_1, …, S_N.
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


def _ordered(values: ArrayLike) -> Floats:
    ordered = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if len(ordered) == 0 or np.isnan(ordered).any():
        raise ValueError(f"values must be one or more real numbers, got {values!r}")
    return ordered
