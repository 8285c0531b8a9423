"""The leaves of a growing tree: which samples each holds, and which is split next.

A *slot* holds one present leaf; when a leaf is split, the larger child keeps the slot and the smaller one opens a
new slot, so that work is proportional to the smaller child. Two arrays hold everything:

place : (3, n) int32
    Samples grouped by leaf; the place of each sample in that list; the slot of each sample.
leaves : (max_leaves, 9) int64
    Per slot: range of samples, node, depth, histogram, best cut (column, position); then, as two stacks that have
    nothing to do with the row's slot, the heap of leaves waiting to be split and the free histograms.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER

SAMPLES, WHERE, SLOT = 0, 1, 2
START, END, NODE, DEPTH, HISTOGRAM, COLUMN, POSITION, HEAP, FREE = 0, 1, 2, 3, 4, 5, 6, 7, 8
NONE = -1

# A bare number as an argument makes numba compile the callee once more for that number.
ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)


@njit(**INNER)
def plant(n_histograms, place, leaves):
    """One leaf that holds every sample and histogram 0; returns the number of free histograms.

    The last histogram is never given away: it serves leaves that have none of their own.
    """
    n = place.shape[1]
    for i in range(n):
        place[SAMPLES, i] = i
        place[WHERE, i] = i
        place[SLOT, i] = 0
    leaves[0, START], leaves[0, END], leaves[0, NODE], leaves[0, DEPTH], leaves[0, HISTOGRAM] = 0, n, 0, 0, 0
    for h in range(1, n_histograms - 1):
        leaves[h - 1, FREE] = h
    return n_histograms - 2


@njit(**INNER)
def divide(slot, new, size_left, order, rank, place, leaves):
    """Split the leaf in `slot` at its best cut: samples, nodes and depths. Returns the slot of the left child.

    The tail of the parent's samples becomes the smaller child's.
    """
    f, position = leaves[slot, COLUMN], leaves[slot, POSITION]
    start, end, n = leaves[slot, START], leaves[slot, END], place.shape[1]
    left_is_small = 2 * size_left <= end - start
    n_small = size_left if left_is_small else end - start - size_left
    walk = (position if left_is_small else n - position) <= 3 * (end - start)
    tail, q = end, start
    p, step = (0, 1) if left_is_small else (n - 1, -1)
    while end - tail < n_small:
        if walk:
            # The smaller child lies at one end of the cut column: walk from there until all are found.
            i = order[f, p]
            p += step
            belongs = place[SLOT, i] == slot
        else:
            i = place[SAMPLES, q]
            belongs = (rank[i, f] < position) == left_is_small
        if belongs:
            tail -= 1
            other, hole = place[SAMPLES, tail], place[WHERE, i]
            place[SAMPLES, hole], place[WHERE, other] = other, hole
            place[SAMPLES, tail], place[WHERE, i] = i, tail
            place[SLOT, i] = new
        else:
            q += 1
    leaves[new, START], leaves[new, END], leaves[slot, END] = tail, end, tail
    left = new if left_is_small else slot
    leaves[left, NODE], leaves[slot + new - left, NODE] = 2 * new - 1, 2 * new
    leaves[slot, DEPTH] += 1
    leaves[new, DEPTH] = leaves[slot, DEPTH]
    return left


@njit(**INNER)
def precedes(a, b, gains, leaves):
    """Whether leaf a is split before leaf b: the larger gain, among equal gains the older node."""
    if gains[a] != gains[b]:
        return gains[a] > gains[b]
    return leaves[a, NODE] < leaves[b, NODE]


@njit(**INNER)
def push(slot, n_waiting, gains, leaves):
    """Add a leaf to the heap of leaves that can be split."""
    k = n_waiting
    while k > 0 and precedes(slot, leaves[(k - 1) // 2, HEAP], gains, leaves):
        leaves[k, HEAP] = leaves[(k - 1) // 2, HEAP]
        k = (k - 1) // 2
    leaves[k, HEAP] = slot


@njit(**INNER)
def pop(n_waiting, gains, leaves):
    """Take the first leaf from the heap."""
    first, last = leaves[0, HEAP], leaves[n_waiting - 1, HEAP]
    k, child = 0, 1
    while child < n_waiting - 1:
        if child + 1 < n_waiting - 1 and precedes(leaves[child + 1, HEAP], leaves[child, HEAP], gains, leaves):
            child += 1
        if not precedes(leaves[child, HEAP], last, gains, leaves):
            break
        leaves[k, HEAP] = leaves[child, HEAP]
        k, child = child, 2 * child + 1
    leaves[k, HEAP] = last
    return first


@njit(**INNER)
def histograms_of_children(slot, new, small, n_free, leaves):
    """Decide which child keeps a histogram; returns the number of free ones.

    The larger child keeps the parent's unless it is small; the smaller one takes a free one if there is any.
    """
    h = leaves[slot, HISTOGRAM]
    leaves[new, HISTOGRAM] = NONE
    if h == NONE:
        return n_free
    if leaves[slot, END] - leaves[slot, START] <= small:
        leaves[slot, HISTOGRAM] = NONE
        leaves[n_free, FREE] = h
        return n_free + 1
    if leaves[new, END] - leaves[new, START] > small and n_free > 0:
        leaves[new, HISTOGRAM] = leaves[n_free - 1, FREE]
        return n_free - 1
    return n_free


@njit(**INNER)
def sort_members(f, slot, rank, place, leaves, keys):
    """Members of a small leaf in ascending order of column f: keys[k] = position · 2³² + sample."""
    start = leaves[slot, START]
    for k in range(leaves[slot, END] - start):
        i = np.int64(place[SAMPLES, start + k])
        key = np.int64(rank[i, f]) << 32 | i
        q = k
        while q > 0 and keys[q - 1] > key:
            keys[q] = keys[q - 1]
            q -= 1
        keys[q] = key
