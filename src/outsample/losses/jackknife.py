"""The influence of rows on any number computed from a set of them, by leaving out groups of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from outsample.running.arrays import Floats, Rows

# Groups of rows that are left out in turn: the error bar made of them is itself known to one part in six.
GROUPS = 20

NOTE = (
    f"The error bar of this loss is a jackknife's: rows are left out in up to {GROUPS} groups, "
    "and the loss is computed on the others."
)


def jackknifed(value: float, without: Callable[[Rows], float], n: int, weight: Floats | None) -> Floats:
    """Value + influence of each row, (n,): their (weighted) mean is the value; nan where a part has no value.

    The influence of a group with share p of the weight is (1 − p)/p times what leaving it out changes. All rows of a
    group have the same one, √(rows of the group) times as large, so that taking rows as independent of each other
    gives the variance that the groups have.

    Parameters
    ----------
    value : of all rows.
    without : the value of some rows, those that are kept.
    """
    if n < 2:
        return np.full(n, np.nan)
    w = np.ones(n) if weight is None else weight
    group = np.random.default_rng(0).permutation(np.arange(n) % min(n, GROUPS))
    influence = np.empty(n)
    for g in range(group.max() + 1):
        inside = group == g
        share = w[inside].sum() / w.sum()
        try:
            changed = value - without(np.flatnonzero(~inside))
        except ValueError:
            return np.full(n, np.nan)
        influence[inside] = (1 - share) / share * changed * np.sqrt(inside.sum())
    return np.asarray(value + influence - np.average(influence, weights=weight))
