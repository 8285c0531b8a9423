"""Gains of splits, which gains count as equal, and the upper bound on the gain within a bin."""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import LENT_INNER

_LIMITS = ("max_leaves", "max_depth", "min_split", "min_leaf", "small", "fine")
_LABELS = ("n_channels", "n_classes", "first", "entropy", "per_node")
_FLOORS = ("least_gain", "least_spread", "square_unit")
RULES = np.dtype(
    [(name, np.int64) for name in _LIMITS + _LABELS] + [(name, np.float64) for name in _FLOORS], align=True
)
"""`trees.Rules` for kernels, and besides: leaves of up to `small` samples are sorted instead of counted in bins, leaves
use the level of bins of leaves `fine` times larger, and `first` is the channel of the first sum of labels."""

NO_SPLIT = -1.0

# Two numbers share an integer: the first · 2³² + the second.
SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1

# Gains that differ by less count as equal: relative to the gain, and for sums of x ln x also to the node's mass.
RELATIVE_TIE = 1e-11
ENTROPY_TIE = 5e-14


@njit(**LENT_INNER)
def bound_inside(reach, scale, mass, mass_before, mass_after, rarest, squares, entropy):
    """Upper bound on the gain within a bin.

    A gain is at most a chi-square, distance² / (scale · mass left · mass right), where the distance is the node's mass
    times the distance of the left sums from mass left · the node's mean. `reach` is the largest distance in the bin.
    For entropy about half of that is an upper bound too, as (1 + t) ln(1 + t) − t ≤ t²/2 · (1 + 2|t|/3) for t ≥ −1/2.
    At an end of the node the product of masses vanishes; there `squares`, the bin's sum of squares about the node's
    mean, gives the bound.
    """
    right_after = mass - mass_after
    if mass_before > 0.0 and right_after > 0.0:
        nearest = min(mass_before * (mass - mass_before), mass_after * right_after)
        chi_square = reach * reach / (scale * nearest)
        relative = reach / (mass * min(mass_before, right_after) * rarest)
        if entropy and relative < 0.5:
            return 0.5 * chi_square * (1.0 + 0.67 * relative)
        return chi_square
    side = max(mass_before, right_after)
    if side > 0.0:
        return mass * mass * squares / (scale * side)
    return np.inf


@njit(**LENT_INNER)
def just_below(gain, mass):
    """A bar just below a gain, so that this split and its ties are still found, and the first of the ties is taken.

    `mass` is that of the node for entropy, whose sums are rounded, and zero otherwise.
    """
    bar = gain * (1.0 - 1e-9) - 10.0 * ENTROPY_TIE * mass
    return bar if bar > 0.0 else NO_SPLIT


@njit(**LENT_INNER)
def x_ln_x(x, table):
    """x ln x, from the table where x is a count."""
    if table.size > 0:
        return table[np.int64(x)]
    return x * np.log(x) if x > 0.0 else 0.0


@njit(**LENT_INNER)
def gain_of_values(mass_left, sum_left, mass, total):
    """Decrease of the sum of squares about the mean, in the units of the channels."""
    distance = mass * sum_left - mass_left * total
    return distance / mass * distance / (mass_left * (mass - mass_left))


@njit(**LENT_INNER)
def gain_of_classes(left, total, rules, x_log_x):
    """Decrease of entropy × mass, or half the decrease of Gini's index × mass, in the units of the channels."""
    first, n_classes = rules.first, rules.n_classes
    mass, mass_left = float(total[first - 1]), float(left[first - 1])
    mass_right = mass - mass_left
    gain, rest, rest_left = 0.0, mass, mass_left
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(total[first + c])
        share_left = rest_left if c == n_classes - 1 else float(left[first + c])
        rest -= share
        rest_left -= share_left
        if rules.entropy:
            gain += x_ln_x(share_left, x_log_x) + x_ln_x(share - share_left, x_log_x) - x_ln_x(share, x_log_x)
        else:
            distance = mass * share_left - mass_left * share
            gain += distance * distance
    if rules.entropy:
        return gain - x_ln_x(mass_left, x_log_x) - x_ln_x(mass_right, x_log_x) + x_ln_x(mass, x_log_x)
    return gain / (2.0 * mass) / (mass_left * mass_right)


@njit(**LENT_INNER)
def take(gain, size_left, f, position, bar, leaf, mass, rules):
    """Make a split the leaf's best one if it gains more than `bar`; returns what the next one must exceed."""
    if not gain > bar or min(size_left, leaf.n_samples - size_left) < rules.min_leaf:
        return bar
    leaf.gain, leaf.left, leaf.column, leaf.position = gain, size_left, f, position
    rounding = ENTROPY_TIE * mass if rules.entropy else 0.0
    return gain + RELATIVE_TIE * abs(gain) + rounding


@njit(**LENT_INNER)
def sum_samples(leaf, points, rules, samples, total, of_values, of_classes):
    """Write the sums of all channels over the samples of a new leaf, whose list holds no others, into `total`."""
    first = rules.first
    for v in range(total.size):
        total[v] = 0
    total[0] = leaf.n_samples
    for q in range(leaf.start, leaf.end):
        i = samples[np.uint32(q)]
        if of_values is not None:
            for v in range(1, total.size):
                total[v] += points[v, i]
        if of_classes is not None:
            if first == 2:
                total[1] += points[1, i]
            if points[0, i] < rules.n_classes - 1:
                total[first + points[0, i]] += points[1, i]


@njit(**LENT_INNER)
def is_uniform(slot, leaf, points, rules, samples, state, total, of_values, of_classes):
    """Whether all labels of the leaf are equal, or vary too little for scikit-learn to split it."""
    first, mass = rules.first, total[rules.first - 1]
    if of_classes is not None:
        rest, whole = mass, False
        for c in range(rules.n_classes - 1):
            whole = whole or total[first + c] == mass
            rest -= total[first + c]
        return whole or rest == mass
    summed = float(total[first])
    spread = float(total[first + 1]) * rules.square_unit - summed * summed / float(mass)
    if spread <= rules.least_spread * float(mass):
        return True
    # The last row of points holds the bits of the values; two samples usually suffice to see a difference.
    keys = points[points.shape[0] - 1]
    known, value = False, keys[0]
    for q in range(leaf.start, leaf.end):
        i = samples[np.uint32(q)]
        if np.int64(state[i]) >> 1 != slot:
            continue
        if known and keys[i] != value:
            return False
        known, value = True, keys[i]
    return True
