"""Growing trees of two classes without weights; see `trees_packed_search`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .options import LENT, LENT_INNER
from .trees_histograms import count_child
from .trees_leaves import NO, NONE, ONE, ZERO, divide, least_wanted, release, wait
from .trees_packed_search import look_into, pick_bins, pick_columns
from .trees_rules import LOW_HALF, NO_SPLIT, SHIFT


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
