"""Histograms of the whole table for several label vectors of two classes in one pass over its cells.

Every sample of the table counts at the root, so bins know their size and only the ones must be counted. A word holds
the labels a sample has in several vectors, in lanes so wide that the largest bin does not overflow them.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .options import OPTIONS
from .trees_presort import Presorted
from .trees_rules import SHIFT


def bin_sizes(table: Presorted) -> NDArray[np.int64]:
    """Samples in each cell of level 0, (cells,)."""
    n_bins = np.diff(table.offsets[0])
    widths = np.diff(table.edges[0].astype(np.int64), axis=1)
    return np.asarray(widths[np.arange(widths.shape[1]) < n_bins[:, None]])


def lanes_for(sizes: NDArray[np.int64]) -> int:
    """Label vectors that are counted together: lanes of one word that hold the largest bin."""
    return next(64 // bits for bits in (8, 16, 32) if sizes.max() < 2**bits)


def roots_of(table: Presorted, sizes: NDArray[np.int64], Y: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Packed histograms of the labels Y, (draws, n), no more draws than lanes; (draws, cells)."""
    lanes = lanes_for(sizes)
    ones = np.zeros((len(sizes), lanes), f"u{8 // lanes}")
    count_ones(table.cells, np.ascontiguousarray(Y), 64 // lanes, ones.view(np.uint64)[:, 0])
    return (sizes << SHIFT) + ones.T[: len(Y)]


@njit(**OPTIONS)
def count_ones(cells, Y, bits, out):
    """Add each sample's labels, in lanes of so many bits, to its cell in every column."""
    n, d = cells.shape
    for i in range(n):
        word = np.uint64(0)
        for lane in range(len(Y)):
            word |= np.uint64(Y[lane, i]) << np.uint64(lane * bits)
        if word:
            for f in range(d):
                out[cells[i, f]] += word
