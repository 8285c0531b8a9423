"""Histograms of leaves: the sums of their samples in every bin.

Every leaf has one, as far as there is memory. After a split the smaller child's samples are counted, and the larger
child's histogram is the parent's minus that. Of `of_two`, `of_values` and `of_classes` one is True and the others are
None, see `growth`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from outsample._kernels.options import LENT, LENT_INNER, fetch_row, lane, lane_bits, pack
from outsample._kernels.trees.gains import SHIFT
from outsample._kernels.trees.leaves import MINUS_ONE, NONE, ONE
from outsample._kernels.trees.presort import SHRINKING, Presorted
from outsample.running.arrays import Integers

UNIT = np.int64(1 << SHIFT)
"""What a sample of two classes without weights adds to a packed count, besides its label."""


@njit(**LENT_INNER)
def level_of(size, n, n_levels):
    """The level of bins for a leaf of this size: the number of bins is about proportional to the root of the size."""
    level, asked = 0, SHRINKING * size
    while asked <= n and level < n_levels - 1:
        level += 1
        asked *= SHRINKING
    return level


@njit(**LENT_INNER)
def count_two(counts, slot, leaf, sign, level, cells, cell_at, samples, state):
    """Add the samples of a leaf of two classes without weights to a histogram, or subtract them (sign −1)."""
    start, end, d = leaf.start, leaf.end, cells.shape[1]
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end - 1)
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
    """Add the samples of a leaf of real values to a histogram, or subtract them (sign −1)."""
    start, end, d, first, n_channels = leaf.start, leaf.end, cells.shape[1], rules.first, rules.n_channels
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end - 1)
        if np.int64(state[i]) >> 1 != slot:
            continue
        mass, total, square = sign * points[first - 1, i], sign * points[first, i], sign * points[first + 1, i]
        if level == 0 and first == 1:
            # By far the most frequent case needs no table lookup and no masses.
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
    """Add the samples of a leaf of any number of classes to a histogram, or subtract them (sign −1)."""
    start, end, d, first, n_channels = leaf.start, leaf.end, cells.shape[1], rules.first, rules.n_channels
    for q in range(start, end):
        i = samples[np.uint32(q)]
        fetch_row(cells, samples, q, end - 1)
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
def count_labels(counts, cells, points, rules, of_values, of_classes):
    """Add the labels of all samples to the histogram of `unlabelled_root`."""
    n, d = cells.shape
    first, n_channels = rules.first, rules.n_channels
    for i in range(n):
        if of_values is not None:
            total, square = points[first, i], points[first + 1, i]
            for f in range(d):
                base = cells[i, f] * n_channels + first
                counts[np.uint32(base)] += total
                counts[np.uint32(base + 1)] += square
        if of_classes is not None:
            code, mass = first + points[0, i], points[1, i]
            if code < n_channels:
                for f in range(d):
                    counts[np.uint32(cells[i, f] * n_channels + code)] += mass


@njit(**LENT_INNER)
def fold_histogram(counts, n_channels, level, wanted, cell_above, offsets):
    """Sum the cells of a histogram to those of a higher level, in place."""
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
    """Make the histogram of a child, the smaller one (`new`) before the larger one (`slot`), where both need one.

    shared : whether the larger child's histogram was made together with the smaller one's
    Returns (number of its histogram, shared, number of free histograms).
    """
    leaves, offsets, sign = place.leaves, table.offsets, ONE
    leaf, larger, counted = leaves[child], leaves[slot], child
    own = level_of(rules.fine * leaf.n_samples, place.state.size, offsets.shape[0])
    level, parents = own, larger.level
    if child == new and larger.histogram != NONE:
        if n_free > 0:
            n_free -= 1
            leaf.histogram = place.free[n_free]
        # Many samples are counted only once for both children, in the bins of the larger one.
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
        into, source, cells, cell_at = counts[h], leaves[counted], table.cells, table.cell_at[level]
        samples, state = place.samples, place.state
        if of_two is not None:
            count_two(into, counted, source, sign, level, cells, cell_at, samples, state)
        if of_values is not None:
            count_values(into, counted, source, sign, level, points, cells, cell_at, samples, state, rules)
        if of_classes is not None:
            count_classes(into, counted, source, sign, points, cells, cell_at, samples, state, rules)
    if shared and child == new:
        for cell in range(n_cells):
            counts[larger.histogram, cell] -= counts[h, cell]
    fold_histogram(counts[h], rules.n_channels, level, own, table.cell_above, offsets)
    leaf.level = own
    return h, shared, n_free


def bin_sizes(table: Presorted) -> Integers:
    """Number of samples in each histogram cell of level 0, (cells,)."""
    n_bins = np.diff(table.offsets[0])
    widths = np.diff(table.edges[0].astype(np.int64), axis=1)
    return np.asarray(widths[np.arange(widths.shape[1]) < n_bins[:, None]])


def unlabelled_root(table: Presorted, n_channels: int, mass: Integers) -> Integers:
    """The histogram of the whole table without its labels: samples and mass of each cell, zeros for sums of labels.

    (cells · channels,), see `trees.grow` for the channels; `mass` is (n,), or empty without weights.
    """
    root, offsets = np.zeros((int(table.offsets[0, -1]), n_channels), np.int64), table.offsets[0]
    root[:, 0] = bin_sizes(table)
    if mass.size:
        for f, order in enumerate(table.columns.order):
            before = np.concatenate([[0], np.cumsum(mass[order])])
            n_bins = offsets[f + 1] - offsets[f]
            root[offsets[f] : offsets[f + 1], 1] = np.diff(before[table.edges[0, f, : n_bins + 1]])
    return root.ravel()


def lanes_for(sizes: Integers) -> int:
    """Number of label vectors that are counted together: lanes of one word that can count the largest bin."""
    return 64 // lane_bits(int(sizes.max()))


def roots_of(table: Presorted, sizes: Integers, Y: NDArray[np.uint8]) -> Integers:
    """Packed histograms (draws, cells) of the labels Y (draws, n), no more draws than lanes."""
    roots = np.repeat(sizes[None] << SHIFT, len(Y), axis=0)
    words, counted = np.empty(Y.shape[1], np.uint64), np.zeros(sizes.size, np.uint64)
    add_ones(table.cells, np.ascontiguousarray(Y), 64 // lanes_for(sizes), words, counted, roots)
    return roots


def root_without(table: Presorted, root: Integers, y: NDArray[np.uint8], out: Integers) -> Integers:
    """A packed histogram of `roots_of`, (cells,), without the samples `out`; `y` (n,) are its labels."""
    left = root.copy()
    np.subtract.at(left, table.cells[out], (UNIT + y[out])[:, None])
    return left


@njit(**LENT)
def add_ones(cells, Y, bits, words, counted, roots):
    """Add the labels of every draw to `roots` (draws, cells); lanes of so many bits can count the largest bin.

    words, counted : memory for the packed labels of each sample, and zeros for the sums of each cell
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
