"""The best split of a leaf for any number of classes, for weighted samples and for real values.

Exact, though most bins are never opened: only where `bound_inside` leaves a split inside a bin a chance to gain more
than the best split so far.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER
from .trees_channel_gains import add_sample, raised, take
from .trees_leaves import END, SLOT, START, ZERO, level_of, sort_members
from .trees_presort import CLOSENESS
from .trees_rules import ENTROPY, FIRST, N_CLASSES, NO_SPLIT, bound_inside

SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1

# Rows of `metric`: means and weights of the label sums, and (scale, rarest) of `bound_inside`.
MEAN, WEIGHT, SCALES = 0, 1, 2


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
    inside = float(own[first - 1])
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
    reach = np.sqrt(farther) + 0.5 * mass * np.sqrt(min(within, most * inside))
    mass_after, scale = mass_before + inside, metric[SCALES, 0]
    nearest = min(mass_before * (mass - mass_before), mass_after * (mass - mass_after))
    if not reach * reach > bar * scale * nearest:
        return NO_SPLIT
    rarest, entropy = metric[SCALES, 1], limits[ENTROPY] != 0
    return bound_inside(reach, scale, mass, mass_before, mass_after, rarest, about, entropy)


@njit(**INNER)
def search_edges(counts, slot, bar, limits, square_unit, level, table, leaves, gains, sums, scratch, x_log_x):
    """Best bin edge that gains more than `bar`; collects bins that may hide something better, returns their number."""
    picks, lefts, bounds, metric = scratch.picks, scratch.lefts, scratch.bounds, scratch.metric
    left, own, offsets = scratch.left[0], scratch.left[1], table.offsets[level]
    first, n_classes, n_channels = limits[FIRST], limits[N_CLASSES], left.size
    size, mass = sums[0, slot, 0], float(sums[0, slot, first - 1])
    n_picks = 0
    for f in range(offsets.size - 1):
        for v in range(n_channels):
            left[v] = 0
        far_before, mass_before = 0.0, 0.0
        for cell in range(offsets[f], offsets[f + 1]):
            if counts[cell * n_channels] == 0:
                continue
            for v in range(n_channels):
                lefts[n_picks, v] = left[v]
                own[v] = counts[cell * n_channels + v]
                left[v] += own[v]
            b, mass_after = cell - offsets[f], float(left[first - 1])
            far = distance_squared(left, mass, first, n_classes, metric)
            if left[0] < size and worth_a_look(far, bar, mass, mass_after, limits, metric):
                end = np.int64(table.edges[level, f, b + 1])
                bar = take(left, f, end, bar, slot, limits, sums, gains, leaves, x_log_x)
            if own[0] > 1 and not table.solid[level, f, b]:
                farther = max(far_before, far)
                bounds[n_picks] = bound_unit(own, farther, mass_before, mass, bar, limits, square_unit, metric)
                if bounds[n_picks] > bar:
                    picks[n_picks] = np.int64(f) << SHIFT | b
                    n_picks += 1
            far_before, mass_before = far, mass_after
    return n_picks


@njit(**INNER)
def search_counted(
    counts, slot, bar, limits, square_unit, table, points, place, leaves, gains, sums, scratch, x_log_x
):  # fmt: skip
    """Best split that gains more than `bar`, of a leaf with a histogram: first bin edges, then what bins may hide."""
    total = sums[0, slot]
    prepare_metric(total, limits, scratch.metric)
    level = level_of(total[0], place.shape[1], table.offsets.shape[0])
    n_picks = search_edges(counts, slot, bar, limits, square_unit, level, table, leaves, gains, sums, scratch, x_log_x)
    bar = max(bar, raised(gains[slot], total, limits))
    for k in range(n_picks):
        if scratch.bounds[k] > bar:
            bar = search_bin(
                scratch.picks[k], scratch.lefts[k], bar, slot, limits, level, table, points, place, leaves, gains, sums,
                scratch, x_log_x,
            )  # fmt: skip


@njit(**INNER)
def search_bin(
    pick, left, bar, slot, limits, level, table, points, place, leaves, gains, sums, scratch, x_log_x
):  # fmt: skip
    """Try every split strictly inside a bin, `left` of which lie these sums; returns the next split's bar."""
    f, b = pick >> SHIFT, pick & LOW_HALF
    first, n_classes, metric = limits[FIRST], limits[N_CLASSES], scratch.metric
    mass, last = float(sums[0, slot, first - 1]), np.float32(np.inf)
    start, end = np.int64(table.edges[level, f, b]), np.int64(table.edges[level, f, b + 1])
    m = leaves[slot, END] - leaves[slot, START]
    by_members = 2 * m < end - start and m <= scratch.keys.shape[1]
    if by_members:
        start, end = ZERO, sort_members(f, slot, start, end, table.rank, place, leaves, scratch.keys, scratch.tally)
    for k in range(start, end):
        p = scratch.keys[0, k] >> SHIFT if by_members else np.int64(k)
        i = np.int64(table.order[f, p])
        if place[SLOT, i] != slot:
            continue
        if table.values[f, p] > last + CLOSENESS:
            far = distance_squared(left, mass, first, n_classes, metric)
            if worth_a_look(far, bar, mass, float(left[first - 1]), limits, metric):
                bar = take(left, f, p, bar, slot, limits, sums, gains, leaves, x_log_x)
        add_sample(left, i, points, limits)
        last = table.values[f, p]
    return bar


@njit(**INNER)
def search_small(slot, bar, limits, table, points, place, leaves, gains, sums, scratch, x_log_x):
    """Best split that gains more than `bar`, of a leaf so small that sorting is cheaper than counting in bins."""
    d, n = table.order.shape
    left, keys = scratch.left[0], scratch.keys
    for f in range(d):
        found = sort_members(f, slot, ZERO, n, table.rank, place, leaves, keys, scratch.tally)
        for v in range(left.size):
            left[v] = 0
        for k in range(found - 1):
            add_sample(left, keys[0, k] & LOW_HALF, points, limits)
            here, following = keys[0, k] >> SHIFT, keys[0, k + 1] >> SHIFT
            if table.values[f, following] > table.values[f, here] + CLOSENESS:
                bar = take(left, f, following, bar, slot, limits, sums, gains, leaves, x_log_x)
