"""Growing trees of two classes without weights; see `trees_packed_search`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .fetching import fetch_row
from .options import LENT, LENT_INNER
from .trees_leaves import (
    COLUMN,
    DEPTH,
    END,
    HISTOGRAM,
    MINUS_ONE,
    NODE,
    NONE,
    ONE,
    SIZE,
    START,
    WAITING,
    ZERO,
    clear,
    divide,
    fold_histogram,
    histograms_of_children,
    least_wanted,
    level_of,
    plant,
    release,
    wait,
)
from .trees_packed_search import UNIT, look_into, pick_bins, pick_columns
from .trees_presort import FINENESS
from .trees_rules import (
    LEAST_GAIN,
    LOW_HALF,
    MAX_DEPTH,
    MAX_LEAVES,
    MIN_LEAF,
    MIN_SPLIT,
    NO_SPLIT,
    PER_NODE,
    SHIFT,
    SMALL,
)


class Scratch(NamedTuple):
    """Room for the search of one leaf.

    Attributes
    ----------
    groups, worth : per edge of a group of bins: sums left of it, chi-square
    bins, bounds : bins that may hold the best split, the sums at their edges (see `list_bins`), and their bounds
    marked : which groups or bins to look into
    picked : the marked groups, first bin and sums left of it
    keys, tally : for listing members in the order of a column
    """

    groups: NDArray[np.int64]
    worth: NDArray[np.float64]
    bins: NDArray[np.int64]
    bounds: NDArray[np.float64]
    marked: NDArray[np.bool_]
    picked: NDArray[np.int64]
    keys: NDArray[np.int64]
    tally: NDArray[np.int32]


@njit(**LENT_INNER)
def count_members(counts, slot, sign, level, table, place, leaves):
    """Add (or take away) the samples of a leaf to a histogram."""
    cells, cell_at, samples, state = table.cells, table.cell_at[level], place.samples, place.state
    start, end, d = leaves[slot, START], leaves[slot, END], cells.shape[1]
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end)
        own = np.int64(state[i])
        if own >> 1 != slot:
            continue
        point = sign * (UNIT + (own & 1))
        if level == 0:
            for f in range(d):
                counts[cells[i, f]] += point
        else:
            for f in range(d):
                counts[cell_at[cells[i, f]]] += point


@njit(**LENT_INNER)
def share_counts(slot, new, counts, table, place, leaves):
    """Histograms of both children, from the parent's: what the smaller one has, the larger one has not."""
    n, n_levels = place.state.size, table.offsets.shape[0]
    h, h_new = leaves[slot, HISTOGRAM], leaves[new, HISTOGRAM]
    larger, smaller = leaves[slot, SIZE], leaves[new, SIZE]
    level, level_new = level_of(FINENESS * (larger + smaller), n, n_levels), level_of(FINENESS * smaller, n, n_levels)
    # Many samples are counted once, for both, in the bins of the larger child.
    many = h != NONE and smaller * table.cells.shape[1] > 2 * table.offsets[level, -1]
    counted = level if many else level_new
    if h_new != NONE:
        clear(counts[h_new], table.offsets[counted, -1])
        count_members(counts[h_new], new, ONE, counted, table, place, leaves)
    if h == NONE:
        return
    if h_new != NONE and counted == level:
        for cell in range(table.offsets[level, -1]):
            counts[h, cell] -= counts[h_new, cell]
        fold_histogram(counts[h_new], 1, level, level_new, table)
    else:
        count_members(counts[h], new, MINUS_ONE, level, table, place, leaves)
    fold_histogram(counts[h], 1, level, level_of(FINENESS * larger, n, n_levels), table)


@njit(**LENT_INNER)
def bar_of(child, n_waiting, n_wanted, limits, leaves, gains, sums, x_log_x):
    """What a leaf must gain to be split at all; infinite where it cannot, as no gain exceeds the leaf's impurity."""
    total = sums[0, child, 0]
    size, ones = total >> SHIFT, total & LOW_HALF
    if size < limits[MIN_SPLIT] or leaves[child, DEPTH] >= limits[MAX_DEPTH] or ones == 0 or ones == size:
        return np.inf
    bar = least_wanted(float(size) if limits[PER_NODE] else 1.0, n_waiting, n_wanted, gains, leaves)
    impurity = float(ones) * float(size - ones) / float(size)
    if x_log_x.size > 0:
        impurity = x_log_x[size] - x_log_x[ones] - x_log_x[size - ones]
    return bar if impurity * (1.0 + 1e-9) > bar else np.inf


