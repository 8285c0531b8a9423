"""Bounds on the gains inside *units*, neighbouring bins of a column taken together, for all units in a few passes.

A gain is at most a chi-square: distance² / (scale · mass left · mass right), where the distance is that of the left
sums from what the node's mean would give, times the node's mass. Between the two edges of a unit the distance cannot
exceed the larger of its values there by more than the unit's own spread allows: with the sums s of the unit and a part
of it, the squared length of (part − s · its share of the mass) is at most a quarter of

- mass · squares − sum² for real values (Cauchy–Schwarz), and so Σ weight · s (mass − s) over classes;
- mass · largest (weight · s) over classes: the length is convex, hence largest when whole classes are in the part.

For entropy about half of the chi-square will do, since (1 + t) ln(1 + t) − t ≤ t²/2 · (1 + 2|t|/3) for t ≥ −1/2.

Unit k lies between edges k − 1 and k; `lefts` (channels and, for classes, their sum; edges) and `edges` (rows below;
edges) hold what lies left.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER
from .trees_channel_gains import mass_of
from .trees_leaves import ZERO
from .trees_presort import BLOCK
from .trees_rules import ENTROPY, FIRST, N_CLASSES, NO_SPLIT

MASS, FAR, WITHIN, BOUND = 0, 1, 2, 3
"""Mass left and squared distance at the edge; spread of the unit and bound on the gains inside it."""

SLACK = 1.0 + 1e-6
"""Distances are rather a little too large than too small."""

# Rows of `metric`: means, weights, and (scale, what makes squared distances relative, zero unless for entropy).
MEAN, WEIGHT, SCALES = 0, 1, 2

# Loops run from zero over slices, so that the compiler knows that no index is negative, and choose by conditions
# instead of min and max, which mind NaN: then it does several edges at once.


@njit(**INNER)
def prepare_metric(total, mass, limits, metric):
    """Write the node's mean of each label sum, and the weight of each in the squared distance."""
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    metric[SCALES, 0], metric[SCALES, 1] = mass, 0.0
    metric[MEAN, 0] = float(total[first]) / mass
    rarest = 1.0
    for c in range(n_classes):
        share = float(total[first + c]) / mass
        metric[MEAN, c], metric[WEIGHT, c] = share, 1.0
        if limits[ENTROPY]:
            metric[WEIGHT, c] = 1.0 / share if share > 0.0 else 0.0
            rarest = min(rarest, share) if share > 0.0 else rarest
    if limits[ENTROPY]:
        metric[SCALES, 1] = (1.0 - rarest) / rarest / (mass * mass)
    elif n_classes > 0:
        metric[SCALES, 0] = 2.0 * mass


