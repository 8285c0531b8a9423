"""The nearest rows of every row by Euclidean distance, all pairs compared, exactly and fast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.threads import in_turn, n_threads, one_blas_thread

from .base import Floats

Neighbours = NDArray[np.int32]

_UNIT_ROUNDOFF = 2.0**-24
_FARTHEST_CENTER = 1e6
# Rows compared with all others at once: many, as long as their distances stay in the nearer memory.
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 64, 192
_DISTANCES_AT_ONCE = 900_000
_ROWS_FOR_CENTER = 128
_MOST_NEIGHBOURS = 256
# Candidates beyond the k wanted that are still worth sorting.
_FEW_MORE = 32
# Rows × rows × columns that a second thread is worth.
_SMALL = 5_000_000


def nearest_rows(X: Floats, k: int) -> Neighbours | None:
    """The k nearest of all rows of X to every row, itself included, (n, k), nearest first.

    Equal distances are in order of row number. None where X lies so far from zero that single precision, which
    preselects, could not be trusted, and for so many neighbours that there is little to preselect.
    """
    table = _SinglePrecision.of(X) if k <= _MOST_NEIGHBOURS else None
    if table is None:
        return None
    from outsample._kernels import nearest

    n = len(X)
    neighbours = np.empty((n, k), np.int32)
    threads = n_threads() if X.size * n > _SMALL else 1
    at_once = min(max(_DISTANCES_AT_ONCE // n, _FEWEST_AT_ONCE), _MOST_AT_ONCE)
    products = np.empty((threads, at_once, n), np.float32)
    groups = min(n, max(4 * k, math.isqrt(n * k)))
    rooms = [nearest.make_room(n, groups, k + _FEW_MORE) for _ in range(threads)]
    with one_blas_thread:
        in_turn(lambda first, t: table.choose(first, products[t], neighbours, rooms[t]), range(0, n, at_once), threads)
    return neighbours


def distances_to(X: Floats, neighbours: Neighbours) -> Floats:
    """Distances of every row of X to its neighbours, (n, k)."""
    from outsample._kernels import nearest

    distances = np.empty(neighbours.shape)
    nearest.distances_to(X, neighbours, distances)
    return distances


class _SinglePrecision:
    """X centred and scaled, arranged so that one product gives squared distances: [z, 1, |z|²] · [−2z, |z|², 1].

    left : (n, d + 2) and right : (d + 2, n), the layout that matrix products read fastest.
    """

    def __init__(self, X: Floats, Z: Floats, squares: Floats, scale: float) -> None:
        n, d = X.shape
        self.X, self.squares = X, squares / scale**2
        self.left, self.right = np.empty((n, d + 2), np.float32), np.empty((d + 2, n), np.float32)
        np.divide(Z, scale, out=self.left[:, :d], casting="same_kind")
        self.left[:, d], self.left[:, d + 1] = 1, self.squares
        np.multiply(self.left[:, :d].T, -2, out=self.right[:d])
        self.right[d], self.right[d + 1] = self.squares, 1
        # A sum of d + 2 rounded products, whose sizes add up to at most 6 (|z|² + squared distance).
        self.precision = 8 * (d + 5) * _UNIT_ROUNDOFF

    @classmethod
    def of(cls, X: Floats) -> _SinglePrecision | None:
        # The nearer rows lie to the centre, the smaller their rounding errors: the middle of some is where most are.
        center = np.median(X[:: -(-len(X) // _ROWS_FOR_CENTER)], axis=0)
        Z = X - center
        squares = np.einsum("ij,ij->i", Z, Z)
        scale = math.sqrt(squares.max())
        if not 0 < scale < math.inf or np.abs(center).max() > _FARTHEST_CENTER * scale:
            return None
        return cls(X, Z, squares, scale)

    def choose(self, first: int, product: NDArray[np.float32], neighbours: Neighbours, room: Any) -> None:
        """Find the neighbours of row `first` and as many after it as `product` has room for."""
        from outsample._kernels import nearest

        rows = self.left[first : first + len(product)]
        part: Any = np.matmul(rows, self.right, out=product[: len(rows)])
        keys = np.empty((len(rows), room.rows.size), np.int64)
        settings = first, self.X, self.squares, self.precision
        nearest.list_candidates(part.view(np.int32), *settings, keys, neighbours, room)
        keys.sort(axis=1)
        approximate = (keys >> 32).astype(np.int32).view(np.float32)
        nearest.settle_order(keys, approximate, *settings, neighbours, room)
