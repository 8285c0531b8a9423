"""Best-first growth of a decision tree on a presorted table; everything the caller passes is trusted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .trees_presort import Presorted, presort
from .trees_split import (
    ADD,
    CLASSES,
    CUT_COLUMN,
    CUT_POSITION,
    DEPTH,
    END,
    FREE,
    HEAP,
    HISTOGRAM,
    INNER,
    LOW_HALF,
    NODE,
    PACKED,
    SAMPLES,
    SHIFT,
    SLOT,
    START,
    TAKE_AWAY,
    VALUES,
    WHERE,
    ZERO,
    Rules,
    add_sample,
    beaten,
    search_bin,
    search_edges,
    search_edges_packed,
    search_small,
    size_of,
)

__all__ = [
    "CLASSES",
    "LOW_HALF",
    "PACKED",
    "SHIFT",
    "SMALL",
    "VALUES",
    "Grown",
    "Presorted",
    "Rules",
    "Workspace",
    "grow",
    "presort",
    "warmup",
    "workspace",
    "workspace_bytes",
]

SMALL = 24
"""Nodes with no more samples are sorted instead of counted in bins."""

NONE = -1
NO_SPLIT = -1.0


class Workspace(NamedTuple):
    """Scratch memory of one thread. A *slot* holds one present leaf; the larger child keeps its parent's.

    Attributes
    ----------
    place : (3, n) int32
        Samples grouped by leaf, the place of each sample there, the slot of each sample.
    counts : (histograms, cells · channels) int64
        The last one is for leaves that keep none of their own.
    leaves : (max_leaves, 9) int64
        Per slot: range of samples, node, depth, histogram, best cut; then the heap and the free histograms.
    gains : (max_leaves,)
    sums : (2, max_leaves, channels) int64
        Of the leaf, and of the left side of its best cut.
    picks, bounds : (cells,) scratch of the search.
    left, metric : (channels,) and (2, classes) scratch of the search.
    """

    place: NDArray[np.int32]
    counts: NDArray[np.int64]
    leaves: NDArray[np.int64]
    gains: NDArray[np.float64]
    sums: NDArray[np.int64]
    picks: NDArray[np.int64]
    bounds: NDArray[np.float64]
    left: NDArray[np.int64]
    metric: NDArray[np.float64]


class Grown(NamedTuple):
    """A tree as it grew: split j turned node `split[j]` into nodes 2j + 1 (left) and 2j + 2 (right).

    Attributes
    ----------
    split : (max_leaves − 1,) int64
    total : (2 max_leaves − 1, channels) int64
        Channels of every node.
    leaf : (n,) int32 or (0,)
        The node every sample ends in, where wanted.
    """

    split: NDArray[np.int64]
    total: NDArray[np.int64]
    leaf: NDArray[np.int32]


def workspace(table: Presorted, rules: Rules, n_histograms: int) -> Workspace:
    """Memory for one thread, with room for at least two histograms."""
    n, cells = table.order.shape[1], int(table.offsets[-1])
    leaves, channels = rules.max_leaves, rules.n_channels
    return Workspace(
        place=np.empty((3, n), np.int32),
        counts=np.empty((max(n_histograms, 2), cells * channels), np.int64),
        leaves=np.empty((max(leaves, n_histograms), 9), np.int64),
        gains=np.empty(leaves),
        sums=np.empty((2, leaves, channels), np.int64),
        picks=np.empty(max(cells, rules.small), np.int64),
        bounds=np.empty(cells),
        left=np.empty(channels, np.int64),
        metric=np.empty((2, max(rules.n_classes, 1))),
    )


def workspace_bytes(table: Presorted, rules: Rules, n_histograms: int) -> int:
    """Size of one thread's memory, its label vector included."""
    n, cells = table.order.shape[1], int(table.offsets[-1])
    per_leaf = 8 * (10 + 2 * rules.n_channels)
    per_sample = 12 + 8 * (rules.n_channels + 2)
    return int(n * per_sample + cells * (16 + 8 * rules.n_channels * n_histograms) + rules.max_leaves * per_leaf)


