"""Histograms of leaves: how much of each channel falls into each bin of each column, (channels, cells)."""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER
from .trees_leaves import END, HISTOGRAM, MINUS_ONE, NONE, ONE, SAMPLES, SLOT, START
from .trees_rules import FIRST, N_CLASSES


@njit(**INNER)
def count_members(counts, slot, sign, codes, offsets, points, place, leaves, limits):
    """Add (or take away) the samples of a leaf to a histogram."""
    n, d = codes.shape
    start, end, first = leaves[slot, START], leaves[slot, END], limits[FIRST]
    # Many members are better met in the order of the table, which is how memory lies.
    in_order = 8 * (end - start) > n
    for q in range(n if in_order else end - start):
        i = q if in_order else np.int64(place[SAMPLES, start + q])
        if in_order and place[SLOT, i] != slot:
            continue
        if limits[N_CLASSES] == 0:
            mass, total, square = sign * points[i, first - 1], sign * points[i, first], sign * points[i, first + 1]
            for f in range(d):
                cell = offsets[f] + codes[i, f]
                counts[0, cell] += sign
                if first == 2:
                    counts[1, cell] += mass
                counts[first, cell] += total
                counts[first + 1, cell] += square
        elif first == 0:
            channel = np.int64(points[i, 0])
            for f in range(d):
                counts[channel, offsets[f] + codes[i, f]] += sign
        else:
            channel, mass = first + points[i, 0], sign * points[i, 1]
            for f in range(d):
                cell = offsets[f] + codes[i, f]
                counts[0, cell] += sign
                counts[channel, cell] += mass


@njit(**INNER)
def count_leaf(counts, slot, codes, offsets, points, place, leaves, limits):
    """Histogram of one leaf."""
    for v in range(counts.shape[0]):
        for cell in range(counts.shape[1]):
            counts[v, cell] = 0
    count_members(counts, slot, ONE, codes, offsets, points, place, leaves, limits)


@njit(**INNER)
def share_counts(slot, new, counts, codes, offsets, points, place, leaves, limits):
    """Histograms of both children: count the smaller child, subtract it from the parent's."""
    h, h_new = leaves[slot, HISTOGRAM], leaves[new, HISTOGRAM]
    if h_new != NONE:
        count_leaf(counts[h_new], new, codes, offsets, points, place, leaves, limits)
        for v in range(counts.shape[1]):
            for cell in range(counts.shape[2]):
                counts[h, v, cell] -= counts[h_new, v, cell]
    elif h != NONE:
        count_members(counts[h], new, MINUS_ONE, codes, offsets, points, place, leaves, limits)
