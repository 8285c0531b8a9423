"""Trees of two classes without weights: a node is one integer, samples · 2³² + samples of class 1."""

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
from .trees_packed_groups import (
    FAR,
    LOW,
    LOW_HALF,
    PRODUCT,
    REACH,
    SHIFT,
    best_edge,
    measure_edges,
    measure_groups,
    sum_groups,
)
from .trees_presort import CLOSENESS
from .trees_rules import (
    ENTROPY_TIE,
    LEAST_GAIN,
    MAX_DEPTH,
    MAX_LEAVES,
    MIN_LEAF,
    MIN_SPLIT,
    NO_SPLIT,
    PER_NODE,
    RELATIVE_TIE,
    SMALL,
    bound_inside,
)

BINS_PER_GROUP = 2.5


@njit(**INNER)
def gain_packed(left, total, x_log_x):
    """Decrease of entropy × samples; without a table half the decrease of Gini's index × samples."""
    size, ones = total >> SHIFT, total & LOW_HALF
    size_left, ones_left = left >> SHIFT, left & LOW_HALF
    size_right, ones_right = size - size_left, ones - ones_left
    if x_log_x.size > 0:
        return (
            (x_log_x[ones_left] + x_log_x[size_left - ones_left] - x_log_x[size_left])
            + (x_log_x[ones_right] + x_log_x[size_right - ones_right] - x_log_x[size_right])
            + (x_log_x[size] - x_log_x[ones] - x_log_x[size - ones])
        )
    distance = float(size * ones_left - size_left * ones)
    return distance * distance / (float(size) * float(size_left) * float(size_right))


@njit(**INNER)
def take(gain, left, f, position, bar, slot, min_leaf, sums, gains, leaves, entropy):
    """Take a split that gains more than `bar`; returns what the next one must exceed, rounding included."""
    total = sums[0, slot, 0]
    if min(left >> SHIFT, (total - left) >> SHIFT) < min_leaf:
        return bar
    gains[slot], sums[1, slot, 0] = gain, left
    leaves[slot, COLUMN], leaves[slot, POSITION] = f, position
    return gain + RELATIVE_TIE * abs(gain) + (ENTROPY_TIE * float(total >> SHIFT) if entropy else 0.0)


@njit(**INNER)
def worth_a_look(far, product, bar, scale, total, left):
    """Whether the gain of entropy may exceed `bar`, by the tighter bound of `bound_inside`."""
    size, ones, size_left = total >> SHIFT, total & LOW_HALF, left >> SHIFT
    relative = far / (float(min(size_left, size - size_left)) * float(min(ones, size - ones)))
    return relative >= 0.5 or far * far * (0.5 + 0.335 * relative) > bar * scale * product


@njit(**INNER)
def bound_bin(before, cell, far, total, scale, entropy):
    """Bound on the gains inside a bin."""
    mass, share = float(total >> SHIFT), float(total & LOW_HALF) / float(total >> SHIFT)
    inside, ones = float(cell >> SHIFT), float(cell & LOW_HALF)
    reach = far + 0.5 * mass * np.sqrt(ones * (inside - ones))
    squares = ones * (1.0 - 2.0 * share) + inside * share * share
    start = float(before >> SHIFT)
    return bound_inside(reach, scale, mass, start, start + inside, min(share, 1.0 - share), squares, entropy)


@njit(**INNER)
def may_hide(before, cell, far, product, bar, scale, total, entropy):
    """Whether a bin, or a group of bins, may hold a split that gains more than `bar`."""
    # Whatever its labels, a bin of k samples moves the distance by no more than mass · k / 4.
    reach = far + 0.25 * float(total >> SHIFT) * float(cell >> SHIFT)
    return reach * reach > bar * scale * product and bound_bin(before, cell, far, total, scale, entropy) > bar


