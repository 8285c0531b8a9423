"""Trees of any number of classes, of weighted samples, and of real values.

A node is summed up in *channels*, integers so that sums are exact in any order:

- K classes: samples, [mass,] mass of class 0 … K − 2 (the last class is the rest);
- real values: samples, [mass,] Σ w y, Σ w y², the last two in fixed point and the very last rounded up.

The mass channel exists only with sample weights; without them the mass is the number of samples. `first` is the
channel of the first sum of labels, so the mass is always the channel before it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import INNER, OPTIONS
from .trees_leaves import (
    COLUMN,
    DEPTH,
    END,
    HISTOGRAM,
    MINUS_ONE,
    NODE,
    NONE,
    ONE,
    POSITION,
    SAMPLES,
    SLOT,
    START,
    ZERO,
    divide,
    histograms_of_children,
    plant,
    pop,
    push,
    sort_members,
)
from .trees_presort import CLOSENESS
from .trees_rules import (
    ENTROPY,
    ENTROPY_TIE,
    FIRST,
    LEAST_GAIN,
    LEAST_SPREAD,
    MAX_DEPTH,
    MAX_LEAVES,
    MIN_LEAF,
    MIN_SPLIT,
    N_CLASSES,
    NO_SPLIT,
    PER_NODE,
    RELATIVE_TIE,
    SMALL,
    SQUARE_UNIT,
    bound_inside,
)

SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1


@njit(**INNER, inline="always")
def x_ln_x(x, table):
    """x ln x, from the table when x is a count."""
    if table.size > 0:
        return table[np.int64(x)]
    return x * np.log(x) if x > 0.0 else 0.0


@njit(**INNER)
def gain_of(left, total, limits, x_log_x):
    """Decrease of impurity × mass; for Gini half of it; in the units of the channels."""
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    mass, mass_left = float(total[first - 1]), float(left[first - 1])
    mass_right = mass - mass_left
    if n_classes == 0:
        distance = mass * float(left[first]) - mass_left * float(total[first])
        return distance / mass * distance / (mass_left * mass_right)
    gain, rest, rest_left = 0.0, mass, mass_left
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(total[first + c])
        share_left = rest_left if c == n_classes - 1 else float(left[first + c])
        rest -= share
        rest_left -= share_left
        if limits[ENTROPY]:
            gain += x_ln_x(share_left, x_log_x) + x_ln_x(share - share_left, x_log_x) - x_ln_x(share, x_log_x)
        else:
            gain += (mass * share_left - mass_left * share) ** 2
    if limits[ENTROPY]:
        return gain - x_ln_x(mass_left, x_log_x) - x_ln_x(mass_right, x_log_x) + x_ln_x(mass, x_log_x)
    return gain / (2.0 * mass) / (mass_left * mass_right)


@njit(**INNER, inline="always")
def add_sample(sums, base, i, sign, points, n_channels, limits):
    """Add (sign = 1) or take away (sign = −1) sample i."""
    if limits[N_CLASSES] == 0:
        for v in range(n_channels):
            sums[base + v] += sign * points[i, v]
    else:
        mass = sign * points[i, 1]
        sums[base] += sign
        if limits[FIRST] == 2:
            sums[base + 1] += mass
        if points[i, 0] < limits[N_CLASSES] - 1:
            sums[base + limits[FIRST] + points[i, 0]] += mass


@njit(**INNER)
def raised(gain, total, limits):
    """What a gain must exceed to replace this one: equal gains may differ by rounding."""
    if gain == NO_SPLIT:
        return NO_SPLIT
    rounding = ENTROPY_TIE * float(total[limits[FIRST] - 1]) if limits[ENTROPY] else 0.0
    return gain + RELATIVE_TIE * abs(gain) + rounding


@njit(**INNER)
def take(left, f, position, bar, slot, limits, sums, gains, leaves, x_log_x):
    """Take a split if it gains more than `bar`; returns what the next one must exceed, rounding included."""
    total = sums[0, slot]
    if min(left[0], total[0] - left[0]) < limits[MIN_LEAF]:
        return bar
    gain = gain_of(left, total, limits, x_log_x)
    if not gain > bar:
        return bar
    gains[slot], leaves[slot, COLUMN], leaves[slot, POSITION] = gain, f, position
    for v in range(left.size):
        sums[1, slot, v] = left[v]
    return raised(gain, total, limits)


@njit(**INNER)
def prepare_metric(total, limits, metric):
    """Write the node's mean of each label sum, and the weight of each in the squared distance.

    metric[2] becomes (scale, rarest): see `bound_inside`.
    """
    first, n_classes = limits[FIRST], limits[N_CLASSES]
    mass = float(total[first - 1])
    metric[2, 0], metric[2, 1] = mass, 1.0
    if n_classes == 0:
        metric[0, 0], metric[1, 0] = float(total[first]) / mass, 1.0
        return
    rest, rarest = mass, 1.0
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(total[first + c])
        rest -= share
        metric[0, c], metric[1, c] = share / mass, 1.0
        if limits[ENTROPY]:
            metric[1, c] = mass / share if share > 0.0 else 0.0
            rarest = min(rarest, share / mass) if share > 0.0 else rarest
    if limits[ENTROPY]:
        metric[2, 1] = np.sqrt(rarest)
    else:
        metric[2, 0] = 2.0 * mass


@njit(**INNER, inline="always")
def distance_squared(left, mass, first, n_classes, metric):
    """Square of the distance in `bound_inside`, a little too large rather than too small."""
    own = float(left[first - 1])
    if n_classes == 0:
        return (mass * (float(left[first]) - own * metric[0, 0])) ** 2 * (1.0 + 1e-6)
    rest, squares = own, 0.0
    for c in range(n_classes):
        share = rest if c == n_classes - 1 else float(left[first + c])
        rest -= share
        squares += metric[1, c] * (share - own * metric[0, c]) ** 2
    return mass * mass * squares * (1.0 + 1e-6)


@njit(**INNER)
def worth_a_look(far, product, bar, mass, mass_left, entropy, metric):
    """Whether a gain may exceed `bar`; for entropy by the tighter bound of `bound_inside`."""
    if far < bar * metric[2, 0] * product:
        return False
    relative = np.sqrt(far) / (mass * min(mass_left, mass - mass_left) * metric[2, 1])
    return not entropy or relative >= 0.5 or far * (0.5 + 0.335 * relative) >= bar * metric[2, 0] * product


@njit(**INNER)
def search_edges_of_values(
    counts, slot, limits, square_unit, edges, solid, offsets, leaves, gains, sums, picks, bounds, left, metric, x_log_x
):
    """Best bin edge for real values; collects the bins that may hide something better, returns their number."""
    first, n_channels = limits[FIRST], left.size
    size, mass, whole = sums[0, slot, 0], float(sums[0, slot, first - 1]), float(sums[0, slot, first])
    center = whole / mass
    bar, n_picks = NO_SPLIT, 0
    for f in range(offsets.size - 1):
        for v in range(n_channels):
            left[v] = 0
        far_before, mass_before, product_before = 0.0, 0.0, 0.0
        for b in range(offsets[f + 1] - offsets[f]):
            base = (offsets[f] + b) * n_channels
            if counts[base] == 0:
                continue
            for v in range(n_channels):
                left[v] += counts[base + v]
            mass_after = float(left[first - 1])
            far = abs(mass * (float(left[first]) - mass_after * center)) * (1.0 + 1e-6)
            product = mass_after * (mass - mass_after)
            if left[0] < size and far * far >= bar * mass * product:
                bar = take(left, f, np.int64(edges[f, b + 1]), bar, slot, limits, sums, gains, leaves, x_log_x)
            if counts[base] > 1 and not solid[f, b]:
                inside, own = float(counts[base + first - 1]), float(counts[base + first])
                squares = float(counts[base + first + 1]) * square_unit
                within = max(inside * squares - own * own, 0.0) + 1e-12 * inside * squares
                reach = max(far_before, far) + 0.5 * mass * np.sqrt(within)
                if reach * reach > bar * mass * min(product_before, product):
                    about = squares - 2.0 * center * own + inside * center * center
                    about = max(about, 0.0) + 1e-12 * (squares + inside * center * center)
                    bound = bound_inside(reach, mass, mass, mass_before, mass_after, 1.0, about, False)
                    if bound > bar:
                        bounds[n_picks], picks[n_picks] = bound, np.int64(f) << SHIFT | b
                        n_picks += 1
            far_before, mass_before, product_before = far, mass_after, product
    return n_picks


@njit(**INNER)
def search_edges_of_classes(
    counts, slot, limits, edges, solid, offsets, leaves, gains, sums, picks, bounds, left, metric, x_log_x
):
    """Best bin edge for classes; collects the bins that may hide something better, returns their number."""
    first, n_classes, n_channels, entropy = limits[FIRST], limits[N_CLASSES], left.size, limits[ENTROPY] != 0
    size, mass, scale, rarest = sums[0, slot, 0], float(sums[0, slot, first - 1]), metric[2, 0], metric[2, 1]
    bar, n_picks = NO_SPLIT, 0
    for f in range(offsets.size - 1):
        for v in range(n_channels):
            left[v] = 0
        far_before, mass_before, product_before = 0.0, 0.0, 0.0
        for b in range(offsets[f + 1] - offsets[f]):
            base = (offsets[f] + b) * n_channels
            if counts[base] == 0:
                continue
            for v in range(n_channels):
                left[v] += counts[base + v]
            mass_after, inside = float(left[first - 1]), float(counts[base + first - 1])
            rest, rest_inside, squares, within, about = mass_after, inside, 0.0, 0.0, 0.0
            for c in range(n_classes):
                share = rest if c == n_classes - 1 else float(left[first + c])
                own = rest_inside if c == n_classes - 1 else float(counts[base + first + c])
                rest -= share
                rest_inside -= own
                squares += metric[1, c] * (share - mass_after * metric[0, c]) ** 2
                within += metric[1, c] * own * (inside - own)
                about += metric[1, c] * (own * (1.0 - 2.0 * metric[0, c]) + inside * metric[0, c] ** 2)
            far = mass * mass * squares * (1.0 + 1e-6)
            product = mass_after * (mass - mass_after)
            if left[0] < size and worth_a_look(far, product, bar, mass, mass_after, entropy, metric):
                bar = take(left, f, np.int64(edges[f, b + 1]), bar, slot, limits, sums, gains, leaves, x_log_x)
            reach = np.sqrt(max(far_before, far)) + 0.5 * mass * np.sqrt(within)
            if reach * reach > bar * scale * min(product_before, product) and counts[base] > 1 and not solid[f, b]:
                bound = bound_inside(reach, scale, mass, mass_before, mass_after, rarest, about, entropy)
                if bound > bar:
                    bounds[n_picks], picks[n_picks] = bound, np.int64(f) << SHIFT | b
                    n_picks += 1
            far_before, mass_before, product_before = far, mass_after, product
    return n_picks


@njit(**INNER)
def search_counted(
    counts, slot, limits, square_unit, order, values, edges, solid, offsets, points, place, leaves, gains, sums, picks,
    bounds, left, metric, x_log_x,
):  # fmt: skip
    """Best split of a leaf with a histogram: first the bin edges, then the bins that may hide a better one."""
    total = sums[0, slot]
    prepare_metric(total, limits, metric)
    if limits[N_CLASSES] == 0:
        n_picks = search_edges_of_values(
            counts, slot, limits, square_unit, edges, solid, offsets, leaves, gains, sums, picks, bounds, left, metric,
            x_log_x,
        )  # fmt: skip
    else:
        n_picks = search_edges_of_classes(
            counts, slot, limits, edges, solid, offsets, leaves, gains, sums, picks, bounds, left, metric, x_log_x
        )
    bar = raised(gains[slot], total, limits)
    for k in range(n_picks):
        if bounds[k] > bar:
            bar = search_bin(
                counts, picks[k], bar, slot, limits, order, values, edges, offsets, points, place, leaves, gains, sums,
                left, metric, x_log_x,
            )  # fmt: skip


@njit(**INNER)
def search_bin(
    counts, pick, bar, slot, limits, order, values, edges, offsets, points, place, leaves, gains, sums, left, metric,
    x_log_x,
):  # fmt: skip
    """Try every split strictly inside a bin; returns what the next split must exceed."""
    f, b = pick >> SHIFT, pick & LOW_HALF
    n_channels, first, n_classes = left.size, limits[FIRST], limits[N_CLASSES]
    mass, entropy = float(sums[0, slot, first - 1]), limits[ENTROPY] != 0
    for v in range(n_channels):
        left[v] = 0
    for cell in range(offsets[f], offsets[f] + b):
        for v in range(n_channels):
            left[v] += counts[cell * n_channels + v]
    last = np.float32(np.inf)
    for p in range(edges[f, b], edges[f, b + 1]):
        i = np.int64(order[f, p])
        if place[SLOT, i] != slot:
            continue
        if values[f, p] > last + CLOSENESS:
            mass_left = float(left[first - 1])
            far = distance_squared(left, mass, first, n_classes, metric)
            if worth_a_look(far, mass_left * (mass - mass_left), bar, mass, mass_left, entropy, metric):
                bar = take(left, f, np.int64(p), bar, slot, limits, sums, gains, leaves, x_log_x)
        add_sample(left, ZERO, i, ONE, points, n_channels, limits)
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
            add_sample(left, ZERO, keys[k] & LOW_HALF, ONE, points, left.size, limits)
            here, following = keys[k] >> SHIFT, keys[k + 1] >> SHIFT
            if values[f, following] > values[f, here] + CLOSENESS:
                bar = take(left, f, following, bar, slot, limits, sums, gains, leaves, x_log_x)


@njit(**INNER)
def count_members(counts, slot, sign, codes, offsets, points, place, leaves, n_channels, limits):
    """Add (or take away) the samples of a leaf to a histogram."""
    n, d = codes.shape
    start, end, first, n_classes = leaves[slot, START], leaves[slot, END], limits[FIRST], limits[N_CLASSES]
    # Many members are better met in the order of the table, which is how memory lies.
    in_order = 8 * (end - start) > n
    for q in range(n if in_order else end - start):
        i = q if in_order else np.int64(place[SAMPLES, start + q])
        if in_order and place[SLOT, i] != slot:
            continue
        if n_classes == 0:
            mass, total, square = sign * points[i, first - 1], sign * points[i, first], sign * points[i, first + 1]
            for f in range(d):
                base = (offsets[f] + codes[i, f]) * n_channels
                counts[base] += sign
                if first == 2:
                    counts[base + 1] += mass
                counts[base + first] += total
                counts[base + first + 1] += square
        else:
            code, mass = points[i, 0], sign * points[i, 1]
            for f in range(d):
                base = (offsets[f] + codes[i, f]) * n_channels
                counts[base] += sign
                if first == 2:
                    counts[base + 1] += mass
                if code < n_classes - 1:
                    counts[base + first + code] += mass


@njit(**INNER)
def is_uniform(slot, points, limits, floors, place, leaves, sums):
    """Whether all labels of the leaf are equal, or vary too little for scikit-learn to split it."""
    total, first, n_classes = sums[0, slot], limits[FIRST], limits[N_CLASSES]
    mass = total[first - 1]
    if n_classes > 0:
        rest = mass
        for c in range(n_classes - 1):
            if total[first + c] == mass:
                return True
            rest -= total[first + c]
        return rest == mass
    spread = float(total[first + 1]) * floors[SQUARE_UNIT] - float(total[first]) ** 2 / float(mass)
    if spread <= floors[LEAST_SPREAD] * float(mass):
        return True
    # The last column of points tells equal values from unequal ones; two samples usually do.
    key = points.shape[1] - 1
    value = points[place[SAMPLES, leaves[slot, START]], key]
    q = leaves[slot, START]
    while q < leaves[slot, END] and points[place[SAMPLES, q], key] == value:
        q += 1
    return q == leaves[slot, END]


@njit(**INNER)
def share_counts(slot, new, counts, codes, offsets, points, place, leaves, n_channels, limits):
    """Histograms of both children: count the smaller child, subtract it from the parent's."""
    h, h_new = leaves[slot, HISTOGRAM], leaves[new, HISTOGRAM]
    if h_new != NONE:
        for cell in range(counts.shape[1]):
            counts[h_new, cell] = 0
        count_members(counts[h_new], new, ONE, codes, offsets, points, place, leaves, n_channels, limits)
        for cell in range(counts.shape[1]):
            counts[h, cell] -= counts[h_new, cell]
    elif h != NONE:
        count_members(counts[h], new, MINUS_ONE, codes, offsets, points, place, leaves, n_channels, limits)