@njit(**INNER)
def count_members(h, slot, sign, table, points, rules, space):
    """Add (or take away) the samples of a leaf to histogram h."""
    counts, d = space.counts[h], table.codes.shape[1]
    for q in range(space.leaves[slot, START], space.leaves[slot, END]):
        i = np.int64(space.place[SAMPLES, q])
        if rules.kind == PACKED:
            point = sign * points[i, 0]
            for f in range(d):
                counts[table.offsets[f] + table.codes[i, f]] += point
        else:
            for f in range(d):
                base = (table.offsets[f] + table.codes[i, f]) * rules.n_channels
                add_sample(counts, base, i, sign, points, rules)


@njit(**INNER)
def count_table(table, points, space):
    """Histogram 0 of the whole table, packed: bins know their size, so only the ones are counted."""
    counts, d = space.counts[0], table.codes.shape[1]
    for f in range(d):
        for b in range(table.offsets[f + 1] - table.offsets[f]):
            counts[table.offsets[f] + b] = np.int64(table.edges[f, b + 1] - table.edges[f, b]) << SHIFT
    for i in range(points.shape[0]):
        if points[i, 0] & 1:
            for f in range(d):
                counts[table.offsets[f] + table.codes[i, f]] += 1


@njit(**INNER)
def is_uniform(slot, points, rules, space):
    """Whether all labels of the leaf are equal, or vary too little for scikit-learn to split it."""
    total = space.sums[0, slot]
    if rules.kind == PACKED:
        ones = total[0] & LOW_HALF
        return ones == 0 or ones == total[0] >> SHIFT
    mass = total[rules.first - 1]
    if rules.kind == CLASSES:
        rest = mass
        for c in range(rules.n_classes - 1):
            if total[rules.first + c] == mass:
                return True
            rest -= total[rules.first + c]
        return rest == mass
    squares = float(total[rules.first + 1]) * rules.square_unit
    spread = squares - float(total[rules.first]) ** 2 / float(mass)
    if spread <= rules.least_spread * float(mass):
        return True
    # The last column of points tells equal values from unequal ones; two samples usually do.
    start = space.leaves[slot, START]
    value = points[space.place[SAMPLES, start], rules.n_channels]
    for q in range(start, space.leaves[slot, END]):
        if points[space.place[SAMPLES, q], rules.n_channels] != value:
            return False
    return True


@njit(**INNER)
def seek(slot, table, points, rules, space):
    """Find the best split of a leaf; tells whether there is one worth making."""
    space.gains[slot] = NO_SPLIT
    m = space.leaves[slot, END] - space.leaves[slot, START]
    if (
        m < rules.min_split
        or space.leaves[slot, DEPTH] >= rules.max_depth
        or is_uniform(slot, points, rules, space)
    ):
        return False
    if m <= rules.small:
        search_small(slot, table, points, rules, space)
    else:
        h = space.leaves[slot, HISTOGRAM]
        if h == NONE:
            h = np.int64(space.counts.shape[0] - 1)
            clear(h, space)
            count_members(h, slot, ADD, table, points, rules, space)
        counts = space.counts[h]
        if rules.kind == PACKED:
            n_picks = search_edges_packed(counts, slot, table, rules, space)
        else:
            n_picks = search_edges(counts, slot, table, rules, space)
        for k in range(n_picks):
            if space.bounds[k] > beaten(space.gains[slot], space.sums[0, slot], rules):
                search_bin(counts, slot, space.picks[k], table, points, rules, space)
    return space.gains[slot] != NO_SPLIT and space.gains[slot] >= rules.least_gain


@njit(**INNER)
def clear(h, space):
    """Empty a histogram."""
    for cell in range(space.counts.shape[1]):
        space.counts[h, cell] = 0


