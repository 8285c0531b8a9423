"""Where a node of real values may gain: groups of its bins, their bins, and the samples inside a bin.

Edges of groups are listed column after column, each column with the edge before its first bin: group e lies between
edges e and e + 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER
from .trees_channel_gains import gain_of_values, take
from .trees_leaves import ZERO, bins_together
from .trees_presort import CLOSENESS
from .trees_rules import FIRST, LOW_HALF, MIN_LEAF, NO_SPLIT, SHIFT, a_little_less, bound_inside

# A squared distance is taken a little too large rather than too small.
ABOVE = 1.0 + 1e-6

# Rows of `sides`: samples, mass and sum left of an edge; sum and squares of the group after it.
SAMPLES_LEFT, MASS_LEFT, SUM_LEFT, SUM, SQUARES = 0, 1, 2, 3, 4


@njit(**LENT_INNER)
def sum_value_groups(counts, step, first, offsets, exact, sides):
    """What lies left of the edges of all groups of `step` bins, as integers and as floats, and in the groups.

    Returns the number of edges.
    """
    n_channels, e = exact.shape[1], 0
    for f in range(offsets.size - 1):
        size, mass, total = np.int64(0), np.int64(0), np.int64(0)
        for start in range(offsets[f], offsets[f + 1] + step, step):
            # After the last group comes an empty one.
            own, squares = np.int64(0), np.int64(0)
            exact[e, 0], exact[e, first - 1], exact[e, first] = size, mass, total
            sides[SAMPLES_LEFT, e], sides[MASS_LEFT, e], sides[SUM_LEFT, e] = float(size), float(mass), float(total)
            for cell in range(start, min(start + step, offsets[f + 1])):
                base = cell * n_channels
                size += counts[np.uint32(base)]
                mass += counts[np.uint32(base + first - 1)]
                own += counts[np.uint32(base + first)]
                squares += counts[np.uint32(base + first + 1)]
            sides[SUM, e], sides[SQUARES, e] = float(own), float(squares)
            total += own
            e += 1
    return e


@njit(**LENT_INNER)
def measure_values(total, n_edges, limits, sides, far, room):
    """Squared distances and products of the masses at all edges; returns the gain at one of the best, or NO_SPLIT."""
    first, least = limits[FIRST], float(max(limits[MIN_LEAF], 1))
    size, mass, mean = float(total[0]), float(total[first - 1]), float(total[first]) / float(total[first - 1])
    for e in range(n_edges):
        own = sides[MASS_LEFT, e]
        distance = mass * (sides[SUM_LEFT, e] - own * mean)
        far[e], room[e] = distance * distance * ABOVE, own * (mass - own)
    best, most, product = 0, -1.0, 1.0
    for e in range(n_edges):
        if far[e] * product > most * room[e]:
            left = sides[SAMPLES_LEFT, e]
            if left >= least and size - left >= least:
                best, most, product = e, far[e], room[e]
    if most < 0.0:
        return NO_SPLIT
    return gain_of_values(sides[MASS_LEFT, best], sides[SUM_LEFT, best], mass, float(total[first]))


@njit(**LENT_INNER)
def mark_values(n_edges, mass, level, square_unit, sides, far, room, marked):
    """Mark the groups where a gain may exceed level / mass; no branches, so that several are done at a time."""
    for e in range(n_edges - 1):
        inside, part, squares = sides[MASS_LEFT, e + 1] - sides[MASS_LEFT, e], sides[SUM, e], sides[SQUARES, e]
        within = inside * squares * square_unit * (1.0 + 1e-12) - part * part
        farther = far[e] if far[e] > far[e + 1] else far[e + 1]
        nearest = room[e] if room[e] < room[e + 1] else room[e + 1]
        reach = np.sqrt(farther) + 0.5 * mass * np.sqrt(within if within > 0.0 else 0.0)
        marked[e] = reach * reach >= level * nearest


@njit(**LENT_INNER)
def pick_in_group(counts, f, start, end, e, n_picks, total, bar, limits, square_unit, offset, solid, scratch):
    """`pick_values` from the cells `start` … `end` − 1 of column f, after edge e and the picks there are."""
    lefts, bounds, picks, first = scratch.lefts, scratch.bounds, scratch.picks, limits[FIRST]
    mass, whole, n_channels = float(total[first - 1]), float(total[first]), total.size
    mean, level = whole / mass, bar * mass
    n_left, mass_left, sum_left = scratch.exact[e, 0], scratch.exact[e, first - 1], scratch.exact[e, first]
    far_before, product_before = scratch.far[e], scratch.room[e]
    for cell in range(start, end):
        base = cell * n_channels
        if counts[base] == 0:
            continue
        inside, part = float(counts[base + first - 1]), float(counts[base + first])
        before, after = float(mass_left), float(mass_left + counts[base + first - 1])
        sum_after = sum_left + counts[base + first]
        distance, product = mass * (float(sum_after) - after * mean), after * (mass - after)
        far, squares = distance * distance * ABOVE, float(counts[base + first + 1]) * square_unit
        within = max(inside * squares - part * part, 0.0) + 1e-12 * inside * squares
        farther, spread, nearest = max(far_before, far), 0.25 * mass * mass * within, min(product_before, product)
        ends = far >= level * product and after < mass
        # (a + b)² ≤ 2a² + 2b² spares most bins two roots.
        opens = counts[base] > 1 and 2.0 * (farther + spread) >= level * nearest and not solid[f, cell - offset]
        bound = gain_of_values(after, float(sum_after), mass, whole) if ends else NO_SPLIT
        if opens:
            about = max(squares - 2.0 * mean * part + inside * mean * mean, 0.0)
            about += 1e-12 * (squares + inside * mean * mean)
            reach = np.sqrt(farther) + np.sqrt(spread)
            bound = max(bound, bound_inside(reach, mass, mass, before, after, 1.0, about, False))
        if bound > bar:
            bounds[n_picks], picks[n_picks] = bound, np.int64(f) << SHIFT | cell
            lefts[n_picks, 0], lefts[n_picks, first - 1], lefts[n_picks, first] = n_left, mass_left, sum_left
            n_picks += 1
        n_left += counts[base]
        mass_left += counts[base + first - 1]
        sum_left, far_before, product_before = sum_after, far, product
    return n_picks


@njit(**LENT_INNER)
def pick_values(counts, total, bar, level, n, limits, square_unit, offsets, solid, scratch):
    """Find the bins that may hold, or end in, a split that gains more than `bar`.

    The best edge of groups of bins gains no more than the best split does. Returns (number of bins, the raised bar).
    """
    far, room, step = scratch.far, scratch.room, bins_together(total[0], n, level)
    mass, n_picks, e = float(total[limits[FIRST] - 1]), ZERO, ZERO
    n_edges = sum_value_groups(counts, step, limits[FIRST], offsets, scratch.exact, scratch.sides)
    bar = max(bar, a_little_less(measure_values(total, n_edges, limits, scratch.sides, far, room), 0.0))
    mark_values(n_edges, mass, bar * mass, square_unit, scratch.sides, far, room, scratch.marked)
    for f in range(offsets.size - 1):
        for start in range(offsets[f], offsets[f + 1], step):
            if scratch.marked[e]:
                end = min(start + step, offsets[f + 1])
                n_picks = pick_in_group(
                    counts, f, start, end, e, n_picks, total, bar, limits, square_unit, offsets[f], solid, scratch
                )
            e += 1
        e += 1
    return n_picks, bar


@njit(**LENT_INNER)
def scan_values(f, found, before, bar, slot, limits, values, points, leaves, gains, sums, keys):
    """Try every split between `found` samples of the leaf, listed by `find_members`."""
    first, total = limits[FIRST], sums[0, slot]
    labels, weights, whole = points[first], points[first - 1], float(total[first])
    mass, mean = float(total[first - 1]), float(total[first]) / float(total[first - 1])
    size_left, mass_left, sum_left = before[0], before[first - 1], before[first]
    last = np.int64(-1)
    for k in range(found):
        p, i = keys[k] >> SHIFT, np.uint32((keys[k] & LOW_HALF) >> 1)
        own = float(mass_left)
        distance = mass * (float(sum_left) - own * mean)
        if (
            distance * distance * ABOVE >= bar * mass * own * (mass - own)
            and last >= 0
            and values[p] > values[last] + CLOSENESS
        ):
            gain = gain_of_values(own, float(sum_left), mass, whole)
            bar = take(gain, size_left, f, p, bar, slot, limits, sums, gains, leaves)
        size_left += 1
        mass_left += weights[i] if first == 2 else 1
        sum_left += labels[i]
        last = p
    return bar
