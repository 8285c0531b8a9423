"""The best split of a leaf for any number of classes, for weighted samples and for real values.

Exact, though most bins are never opened: only where bounds leave a split inside a bin a chance to gain more than the
best split so far. Of `of_values` and `of_classes` one is True and the other None: the compiler drops that half.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT, LENT_INNER
from outsample._kernels.trees.classes import near_bins, pick_few, pick_many, prepare_metric, scan_classes
from outsample._kernels.trees.gains import (
    LOW_HALF,
    NO_SPLIT,
    SHIFT,
    a_little_less,
    gain_of_classes,
    gain_of_values,
    is_uniform,
    sum_members,
    take,
)
from outsample._kernels.trees.histograms import count_child
from outsample._kernels.trees.leaves import NO, NONE, ONE, ZERO, divide, find_members, least_wanted, release, wait
from outsample._kernels.trees.values import pick_values, scan_values


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
    keys : for listing members in the order of a column
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


def make_scratch(cells: int, columns: int, n_channels: int, n_classes: int, keys: NDArray[np.int64]) -> Scratch:
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
    )


@njit(**LENT_INNER)
def count_labels(counts, cells, points, rules, of_values, of_classes):
    """Add the labels of all samples to a histogram that knows the rest of them."""
    n, d = cells.shape
    first, n_channels = rules.first, rules.n_channels
    for i in range(n):
        if of_values is not None:
            total, square = points[first, i], points[first + 1, i]
            for f in range(d):
                base = cells[i, f] * n_channels + first
                counts[np.uint32(base)] += total
                counts[np.uint32(base + 1)] += square
        if of_classes is not None:
            code, mass = first + points[0, i], points[1, i]
            if code < n_channels:
                for f in range(d):
                    counts[np.uint32(cells[i, f] * n_channels + code)] += mass


@njit(**LENT)
def grow_channels(
    table, points, rules, x_log_x, place, counts, sums, scratch, split, column, total, of_values, of_classes, of_few,
    of_many,
):  # fmt: skip
    """Grow one tree of any kind; returns its number of leaves. See `trees.grow`."""
    (d, n), n_channels = table.columns.order.shape, rules.n_channels
    samples, state, leaves, waiting = place.samples, place.state, place.leaves, place.waiting
    n_free, used = counts.shape[0] - 2, np.int64(n)
    count_labels(counts[0], table.cells, points, rules, of_values, of_classes)
    for v in range(n_channels):
        sums[0, v] = 0
        for b in range(table.offsets[0, 1]):
            sums[0, v] += counts[0, b * n_channels + v]
        total[0, v] = sums[0, v]
    n_leaves, n_waiting, slot, new = ONE, ZERO, ZERO, ZERO
    while n_leaves < rules.max_leaves:
        shared, n_wanted = NO, rules.max_leaves - n_leaves
        # After a split both children are looked at, the smaller one first; at the start the root.
        for turn in range(min(n_leaves, 2)):
            child = new if turn == 0 else slot
            leaf, dropped = leaves[child], child
            leaf.gain = NO_SPLIT
            if not (
                leaf.n_samples < rules.min_split
                or leaf.depth >= rules.max_depth
                or is_uniform(child, leaf, points, rules, samples, state, sums[child], of_values, of_classes)
            ):
                unit = float(sums[child, rules.first - 1]) if rules.per_node else 1.0
                bar = least_wanted(unit, n_waiting, n_wanted, leaves, waiting)
                if of_classes is not None:
                    prepare_metric(sums[child], rules, scratch.metric)
                h, n_picks = ZERO, np.int64(d)
                if leaf.n_samples <= rules.small:
                    n_free = release(leaf, n_free, place.free)
                    leaf.level = NONE
                    pick_columns(d, scratch.picks, scratch.bounds, scratch.lefts)
                else:
                    if n_leaves > 1:
                        h, shared, n_free = count_child(
                            child, slot, new, shared, n_free, counts, points, table, place, rules, None, of_values,
                            of_classes,
                        )  # fmt: skip
                    known, offsets, solid = sums[child], table.offsets[leaf.level], table.solid[leaf.level]
                    if of_values is not None:
                        n_picks, bar = pick_values(counts[h], known, bar, leaf.level, n, rules, offsets, solid, scratch)
                    if of_classes is not None:
                        n_picks, bar = near_bins(counts[h], known, bar, rules, offsets, scratch, x_log_x)
                    if of_few is not None:
                        n_picks = pick_few(n_picks, counts[h], known, bar, rules, offsets, solid, scratch, x_log_x)
                    if of_many is not None:
                        n_picks = pick_many(n_picks, counts[h], known, bar, rules, offsets, solid, scratch, x_log_x)
                look_into(
                    n_picks, bar, counts[h], child, rules, table, points, place, sums[child], scratch, x_log_x,
                    of_values, of_classes,
                )  # fmt: skip
                if leaf.gain != NO_SPLIT and leaf.gain >= rules.least_gain:
                    leaf.gain /= unit
                    dropped = wait(child, n_waiting, n_wanted, leaves, waiting)
            if dropped == NONE:
                n_waiting += 1
            else:
                n_free = release(leaves[dropped], n_free, place.free)
        if n_waiting == 0:
            break
        n_waiting -= 1
        slot, new = waiting[n_waiting], n_leaves
        n_leaves += 1
        leaf = leaves[slot]
        split[new - 1], column[new - 1] = leaf.node, leaf.column
        left_slot, used = divide(slot, new, leaf.left, used, table.columns, place)
        sum_members(leaves[new], points, rules, samples, sums[new], of_values, of_classes)
        for v in range(n_channels):
            sums[slot, v] -= sums[new, v]
            total[2 * new - 1, v] = sums[left_slot, v]
            total[2 * new, v] = sums[slot + new - left_slot, v]
    return n_leaves