@njit(**INNER)
def put(i, tail, new, space):
    """Swap sample i to the place `tail` and into slot `new`."""
    other, hole = space.place[SAMPLES, tail], space.place[WHERE, i]
    space.place[SAMPLES, hole], space.place[WHERE, other] = other, hole
    space.place[SAMPLES, tail], space.place[WHERE, i] = i, tail
    space.place[SLOT, i] = new


@njit(**INNER)
def move_smaller(slot, new, n_small, left_is_small, table, space):
    """Give the samples of the smaller child to slot `new`: the tail of the parent's samples becomes theirs."""
    f, position = space.leaves[slot, CUT_COLUMN], space.leaves[slot, CUT_POSITION]
    start, end, n = space.leaves[slot, START], space.leaves[slot, END], space.place.shape[1]
    tail = end
    if (position if left_is_small else n - position) <= 3 * (end - start):
        # The smaller child lies at one end of the cut column: walk from there until all are found.
        p = 0 if left_is_small else n - 1
        while end - tail < n_small:
            i = np.int64(table.order[f, p])
            p += 1 if left_is_small else -1
            if space.place[SLOT, i] == slot:
                tail -= 1
                put(i, tail, new, space)
    else:
        q = start
        while q < tail:
            i = np.int64(space.place[SAMPLES, q])
            if (table.rank[i, f] < position) == left_is_small:
                tail -= 1
                put(i, tail, new, space)
            else:
                q += 1
    space.leaves[new, START], space.leaves[new, END], space.leaves[slot, END] = tail, end, tail


@njit(**INNER)
def share_counts(slot, new, n_free, table, points, rules, space):
    """Histograms of both children from the parent's: count the smaller child, subtract.

    A child that finds no free histogram does without; its samples are counted again when they are needed.
    Returns the number of free histograms.
    """
    h = space.leaves[slot, HISTOGRAM]
    space.leaves[new, HISTOGRAM] = NONE
    if h == NONE:
        return n_free
    if space.leaves[slot, END] - space.leaves[slot, START] <= rules.small:
        space.leaves[n_free, FREE] = h
        space.leaves[slot, HISTOGRAM] = NONE
        return n_free + 1
    if space.leaves[new, END] - space.leaves[new, START] > rules.small and n_free > 0:
        n_free -= 1
        h_new = space.leaves[n_free, FREE]
        space.leaves[new, HISTOGRAM] = h_new
        clear(h_new, space)
        count_members(h_new, new, ADD, table, points, rules, space)
        for cell in range(space.counts.shape[1]):
            space.counts[h, cell] -= space.counts[h_new, cell]
    else:
        count_members(h, new, TAKE_AWAY, table, points, rules, space)
    return n_free


@njit(**INNER)
def precedes(a, b, space):
    """Whether leaf a is split before leaf b: the larger gain, among equal gains the older node."""
    if space.gains[a] != space.gains[b]:
        return space.gains[a] > space.gains[b]
    return space.leaves[a, NODE] < space.leaves[b, NODE]


