"""Trees of any number of classes, of weighted samples, and of real values, grown best leaf first."""

from __future__ import annotations

from numba import njit

from .options import OPTIONS
from .trees_channel_counts import count_leaf, share_counts
from .trees_channel_gains import is_uniform, mass_of, size_of
from .trees_channel_search import search_counted, search_small
from .trees_leaves import (
    COLUMN,
    DEPTH,
    END,
    HISTOGRAM,
    NODE,
    NONE,
    ONE,
    SLOT,
    START,
    ZERO,
    divide,
    histograms_of_children,
    plant,
    pop,
    push,
)
from .trees_rules import LEAST_GAIN, MAX_DEPTH, MAX_LEAVES, MIN_SPLIT, NO_SPLIT, PER_NODE, SMALL, SQUARE_UNIT


@njit(**OPTIONS)
def grow_channels(
    order, values, rank, codes, bins, solid, offsets, points, limits, floors, x_log_x, place, counts, leaves, gains,
    sums, picks, bounds, split, column, total, leaf, lefts, edges, left, metric, corners,
):  # fmt: skip
    """Grow one tree; returns its number of leaves. See `trees.grow`."""
    max_leaves, small, n_channels = limits[MAX_LEAVES], limits[SMALL], sums.shape[2]
    n_free = plant(counts.shape[0], place, leaves)
    count_leaf(counts[0], ZERO, codes, offsets, points, place, leaves, limits)
    for v in range(n_channels):
        sums[0, 0, v] = 0
        for b in range(offsets[1]):
            sums[0, 0, v] += counts[0, v, b]
        total[0, v] = sums[0, 0, v]
    n_leaves, n_waiting = ONE, ZERO
    slot, new = ZERO, ZERO
    while n_leaves < max_leaves:
        # After a split both children are looked at; at the start the root is both.
        for child in range(slot, new + 1, max(1, new - slot)):
            gains[child] = NO_SPLIT
            m = leaves[child, END] - leaves[child, START]
            if (
                m < limits[MIN_SPLIT]
                or leaves[child, DEPTH] >= limits[MAX_DEPTH]
                or is_uniform(child, points, limits, floors, place, leaves, sums)
            ):
                continue
            h = leaves[child, HISTOGRAM]
            if m <= small:
                search_small(
                    child, limits, values, rank, points, place, leaves, gains, sums, picks[0], left[0], x_log_x
                )
            else:
                if h == NONE:
                    h = counts.shape[0] - 1
                    count_leaf(counts[h], child, codes, offsets, points, place, leaves, limits)
                search_counted(
                    counts[h], child, limits, floors[SQUARE_UNIT], order, values, bins, solid, offsets, points, place,
                    leaves, gains, sums, picks, bounds, lefts, edges, left[0], left[1], left[2], metric, corners,
                    x_log_x,
                )  # fmt: skip
            if gains[child] != NO_SPLIT and gains[child] >= floors[LEAST_GAIN]:
                if limits[PER_NODE]:
                    gains[child] /= mass_of(sums[0, child], limits)
                push(child, n_waiting, gains, leaves)
                n_waiting += 1
        if n_waiting == 0:
            break
        slot, new = pop(n_waiting, gains, leaves), n_leaves
        n_waiting -= 1
        n_leaves += 1
        split[new - 1] = leaves[slot, NODE]
        column[new - 1] = leaves[slot, COLUMN]
        left_slot = divide(slot, new, size_of(sums[1, slot], limits), order, rank, place, leaves)
        for v in range(n_channels):
            of_left, of_right = sums[1, slot, v], sums[0, slot, v] - sums[1, slot, v]
            sums[0, left_slot, v], sums[0, slot + new - left_slot, v] = of_left, of_right
            total[2 * new - 1, v], total[2 * new, v] = of_left, of_right
        if n_leaves < max_leaves:
            n_free = histograms_of_children(slot, new, small, n_free, leaves)
            share_counts(slot, new, counts, codes, offsets, points, place, leaves, limits)
    for i in range(leaf.size):
        leaf[i] = leaves[place[SLOT, i], NODE]
    return n_leaves
