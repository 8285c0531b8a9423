"""The k nearest rows of every row: approximate distances decide where they can, exact ones where they cannot.

A matrix product in single precision gives all squared distances of some rows up to a known error. Distances are passed
as the bits of these float32 numbers, whose order as integers is that of the numbers. There are two ways from there to
a few candidates per row:

- Each row with all others (`list_candidates`). The columns are dealt into groups; the k-th smallest of the groups'
  minima is an upper bound on the k-th smallest distance, and few columns lie below it.
- Each pair once (`guess_limits`, `list_pairs`, `join_lists`). Every row has a limit, guessed from its distances to a
  sample of the rows; a pair is listed for each of its rows whose limit it does not exceed. Here rows are known by their
  *place*; the sample has the first places. A search over 40 values of k with 10 permutations takes 1.15 times less
  processor time this way at 4600 × 57, and 1.37 times less at 20 000 × 20, because half of the distances need not be
  computed. The few rows whose limit was too low are left to the first way.

Where two candidates are so nearly at the same distance that the error leaves their order open, their distances are
computed again in double precision from the differences (`settle_order`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT, LENT_INNER, REGROUPED
from outsample.running.arrays import Floats, Integers

SMALLEST = 1e-37
"""Below this, single precision loses its relative accuracy."""

END = np.iinfo(np.int64).max
"""Marks the end of a list of candidates."""

LOW_HALF = 2**32 - 1

# Typed, because numba compiles a callee once more for every literal number it is called with.
NONE, OWN = np.int64(-1), np.int64(0)
EIGHT = np.uint32(8)


class Room(NamedTuple):
    """Memory of one thread while rows are compared with all others.

    Attributes
    ----------
    minima, near : (groups,) smallest entry of each group; (groups + 1,) groups that hold candidates
    candidates : (n + 1,) all candidates of a row, as row numbers
    bound, bits : (1,) a float32, and its bits
    distances, rows : (width,) the nearest candidates by exact distances, if there are many
    """

    minima: NDArray[np.int32]
    near: NDArray[np.uint32]
    candidates: NDArray[np.uint32]
    bound: NDArray[np.float32]
    bits: NDArray[np.int32]
    distances: Floats
    rows: Integers


def make_room(n: int, groups: int, width: int) -> Room:
    """Memory for n rows dealt into groups, and lists of `width` candidates."""
    bound = np.empty(1, np.float32)
    return Room(
        minima=np.empty(groups, np.int32),
        near=np.empty(groups + 1, np.uint32),
        candidates=np.empty(n + 1, np.uint32),
        bound=bound,
        bits=bound.view(np.int32),
        distances=np.empty(width),
        rows=np.empty(width, np.int64),
    )


@njit(**LENT_INNER, **REGROUPED)
def _squared_distance(a, b):
    """Σ (a − b)²."""
    total = 0.0
    for c in range(len(a)):
        difference = a[c] - b[c]
        total += difference * difference
    return total


@njit(**LENT_INNER)
def _group_minima(row, minima):
    """Write the smallest entry of each group; column j is in group j modulo their number."""
    groups = len(minima)
    for g in range(groups):
        minima[g] = row[g]
    for start in range(groups, len(row), groups):
        block = row[start : start + groups]
        for g in range(len(block)):
            minima[g] = block[g] if block[g] < minima[g] else minima[g]


@njit(**LENT_INNER)
def bound_on_kth(values, own, k):
    """An upper bound on the k-th smallest value that few more than k values do not exceed, by bisection.

    values[own] is a row's distance to itself, known to be zero; −1 where there is none, and at least two values.
    """
    other = values[own - 1]
    low, high = other, other
    for q in range(values.size):
        v = other if q == own else values[q]
        low, high = min(low, v), max(high, v)
    # Distances that rounding made negative are zero.
    low = max(low, np.int32(0))
    while high - low > 1:
        middle = np.int32((np.int64(low) + high) // 2)
        count = np.int32(0)
        for q in range(values.size):
            # Typed, because numba sums int32 in int64, which takes several times as long.
            count = np.int32(count + np.int32(values[q] <= middle))
        if count < k:
            low = middle
        else:
            high = middle
            if count <= k + k // 16:
                break
    return high


@njit(**LENT_INNER)
def _insert(distance, row, distances, rows, n_sorted):
    """Insert a row among the first ones, which are sorted by (distance, row number)."""
    place = n_sorted
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and rows[place - 1] > row)
    ):
        distances[place], rows[place] = distances[place - 1], rows[place - 1]
        place -= 1
    distances[place], rows[place] = distance, row


@njit(**LENT_INNER)
def _settle(X, i, k, near, precision, distances, rows):
    """Put candidates that are sorted by approximate distance into their exact order, as far as the first k need it.

    The error of an approximate distance t is at most precision · (near + t).
    """
    q = 0
    while q < k:
        last = q
        while (
            last + 1 < len(rows)
            and distances[last + 1] - distances[last] <= 2 * precision * (near + distances[last + 1]) + 2 * SMALLEST
        ):
            last += 1
        if last > q:
            for c in range(q, last + 1):
                _insert(_squared_distance(X[i], X[rows[c]]), rows[c], distances[q:], rows[q:], c - q)
        q = last + 1


@njit(**LENT)
def list_candidates(as_integers, which, X, squares, precision, keys, neighbours, room):
    """List all rows that may be among the k nearest of the rows `which`, a few more than k.

    as_integers : (rows, n) the bits of float32 squared distances
    squares : (n,) squared norms on the same scale; the error of an approximate squared distance t of row i is at most
        `precision` times squares[i] + t
    keys : (rows, width) int64 bits · 2³² + row for each candidate, and END after the last. The list of a row with more
        candidates is left empty: its k nearest rows are written into `neighbours` (n, k) right away.
    """
    n, width, groups, k = as_integers.shape[1], keys.shape[1], room.minima.size, neighbours.shape[1]
    minima, near, candidates = room.minima, room.near, room.candidates
    for r in range(len(as_integers)):
        row, i = as_integers[r], which[r]
        _group_minima(row, minima)
        room.bits[0] = max(bound_on_kth(minima, i % groups, k), 0)
        room.bound[0] += 2 * precision * (squares[i] + room.bound[0]) + SMALLEST
        limit = room.bits[0]
        # Written always and counted only below the limit: a branch would be mispredicted too often. Unsigned indices
        # are not tested for being negative.
        n_groups, found = 0, 0
        for g in range(groups):
            near[np.uint32(n_groups)] = g
            n_groups += minima[g] <= limit
        for start in range(0, n, groups):
            block = row[start : start + groups]
            while n_groups > 0 and np.int64(near[n_groups - 1]) >= block.size:
                n_groups -= 1
            for q in range(n_groups):
                g = near[np.uint32(q)]
                candidates[np.uint32(found)] = np.uint32(start) + g
                found += block[g] <= limit
        if found > width:
            _choose_exactly(X, i, candidates[:found], room.distances, room.rows, neighbours[i])
            found = 0
        for q in range(found):
            bits = max(row[candidates[q]], np.int32(0))
            keys[r, q] = np.int64(bits) << 32 | np.int64(candidates[q])
        for q in range(found, width):
            keys[r, q] = END


@njit(**LENT_INNER)
def _choose_exactly(X, i, candidates, distances, rows, neighbours):
    """Write the nearest of many candidates, by their exact distances, into `neighbours` (k,)."""
    k, kept = len(neighbours), 0
    for q in range(len(candidates)):
        row = np.int64(candidates[q])
        distance = _squared_distance(X[i], X[row])
        if kept < k or distance < distances[k - 1] or (distance == distances[k - 1] and row < rows[k - 1]):
            _insert(distance, row, distances, rows, min(kept, k - 1))
            kept = min(kept + 1, k)
    for q in range(k):
        neighbours[q] = rows[q]


@njit(**LENT)
def settle_order(keys, approximate, which, X, squares, precision, neighbours, distances, rows):
    """Write the k nearest rows of the rows `which` into `neighbours` (n, k).

    keys, approximate : (rows, width) sorted keys as those of `list_candidates`, and the distances in them; rows
        with an empty list are skipped
    distances, rows : (width,) float64 and int64 memory
    """
    k = neighbours.shape[1]
    for r in range(len(keys)):
        found, i = 0, which[r]
        while found < keys.shape[1] and keys[r, found] != END:
            rows[found] = keys[r, found] & LOW_HALF
            distances[found] = approximate[r, found]
            found += 1
        if found > 0:
            _settle(X, i, k, squares[i], precision, distances[:found], rows[:found])
            for q in range(k):
                neighbours[i, q] = rows[q]


class PairRoom(NamedTuple):
    """Memory of one thread while pairs are listed.

    Attributes
    ----------
    keys : (n, width + 1) the list of each place as bits · 2³² + row; the last column is written and never read
    counts : (n,) length of each list, at most `width`; zeros at first
    flags, words : (8 · eighths,) whether a pair is listed, zeros at first; the same memory as words of eight flags
    listed, hits : (eighths,) words that are not zero; (8 · eighths,) columns that are listed
    """

    keys: Integers
    counts: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    words: NDArray[np.uint64]
    listed: NDArray[np.uint32]
    hits: NDArray[np.uint32]


def make_pair_room(keys: Integers, counts: NDArray[np.uint32]) -> PairRoom:
    """Memory for the lists of n rows, which are empty at first."""
    # One word more than n flags take, so that the flags after the last column can always be cleared.
    eighths = len(keys) // 8 + 2
    flags = np.zeros(8 * eighths, np.uint8)
    return PairRoom(
        keys=keys,
        counts=counts,
        flags=flags,
        words=flags.view(np.uint64),
        listed=np.empty(eighths, np.uint32),
        hits=np.empty(8 * eighths, np.uint32),
    )


class JoinRoom(NamedTuple):
    """Memory of one thread while lists are joined: the keys of a place, their distances, a float32 and its bits."""

    keys: Integers
    distances: NDArray[np.int32]
    bound: NDArray[np.float32]
    bits: NDArray[np.int32]


def make_join_room(width: int) -> JoinRoom:
    """Memory for `width` keys."""
    bound = np.empty(1, np.float32)
    return JoinRoom(np.empty(width, np.int64), np.empty(width, np.int32), bound, bound.view(np.int32))


@njit(**LENT)
def guess_limits(as_integers, rank, limits):
    """Write about the rank-th smallest of the distances as_integers (places, sample) of each place into `limits`."""
    for r in range(len(as_integers)):
        limits[r] = max(bound_on_kth(as_integers[r], NONE, rank), np.int32(0))


@njit(**LENT_INNER)
def _flag(distances, limit, other_limits, flags):
    """Flag each distance that is within the limit of at least one of its two rows."""
    for j in range(distances.size):
        farther = max(limit, other_limits[j])
        flags[j] = distances[j] <= farther


@njit(**LENT_INNER)
def _list_flagged(first, last, room):
    """List the flagged columns among the words first, …, last − 1; returns their number."""
    flags, words, listed, hits = room.flags, room.words, room.listed, room.hits
    # Written always and counted only where flagged: a branch would be mispredicted too often.
    n_words, found = 0, 0
    for w in range(np.uint32(first), np.uint32(last)):
        listed[np.uint32(n_words)] = w
        n_words += words[np.uint32(w)] != 0
    for q in range(n_words):
        start = np.uint32(listed[np.uint32(q)] * EIGHT)
        for j in range(start, np.uint32(start + EIGHT)):
            hits[np.uint32(found)] = j
            found += np.int64(flags[np.uint32(j)])
    return found


@njit(**LENT)
def list_pairs(as_integers, first, start, skipped, limits, rows, room):
    """List the pairs of places first, first + 1, … and places start, start + 1, … that are within a limit.

    as_integers : (places, others) their distances
    skipped : number of others that the first place is not paired with, itself the last of them; each next place skips
        one more. Zero where the places are not among the others: then all pairs count.
    limits, rows : (n,) limit of each place; its row number
    """
    keys, counts, flags = room.keys, room.counts, room.flags
    full, columns = np.uint32(keys.shape[1] - 1), as_integers.shape[1]
    other_limits, other_rows = limits[start : start + columns], rows[start : start + columns]
    for j in range(columns, columns + 8):
        flags[j] = 0
    for r in range(len(as_integers)):
        place, distances = np.uint32(first + r), as_integers[r]
        limit, row, own = limits[place], rows[place], counts[place]
        begin = skipped + r if skipped > 0 else 0
        word = begin // 8
        _flag(distances[8 * word :], limit, other_limits[8 * word :], flags[8 * word :])
        for j in range(8 * word, begin):
            flags[j] = 0
        for q in range(_list_flagged(word, (columns + 7) // 8, room)):
            j = room.hits[np.uint32(q)]
            bits, other = distances[j], np.uint32(np.uint32(start) + j)
            distance, theirs = np.int64(max(bits, np.int32(0))) << 32, counts[other]
            keys[place, own] = distance | other_rows[j]
            own = min(np.uint32(own + np.uint32(bits <= limit)), full)
            keys[other, theirs] = distance | row
            counts[other] = min(np.uint32(theirs + np.uint32(bits <= other_limits[j])), full)
        counts[place] = own


@njit(**LENT_INNER)
def _copy_lists(lists, counts, place, row, room):
    """Copy the lists of a place by all threads, after its own row; returns their length, 0 if one was full."""
    room.keys[0], room.distances[0], found = row, 0, 1
    for t in range(len(counts)):
        listed, count = lists[t, place], np.int64(counts[t, place])
        if count >= listed.size - 1:
            return 0
        keys, distances = room.keys[found:], room.distances[found:]
        for q in range(count):
            keys[q] = listed[q]
            distances[q] = np.int32(listed[q] >> 32)
        found += count
    return found


@njit(**LENT)
def join_lists(lists, counts, first, limits, rows, squares, precision, k, keys, room):
    """List all rows that may be among the k nearest of the places first, first + 1, …, a few more than k.

    lists, counts : (threads, n, width + 1) and (threads, n), the `keys` and `counts` of every thread
    squares, precision : as for `list_candidates`, by row
    keys : (places, width) as those of `list_candidates`; empty for a place whose limit was below its k-th distance, and
        for one with too many candidates
    """
    width = keys.shape[1]
    for r in range(len(keys)):
        place, row, kept = first + r, keys[r], 0
        found = _copy_lists(lists, counts, place, rows[place], room)
        if found >= k:
            room.bits[0] = max(bound_on_kth(room.distances[:found], OWN, k), 0)
            room.bound[0] += 2 * precision * (squares[rows[place]] + room.bound[0]) + SMALLEST
            limit = room.bits[0]
            for q in range(found if limit <= limits[place] else 0):
                row[np.uint32(min(kept, width - 1))] = room.keys[q]
                kept += room.distances[q] <= limit
        for q in range(kept if kept < width else 0, width):
            row[q] = END


@njit(**LENT)
def distances_to(X, neighbours, distances):
    """Distance of each row of X to its neighbours, into `distances` (n, k)."""
    for i in range(len(neighbours)):
        for q in range(neighbours.shape[1]):
            distances[i, q] = np.sqrt(_squared_distance(X[i], X[neighbours[i, q]]))


def warmup() -> None:
    """Compile every kernel, or load it from disk."""
    approximate, X, neighbours = np.zeros((1, 1), np.float32), np.zeros((1, 1)), np.zeros((1, 1), np.int32)
    keys, room = np.zeros((1, 1), np.int64), make_room(1, 1, 1)
    settings = np.zeros(1, np.int64), X, np.zeros(1), 0.0
    list_candidates(approximate.view(np.int32), *settings, keys, neighbours, room)
    settle_order(keys, approximate, *settings, neighbours, room.distances, room.rows)
    distances_to(X, neighbours, X.copy())
    lists, counts = np.zeros((1, 2, 2), np.int64), np.zeros((1, 2), np.uint32)
    bits, limits, rows = np.zeros((1, 2), np.int32), np.zeros(2, np.int32), np.zeros(2, np.int64)
    guess_limits(bits, 1, limits)
    list_pairs(bits, 0, 0, 0, limits, rows, make_pair_room(lists[0], counts[0]))
    join_lists(lists, counts, 0, limits, rows, np.zeros(2), 0.0, 1, keys, make_join_room(2))
