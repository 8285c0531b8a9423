"""All work that depends on X only, done once: every column is sorted, and cut into bins along its order.

Bins are made for the whole table. A leaf with a sixteenth of the samples has about a sixteenth of them in each bin, and
needs only a quarter as many bins: *levels* join neighbouring bins, each level about four of the level below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT
from outsample.running.arrays import Bools, Integers
from outsample.running.threads import over_slices, side_by_side

CLOSENESS = np.float32(1e-7)
"""No split separates neighbouring values that differ by no more: scikit-learn's rule, in float32."""

# Entries of a table that one thread sorts before a second one has started.
_SMALL = 10_000

FIRST_WIDTH = 4
WIDTH_PER_ROOT = 1.2
BINS_JOINED = 4
SHRINKING = BINS_JOINED**2
"""Leaves smaller by this factor use the bins of the next level."""

FINENESS = 8
"""Where groups of bins are bounded first, leaves use the level of bins of leaves larger by this factor."""

LARGEST_SORTED = 24
"""Leaves with at most so many samples are sorted instead of counted in bins."""


class Columns(NamedTuple):
    """A table of n samples and d columns, sorted column by column.

    Attributes
    ----------
    order : (d, n) uint32
        Samples in ascending order of each column.
    values : (d, n) float32
        The column in that order.
    rank : (n, d) int32
        Position of each sample in each column's order.
    """

    order: NDArray[np.uint32]
    values: NDArray[np.float32]
    rank: NDArray[np.int32]


class Presorted(NamedTuple):
    """A table of n samples and d columns, sorted and binned column by column.

    Attributes
    ----------
    columns : Columns
    cells : (n, d) uint16, or uint32 where there are many
        Histogram cell of each sample in each column, at level 0. No other array is read as often.
    edges : (levels, d, bins + 1) uint32
        Position where each bin starts; n after the last bin. No edge separates tied values.
    solid : (levels, d, bins) bool
        Bins whose values are all tied, so that no split falls within them.
    offsets : (levels, d + 1) int64
        First histogram cell of each column; column f has offsets[level, f + 1] − offsets[level, f] bins.
    cell_at : (levels, cells) uint32
        The cell at each level that holds a cell of level 0.
    cell_above : (levels − 1, cells) int32
        The cell of the next level that holds a cell of this level.
    """

    columns: Columns
    cells: NDArray[np.uint16 | np.uint32]
    edges: NDArray[np.uint32]
    solid: Bools
    offsets: Integers
    cell_at: NDArray[np.uint32]
    cell_above: NDArray[np.int32]


def presort(X: NDArray[np.float32], threads: int = 1) -> Presorted:
    """Sort and bin the columns of X, (n, d) float32 without NaN, on several threads."""
    n, d = X.shape
    # One allocation: the system maps large blocks in large pages, which costs much less than many small ones.
    block = np.empty((4, d * n), np.int32)
    order, bits = block[:2].reshape(2, d, n)
    order, values, rank = order.view(np.uint32), bits.view(np.float32), block[2].reshape(n, d)
    levels, most = _n_levels(n), _most_bins(n)
    edges, solid = np.full((levels, d, most + 1), n, np.uint32), np.zeros((levels, d, most), np.bool_)
    n_bins = np.empty((levels, d), np.int64)

    def sort_columns(thread: int) -> None:
        keys = np.empty(n, np.int64)
        for f in range(thread, d, used):
            make_keys(bits[f], keys)
            keys.sort()
            place_samples(keys, order[f], bits[f])
            n_bins[0, f] = cut_bins(values[f], edges[0, f], solid[0, f])

    values[:] = X.T
    used = threads if n * d > _SMALL else 1
    side_by_side(sort_columns, used)
    above = [_join_bins(n, level, n_bins, edges, solid) for level in range(1, levels)]
    offsets = np.zeros((levels, d + 1), np.int64)
    np.cumsum(n_bins, axis=1, out=offsets[:, 1:])
    n_cells = int(offsets[0, -1])
    cell_at, cell_above = np.empty((levels, n_cells), np.uint32), np.empty((levels - 1, n_cells), np.int32)
    cell_at[0] = np.arange(n_cells)
    for level, joined in enumerate(above):
        cell_above[level, : joined.size] = joined
        cell_at[level + 1] = joined[cell_at[level]]
    narrow = np.uint16 if n_cells <= 2**16 else np.uint32
    cells = block[3].view(narrow)[: n * d].reshape(n, d)
    over_slices(lambda start, stop: find_places(start, stop, order, edges[0], offsets[0], cells, rank), d, used)
    return Presorted(Columns(order, values, rank), cells, edges, solid, offsets, cell_at, cell_above)


