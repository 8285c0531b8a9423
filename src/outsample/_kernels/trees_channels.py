"""Growing trees of any number of classes, of weighted samples, and of real values; see `trees_channel_gains`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .fetching import fetch_row
from .options import LENT, LENT_INNER
from .trees_channel_gains import is_uniform, sum_members
from .trees_channel_search import look_into, pick_columns
from .trees_classes import pick_classes, prepare_metric
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
from .trees_rules import (
    FINE,
    FIRST,
    LEAST_GAIN,
    MAX_DEPTH,
    MAX_LEAVES,
    MIN_SPLIT,
    N_CLASSES,
    NO_SPLIT,
    PER_NODE,
    SMALL,
    SQUARE_UNIT,
)
from .trees_values import pick_values


class Scratch(NamedTuple):
    """Room for the search of one leaf.

    Attributes
    ----------
    sides, far, room : per edge what lies left of it, the squared distance and the product of the masses; for classes of
        all bins, for real values of all groups of bins, and then of the bins of marked groups
    marked : which groups or bins to look into
    exact : for real values, what lies left of each group as integers
    reach, near, corners : for classes, see `trees_classes`
    picks, lefts, bounds : bins that may hold the best split, the sums left of them, and their bounds
    left, metric : sums of two left sides; what `trees_classes.prepare_metric` writes, and room for sums
    keys, tally : for listing members in the order of a column
    """

    exact: NDArray[np.int64]
    sides: NDArray[np.float64]
    far: NDArray[np.float64]
    room: NDArray[np.float64]
    marked: NDArray[np.bool_]
    reach: NDArray[np.float64]
    near: NDArray[np.float64]
    corners: NDArray[np.int64]
    picks: NDArray[np.int64]
    lefts: NDArray[np.int64]
    bounds: NDArray[np.float64]
    left: NDArray[np.int64]
    metric: NDArray[np.float64]
    keys: NDArray[np.int64]
    tally: NDArray[np.int32]


def make_scratch(
    cells: int, columns: int, n_channels: int, n_classes: int, keys: NDArray[Any], tally: NDArray[Any]
) -> Scratch:
    """Room for so many cells; `n_classes` is 0 for real values."""
    edges, near = cells + columns, cells if n_classes else 0
    far, room, reach = np.empty((3, edges))
    return Scratch(
        exact=np.empty((0 if n_classes else edges, n_channels), np.int64),
        sides=np.empty((max(n_classes, 3) + 2, edges)),
        far=far,
        room=room,
        marked=np.empty(edges, np.bool_),
        reach=reach,
        near=np.empty((2 * n_classes + 7, near)),
        corners=np.empty(near, np.int64),
        picks=np.empty(cells, np.int64),
        lefts=np.empty((cells + 1, n_channels), np.int64),
        bounds=np.empty(cells),
        left=np.empty((2, n_channels), np.int64),
        metric=np.empty((4, max(n_classes, 2))),
        keys=keys,
        tally=tally,
    )


@njit(**LENT_INNER)
def count_labels(counts, cells, points, n_channels, limits, of_classes, of_values):
    """Add the labels of all samples to a histogram that knows the rest of them."""
    n, d = cells.shape
    first = limits[FIRST]
    for i in range(n):
        if of_values is not None:
            total, square = points[first, i], points[first + 1, i]
            for f in range(d):
                base = cells[i, f] * n_channels + first
                counts[np.uint32(base)] += total
                counts[np.uint32(base + 1)] += square
        if of_classes is not None:
            code, mass = points[0, i], points[1, i]
            if code < limits[N_CLASSES] - 1:
                for f in range(d):
                    counts[np.uint32(cells[i, f] * n_channels + first + code)] += mass


@njit(**LENT_INNER)
def count_members(counts, slot, sign, level, table, points, place, leaves, n_channels, limits, of_classes, of_values):
    """Add (or take away) the samples of a leaf to a histogram."""
    cells, cell_at, samples, state = table.cells, table.cell_at[level], place.samples, place.state
    start, end, first, d = leaves[slot, START], leaves[slot, END], limits[FIRST], cells.shape[1]
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end)
        if np.int64(state[i]) >> 1 != slot:
            continue
        if of_values is not None:
            mass, total, square = sign * points[first - 1, i], sign * points[first, i], sign * points[first + 1, i]
            if level == 0 and first == 1:
                # Nearly always: no lookup and no masses.
                for f in range(d):
                    base = 3 * cells[i, f]
                    counts[np.uint32(base)] += sign
                    counts[np.uint32(base + 1)] += total
                    counts[np.uint32(base + 2)] += square
                continue
            for f in range(d):
                base = cell_at[cells[i, f]] * n_channels
                counts[np.uint32(base)] += sign
                if first == 2:
                    counts[np.uint32(base + 1)] += mass
                counts[np.uint32(base + first)] += total
                counts[np.uint32(base + first + 1)] += square
        if of_classes is not None:
            code, mass = points[0, i], sign * points[1, i]
            for f in range(d):
                base = cell_at[cells[i, f]] * n_channels
                counts[np.uint32(base)] += sign
                if first == 2:
                    counts[np.uint32(base + 1)] += mass
                if code < limits[N_CLASSES] - 1:
                    counts[np.uint32(base + first + code)] += mass


@njit(**LENT_INNER)
def share_counts(slot, new, counts, table, points, place, leaves, n_channels, limits, of_classes, of_values):
    """Histograms of both children, from the parent's: what the smaller one has, the larger one has not."""
    n, n_levels, fine = place.state.size, table.offsets.shape[0], limits[FINE]
    h, h_new = leaves[slot, HISTOGRAM], leaves[new, HISTOGRAM]
    larger, smaller = leaves[slot, SIZE], leaves[new, SIZE]
    level, level_new = level_of(fine * (larger + smaller), n, n_levels), level_of(fine * smaller, n, n_levels)
    if h_new != NONE:
        clear(counts[h_new], table.offsets[level_new, -1] * n_channels)
        count_members(
            counts[h_new], new, ONE, level_new, table, points, place, leaves, n_channels, limits, of_classes, of_values
        )
    if h == NONE:
        return
    if h_new != NONE and level_new == level:
        for cell in range(table.offsets[level, -1] * n_channels):
            counts[h, cell] -= counts[h_new, cell]
    else:
        count_members(
            counts[h], new, MINUS_ONE, level, table, points, place, leaves, n_channels, limits, of_classes, of_values
        )
    fold_histogram(counts[h], n_channels, level, level_of(fine * larger, n, n_levels), table)


