"""Groups of neighbouring bins of two-class histograms, bounded all at once.

Edges of groups are listed column after column, each column with the edge before its first bin: group e lies between
edges e − 1 and e. The loops have no branches, so that the compiler does several edges at a time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER

SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1

FAR, PRODUCT, REACH, LOW = 0, 1, 2, 3
"""Rows of `measures`: distance and product of masses at an edge; then, for the group before it, the squared reach,
about halved for entropy as in `bound_inside`, and the smaller of the products at its two edges."""


@njit(**INNER)
def sum_groups(counts, step, offsets, lefts):
    """Sums left of the edge of every group of `step` bins; returns the number of edges."""
    e = 0
    for f in range(offsets.size - 1):
        running = np.int64(0)
        lefts[e] = running
        e += 1
        for first in range(offsets[f], offsets[f + 1], step):
            for cell in range(first, min(first + step, offsets[f + 1])):
                running += counts[cell]
            lefts[e] = running
            e += 1
    return e


@njit(**INNER)
def measure_edges(lefts, mass, ones, far, product):
    """Distance from what the node's mean would give, and product of the masses, at every edge."""
    for e in range(lefts.size):
        left = float(np.int32(lefts[e] >> SHIFT))
        far[e] = abs(mass * float(np.int32(lefts[e] & LOW_HALF)) - left * ones)
        product[e] = left * (mass - left)


@njit(**INNER)
def best_edge(lefts, far, product, size, min_leaf):
    """The edge of the largest chi-square, −1 where none may be split at."""
    best, most, nearest = -1, 0.0, 1.0
    for e in range(lefts.size):
        if far[e] * far[e] * nearest > most * product[e]:
            left = lefts[e] >> SHIFT
            if min(left, size - left) >= max(min_leaf, 1):
                best, most, nearest = e, far[e] * far[e], product[e]
    return best


@njit(**INNER)
def measure_groups(lefts, mass, rarest, far, product, reach, low):
    """What the gains inside every group cannot exceed: reach / (scale · low); `rarest` is zero unless for entropy."""
    for e in range(lefts.size - 1):
        size = float(np.int32(lefts[e + 1] >> SHIFT) - np.int32(lefts[e] >> SHIFT))
        ones = float(np.int32(lefts[e + 1] & LOW_HALF) - np.int32(lefts[e] & LOW_HALF))
        before, right = float(np.int32(lefts[e] >> SHIFT)), mass - float(np.int32(lefts[e + 1] >> SHIFT))
        farther = far[e] if far[e] > far[e + 1] else far[e + 1]
        spread = ones * (size - ones)
        reached = farther + 0.5 * mass * np.sqrt(spread if spread > 0.0 else 0.0)
        side = (before if before < right else right) * mass * rarest
        factor = 0.5 + 0.335 * reached / side if reached < 0.5 * side else 1.0
        reach[e + 1] = factor * reached * reached
        low[e + 1] = product[e] if product[e] < product[e + 1] else product[e + 1]
