"""The best split of a leaf for any number of classes, for weighted samples and for real values.

Exact, though most bins are never opened: only where `bound_unit`, or for few classes `bound_corners`, leaves a split
inside a bin a chance to gain more than the best split so far.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER
from .trees_channel_gains import add_sample, gain_of, take
from .trees_leaves import END, SLOT, START, ZERO, level_of, sort_members
from .trees_presort import CLOSENESS
from .trees_rules import ENTROPY, FIRST, MIN_LEAF, N_CLASSES, NO_SPLIT, a_little_less, bound_inside

SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1

# Rows of `metric`: means and weights of the label sums, and (scale, rarest) of `bound_inside`.
MEAN, WEIGHT, SCALES = 0, 1, 2

# With so many classes a bin has few enough corners to try them all.
FEW_CLASSES = 4


@njit(**INNER)
def prepare_metric(total, limits, metric):
    """Write the node's mean of each label sum, and the weight of each in the squared distance."""
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    mass = float(total[first - 1])
    metric[SCALES, 0], metric[SCALES, 1] = mass, 1.0
    if n_classes == 0:
        metric[MEAN, 0], metric[WEIGHT, 0] = float(total[first]) / mass, 1.0
        return
    rest, rarest = mass, 1.0
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(total[first + c])
        rest -= share
        metric[MEAN, c], metric[WEIGHT, c] = share / mass, 1.0
        if limits[ENTROPY]:
            metric[WEIGHT, c] = mass / share if share > 0.0 else 0.0
            rarest = min(rarest, share / mass) if share > 0.0 else rarest
    if limits[ENTROPY]:
        metric[SCALES, 1] = np.sqrt(rarest)
    else:
        metric[SCALES, 0] = 2.0 * mass


@njit(**INNER)
def distance_squared(left, mass, first, n_classes, metric):
    """Square of the distance in `bound_inside`, a little too large rather than too small."""
    own = float(left[first - 1])
    if n_classes == 0:
        return (mass * (float(left[first]) - own * metric[MEAN, 0])) ** 2 * (1.0 + 1e-6)
    rest, squares = own, 0.0
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(left[first + c])
        rest -= share
        squares += metric[WEIGHT, c] * (share - own * metric[MEAN, c]) ** 2
    return mass * mass * squares * (1.0 + 1e-6)


@njit(**INNER)
def worth_a_look(far, bar, mass, mass_left, limits, metric):
    """Whether a gain may exceed `bar`; for entropy by the tighter bound of `bound_inside`."""
    asked = bar * metric[SCALES, 0] * mass_left * (mass - mass_left)
    if far < asked:
        return False
    relative = np.sqrt(far) / (mass * min(mass_left, mass - mass_left) * metric[SCALES, 1])
    return not limits[ENTROPY] or relative >= 0.5 or far * (0.5 + 0.335 * relative) >= asked


@njit(**INNER)
def bound_unit(own, farther, mass_before, mass, bar, limits, square_unit, metric):
    """Bound on the gains inside a bin with the sums `own`; NO_SPLIT where it is below `bar` for certain.

    `farther` is the larger of the squared distances at their two edges.
    """
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    inside, scale = float(own[first - 1]), metric[SCALES, 0]
    within, about, most = 0.0, 0.0, np.inf
    if n_classes == 0:
        total, squares, center = float(own[first]), float(own[first + 1]) * square_unit, metric[MEAN, 0]
        within = max(inside * squares - total * total, 0.0) + 1e-12 * inside * squares
        about = max(squares - 2.0 * center * total + inside * center * center, 0.0)
        about += 1e-12 * (squares + inside * center * center)
    else:
        most = 0.0
    rest = inside
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(own[first + c])
        rest -= share
        within += metric[WEIGHT, c] * share * (inside - share)
        most = max(most, metric[WEIGHT, c] * share)
        about += metric[WEIGHT, c] * (share * (1.0 - 2.0 * metric[MEAN, c]) + inside * metric[MEAN, c] ** 2)
    mass_after, spread = mass_before + inside, 0.25 * mass * mass * min(within, most * inside)
    nearest = min(mass_before * (mass - mass_before), mass_after * (mass - mass_after))
    # (a + b)² ≤ 2a² + 2b² spares most bins two roots.
    asked = bar * scale * nearest
    if 2.0 * (farther + spread) < asked:
        return NO_SPLIT
    reach = np.sqrt(farther) + np.sqrt(spread)
    if reach * reach < asked:
        return NO_SPLIT
    rarest, entropy = metric[SCALES, 1], limits[ENTROPY] != 0
    return bound_inside(reach, scale, mass, mass_before, mass_after, rarest, about, entropy)


