"""The best split of a leaf for any number of classes, for weighted samples and for real values.

Exact, though most bins are never opened: only where bounds leave a split inside a bin a chance to gain more than the
best split so far. Of `of_values` and `of_classes` one is True and the other None: the compiler drops that half.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER
from .trees_channel_gains import gain_of_classes, gain_of_values, take
from .trees_classes import scan_classes
from .trees_leaves import NONE, ZERO, find_members
from .trees_rules import LOW_HALF, SHIFT, a_little_less
from .trees_values import scan_values


@njit(**LENT_INNER)
def pick_columns(d, picks, bounds, lefts):
    """Pick every column as one bin, for a leaf so small that sorting is cheaper than counting."""
    for f in range(d):
        picks[f], bounds[f] = np.int64(f) << SHIFT, np.inf
        for v in range(lefts.shape[1]):
            lefts[f, v] = 0


@njit(**LENT_INNER)
def look_into(
    n_picks, bar, counts, slot, rules, table, points, place, total, scratch, x_log_x, of_values, of_classes
):  # fmt: skip
    """Best split that gains more than `bar`, in or at the end of the picked bins; level NONE: in whole columns."""
    leaf, left, first, best = place.leaves[slot], scratch.left[1], rules.first, NONE
    columns, keys, mass, level = table.columns, scratch.keys, float(total[first - 1]), leaf.level
    order, rank = columns.order, columns.rank
    for k in range(n_picks if level != NONE else 0):
        best = np.int64(k) if best == NONE or scratch.bounds[k] > scratch.bounds[best] else best
    # The most promising bin before all others, only for the bar; then all in order.
    for k in range(-1, n_picks):
        pick = best if k < 0 else k
        if pick == NONE or not scratch.bounds[pick] > bar:
            continue
        f, cell, before = scratch.picks[pick] >> SHIFT, scratch.picks[pick] & LOW_HALF, scratch.lefts[pick]
        start, end, solid, raised = ZERO, np.int64(place.state.size), False, bar
        if level != NONE:
            b = cell - table.offsets[level, f]
            start, end = np.int64(table.edges[level, f, b]), np.int64(table.edges[level, f, b + 1])
            solid = table.solid[level, f, b]
        if not solid:
            found = find_members(f, slot, leaf, start, end, order, rank, place.samples, place.state, keys)
            values = columns.values[f]
            if of_values is not None:
                raised = scan_values(f, found, before, raised, leaf, total, rules, values, points, keys[0])
            if of_classes is not None:
                raised = scan_classes(
                    f, found, before, raised, leaf, total, rules, values, points, keys[0], scratch.left[0],
                    scratch.metric, x_log_x,
                )  # fmt: skip
        if level == NONE:
            bar = raised
            continue
        for v in range(left.size):
            left[v] = before[v] + counts[cell * left.size + v]
        if left[0] < total[0]:
            gain = 0.0
            if of_values is not None:
                gain = gain_of_values(float(left[first - 1]), float(left[first]), mass, float(total[first]))
            if of_classes is not None:
                gain = gain_of_classes(left, total, rules, x_log_x)
            raised = take(gain, left[0], f, end, raised, leaf, mass, rules)
        bar = raised if k >= 0 else max(bar, a_little_less(leaf.gain, mass if rules.entropy else 0.0))
