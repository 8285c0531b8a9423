"""Where a node of several classes may gain: its bins, and the samples inside a bin."""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER
from .trees_channel_gains import gain_of_classes, take
from .trees_leaves import ZERO
from .trees_presort import CLOSENESS
from .trees_rules import ENTROPY, FIRST, LOW_HALF, MIN_LEAF, N_CLASSES, NO_SPLIT, SHIFT, a_little_less, bound_inside

# Rows of `metric`: means and weights of the label sums, and (scale, rarest) of `bound_inside`.
MEAN, WEIGHT, SCALES = 0, 1, 2

# Rows of `sides`, and the first rows of `near`; then come the share of each class inside the bin, the larger squared
# distance of its two edges, that of the second edge, the mass left of the second edge, and two rows to reckon with.
SAMPLES_LEFT, MASS_LEFT, SHARES = 0, 1, 2

# With so many classes a bin has few enough corners to try them all.
FEW_CLASSES = 4


@njit(**LENT_INNER)
def prepare_metric(total, limits, metric):
    """Write the node's share of each class, and the weight of each in the squared distance."""
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    mass = float(total[first - 1])
    metric[SCALES, 0], metric[SCALES, 1] = mass if limits[ENTROPY] else 2.0 * mass, 1.0
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


@njit(**LENT_INNER)
def distance_squared(left, mass, first, n_classes, metric):
    """Square of the distance in `bound_inside`, a little too large rather than too small."""
    own = float(left[first - 1])
    rest, squares = own, 0.0
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(left[first + c])
        rest -= share
        squares += metric[WEIGHT, c] * (share - own * metric[MEAN, c]) ** 2
    return mass * mass * squares * (1.0 + 1e-6)


@njit(**LENT_INNER)
def worth_a_look(far, bar, mass, mass_left, limits, metric):
    """Whether a gain may exceed `bar`; for entropy by the tighter bound of `bound_inside`."""
    asked = bar * metric[SCALES, 0] * mass_left * (mass - mass_left)
    if far < asked:
        return False
    relative = np.sqrt(far) / (mass * min(mass_left, mass - mass_left) * metric[SCALES, 1])
    return not limits[ENTROPY] or relative >= 0.5 or far * (0.5 + 0.335 * relative) >= asked


@njit(**LENT_INNER)
def bound_unit(own, farther, mass_before, mass, bar, limits, metric):
    """Bound on the gains inside a bin with the sums `own`; NO_SPLIT where it is below `bar` for certain.

    `farther` is the larger of the squared distances at their two edges.
    """
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    inside, scale = float(own[first - 1]), metric[SCALES, 0]
    within, about, most, rest = 0.0, 0.0, 0.0, inside
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(own[first + c])
        rest -= share
        within += metric[WEIGHT, c] * share * (inside - share)
        most = max(most, metric[WEIGHT, c] * share)
        about += metric[WEIGHT, c] * (share * (1.0 - 2.0 * metric[MEAN, c]) + inside * metric[MEAN, c] ** 2)
    mass_after, spread = mass_before + inside, 0.25 * mass * mass * min(within, most * inside)
    nearest = min(mass_before * (mass - mass_before), mass_after * (mass - mass_after))
    reach = np.sqrt(farther) + np.sqrt(spread)
    if reach * reach < bar * scale * nearest:
        return NO_SPLIT
    return bound_inside(reach, scale, mass, mass_before, mass_after, metric[SCALES, 1], about, limits[ENTROPY] != 0)


@njit(**LENT_INNER)
def bound_corners(before, own, marked, corner, total, limits, x_log_x):
    """The largest gain if some classes of a bin come first, all of them, and then the others; only marked corners.

    Inside the bin the left side has between none and all of each class, and a gain is convex: nothing gains more.
    """
    first, n_classes, mass = limits[FIRST], limits[N_CLASSES], float(total[limits[FIRST] - 1])
    most = NO_SPLIT
    for chosen in range(1, (1 << n_classes) - 1):
        if not marked >> chosen & 1:
            continue
        taken, rest = 0, own[first - 1]
        for c in range(n_classes):
            share = rest if c == n_classes - 1 else own[first + c]
            rest -= share
            part = share if chosen >> c & 1 else 0
            taken += part
            if c < n_classes - 1:
                corner[first + c] = before[first + c] + part
        corner[first - 1] = before[first - 1] + taken
        if 0.0 < float(corner[first - 1]) < mass:
            most = max(most, gain_of_classes(corner, total, limits, x_log_x))
    return most


