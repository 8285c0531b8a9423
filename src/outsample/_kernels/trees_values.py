"""Where a node of real values may gain: its bins, and the samples inside a bin."""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER
from .trees_channel_gains import gain_of_values, take
from .trees_presort import CLOSENESS
from .trees_rules import FIRST, LOW_HALF, MIN_LEAF, NO_SPLIT, SHIFT, bound_inside

# A squared distance is taken a little too large rather than too small.
ABOVE = 1.0 + 1e-6


@njit(**LENT_INNER)
def measure_values(counts, total, limits, offsets, far):
    """Squared distances at all bin edges into `far`; returns the gain at one of the best, or NO_SPLIT."""
    first, n_channels = limits[FIRST], total.size
    size, mass, mean = total[0], float(total[first - 1]), float(total[first]) / float(total[first - 1])
    most, room, best_mass, best_sum = -1.0, 1.0, 0.0, 0.0
    for f in range(offsets.size - 1):
        n_left, mass_left, sum_left = np.int64(0), np.int64(0), np.int64(0)
        for cell in range(offsets[f], offsets[f + 1]):
            base = cell * n_channels
            n_left += counts[np.uint32(base)]
            mass_left += counts[np.uint32(base + first - 1)]
            sum_left += counts[np.uint32(base + first)]
            own = float(mass_left)
            distance, product = mass * (float(sum_left) - own * mean), own * (mass - own)
            far[cell] = distance * distance * ABOVE
            if far[cell] * room > most * product and min(n_left, size - n_left) >= max(limits[MIN_LEAF], 1):
                most, room, best_mass, best_sum = far[cell], product, own, float(sum_left)
    return gain_of_values(best_mass, best_sum, mass, float(total[first])) if most >= 0.0 else NO_SPLIT


@njit(**LENT_INNER)
def pick_values(counts, total, bar, limits, square_unit, offsets, solid, scratch):
    """Collect the bins that may hold, or end in, a gain above `bar`; returns their number."""
    lefts, bounds, picks, fars = scratch.lefts, scratch.bounds, scratch.picks, scratch.far
    first, n_channels = limits[FIRST], total.size
    mass, mean = float(total[first - 1]), float(total[first]) / float(total[first - 1])
    level, n_picks = bar * mass, 0
    for f in range(offsets.size - 1):
        n_left, mass_left, sum_left = np.int64(0), np.int64(0), np.int64(0)
        far_before, product_before = 0.0, 0.0
        for cell in range(offsets[f], offsets[f + 1]):
            base = cell * n_channels
            if counts[base] == 0:
                continue
            inside, part = float(counts[base + first - 1]), float(counts[base + first])
            before, after = float(mass_left), float(mass_left + counts[base + first - 1])
            far, product = fars[cell], after * (mass - after)
            squares = float(counts[base + first + 1]) * square_unit
            within = max(inside * squares - part * part, 0.0) + 1e-12 * inside * squares
            farther, spread, nearest = max(far_before, far), 0.25 * mass * mass * within, min(product_before, product)
            ends = far >= level * product and after < mass
            # (a + b)² ≤ 2a² + 2b² spares most bins two roots.
            opens = counts[base] > 1 and 2.0 * (farther + spread) >= level * nearest
            if ends or (opens and not solid[f, cell - offsets[f]]):
                about = max(squares - 2.0 * mean * part + inside * mean * mean, 0.0)
                about += 1e-12 * (squares + inside * mean * mean)
                bound = gain_of_values(after, float(sum_left) + part, mass, float(total[first])) if ends else NO_SPLIT
                if opens and not solid[f, cell - offsets[f]]:
                    reach = np.sqrt(farther) + np.sqrt(spread)
                    bound = max(bound, bound_inside(reach, mass, mass, before, after, 1.0, about, False))
                if bound > bar:
                    bounds[n_picks], picks[n_picks] = bound, np.int64(f) << SHIFT | cell
                    lefts[n_picks, 0], lefts[n_picks, first - 1], lefts[n_picks, first] = n_left, mass_left, sum_left
                    n_picks += 1
            n_left += counts[base]
            mass_left += counts[base + first - 1]
            sum_left += counts[base + first]
            far_before, product_before = far, product
    return n_picks


@njit(**LENT_INNER)
def scan_values(f, found, before, bar, slot, limits, table, points, leaves, gains, sums, keys):
    """Try every split between `found` samples of the leaf, listed by `find_members`."""
    values, first, total = table.values[f], limits[FIRST], sums[0, slot]
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