@njit(**OPTIONS)
def grow_channels(
    order, values, rank, codes, edges, solid, offsets, points, limits, floors, x_log_x, place, counts, leaves, gains,
    sums, picks, bounds, split, column, total, leaf, left, metric,
):  # fmt: skip
    """Grow one tree of any kind; returns its number of leaves. See `trees.grow`."""
    max_leaves, small, n_channels = limits[MAX_LEAVES], limits[SMALL], left.size
    n_free = plant(counts.shape[0], place, leaves)
    for cell in range(counts.shape[1]):
        counts[0, cell] = 0
    count_members(counts[0], ZERO, ONE, codes, offsets, points, place, leaves, n_channels, limits)
    for v in range(n_channels):
        sums[0, 0, v] = 0
        for b in range(offsets[1]):
            sums[0, 0, v] += counts[0, b * n_channels + v]
        total[0, v] = sums[0, 0, v]
    n_leaves, n_waiting = ONE, ZERO
    slot, new = ZERO, ZERO
    while n_leaves < max_leaves:
        # After a split both children are looked at; at the start the root is both.
        for child in range(slot, new + 1, max(1, new - slot)):
            gains[child] = NO_SPLIT
            m = leaves[child, END] - leaves[child, START]
            if (
                m < limits[MIN_SPLIT]
                or leaves[child, DEPTH] >= limits[MAX_DEPTH]
                or is_uniform(child, points, limits, floors, place, leaves, sums)
            ):
                continue
            h = leaves[child, HISTOGRAM]
            if m <= small:
                search_small(child, limits, values, rank, points, place, leaves, gains, sums, picks[0], left, x_log_x)
            else:
                if h == NONE:
                    h = counts.shape[0] - 1
                    for cell in range(counts.shape[1]):
                        counts[h, cell] = 0
                    count_members(counts[h], child, ONE, codes, offsets, points, place, leaves, n_channels, limits)
                search_counted(
                    counts[h], child, limits, floors[SQUARE_UNIT], order, values, edges, solid, offsets, points, place,
                    leaves, gains, sums, picks[0], bounds, left, metric, x_log_x,
                )  # fmt: skip
            if gains[child] != NO_SPLIT and gains[child] >= floors[LEAST_GAIN]:
                if limits[PER_NODE]:
                    gains[child] /= float(sums[0, child, limits[FIRST] - 1])
                push(child, n_waiting, gains, leaves)
                n_waiting += 1
        if n_waiting == 0:
            break
        slot, new = pop(n_waiting, gains, leaves), n_leaves
        n_waiting -= 1
        n_leaves += 1
        split[new - 1] = leaves[slot, NODE]
        column[new - 1] = leaves[slot, COLUMN]
        left_slot = divide(slot, new, sums[1, slot, 0], order, rank, place, leaves)
        for v in range(n_channels):
            of_left, of_right = sums[1, slot, v], sums[0, slot, v] - sums[1, slot, v]
            sums[0, left_slot, v], sums[0, slot + new - left_slot, v] = of_left, of_right
            total[2 * new - 1, v], total[2 * new, v] = of_left, of_right
        if n_leaves < max_leaves:
            n_free = histograms_of_children(slot, new, small, n_free, leaves)
            share_counts(slot, new, counts, codes, offsets, points, place, leaves, n_channels, limits)
    for i in range(leaf.size):
        leaf[i] = leaves[place[SLOT, i], NODE]
    return n_leaves
