"""The best split of a leaf for any number of classes, for weighted samples and for real values.

Exact, though most bins are never opened: only where bounds leave a split inside a bin a chance to gain more than the
best split so far. Of `of_classes` and `of_values` one is True and the other None: the compiler drops that half.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER
from .trees_channel_gains import gain_of_classes, gain_of_values, take
from .trees_classes import measure_classes, pick_classes, prepare_metric, scan_classes
from .trees_leaves import ZERO, bins_together, find_members, level_of
from .trees_rules import ENTROPY, FINE, FIRST, LOW_HALF, SHIFT, a_little_less
from .trees_values import mark_values, measure_values, pick_values, scan_values, sum_value_groups


@njit(**LENT_INNER)
def search_counted(
    counts, slot, bar, limits, square_unit, table, points, place, leaves, gains, sums, scratch, x_log_x, of_classes,
    of_values,
):  # fmt: skip
    """Best split that gains more than `bar`, of a leaf with a histogram.

    The best edge of bins, or of groups of bins, gains no more than the best split does. The most promising of the bins
    that may gain more is looked into first, and then those that may still gain more.
    """
    total = sums[0, slot]
    level = level_of(limits[FINE] * total[0], place.state.size, table.offsets.shape[0])
    offsets, solid = table.offsets[level], table.solid[level]
    mass = float(total[limits[FIRST] - 1])
    rounding, n_picks = mass if limits[ENTROPY] else 0.0, 0
    if of_values is not None:
        far, room, step = scratch.far, scratch.room, bins_together(total[0], place.state.size, level)
        n_edges = sum_value_groups(counts, step, limits[FIRST], offsets, scratch.exact, scratch.sides)
        bar = max(bar, a_little_less(measure_values(total, n_edges, limits, scratch.sides, far, room), 0.0))
        mark_values(n_edges, mass, bar * mass, square_unit, scratch.sides, far, room, scratch.marked)
        n_picks = pick_values(counts, total, bar, limits, square_unit, step, offsets, solid, scratch)
    if of_classes is not None:
        prepare_metric(total, limits, scratch.metric)
        bar = max(bar, a_little_less(measure_classes(counts, total, limits, offsets, scratch, x_log_x), rounding))
        n_picks = pick_classes(counts, total, bar, limits, offsets, solid, scratch, x_log_x)
    best = 0
    for k in range(n_picks):
        best = k if scratch.bounds[k] > scratch.bounds[best] else best
    # The most promising bin before all others, only for the bar; then all in order.
    for k in range(-1, n_picks):
        pick = best if k < 0 else k
        if n_picks > 0 and scratch.bounds[pick] > bar:
            raised = search_bin(
                counts, scratch.picks[pick], scratch.lefts[pick], bar, slot, limits, level, table, points, place,
                leaves, gains, sums, scratch, x_log_x, of_classes, of_values,
            )  # fmt: skip
            bar = raised if k >= 0 else max(bar, a_little_less(gains[slot], rounding))


@njit(**LENT_INNER)
def search_bin(
    counts, pick, before, bar, slot, limits, level, table, points, place, leaves, gains, sums, scratch, x_log_x,
    of_classes, of_values,
):  # fmt: skip
    """Try every split inside a bin and the one at its end; `before` it lie these sums. Returns the next bar."""
    f, cell, first, total = pick >> SHIFT, pick & LOW_HALF, limits[FIRST], sums[0, slot]
    b = cell - table.offsets[level, f]
    start, end = np.int64(table.edges[level, f, b]), np.int64(table.edges[level, f, b + 1])
    if not table.solid[level, f, b]:
        bar = scan(
            f, start, end, before, bar, slot, limits, table.columns, points, place, leaves, gains, sums, scratch,
            x_log_x, of_classes, of_values,
        )  # fmt: skip
    left = scratch.left[1]
    for v in range(left.size):
        left[v] = before[v] + counts[cell * left.size + v]
    if left[0] == total[0]:
        return bar
    gain = 0.0
    if of_values is not None:
        mass_left, sum_left = float(left[first - 1]), float(left[first])
        gain = gain_of_values(mass_left, sum_left, float(total[first - 1]), float(total[first]))
    if of_classes is not None:
        gain = gain_of_classes(left, total, limits, x_log_x)
    return take(gain, left[0], f, end, bar, slot, limits, sums, gains, leaves)


@njit(**LENT_INNER)
def scan(
    f, start, end, before, bar, slot, limits, columns, points, place, leaves, gains, sums, scratch, x_log_x,
    of_classes, of_values,
):  # fmt: skip
    """Try every split between the leaf's samples at positions `start` … `end` − 1 of column f; returns the next bar.

    `before` them lie these sums.
    """
    values = columns.values[f]
    found = find_members(f, slot, start, end, columns, place, leaves, scratch.keys, scratch.tally)
    if of_values is not None:
        bar = scan_values(f, found, before, bar, slot, limits, values, points, leaves, gains, sums, scratch.keys[0])
    if of_classes is not None:
        bar = scan_classes(f, found, before, bar, slot, limits, values, points, leaves, gains, sums, scratch, x_log_x)
    return bar


@njit(**LENT_INNER)
def search_small(
    slot, bar, limits, columns, points, place, leaves, gains, sums, scratch, x_log_x, of_classes, of_values
):
    """Best split that gains more than `bar`, of a leaf so small that sorting is cheaper than counting in bins."""
    d, n = columns.order.shape
    nothing = scratch.left[1]
    for v in range(nothing.size):
        nothing[v] = 0
    if of_classes is not None:
        prepare_metric(sums[0, slot], limits, scratch.metric)
    for f in range(d):
        bar = scan(
            f, ZERO, n, nothing, bar, slot, limits, columns, points, place, leaves, gains, sums, scratch, x_log_x,
            of_classes, of_values,
        )  # fmt: skip