@njit(**LENT_INNER)
def sides_of(counts, f, limits, offsets, sides):
    """What lies left of every bin edge of column f: samples, mass, then the mass of each class. Returns the bins."""
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    n_channels, start, n_bins = first + n_classes - 1, offsets[f], offsets[f + 1] - offsets[f]
    last = SHARES + n_classes - 1
    for b in range(n_bins + 1):
        sides[last, b] = 0.0
    for v in range(n_channels):
        # Without weights the channel of samples is that of masses too.
        row = MASS_LEFT if v == first - 1 else SAMPLES_LEFT if v == 0 else SHARES + v - first
        running, sign = np.int64(0), 1.0 if v == first - 1 else -1.0 if v >= first else 0.0
        sides[row, 0] = 0.0
        for b in range(n_bins):
            running += counts[np.uint32((start + b) * n_channels + v)]
            sides[row, b + 1] = float(running)
        for b in range(n_bins):
            sides[last, b + 1] += sign * sides[row, b + 1]
    if first == 1:
        for b in range(n_bins + 1):
            sides[SAMPLES_LEFT, b] = sides[MASS_LEFT, b]
    return n_bins


@njit(**LENT_INNER)
def distances(sides, n_bins, mass, n_classes, metric, far, room):
    """Squared distance, a little too large rather than too small, and product of the masses at every edge."""
    for e in range(n_bins + 1):
        far[e], room[e] = 0.0, sides[MASS_LEFT, e] * (mass - sides[MASS_LEFT, e])
    for c in range(n_classes):
        mean, weight = metric[MEAN, c], metric[WEIGHT, c] * mass * mass * (1.0 + 1e-6)
        for e in range(n_bins + 1):
            difference = sides[SHARES + c, e] - sides[MASS_LEFT, e] * mean
            far[e] += weight * difference * difference


@njit(**LENT_INNER)
def reaches(sides, n_bins, mass, limits, metric, far, reach):
    """What scale · room times a gain inside a bin cannot exceed, as in `bound_inside`; the ends of a node excepted."""
    n_classes, rarest = limits[N_CLASSES], metric[SCALES, 1] if limits[ENTROPY] else 0.0
    for b in range(n_bins):
        reach[b] = 0.0
    for c in range(n_classes):
        weight = metric[WEIGHT, c] * 0.25 * mass * mass * (1.0 + 1e-6)
        for b in range(n_bins):
            share = sides[SHARES + c, b + 1] - sides[SHARES + c, b]
            reach[b] += weight * share * (sides[MASS_LEFT, b + 1] - sides[MASS_LEFT, b] - share)
    for b in range(n_bins):
        before, right = sides[MASS_LEFT, b], mass - sides[MASS_LEFT, b + 1]
        farther = far[b] if far[b] > far[b + 1] else far[b + 1]
        reached = np.sqrt(farther) + np.sqrt(reach[b] if reach[b] > 0.0 else 0.0)
        side = (before if before < right else right) * mass * rarest
        factor = 0.5 + 0.335 * reached / side if reached < 0.5 * side else 1.0
        reach[b] = factor * reached * reached


