"""Squared distances of rows in single precision, up to a known error, by matrix products."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .base import Floats

Integers = NDArray[np.int64]
Neighbours = NDArray[np.int32]
Singles = NDArray[np.float32]

FEW_MORE = 32
"""Candidates beyond the k wanted that are still worth sorting."""

_UNIT_ROUNDOFF = 2.0**-24
_FARTHEST_CENTER = 1e6
_ROWS_FOR_CENTER = 128
# Rows compared with all others at once: many, as long as their distances stay in the nearer memory.
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 64, 192
_DISTANCES_AT_ONCE = 900_000


class SinglePrecision:
    """X centred and scaled, arranged so that one product gives squared distances: [z, 1, |z|²] · [−2z, |z|², 1].

    Attributes
    ----------
    X, squares : the table, (n, d), and the squared norms of its rows on the scale of the distances, (n,)
    left, right : (n, d + 2) and (d + 2, n), the layouts that matrix products read fastest
    precision : a squared distance t of row i to any other is wrong by at most `precision` times squares[i] + t
    at_once : how many rows are best compared with all others at once
    """

    def __init__(self, X: Floats, Z: Floats, squares: Floats, scale: float) -> None:
        n, d = X.shape
        self.X, self.squares = X, squares / scale**2
        self.left, self.right = np.empty((n, d + 2), np.float32), np.empty((d + 2, n), np.float32)
        np.divide(Z, scale, out=self.left[:, :d], casting="same_kind")
        self.left[:, d], self.left[:, d + 1] = 1, self.squares
        np.multiply(self.left[:, :d].T, -2, out=self.right[:d])
        self.right[d], self.right[d + 1] = self.squares, 1
        # A sum of d + 2 rounded products, whose sizes add up to at most 6 (|z|² + squared distance), whichever of the
        # two rows z is.
        self.precision = 8 * (d + 5) * _UNIT_ROUNDOFF
        self.at_once = min(max(_DISTANCES_AT_ONCE // n, _FEWEST_AT_ONCE), _MOST_AT_ONCE)

    @classmethod
    def of(cls, X: Floats) -> SinglePrecision | None:
        """None where X lies so far from zero that single precision could not be trusted."""
        # The nearer rows lie to the centre, the smaller their rounding errors: the middle of some is where most are.
        center = np.median(X[:: -(-len(X) // _ROWS_FOR_CENTER)], axis=0)
        Z = X - center
        squares = np.einsum("ij,ij->i", Z, Z)
        scale = math.sqrt(squares.max())
        if not 0 < scale < math.inf or np.abs(center).max() > _FARTHEST_CENTER * scale:
            return None
        return cls(X, Z, squares, scale)

    def settle(self, keys: Integers, which: Integers, neighbours: Neighbours) -> None:
        """Write the k nearest rows of the rows `which` into neighbours (n, k).

        keys : (rows, width) distance bits · 2³² + row for each candidate and END elsewhere; rows without any are passed
            over
        """
        from outsample._kernels import nearest

        keys.sort(axis=1)
        approximate = (keys >> 32).astype(np.int32).view(np.float32)
        room = np.empty(keys.shape[1]), np.empty(keys.shape[1], np.int64)
        nearest.settle_order(keys, approximate, which, self.X, self.squares, self.precision, neighbours, *room)


def distances_as_integers(left: Singles, right: Singles, room: Singles) -> NDArray[np.int32]:
    """Squared distances of the rows in `left` to those in `right`, as integers in the same order.

    room : enough numbers to hold them
    """
    shape = len(left), right.shape[1]
    return np.matmul(left, right, out=room[: math.prod(shape)].reshape(shape)).view(np.int32)
