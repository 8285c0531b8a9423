"""Which bins of a node may hold its best split, for several or weighted classes, and the scan of a bin.

Edges of bins are listed column after column, each column with the edge before its first bin: histogram cell b, in
column f, lies between edges b + f and b + f + 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import LENT_INNER, MERGED
from outsample._kernels.trees.gains import LOW_HALF, NO_SPLIT, SHIFT, bound_inside, gain_of_classes, just_below, take
from outsample._kernels.trees.leaves import ZERO
from outsample._kernels.trees.presort import CLOSENESS

# Rows of `metric`: the node's share of each class, the weight of each class in squared distances, (scale, rarest) of
# `bound_inside`, and memory for sums.
MEAN, WEIGHT, SCALES, LEFT = 0, 1, 2, 3

# Rows of `sides`, and the first rows of `near`; the next rows of `near` are the mass of each class in the bin, the
# larger squared distance of its two edges, that of the second edge, the mass left of the second edge, and two rows of
# memory for `mark_corners`.
SAMPLES_LEFT, MASS_LEFT, SHARES = 0, 1, 2

FEW_CLASSES = 4
"""With at most so many classes a bin has few enough corners to try them all."""


@njit(**LENT_INNER)
def prepare_metric(total, rules, metric):
    """Write the node's share of each class, and the weight of each in the squared distance."""
    first, n_classes, rarest = rules.first, rules.n_classes, 1.0
    # The mass of the last class is computed in integers: an absent class must have mass 0, or its weight is unbounded.
    rest, mass = total[first - 1], float(total[first - 1])
    metric[SCALES, 0], metric[SCALES, 1] = mass if rules.entropy else 2.0 * mass, 1.0
    for c in range(n_classes):
        own = rest if c == n_classes - 1 else total[first + c]
        rest -= own
        share = float(own)
        metric[MEAN, c], metric[WEIGHT, c] = share / mass, 1.0
        if rules.entropy:
            metric[WEIGHT, c] = mass / share if share > 0.0 else 0.0
            rarest = min(rarest, share / mass) if share > 0.0 else rarest
    if rules.entropy:
        metric[SCALES, 1] = np.sqrt(rarest)


@njit(**LENT_INNER)
def may_gain_more(far, bar, mass, mass_left, rules, metric):
    """Whether a split with this squared distance may gain more than `bar`, by the upper bounds of `bound_inside`."""
    asked = bar * metric[SCALES, 0] * mass_left * (mass - mass_left)
    if far < asked:
        return False
    relative = np.sqrt(far) / (mass * min(mass_left, mass - mass_left) * metric[SCALES, 1])
    return not rules.entropy or relative >= 0.5 or far * (0.5 + 0.335 * relative) >= asked


@njit(**LENT_INNER)
def bound_by_spread(own, farther, mass_before, mass, bar, rules, metric):
    """Upper bound on the gain within a bin with the sums `own`; NO_SPLIT where it is certainly below `bar`.

    `farther` is the larger of the squared distances at its two edges.
    """
    first, n_classes = rules.first, rules.n_classes
    inside, scale, rest = float(own[first - 1]), metric[SCALES, 0], own[first - 1]
    within, about, most = 0.0, 0.0, 0.0
    for c in range(n_classes):
        of_class = rest if c == n_classes - 1 else own[first + c]
        rest -= of_class
        share = float(of_class)
        within += metric[WEIGHT, c] * share * (inside - share)
        most = max(most, metric[WEIGHT, c] * share)
        mean = metric[MEAN, c]
        about += metric[WEIGHT, c] * (share * (1.0 - 2.0 * mean) + inside * mean * mean)
    mass_after, spread = mass_before + inside, 0.25 * mass * mass * min(within, most * inside)
    nearest = min(mass_before * (mass - mass_before), mass_after * (mass - mass_after))
    reach = np.sqrt(farther) + np.sqrt(spread)
    if reach * reach < bar * scale * nearest:
        return NO_SPLIT
    return bound_inside(reach, scale, mass, mass_before, mass_after, metric[SCALES, 1], about, rules.entropy != 0)


