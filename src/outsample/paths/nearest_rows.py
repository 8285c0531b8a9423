"""The nearest rows of every row by Euclidean distance, all pairs compared, exactly and fast."""

from __future__ import annotations

import math

import numpy as np

from outsample.threads import in_turn, n_threads, one_blas_thread

from .base import Floats
from .nearest_pairs import settle_near_pairs
from .single_precision import FEW_MORE, Integers, Neighbours, SinglePrecision, distances_as_integers

_MOST_NEIGHBOURS = 256
# Rows × rows × columns up to which a second thread is not worth waking.
_SMALL = 5_000_000
# Rows and columns from which on it is worth while to compare each pair once only.
_MANY_ROWS, _MANY_COLUMNS = 3_000, 16


def nearest_rows(X: Floats, k: int) -> Neighbours | None:
    """The k nearest of all rows of X to every row, itself included, (n, k), nearest first.

    Equal distances are in order of row number. None where X lies so far from zero that single precision, which
    preselects, could not be trusted, and for so many neighbours that there is little to preselect.
    """
    table = SinglePrecision.of(X) if k <= _MOST_NEIGHBOURS else None
    if table is None:
        return None
    n, d = X.shape
    neighbours = np.empty((n, k), np.int32)
    threads = n_threads() if X.size * n > _SMALL else 1
    with one_blas_thread:
        once = n >= _MANY_ROWS and d >= _MANY_COLUMNS
        left = settle_near_pairs(table, neighbours, threads) if once else np.arange(n)
        if len(left):
            _compare_with_all(table, left, neighbours, threads)
    return neighbours


def _compare_with_all(table: SinglePrecision, which: Integers, neighbours: Neighbours, threads: int) -> None:
    """Find the neighbours of the rows `which` among all rows."""
    from outsample._kernels import nearest

    (n, k), at_once = neighbours.shape, table.at_once
    products = np.empty((threads, at_once * n), np.float32)
    groups = min(n, max(4 * k, math.isqrt(n * k)))
    rooms = [nearest.make_room(n, groups, k + FEW_MORE) for _ in range(threads)]

    def choose(first: int, thread: int) -> None:
        rows = which[first : first + at_once]
        distances = distances_as_integers(table.left[rows], table.right, products[thread])
        keys = np.empty((len(rows), k + FEW_MORE), np.int64)
        settings = rows, table.X, table.squares, table.precision
        nearest.list_candidates(distances, *settings, keys, neighbours, rooms[thread])
        table.settle(keys, rows, neighbours)

    in_turn(choose, range(0, len(which), at_once), threads)


def distances_to(X: Floats, neighbours: Neighbours) -> Floats:
    """Distances of every row of X to its neighbours, (n, k)."""
    from outsample._kernels import nearest

    distances = np.empty(neighbours.shape)
    nearest.distances_to(X, neighbours, distances)
    return distances