@njit(**INNER)
def search_counted(
    counts, slot, min_leaf, order, values, edges, solid, offsets, points, place, leaves, gains, sums, picks, lefts,
    bounds, groups, measures, x_log_x,
):  # fmt: skip
    """Best split of a leaf with a histogram.

    Groups of bins are bounded first. The best of their edges gains no more than the best split: only groups that may
    gain more are taken apart into bins, and only bins that may hide more than the best edge are opened.
    """
    total = sums[0, slot, 0]
    size, mass, ones = total >> SHIFT, float(total >> SHIFT), float(total & LOW_HALF)
    entropy = x_log_x.size > 0
    scale = ones * (1.0 - ones / mass) if entropy else mass
    # Bins were made for the whole table: a smaller leaf has fewer samples in each and takes more of them together.
    step = int(BINS_PER_GROUP * np.sqrt(place.shape[1] / mass))
    n_edges = sum_groups(counts, step, offsets, groups)
    known, far_of, product_of = groups[:n_edges], measures[FAR, :n_edges], measures[PRODUCT, :n_edges]
    reach, low = measures[REACH, :n_edges], measures[LOW, :n_edges]
    measure_edges(known, mass, ones, far_of, product_of)
    rarest = min(ones, mass - ones) / mass if entropy else 0.0
    measure_groups(known, mass, rarest, far_of, product_of, reach, low)
    bar = lower_bound(best_edge(known, far_of, product_of, size, min_leaf), total, known, x_log_x)
    n_picks, e = 0, 0
    for f in range(offsets.size - 1):
        for first in range(offsets[f], offsets[f + 1], step):
            e += 1
            if not reach[e] > bar * scale * low[e]:
                continue
            before, far_before, product_before = known[e - 1], far_of[e - 1], product_of[e - 1]
            group, farther = known[e] - before, max(far_before, far_of[e])
            if group == 0 or bound_bin(before, group, farther, total, scale, entropy) <= bar:
                continue
            for b in range(first - offsets[f], min(first + step, offsets[f + 1]) - offsets[f]):
                cell = counts[offsets[f] + b]
                if cell == 0:
                    continue
                after = before + cell
                far = abs(mass * float(after & LOW_HALF) - float(after >> SHIFT) * ones)
                product = float(after >> SHIFT) * float(size - (after >> SHIFT))
                if (
                    far * far > bar * scale * product
                    and after < total
                    and (not entropy or worth_a_look(far, product, bar, scale, total, after))
                ):
                    gain = gain_packed(after, total, x_log_x)
                    if gain > bar:
                        cut = np.int64(edges[f, b + 1])
                        bar = take(gain, after, f, cut, bar, slot, min_leaf, sums, gains, leaves, entropy)
                if cell >> SHIFT > 1 and not solid[f, b]:
                    farthest, nearest = max(far_before, far), min(product_before, product)
                    if may_hide(before, cell, farthest, nearest, bar, scale, total, entropy):
                        bounds[n_picks] = bound_bin(before, cell, farthest, total, scale, entropy)
                        lefts[n_picks], picks[n_picks] = before, np.int64(f) << SHIFT | b
                        n_picks += 1
                before, far_before, product_before = after, far, product
        e += 1
    for k in range(n_picks):
        if bounds[k] > bar:
            bar = search_bin(
                picks[k], lefts[k], bar, scale, slot, min_leaf, order, values, edges, points, place, leaves, gains,
                sums, x_log_x,
            )  # fmt: skip


@njit(**INNER)
def lower_bound(edge, total, lefts, x_log_x):
    """A little less than the gain at an edge, so that this edge and all equal to it are still found."""
    if edge < 0:
        return NO_SPLIT
    bar = gain_packed(lefts[edge], total, x_log_x) * (1.0 - 1e-9)
    if x_log_x.size > 0:
        bar -= 10.0 * ENTROPY_TIE * float(total >> SHIFT)
    return bar if bar > 0.0 else NO_SPLIT


@njit(**INNER)
def search_bin(
    pick, left, bar, scale, slot, min_leaf, order, values, edges, points, place, leaves, gains, sums, x_log_x
):  # fmt: skip
    """Try every split strictly inside a bin, `left` of which lie these sums; returns the next split's bar."""
    f, b = pick >> SHIFT, pick & LOW_HALF
    total = sums[0, slot, 0]
    size, mass, ones = total >> SHIFT, float(total >> SHIFT), float(total & LOW_HALF)
    last, entropy = np.float32(np.inf), x_log_x.size > 0
    for p in range(edges[f, b], edges[f, b + 1]):
        i = order[f, p]
        if place[SLOT, i] != slot:
            continue
        size_left = left >> SHIFT
        far = mass * float(left & LOW_HALF) - float(size_left) * ones
        if far * far > bar * scale * float(size_left) * float(size - size_left) and values[f, p] > last + CLOSENESS:
            gain = gain_packed(left, total, x_log_x)
            if gain > bar:
                bar = take(gain, left, f, np.int64(p), bar, slot, min_leaf, sums, gains, leaves, entropy)
        left += points[i, 0]
        last = values[f, p]
    return bar


@njit(**INNER)
def search_small(slot, min_leaf, values, rank, points, place, leaves, gains, sums, keys, x_log_x):
    """Best split of a leaf so small that sorting its members is cheaper than counting them in bins."""
    total = sums[0, slot, 0]
    size, mass, ones = total >> SHIFT, float(total >> SHIFT), float(total & LOW_HALF)
    entropy = x_log_x.size > 0
    scale = ones * (1.0 - ones / mass) if entropy else mass
    bar = NO_SPLIT
    for f in range(values.shape[0]):
        sort_members(f, slot, rank, place, leaves, keys)
        left = ZERO
        for k in range(size - 1):
            left += points[keys[k] & LOW_HALF, 0]
            size_left = left >> SHIFT
            far = mass * float(left & LOW_HALF) - float(size_left) * ones
            if far * far > bar * scale * float(size_left) * float(size - size_left):
                here, following = keys[k] >> SHIFT, keys[k + 1] >> SHIFT
                gain = gain_packed(left, total, x_log_x)
                if gain > bar and values[f, following] > values[f, here] + CLOSENESS:
                    bar = take(gain, left, f, following, bar, slot, min_leaf, sums, gains, leaves, entropy)


