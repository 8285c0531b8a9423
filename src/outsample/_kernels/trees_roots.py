"""Histograms of the whole table.

Every sample of the table counts at the root, so bins know their size and only labels must be counted: those of two
classes for several label vectors in one pass over the cells.
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


def unlabelled_root(table: Presorted, n_channels: int, mass: NDArray[np.int64]) -> NDArray[np.int64]:
    """What the histogram of the whole table has whatever the labels: samples and mass of each cell.

    (cells · channels,), see `trees_channel_gains`, with zeros for the labels; `mass` is (n,), or empty without weights.
    """
    root, offsets = np.zeros((int(table.offsets[0, -1]), n_channels), np.int64), table.offsets[0]
    root[:, 0] = bin_sizes(table)
    if mass.size:
        for f, order in enumerate(table.columns.order):
            before = np.concatenate([[0], np.cumsum(mass[order])])
            n_bins = offsets[f + 1] - offsets[f]
            root[offsets[f] : offsets[f + 1], 1] = np.diff(before[table.edges[0, f, : n_bins + 1]])
    return root.ravel()


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
