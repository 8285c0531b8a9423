"""The leaves of a growing tree: which samples each holds, and which is split next.

A *slot* holds one present leaf; when a leaf is split, the larger child keeps the slot and the smaller one opens a
new slot, so that work is proportional to the smaller child: the larger child keeps the parent's list of samples too,
and who reads the list skips those that have left.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import AHEAD, ENTRIES_PER_LINE, LENT_INNER, MERGED, fetch
from outsample._kernels.trees.gains import NO_SPLIT, SHIFT
from outsample._kernels.trees.presort import BINS_JOINED

_NUMBERS = ("start", "end", "n_samples", "node", "depth", "histogram", "level", "column", "position", "total", "left")
LEAF = np.dtype([(name, np.int64) for name in _NUMBERS] + [("gain", np.float64)], align=True)
"""What is known of a leaf: range of its list of samples, their number, its node and depth, its histogram and the level
of that; of its best cut the column, the position, what goes to the left, and the gain. `total` are the sums of two
classes; then what goes to the left are sums as well, else it is the number of samples."""

# Bins that a leaf with all samples looks at as one group.
BINS_PER_GROUP = 2.0

# Leaves with so many samples never open a bin by sorting those of their members that fall into it.
MANY = 1024

# A bare number as an argument makes numba compile the callee once more for that number.
ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)
NONE, NO = MINUS_ONE, np.bool_(False)


class Place(NamedTuple):
    """Where samples are.

    Attributes
    ----------
    samples : uint32
        Lists of samples, one per leaf. There is room for all that a growth can make: when a node of n samples gets L
        leaves, the smaller children on the way have at most n/2 · log₂ L samples altogether. For by induction, the
        smaller child having the share p ≤ 1/2 of the samples, that bound leaves n/2 · H(p) for it, with H(p) ≥ 2p the
        entropy in bits.
    state : (n,) uint16, or uint32 where there are many leaves
        2 · slot + label of each sample; kernels that keep labels elsewhere leave the last bit alone. It is read at
        random, so it must be small.
    moved : (2, 2 · leaves) of the same type
        The state a sample goes to when its leaf is split, by side (stays, moves) and present state.
    leaves : (leaves,) of type LEAF
        What each slot holds.
    waiting : (leaves,) int64
        Slots of the leaves waiting to be split, the next one last.
    free : int64
        Histograms that nobody has.
    """

    samples: NDArray[np.uint32]
    state: NDArray[np.uint16 | np.uint32]
    moved: NDArray[np.uint16 | np.uint32]
    leaves: Any
    waiting: NDArray[np.int64]
    free: NDArray[np.int64]


def make_place(n: int, max_leaves: int, n_histograms: int) -> Place:
    """Room for n samples."""
    narrow = np.uint16 if max_leaves <= 2**15 else np.uint32
    moved: NDArray[Any] = np.tile(np.arange(2 * max_leaves), (2, 1)).astype(narrow)
    return Place(
        samples=np.empty(n_listed(n, max_leaves), np.uint32),
        state=np.empty(n, narrow),
        moved=moved,
        leaves=np.empty(max_leaves, LEAF).view(np.recarray),
        waiting=np.empty(max_leaves, np.int64),
        free=np.empty(n_histograms, np.int64),
    )


def n_listed(n: int, max_leaves: int) -> int:
    """Samples on the lists of all leaves there ever are, at most; see `Place`."""
    return n + math.ceil(n / 2 * math.log2(max_leaves))


def plant(place: Place, labels: Any) -> None:
    """One leaf that holds every sample, and histogram 0.

    The last histogram is never given away: it serves leaves that have none of their own.
    """
    n = place.state.size
    place.samples[:n] = np.arange(n, dtype=np.uint32)
    place.state[:] = labels
    place.leaves[0] = np.zeros((), LEAF)
    place.leaves.end[0] = place.leaves.n_samples[0] = n
    place.free[:] = np.arange(1, place.free.size + 1)


@njit(**LENT_INNER)
def divide(slot, new, n_left, used, columns, place):
    """Split the leaf in `slot` at its best cut, `n_left` samples to the left: samples, nodes and depths.

    Of the room for lists `used` is taken. Returns (slot of the left child, what is taken then).
    """
    samples, leaf, child = place.samples, place.leaves[slot], place.leaves[new]
    f, position, n = leaf.column, leaf.position, place.state.size
    left_is_small = 2 * n_left <= leaf.n_samples
    n_small = n_left if left_is_small else leaf.n_samples - n_left
    walk = (position if left_is_small else n - position) <= 3 * leaf.n_samples
    end, q, last = used, leaf.start, leaf.end - 1
    p, step = (0, 1) if left_is_small else (n - 1, -1)
    side = ONE
    for label in range(2):
        place.moved[1, 2 * slot + label] = 2 * new + label
    while end - used < n_small:
        if walk:
            # The smaller child lies at one end of the cut column: walk from there until all are found.
            i = columns.order[f, np.uint32(p)]
            p += step
        else:
            i = samples[np.uint32(q)]
            fetch(columns.rank, (samples[min(q + AHEAD, last)], f))
            q += 1
            side = np.int64((columns.rank[i, f] < position) == left_is_small)
        # No branch, which would be guessed wrongly too often: who stays is written over by the next one.
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
    """Shorten the list of a leaf by those who have left, once they are as many as the others."""
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
def precedes(a, b):
    """Whether leaf a is split before leaf b: the larger gain, among equal gains the older node."""
    return a.gain > b.gain or (a.gain == b.gain and a.node < b.node)


@njit(**LENT_INNER)
def wait(slot, n_waiting, n_wanted, leaves, waiting):
    """Add a leaf to those waiting to be split; returns the leaf that waits no longer, or NONE.

    When only so many more can be split, a leaf with that many before it never will be.
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
def least_wanted(mass, n_waiting, n_wanted, leaves, waiting):
    """A little less than a leaf must gain to be split at all; `mass` is 1 unless it is gain per mass that counts."""
    return leaves[waiting[0]].gain * mass * (1.0 - 1e-9) if n_waiting == n_wanted else NO_SPLIT