@njit(**INNER)
def sum_groups(counts, lefts, step):
    """Sums left of every `step`-th bin of a column, a multiple of BLOCK, and left of the column's end.

    counts (bins,), lefts (bins / BLOCK + 1,); what lies left of the column is in lefts[0] already.
    """
    running = np.int64(lefts[0])
    for k in range(counts.size // BLOCK):
        b = BLOCK * k
        running += counts[b] + counts[b + 1] + counts[b + 2] + counts[b + 3]
        lefts[k + 1] = running
    stride = step // BLOCK
    if stride > 1:
        last = counts.size // BLOCK
        for k in range((last + stride - 1) // stride):
            lefts[k + 1] = lefts[min((k + 1) * stride, last)]


@njit(**INNER)
def bound_groups(counts, step, mass, limits, square_unit, offsets, metric, lefts, edges, own):
    """Bound every group of `step` bins in every column; returns the number of their edges."""
    first, n_classes, start = limits[FIRST], limits[N_CLASSES], ZERO
    for f in range(offsets.size - 1):
        n_bins = offsets[f + 1] - offsets[f]
        for v in range(counts.shape[0]):
            lefts[v, start] = 0
            sum_groups(counts[v, offsets[f] : offsets[f + 1]], lefts[v, start : start + n_bins // BLOCK + 1], step)
        end = start + 1 + (n_bins + step - 1) // step
        masses, far, within, bound = (
            edges[MASS, start:end], edges[FAR, start:end], edges[WITHIN, start:end], edges[BOUND, start:end],
        )  # fmt: skip
        if n_classes == 0:
            wholes, sums, squares = lefts[first - 1, start:end], lefts[first, start:end], lefts[first + 1, start:end]
            measure_values(wholes, sums, squares, mass, metric[MEAN, 0], square_unit, masses, far, within)
        else:
            wholes = lefts[-1, start:end]
            wholes[:] = 0
            for c in range(first, first + n_classes):
                add_to(wholes, lefts[c, start:end])
            far[:] = 0.0
            within[:] = 0.0
            bound[:] = 0.0
            for c in range(n_classes):
                weight = mass * mass * metric[WEIGHT, c]
                measure_class(lefts[first + c, start:end], wholes, metric[MEAN, c], weight, far, within, bound)
            measure_mass(wholes, bound, masses, within)
        far[0] = 0.0
        bound_inside(masses, far, within, mass, metric[SCALES, 0], metric[SCALES, 1], bound)
        bound_ends(start, end, mass, limits, square_unit, metric, lefts, edges, own)
        start = end
    return start


@njit(**INNER)
def add_to(wholes, sums):
    """Add the sums of one class to those of all classes."""
    for k in range(wholes.size):
        wholes[k] += sums[k]


@njit(**INNER)
def measure_class(sums, wholes, mean, weight, far, within, most):
    """Add one class to the squared distances and spreads."""
    for k in range(sums.size - 1):
        own, inside = float(sums[k + 1] - sums[k]), float(wholes[k + 1] - wholes[k])
        off = float(sums[k + 1]) - float(wholes[k + 1]) * mean
        far[k + 1] += weight * SLACK * (off * off)
        within[k + 1] += weight * (own * (inside - own))
        most[k + 1] = weight * own if weight * own > most[k + 1] else most[k + 1]


@njit(**INNER)
def measure_mass(wholes, most, masses, within):
    """Masses; and a quarter of the smaller spread, Σ weight · s (mass − s) or mass · largest (weight · s)."""
    for k in range(wholes.size):
        masses[k] = float(wholes[k])
    for k in range(wholes.size - 1):
        cap = most[k + 1] * float(wholes[k + 1] - wholes[k])
        within[k + 1] = 0.25 * (cap if cap < within[k + 1] else within[k + 1])


@njit(**INNER)
def measure_values(wholes, sums, squares, mass, center, square_unit, masses, far, within):
    """Masses, squared distances and spreads of real values."""
    for k in range(sums.size):
        masses[k] = float(wholes[k])
    for k in range(sums.size - 1):
        inside, own = float(wholes[k + 1] - wholes[k]), float(sums[k + 1] - sums[k])
        second = inside * (square_unit * float(squares[k + 1] - squares[k]))
        off = mass * (float(sums[k + 1]) - masses[k + 1] * center)
        far[k + 1] = SLACK * (off * off)
        spread = second - own * own
        within[k + 1] = 0.25 * mass * mass * ((spread if spread > 0.0 else 0.0) + 1e-12 * second)


@njit(**INNER)
def chi_square(far, within, before, right, mass, scale, unit):
    """Bound on the gains inside a unit, between these masses left and right of it."""
    reach = far + within + 2.0 * np.sqrt(far * within)
    at_start, at_end = before * (mass - before), (mass - right) * right
    side, nearest = before if before < right else right, at_start if at_start < at_end else at_end
    # Next to an end of the node both are zero, and the bound is another.
    side, nearest = side if side > 0.0 else 1.0, nearest if nearest > 0.0 else 1.0
    relative = np.sqrt(unit * reach) / side
    factor = 0.5 + 0.335 * relative if unit > 0.0 and relative < 0.5 else 1.0
    return factor * reach / (scale * nearest)


@njit(**INNER)
def bound_inside(masses, far, within, mass, scale, unit, bound):
    """Bound on the gains inside each group of a column."""
    for k in range(bound.size - 1):
        farther = far[k] if far[k] > far[k + 1] else far[k + 1]
        bound[k + 1] = chi_square(farther, within[k + 1], masses[k], mass - masses[k + 1], mass, scale, unit)


@njit(**INNER)
def bound_ends(start, end, mass, limits, square_unit, metric, lefts, edges, own):
    """Bound the first and the last group of a column that hold anything; those beyond them hold nothing."""
    k = start + 1
    while k < end - 1 and edges[MASS, k] == 0.0:
        edges[BOUND, k] = NO_SPLIT
        k += 1
    low = k
    k = end - 1
    while k > start + 1 and edges[MASS, k - 1] == mass:
        edges[BOUND, k] = NO_SPLIT
        k -= 1
    for e in (low, k):
        for v in range(own.size):
            own[v] = lefts[v, e] - lefts[v, e - 1]
        far = max(edges[FAR, e - 1], edges[FAR, e])
        before, after = edges[MASS, e - 1], edges[MASS, e]
        edges[BOUND, e] = bound_unit(own, far, before, after, mass, limits, square_unit, metric)


@njit(**INNER)
def bound_unit(own, far, before, after, mass, limits, square_unit, metric):
    """Bound on the gains inside a unit with the sums `own`, anywhere in the node.

    Next to an end of the node the product of the masses vanishes; there the unit's squares about the node's mean are
    the bound.
    """
    first, inside = limits[FIRST], mass_of(own, limits)
    squares, within, most = 0.0, 0.0, 0.0
    for c in range(limits[N_CLASSES]):
        share, mean, weight = float(own[first + c]), metric[MEAN, c], metric[WEIGHT, c]
        squares += weight * (share * (1.0 - 2.0 * mean) + inside * mean * mean)
        within += weight * share * (inside - share)
        most = max(most, weight * share)
    if limits[N_CLASSES] == 0:
        total, center = float(own[first]), metric[MEAN, 0]
        second = float(own[first + 1]) * square_unit
        about = second + inside * center * center
        squares = max(about - 2.0 * center * total, 0.0) + 1e-12 * about
        within = max(inside * second - total * total, 0.0) + 1e-12 * inside * second
    else:
        within = min(within, most * inside)
    right = mass - after
    if before > 0.0 and right > 0.0:
        return chi_square(far, 0.25 * mass * mass * within, before, right, mass, metric[SCALES, 0], metric[SCALES, 1])
    if before > 0.0 or right > 0.0:
        return mass * mass * squares * SLACK / (metric[SCALES, 0] * max(before, right))
    return np.inf
