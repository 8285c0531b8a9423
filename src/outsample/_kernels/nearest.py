"""Compiled choice of the nearest rows: approximate distances decide where they can, exact ones where they cannot.

A matrix product in single precision gives all squared distances of some rows up to a known error. The columns are
dealt into groups; the k-th smallest group minimum bounds the k-th smallest distance, so few columns remain. Where two
of them are so nearly as far that the error leaves their order open, their distances are computed anew in double
precision from the differences themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT, LENT_INNER, REGROUPED

SMALLEST = 1e-37
"""Below this, single precision loses its relative accuracy."""

END = np.iinfo(np.int64).max
LOW_HALF = 2**32 - 1


class Room(NamedTuple):
    """Memory of one thread.

    Attributes
    ----------
    minima, near : (groups,) smallest entry of each group; (groups + 1,) groups that hold candidates
    candidates : (n + 1,) all candidates of a row, as row numbers
    bound, bits : (1,) a float32, and its bits
    distances, rows : (width,) candidates worth sorting
    """

    minima: NDArray[np.int32]
    near: NDArray[np.uint32]
    candidates: NDArray[np.uint32]
    bound: NDArray[np.float32]
    bits: NDArray[np.int32]
    distances: NDArray[np.float64]
    rows: NDArray[np.int64]


def make_room(n: int, groups: int, width: int) -> Room:
    """Room for n rows, dealt into groups, and so many candidates worth sorting."""
    bound = np.empty(1, np.float32)
    return Room(
        minima=np.empty(groups, np.int32),
        near=np.empty(groups + 1, np.uint32),
        candidates=np.empty(n + 1, np.uint32),
        bound=bound,
        bits=bound.view(np.int32),
        distances=np.empty(width),
        rows=np.empty(width, np.int64),
    )


@njit(**LENT_INNER, **REGROUPED)
def _squared_distance(a, b):
    """Σ (a − b)²."""
    total = 0.0
    for c in range(len(a)):
        difference = a[c] - b[c]
        total += difference * difference
    return total


@njit(**LENT_INNER)
def _group_minima(row, minima):
    """Smallest entry of each group; column j is in group j modulo their number."""
    groups = len(minima)
    for g in range(groups):
        minima[g] = row[g]
    for start in range(groups, len(row), groups):
        part = row[start : start + groups]
        for g in range(len(part)):
            minima[g] = part[g] if part[g] < minima[g] else minima[g]


@njit(**LENT_INNER)
def bound_on_kth(values, own, k):
    """A number that at least k values do not exceed, and few more than k; a row's distance to itself is in `own`.

    Where there is none, `own` is −1 and there are two values or more.
    """
    other = values[own - 1]
    low, high = other, other
    for q in range(values.size):
        v = other if q == own else values[q]
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


@njit(**LENT_INNER)
def _insert(distance, row, distances, rows, n_sorted):
    """Put a row where it belongs among the first ones, which are sorted by (distance, row number)."""
    place = n_sorted
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and rows[place - 1] > row)
    ):
        distances[place], rows[place] = distances[place - 1], rows[place - 1]
        place -= 1
    distances[place], rows[place] = distance, row


@njit(**LENT_INNER)
def _settle(X, i, k, near, precision, distances, rows):
    """Put candidates sorted by approximate distance in their exact order, as far as the first k need it.

    An approximate distance t is wrong by at most precision · (near + t).
    """
    q = 0
    while q < k:
        last = q
        while (
            last + 1 < len(rows)
            and distances[last + 1] - distances[last] <= 2 * precision * (near + distances[last + 1]) + 2 * SMALLEST
        ):
            last += 1
        if last > q:
            for c in range(q, last + 1):
                _insert(_squared_distance(X[i], X[rows[c]]), rows[c], distances[q:], rows[q:], c - q)
        q = last + 1


@njit(**LENT)
def list_candidates(as_integers, which, X, squares, precision, keys, neighbours, room):
    """List all rows that may be among the k nearest of the rows `which`, a few more than k.

    as_integers : (rows, n) the bits of float32 squared distances, whose order is that of the numbers.
    squares : (n,) squared norms on the same scale; an approximate squared distance t of row i is wrong by at most
        `precision` times squares[i] + t.
    keys : (rows, width) int64 bits · 2³² + row for each candidate, and END after the last. A row with more
        candidates than that has none: its k nearest go straight into `neighbours` (n, k).
    """
    n, width, groups, k = as_integers.shape[1], keys.shape[1], room.minima.size, neighbours.shape[1]
    minima, near, candidates = room.minima, room.near, room.candidates
    for r in range(len(as_integers)):
        row, i = as_integers[r], which[r]
        _group_minima(row, minima)
        room.bits[0] = max(bound_on_kth(minima, i % groups, k), 0)
        room.bound[0] += 2 * precision * (squares[i] + room.bound[0]) + SMALLEST
        limit = room.bits[0]
        # Written first and counted afterwards: a branch would be guessed wrongly too often. Unsigned, so that nobody
        # asks whether a place counts from the end.
        n_groups, found = 0, 0
        for g in range(groups):
            near[np.uint32(n_groups)] = g
            n_groups += minima[g] <= limit
        for start in range(0, n, groups):
            part = row[start : start + groups]
            while n_groups > 0 and np.int64(near[n_groups - 1]) >= part.size:
                n_groups -= 1
            for q in range(n_groups):
                g = near[np.uint32(q)]
                candidates[np.uint32(found)] = np.uint32(start) + g
                found += part[g] <= limit
        if found > width:
            _choose_exactly(X, i, candidates[:found], room.distances, room.rows, neighbours[i])
            found = 0
        for q in range(found):
            bits = max(row[candidates[q]], np.int32(0))
            keys[r, q] = np.int64(bits) << 32 | np.int64(candidates[q])
        for q in range(found, width):
            keys[r, q] = END


@njit(**LENT_INNER)
def _choose_exactly(X, i, candidates, distances, rows, neighbours):
    """The nearest of many candidates by their exact distances, into `neighbours` (k,)."""
    k, kept = len(neighbours), 0
    for q in range(len(candidates)):
        row = np.int64(candidates[q])
        distance = _squared_distance(X[i], X[row])
        if kept < k or distance < distances[k - 1] or (distance == distances[k - 1] and row < rows[k - 1]):
            _insert(distance, row, distances, rows, min(kept, k - 1))
            kept = min(kept + 1, k)
    for q in range(k):
        neighbours[q] = rows[q]


@njit(**LENT)
def settle_order(keys, approximate, which, X, squares, precision, neighbours, distances, rows):
    """Write the k nearest rows of the rows `which` into `neighbours` (n, k).

    keys, approximate : (rows, width) sorted keys as those of `list_candidates`, and the distances in them; rows
        without any are passed over
    distances, rows : (width,) float64 and int64 room
    """
    k = neighbours.shape[1]
    for r in range(len(keys)):
        found, i = 0, which[r]
        while found < keys.shape[1] and keys[r, found] != END:
            rows[found] = keys[r, found] & LOW_HALF
            distances[found] = approximate[r, found]
            found += 1
        if found > 0:
            _settle(X, i, k, squares[i], precision, distances[:found], rows[:found])
            for q in range(k):
                neighbours[i, q] = rows[q]


@njit(**LENT)
def distances_to(X, neighbours, distances):
    """Distance of each row of X to its neighbours, into `distances` (n, k)."""
    for i in range(len(neighbours)):
        for q in range(neighbours.shape[1]):
            distances[i, q] = np.sqrt(_squared_distance(X[i], X[neighbours[i, q]]))


def warmup() -> None:
    """Compile every kernel."""
    approximate, X, neighbours = np.zeros((1, 1), np.float32), np.zeros((1, 1)), np.zeros((1, 1), np.int32)
    keys, room = np.zeros((1, 1), np.int64), make_room(1, 1, 1)
    settings = np.zeros(1, np.int64), X, np.zeros(1), 0.0
    list_candidates(approximate.view(np.int32), *settings, keys, neighbours, room)
    settle_order(keys, approximate, *settings, neighbours, room.distances, room.rows)
    distances_to(X, neighbours, X.copy())