@njit(**LENT_INNER)
def release(leaf, n_free, free):
    """Free the histogram of a leaf, if it has one; returns the number of free ones."""
    if leaf.histogram == NONE:
        return n_free
    free[n_free] = leaf.histogram
    leaf.histogram = NONE
    return n_free + 1


@njit(**LENT_INNER)
def bins_together(size, n, level):
    """Bins that a leaf of this size looks at as one group at first: the fewer samples they hold, the more."""
    asked = BINS_PER_GROUP * np.sqrt(n / size)
    for _ in range(level):
        asked /= BINS_JOINED
    return max(ONE, np.int64(asked))


@njit(**LENT_INNER)
def find_members(f, slot, leaf, first, last, order, rank, samples, state, keys):
    """Members of a leaf at positions `first` … `last` − 1 of column f, in ascending order; returns their number.

    keys[0, k] = position · 2³² + 2 · sample + label, the label as in `state`. Small leaves look at their own samples,
    others at all samples in between.
    """
    found = 0
    if 2 * leaf.n_samples < last - first and leaf.n_samples < MANY:
        return sort_members(f, slot, leaf, first, last, rank, samples, state, keys)
    for line in range(first // ENTRIES_PER_LINE, last // ENTRIES_PER_LINE):
        fetch(order, (f, line * ENTRIES_PER_LINE))
    for k in range(first, last):
        i = order[f, np.uint32(k)]
        own = np.int64(state[i])
        # Written first and counted afterwards: a branch would be guessed wrongly too often.
        keys[0, np.uint32(found)] = np.int64(k) << SHIFT | np.int64(i) << 1 | own & 1
        found += own >> 1 == slot
    return found


@njit(**MERGED)
def sort_members(f, slot, leaf, first, last, rank, samples, state, keys):
    """`find_members` from the leaf's own samples."""
    start, end, found = leaf.start, leaf.end, 0
    for q in range(start, end):
        i = samples[np.uint32(q)]
        position = np.int64(rank[i, f])
        fetch(rank, (samples[min(q + AHEAD, end - 1)], f))
        own = np.int64(state[i])
        keys[1, np.uint32(found)] = position << SHIFT | np.int64(i) << 1 | own & 1
        found += (position >= first) & (position < last) & (own >> 1 == slot)
    # Several keys are compared at a time, and none is guessed: faster than sorting for the few there are.
    for k in range(found):
        key, smaller = keys[1, k], 0
        for q in range(found):
            smaller += keys[1, np.uint32(q)] < key
        keys[0, np.uint32(smaller)] = key
    return found
