"""The leaves of a growing tree: which samples each holds, and which is split next.

A *slot* holds one present leaf; when a leaf is split, the larger child keeps the slot and the smaller one opens a
new slot, so that work is proportional to the smaller child: the larger child keeps the parent's list of samples too,
and who reads the list skips those that have left. Everything is held by a `Place` and one array:

leaves : (max_leaves, 10) int64
    Per slot: range of the list of samples, number of samples, node, depth, histogram, best cut (column, position);
    then, as two lists that have nothing to do with the row's slot, the leaves waiting to be split, the next one last,
    and the free histograms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .fetching import AHEAD, ENTRIES_PER_LINE, fetch
from .options import LENT_INNER
from .trees_presort import BINS_JOINED, SHRINKING
from .trees_rules import NO_SPLIT, SHIFT

START, END, SIZE, NODE, DEPTH, HISTOGRAM, COLUMN, POSITION, WAITING, FREE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

# Bins that a leaf with all samples looks at as one group.
BINS_PER_GROUP = 2.0

# No more keys are sorted by insertion alone.
FEW = 16

# A bare number as an argument makes numba compile the callee once more for that number.
ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)
NONE = MINUS_ONE


class Place(NamedTuple):
    """Where samples are.

    Attributes
    ----------
    samples : (2n,) uint32
        Lists of samples, one per leaf.
    state : (n,) uint16, or uint32 where there are many leaves
        2 · slot + label of each sample; kernels that keep labels elsewhere leave the last bit alone. It is read at
        random, so it must be small.
    moved : (2, 2 · leaves) of the same type
        The state a sample goes to when its leaf is split, by side (stays, moves) and present state.
    """

    samples: NDArray[np.uint32]
    state: NDArray[np.uint16 | np.uint32]
    moved: NDArray[np.uint16 | np.uint32]


def make_place(n: int, max_leaves: int) -> Place:
    """Room for n samples."""
    narrow = np.uint16 if max_leaves <= 2**15 else np.uint32
    moved: NDArray[Any] = np.tile(np.arange(2 * max_leaves), (2, 1)).astype(narrow)
    return Place(np.empty(2 * n, np.uint32), np.empty(n, narrow), moved)


@njit(**LENT_INNER)
def plant(n_histograms, place, leaves):
    """One leaf that lists every sample, and histogram 0; returns the number of free histograms.

    The last histogram is never given away: it serves leaves that have none of their own.
    """
    n = place.state.size
    for i in range(n):
        place.samples[i] = i
    leaves[0, START], leaves[0, END], leaves[0, SIZE] = 0, n, n
    leaves[0, NODE], leaves[0, DEPTH], leaves[0, HISTOGRAM] = 0, 0, 0
    for h in range(1, n_histograms - 1):
        leaves[h - 1, FREE] = h
    return n_histograms - 2


@njit(**LENT_INNER)
def divide(slot, new, size_left, used, columns, place, leaves):
    """Split the leaf in `slot` at its best cut: samples, nodes and depths.

    Of the room for lists `used` is taken. Returns (slot of the left child, what is taken then).
    """
    f, position, size, n = leaves[slot, COLUMN], leaves[slot, POSITION], leaves[slot, SIZE], place.state.size
    left_is_small = 2 * size_left <= size
    n_small = size_left if left_is_small else size - size_left
    if used + n_small > place.samples.size:
        used = list_anew(new, place, leaves)
    walk = (position if left_is_small else n - position) <= 3 * size
    end, q, last = used, leaves[slot, START], leaves[slot, END] - 1
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
            i = place.samples[np.uint32(q)]
            fetch(columns.rank, (place.samples[min(q + AHEAD, last)], f))
            q += 1
            side = np.int64((columns.rank[i, f] < position) == left_is_small)
        # No branch, which would be guessed wrongly too often: who stays is written over by the next one.
        own = place.state[i]
        state = place.moved[np.uint32(side), own]
        place.state[i] = state
        place.samples[np.uint32(end)] = i
        end += state != own
    for label in range(2):
        place.moved[1, 2 * slot + label] = 2 * slot + label
    leaves[new, START], leaves[new, END], leaves[new, SIZE] = used, end, n_small
    leaves[slot, SIZE] = size - n_small
    strike_out(slot, place, leaves)
    left = new if left_is_small else slot
    leaves[left, NODE], leaves[slot + new - left, NODE] = 2 * new - 1, 2 * new
    leaves[slot, DEPTH] += 1
    leaves[new, DEPTH] = leaves[slot, DEPTH]
    return left, end


@njit(**LENT_INNER)
def strike_out(slot, place, leaves):
    """Shorten the list of a leaf by those who have left, once they are as many as the others."""
    if 2 * leaves[slot, SIZE] > leaves[slot, END] - leaves[slot, START]:
        return
    end = leaves[slot, START]
    for q in range(leaves[slot, START], leaves[slot, END]):
        i = place.samples[np.uint32(q)]
        place.samples[np.uint32(end)] = i
        end += np.int64(place.state[i]) >> 1 == slot
    leaves[slot, END] = end


@njit(**LENT_INNER)
def list_anew(n_leaves, place, leaves):
    """List the samples of every leaf from the beginning of the room for lists; returns how much is taken."""
    end = 0
    for slot in range(n_leaves):
        leaves[slot, START], leaves[slot, END] = end, end
        end += leaves[slot, SIZE]
    for i in range(place.state.size):
        slot = place.state[i] >> 1
        place.samples[leaves[slot, END]] = i
        leaves[slot, END] += 1
    return end


@njit(**LENT_INNER)
def precedes(a, b, gains, leaves):
    """Whether leaf a is split before leaf b: the larger gain, among equal gains the older node."""
    if gains[a] != gains[b]:
        return gains[a] > gains[b]
    return leaves[a, NODE] < leaves[b, NODE]


@njit(**LENT_INNER)
def wait(slot, n_waiting, n_wanted, gains, leaves):
    """Add a leaf to those waiting to be split; returns the leaf that waits no longer, or NONE.

    When only so many more can be split, a leaf with that many before it never will be.
    """
    if n_waiting < n_wanted:
        k = n_waiting
        while k > 0 and precedes(leaves[k - 1, WAITING], slot, gains, leaves):
            leaves[k, WAITING] = leaves[k - 1, WAITING]
            k -= 1
        leaves[k, WAITING] = slot
        return NONE
    last, k = leaves[0, WAITING], 0
    if not precedes(slot, last, gains, leaves):
        return slot
    while k < n_waiting - 1 and precedes(slot, leaves[k + 1, WAITING], gains, leaves):
        leaves[k, WAITING] = leaves[k + 1, WAITING]
        k += 1
    leaves[k, WAITING] = slot
    return last


@njit(**LENT_INNER)
def least_wanted(mass, n_waiting, n_wanted, gains, leaves):
    """A little less than a leaf must gain to be split at all; `mass` is 1 unless it is gain per mass that counts."""
    return gains[leaves[0, WAITING]] * mass * (1.0 - 1e-9) if n_waiting == n_wanted else NO_SPLIT


@njit(**LENT_INNER)
def release(slot, n_free, leaves):
    """Free the histogram of a leaf, if it has one; returns the number of free ones."""
    h = leaves[slot, HISTOGRAM]
    if h == NONE:
        return n_free
    leaves[slot, HISTOGRAM] = NONE
    leaves[n_free, FREE] = h
    return n_free + 1


@njit(**LENT_INNER)
def histograms_of_children(slot, new, larger_asks, smaller_asks, n_free, leaves):
    """Give histograms to the children that ask for one, as far as there are; returns the number of free ones.

    The larger child keeps the parent's.
    """
    leaves[new, HISTOGRAM] = NONE
    if leaves[slot, HISTOGRAM] == NONE:
        return n_free
    if not larger_asks:
        n_free = release(slot, n_free, leaves)
    if smaller_asks and n_free > 0:
        n_free -= 1
        leaves[new, HISTOGRAM] = leaves[n_free, FREE]
    return n_free


@njit(**LENT_INNER)
def level_of(size, n, n_levels):
    """The level of bins for a leaf of this size: bins are as many as the square root of the samples asks for."""
    level, asked = 0, SHRINKING * size
    while asked <= n and level < n_levels - 1:
        level += 1
        asked *= SHRINKING
    return level


@njit(**LENT_INNER)
def bins_together(size, n, level):
    """Bins that a leaf of this size looks at as one group at first: the fewer samples they hold, the more."""
    asked = BINS_PER_GROUP * np.sqrt(n / size)
    for _ in range(level):
        asked /= BINS_JOINED
    return max(1, int(asked))


@njit(**LENT_INNER)
def clear(counts, n_cells):
    """Empty a histogram."""
    for cell in range(n_cells):
        counts[cell] = 0


@njit(**LENT_INNER)
def fold_histogram(counts, n_channels, level, wanted, table):
    """Join the cells of a histogram to those of a higher level, in place."""
    while level < wanted:
        above, joined = table.cell_above[level], -1
        for cell in range(table.offsets[level, -1]):
            fresh = above[cell] != joined
            joined = above[cell]
            for v in range(n_channels):
                own = counts[cell * n_channels + v]
                counts[joined * n_channels + v] = own if fresh else counts[joined * n_channels + v] + own
        level += 1


@njit(**LENT_INNER)
def find_members(f, slot, first, last, columns, place, leaves, keys, tally):
    """Members of a leaf at positions `first` … `last` − 1 of column f, in ascending order; returns their number.

    keys[0, k] = position · 2³² + 2 · sample + label, the label as in `state`. Small leaves look at their own samples,
    others at all samples in between.
    """
    m = leaves[slot, SIZE]
    if 2 * m < last - first and m < tally.size:
        return sort_members(f, slot, first, last, columns.rank, place, leaves, keys, tally)
    found, order = 0, columns.order
    for k in range(first, last, ENTRIES_PER_LINE):
        fetch(order, (f, k))
    for k in range(first, last):
        i = order[f, np.uint32(k)]
        own = np.int64(place.state[i])
        # Written first and counted afterwards: a branch would be guessed wrongly too often.
        keys[0, np.uint32(found)] = np.int64(k) << SHIFT | np.int64(i) << 1 | own & 1
        found += own >> 1 == slot
    return found


@njit(**LENT_INNER)
def sort_members(f, slot, first, last, rank, place, leaves, keys, tally):
    """`find_members` from the leaf's own samples.

    Buckets of equal width are nearly sorted; insertion does the rest.
    """
    found, last_listed = 0, leaves[slot, END] - 1
    for q in range(leaves[slot, START], leaves[slot, END]):
        i = place.samples[np.uint32(q)]
        position = np.int64(rank[i, f])
        fetch(rank, (place.samples[min(q + AHEAD, last_listed)], f))
        own = np.int64(place.state[i])
        keys[1, np.uint32(found)] = position << SHIFT | np.int64(i) << 1 | own & 1
        found += (position >= first) & (position < last) & (own >> 1 == slot)
    if found <= FEW:
        for k in range(found):
            keys[0, k] = keys[1, k]
    else:
        low, high = keys[1, 0] >> SHIFT, keys[1, 0] >> SHIFT
        for k in range(1, found):
            low, high = min(low, keys[1, k] >> SHIFT), max(high, keys[1, k] >> SHIFT)
        shift = SHIFT
        while (high - low) >> (shift - SHIFT) >= found:
            shift += 1
        n_buckets = ((high - low) >> (shift - SHIFT)) + 1
        for bucket in range(n_buckets + 1):
            tally[bucket] = 0
        for k in range(found):
            tally[((keys[1, k] - (low << SHIFT)) >> shift) + 1] += 1
        for bucket in range(1, n_buckets):
            tally[bucket + 1] += tally[bucket]
        for k in range(found):
            bucket = (keys[1, k] - (low << SHIFT)) >> shift
            keys[0, tally[bucket]] = keys[1, k]
            tally[bucket] += 1
    for k in range(1, found):
        key, q = keys[0, k], k
        while q > 0 and keys[0, q - 1] > key:
            keys[0, q] = keys[0, q - 1]
            q -= 1
        keys[0, q] = key
    return found
