"""Histograms of leaves: what their samples add up to in every bin.

One for each leaf, as far as there is memory. The smaller child's samples are counted, and the larger child has what is
left of the parent's. Of `of_two`, `of_values` and `of_classes` one is True and the others are None: the compiler drops
what is for them.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT, LENT_INNER, fetch_row, lane, lane_bits, pack
from outsample._kernels.trees.gains import SHIFT
from outsample._kernels.trees.leaves import MINUS_ONE, NONE, ONE
from outsample._kernels.trees.presort import SHRINKING, Presorted

UNIT = np.int64(1 << SHIFT)
"""What one sample of two classes without weights adds to its node, besides its label."""


@njit(**LENT_INNER)
def level_of(size, n, n_levels):
    """The level of bins for a leaf of this size: bins are as many as the square root of the samples asks for."""
    level, asked = 0, SHRINKING * size
    while asked <= n and level < n_levels - 1:
        level += 1
        asked *= SHRINKING
    return level


@njit(**LENT_INNER)
def count_two(counts, slot, leaf, sign, level, cells, cell_at, samples, state):
    """Add (or take away) the samples of a leaf of two classes without weights to a histogram."""
    start, end, d = leaf.start, leaf.end, cells.shape[1]
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end)
        own = np.int64(state[i])
        if own >> 1 != slot:
            continue
        point = sign * (UNIT + (own & 1))
        if level == 0:
            for f in range(d):
                counts[cells[i, f]] += point
        else:
            for f in range(d):
                counts[cell_at[cells[i, f]]] += point


@njit(**LENT_INNER)
def count_values(counts, slot, leaf, sign, level, points, cells, cell_at, samples, state, rules):
    """Add (or take away) the samples of a leaf of real values to a histogram."""
    start, end, d, first, n_channels = leaf.start, leaf.end, cells.shape[1], rules.first, rules.n_channels
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end)
        if np.int64(state[i]) >> 1 != slot:
            continue
        mass, total, square = sign * points[first - 1, i], sign * points[first, i], sign * points[first + 1, i]
        if level == 0 and first == 1:
            # Nearly always: no lookup and no masses.
            for f in range(d):
                base = 3 * cells[i, f]
                counts[np.uint32(base)] += sign
                counts[np.uint32(base + 1)] += total
                counts[np.uint32(base + 2)] += square
            continue
        for f in range(d):
            base = cell_at[cells[i, f]] * n_channels
            counts[np.uint32(base)] += sign
            if first == 2:
                counts[np.uint32(base + 1)] += mass
            counts[np.uint32(base + first)] += total
            counts[np.uint32(base + first + 1)] += square


@njit(**LENT_INNER)
def count_classes(counts, slot, leaf, sign, points, cells, cell_at, samples, state, rules):
    """Add (or take away) the samples of a leaf of any number of classes to a histogram."""
    start, end, d, first, n_channels = leaf.start, leaf.end, cells.shape[1], rules.first, rules.n_channels
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end)
        if np.int64(state[i]) >> 1 != slot:
            continue
        code, mass = first + points[0, i], sign * points[1, i]
        for f in range(d):
            base = cell_at[cells[i, f]] * n_channels
            counts[np.uint32(base)] += sign
            if first == 2:
                counts[np.uint32(base + 1)] += mass
            if code < n_channels:
                counts[np.uint32(base + code)] += mass


@njit(**LENT_INNER)
def fold_histogram(counts, n_channels, level, wanted, cell_above, offsets):
    """Join the cells of a histogram to those of a higher level, in place."""
    while level < wanted:
        above, joined = cell_above[level], -1
        for cell in range(offsets[level, -1]):
            fresh = above[cell] != joined
            joined = above[cell]
            for v in range(n_channels):
                own = counts[cell * n_channels + v]
                counts[joined * n_channels + v] = own if fresh else counts[joined * n_channels + v] + own
        level += 1


@njit(**LENT_INNER)
def count_child(
    child, slot, new, shared, n_free, counts, points, table, place, rules, of_two, of_values, of_classes
):  # fmt: skip
    """Make the histogram of a child: `new` is the smaller one, asked for first if it needs any, `slot` the larger one.

    Returns (its histogram, whether the larger child's is made too, number of free histograms).
    """
    leaves, offsets, sign = place.leaves, table.offsets, ONE
    leaf, larger, counted = leaves[child], leaves[slot], child
    own = level_of(rules.fine * leaf.n_samples, place.state.size, offsets.shape[0])
    level, parents = own, larger.level
    if child == new and larger.histogram != NONE:
        if n_free > 0:
            n_free -= 1
            leaf.histogram = place.free[n_free]
        # Many samples are counted once, for both, in the bins of the larger child.
        shared = parents == own or leaf.n_samples * table.cells.shape[1] > 2 * offsets[parents, -1]
        level = parents if shared else own
    if child == slot and leaf.histogram != NONE:
        counted, sign, level = new, MINUS_ONE, parents
    h = leaf.histogram if leaf.histogram != NONE else np.int64(counts.shape[0] - 1)
    n_cells = offsets[level, -1] * rules.n_channels
    if sign == ONE:
        for cell in range(n_cells):
            counts[h, cell] = 0
    if sign == ONE or not shared:
        into, members, cells, cell_at = counts[h], leaves[counted], table.cells, table.cell_at[level]
        samples, state = place.samples, place.state
        if of_two is not None:
            count_two(into, counted, members, sign, level, cells, cell_at, samples, state)
        if of_values is not None:
            count_values(into, counted, members, sign, level, points, cells, cell_at, samples, state, rules)
        if of_classes is not None:
            count_classes(into, counted, members, sign, points, cells, cell_at, samples, state, rules)
    if shared and child == new:
        for cell in range(n_cells):
            counts[larger.histogram, cell] -= counts[h, cell]
    fold_histogram(counts[h], rules.n_channels, level, own, table.cell_above, offsets)
    leaf.level = own
    return h, shared, n_free


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
