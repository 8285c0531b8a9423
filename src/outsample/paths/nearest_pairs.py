"""Nearest rows where each pair is compared once, for both of its rows.

How far the neighbours of a row may be has to be known before its first pair is met. It is guessed from the distances
to a sample of the rows, far enough for nearly all of them; rows whose guess was too near are left to others.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from outsample.threads import in_turn

from .single_precision import FEW_MORE, Integers, Neighbours, SinglePrecision, distances_as_integers

_ONE_IN = 8
_DEVIATIONS = 3.0
_MOST_BYTES = 2**27


def settle_near_pairs(table: SinglePrecision, neighbours: Neighbours, threads: int) -> Integers:
    """Write the nearest rows of most rows into neighbours (n, k); returns the rows that are left.

    These are the few whose guess was too near, or all where their lists would take too much memory.
    """
    n, k = neighbours.shape
    rank, width = _rank_and_width(k)
    if 8 * threads * n * (width + 1) > _MOST_BYTES:
        return np.arange(n)
    pairs = _Pairs(table, rank, width, threads)
    pairs.compare()
    return np.concatenate(in_turn(lambda block, _: pairs.settle(block, neighbours), pairs.blocks(0, n), threads))


def _rank_and_width(k: int) -> tuple[int, int]:
    """Which neighbour in the sample reaches beyond the k-th among all, and how many rows are hardly ever nearer."""
    expected = k / _ONE_IN
    rank = math.ceil(expected + _DEVIATIONS * math.sqrt(expected) + 1)
    return rank, math.ceil(_ONE_IN * (rank + _DEVIATIONS * math.sqrt(rank)))


class _Pairs:
    """The rows in another order, those of the sample first, with lists of what is near each of them."""

    def __init__(self, table: SinglePrecision, rank: int, width: int, threads: int) -> None:
        from outsample._kernels.nearest_pairs import make_pair_room

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
        """The places start, …, stop − 1, some at a time."""
        at_once = self.table.at_once
        return [slice(first, min(first + at_once, stop)) for first in range(start, stop, at_once)]

    def compare(self) -> None:
        """List what is near: the sample has its limits first, the other rows when they are compared with the sample."""
        sample, others = self.blocks(0, self.n_sampled), self.blocks(self.n_sampled, len(self.rows))
        in_turn(self._guess, sample, self.threads)
        in_turn(self._compare_with_sample, sample + others, self.threads)
        in_turn(self._compare_with_later, others, self.threads)

    def _guess(self, block: slice, thread: int) -> NDArray[np.int32]:
        """Guess limits from the distances to the sample, which are returned."""
        from outsample._kernels.nearest_pairs import guess_limits

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
        from outsample._kernels.nearest_pairs import list_pairs

        list_pairs(distances, block.start, start, skipped, self.limits, self.rows, self._rooms[thread])

    def settle(self, block: slice, neighbours: Neighbours) -> Integers:
        """Write the nearest rows of the rows of a block; returns those for which not enough is listed."""
        from outsample._kernels.nearest import END
        from outsample._kernels.nearest_pairs import join_lists, make_join_room

        which, k = self.rows[block], neighbours.shape[1]
        keys = np.empty((len(which), k + FEW_MORE), np.int64)
        lists = self.lists, self.counts, block.start, self.limits, self.rows
        room = make_join_room(len(self.lists) * self.lists.shape[2])
        join_lists(*lists, self.table.squares, self.table.precision, k, keys, room)
        self.table.settle(keys, which, neighbours)
        return np.asarray(which[keys[:, 0] == END])
