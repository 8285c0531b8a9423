"""The growth of one tree, best leaf first, for every kind of labels, and the search for the best split of a leaf.

The kinds differ in how samples are summed up and how bins are bounded: two classes without weights in packed counts
(`two_classes`), several or weighted classes (`classes`) and real values (`values`) in channels of int64. Arguments of
the form `of_two` say which kind is meant: the ones that apply are True, the others None, and numba drops the code
guarded by those. Functions as arguments would do the same, but numba cannot keep such kernels on disk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from outsample._kernels.options import LENT, LENT_INNER, MERGED
from outsample._kernels.trees.classes import near_bins, pick_few, pick_many, prepare_metric, scan_classes
from outsample._kernels.trees.gains import (
    LOW_HALF,
    NO_SPLIT,
    SHIFT,
    gain_of_classes,
    gain_of_values,
    is_uniform,
    just_below,
    sum_samples,
    take,
)
from outsample._kernels.trees.histograms import count_child, count_labels
from outsample._kernels.trees.leaves import NO, NONE, ONE, ZERO, divide, find_samples
from outsample._kernels.trees.two_classes import may_gain, node_of, pick_bins, scan_two, take_edge
from outsample._kernels.trees.values import pick_values, scan_values
from outsample.running.arrays import Bools, Floats, Integers


class ChannelScratch(NamedTuple):
    """Memory for the search of one leaf with channels; `two_classes` has its own.

    Attributes
    ----------
    sides, far, room : per edge the sums left of it, the squared distance and the product of the masses; for classes of
        all bins, for real values of all groups of bins, and then of the bins of marked groups
    marked : which groups or bins may hold the best split
    exact : for real values, the sums left of each group as integers
    reach, near, corners : for classes, see `classes`
    picks, lefts, bounds : of the bins that may hold the best split: column · 2³² + cell, the sums left of them, and the
        upper bound on their gains
    left, metric : the sums of two left sides; see `classes.prepare_metric`
    keys : (2, n + 1) the samples of a bin in the order of its column, see `find_samples`
    """

    exact: Integers
    sides: Floats
    far: Floats
    room: Floats
    marked: Bools
    reach: Floats
    near: Floats
    corners: Integers
    picks: Integers
    lefts: Integers
    bounds: Floats
    left: Integers
    metric: Floats
    keys: Integers


def make_channel_scratch(cells: int, columns: int, n_channels: int, n_classes: int, keys: Integers) -> ChannelScratch:
    """Memory for tables with so many histogram cells; `n_classes` is 0 for real values."""
    edges, near = cells + columns, cells if n_classes else 0
    far, room, reach = np.empty((3, edges))
    return ChannelScratch(
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
def precedes(a, b):
    """Whether leaf a is split before leaf b: the larger gain first, among equal gains the older node."""
    return a.gain > b.gain or (a.gain == b.gain and a.node < b.node)


@njit(**LENT_INNER)
def wait(slot, n_waiting, n_wanted, leaves, waiting):
    """Add a leaf to those that wait to be split; returns the leaf that is dropped, or NONE.

    If only `n_wanted` more leaves can be split, a leaf with so many before it never will be.
    """
    leaf, dropped = leaves[slot], NONE
    if n_waiting == n_wanted:
        dropped = waiting[0]
        if not precedes(leaf, leaves[dropped]):
            return slot
        n_waiting -= 1
        for k in range(n_waiting):
            waiting[k] = waiting[k + 1]
    k = n_waiting
    while k > 0 and precedes(leaves[waiting[k - 1]], leaf):
        waiting[k] = waiting[k - 1]
        k -= 1
    waiting[k] = slot
    return dropped


@njit(**LENT_INNER)
def least_wanted(unit, n_waiting, n_wanted, leaves, waiting):
    """A gain just below what a leaf needs in order to be split at all; gains are compared in this unit."""
    return leaves[waiting[0]].gain * unit * (1.0 - 1e-9) if n_waiting == n_wanted else NO_SPLIT


@njit(**LENT_INNER)
def release(leaf, n_free, free):
    """Free the histogram of a leaf, if it has one; returns the number of free ones."""
    if leaf.histogram == NONE:
        return n_free
    free[n_free] = leaf.histogram
    leaf.histogram = NONE
    return n_free + 1


@njit(**MERGED)
def pick_columns(d, leaf, points, scratch, of_two):
    """List every column as one bin, for a leaf so small that sorting is cheaper than counting."""
    for f in range(d):
        scratch.picks[f], scratch.bounds[f] = np.int64(f) << SHIFT, np.inf
        if of_two is not None:
            scratch.befores[f], scratch.afters[f] = 0, leaf.total
        if points is not None:
            for v in range(scratch.lefts.shape[1]):
                scratch.lefts[f, v] = 0


@njit(**MERGED)
def scan_bins(
    n_picks, bar, counts, slot, rules, table, points, place, total, scratch, x_log_x, of_two, of_values, of_classes
):  # fmt: skip
    """Find the best split that gains more than `bar` in or at the end of the listed bins; level NONE: whole columns."""
    leaf, entropy, first, best = place.leaves[slot], rules.entropy != 0, rules.first, NONE
    columns, picks, bounds, keys, level = table.columns, scratch.picks, scratch.bounds, scratch.keys, leaf.level
    order, rank, mass = columns.order, columns.rank, float(leaf.n_samples)
    if of_two is not None:
        node = node_of(leaf.total, entropy)
    if points is not None:
        mass, left = float(total[first - 1]), scratch.left[1]
    for k in range(n_picks if level != NONE else 0):
        best = np.int64(k) if best == NONE or bounds[k] > bounds[best] else best
    # The bin with the largest bound comes first, only to raise the bar; then all bins in order, for ties.
    for k in range(-1, n_picks):
        pick = best if k < 0 else k
        if pick == NONE or not bounds[pick] > bar:
            continue
        f, cell = picks[pick] >> SHIFT, picks[pick] & LOW_HALF
        start, end, solid, raised = ZERO, np.int64(place.state.size), False, bar
        if level != NONE:
            b = cell - table.offsets[level, f]
            start, end = np.int64(table.edges[level, f, b]), np.int64(table.edges[level, f, b + 1])
            solid = table.solid[level, f, b]
        if of_two is not None:
            before, after = scratch.befores[pick], scratch.afters[pick]
            solid = solid or (after - before) >> SHIFT <= 1
        if not solid:
            found = find_samples(f, slot, leaf, start, end, order, rank, place.samples, place.state, keys)
            values = columns.values[f]
            if of_two is not None:
                raised = scan_two(f, found, before, after, raised, leaf, rules.min_leaf, node, values, keys[0], x_log_x)
            if of_values is not None:
                raised = scan_values(f, found, scratch.lefts[pick], raised, leaf, total, rules, values, points, keys[0])
            if of_classes is not None:
                raised = scan_classes(
                    f, found, scratch.lefts[pick], raised, leaf, total, rules, values, points, keys[0],
                    scratch.left[0], scratch.metric, x_log_x,
                )  # fmt: skip
        if of_two is not None:
            raised = take_edge(after, f, end, raised, leaf, rules.min_leaf, node, x_log_x)
        if points is not None:
            for v in range(left.size if level != NONE else 0):
                left[v] = scratch.lefts[pick, v] + counts[cell * left.size + v]
            if level != NONE and left[0] < total[0]:
                gain = 0.0
                if of_values is not None:
                    gain = gain_of_values(float(left[first - 1]), float(left[first]), mass, float(total[first]))
                if of_classes is not None:
                    gain = gain_of_classes(left, total, rules, x_log_x)
                raised = take(gain, left[0], f, end, raised, leaf, mass, rules)
        bar = raised if k >= 0 else max(bar, just_below(leaf.gain, mass if entropy else 0.0))


@njit(**LENT)
def grow_tree(
    table, points, rules, x_log_x, place, counts, sums, scratch, split, column, total, of_two, of_values, of_classes,
    of_few, of_many,
):  # fmt: skip
    """Grow one tree; returns its number of leaves. See `trees.grow`.

    sums : (leaves, channels) of each slot; two classes have theirs in `place.leaves`
    points : None for two classes, whose labels are in `place.state`
    of_few, of_many : for classes, whether there are few enough to bound a bin by its corners
    """
    (d, n), leaves, waiting = table.columns.order.shape, place.leaves, place.waiting
    n_free, used = counts.shape[0] - 2, np.int64(n)
    if points is not None:
        count_labels(counts[0], table.cells, points, rules, of_values, of_classes)
        for v in range(rules.n_channels):
            sums[0, v] = 0
            for b in range(table.offsets[0, 1]):
                sums[0, v] += counts[0, b * rules.n_channels + v]
            total[0, v] = sums[0, v]
    n_leaves, n_waiting, slot, new = ONE, ZERO, ZERO, ZERO
    while n_leaves < rules.max_leaves:
        shared, n_wanted = NO, rules.max_leaves - n_leaves
        # After a split both children are searched, the smaller one first; at the start the root.
        for turn in range(min(n_leaves, 2)):
            child = new if turn == 0 else slot
            leaf, dropped, unit = leaves[child], child, 1.0
            leaf.gain = NO_SPLIT
            if rules.per_node:
                unit = float(leaf.n_samples)
                if points is not None:
                    unit = float(sums[child, rules.first - 1])
            bar = least_wanted(unit, n_waiting, n_wanted, leaves, waiting)
            splits = leaf.n_samples >= rules.min_split and leaf.depth < rules.max_depth
            if of_two is not None:
                splits = splits and may_gain(leaf.total, bar, x_log_x)
            if points is not None:
                splits = splits and not is_uniform(
                    child, leaf, points, rules, place.samples, place.state, sums[child], of_values, of_classes
                )
            if splits:
                h, n_picks = ZERO, np.int64(d)
                if of_classes is not None:
                    prepare_metric(sums[child], rules, scratch.metric)
                if leaf.n_samples <= rules.small:
                    n_free = release(leaf, n_free, place.free)
                    leaf.level = NONE
                    pick_columns(d, leaf, points, scratch, of_two)
                else:
                    if n_leaves > 1:
                        h, shared, n_free = count_child(
                            child, slot, new, shared, n_free, counts, points, table, place, rules, of_two, of_values,
                            of_classes,
                        )  # fmt: skip
                    known, offsets, solid = sums[child], table.offsets[leaf.level], table.solid[leaf.level]
                    if of_two is not None:
                        n_picks, bar = pick_bins(counts[h], leaf, bar, rules.min_leaf, n, offsets, scratch, x_log_x)
                    if of_values is not None:
                        n_picks, bar = pick_values(counts[h], known, bar, leaf.level, n, rules, offsets, solid, scratch)
                    if of_classes is not None:
                        n_picks, bar = near_bins(counts[h], known, bar, rules, offsets, scratch, x_log_x)
                    if of_few is not None:
                        n_picks = pick_few(n_picks, counts[h], known, bar, rules, offsets, solid, scratch, x_log_x)
                    if of_many is not None:
                        n_picks = pick_many(n_picks, counts[h], known, bar, rules, offsets, solid, scratch, x_log_x)
                scan_bins(
                    n_picks, bar, counts[h], child, rules, table, points, place, sums[child], scratch, x_log_x, of_two,
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
        whole, of_left, n_left = leaf.total, leaf.left, leaf.left
        if of_two is not None:
            n_left = of_left >> SHIFT
        left_slot, used = divide(slot, new, n_left, used, table.columns, place)
        right_slot = slot + new - left_slot
        if of_two is not None:
            leaves[left_slot].total, leaves[right_slot].total = of_left, whole - of_left
            total[2 * new - 1, 0], total[2 * new, 0] = of_left, whole - of_left
        if points is not None:
            sum_samples(leaves[new], points, rules, place.samples, sums[new], of_values, of_classes)
            for v in range(rules.n_channels):
                sums[slot, v] -= sums[new, v]
                total[2 * new - 1, v], total[2 * new, v] = sums[left_slot, v], sums[right_slot, v]
    return n_leaves