@njit(**INNER)
def bound_corners(before, own, corner, total, limits, x_log_x):
    """The largest gain if some classes of a bin come first, all of them, and then the others.

    Inside the bin the left side has between none and all of each class, and a gain is convex: nothing gains more.
    """
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    most = 0.0
    for chosen in range(1, (1 << n_classes) - 1):
        mass, rest = 0, own[first - 1]
        for c in range(n_classes):
            share = rest if c == n_classes - 1 else own[first + c]
            rest -= share
            taken = share if chosen >> c & 1 else 0
            mass += taken
            if c < n_classes - 1:
                corner[first + c] = before[first + c] + taken
        corner[first - 1] = before[first - 1] + mass
        if 0 < corner[first - 1] < total[first - 1]:
            most = max(most, gain_of(corner, total, limits, x_log_x))
    return most


@njit(**INNER)
def measure_edges(counts, slot, limits, level, table, sums, scratch, x_log_x):
    """Squared distances at all bin edges into `scratch.far`; returns the gain at one of the best, or NO_SPLIT."""
    left, best, far, metric = scratch.left[0], scratch.left[1], scratch.far, scratch.metric
    offsets = table.offsets[level]
    first, n_classes, n_channels = limits[FIRST], limits[N_CLASSES], left.size
    size, mass = sums[0, slot, 0], float(sums[0, slot, first - 1])
    most, room = -1.0, 1.0
    for f in range(offsets.size - 1):
        for v in range(n_channels):
            left[v] = 0
        for cell in range(offsets[f], offsets[f + 1]):
            if counts[cell * n_channels] == 0:
                continue
            for v in range(n_channels):
                left[v] += counts[cell * n_channels + v]
            far[cell] = distance_squared(left, mass, first, n_classes, metric)
            product = float(left[first - 1]) * (mass - float(left[first - 1]))
            if far[cell] * room > most * product and min(left[0], size - left[0]) >= max(limits[MIN_LEAF], 1):
                most, room = far[cell], product
                for v in range(n_channels):
                    best[v] = left[v]
    return gain_of(best, sums[0, slot], limits, x_log_x) if most >= 0.0 else NO_SPLIT


@njit(**INNER)
def pick_bins(counts, slot, bar, limits, square_unit, level, table, sums, scratch, x_log_x):
    """Collect the bins that may hold, or end in, a gain above `bar`; returns their number."""
    lefts, bounds, picks, metric, fars = scratch.lefts, scratch.bounds, scratch.picks, scratch.metric, scratch.far
    offsets, solid = table.offsets[level], table.solid[level]
    own, corner, total = scratch.left[0], scratch.left[1], sums[0, slot]
    first, n_classes, n_channels = limits[FIRST], limits[N_CLASSES], own.size
    mass, n_picks = float(total[first - 1]), 0
    for f in range(offsets.size - 1):
        far_before, mass_before = 0.0, 0.0
        for v in range(n_channels):
            lefts[n_picks, v] = 0
        for cell in range(offsets[f], offsets[f + 1]):
            if counts[cell * n_channels] == 0:
                continue
            for v in range(n_channels):
                own[v] = counts[cell * n_channels + v]
            left, far, mass_after = lefts[n_picks], fars[cell], mass_before + float(own[first - 1])
            bound = NO_SPLIT
            if own[0] > 1 and not solid[f, cell - offsets[f]]:
                farther = max(far_before, far)
                bound = bound_unit(own, farther, mass_before, mass, bar, limits, square_unit, metric)
                # Where the edge before is too near to the end to be split at, the corners bound nothing.
                begins = left[0] < limits[MIN_LEAF] and limits[MIN_LEAF] > 1
                if bound > bar and 0 < n_classes <= FEW_CLASSES and not begins:
                    bound = min(bound, bound_corners(left, own, corner, total, limits, x_log_x))
            if mass_after < mass and worth_a_look(far, bar, mass, mass_after, limits, metric):
                for v in range(n_channels):
                    corner[v] = left[v] + own[v]
                bound = max(bound, gain_of(corner, total, limits, x_log_x))
            far_before, mass_before = far, mass_after
            if bound > bar:
                bounds[n_picks], picks[n_picks] = bound, np.int64(f) << SHIFT | cell
                n_picks += 1
                for v in range(n_channels):
                    lefts[n_picks, v] = left[v] + own[v]
            else:
                for v in range(n_channels):
                    left[v] += own[v]
    return n_picks


