"""When a tree stops growing, which gains count as equal, and what a bin can hide: shared by all tree kernels."""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER

_LIMITS = ("max_leaves", "max_depth", "min_split", "min_leaf", "small", "fine")
_LABELS = ("n_channels", "n_classes", "first", "entropy", "per_node")
_FLOORS = ("least_gain", "least_spread", "square_unit")
RULES = np.dtype(
    [(name, np.int64) for name in _LIMITS + _LABELS] + [(name, np.float64) for name in _FLOORS], align=True
)
"""What a kernel knows of `trees.Rules`, and besides: leaves of up to `small` samples are sorted instead of counted in
bins, leaves use the bins of those `fine` times larger, and `first` is the channel of the first sum of labels."""

NO_SPLIT = -1.0

# Two numbers in one integer: the first · 2³² + the second.
SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1

# Gains that differ by less are equal: of their size, and for sums of x ln x also of the node's mass.
RELATIVE_TIE = 1e-11
ENTROPY_TIE = 5e-14


@njit(**LENT_INNER)
def bound_inside(reach, scale, mass, mass_before, mass_after, rarest, squares, entropy):
    """Bound on the gains inside a bin.

    A gain is at most a chi-square: distance² / (scale · mass left · mass right), where the distance is that of the
    left sums from what the node's mean would give, times the node's mass. `reach` is the largest distance in the bin.
    For entropy about half of that will do, since (1 + t) ln(1 + t) − t ≤ t²/2 · (1 + 2|t|/3) for t ≥ −1/2.
    At an end of the node the product vanishes; there the bin's squares about the node's mean are the bound.
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
def a_little_less(gain, mass):
    """A bar under a gain, so that this split and all equal to it are still found, the first of them first.

    `mass` is the node's for entropy, whose sums round, and else zero.
    """
    bar = gain * (1.0 - 1e-9) - 10.0 * ENTROPY_TIE * mass
    return bar if bar > 0.0 else NO_SPLIT