@njit(**INNER)
def push(slot, n_waiting, space):
    """Add a leaf to the heap of leaves that can be split."""
    k = n_waiting
    while k > 0 and precedes(slot, space.leaves[(k - 1) // 2, HEAP], space):
        space.leaves[k, HEAP] = space.leaves[(k - 1) // 2, HEAP]
        k = (k - 1) // 2
    space.leaves[k, HEAP] = slot


@njit(**INNER)
def pop(n_waiting, space):
    """Take the first leaf from the heap."""
    first, last = space.leaves[0, HEAP], space.leaves[n_waiting - 1, HEAP]
    k, child = 0, 1
    while child < n_waiting - 1:
        if child + 1 < n_waiting - 1 and (
            precedes(space.leaves[child + 1, HEAP], space.leaves[child, HEAP], space)
        ):
            child += 1
        if not precedes(space.leaves[child, HEAP], last, space):
            break
        space.leaves[k, HEAP] = space.leaves[child, HEAP]
        k, child = child, 2 * child + 1
    space.leaves[k, HEAP] = last
    return first


@njit(**INNER)
def start_root(table, points, rules, space, grown):
    """One leaf that holds every sample."""
    n = points.shape[0]
    for i in range(n):
        space.place[SAMPLES, i] = i
        space.place[WHERE, i] = i
        space.place[SLOT, i] = 0
    space.leaves[0, START], space.leaves[0, END], space.leaves[0, NODE], space.leaves[0, DEPTH] = 0, n, 0, 0
    for v in range(rules.n_channels):
        space.sums[0, 0, v] = 0
    for i in range(n):
        add_sample(space.sums[0, 0], ZERO, np.int64(i), ADD, points, rules)
    for v in range(rules.n_channels):
        grown.total[0, v] = space.sums[0, 0, v]
    space.leaves[0, HISTOGRAM] = 0
    for h in range(1, space.counts.shape[0] - 1):
        space.leaves[h - 1, FREE] = h
    if rules.kind == PACKED:
        count_table(table, points, space)
    else:
        clear(ZERO, space)
        count_members(ZERO, ZERO, ADD, table, points, rules, space)


@njit(**INNER)
def divide(slot, new, table, rules, space, grown):
    """Split the leaf in `slot` at its best cut; the smaller child goes to slot `new`."""
    m = space.leaves[slot, END] - space.leaves[slot, START]
    size_left = size_of(space.sums[1, slot, 0], rules)
    left_is_small = 2 * size_left <= m
    grown.split[new - 1] = space.leaves[slot, NODE]
    move_smaller(slot, new, min(size_left, m - size_left), left_is_small, table, space)
    left, right = (new, slot) if left_is_small else (slot, new)
    node = 2 * new - 1
    for v in range(rules.n_channels):
        of_left, of_all = space.sums[1, slot, v], space.sums[0, slot, v]
        space.sums[0, left, v], space.sums[0, right, v] = of_left, of_all - of_left
        grown.total[node, v], grown.total[node + 1, v] = of_left, of_all - of_left
    space.leaves[left, NODE], space.leaves[right, NODE] = node, node + 1
    space.leaves[slot, DEPTH] += 1
    space.leaves[new, DEPTH] = space.leaves[slot, DEPTH]


@njit(cache=True, nogil=True, error_model="numpy")
def grow(table, points, rules, space, grown):
    """Grow one tree; returns its number of leaves.

    Parameters
    ----------
    table : Presorted
    points : (n, channels) int64
        What each sample adds to its node's channels. Regression: one more column that is equal for equal
        values. Classes: (n, 2), the class and the mass instead.
    rules : Rules
    space : Workspace
    grown : Grown, written here.
    """
    start_root(table, points, rules, space, grown)
    n_leaves, n_waiting, n_free = ADD, ZERO, np.int64(space.counts.shape[0] - 2)
    slot, new = ZERO, ZERO
    while True:
        # After a split both children are looked at; at the start the root is both.
        for child in range(slot, new + 1, max(1, new - slot)):
            if n_leaves < rules.max_leaves and seek(child, table, points, rules, space):
                push(child, n_waiting, space)
                n_waiting += 1
        if n_waiting == 0 or n_leaves >= rules.max_leaves:
            break
        slot, new = pop(n_waiting, space), n_leaves
        n_waiting -= 1
        n_leaves += 1
        divide(slot, new, table, rules, space, grown)
        n_free = share_counts(slot, new, n_free, table, points, rules, space)
    for i in range(grown.leaf.size):
        grown.leaf[i] = space.leaves[space.place[SLOT, i], NODE]
    return n_leaves


def warmup() -> None:
    """Compile every kernel, or load it from disk."""
    table = presort(np.arange(8, dtype=np.float32).reshape(4, 2))
    rules = Rules(PACKED, 1, 1, 2, True, 2, 9, 2, 1, SMALL, 1.0, 0.0, 0.0, np.zeros(5))
    grown = Grown(np.empty(1, np.int64), np.empty((3, 1), np.int64), np.empty(4, np.int32))
    grow(table, np.ones((4, 1), np.int64), rules, workspace(table, rules, 2), grown)
