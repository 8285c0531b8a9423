"""The best split of a node of two classes without weights: its sums are one integer, samples · 2³² + ones."""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER, MERGED
from .trees_histograms import UNIT
from .trees_leaves import NONE, ZERO, bins_together, find_members
from .trees_packed_groups import (
    allowance,
    best_edge,
    exceeds,
    mark,
    node_of,
    sum_groups,
)
from .trees_presort import CLOSENESS
from .trees_rules import ENTROPY_TIE, LOW_HALF, RELATIVE_TIE, SHIFT, a_little_less

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
