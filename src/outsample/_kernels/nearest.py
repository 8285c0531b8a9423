# mypy: disable-error-code="no-untyped-def"
"""Compiled choice of the nearest rows: approximate distances decide who is looked at, exact ones who is near.

A matrix product in single precision gives all squared distances of some rows up to a known error. The columns are
dealt into groups; the k-th smallest group minimum bounds the k-th smallest distance, so few columns remain. Their
distances are computed anew in double precision from the differences themselves.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER, OPTIONS, REGROUPED

SMALLEST = 1e-37
"""Below this, single precision loses its relative accuracy."""

_FEW_MORE = 64
"""Candidates beyond the k wanted that are sorted all the same."""


@njit(**INNER)
def _kth_smallest(values, k):
    """The k-th smallest value, counted from one; reorders `values`."""
    wanted, low, high = k - 1, 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return values[wanted]


@njit(**INNER, **REGROUPED)
def _squared_distance(a, b):
    """Σ (a − b)²."""
    total = 0.0
    for c in range(len(a)):
        difference = a[c] - b[c]
        total += difference * difference
    return total


@njit(**INNER)
def _group_minima(row, minima):
    """Smallest entry of each group; column j is in group j modulo their number."""
    groups = len(minima)
    for g in range(groups):
        minima[g] = row[g]
    for start in range(groups, len(row), groups):
        part = row[start : start + groups]
        for g in range(len(part)):
            minima[g] = part[g] if part[g] < minima[g] else minima[g]


@njit(**INNER)
def _bound_on_kth(values, k):
    """A number that at least k values do not exceed, and few more than k."""
    low, high = values[0], values[0]
    for v in values:
        low, high = min(low, v), max(high, v)
    # Distances that rounding made negative are zero.
    low = max(low, np.int32(0))
    while high - low > 1:
        middle = np.int32((np.int64(low) + high) // 2)
        count = np.int32(0)
        for q in range(values.size):
            # Sums of short integers are long ones unless told otherwise, and then take several times as long.
            count = np.int32(count + np.int32(values[q] <= middle))
        if count < k:
            low = middle
        else:
            high = middle
            if count <= k + k // 16:
                break
    return high


@njit(**INNER)
def _sort_few(exact, who, sorted_exact, sorted_who):
    """Sorted by (distance, row number): the place of each is the number of those before it."""
    for q in range(len(who)):
        distance, row, place = exact[q], who[q], 0
        for other in range(len(who)):
            place += (exact[other] < distance) | ((exact[other] == distance) & (who[other] < row))
        sorted_exact[place], sorted_who[place] = distance, row


@njit(**INNER)
def _keep_nearest(exact, who, k, distances, rows):
    """Move the k first by (distance, row number) to the front, in any order; `distances` and `rows` are scratch."""
    for q in range(len(who)):
        distances[q] = exact[q]
    kth = _kth_smallest(distances[: len(who)], k)
    nearer, tied = 0, 0
    for q in range(len(who)):
        if exact[q] == kth:
            rows[tied] = who[q]
            tied += 1
        nearer += exact[q] < kth
    last = _kth_smallest(rows[:tied], k - nearer)
    kept = 0
    for q in range(len(who)):
        if exact[q] < kth or (exact[q] == kth and who[q] <= last):
            exact[kept], who[kept] = exact[q], who[q]
            kept += 1


@njit(**OPTIONS)
def choose_nearest(approximate, as_integers, first, X, squares, precision, k, groups, neighbours, distances):
    """The k nearest rows of rows first, first + 1, …, into `neighbours` and `distances` (n, k).

    approximate : (rows, n) float32 squared distances; `as_integers` its bits, whose order is that of the numbers.
    squares : (n,) squared norms on the same scale; an approximate squared distance t of row i is wrong by at most
        `precision` times squares[i] + t.
    """
    n = approximate.shape[1]
    minima = np.empty(groups, np.int32)
    exact, sorted_exact = np.empty(n), np.empty(n)
    who, sorted_who = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    near = np.empty(groups + 1, np.int64)
    bound = np.empty(1, np.float32)
    bits = bound.view(np.int32)
    for r in range(len(approximate)):
        row, i = as_integers[r], first + r
        _group_minima(row, minima)
        bits[0] = max(_bound_on_kth(minima, k), 0)
        bound[0] += 2 * precision * (squares[i] + bound[0]) + SMALLEST
        limit = bits[0]
        # Written first and counted afterwards: a branch would be guessed wrongly too often.
        n_groups, found = 0, 0
        for g in range(groups):
            near[n_groups] = g
            n_groups += minima[g] <= limit
        for q in range(n_groups):
            for j in range(near[q], n, groups):
                who[found] = j
                found += row[j] <= limit
        for q in range(found):
            exact[q] = _squared_distance(X[i], X[who[q]])
        if found > k + _FEW_MORE:
            _keep_nearest(exact[:found], who[:found], k, sorted_exact, sorted_who)
            found = k
        _sort_few(exact[:found], who[:found], sorted_exact, sorted_who)
        for q in range(k):
            neighbours[i, q] = sorted_who[q]
            distances[i, q] = np.sqrt(sorted_exact[q])


def warmup() -> None:
    """Compile every kernel."""
    approximate = np.zeros((1, 1), np.float32)
    lists = np.zeros((1, 1), np.int64), np.zeros((1, 1))
    choose_nearest(approximate, approximate.view(np.int32), 0, np.zeros((1, 1)), np.zeros(1), 0.0, 1, 1, *lists)