def _n_levels(n: int) -> int:
    """Number of levels that leaves counted in bins can use."""
    levels = 1
    while n > LARGEST_SORTED * SHRINKING**levels:
        levels += 1
    return levels


def _most_bins(n: int) -> int:
    """Upper bound on the bins of a column: ties can at most double the number that `cut_bins` makes without them."""
    return min(n, 2 * (int(4 / WIDTH_PER_ROOT * np.sqrt(n / 2)) + 2 * FIRST_WIDTH) + 8)


@njit(**LENT)
def make_keys(bits, keys):
    """Integers in the order of the values, ties in the order of samples: order of the value · 2³² + sample.

    Sorting integers is several times faster than sorting positions by values.
    """
    for i in range(bits.size):
        own = np.int64(bits[i])
        keys[i] = (own if own >= 0 else own ^ 0x7FFFFFFF) << 32 | i


@njit(**LENT)
def place_samples(keys, order, bits):
    """Write the samples of a column, and the bits of their values, in the order of the sorted keys."""
    for p in range(keys.size):
        order[p] = np.uint32(keys[p] & 0xFFFFFFFF)
        own = keys[p] >> 32
        bits[p] = own if own >= 0 else own ^ 0x7FFFFFFF


@njit(**LENT)
def cut_bins(values, edges, solid):
    """Cut one sorted column into bins and write their edges; returns their number.

    Widths grow with the square root of the distance to the nearer end of the column: then no single bin changes the
    share of a class left of it by more than about one standard error, wherever it lies.
    """
    n = values.size
    n_bins = 0
    start = 0
    while start < n:
        width = max(FIRST_WIDTH, int(WIDTH_PER_ROOT * np.sqrt(min(start, n - start))))
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
    return n_bins


@njit(**LENT)
def find_places(start, stop, order, edges, offsets, cells, rank):
    """Write the histogram cell and the position of each sample in columns `start` … `stop` − 1."""
    for f in range(start, stop):
        for b in range(offsets[f + 1] - offsets[f]):
            for p in range(edges[f, b], edges[f, b + 1]):
                i = order[f, p]
                cells[i, f] = offsets[f] + b
                rank[i, f] = p


def _join_bins(n: int, level: int, n_bins: Integers, edges: NDArray[np.uint32], solid: Bools) -> Integers:
    """Write the bins of a level; returns, for each cell of the level below, the cell that contains it."""
    d, most = solid.shape[1:]
    # All columns as one long column, with bins numbered like histogram cells.
    ends, filled = n * np.arange(1, d + 1), np.arange(most) < n_bins[level - 1, :, None]
    starts = edges[level - 1, :, :-1][filled] + np.repeat(ends - n, n_bins[level - 1])
    wanted = (ends - n)[:, None] + _wanted_starts(n, BINS_JOINED**level)
    held = starts.searchsorted(wanted.ravel(), "right") - 1
    # A bin that holds several of the wanted edges stays alone.
    begins = np.zeros(starts.size + 1, np.bool_)
    begins[held] = begins[held[1:][held[1:] == held[:-1]] + 1] = True
    kept = np.flatnonzero(begins[:-1])
    n_joined = np.diff(kept, append=starts.size)
    first, column = starts[kept], starts[kept] // n
    n_bins[level] = np.bincount(column, minlength=d)
    filled_here = np.arange(most) < n_bins[level, :, None]
    edges[level, :, :-1][filled_here] = first - n * column
    solid[level][filled_here] = solid[level - 1][filled][kept] & (n_joined == 1)
    return np.repeat(np.arange(kept.size), n_joined)


def _wanted_starts(n: int, widening: int) -> Integers:
    """Where the bins of a column would start if they were this much wider than `cut_bins` makes them without ties."""
    first, growth = widening * FIRST_WIDTH, (widening * WIDTH_PER_ROOT / 2) ** 2
    n_edges = int((np.sqrt(first**2 + 2 * growth * n) - first) / (2 * growth))
    k = np.arange(n_edges + 1)
    from_the_end = (first * k + growth * k**2).astype(np.int64)
    return np.unique(np.concatenate([from_the_end, n - from_the_end[1:]]))