@njit(**INNER)
def search_counted(
    counts, slot, bar, limits, square_unit, table, points, place, leaves, gains, sums, scratch, x_log_x
):  # fmt: skip
    """Best split that gains more than `bar`, of a leaf with a histogram.

    The best bin edge gains no more than the best split does. The most promising of the bins that may gain more is
    looked into first, and then those that may still gain more.
    """
    total = sums[0, slot]
    prepare_metric(total, limits, scratch.metric)
    level = level_of(total[0], place.shape[1], table.offsets.shape[0])
    mass = float(total[limits[FIRST] - 1]) if limits[ENTROPY] else 0.0
    edge = measure_edges(counts, slot, limits, level, table, sums, scratch, x_log_x)
    bar = max(bar, a_little_less(edge, mass))
    n_picks = pick_bins(counts, slot, bar, limits, square_unit, level, table, sums, scratch, x_log_x)
    best = 0
    for k in range(n_picks):
        best = k if scratch.bounds[k] > scratch.bounds[best] else best
    for k in range(-1, n_picks):
        pick = best if k < 0 else k
        if n_picks > 0 and scratch.bounds[pick] > bar:
            raised = search_bin(
                counts, scratch.picks[pick], scratch.lefts[pick], bar, slot, limits, level, table, points, place,
                leaves, gains, sums, scratch, x_log_x,
            )  # fmt: skip
            bar = raised if k >= 0 else max(bar, a_little_less(gains[slot], mass))


@njit(**INNER)
def search_bin(
    counts, pick, before, bar, slot, limits, level, table, points, place, leaves, gains, sums, scratch, x_log_x
):  # fmt: skip
    """Try every split inside a bin and the one at its end; `before` it lie these sums. Returns the next bar."""
    f, cell, left, metric = pick >> SHIFT, pick & LOW_HALF, scratch.left[0], scratch.metric
    b, first, n_classes = cell - table.offsets[level, f], limits[FIRST], limits[N_CLASSES]
    mass, last = float(sums[0, slot, first - 1]), np.float32(np.inf)
    start, end = np.int64(table.edges[level, f, b]), np.int64(table.edges[level, f, b + 1])
    order, values, slots, keys = table.order[f], table.values[f], place[SLOT], scratch.keys[0]
    for v in range(left.size):
        left[v] = before[v]
    if not table.solid[level, f, b]:
        m, stop = leaves[slot, END] - leaves[slot, START], end
        by_members = 2 * m < end - start and m <= scratch.keys.shape[1]
        if by_members:
            stop = sort_members(f, slot, start, end, table.rank, place, leaves, scratch.keys, scratch.tally)
            start = ZERO
        for k in range(start, stop):
            p = keys[k] >> SHIFT if by_members else np.int64(k)
            i = np.int64(order[p])
            if slots[i] != slot:
                continue
            far, mass_left = distance_squared(left, mass, first, n_classes, metric), float(left[first - 1])
            if values[p] > last + CLOSENESS and worth_a_look(far, bar, mass, mass_left, limits, metric):
                bar = take(left, f, p, bar, slot, limits, sums, gains, leaves, x_log_x)
            add_sample(left, i, points, limits)
            last = values[p]
    for v in range(left.size):
        left[v] = before[v] + counts[cell * left.size + v]
    if left[0] < sums[0, slot, 0]:
        bar = take(left, f, end, bar, slot, limits, sums, gains, leaves, x_log_x)
    return bar


@njit(**INNER)
def search_small(slot, bar, limits, table, points, place, leaves, gains, sums, scratch, x_log_x):
    """Best split that gains more than `bar`, of a leaf so small that sorting is cheaper than counting in bins."""
    d, n = table.order.shape
    left, keys = scratch.left[0], scratch.keys[0]
    for f in range(d):
        values = table.values[f]
        found = sort_members(f, slot, ZERO, n, table.rank, place, leaves, scratch.keys, scratch.tally)
        for v in range(left.size):
            left[v] = 0
        for k in range(found - 1):
            add_sample(left, keys[k] & LOW_HALF, points, limits)
            here, following = keys[k] >> SHIFT, keys[k + 1] >> SHIFT
            if values[following] > values[here] + CLOSENESS:
                bar = take(left, f, following, bar, slot, limits, sums, gains, leaves, x_log_x)