@njit(**INNER)
def count_members(counts, slot, sign, codes, offsets, points, place, leaves):
    """Add (or take away) the samples of a leaf to a histogram."""
    n, d = codes.shape
    start, end = leaves[slot, START], leaves[slot, END]
    # Many members are better met in the order of the table, which is how memory lies.
    in_order = 8 * (end - start) > n
    for q in range(n if in_order else end - start):
        i = q if in_order else np.int64(place[SAMPLES, start + q])
        if in_order and place[SLOT, i] != slot:
            continue
        point = sign * points[i, 0]
        for f in range(d):
            counts[offsets[f] + codes[i, f]] += point


@njit(**INNER)
def count_table(counts, codes, edges, offsets, points):
    """Histogram of the whole table: bins know their size, so only the ones are counted. Returns its sum."""
    n, d = codes.shape
    for f in range(d):
        for b in range(offsets[f + 1] - offsets[f]):
            counts[offsets[f] + b] = np.int64(edges[f, b + 1] - edges[f, b]) << SHIFT
    total = np.int64(n) << SHIFT
    for i in range(n):
        if points[i, 0] & 1:
            total += 1
            for f in range(d):
                counts[offsets[f] + codes[i, f]] += 1
    return total


@njit(**INNER)
def share_counts(slot, new, counts, codes, offsets, points, place, leaves):
    """Histograms of both children: count the smaller child, subtract it from the parent's."""
    h, h_new = leaves[slot, HISTOGRAM], leaves[new, HISTOGRAM]
    if h_new != NONE:
        for cell in range(counts.shape[1]):
            counts[h_new, cell] = 0
        count_members(counts[h_new], new, ONE, codes, offsets, points, place, leaves)
        for cell in range(counts.shape[1]):
            counts[h, cell] -= counts[h_new, cell]
    elif h != NONE:
        count_members(counts[h], new, MINUS_ONE, codes, offsets, points, place, leaves)


@njit(**OPTIONS)
def grow_packed(
    order, values, rank, codes, edges, solid, offsets, points, limits, floors, x_log_x, place, counts, leaves, gains,
    sums, picks, bounds, split, column, total, leaf, groups, measures,
):  # fmt: skip
    """Grow one tree of two unweighted classes; returns its number of leaves. See `trees.grow`."""
    max_leaves, small, min_leaf = limits[MAX_LEAVES], limits[SMALL], limits[MIN_LEAF]
    n_free = plant(counts.shape[0], place, leaves)
    sums[0, 0, 0] = total[0, 0] = count_table(counts[0], codes, edges, offsets, points)
    n_leaves, n_waiting = ONE, ZERO
    slot, new = ZERO, ZERO
    while n_leaves < max_leaves:
        # After a split both children are looked at; at the start the root is both.
        for child in range(slot, new + 1, max(1, new - slot)):
            gains[child] = NO_SPLIT
            m, own = leaves[child, END] - leaves[child, START], sums[0, child, 0] & LOW_HALF
            if m < limits[MIN_SPLIT] or leaves[child, DEPTH] >= limits[MAX_DEPTH] or own == 0 or own == m:
                continue
            h = leaves[child, HISTOGRAM]
            if m <= small:
                search_small(child, min_leaf, values, rank, points, place, leaves, gains, sums, picks[0], x_log_x)
            else:
                if h == NONE:
                    h = counts.shape[0] - 1
                    for cell in range(counts.shape[1]):
                        counts[h, cell] = 0
                    count_members(counts[h], child, ONE, codes, offsets, points, place, leaves)
                search_counted(
                    counts[h], child, min_leaf, order, values, edges, solid, offsets, points, place, leaves, gains,
                    sums, picks[0], picks[1], bounds, groups, measures, x_log_x,
                )  # fmt: skip
            if gains[child] != NO_SPLIT and gains[child] >= floors[LEAST_GAIN]:
                if limits[PER_NODE]:
                    gains[child] /= float(m)
                push(child, n_waiting, gains, leaves)
                n_waiting += 1
        if n_waiting == 0:
            break
        slot, new = pop(n_waiting, gains, leaves), n_leaves
        n_waiting -= 1
        n_leaves += 1
        split[new - 1] = leaves[slot, NODE]
        column[new - 1] = leaves[slot, COLUMN]
        whole, of_left = sums[0, slot, 0], sums[1, slot, 0]
        left = divide(slot, new, of_left >> SHIFT, order, rank, place, leaves)
        sums[0, left, 0], sums[0, slot + new - left, 0] = of_left, whole - of_left
        total[2 * new - 1, 0], total[2 * new, 0] = of_left, whole - of_left
        if n_leaves < max_leaves:
            n_free = histograms_of_children(slot, new, small, n_free, leaves)
            share_counts(slot, new, counts, codes, offsets, points, place, leaves)
    for i in range(leaf.size):
        leaf[i] = leaves[place[SLOT, i], NODE]
    return n_leaves
