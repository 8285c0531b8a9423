"""What a split gains, which of two splits is better, and which leaves are not worth a search.

A node is summed up in *channels*, integers so that sums are exact in any order:

- K classes: the mass of each; with sample weights the number of samples goes before them;
- real values: samples, [mass,] Σ w y, Σ w y², the last two in fixed point and the very last rounded up.

Without sample weights the mass is the number of samples. `first` is the channel of the first sum of labels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER
from .trees_leaves import COLUMN, END, POSITION, SAMPLES, START
from .trees_rules import ENTROPY, ENTROPY_TIE, FIRST, LEAST_SPREAD, MIN_LEAF, N_CLASSES, RELATIVE_TIE, SQUARE_UNIT


@njit(**INNER, inline="always")
def size_of(sums, limits):
    """Number of samples."""
    if limits[FIRST] > 0:
        return np.int64(sums[0])
    size = np.int64(0)
    for c in range(limits[N_CLASSES]):
        size += sums[c]
    return size


@njit(**INNER, inline="always")
def mass_of(sums, limits):
    """Mass of the samples."""
    first = limits[FIRST]
    if limits[N_CLASSES] == 0:
        return float(sums[first - 1])
    mass = np.int64(0)
    for c in range(limits[N_CLASSES]):
        mass += sums[first + c]
    return float(mass)


@njit(**INNER)
def x_ln_x(x, table):
    """x ln x, from the table when x is a count."""
    if table.size > 0:
        return table[np.int64(x)]
    return x * np.log(x) if x > 0.0 else 0.0


@njit(**INNER)
def gain_of(left, total, mass_left, mass, limits, x_log_x):
    """Decrease of impurity × mass; for Gini half of it; in the units of the channels."""
    first, n_classes, entropy = limits[FIRST], limits[N_CLASSES], limits[ENTROPY]
    mass_right = mass - mass_left
    if n_classes == 0:
        distance = mass * float(left[first]) - mass_left * float(total[first])
        return distance / mass * distance / (mass_left * mass_right)
    gain = 0.0
    for c in range(first, first + n_classes):
        share, share_left = float(total[c]), float(left[c])
        if entropy:
            gain += x_ln_x(share_left, x_log_x) + x_ln_x(share - share_left, x_log_x) - x_ln_x(share, x_log_x)
        else:
            gain += (mass * share_left - mass_left * share) ** 2
    if entropy:
        return gain - x_ln_x(mass_left, x_log_x) - x_ln_x(mass_right, x_log_x) + x_ln_x(mass, x_log_x)
    return gain / (2.0 * mass) / (mass_left * mass_right)


@njit(**INNER, inline="always")
def add_sample(sums, i, points, limits):
    """Add sample i to the sums of a node."""
    first = limits[FIRST]
    if limits[N_CLASSES] == 0:
        for v in range(sums.size):
            sums[v] += points[i, v]
    elif first == 0:
        sums[points[i, 0]] += 1
    else:
        sums[0] += 1
        sums[first + points[i, 0]] += points[i, 1]


@njit(**INNER)
def take(gain, left, f, position, bar, slot, limits, sums, gains, leaves):
    """Take a split that gains more than `bar`; returns what the next one must exceed, as equal gains may differ by
    rounding."""
    total = sums[0, slot]
    size_left = size_of(left, limits)
    if min(size_left, size_of(total, limits) - size_left) < limits[MIN_LEAF]:
        return bar
    gains[slot], leaves[slot, COLUMN], leaves[slot, POSITION] = gain, f, position
    for v in range(left.size):
        sums[1, slot, v] = left[v]
    rounding = ENTROPY_TIE * mass_of(total, limits) if limits[ENTROPY] else 0.0
    return gain + RELATIVE_TIE * abs(gain) + rounding


@njit(**INNER)
def is_uniform(slot, points, limits, floors, place, leaves, sums):
    """Whether all labels of the leaf are equal, or vary too little for scikit-learn to split it."""
    total, first = sums[0, slot], limits[FIRST]
    if limits[N_CLASSES] > 0:
        n_present = 0
        for c in range(first, first + limits[N_CLASSES]):
            n_present += total[c] > 0
        return n_present <= 1
    mass = mass_of(total, limits)
    spread = float(total[first + 1]) * floors[SQUARE_UNIT] - float(total[first]) ** 2 / mass
    if spread <= floors[LEAST_SPREAD] * mass:
        return True
    # The last column of points tells equal values from unequal ones; two samples usually do.
    key = points.shape[1] - 1
    value = points[place[SAMPLES, leaves[slot, START]], key]
    q = leaves[slot, START]
    while q < leaves[slot, END] and points[place[SAMPLES, q], key] == value:
        q += 1
    return q == leaves[slot, END]