@njit(**LENT_INNER)
def bound_corners(before, own, marked, corner, total, rules, x_log_x):
    """Upper bound on the gain within a bin: the largest gain at its marked corners, (1 << classes) at most.

    At a corner the left side has all of the bin's samples of some classes, the `chosen` ones, and none of the others.
    Within the bin it has between none and all of each class, and the gain is convex.
    """
    first, n_classes, mass = rules.first, rules.n_classes, float(total[rules.first - 1])
    most = NO_SPLIT
    for chosen in range(1 << n_classes):
        if not marked >> chosen & 1:
            continue
        taken, rest = 0, own[first - 1]
        for c in range(n_classes):
            share = rest if c == n_classes - 1 else own[first + c]
            rest -= share
            own_left = share if chosen >> c & 1 else 0
            taken += own_left
            if c < n_classes - 1:
                corner[first + c] = before[first + c] + own_left
        corner[first - 1] = before[first - 1] + taken
        if 0.0 < float(corner[first - 1]) < mass:
            most = max(most, gain_of_classes(corner, total, rules, x_log_x))
    return most


@njit(**LENT_INNER)
def sum_class_bins(counts, rules, offsets, sides):
    """Write the samples, the mass and the mass of each class left of every edge; returns the number of edges."""
    first, n_classes = rules.first, rules.n_classes
    n_channels, n_columns, last = first + n_classes - 1, offsets.size - 1, SHARES + n_classes - 1
    n_edges = offsets[n_columns] + n_columns
    for v in range(n_channels):
        # Without weights the channel of samples is also that of masses.
        row = MASS_LEFT if v == first - 1 else SAMPLES_LEFT if v == 0 else SHARES + v - first
        for f in range(n_columns):
            running = np.int64(0)
            sides[row, offsets[f] + f] = 0.0
            for b in range(offsets[f], offsets[f + 1]):
                running += counts[np.uint32(b * n_channels + v)]
                sides[row, np.uint32(b + f + 1)] = float(running)
    for e in range(n_edges):
        sides[last, e] = sides[MASS_LEFT, e]
    for c in range(n_classes - 1):
        for e in range(n_edges):
            sides[last, e] -= sides[SHARES + c, e]
    if first == 1:
        for e in range(n_edges):
            sides[SAMPLES_LEFT, e] = sides[MASS_LEFT, e]
    return n_edges


@njit(**LENT_INNER)
def distances(sides, n_edges, mass, n_classes, metric, far, room):
    """Write the squared distance, rounded up, and mass left · mass right of every edge."""
    for e in range(n_edges):
        far[e], room[e] = 0.0, sides[MASS_LEFT, e] * (mass - sides[MASS_LEFT, e])
    for c in range(n_classes):
        mean, weight = metric[MEAN, c], metric[WEIGHT, c] * mass * mass * (1.0 + 1e-6)
        for e in range(n_edges):
            difference = sides[SHARES + c, e] - sides[MASS_LEFT, e] * mean
            far[e] += weight * difference * difference


@njit(**LENT_INNER)
def mark_classes(sides, n_edges, mass, level, rules, metric, far, room, reach, marked):
    """Mark the edges of bins in which a gain may exceed level / scale, by `bound_inside`.

    The edge is the one before the bin. Bins at an end of the node are always marked; the mark at the last edge of a
    column has no meaning.
    """
    n_classes, rarest = rules.n_classes, metric[SCALES, 1] if rules.entropy else 0.0
    # Masses of weighted samples are rounded as floats, and that of the last class once for every class.
    rounding = mass * 2.0**-52 * float(n_classes + 2) if rules.first == 2 else 0.0
    for e in range(n_edges - 1):
        reach[e] = 0.0
    for c in range(n_classes):
        weight = metric[WEIGHT, c] * 0.25 * mass * mass * (1.0 + 1e-6)
        for e in range(n_edges - 1):
            share = sides[SHARES + c, e + 1] - sides[SHARES + c, e]
            others = sides[MASS_LEFT, e + 1] - sides[MASS_LEFT, e] - share
            reach[e] += weight * (share + rounding) * (others + 2.0 * rounding)
    for e in range(n_edges - 1):
        before, right = sides[MASS_LEFT, e], mass - sides[MASS_LEFT, e + 1]
        farther = far[e] if far[e] > far[e + 1] else far[e + 1]
        reached = np.sqrt(farther) + np.sqrt(reach[e] if reach[e] > 0.0 else 0.0)
        side = (before if before < right else right) * mass * rarest
        factor = 0.5 + 0.335 * reached / side if reached < 0.5 * side else 1.0
        nearest = room[e] if room[e] < room[e + 1] else room[e + 1]
        marked[e] = factor * reached * reached >= level * nearest