@njit(**LENT)
def grow_channels(
    table, points, root, limits, floors, x_log_x, place, counts, leaves, gains, sums, scratch, split, column, total,
    leaf, of_classes, of_values,
):  # fmt: skip
    """Grow one tree of any kind; returns its number of leaves. See `trees.grow`."""
    max_leaves, small, n_channels = limits[MAX_LEAVES], limits[SMALL], sums.shape[2]
    d, n = table.columns.order.shape
    n_free, used = plant(counts.shape[0], place, leaves), np.int64(n)
    for i in range(n):
        place.state[i] = 0
    for cell in range(root.size):
        counts[0, cell] = root[cell]
    count_labels(counts[0], table.cells, points, n_channels, limits, of_classes, of_values)
    for v in range(n_channels):
        sums[0, 0, v] = 0
        for b in range(table.offsets[0, 1]):
            sums[0, 0, v] += counts[0, b * n_channels + v]
        total[0, v] = sums[0, 0, v]
    n_leaves, n_waiting = ONE, ZERO
    slot, new = ZERO, ZERO
    while n_leaves < max_leaves:
        # After a split both children are looked at; at the start the root is both.
        for child in range(slot, new + 1, max(1, new - slot)):
            gains[child] = NO_SPLIT
            m = leaves[child, SIZE]
            if (
                m < limits[MIN_SPLIT]
                or leaves[child, DEPTH] >= limits[MAX_DEPTH]
                or is_uniform(child, points, limits, floors, place, leaves, sums, of_classes, of_values)
            ):
                continue
            h, mass = leaves[child, HISTOGRAM], float(sums[0, child, limits[FIRST] - 1])
            unit = mass if limits[PER_NODE] else 1.0
            bar = least_wanted(unit, n_waiting, max_leaves - n_leaves, gains, leaves)
            if of_classes is not None:
                prepare_metric(sums[0, child], limits, scratch.metric)
            level, n_picks = NONE, ZERO
            if m <= small:
                n_picks = pick_columns(d, scratch)
            else:
                level = level_of(limits[FINE] * m, n, table.offsets.shape[0])
                if h == NONE:
                    h = counts.shape[0] - 1
                    clear(counts[h], table.offsets[level, -1] * n_channels)
                    count_members(
                        counts[h], child, ONE, level, table, points, place, leaves, n_channels, limits, of_classes,
                        of_values,
                    )  # fmt: skip
                offsets, solid = table.offsets[level], table.solid[level]
                if of_values is not None:
                    n_picks, bar = pick_values(
                        counts[h], sums[0, child], bar, level, n, limits, floors[SQUARE_UNIT], offsets, solid, scratch
                    )
                if of_classes is not None:
                    n_picks, bar = pick_classes(
                        counts[h], sums[0, child], bar, limits, offsets, solid, scratch, x_log_x
                    )
            look_into(
                n_picks, bar, counts[h], child, level, limits, table, points, place, leaves, gains, sums, scratch,
                x_log_x, of_classes, of_values,
            )  # fmt: skip
            if gains[child] != NO_SPLIT and gains[child] >= floors[LEAST_GAIN]:
                gains[child] /= unit
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
        left_slot, used = divide(slot, new, sums[1, slot, 0], used, table.columns, place, leaves)
        sum_members(new, points, limits, place, leaves, sums, of_classes, of_values)
        for v in range(n_channels):
            sums[0, slot, v] -= sums[0, new, v]
            total[2 * new - 1, v] = sums[0, left_slot, v]
            total[2 * new, v] = sums[0, slot + new - left_slot, v]
        if n_leaves < max_leaves:
            larger_asks, smaller_asks = leaves[slot, SIZE] > small, leaves[new, SIZE] > small
            n_free = histograms_of_children(slot, new, larger_asks, smaller_asks, n_free, leaves)
            share_counts(slot, new, counts, table, points, place, leaves, n_channels, limits, of_classes, of_values)
    for i in range(leaf.size):
        leaf[i] = leaves[place.state[i] >> 1, NODE]
    return n_leaves
