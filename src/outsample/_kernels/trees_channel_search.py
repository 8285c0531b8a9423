"""The best split of a leaf: exact, though most bins are never looked at."""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER
from .trees_channel_gains import add_sample, gain_of, mass_of, size_of, take, x_ln_x
from .trees_channel_units import (
    BOUND,
    FAR,
    MASS,
    MEAN,
    SCALES,
    SLACK,
    WEIGHT,
    bound_groups,
    bound_unit,
    chi_square,
    prepare_metric,
)
from .trees_leaves import END, SLOT, START, ZERO, sort_members
from .trees_presort import BLOCK, CLOSENESS
from .trees_rules import ENTROPY, ENTROPY_TIE, FIRST, MIN_LEAF, N_CLASSES, NO_SPLIT

SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1

BLOCKS_PER_GROUP = 1.0

MOST_CORNERS = 4
"""More classes than that have too many corners to try."""

# Rows of `picks`: column and bin; then the sums left of the bin.
PICKED = 2


@njit(**INNER)
def worth_a_look(far, mass, mass_left, bar, scale, unit):
    """Whether the gain at this squared distance may exceed `bar`."""
    right = mass - mass_left
    if far < bar * scale * mass_left * right:
        return False
    return chi_square(far, 0.0, mass_left, right, mass, scale, unit) >= bar


@njit(**INNER, inline="always")
def distance_squared(left, mass, mass_left, limits, metric):
    """The squared distance of `trees_channel_units`."""
    first = limits[FIRST]
    if limits[N_CLASSES] == 0:
        return (mass * (float(left[first]) - mass_left * metric[MEAN, 0])) ** 2 * SLACK
    squares = 0.0
    for c in range(limits[N_CLASSES]):
        squares += metric[WEIGHT, c] * (float(left[first + c]) - mass_left * metric[MEAN, c]) ** 2
    return mass * mass * squares * SLACK


@njit(**INNER)
def search_counted(
    counts, slot, limits, square_unit, order, values, bins, solid, offsets, points, place, leaves, gains, sums, picks,
    bounds, lefts, edges, running, inside, own, metric, corners, x_log_x,
):  # fmt: skip
    """Best split of a leaf with a histogram.

    Groups of bins are bounded first. The best of their edges gains no more than the best split: only groups that may
    gain more are taken apart into bins, and only bins that may hide more than the best edge are opened.
    """
    total = sums[0, slot]
    mass, size = mass_of(total, limits), size_of(total, limits)
    prepare_metric(total, mass, limits, metric)
    scale, unit = metric[SCALES, 0], metric[SCALES, 1]
    # Bins were made for the whole table: a smaller leaf has fewer samples in each and takes more of them together.
    step = BLOCK * max(1, int(BLOCKS_PER_GROUP * np.sqrt(place.shape[1] / size)))
    n_edges = bound_groups(counts, step, mass, limits, square_unit, offsets, metric, lefts, edges, own)
    bar = lower_bound(n_edges, total, mass, limits, running, lefts, edges, x_log_x)
    by_corners = 0 < limits[N_CLASSES] <= MOST_CORNERS
    # These channels add up to the number of samples.
    n_counted = 1 if limits[FIRST] > 0 else limits[N_CLASSES]
    k, n_picks = 0, 0
    for f in range(offsets.size - 1):
        for first in range(offsets[f], offsets[f + 1], step):
            k += 1
            if not edges[BOUND, k] > bar:
                continue
            for v in range(own.size):
                running[v], own[v] = lefts[v, k], lefts[v, k] - lefts[v, k - 1]
            if by_corners and best_corner(running, own, total, mass, limits, corners, x_log_x) <= bar:
                continue
            for v in range(own.size):
                running[v] = lefts[v, k - 1]
            far_before, mass_before = edges[FAR, k - 1], edges[MASS, k - 1]
            for cell in range(first, min(first + step, offsets[f + 1])):
                n_inside = ZERO
                for v in range(n_counted):
                    n_inside += counts[v, cell]
                if n_inside == 0:
                    continue
                for v in range(own.size):
                    own[v] = counts[v, cell]
                    picks[PICKED + v, n_picks] = running[v]
                    running[v] += own[v]
                b, mass_after = cell - offsets[f], mass_of(running, limits)
                far = distance_squared(running, mass, mass_after, limits, metric)
                if mass_after < mass and worth_a_look(far, mass, mass_after, bar, scale, unit):
                    gain = gain_of(running, total, mass_after, mass, limits, x_log_x)
                    if gain > bar:
                        cut = np.int64(bins[f, b + 1])
                        bar = take(gain, running, f, cut, bar, slot, limits, sums, gains, leaves)
                if n_inside > 1 and not solid[f, b]:
                    farther = max(far_before, far)
                    bound = bound_unit(own, farther, mass_before, mass_after, mass, limits, square_unit, metric)
                    if bound > bar and by_corners:
                        bound = min(bound, best_corner(running, own, total, mass, limits, corners, x_log_x))
                    if bound > bar:
                        bounds[n_picks], picks[0, n_picks], picks[1, n_picks] = bound, f, b
                        n_picks += 1
                far_before, mass_before = far, mass_after
        k += 1
    for pick in range(n_picks):
        if bounds[pick] > bar:
            bar = search_bin(
                pick, mass, bar, slot, limits, order, values, bins, points, place, leaves, gains, sums, picks, inside,
                metric, x_log_x,
            )  # fmt: skip


