"""Which bins of a node may hold its best split, for real values, and the scan of a bin.

Edges of groups are listed column after column, each column with the edge before its first bin: group e lies between
edges e and e + 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import LENT_INNER
from outsample._kernels.trees.gains import LOW_HALF, NO_SPLIT, SHIFT, bound_inside, gain_of_values, just_below, take
from outsample._kernels.trees.leaves import ZERO, bins_per_group
from outsample._kernels.trees.presort import CLOSENESS

# Squared distances are rounded up by this factor, so that bounds stay upper bounds.
ABOVE = 1.0 + 1e-6

# Rows of `sides`: mass and sum left of an edge; mass, sum and squares of the group or bin after it.
MASS_LEFT, SUM_LEFT, MASS, SUM, SQUARES = 0, 1, 2, 3, 4


@njit(**LENT_INNER)
def sum_value_groups(counts, step, first, offsets, exact, sides):
    """Write the sums left of every edge of a group of `step` bins, as integers and as floats, and those of the group.

    Returns the number of edges.
    """
    n_channels, e = exact.shape[1], 0
    for f in range(offsets.size - 1):
        size, mass, total = np.int64(0), np.int64(0), np.int64(0)
        end = offsets[f + 1]
        # The last edge of a column is followed by an empty group.
        for start in range(offsets[f], end + step, step):
            before, own, squares = mass, np.int64(0), np.int64(0)
            exact[e, 0], exact[e, first - 1], exact[e, first] = size, mass, total
            sides[MASS_LEFT, e], sides[SUM_LEFT, e] = float(mass), float(total)
            for cell in range(start, min(start + step, end)):
                base = cell * n_channels
                size += counts[np.uint32(base)]
                mass += counts[np.uint32(base + first - 1)]
                own += counts[np.uint32(base + first)]
                squares += counts[np.uint32(base + first + 1)]
            sides[MASS, e], sides[SUM, e], sides[SQUARES, e] = float(mass - before), float(own), float(squares)
            total += own
            e += 1
    return e


@njit(**LENT_INNER)
def best_edge_of_values(total, n_edges, rules, exact, sides, far, room):
    """The gain at the edge with the largest chi-square, or NO_SPLIT.

    far, room : memory for squared distances and products of the masses, which are computed by vector instructions
    """
    first, least = rules.first, max(rules.min_leaf, 1)
    mass, mean = float(total[first - 1]), float(total[first]) / float(total[first - 1])
    for e in range(n_edges):
        own = sides[MASS_LEFT, e]
        distance = mass * (sides[SUM_LEFT, e] - own * mean)
        far[e], room[e] = distance * distance, own * (mass - own)
    best, most, product = 0, -1.0, 1.0
    for e in range(n_edges):
        if far[e] * product > most * room[e] and exact[e, 0] >= least and total[0] - exact[e, 0] >= least:
            best, most, product = e, far[e], room[e]
    if most < 0.0:
        return NO_SPLIT
    return gain_of_values(sides[MASS_LEFT, best], sides[SUM_LEFT, best], mass, float(total[first]))


@njit(**LENT_INNER)
def mark_values(n_marks, mass, mean, level, square_unit, sides, marked):
    """Mark the groups or bins where a gain may exceed level / mass; without branches, for vector instructions."""
    for e in range(n_marks):
        before, sum_before = sides[MASS_LEFT, e], sides[SUM_LEFT, e]
        inside, own, squares = sides[MASS, e], sides[SUM, e], sides[SQUARES, e]
        after = before + inside
        first, last = abs(sum_before - before * mean), abs(sum_before + own - after * mean)
        room_first, room_last = before * (mass - before), after * (mass - after)
        within = inside * squares * square_unit * (1.0 + 1e-12) - own * own
        nearest = room_first if room_first < room_last else room_last
        reach = (first if first > last else last) * ABOVE + 0.5 * np.sqrt(within if within > 0.0 else 0.0)
        marked[e] = mass * mass * reach * reach >= level * nearest


@njit(**LENT_INNER)
def list_value_bins(counts, step, first, offsets, marked, exact, sides, picks, lefts):
    """List the bins of marked groups that hold samples, with the sums left of them; returns their number."""
    n_channels, n_bins, e = lefts.shape[1], 0, 0
    for f in range(offsets.size - 1):
        start, end = offsets[f], offsets[f + 1]
        while start < end:
            if marked[e]:
                size, mass, total = exact[e, 0], exact[e, first - 1], exact[e, first]
                for cell in range(start, min(start + step, end)):
                    base, here = cell * n_channels, np.uint32(n_bins)
                    # Written always and counted only where it holds samples: a branch would be mispredicted too often.
                    picks[here] = np.int64(f) << SHIFT | cell
                    lefts[here, 0], lefts[here, first - 1], lefts[here, first] = size, mass, total
                    n_bins += counts[np.uint32(base)] != 0
                    size += counts[np.uint32(base)]
                    mass += counts[np.uint32(base + first - 1)]
                    total += counts[np.uint32(base + first)]
            start += step
            e += 1
        e += 1
    for k in range(n_bins):
        base = (picks[k] & LOW_HALF) * n_channels + first
        sides[MASS_LEFT, k], sides[SUM_LEFT, k] = float(lefts[k, first - 1]), float(lefts[k, first])
        sides[MASS, k], sides[SUM, k] = float(counts[np.uint32(base - 1)]), float(counts[np.uint32(base)])
        sides[SQUARES, k] = float(counts[np.uint32(base + 1)])
    return n_bins


@njit(**LENT_INNER)
def bound_bin(k, bar, mass, whole, square_unit, opens, sides):
    """Upper bound on the gain within or at the end of a listed bin; NO_SPLIT where that is at most `bar`."""
    mean, before, own, inside = whole / mass, sides[MASS_LEFT, k], sides[SUM, k], sides[MASS, k]
    after, sum_after = before + inside, sides[SUM_LEFT, k] + own
    first, last = abs(sides[SUM_LEFT, k] - before * mean), abs(sum_after - after * mean)
    bound = gain_of_values(after, sum_after, mass, whole) * ABOVE if after < mass else NO_SPLIT
    if opens:
        squares = sides[SQUARES, k] * square_unit
        within = max(inside * squares - own * own, 0.0) + 1e-12 * inside * squares
        about = max(squares - 2.0 * mean * own + inside * mean * mean, 0.0)
        about += 1e-12 * (squares + inside * mean * mean)
        reach = mass * (max(first, last) * ABOVE + 0.5 * np.sqrt(within))
        bound = max(bound, bound_inside(reach, mass, mass, before, after, 1.0, about, False))
    return bound if bound > bar else NO_SPLIT


@njit(**LENT_INNER)
def pick_values(counts, total, bar, level, n, rules, offsets, solid, scratch):
    """List the bins that may hold, or end in, a split that gains more than `bar`.

    Edges of groups of bins are tried first, which raises the bar; only groups that may gain more are divided into
    bins. Returns (number of bins listed, the raised bar).
    """
    first, step, n_picks = rules.first, bins_per_group(total[0], n, level), ZERO
    mass, whole = float(total[first - 1]), float(total[first])
    sides, marked, lefts, bounds = scratch.sides, scratch.marked, scratch.lefts, scratch.bounds
    square_unit = rules.square_unit
    n_edges = sum_value_groups(counts, step, first, offsets, scratch.exact, sides)
    best = best_edge_of_values(total, n_edges, rules, scratch.exact, sides, scratch.far, scratch.room)
    bar = max(bar, just_below(best, 0.0))
    mark_values(n_edges, mass, whole / mass, bar * mass, square_unit, sides, marked)
    n_listed = list_value_bins(counts, step, first, offsets, marked, scratch.exact, sides, scratch.picks, lefts)
    mark_values(n_listed, mass, whole / mass, bar * mass, square_unit, sides, marked)
    for k in range(n_listed):
        if marked[k]:
            f, cell = scratch.picks[k] >> SHIFT, scratch.picks[k] & LOW_HALF
            opens = counts[cell * lefts.shape[1]] > 1 and not solid[f, cell - offsets[f]]
            bounds[n_picks] = bound_bin(k, bar, mass, whole, square_unit, opens, sides)
            scratch.picks[n_picks] = scratch.picks[k]
            for v in range(lefts.shape[1]):
                lefts[n_picks, v] = lefts[k, v]
            n_picks += bounds[n_picks] != NO_SPLIT
    return n_picks, bar


@njit(**LENT_INNER)
def scan_values(f, found, before, bar, leaf, total, rules, values, points, keys):
    """Try every split between `found` samples of the leaf, listed by `find_samples`; returns the raised bar."""
    first = rules.first
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
            bar = take(gain, size_left, f, p, bar, leaf, mass, rules)
        size_left += 1
        mass_left += weights[i] if first == 2 else 1
        sum_left += labels[i]
        last = p
    return bar
