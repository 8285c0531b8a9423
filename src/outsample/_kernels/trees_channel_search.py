"""The best split of a leaf for any number of classes, for weighted samples and for real values.

Exact, though most bins are never opened: only where `bound_inside` leaves a split inside a bin a chance to gain more
than the best split so far.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER
from .trees_channel_gains import add_sample, raised, take
from .trees_leaves import END, SLOT, START, sort_members
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
def search_edges(
    counts, slot, limits, square_unit, edges, solid, offsets, leaves, gains, sums, picks, lefts, bounds, left,
    own, metric, x_log_x,
):  # fmt: skip
    """Best bin edge; collects the bins that may hide something better, returns their number."""
    first, n_classes, n_channels = limits[FIRST], limits[N_CLASSES], left.size
    size, mass = sums[0, slot, 0], float(sums[0, slot, first - 1])
    bar, n_picks = NO_SPLIT, 0
    for f in range(offsets.size - 1):
        left[:] = 0
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
                bar = take(left, f, np.int64(edges[f, b + 1]), bar, slot, limits, sums, gains, leaves, x_log_x)
            if own[0] > 1 and not solid[f, b]:
                farther = max(far_before, far)
                bounds[n_picks] = bound_unit(own, farther, mass_before, mass, bar, limits, square_unit, metric)
                if bounds[n_picks] > bar:
                    picks[n_picks] = np.int64(f) << SHIFT | b
                    n_picks += 1
            far_before, mass_before = far, mass_after
    return n_picks


@njit(**INNER)
def search_counted(
    counts, slot, limits, square_unit, order, values, edges, solid, offsets, points, place, leaves, gains, sums, picks,
    lefts, bounds, left, own, metric, x_log_x,
):  # fmt: skip
    """Best split of a leaf with a histogram: first the bin edges, then the bins that may hide a better one."""
    total = sums[0, slot]
    prepare_metric(total, limits, metric)
    n_picks = search_edges(
        counts, slot, limits, square_unit, edges, solid, offsets, leaves, gains, sums, picks, lefts, bounds,
        left, own, metric, x_log_x,
    )  # fmt: skip
    bar = raised(gains[slot], total, limits)
    for k in range(n_picks):
        if bounds[k] > bar:
            bar = search_bin(
                picks[k], lefts[k], bar, slot, limits, order, values, edges, points, place, leaves, gains, sums,
                metric, x_log_x,
            )  # fmt: skip


@njit(**INNER)
def search_bin(
    pick, left, bar, slot, limits, order, values, edges, points, place, leaves, gains, sums, metric, x_log_x
):  # fmt: skip
    """Try every split strictly inside a bin, `left` of which lie these sums; returns the next split's bar."""
    f, b = pick >> SHIFT, pick & LOW_HALF
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    mass, last = float(sums[0, slot, first - 1]), np.float32(np.inf)
    for p in range(edges[f, b], edges[f, b + 1]):
        i = np.int64(order[f, p])
        if place[SLOT, i] != slot:
            continue
        if values[f, p] > last + CLOSENESS:
            far = distance_squared(left, mass, first, n_classes, metric)
            if worth_a_look(far, bar, mass, float(left[first - 1]), limits, metric):
                bar = take(left, f, np.int64(p), bar, slot, limits, sums, gains, leaves, x_log_x)
        add_sample(left, i, points, limits)
        last = values[f, p]
    return bar


@njit(**INNER)
def search_small(slot, limits, values, rank, points, place, leaves, gains, sums, keys, left, x_log_x):
    """Best split of a leaf so small that sorting its members is cheaper than counting them in bins."""
    bar = NO_SPLIT
    for f in range(values.shape[0]):
        sort_members(f, slot, rank, place, leaves, keys)
        for v in range(left.size):
            left[v] = 0
        for k in range(leaves[slot, END] - leaves[slot, START] - 1):
            add_sample(left, keys[k] & LOW_HALF, points, limits)
            here, following = keys[k] >> SHIFT, keys[k + 1] >> SHIFT
            if values[f, following] > values[f, here] + CLOSENESS:
                bar = take(left, f, following, bar, slot, limits, sums, gains, leaves, x_log_x)