@njit(**LENT_INNER)
def best_edge_of_classes(n_edges, total, rules, sides, far, room, left, x_log_x):
    """The gain at the edge with the largest chi-square, or NO_SPLIT; its left sums are written into `left`."""
    first, n_classes, least = rules.first, rules.n_classes, float(max(rules.min_leaf, 1))
    size, best, most, product = float(total[0]), 0, -1.0, 1.0
    for e in range(n_edges):
        if far[e] * product > most * room[e] and least <= sides[SAMPLES_LEFT, e] <= size - least:
            best, most, product = e, far[e], room[e]
    if most < 0.0:
        return NO_SPLIT
    left[first - 1] = np.int64(sides[MASS_LEFT, best])
    for c in range(n_classes - 1):
        left[first + c] = np.int64(sides[SHARES + c, best])
    return gain_of_classes(left, total, rules, x_log_x)


@njit(**LENT_INNER)
def list_near(n_classes, n_channels, offsets, counts, marked, sides, far, near, picks):
    """List the bins after marked edges that hold samples; returns their number."""
    n_near = ZERO
    for f in range(offsets.size - 1):
        for b in range(offsets[f], offsets[f + 1]):
            e = b + f
            if not marked[np.uint32(e)] or counts[np.uint32(b * n_channels)] == 0:
                continue
            picks[n_near] = np.int64(f) << SHIFT | b
            for v in range(n_classes + SHARES):
                near[v, n_near] = sides[v, e]
            for c in range(n_classes):
                near[SHARES + n_classes + c, n_near] = sides[SHARES + c, e + 1] - sides[SHARES + c, e]
            near[SHARES + 2 * n_classes, n_near] = max(far[e], far[e + 1])
            near[SHARES + 2 * n_classes + 1, n_near] = far[e + 1]
            near[SHARES + 2 * n_classes + 2, n_near] = sides[MASS_LEFT, e + 1]
            n_near += 1
    return n_near


@njit(**LENT_INNER)
def mark_corners(n_near, mass, level, rules, metric, near, corners):
    """Mark the corners of every bin, see `bound_corners`, that may gain more than level / scale; one bit per corner.

    The last corner is the second edge of the bin. This is `may_gain_more` for all bins, without branches, so that the
    compiler uses vector instructions.
    """
    n_classes, rarest = rules.n_classes, metric[SCALES, 1] if rules.entropy else 0.0
    mass_left, far = near[SHARES + 2 * n_classes + 3], near[SHARES + 2 * n_classes + 4]
    for q in range(n_near):
        corners[q] = 0
    for chosen in range(1, 1 << n_classes):
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


@njit(**MERGED)
def near_bins(counts, total, bar, rules, offsets, scratch, x_log_x):
    """List the bins that may hold, or end in, a split that gains more than `bar`.

    Edges of bins are tried first, which raises the bar. Returns (number of bins listed, the raised bar).
    """
    sides, far, room, metric = scratch.sides, scratch.far, scratch.room, scratch.metric
    mass, n_classes = float(total[rules.first - 1]), rules.n_classes
    n_edges = sum_class_bins(counts, rules, offsets, sides)
    distances(sides, n_edges, mass, n_classes, metric, far, room)
    edge = best_edge_of_classes(n_edges, total, rules, sides, far, room, scratch.left[1], x_log_x)
    bar = max(bar, just_below(edge, mass if rules.entropy else 0.0))
    mark_classes(sides, n_edges, mass, bar * metric[SCALES, 0], rules, metric, far, room, scratch.reach, scratch.marked)
    marked, near, picks = scratch.marked, scratch.near, scratch.picks
    return list_near(n_classes, rules.n_channels, offsets, counts, marked, sides, far, near, picks), bar


@njit(**LENT_INNER)
def write_sums(q, cell, counts, rules, near, left, own):
    """Write the sums left of a listed bin into `left`, and the sums of the bin into `own`."""
    first, base = rules.first, cell * own.size
    left[0], left[first - 1] = np.int64(near[SAMPLES_LEFT, q]), np.int64(near[MASS_LEFT, q])
    for c in range(rules.n_classes - 1):
        left[first + c] = np.int64(near[SHARES + c, q])
    for v in range(own.size):
        own[v] = counts[base + v]