@njit(**LENT_INNER)
def measure_classes(counts, total, limits, offsets, scratch, x_log_x):
    """The gain at one of the best bin edges, or NO_SPLIT."""
    sides, far, room, best, metric = scratch.sides, scratch.far, scratch.room, scratch.left[1], scratch.metric
    first, n_classes, least = limits[FIRST], limits[N_CLASSES], float(max(limits[MIN_LEAF], 1))
    size, mass, most, product = float(total[0]), float(total[first - 1]), -1.0, 1.0
    for f in range(offsets.size - 1):
        n_bins = sides_of(counts, f, limits, offsets, sides)
        distances(sides, n_bins, mass, n_classes, metric, far, room)
        for e in range(n_bins + 1):
            left = sides[SAMPLES_LEFT, e]
            if far[e] * product > most * room[e] and left >= least and size - left >= least:
                most, product = far[e], room[e]
                best[first - 1] = np.int64(sides[MASS_LEFT, e])
                for c in range(n_classes - 1):
                    best[first + c] = np.int64(sides[SHARES + c, e])
    return gain_of_classes(best, total, limits, x_log_x) if most >= 0.0 else NO_SPLIT


@njit(**LENT_INNER)
def list_near(f, n_bins, n_near, level, n_classes, first_cell, counts, scratch):
    """List the bins of column f that may gain enough, after `n_near` of other columns; returns how many there are."""
    sides, far, room, reach, near, picks = (
        scratch.sides, scratch.far, scratch.room, scratch.reach, scratch.near, scratch.picks,
    )  # fmt: skip
    n_channels = scratch.left.shape[1]
    for b in range(n_bins):
        if reach[b] < level * min(room[b], room[b + 1]) or counts[(first_cell + b) * n_channels] == 0:
            continue
        picks[n_near] = np.int64(f) << SHIFT | (first_cell + b)
        for v in range(n_classes + SHARES):
            near[v, n_near] = sides[v, b]
        for c in range(n_classes):
            near[SHARES + n_classes + c, n_near] = sides[SHARES + c, b + 1] - sides[SHARES + c, b]
        near[SHARES + 2 * n_classes, n_near] = max(far[b], far[b + 1])
        near[SHARES + 2 * n_classes + 1, n_near] = far[b + 1]
        near[SHARES + 2 * n_classes + 2, n_near] = sides[MASS_LEFT, b + 1]
        n_near += 1
    return n_near


@njit(**LENT_INNER)
def mark_corners(n_near, mass, level, limits, metric, near, corners):
    """Mark which corners of a bin, see `bound_corners`, may gain more than level / scale: one bit each.

    The same question as `worth_a_look` asks, without branches, so that the compiler does several bins at a time.
    """
    n_classes, rarest = limits[N_CLASSES], metric[SCALES, 1] if limits[ENTROPY] else 0.0
    mass_left, far = near[SHARES + 2 * n_classes + 3], near[SHARES + 2 * n_classes + 4]
    for q in range(n_near):
        corners[q] = 0
    for chosen in range(1, (1 << n_classes) - 1):
        for q in range(n_near):
            mass_left[q], far[q] = near[MASS_LEFT, q], 0.0
        for c in range(n_classes):
            taken = float(chosen >> c & 1)
            for q in range(n_near):
                mass_left[q] += taken * near[SHARES + n_classes + c, q]
        for c in range(n_classes):
            taken, mean = float(chosen >> c & 1), metric[MEAN, c]
            weight = metric[WEIGHT, c] * mass * mass * (1.0 + 1e-6)
            for q in range(n_near):
                share = near[SHARES + c, q] + taken * near[SHARES + n_classes + c, q]
                difference = share - mass_left[q] * mean
                far[q] += weight * difference * difference
        for q in range(n_near):
            left, right = mass_left[q], mass - mass_left[q]
            distance, side = np.sqrt(far[q]), (left if left < right else right) * mass * rarest
            factor = 0.5 + 0.335 * distance / side if distance < 0.5 * side else 1.0
            corners[q] |= np.int64(factor * far[q] >= level * left * right) << chosen


