"""Compiled lists of near pairs: a distance that is computed once serves both of its rows.

Every row has a limit, guessed from a sample of its distances; pairs within the limit of either row are listed for it.
Distances are the bits of float32 squared distances, whose order is that of the numbers. Rows are known by their
places, of which the first are those of the sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.nearest import END, SMALLEST, bound_on_kth
from outsample._kernels.options import LENT, LENT_INNER

NONE, OWN = np.int64(-1), np.int64(0)
EIGHT = np.uint32(8)


class PairRoom(NamedTuple):
    """Memory of one thread while pairs are listed.

    Attributes
    ----------
    keys : (n, width + 1) the list of each place as bits · 2³² + row; what is past `width` is written and never read
    counts : (n,) how long each list is, `width` for one that is full, zeros at first
    flags, words : (8 · eighths,) whether a pair is listed, zeros at first; eight flags at a time
    listed, hits : (eighths,) words that are not zero; (8 · eighths,) columns that are listed
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    words: NDArray[np.uint64]
    listed: NDArray[np.uint32]
    hits: NDArray[np.uint32]


def make_pair_room(keys: NDArray[np.int64], counts: NDArray[np.uint32]) -> PairRoom:
    """Room for the lists of n rows, which are empty at first."""
    # One word more than n flags take, so that flags past the last column can be cleared without a question.
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
    """Memory of one thread while lists are joined: all keys of a place, their distances, and a float32 and its bits."""

    keys: NDArray[np.int64]
    distances: NDArray[np.int32]
    bound: NDArray[np.float32]
    bits: NDArray[np.int32]


def make_join_room(width: int) -> JoinRoom:
    """Room for `width` keys."""
    bound = np.empty(1, np.float32)
    return JoinRoom(np.empty(width, np.int64), np.empty(width, np.int32), bound, bound.view(np.int32))


@njit(**LENT)
def guess_limits(as_integers, rank, limits):
    """About the rank-th smallest distance of each place to a sample, as_integers (places, sample), into `limits`."""
    for r in range(len(as_integers)):
        limits[r] = max(bound_on_kth(as_integers[r], NONE, rank), np.int32(0))


@njit(**LENT_INNER)
def _flag(distances, limit, other_limits, flags):
    """Whether each distance is within a limit of its own or within that of the other."""
    for j in range(distances.size):
        farther = max(limit, other_limits[j])
        flags[j] = distances[j] <= farther


@njit(**LENT_INNER)
def _flagged(first, last, room):
    """List the columns that are flagged among the words first, …, last − 1; returns how many there are."""
    flags, words, listed, hits = room.flags, room.words, room.listed, room.hits
    # Written first and counted afterwards: a branch would be guessed wrongly too often.
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
    """List near pairs of the places first, first + 1, … with the places start, start + 1, …

    as_integers : (places, others) their distances
    skipped : how many others the first place is not compared with, itself the last of them, and each next place with
        one more; zero where these are different places, all of which are compared
    limits, rows : (n,) up to where each place lists its pairs; its row, by which others list it
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
        for q in range(_flagged(word, (columns + 7) // 8, room)):
            j = room.hits[np.uint32(q)]
            bits, other = distances[j], np.uint32(np.uint32(start) + j)
            distance, theirs = np.int64(max(bits, np.int32(0))) << 32, counts[other]
            keys[place, own] = distance | other_rows[j]
            own = min(np.uint32(own + np.uint32(bits <= limit)), full)
            keys[other, theirs] = distance | row
            counts[other] = min(np.uint32(theirs + np.uint32(bits <= other_limits[j])), full)
        counts[place] = own


@njit(**LENT_INNER)
def _joined(lists, counts, place, row, room):
    """Copy what all threads listed for a place, after its own row; returns how much it is, 0 where a list is full."""
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
    """Gather all rows that may be among the k nearest of the places first, first + 1, …, a few more than k.

    lists, counts : (threads, n, width + 1) and (threads, n), the `keys` and `counts` of every thread
    squares, precision : as for `list_candidates`, by row
    keys : (places, width) as those of `list_candidates`. A place whose lists do not reach far enough, or for which
        there are too many rows, has none.
    """
    width = keys.shape[1]
    for r in range(len(keys)):
        place, row, kept = first + r, keys[r], 0
        found = _joined(lists, counts, place, rows[place], room)
        if found >= k:
            room.bits[0] = max(bound_on_kth(room.distances[:found], OWN, k), 0)
            room.bound[0] += 2 * precision * (squares[rows[place]] + room.bound[0]) + SMALLEST
            limit = room.bits[0]
            for q in range(found if limit <= limits[place] else 0):
                row[np.uint32(min(kept, width - 1))] = room.keys[q]
                kept += room.distances[q] <= limit
        for q in range(kept if kept < width else 0, width):
            row[q] = END


def warmup() -> None:
    """Compile every kernel."""
    lists, counts = np.zeros((1, 2, 2), np.int64), np.zeros((1, 2), np.uint32)
    bits, limits, rows = np.zeros((1, 2), np.int32), np.zeros(2, np.int32), np.zeros(2, np.int64)
    guess_limits(bits, 1, limits)
    list_pairs(bits, 0, 0, 0, limits, rows, make_pair_room(lists[0], counts[0]))
    keys, room = np.zeros((1, 1), np.int64), make_join_room(2)
    join_lists(lists, counts, 0, limits, rows, np.zeros(2), 0.0, 1, keys, room)