@njit(**LENT)
def grow_packed(
    table, labels, root, limits, floors, x_log_x, place, counts, leaves, gains, sums, scratch, split, column, total,
    leaf,
):  # fmt: skip
    """Grow one tree of two unweighted classes; returns its number of leaves. See `trees.grow`."""
    max_leaves, small, min_leaf, n_levels = limits[MAX_LEAVES], limits[SMALL], limits[MIN_LEAF], table.offsets.shape[0]
    d, n = table.columns.order.shape
    n_free, used = plant(counts.shape[0], place, leaves), np.int64(n)
    for i in range(n):
        place.state[i] = labels[i]
    for cell in range(root.size):
        counts[0, cell] = root[cell]
    sums[0, 0, 0] = 0
    for cell in range(table.offsets[0, 1]):
        sums[0, 0, 0] += root[cell]
    total[0, 0] = sums[0, 0, 0]
    n_leaves, n_waiting = ONE, ZERO
    slot, new = ZERO, ZERO
    while n_leaves < max_leaves:
        # After a split both children are looked at; at the start the root is both.
        for child in range(slot, new + 1, max(1, new - slot)):
            gains[child] = NO_SPLIT
            m, h = leaves[child, SIZE], leaves[child, HISTOGRAM]
            bar = bar_of(child, n_waiting, max_leaves - n_leaves, limits, leaves, gains, sums, x_log_x)
            if bar == np.inf:
                continue
            level, best = NONE, NONE
            if m <= small:
                n_picks = pick_columns(d, sums[0, child, 0], scratch.bins, scratch.bounds)
            else:
                level = level_of(FINENESS * m, n, n_levels)
                if h == NONE:
                    h = counts.shape[0] - 1
                    clear(counts[h], table.offsets[level, -1])
                    count_members(counts[h], child, ONE, level, table, place, leaves)
                n_picks, best, bar = pick_bins(
                    counts[h], child, bar, level, min_leaf, n, table.offsets[level], sums, scratch, x_log_x
                )
            look_into(n_picks, best, bar, child, level, min_leaf, table, place, leaves, gains, sums, scratch, x_log_x)
            if gains[child] != NO_SPLIT and gains[child] >= floors[LEAST_GAIN]:
                gains[child] /= float(m) if limits[PER_NODE] else 1.0
                dropped = wait(child, n_waiting, max_leaves - n_leaves, gains, leaves)
                if dropped == NONE:
                    n_waiting += 1
                else:
                    n_free = release(dropped, n_free, leaves)
        if n_waiting == 0:
            break
        n_waiting -= 1
        slot, new = leaves[n_waiting, WAITING], n_leaves
        n_leaves += 1
        split[new - 1] = leaves[slot, NODE]
        column[new - 1] = leaves[slot, COLUMN]
        whole, of_left = sums[0, slot, 0], sums[1, slot, 0]
        left, used = divide(slot, new, of_left >> SHIFT, used, table.columns, place, leaves)
        sums[0, left, 0], sums[0, slot + new - left, 0] = of_left, whole - of_left
        total[2 * new - 1, 0], total[2 * new, 0] = of_left, whole - of_left
        if n_leaves < max_leaves:
            larger_asks = (
                leaves[slot, SIZE] > small
                and bar_of(slot, n_waiting, max_leaves - n_leaves, limits, leaves, gains, sums, x_log_x) < np.inf
            )
            smaller_asks = (
                leaves[new, SIZE] > small
                and bar_of(new, n_waiting, max_leaves - n_leaves, limits, leaves, gains, sums, x_log_x) < np.inf
            )
            n_free = histograms_of_children(slot, new, larger_asks, smaller_asks, n_free, leaves)
            share_counts(slot, new, counts, table, place, leaves)
    for i in range(leaf.size):
        leaf[i] = leaves[place.state[i] >> 1, NODE]
    return n_leaves
