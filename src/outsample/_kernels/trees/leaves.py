"""Which samples fall into which leaf: of a growing tree, and of a finished one cut back to every size.

A *slot* holds one present leaf. When a leaf is split, the larger child keeps the slot and the smaller one gets a new
slot, so that the work is proportional to the size of the smaller child. The larger child keeps the parent's list of
samples too; readers of the list skip samples that are no longer in its leaf.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT_INNER, MERGED, OPTIONS
from outsample._kernels.trees.gains import SHIFT
from outsample._kernels.trees.presort import BINS_JOINED
from outsample.running.arrays import Array, Integers

_NUMBERS = ("start", "end", "n_samples", "node", "depth", "histogram", "level", "column", "position", "total", "left")
LEAF = np.dtype([(name, np.int64) for name in _NUMBERS] + [("gain", np.float64)], align=True)
"""A leaf: where its list of samples starts and ends, its number of samples, its node, depth, histogram and level of
bins; of its best split the column, the position in the column's order, what goes left, and the gain. For two classes
`total` and `left` are packed sums; else `left` is the number of samples that go left."""

# Bins per group in a leaf with all samples.
BINS_PER_GROUP = 2.0

# Leaves with at least so many samples never sort their own samples to find those in a bin.
MANY = 1024

# Typed, because numba compiles a callee once more for every literal number it is called with.
ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)
NONE, NO = MINUS_ONE, np.bool_(False)


class Place(NamedTuple):
    """Which samples each leaf holds, and which leaves wait to be split.

    Attributes
    ----------
    samples : uint32
        Lists of samples, one per leaf, with room for all lists that one growth can make: when a node of n samples gets
        L leaves, the smaller children on the way have at most n/2 · log₂ L samples altogether. Proof by induction: if
        the smaller child has the share p ≤ 1/2 of the samples, that bound leaves n/2 · H(p) for it, with H(p) ≥ 2p the
        entropy in bits.
    state : (n,) uint16, or uint32 where there are many leaves
        2 · slot + label of each sample; with channels the last bit is zero. It is read in random order, so it should
        fit into the processor's cache.
    moved : (2, 2 · (leaves + 1)) of the same type
        The new state of a sample when its leaf is split, by side (stays, moves) and present state.
    leaves : (leaves + 1,) of type LEAF
        The leaf in each slot. The last slot is that of samples left out: its node is −1, and it is never split.
    waiting : (leaves,) int64
        Slots of the leaves that wait to be split, the next one last.
    free : int64
        Histograms that no leaf has.
    """

    samples: NDArray[np.uint32]
    state: NDArray[np.uint16 | np.uint32]
    moved: NDArray[np.uint16 | np.uint32]
    leaves: Any
    waiting: Integers
    free: Integers


def make_place(n: int, max_leaves: int, n_histograms: int) -> Place:
    """Memory for the growth of trees on n samples."""
    narrow = np.uint16 if max_leaves < 2**15 else np.uint32
    moved: Array = np.tile(np.arange(2 * (max_leaves + 1)), (2, 1)).astype(narrow)
    leaves = np.empty(max_leaves + 1, LEAF).view(np.recarray)
    leaves.node[-1] = NONE
    return Place(
        samples=np.empty(n_listed(n, max_leaves), np.uint32),
        state=np.empty(n, narrow),
        moved=moved,
        leaves=leaves,
        waiting=np.empty(max_leaves, np.int64),
        free=np.empty(n_histograms, np.int64),
    )


def n_listed(n: int, max_leaves: int) -> int:
    """Upper bound on the total length of all lists of samples; see `Place`."""
    return n + math.ceil(n / 2 * math.log2(max_leaves))


def plant(place: Place, labels: Array | int, out: Integers | None = None) -> None:
    """Start with one leaf that holds every sample but those left out, and histogram 0.

    The last histogram is never given to a leaf: it serves those that have none of their own.
    """
    n = place.state.size
    place.samples[:n] = np.arange(n, dtype=np.uint32)
    place.state[:] = labels
    if out is not None:
        place.state[out] = 2 * (place.leaves.size - 1)
    # Fields of a plain record: those of record arrays take longer than the growth of a small tree.
    root = np.zeros((), LEAF)
    root["end"], root["n_samples"] = n, n if out is None else n - out.size
    place.leaves[0] = root
    place.free[:] = np.arange(1, place.free.size + 1)


@njit(**LENT_INNER)
def divide(slot, new, n_left, used, columns, place):
    """Split the leaf in `slot` at its best split, with `n_left` samples left: samples, nodes and depths.

    `used` entries of `samples` are taken. Returns (slot of the left child, entries taken afterwards).
    """
    samples, leaf, child = place.samples, place.leaves[slot], place.leaves[new]
    f, position, n = leaf.column, leaf.position, place.state.size
    left_is_small = 2 * n_left <= leaf.n_samples
    n_small = n_left if left_is_small else leaf.n_samples - n_left
    walk = (position if left_is_small else n - position) <= 3 * leaf.n_samples
    end, q = used, leaf.start
    p, step = (0, 1) if left_is_small else (n - 1, -1)
    side = ONE
    for label in range(2):
        place.moved[1, 2 * slot + label] = 2 * new + label
    while end - used < n_small:
        if walk:
            # The smaller child lies at one end of the split column: walk from there until all are found.
            i = columns.order[f, np.uint32(p)]
            p += step
        else:
            i = samples[np.uint32(q)]
            q += 1
            side = np.int64((columns.rank[i, f] < position) == left_is_small)
        # No branch, which would be mispredicted too often: a sample that stays is overwritten by the next one.
        own = place.state[i]
        state = place.moved[np.uint32(side), own]
        place.state[i] = state
        samples[np.uint32(end)] = i
        end += state != own
    for label in range(2):
        place.moved[1, 2 * slot + label] = 2 * slot + label
    leaf.n_samples -= n_small
    leaf.depth += 1
    child.start, child.end, child.n_samples, child.depth, child.histogram = used, end, n_small, leaf.depth, NONE
    leaf.node, child.node = (2 * new, 2 * new - 1) if left_is_small else (2 * new - 1, 2 * new)
    strike_out(slot, place)
    return new if left_is_small else slot, end


@njit(**MERGED)
def strike_out(slot, place):
    """Delete samples that are no longer in the leaf from its list, once they are at least half of it."""
    samples, leaf = place.samples, place.leaves[slot]
    if 2 * leaf.n_samples > leaf.end - leaf.start:
        return
    end = leaf.start
    for q in range(leaf.start, leaf.end):
        i = samples[np.uint32(q)]
        samples[np.uint32(end)] = i
        end += np.int64(place.state[i]) >> 1 == slot
    leaf.end = end


@njit(**LENT_INNER)
def bins_per_group(size, n, level):
    """Number of bins that a leaf of this size bounds as one group: the fewer samples they hold, the more."""
    asked = BINS_PER_GROUP * np.sqrt(n / size)
    for _ in range(level):
        asked /= BINS_JOINED
    return max(ONE, np.int64(asked))


@njit(**LENT_INNER)
def find_samples(f, slot, leaf, first, last, order, rank, samples, state, keys):
    """List the samples of a leaf at positions `first` … `last` − 1 of column f, in order; returns their number.

    keys[0, k] = position · 2³² + 2 · sample + label, the label as in `state`. Small leaves go through their own
    samples, others through all samples at these positions.
    """
    found = 0
    if 2 * leaf.n_samples < last - first and leaf.n_samples < MANY:
        return sort_samples(f, slot, leaf, first, last, rank, samples, state, keys)
    for k in range(first, last):
        i = order[f, np.uint32(k)]
        own = np.int64(state[i])
        # Written always and counted only where it belongs: a branch would be mispredicted too often.
        keys[0, np.uint32(found)] = np.int64(k) << SHIFT | np.int64(i) << 1 | own & 1
        found += own >> 1 == slot
    return found


@njit(**MERGED)
def sort_samples(f, slot, leaf, first, last, rank, samples, state, keys):
    """`find_samples` from the leaf's own samples."""
    start, end, found = leaf.start, leaf.end, 0
    for q in range(start, end):
        i = samples[np.uint32(q)]
        position = np.int64(rank[i, f])
        own = np.int64(state[i])
        keys[1, np.uint32(found)] = position << SHIFT | np.int64(i) << 1 | own & 1
        found += (position >= first) & (position < last) & (own >> 1 == slot)
    # Counting the smaller keys of each key needs no branches and uses vector instructions: for the few keys there are,
    # that is faster than sorting.
    for k in range(found):
        key, smaller = keys[1, k], 0
        for q in range(found):
            smaller += keys[1, np.uint32(q)] < key
        keys[0, np.uint32(smaller)] = key
    return found


@njit(**OPTIONS)
def thresholds_of(X, split, column, leaf):
    """Midpoint between the two sides of every split among the samples of its node, (splits,) float64."""
    lowest = np.full(split.size, np.inf)
    highest = np.full(split.size, -np.inf)
    for i in range(X.shape[0]):
        node = np.int64(leaf[i])
        while node > 0:
            j = (node - 1) // 2
            value = np.float64(X[i, column[j]])
            if node % 2 == 1:
                highest[j] = max(highest[j], value)
            else:
                lowest[j] = min(lowest[j], value)
            node = split[j]
    return 0.5 * (lowest + highest)
