"""What bins and groups of bins of a two-class node may hide, many at a time.

Between two edges the left side goes from (size, ones) to (size, ones), sample by sample: it stays inside the
parallelogram whose other two corners meet all ones first, or all zeros first. A gain is convex in (size, ones), so
nothing inside gains more than the best corner does.

Edges of groups are listed column after column, each column with the edge before its first bin: group e lies between
edges e − 1 and e. The loops have no branches, so that the compiler does several edges at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT, LENT_INNER, MERGED
from outsample._kernels.trees.gains import ENTROPY_TIE, LOW_HALF, NO_SPLIT, RELATIVE_TIE, SHIFT, a_little_less
from outsample._kernels.trees.histograms import UNIT, count_child
from outsample._kernels.trees.leaves import (
    NO,
    NONE,
    ONE,
    ZERO,
    bins_together,
    divide,
    find_members,
    least_wanted,
    release,
    wait,
)
from outsample._kernels.trees.presort import CLOSENESS


class Node(NamedTuple):
    """A node that is searched, as floats.

    Attributes
    ----------
    mass, ones : its samples, and those of class 1
    scale : distance² / (scale · left · right) is at least the gain
    rare, flat : for entropy the samples of the rarer class and 0, else 0 and 1; see `exceeds`
    """

    mass: float
    ones: float
    scale: float
    rare: float
    flat: float


@njit(**LENT_INNER)
def node_of(total, entropy):
    """The node with these packed sums."""
    mass, ones = float(total >> SHIFT), float(total & LOW_HALF)
    if entropy:
        return Node(mass, ones, ones * (1.0 - ones / mass), min(ones, mass - ones), 0.0)
    return Node(mass, ones, mass, 0.0, 1.0)


@njit(**LENT_INNER)
def distance_and_room(left, ones_left, node):
    """(distance of a left side from the node's mean, times mass; product of the masses; unit of the distance)."""
    right = node.mass - left
    distance = abs(node.mass * ones_left - left * node.ones)
    return distance, left * right, (left if left < right else right) * node.rare + node.flat


@njit(**LENT_INNER)
def exceeds(left, ones_left, level, node):
    """Whether the gain of a left side may exceed level / scale.

    Entropy gains about half of the chi-square where that is small: (1 + t) ln(1 + t) − t ≤ t²/2 · (1 + 2|t|/3) for
    t ≥ −1/2, where |t| is at most distance / unit. Gini's gain is the chi-square: there the unit is below any distance.
    """
    distance, room, unit = distance_and_room(left, ones_left, node)
    about_half = 0.5 * unit + 0.335 * distance
    return (about_half if distance < 0.5 * unit else unit) * distance * distance > level * room * unit


@njit(**LENT_INNER)
def room_and_share(left, level, node):
    """(product of the masses; share of its chi-square that a left side gains at most, 1 if there is no closer bound).

    Follows from `exceeds`, for gains up to level / scale.
    """
    _, room, unit = distance_and_room(left, 0.0, node)
    about = np.sqrt(2.0 * level * room)
    return room, 0.5 + 0.335 * about / unit if about < 0.5 * unit else 1.0


@njit(**LENT_INNER)
def allowance(before, after, level, node):
    """(distance allowed at the first edge, its growth per sample): a left side within it gains at most level / scale.

    What is allowed is a concave function of the size, as long as the share does not jump to 1, so between two edges
    it lies above the straight line.
    """
    if not level > 0.0:
        return np.int64(-1), np.int64(0)
    first, last = float(before >> SHIFT), float(after >> SHIFT)
    first_room, first_share = room_and_share(first, level, node)
    last_room, last_share = room_and_share(last, level, node)
    if max(first_share, last_share) == 1.0:
        first_share, last_share = 1.0, 1.0
    at_first, at_last = np.sqrt(level * first_room / first_share), np.sqrt(level * last_room / last_share)
    growth = np.floor((at_last - at_first) / (last - first)) if last > first else 0.0
    return np.int64(at_first * (1.0 - 1e-12)), np.int64(growth)


@njit(**LENT_INNER)
def may_exceed(before, after, level, node):
    """Whether any gain from the one edge, excluded, to the other, included, may exceed level / scale."""
    left, ones_left = float(np.int32(before >> SHIFT)), float(np.int32(before & LOW_HALF))
    end, ones_end = float(np.int32(after >> SHIFT)), float(np.int32(after & LOW_HALF))
    ones = ones_end - ones_left
    return (
        exceeds(end, ones_end, level, node)
        | exceeds(left + ones, ones_end, level, node)
        | exceeds(end - ones, ones_left, level, node)
    )


@njit(**LENT_INNER)
def sum_groups(counts, step, offsets, lefts):
    """Sums left of the edge of every group of `step` bins; returns the number of edges."""
    e = 0
    for f in range(offsets.size - 1):
        running, first, end = np.int64(0), offsets[f], offsets[f + 1]
        lefts[np.uint32(e)] = running
        e += 1
        while first < end:
            # Nearly always: no loop for two.
            if step == 2 and first + 1 < end:
                running += counts[np.uint32(first)] + counts[np.uint32(first + 1)]
            else:
                for cell in range(first, min(first + step, end)):
                    running += counts[np.uint32(cell)]
            lefts[np.uint32(e)] = running
            first += step
            e += 1
    return e


@njit(**LENT_INNER)
def best_edge(lefts, node, size, min_leaf, worth):
    """The edge of the largest chi-square, −1 where none may be split at."""
    for e in range(lefts.size):
        left = float(np.int32(lefts[e] >> SHIFT))
        distance, room, _ = distance_and_room(left, float(np.int32(lefts[e] & LOW_HALF)), node)
        worth[e] = distance * distance / (room + 1e-300)
    best, most = -1, -1.0
    for e in range(lefts.size):
        if worth[e] > most:
            left = lefts[e] >> SHIFT
            if min(left, size - left) >= max(min_leaf, 1):
                best, most = e, worth[e]
    return best


@njit(**LENT_INNER)
def mark(befores, afters, level, node, marked):
    """Mark where a gain above level / scale may be found after the one edge, up to the other."""
    for e in range(befores.size):
        marked[e] = may_exceed(befores[e], afters[e], level, node)


# Rows of `bins`: column · 2³² + cell, sums left of the bin, sums with it.
WHICH, BEFORE, AFTER = 0, 1, 2


@njit(**LENT_INNER)
def at(x_log_x, count):
    """x_log_x[count], without asking whether the count is negative."""
    return x_log_x[np.uint32(count)]


@njit(**LENT_INNER)
def gain_packed(left, total, x_log_x):
    """Decrease of entropy × samples; without a table half the decrease of Gini's index × samples."""
    size, ones = total >> SHIFT, total & LOW_HALF
    size_left, ones_left = left >> SHIFT, left & LOW_HALF
    size_right, ones_right = size - size_left, ones - ones_left
    if x_log_x.size > 0:
        return (
            (at(x_log_x, ones_left) + at(x_log_x, size_left - ones_left) - at(x_log_x, size_left))
            + (at(x_log_x, ones_right) + at(x_log_x, size_right - ones_right) - at(x_log_x, size_right))
            + (at(x_log_x, size) - at(x_log_x, ones) - at(x_log_x, size - ones))
        )
    distance = float(size * ones_left - size_left * ones)
    return distance * distance / (float(size) * float(size_left) * float(size_right))


@njit(**LENT_INNER)
def bound_between(before, after, total, x_log_x):
    """What no gain from the one edge, excluded, to the other, included, exceeds unless the first edge does."""
    ones = (after & LOW_HALF) - (before & LOW_HALF)
    ones_first = before + ones * (UNIT + 1)
    zeros_first = after - ones * (UNIT + 1)
    most = 0.0
    for left in (after, ones_first, zeros_first):
        if 0 < left >> SHIFT < total >> SHIFT:
            most = max(most, gain_packed(left, total, x_log_x))
    return most


@njit(**LENT_INNER)
def take(left, f, position, bar, leaf, min_leaf, x_log_x):
    """Take a split that gains more than `bar`; returns what the next one must exceed, rounding included."""
    size, size_left = leaf.total >> SHIFT, left >> SHIFT
    gain = gain_packed(left, leaf.total, x_log_x)
    if not gain > bar or min(size_left, size - size_left) < min_leaf:
        return bar
    leaf.gain, leaf.left, leaf.column, leaf.position = gain, left, f, position
    return gain + RELATIVE_TIE * abs(gain) + (ENTROPY_TIE * float(size) if x_log_x.size > 0 else 0.0)


@njit(**LENT_INNER)
def may_begin(before, after, min_leaf):
    """Whether the first edge is too near to the end to be split at, and so bounds nothing, but the second is not."""
    return min_leaf > 1 and before >> SHIFT < min_leaf <= after >> SHIFT


@njit(**LENT_INNER)
def mind_the_ends(edges, size, min_leaf, marked):
    """Unmark groups too near to an end to be split in, and mark those where such a region ends."""
    for k in range(edges.size - 1):
        before, after = edges[k], edges[k + 1]
        too_near = after >> SHIFT < min_leaf or size - (before >> SHIFT) < min_leaf
        marked[k] = (marked[k] or may_begin(before, after, min_leaf)) and not too_near


@njit(**LENT_INNER)
def list_bins(counts, edges, step, offsets, marked, picked, bins):
    """List the bins of the marked groups, and what lies left of their edges; returns their number."""
    n_picked, n_bins, e = 0, 0, 0
    for f in range(offsets.size - 1):
        first, end = offsets[f], offsets[f + 1]
        while first < end:
            # Written first and counted afterwards: a branch would be guessed wrongly too often.
            picked[WHICH, np.uint32(n_picked)] = np.int64(f) << SHIFT | first
            picked[BEFORE, np.uint32(n_picked)] = edges[np.uint32(e)]
            n_picked += marked[np.uint32(e)]
            first += step
            e += 1
        e += 1
    for k in range(n_picked):
        which, before = picked[WHICH, k], picked[BEFORE, k]
        rest = offsets[(which >> SHIFT) + 1] - (which & LOW_HALF)
        for own in range(which, which + min(step, rest)):
            after = before + counts[np.uint32(own & LOW_HALF)]
            bins[WHICH, n_bins], bins[BEFORE, n_bins], bins[AFTER, n_bins] = own, before, after
            n_bins += before != after
            before = after
    return n_bins


@njit(**LENT_INNER)
def pick_columns(d, total, bins, bounds):
    """Pick every column as one bin, for a leaf so small that sorting is cheaper than counting."""
    for f in range(d):
        bins[WHICH, f], bins[BEFORE, f], bins[AFTER, f], bounds[f] = np.int64(f) << SHIFT, 0, total, np.inf


@njit(**MERGED)
def pick_bins(counts, leaf, bar, min_leaf, n, offsets, scratch, x_log_x):
    """Find the bins that may hold, or end in, a split that gains more than `bar`.

    The best edge of groups of bins gains no more than the best split does. Only groups that may gain more are taken
    apart into bins. Returns (number of bins, the most promising of them or NONE, the raised bar).
    """
    total, entropy = leaf.total, x_log_x.size > 0
    size, node = total >> SHIFT, node_of(total, entropy)
    step = bins_together(size, n, leaf.level)
    edges = scratch.groups[: sum_groups(counts, step, offsets, scratch.groups)]
    edge = best_edge(edges, node, size, min_leaf, scratch.worth)
    if edge >= 0:
        bar = max(bar, a_little_less(gain_packed(edges[edge], total, x_log_x), node.mass if entropy else 0.0))
    bins, bounds, marked = scratch.bins, scratch.bounds, scratch.marked
    mark(edges[:-1], edges[1:], bar * node.scale, node, marked)
    if min_leaf > 1:
        mind_the_ends(edges, size, min_leaf, marked)
    n_listed = list_bins(counts, edges, step, offsets, marked, scratch.picked, bins)
    mark(bins[BEFORE, :n_listed], bins[AFTER, :n_listed], bar * node.scale, node, marked)
    n_picks, best = ZERO, NONE
    for k in range(n_listed):
        begins = may_begin(bins[BEFORE, k], bins[AFTER, k], min_leaf)
        if marked[k] or begins:
            for row in range(bins.shape[0]):
                bins[row, n_picks] = bins[row, k]
            bounds[n_picks] = np.inf if begins else bound_between(bins[BEFORE, k], bins[AFTER, k], total, x_log_x)
            best = n_picks if best == NONE or bounds[n_picks] > bounds[best] else best
            n_picks += 1
    return n_picks, best, bar


@njit(**LENT_INNER)
def scan(f, found, left, after, bar, leaf, min_leaf, values, keys, x_log_x):
    """Try every split between `found` samples of the leaf, listed by `find_members`; returns the next bar.

    `left` are the sums before them, `after` with them.
    """
    total = leaf.total
    node, size, ones = node_of(total, x_log_x.size > 0), total >> SHIFT, total & LOW_HALF
    distance = size * (left & LOW_HALF) - (left >> SHIFT) * ones
    allowed, growth = allowance(left, after, bar * node.scale, node)
    for k in range(found - 1):
        label = keys[k] & 1
        left += UNIT + label
        distance += label * size - ones
        allowed += growth
        if abs(distance) <= allowed:
            continue
        p, q = keys[k] >> SHIFT, keys[k + 1] >> SHIFT
        apart = values[q] > values[p] + CLOSENESS
        if apart and exceeds(float(left >> SHIFT), float(left & LOW_HALF), bar * node.scale, node):
            bar = take(left, f, q, bar, leaf, min_leaf, x_log_x)
            allowed, growth = allowance(left, after, bar * node.scale, node)
    return bar


@njit(**MERGED)
def look_into(n_picks, best, bar, slot, min_leaf, table, place, scratch, x_log_x):
    """Best split that gains more than `bar`, in or at the end of the picked bins; level NONE: in whole columns."""
    leaf, entropy, columns, keys = place.leaves[slot], x_log_x.size > 0, table.columns, scratch.keys
    node, level, order, rank = node_of(leaf.total, entropy), leaf.level, columns.order, columns.rank
    # The most promising bin before all others, only for the bar; then all in order.
    for k in range(-1, n_picks):
        pick = best if k < 0 else k
        if pick == NONE or not scratch.bounds[pick] > bar:
            continue
        f, left, after = scratch.bins[WHICH, pick] >> SHIFT, scratch.bins[BEFORE, pick], scratch.bins[AFTER, pick]
        start, end, solid, raised = ZERO, np.int64(place.state.size), False, bar
        if level != NONE:
            b = (scratch.bins[WHICH, pick] & LOW_HALF) - table.offsets[level, f]
            start, end = np.int64(table.edges[level, f, b]), np.int64(table.edges[level, f, b + 1])
            solid = table.solid[level, f, b]
        if (after - left) >> SHIFT > 1 and not solid:
            found = find_members(f, slot, leaf, start, end, order, rank, place.samples, place.state, keys)
            raised = scan(f, found, left, after, raised, leaf, min_leaf, columns.values[f], keys[0], x_log_x)
        if after < leaf.total and exceeds(float(after >> SHIFT), float(after & LOW_HALF), raised * node.scale, node):
            raised = take(after, f, end, raised, leaf, min_leaf, x_log_x)
        bar = raised if k >= 0 else max(bar, a_little_less(leaf.gain, node.mass if entropy else 0.0))


class Scratch(NamedTuple):
    """Room for the search of one leaf.

    Attributes
    ----------
    groups, worth : per edge of a group of bins: sums left of it, chi-square
    bins, bounds : bins that may hold the best split, the sums at their edges (see `list_bins`), and their bounds
    marked : which groups or bins to look into
    picked : the marked groups, first bin and sums left of it
    keys : for listing members in the order of a column
    """

    groups: NDArray[np.int64]
    worth: NDArray[np.float64]
    bins: NDArray[np.int64]
    bounds: NDArray[np.float64]
    marked: NDArray[np.bool_]
    picked: NDArray[np.int64]
    keys: NDArray[np.int64]


@njit(**LENT_INNER)
def bar_of(leaf, n_waiting, n_wanted, leaves, waiting, rules, x_log_x):
    """What a leaf must gain to be split at all; infinite where it cannot, as no gain exceeds the leaf's impurity."""
    size, ones = leaf.total >> SHIFT, leaf.total & LOW_HALF
    if size < rules.min_split or leaf.depth >= rules.max_depth or ones == 0 or ones == size:
        return np.inf
    bar = least_wanted(float(size) if rules.per_node else 1.0, n_waiting, n_wanted, leaves, waiting)
    impurity = float(ones) * float(size - ones) / float(size)
    if x_log_x.size > 0:
        impurity = x_log_x[size] - x_log_x[ones] - x_log_x[size - ones]
    return bar if impurity * (1.0 + 1e-9) > bar else np.inf


@njit(**LENT)
def grow_packed(table, rules, x_log_x, place, counts, scratch, split, column, total):
    """Grow one tree of two unweighted classes; returns its number of leaves. See `trees.grow`."""
    (d, n), leaves, waiting = table.columns.order.shape, place.leaves, place.waiting
    n_free, used = counts.shape[0] - 2, np.int64(n)
    n_leaves, n_waiting, slot, new = ONE, ZERO, ZERO, ZERO
    while n_leaves < rules.max_leaves:
        shared, n_wanted = NO, rules.max_leaves - n_leaves
        # After a split both children are looked at, the smaller one first; at the start the root.
        for turn in range(min(n_leaves, 2)):
            child = new if turn == 0 else slot
            leaf, dropped = leaves[child], child
            leaf.gain = NO_SPLIT
            bar = bar_of(leaf, n_waiting, n_wanted, leaves, waiting, rules, x_log_x)
            if bar < np.inf:
                h, best, n_picks = ZERO, NONE, np.int64(d)
                if leaf.n_samples <= rules.small:
                    n_free = release(leaf, n_free, place.free)
                    leaf.level = NONE
                    pick_columns(d, leaf.total, scratch.bins, scratch.bounds)
                else:
                    if n_leaves > 1:
                        h, shared, n_free = count_child(
                            child, slot, new, shared, n_free, counts, None, table, place, rules, True, None, None
                        )
                    offsets = table.offsets[leaf.level]
                    n_picks, best, bar = pick_bins(counts[h], leaf, bar, rules.min_leaf, n, offsets, scratch, x_log_x)
                look_into(n_picks, best, bar, child, rules.min_leaf, table, place, scratch, x_log_x)
                if leaf.gain != NO_SPLIT and leaf.gain >= rules.least_gain:
                    leaf.gain /= float(leaf.n_samples) if rules.per_node else 1.0
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
        whole, of_left = leaf.total, leaf.left
        left_slot, used = divide(slot, new, of_left >> SHIFT, used, table.columns, place)
        leaves[left_slot].total, leaves[slot + new - left_slot].total = of_left, whole - of_left
        total[2 * new - 1, 0], total[2 * new, 0] = of_left, whole - of_left
    return n_leaves
