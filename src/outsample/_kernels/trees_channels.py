"""Growing trees of any number of classes, of weighted samples, and of real values; see `trees_channel_gains`."""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER, OPTIONS
from .trees_channel_gains import is_uniform
from .trees_channel_search import search_counted, search_small
from .trees_leaves import (
    COLUMN,
    DEPTH,
    END,
    HISTOGRAM,
    MINUS_ONE,
    NODE,
    NONE,
    ONE,
    SAMPLES,
    SLOT,
    START,
    ZERO,
    divide,
    histograms_of_children,
    plant,
    pop,
    push,
)
from .trees_rules import (
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


@njit(**INNER)
def count_members(counts, slot, sign, codes, offsets, points, place, leaves, n_channels, limits):
    """Add (or take away) the samples of a leaf to a histogram."""
    n, d = codes.shape
    start, end, first, n_classes = leaves[slot, START], leaves[slot, END], limits[FIRST], limits[N_CLASSES]
    # Many members are better met in the order of the table, which is how memory lies.
    in_order = 8 * (end - start) > n
    for q in range(n if in_order else end - start):
        i = q if in_order else np.int64(place[SAMPLES, start + q])
        if in_order and place[SLOT, i] != slot:
            continue
        if n_classes == 0:
            mass, total, square = sign * points[i, first - 1], sign * points[i, first], sign * points[i, first + 1]
            for f in range(d):
                base = (offsets[f] + codes[i, f]) * n_channels
                counts[base] += sign
                if first == 2:
                    counts[base + 1] += mass
                counts[base + first] += total
                counts[base + first + 1] += square
        else:
            code, mass = points[i, 0], sign * points[i, 1]
            for f in range(d):
                base = (offsets[f] + codes[i, f]) * n_channels
                counts[base] += sign
                if first == 2:
                    counts[base + 1] += mass
                if code < n_classes - 1:
                    counts[base + first + code] += mass


@njit(**INNER)
def share_counts(slot, new, counts, codes, offsets, points, place, leaves, n_channels, limits):
    """Histograms of both children: count the smaller child, subtract it from the parent's."""
    h, h_new = leaves[slot, HISTOGRAM], leaves[new, HISTOGRAM]
    if h_new != NONE:
        for cell in range(counts.shape[1]):
            counts[h_new, cell] = 0
        count_members(counts[h_new], new, ONE, codes, offsets, points, place, leaves, n_channels, limits)
        for cell in range(counts.shape[1]):
            counts[h, cell] -= counts[h_new, cell]
    elif h != NONE:
        count_members(counts[h], new, MINUS_ONE, codes, offsets, points, place, leaves, n_channels, limits)


@njit(**OPTIONS)
def grow_channels(
    order, values, rank, codes, edges, solid, offsets, points, limits, floors, x_log_x, place, counts, leaves, gains,
    sums, picks, bounds, split, column, total, leaf, lefts, left, metric,
):  # fmt: skip
    """Grow one tree of any kind; returns its number of leaves. See `trees.grow`."""
    max_leaves, small, n_channels = limits[MAX_LEAVES], limits[SMALL], left.shape[1]
    n_free = plant(counts.shape[0], place, leaves)
    for cell in range(counts.shape[1]):
        counts[0, cell] = 0
    count_members(counts[0], ZERO, ONE, codes, offsets, points, place, leaves, n_channels, limits)
    for v in range(n_channels):
        sums[0, 0, v] = 0
        for b in range(offsets[1]):
            sums[0, 0, v] += counts[0, b * n_channels + v]
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
                    for cell in range(counts.shape[1]):
                        counts[h, cell] = 0
                    count_members(counts[h], child, ONE, codes, offsets, points, place, leaves, n_channels, limits)
                search_counted(
                    counts[h], child, limits, floors[SQUARE_UNIT], order, values, edges, solid, offsets, points, place,
                    leaves, gains, sums, picks[0], lefts, bounds, left[0], left[1], metric, x_log_x,
                )  # fmt: skip
            if gains[child] != NO_SPLIT and gains[child] >= floors[LEAST_GAIN]:
                if limits[PER_NODE]:
                    gains[child] /= float(sums[0, child, limits[FIRST] - 1])
                push(child, n_waiting, gains, leaves)
                n_waiting += 1
        if n_waiting == 0:
            break
        slot, new = pop(n_waiting, gains, leaves), n_leaves
        n_waiting -= 1
        n_leaves += 1
        split[new - 1] = leaves[slot, NODE]
        column[new - 1] = leaves[slot, COLUMN]
        left_slot = divide(slot, new, sums[1, slot, 0], order, rank, place, leaves)
        for v in range(n_channels):
            of_left, of_right = sums[1, slot, v], sums[0, slot, v] - sums[1, slot, v]
            sums[0, left_slot, v], sums[0, slot + new - left_slot, v] = of_left, of_right
            total[2 * new - 1, v], total[2 * new, v] = of_left, of_right
        if n_leaves < max_leaves:
            n_free = histograms_of_children(slot, new, small, n_free, leaves)
            share_counts(slot, new, counts, codes, offsets, points, place, leaves, n_channels, limits)
    for i in range(leaf.size):
        leaf[i] = leaves[place[SLOT, i], NODE]
    return n_leaves
