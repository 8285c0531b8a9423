"""Histograms of leaves: what their samples add up to in every bin.

One for each leaf, as far as there is memory. The smaller child's samples are counted, and the larger child has what is
left of the parent's. Of `of_two`, `of_values` and `of_classes` one is True and the others are None: the compiler drops
what is for them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .fetching import fetch_row
from .options import LENT_INNER
from .trees_leaves import MINUS_ONE, NONE, ONE
from .trees_presort import SHRINKING
from .trees_rules import SHIFT

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
