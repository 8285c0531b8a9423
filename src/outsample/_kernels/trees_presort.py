"""What a tree needs of X, done once: every column sorted and cut into bins along its sorted order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample.threads import side_by_side

from .options import OPTIONS

CLOSENESS = np.float32(1e-7)
"""Neighbouring values that differ by no more are never parted: scikit-learn's rule, in float32."""

# Entries of a table that one thread sorts before a second is awake.
_SMALL = 10_000

FIRST_WIDTH = 4
WIDTH_PER_ROOT = 0.9


class Presorted(NamedTuple):
    """A table of n samples and d columns, sorted and binned column by column.

    Attributes
    ----------
    order : (d, n) int32
        Samples in ascending order of each column.
    values : (d, n) float32
        The column in that order.
    rank : (n, d) int32
        Position of each sample in each column's order.
    codes : (n, d) uint16
        Bin of each sample in each column.
    edges : (d, bins + 1) int32
        Position where each bin starts; n from the last bin on. No edge parts tied values.
    solid : (d, bins) bool
        Bins inside which no split can fall, because all their values are tied.
    offsets : (d + 1,) int64
        First histogram cell of each column; column f has offsets[f + 1] − offsets[f] bins.
    """

    order: NDArray[np.int32]
    values: NDArray[np.float32]
    rank: NDArray[np.int32]
    codes: NDArray[np.uint16]
    edges: NDArray[np.int32]
    solid: NDArray[np.bool_]
    offsets: NDArray[np.int64]


def presort(X: NDArray[np.float32], threads: int = 1) -> Presorted:
    """Sort and bin the columns of X, (n, d) float32 without NaN, columns spread over threads."""
    n, d = X.shape
    columns = np.ascontiguousarray(X.T)
    n_edges = _most_bins(n) + 1
    table = Presorted(
        order=np.empty((d, n), np.int32),
        values=np.empty((d, n), np.float32),
        rank=np.empty((n, d), np.int32),
        codes=np.empty((n, d), np.uint16),
        edges=np.empty((d, n_edges), np.int32),
        solid=np.zeros((d, n_edges - 1), np.bool_),
        offsets=np.zeros(d + 1, np.int64),
    )

    def sort_column(f: int) -> int:
        table.order[f] = np.argsort(columns[f])
        np.take(columns[f], table.order[f], out=table.values[f])
        n_bins = cut_bins(table.values[f], FIRST_WIDTH, WIDTH_PER_ROOT, table.edges[f], table.solid[f])
        place_samples(f, table.order, table.edges, n_bins, table.rank, table.codes)
        return int(n_bins)

    parts = threads if n * d > _SMALL else 1
    n_bins = side_by_side(lambda part: [sort_column(f) for f in range(part, d, parts)], parts)
    table.offsets[1:] = np.cumsum([n_bins[f % parts][f // parts] for f in range(d)])
    return table


def _most_bins(n: int) -> int:
    """No column has more bins: ties can at most double the number that `cut_bins` makes without them."""
    return min(n, 2 * (int(4 / WIDTH_PER_ROOT * np.sqrt(n / 2)) + 2 * FIRST_WIDTH) + 8)


@njit(**OPTIONS)
def cut_bins(values, first_width, width_per_root, edges, solid):
    """Cut one sorted column into bins, write their edges and tell how many there are.

    Widths grow with the square root of the distance to the nearer end: then no single bin can move
    the share of a class by more than about one standard error, wherever it lies.
    """
    n = values.size
    n_bins = 0
    start = 0
    while start < n:
        width = max(first_width, int(width_per_root * np.sqrt(min(start, n - start))))
        end = start + width
        if end >= n or n_bins == solid.size - 1:
            end = n
        elif values[end] <= values[end - 1] + CLOSENESS:
            run = end - 1
            while run > start and values[run] <= values[run - 1] + CLOSENESS:
                run -= 1
            if run > start:
                end = run
            else:
                while end < n and values[end] <= values[end - 1] + CLOSENESS:
                    end += 1
        edges[n_bins] = start
        solid[n_bins] = values[end - 1] <= values[start] + CLOSENESS
        n_bins += 1
        start = end
    edges[n_bins:] = n
    return n_bins


@njit(**OPTIONS)
def place_samples(f, order, edges, n_bins, rank, codes):
    """Tell each sample its position and its bin in column f."""
    for b in range(n_bins):
        for p in range(edges[f, b], edges[f, b + 1]):
            i = order[f, p]
            rank[i, f] = p
            codes[i, f] = b