@njit(**MERGED)
def pick_few(n_near, counts, total, bar, rules, offsets, solid, scratch, x_log_x):
    """Keep the listed bins whose corners may gain more than `bar`, for few classes; returns their number."""
    near, corners, picks, metric, n_picks = scratch.near, scratch.corners, scratch.picks, scratch.metric, ZERO
    own, corner = scratch.left[0], scratch.left[1]
    all_corners, end = (1 << (1 << rules.n_classes)) - 1, 1 << ((1 << rules.n_classes) - 1)
    mark_corners(n_near, float(total[rules.first - 1]), bar * metric[SCALES, 0], rules, metric, near, corners)
    for q in range(n_near):
        f, cell, marked = picks[q] >> SHIFT, picks[q] & LOW_HALF, corners[q]
        # The edge before the bin is a split of its own, and needs no bound here, unless it violates `min_leaf`.
        if rules.min_leaf > 1 and near[SAMPLES_LEFT, q] < rules.min_leaf:
            marked = all_corners
        if counts[cell * rules.n_channels] == 1 or solid[f, cell - offsets[f]]:
            marked &= end
        if marked == 0:
            continue
        left = scratch.lefts[n_picks]
        write_sums(q, cell, counts, rules, near, left, own)
        bound = bound_corners(left, own, marked, corner, total, rules, x_log_x)
        if bound > bar:
            scratch.bounds[n_picks], picks[n_picks] = bound, picks[q]
            n_picks += 1
    return n_picks


@njit(**MERGED)
def pick_many(n_near, counts, total, bar, rules, offsets, solid, scratch, x_log_x):
    """`pick_few` for any number of classes, by the spread within each bin (Cauchy–Schwarz)."""
    near, picks, metric, own, after = scratch.near, scratch.picks, scratch.metric, scratch.left[0], scratch.left[1]
    mass, n_classes, n_picks = float(total[rules.first - 1]), rules.n_classes, ZERO
    for q in range(n_near):
        f, cell, bound = picks[q] >> SHIFT, picks[q] & LOW_HALF, NO_SPLIT
        farther, far_after = near[SHARES + 2 * n_classes, q], near[SHARES + 2 * n_classes + 1, q]
        mass_after = near[SHARES + 2 * n_classes + 2, q]
        left = scratch.lefts[n_picks]
        write_sums(q, cell, counts, rules, near, left, own)
        if own[0] > 1 and not solid[f, cell - offsets[f]]:
            bound = bound_by_spread(own, farther, near[MASS_LEFT, q], mass, bar, rules, metric)
        if mass_after < mass and may_gain_more(far_after, bar, mass, mass_after, rules, metric):
            for v in range(own.size):
                after[v] = left[v] + own[v]
            bound = max(bound, gain_of_classes(after, total, rules, x_log_x))
        if bound > bar:
            scratch.bounds[n_picks], picks[n_picks] = bound, picks[q]
            n_picks += 1
    return n_picks


@njit(**LENT_INNER)
def scan_classes(f, found, before, bar, leaf, total, rules, values, points, keys, left, metric, x_log_x):
    """Try every split between `found` samples of the leaf, listed by `find_samples`; returns the raised bar.

    The squared distance is Σ v_c u_c², with u_c the mass of class c left of the split minus mass left · m_c, m_c the
    node's share of class c and v_c its weight. A sample of class k and mass w changes it by
    2w (v_k u_k − Σ v_c m_c u_c) + w² (v_k (1 − 2 m_k) + Σ v_c m_c²), an update whose cost does not depend on the number
    of classes.
    """
    codes, weights, means, factors, shares = points[0], points[1], metric[MEAN], metric[WEIGHT], metric[LEFT]
    first, n_classes, last = rules.first, rules.n_classes, np.int64(-1)
    mass, own = float(total[first - 1]), float(before[first - 1])
    for v in range(left.size):
        left[v] = before[v]
    square, along, expected, rest = 0.0, 0.0, 0.0, own
    for c in range(n_classes):
        shares[c] = rest if c == n_classes - 1 else float(left[first + c])
        rest -= shares[c]
        off = shares[c] - own * means[c]
        square += factors[c] * off * off
        along += factors[c] * means[c] * off
        expected += factors[c] * means[c] * means[c]
    for k in range(found):
        p, i = keys[k] >> SHIFT, np.uint32((keys[k] & LOW_HALF) >> 1)
        far = mass * mass * square * (1.0 + 1e-6)
        if last >= 0 and may_gain_more(far, bar, mass, own, rules, metric) and values[p] > values[last] + CLOSENESS:
            gain = gain_of_classes(left, total, rules, x_log_x)
            bar = take(gain, left[0], f, p, bar, leaf, mass, rules)
        code, weight = codes[i], float(weights[i])
        factor, mean = factors[code], means[code]
        off = factor * (shares[code] - own * mean) - along
        square += weight * (2.0 * off + weight * (factor * (1.0 - 2.0 * mean) + expected))
        along += weight * (factor * mean - expected)
        shares[code] += weight
        own += weight
        left[0] += 1
        if first == 2:
            left[1] += weights[i]
        if code < n_classes - 1:
            left[first + code] += weights[i]
        last = p
    return bar