@njit(**INNER)
def best_corner(after, own, total, mass, limits, corners, x_log_x):
    """Bound on the gains inside a unit of few classes and at its end, left of which lies `after`.

    Gains are convex in what lies left, hence largest when whole classes of the unit lie left; but not all of them,
    since some class is no more frequent left than right and gains by moving. `corners` takes, for each class of the
    unit right or left, its mass left and its two terms of the gain.
    """
    first, n_classes, entropy = limits[FIRST], limits[N_CLASSES], limits[ENTROPY] != 0
    whole = 0.0
    for c in range(n_classes):
        share = float(total[first + c])
        whole += x_ln_x(share, x_log_x) if entropy else share * share
        for side in range(2):
            left = float(after[first + c] - (0 if side else own[first + c]))
            right = share - left
            corners[side, c, 0] = left
            corners[side, c, 1] = x_ln_x(left, x_log_x) if entropy else left * left
            corners[side, c, 2] = x_ln_x(right, x_log_x) if entropy else right * right
    whole = whole - x_ln_x(mass, x_log_x) if entropy else whole / mass
    best = 0.0
    for corner in range(1, (1 << n_classes) - 1):
        mass_left, left, right = 0.0, 0.0, 0.0
        for c in range(n_classes):
            side = corner >> c & 1
            mass_left += corners[side, c, 0]
            left += corners[side, c, 1]
            right += corners[side, c, 2]
        if 0.0 < mass_left < mass:
            if entropy:
                gain = left + right - x_ln_x(mass_left, x_log_x) - x_ln_x(mass - mass_left, x_log_x) - whole
            else:
                gain = 0.5 * (left / mass_left + right / (mass - mass_left) - whole)
            best = max(best, gain)
    return best * (1.0 + 1e-9) + 1e-12 * mass


@njit(**INNER)
def lower_bound(n_edges, total, mass, limits, left, lefts, edges, x_log_x):
    """A little less than the gain at the best edge, so that this edge and all equal to it are still found."""
    size, best, far, product = size_of(total, limits), -1, 0.0, 1.0
    for k in range(n_edges):
        mass_left = edges[MASS, k]
        if edges[FAR, k] * product > far * (mass_left * (mass - mass_left)) and 0.0 < mass_left < mass:
            size_left = np.int64(lefts[0, k]) if limits[FIRST] > 0 else np.int64(mass_left)
            if min(size_left, size - size_left) >= limits[MIN_LEAF]:
                best, far, product = k, edges[FAR, k], mass_left * (mass - mass_left)
    if best < 0:
        return NO_SPLIT
    for v in range(left.size):
        left[v] = lefts[v, best]
    bar = gain_of(left, total, edges[MASS, best], mass, limits, x_log_x) * (1.0 - 1e-9)
    if limits[ENTROPY]:
        bar -= 10.0 * ENTROPY_TIE * mass
    return bar if bar > 0.0 else NO_SPLIT


@njit(**INNER)
def search_bin(
    pick, mass, bar, slot, limits, order, values, bins, points, place, leaves, gains, sums, picks, left, metric,
    x_log_x,
):  # fmt: skip
    """Try every split strictly inside a bin; returns what the next split must exceed."""
    f, b, total, last = picks[0, pick], picks[1, pick], sums[0, slot], np.float32(np.inf)
    scale, unit = metric[SCALES, 0], metric[SCALES, 1]
    for v in range(left.size):
        left[v] = picks[PICKED + v, pick]
    for p in range(bins[f, b], bins[f, b + 1]):
        i = np.int64(order[f, p])
        if place[SLOT, i] != slot:
            continue
        if values[f, p] > last + CLOSENESS:
            mass_left = mass_of(left, limits)
            far = distance_squared(left, mass, mass_left, limits, metric)
            if worth_a_look(far, mass, mass_left, bar, scale, unit):
                gain = gain_of(left, total, mass_left, mass, limits, x_log_x)
                if gain > bar:
                    bar = take(gain, left, f, np.int64(p), bar, slot, limits, sums, gains, leaves)
        add_sample(left, i, points, limits)
        last = values[f, p]
    return bar


@njit(**INNER)
def search_small(slot, limits, values, rank, points, place, leaves, gains, sums, keys, left, x_log_x):
    """Best split of a leaf so small that sorting its members is cheaper than counting them in bins."""
    bar, total, m = NO_SPLIT, sums[0, slot], leaves[slot, END] - leaves[slot, START]
    mass = mass_of(total, limits)
    for f in range(values.shape[0]):
        sort_members(f, slot, rank, place, leaves, keys)
        for v in range(left.size):
            left[v] = 0
        for k in range(m - 1):
            add_sample(left, keys[k] & LOW_HALF, points, limits)
            here, following = keys[k] >> SHIFT, keys[k + 1] >> SHIFT
            if values[f, following] > values[f, here] + CLOSENESS:
                gain = gain_of(left, total, mass_of(left, limits), mass, limits, x_log_x)
                if gain > bar:
                    bar = take(gain, left, f, following, bar, slot, limits, sums, gains, leaves)
