"""The nearest rows of every row of a table, by matrix products in single precision with a known error."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from outsample.running.arrays import Floats, Integers
from outsample.running.threads import in_turn, n_threads, one_blas_thread

Neighbours = NDArray[np.int32]
Singles = NDArray[np.float32]

FEW_MORE = 32
"""Candidates beyond k that a list has room for."""

_UNIT_ROUNDOFF = 2.0**-24
_FARTHEST_CENTER = 1e6
_ROWS_FOR_CENTER = 128
# Rows compared with all others at once: many, as long as their distances fit into the processor's cache.
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 64, 192
_DISTANCES_AT_ONCE = 900_000


class SinglePrecision:
    """X centred and scaled, arranged so that one product gives squared distances: [z, 1, |z|²] · [−2z, |z|², 1].

    Attributes
    ----------
    X, squares : the table, (n, d), and the squared norms of its rows on the scale of the distances, (n,)
    left, right : the two factors of the product, (n, d + 2) and (d + 2, n), in the layouts that are read fastest
    precision : the error of a squared distance t of row i is at most `precision` times squares[i] + t
    at_once : number of rows that are best compared with all others at once
    """

    def __init__(self, X: Floats, Z: Floats, squares: Floats, scale: float) -> None:
        n, d = X.shape
        self.X, self.squares = X, squares / scale**2
        self.left, self.right = np.empty((n, d + 2), np.float32), np.empty((d + 2, n), np.float32)
        np.divide(Z, scale, out=self.left[:, :d], casting="same_kind")
        self.left[:, d], self.left[:, d + 1] = 1, self.squares
        np.multiply(self.left[:, :d].T, -2, out=self.right[:d])
        self.right[d], self.right[d + 1] = self.squares, 1
        # A sum of d + 2 rounded products, whose absolute values add up to at most 6 (|z|² + squared distance) for
        # either of the two rows z.
        self.precision = 8 * (d + 5) * _UNIT_ROUNDOFF
        self.at_once = min(max(_DISTANCES_AT_ONCE // n, _FEWEST_AT_ONCE), _MOST_AT_ONCE)

    @classmethod
    def of(cls, X: Floats) -> SinglePrecision | None:
        """The table, or None where X lies so far from zero that single precision is too coarse."""
        # Rounding errors grow with the distance from the centre; the median of some rows is near most rows.
        center = np.median(X[:: -(-len(X) // _ROWS_FOR_CENTER)], axis=0)
        Z = X - center
        squares = np.einsum("ij,ij->i", Z, Z)
        scale = math.sqrt(squares.max())
        if not 0 < scale < math.inf or np.abs(center).max() > _FARTHEST_CENTER * scale:
            return None
        return cls(X, Z, squares, scale)

    def settle(self, keys: Integers, which: Integers, neighbours: Neighbours) -> None:
        """Write the k nearest rows of the rows `which` into neighbours (n, k).

        keys : (rows, width) distance bits · 2³² + row for each candidate and END elsewhere; rows without candidates
            are skipped
        """
        from outsample._kernels import nearest

        keys.sort(axis=1)
        approximate = (keys >> 32).astype(np.int32).view(np.float32)
        room = np.empty(keys.shape[1]), np.empty(keys.shape[1], np.int64)
        nearest.settle_order(keys, approximate, which, self.X, self.squares, self.precision, neighbours, *room)


def distances_as_integers(left: Singles, right: Singles, room: Singles) -> NDArray[np.int32]:
    """Squared distances of the rows in `left` to those in `right`, as the integers with the same bits.

    room : memory for them
    """
    shape = len(left), right.shape[1]
    return np.matmul(left, right, out=room[: math.prod(shape)].reshape(shape)).view(np.int32)


# Pairs: one row in so many is sampled; limits are so many standard deviations above what is expected; memory of lists.
_ONE_IN = 8
_DEVIATIONS = 3.0
_MOST_BYTES = 2**27


def settle_near_pairs(table: SinglePrecision, neighbours: Neighbours, threads: int) -> Integers:
    """Write the nearest rows of most rows into neighbours (n, k), each distance computed once; returns the other rows.

    These are the few rows whose limit was guessed too low, or all where their lists would take too much memory. See
    `_kernels.nearest` for what this brings.
    """
    n, k = neighbours.shape
    rank, width = _rank_and_width(k)
    if 8 * threads * n * (width + 1) > _MOST_BYTES:
        return np.arange(n)
    pairs = _Pairs(table, rank, width, threads)
    pairs.compare()
    return np.concatenate(in_turn(lambda block, _: pairs.settle(block, neighbours), pairs.blocks(0, n), threads))


def _rank_and_width(k: int) -> tuple[int, int]:
    """(rank of the neighbour in the sample that is nearly always beyond the k-th of all, room for rows within it)."""
    expected = k / _ONE_IN
    rank = math.ceil(expected + _DEVIATIONS * math.sqrt(expected) + 1)
    return rank, math.ceil(_ONE_IN * (rank + _DEVIATIONS * math.sqrt(rank)))


class _Pairs:
    """The rows in another order, those of the sample first, with a list of the rows within the limit of each."""

    def __init__(self, table: SinglePrecision, rank: int, width: int, threads: int) -> None:
        from outsample._kernels.nearest import make_pair_room

        n = len(table.left)
        self.table, self.rank, self.threads, self.n_sampled = table, rank, threads, -(-n // _ONE_IN)
        self.rows = np.concatenate([np.arange(start, n, _ONE_IN) for start in range(_ONE_IN)])
        self.left = table.left[self.rows]
        self.right = np.concatenate([table.right[:, start::_ONE_IN] for start in range(_ONE_IN)], axis=1)
        self.limits = np.empty(n, np.int32)
        self.lists, self.counts = np.empty((threads, n, width + 1), np.int64), np.zeros((threads, n), np.uint32)
        self._rooms = [make_pair_room(*of_thread) for of_thread in zip(self.lists, self.counts, strict=True)]
        self._products = np.empty((threads, table.at_once * n), np.float32)

    def blocks(self, start: int, stop: int) -> list[slice]:
        """The places start, …, stop − 1 in slices of `at_once`."""
        at_once = self.table.at_once
        return [slice(first, min(first + at_once, stop)) for first in range(start, stop, at_once)]

    def compare(self) -> None:
        """List all pairs within limits: limits of the sample first, those of other rows as they meet the sample."""
        sample, others = self.blocks(0, self.n_sampled), self.blocks(self.n_sampled, len(self.rows))
        in_turn(self._guess, sample, self.threads)
        in_turn(self._compare_with_sample, sample + others, self.threads)
        in_turn(self._compare_with_later, others, self.threads)

    def _guess(self, block: slice, thread: int) -> NDArray[np.int32]:
        """Guess the limits of a block from its distances to the sample, and return these."""
        from outsample._kernels.nearest import guess_limits

        distances = distances_as_integers(self.left[block], self.right[:, : self.n_sampled], self._products[thread])
        guess_limits(distances, self.rank, self.limits[block])
        return distances

    def _compare_with_sample(self, block: slice, thread: int) -> None:
        in_sample = block.start < self.n_sampled
        self._list(self._guess(block, thread), block, 0, block.start + 1 if in_sample else 0, thread)

    def _compare_with_later(self, block: slice, thread: int) -> None:
        distances = distances_as_integers(self.left[block], self.right[:, block.start :], self._products[thread])
        self._list(distances, block, block.start, 1, thread)

    def _list(self, distances: NDArray[np.int32], block: slice, start: int, skipped: int, thread: int) -> None:
        from outsample._kernels.nearest import list_pairs

        list_pairs(distances, block.start, start, skipped, self.limits, self.rows, self._rooms[thread])

    def settle(self, block: slice, neighbours: Neighbours) -> Integers:
        """Write the nearest rows of the rows of a block; returns the rows whose list is too short."""
        from outsample._kernels.nearest import END, join_lists, make_join_room

        which, k = self.rows[block], neighbours.shape[1]
        keys = np.empty((len(which), k + FEW_MORE), np.int64)
        lists = self.lists, self.counts, block.start, self.limits, self.rows
        room = make_join_room(len(self.lists) * self.lists.shape[2])
        join_lists(*lists, self.table.squares, self.table.precision, k, keys, room)
        self.table.settle(keys, which, neighbours)
        return np.asarray(which[keys[:, 0] == END])


_MOST_NEIGHBOURS = 256
# Rows × rows × columns up to which a second thread does not pay.
_SMALL = 5_000_000
# Rows and columns from which on it pays to compute each distance only once.
_MANY_ROWS, _MANY_COLUMNS = 3_000, 16


def nearest_rows(X: Floats, k: int) -> Neighbours | None:
    """The k nearest of all rows of X to every row, itself included, (n, k), nearest first.

    Equal distances are in order of row number. None where X lies so far from zero that single precision is too coarse
    to preselect candidates, and for so many neighbours that there is little to preselect.
    """
    table = SinglePrecision.of(X) if k <= _MOST_NEIGHBOURS else None
    if table is None:
        return None
    n, d = X.shape
    neighbours = np.empty((n, k), np.int32)
    threads = n_threads() if X.size * n > _SMALL else 1
    with one_blas_thread:
        once = n >= _MANY_ROWS and d >= _MANY_COLUMNS
        left = settle_near_pairs(table, neighbours, threads) if once else np.arange(n)
        if len(left):
            _compare_with_all(table, left, neighbours, threads)
    return neighbours


def _compare_with_all(table: SinglePrecision, which: Integers, neighbours: Neighbours, threads: int) -> None:
    """Find the neighbours of the rows `which` among all rows."""
    from outsample._kernels import nearest

    (n, k), at_once = neighbours.shape, table.at_once
    products = np.empty((threads, at_once * n), np.float32)
    groups = min(n, max(4 * k, math.isqrt(n * k)))
    rooms = [nearest.make_room(n, groups, k + FEW_MORE) for _ in range(threads)]

    def choose(first: int, thread: int) -> None:
        rows = which[first : first + at_once]
        distances = distances_as_integers(table.left[rows], table.right, products[thread])
        keys = np.empty((len(rows), k + FEW_MORE), np.int64)
        settings = rows, table.X, table.squares, table.precision
        nearest.list_candidates(distances, *settings, keys, neighbours, rooms[thread])
        table.settle(keys, rows, neighbours)

    in_turn(choose, range(0, len(which), at_once), threads)


def distances_to(X: Floats, neighbours: Neighbours) -> Floats:
    """Distances of every row of X to its neighbours, (n, k)."""
    from outsample._kernels import nearest

    distances = np.empty(neighbours.shape)
    nearest.distances_to(X, neighbours, distances)
    return distances
