"""Histograms of the whole table for several label vectors of two classes in one pass over its cells.

Every sample of the table counts at the root, so bins know their size and only the ones must be counted.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .lanes import lane, lane_bits, pack
from .options import LENT
from .trees_presort import Presorted
from .trees_rules import SHIFT


def bin_sizes(table: Presorted) -> NDArray[np.int64]:
    """Samples in each cell of level 0, (cells,)."""
    n_bins = np.diff(table.offsets[0])
    widths = np.diff(table.edges[0].astype(np.int64), axis=1)
    return np.asarray(widths[np.arange(widths.shape[1]) < n_bins[:, None]])


def lanes_for(sizes: NDArray[np.int64]) -> int:
    """Label vectors that are counted together: lanes of one word that hold the largest bin."""
    return 64 // lane_bits(int(sizes.max()))


def roots_of(table: Presorted, sizes: NDArray[np.int64], Y: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Packed histograms of the labels Y, (draws, n), no more draws than lanes; (draws, cells)."""
    roots = np.repeat(sizes[None] << SHIFT, len(Y), axis=0)
    words, counted = np.empty(Y.shape[1], np.uint64), np.zeros(sizes.size, np.uint64)
    add_ones(table.cells, np.ascontiguousarray(Y), 64 // lanes_for(sizes), words, counted, roots)
    return roots


@njit(**LENT)
def add_ones(cells, Y, bits, words, counted, roots):
    """Add each sample's labels to its cell in every column; lanes of so many bits hold the largest bin.

    words, counted : room for the packed labels of each sample, and zeros for the sums of each cell
    """
    n, d = cells.shape
    pack(Y, bits, words)
    for i in range(n):
        word = words[i]
        if word:
            for f in range(d):
                counted[cells[i, f]] += word
    for draw in range(len(Y)):
        for cell in range(counted.size):
            roots[draw, cell] += lane(counted[cell], draw, bits)
