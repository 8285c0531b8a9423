"""Rows in the order of their scores, and sums along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outsample.running.arrays import Array, Bools, Floats


class Order:
    """Rows in the order of their scores: rows with the same score form a group, groups are numbered upwards.

    Attributes
    ----------
    group : (..., n) the group of each row.
    n_groups : the largest number of groups of a set.
    """

    def __init__(self, scores: Array) -> None:
        n = scores.shape[-1]
        sets = scores.reshape(-1, n)
        # Sorting values and looking them up is faster than sorting places, and many scores have few values.
        held = np.sort(sets, axis=-1)
        last: Bools = np.ones(held.shape, dtype=bool)
        last[:, :-1] = held[:, 1:] != held[:, :-1]
        group = np.empty(sets.shape, dtype=np.intp)
        self.n_groups = 1
        for i, row in enumerate(sets):
            values = held[i][last[i]]
            group[i] = np.searchsorted(values, row)
            self.n_groups = max(self.n_groups, len(values))
        self.group: Array = group.reshape(scores.shape)

    def running(self, amounts: Array) -> Running:
        """Running sums of amounts, (..., n), along the order."""
        lead = np.broadcast_shapes(amounts.shape[:-1], self.group.shape[:-1])
        n, size = self.group.shape[-1], int(np.prod(lead))
        group = np.broadcast_to(self.group, (*lead, n)).reshape(size, n)
        cells = group + self.n_groups * np.arange(size)[:, None]
        values = np.broadcast_to(amounts, (*lead, n)).reshape(-1)
        held = np.zeros((size, self.n_groups + 1))
        sums_of_groups = np.bincount(cells.ravel(), values, size * self.n_groups)
        np.cumsum(sums_of_groups.reshape(size, -1), axis=-1, out=held[:, 1:])
        return Running(held.reshape(*lead, -1), self)

    def middles(self, weight: Floats | None) -> Floats:
        """Number or weight of the rows below each row and half of those tied with it, itself included, (..., n)."""
        return self.running(np.ones(self.group.shape[-1]) if weight is None else weight).middles()


@dataclass(frozen=True)
class Running:
    """Sums (..., groups + 1) over the rows of the first 0, 1, … groups."""

    held: Floats
    order: Order

    def below(self) -> Floats:
        """The sum over rows below each row, (..., n)."""
        return self._at(self.held[..., :-1])

    def up_to(self) -> Floats:
        """The sum over rows with no larger score than each row, (..., n)."""
        return self._at(self.held[..., 1:])

    def middles(self) -> Floats:
        """The sum over rows below each row and half that over rows tied with it, itself included, (..., n)."""
        return self._at((self.held[..., :-1] + self.held[..., 1:]) / 2)

    def from_here(self) -> Floats:
        """The sum over rows with at least the score of each row, (..., n)."""
        return self._at(self.held[..., -1:] - self.held[..., :-1])

    def _at(self, of_groups: Floats) -> Floats:
        group = self.order.group
        lead = of_groups.shape[:-1]
        return np.asarray(np.take_along_axis(of_groups, np.broadcast_to(group, (*lead, group.shape[-1])), axis=-1))