@njit(**LENT_INNER)
def pick_classes(counts, total, bar, limits, offsets, solid, scratch, x_log_x):
    """Find the bins that may hold, or end in, a split that gains more than `bar`.

    The best edge of bins gains no more than the best split does. Returns (number of bins, the raised bar).
    """
    near, corners, metric, min_leaf = scratch.near, scratch.corners, scratch.metric, limits[MIN_LEAF]
    own, corner, lefts, bounds, picks = scratch.left[0], scratch.left[1], scratch.lefts, scratch.bounds, scratch.picks
    first, n_classes, n_channels = limits[FIRST], limits[N_CLASSES], own.size
    mass, n_near, n_picks = float(total[first - 1]), ZERO, ZERO
    edge = measure_classes(counts, total, limits, offsets, scratch, x_log_x)
    bar = max(bar, a_little_less(edge, mass if limits[ENTROPY] else 0.0))
    level = bar * metric[SCALES, 0]
    for f in range(offsets.size - 1):
        n_bins = sides_of(counts, f, limits, offsets, scratch.sides)
        distances(scratch.sides, n_bins, mass, n_classes, metric, scratch.far, scratch.room)
        reaches(scratch.sides, n_bins, mass, limits, metric, scratch.far, scratch.reach)
        n_near = list_near(f, n_bins, n_near, level, n_classes, offsets[f], counts, scratch)
    few = n_classes <= FEW_CLASSES
    if few:
        mark_corners(n_near, mass, level, limits, metric, near, corners)
    for q in range(n_near):
        farther, far_after = near[SHARES + 2 * n_classes, q], near[SHARES + 2 * n_classes + 1, q]
        f, cell, left = picks[q] >> SHIFT, picks[q] & LOW_HALF, lefts[n_picks]
        # Where the edge before is too near to the end to be split at, the corners bound nothing.
        begins = min_leaf > 1 and near[SAMPLES_LEFT, q] < min_leaf
        opens = (
            counts[cell * n_channels] > 1 and not solid[f, cell - offsets[f]] and (begins or not few or corners[q] != 0)
        )
        mass_after = near[SHARES + 2 * n_classes + 2, q]
        ends = mass_after < mass and worth_a_look(far_after, bar, mass, mass_after, limits, metric)
        if not opens and not ends:
            continue
        left[0], left[first - 1] = np.int64(near[SAMPLES_LEFT, q]), np.int64(near[MASS_LEFT, q])
        for c in range(n_classes - 1):
            left[first + c] = np.int64(near[SHARES + c, q])
        for v in range(n_channels):
            own[v] = counts[cell * n_channels + v]
        bound = NO_SPLIT
        if opens:
            bound = bound_unit(own, farther, near[MASS_LEFT, q], mass, bar, limits, metric)
            if bound > bar and few and not begins:
                bound = min(bound, bound_corners(left, own, corners[q], corner, total, limits, x_log_x))
        if ends and left[0] + own[0] < total[0]:
            for v in range(n_channels):
                corner[v] = left[v] + own[v]
            bound = max(bound, gain_of_classes(corner, total, limits, x_log_x))
        if bound > bar:
            bounds[n_picks], picks[n_picks] = bound, picks[q]
            n_picks += 1
    return n_picks, bar


@njit(**LENT_INNER)
def scan_classes(f, found, before, bar, slot, limits, values, points, leaves, gains, sums, scratch, x_log_x):
    """Try every split between `found` samples of the leaf, listed by `find_members`."""
    keys, left, metric, total = scratch.keys[0], scratch.left[0], scratch.metric, sums[0, slot]
    codes, weights = points[0], points[1]
    first, n_classes, mass, last = (
        limits[FIRST],
        limits[N_CLASSES],
        float(sums[0, slot, limits[FIRST] - 1]),
        np.int64(-1),
    )
    for v in range(left.size):
        left[v] = before[v]
    for k in range(found):
        p, i = keys[k] >> SHIFT, np.uint32((keys[k] & LOW_HALF) >> 1)
        if last >= 0 and values[p] > values[last] + CLOSENESS:
            far = distance_squared(left, mass, first, n_classes, metric)
            if worth_a_look(far, bar, mass, float(left[first - 1]), limits, metric):
                gain = gain_of_classes(left, total, limits, x_log_x)
                bar = take(gain, left[0], f, p, bar, slot, limits, sums, gains, leaves)
        left[0] += 1
        if first == 2:
            left[1] += weights[i]
        if codes[i] < n_classes - 1:
            left[first + codes[i]] += weights[i]
        last = p
    return bar
