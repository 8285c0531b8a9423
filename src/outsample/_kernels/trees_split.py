"""The best split of one node, exact, found from counts per bin.

A node's samples are summed up in *channels*, all integers so that sums are exact in any order:

- two classes, no weights: one channel, samples · 2³² + samples of class 1 ("packed");
- K classes: samples, [mass,] mass of class 1 … K − 1;
- regression: samples, [mass,] Σ w y, Σ w y², the last two in fixed point, the last one rounded up.

The mass channel exists only with sample weights; without them the mass is the number of samples.

Every gain here is a convex function of the left side's sums, and at most
(scaled distance of the left mean from the node's mean)², a chi-square. Inside a bin that distance cannot leave
the larger of its two end values by more than the bin's own spread allows (Cauchy–Schwarz). So the gains at
all bin edges are computed first, and only bins whose bound beats the best edge are opened and scanned sample by
sample. Equal gains: edges before positions inside bins, then the lower column, then the lower position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .trees_presort import CLOSENESS

PACKED, CLASSES, VALUES = 0, 1, 2
SHIFT = 32
LOW_HALF = (1 << SHIFT) - 1
RELATIVE_TIE = 1e-11

# Rows of Workspace.place and columns of Workspace.leaves.
SAMPLES, WHERE, SLOT = 0, 1, 2
START, END, NODE, DEPTH, HISTOGRAM, CUT_COLUMN, CUT_POSITION, HEAP, FREE = 0, 1, 2, 3, 4, 5, 6, 7, 8

# Typed constants: a bare number as an argument makes numba compile the callee once more for that number.
ADD, TAKE_AWAY, ZERO = np.int64(1), np.int64(-1), np.int64(0)

# Only kernels call these functions: without wrappers for Python they compile in half the time.
INNER = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class Rules(NamedTuple):
    """How labels are summed up and when growth stops.

    `first` is the channel of the first sum of labels (the mass is the channel before it), `small` the
    largest node that is sorted rather than counted, `square_unit` brings the channel of squares to the
    scale of squared sums, `least_gain` is the smallest gain worth a split, labels that vary less than
    `least_spread` are left alone, `x_log_x` holds k ln k for counts (empty with weights).
    """

    kind: int
    n_channels: int
    first: int
    n_classes: int
    entropy: bool
    max_leaves: int
    max_depth: int
    min_split: int
    min_leaf: int
    small: int
    square_unit: float
    least_gain: float
    least_spread: float
    x_log_x: NDArray[np.float64]


@njit(**INNER)
def x_log_x(x, table):
    """x ln x, from the table when x is a count."""
    if table.size > 0:
        return table[np.int64(x)]
    return x * np.log(x) if x > 0.0 else 0.0


@njit(**INNER)
def gain_packed(left, total, entropy, table):
    """Decrease of impurity × mass for two classes; for Gini half of it, the squared-error decrease."""
    size, ones = total >> SHIFT, total & LOW_HALF
    size_left, ones_left = left >> SHIFT, left & LOW_HALF
    size_right, ones_right = size - size_left, ones - ones_left
    if entropy:
        return (
            (table[ones_left] + table[size_left - ones_left] - table[size_left])
            + (table[ones_right] + table[size_right - ones_right] - table[size_right])
            + (table[size] - table[ones] - table[size - ones])
        )
    distance = float(size * ones_left - size_left * ones)
    return distance * distance / (float(size) * float(size_left) * float(size_right))


@njit(**INNER)
def gain_of(left, total, rules):
    """Decrease of impurity × mass, for any channels; for Gini half of it, in the units of the channels."""
    if rules.kind == PACKED:
        return gain_packed(left[0], total[0], rules.entropy, rules.x_log_x)
    mass, mass_left = float(total[rules.first - 1]), float(left[rules.first - 1])
    mass_right = mass - mass_left
    if rules.kind == VALUES:
        distance = mass * float(left[rules.first]) - mass_left * float(total[rules.first])
        return distance / mass * distance / (mass_left * mass_right)
    gain = 0.0
    rest, rest_left = mass, mass_left
    for c in range(rules.n_classes):
        last = c == rules.n_classes - 1
        share = rest if last else float(total[rules.first + c])
        share_left = rest_left if last else float(left[rules.first + c])
        rest -= share
        rest_left -= share_left
        if rules.entropy:
            gain += x_log_x(share_left, rules.x_log_x) + x_log_x(share - share_left, rules.x_log_x)
            gain -= x_log_x(share, rules.x_log_x)
        else:
            distance = mass * share_left - mass_left * share
            gain += distance * distance
    if rules.entropy:
        gain -= x_log_x(mass_left, rules.x_log_x) + x_log_x(mass_right, rules.x_log_x)
        return gain + x_log_x(mass, rules.x_log_x)
    return gain / (2.0 * mass) / (mass_left * mass_right)


@njit(**INNER)
def add_sample(sums, base, i, sign, points, rules):
    """Add (sign = 1) or take away (sign = −1) sample i."""
    if rules.kind == CLASSES:
        mass = sign * points[i, 1]
        sums[base] += sign
        if rules.first == 2:
            sums[base + 1] += mass
        if points[i, 0] < rules.n_classes - 1:
            sums[base + rules.first + points[i, 0]] += mass
    else:
        for v in range(rules.n_channels):
            sums[base + v] += sign * points[i, v]


@njit(**INNER)
def size_of(channel, rules):
    """Number of samples, from the first channel."""
    return channel >> SHIFT if rules.kind == PACKED else channel


@njit(**INNER)
def beaten(best, total, rules):
    """A gain must exceed this to replace `best`: equal gains may differ by rounding."""
    margin = RELATIVE_TIE * abs(best)
    if rules.entropy:
        mass = float(total[0] >> SHIFT if rules.kind == PACKED else total[rules.first - 1])
        margin += 4e-15 * mass * (1.0 + np.log(mass + 1.0))
    return best + margin


@njit(**INNER)
def bound_inside(reach, scale, mass, mass_before, mass_after, rarest, squares, entropy):
    """Bound on the gains inside a bin.

    Away from the node's ends it is a chi-square: the largest distance over the smallest product of sides. For
    entropy about half of that will do, since (1 + t) ln(1 + t) − t ≤ t²/2 · (1 + 2|t|/3) for t ≥ −1/2.
    At an end the product vanishes, and the bin's own sum of squares about the node's mean is the bound.
    """
    right_after = mass - mass_after
    if mass_before > 0.0 and right_after > 0.0:
        nearest = min(mass_before * (mass - mass_before), mass_after * right_after)
        chi_square = reach * reach / (scale * nearest)
        relative = reach / (mass * min(mass_before, right_after) * rarest)
        if entropy and relative < 0.5:
            return 0.5 * chi_square * (1.0 + 0.67 * relative)
        return chi_square
    side = max(mass_before, right_after)
    if side > 0.0:
        return mass * mass * squares / (scale * side)
    return np.inf


@njit(**INNER)
def search_edges_packed(counts, slot, table, rules, space):
    """Best bin edge of two unweighted classes; collects the bins that might hide something better.

    Returns the number of those bins; `space.picks` names them, `space.bounds` bounds the gains inside.
    """
    total = space.sums[0, slot, 0]
    size, ones = total >> SHIFT, total & LOW_HALF
    mass, share = float(size), float(ones) / float(size)
    scale = mass * share * (1.0 - share) if rules.entropy else mass
    rarest = min(share, 1.0 - share)
    bar = beaten(space.gains[slot], space.sums[0, slot], rules)
    n_picks = 0
    for f in range(table.offsets.size - 1):
        offset = table.offsets[f]
        before, far_before, product_before = 0, 0.0, 0.0
        for b in range(table.offsets[f + 1] - offset):
            cell = counts[offset + b]
            if cell == 0:
                continue
            after = before + cell
            size_after = after >> SHIFT
            far = abs(mass * float(after & LOW_HALF) - float(size_after) * float(ones))
            product = float(size_after) * float(size - size_after)
            if far * far > bar * scale * product and (
                min(size_after, size - size_after) >= rules.min_leaf
            ):
                gain = gain_packed(after, total, rules.entropy, rules.x_log_x)
                if gain > bar:
                    space.gains[slot], space.sums[1, slot, 0] = gain, after
                    space.leaves[slot, CUT_COLUMN], space.leaves[slot, CUT_POSITION] = f, table.edges[f, b + 1]
                    bar = beaten(gain, space.sums[0, slot], rules)
            inside, inside_ones = cell >> SHIFT, cell & LOW_HALF
            reach = max(far_before, far) + 0.5 * mass * np.sqrt(float(inside_ones * (inside - inside_ones)))
            if (
                reach * reach > bar * scale * min(product_before, product)
                and inside > 1
                and not table.solid[f, b]
            ):
                squares = float(inside_ones) * (1.0 - 2.0 * share) + float(inside) * share * share
                space.bounds[n_picks] = bound_inside(
                    reach, scale, mass, float(before >> SHIFT), float(size_after), rarest, squares, rules.entropy
                )
                if space.bounds[n_picks] > bar:
                    space.picks[n_picks] = f << SHIFT | b
                    n_picks += 1
            before, far_before, product_before = after, far, product
    return n_picks


@njit(**INNER)
def metric_of(slot, rules, space):
    """Write the node's mean of each label sum, and the weight of each in the squared distance.

    Returns (scale, rarest): gain ≤ distance² / (scale · mass left · mass right); smallest share of a class.
    """
    total, metric = space.sums[0, slot], space.metric
    mass = float(total[rules.first - 1])
    if rules.kind == VALUES:
        metric[0, 0], metric[1, 0] = float(total[rules.first]) / mass, 1.0
        return mass, 1.0
    rest, rarest = mass, 1.0
    for c in range(rules.n_classes):
        share = rest if c == rules.n_classes - 1 else float(total[rules.first + c])
        rest -= share
        metric[0, c], metric[1, c] = share / mass, 1.0
        if rules.entropy:
            metric[1, c] = mass / share if share > 0.0 else 0.0
            rarest = min(rarest, share / mass) if share > 0.0 else rarest
    return (mass, np.sqrt(rarest)) if rules.entropy else (2.0 * mass, 1.0)


@njit(**INNER)
def distance_of(sums, mass, rules, metric):
    """Weighted distance of sums from what the node's mean would give, times the node's mass."""
    own = float(sums[rules.first - 1])
    if rules.kind == VALUES:
        return mass * abs(float(sums[rules.first]) - own * metric[0, 0])
    rest, squares = own, 0.0
    for c in range(rules.n_classes):
        share = rest if c == rules.n_classes - 1 else float(sums[rules.first + c])
        rest -= share
        squares += metric[1, c] * (share - own * metric[0, c]) ** 2
    return mass * np.sqrt(squares)


@njit(**INNER)
def spread_of(counts, base, rules, metric):
    """(mass × squares about the bin's own mean, squares about the node's mean) of a bin, never too small."""
    own = float(counts[base + rules.first - 1])
    if rules.kind == VALUES:
        total, center = float(counts[base + rules.first]), metric[0, 0]
        squares = float(counts[base + rules.first + 1]) * rules.square_unit
        rounding = 1e-12 * own * squares
        within = max(own * squares - total * total, 0.0) + rounding
        about = max(squares - 2.0 * center * total + own * center * center, 0.0)
        return within, about + 1e-12 * (squares + own * center * center)
    rest, within, about = own, 0.0, 0.0
    for c in range(rules.n_classes):
        share = rest if c == rules.n_classes - 1 else float(counts[base + rules.first + c])
        rest -= share
        within += metric[1, c] * share * (own - share)
        about += metric[1, c] * (share * (1.0 - 2.0 * metric[0, c]) + own * metric[0, c] ** 2)
    return within, about


@njit(**INNER)
def search_edges(counts, slot, table, rules, space):
    """`search_edges_packed` for any channels."""
    scale, rarest = metric_of(slot, rules, space)
    total, after = space.sums[0, slot], space.left
    mass = float(total[rules.first - 1])
    bar = beaten(space.gains[slot], total, rules)
    n_picks = 0
    for f in range(table.offsets.size - 1):
        for v in range(rules.n_channels):
            after[v] = 0
        far_before, mass_before = 0.0, 0.0
        for b in range(table.offsets[f + 1] - table.offsets[f]):
            base = (table.offsets[f] + b) * rules.n_channels
            if counts[base] == 0:
                continue
            for v in range(rules.n_channels):
                after[v] += counts[base + v]
            mass_after = float(after[rules.first - 1])
            far = distance_of(after, mass, rules, space.metric)
            # The distance decides only which gains are computed: give it the benefit of its rounding.
            if far * far * (1.0 + 1e-6) >= bar * scale * mass_after * (mass - mass_after):
                try_split(f, np.int64(table.edges[f, b + 1]), slot, rules, space)
                bar = beaten(space.gains[slot], total, rules)
            if counts[base] > 1 and not table.solid[f, b]:
                within, about = spread_of(counts, base, rules, space.metric)
                reach = max(far_before, far) * (1.0 + 1e-6) + 0.5 * mass * np.sqrt(within)
                space.bounds[n_picks] = bound_inside(
                    reach, scale, mass, mass_before, mass_after, rarest, about, rules.entropy
                )
                if space.bounds[n_picks] > bar:
                    space.picks[n_picks] = f << SHIFT | b
                    n_picks += 1
            far_before, mass_before = far, mass_after
    return n_picks


@njit(**INNER)
def try_split(f, position, slot, rules, space):
    """Take the split with the sums `space.left` if it beats the best so far and leaves enough on both sides."""
    size, size_left = size_of(space.sums[0, slot, 0], rules), size_of(space.left[0], rules)
    if min(size_left, size - size_left) < rules.min_leaf:
        return
    gain = gain_of(space.left, space.sums[0, slot], rules)
    if gain > beaten(space.gains[slot], space.sums[0, slot], rules):
        space.gains[slot] = gain
        space.leaves[slot, CUT_COLUMN], space.leaves[slot, CUT_POSITION] = f, position
        for v in range(rules.n_channels):
            space.sums[1, slot, v] = space.left[v]


@njit(**INNER)
def search_bin(counts, slot, pick, table, points, rules, space):
    """Try every split strictly inside a bin."""
    f, b = pick >> SHIFT, pick & LOW_HALF
    for v in range(rules.n_channels):
        space.left[v] = 0
    for cell in range(table.offsets[f], table.offsets[f] + b):
        for v in range(rules.n_channels):
            space.left[v] += counts[cell * rules.n_channels + v]
    last = -1
    for p in range(table.edges[f, b], table.edges[f, b + 1]):
        i = np.int64(table.order[f, p])
        if space.place[SLOT, i] != slot:
            continue
        if last >= 0 and table.values[f, p] > table.values[f, last] + CLOSENESS:
            try_split(f, p, slot, rules, space)
        add_sample(space.left, ZERO, i, ADD, points, rules)
        last = p


@njit(**INNER)
def search_small(slot, table, points, rules, space):
    """Try every split of a node so small that sorting its members is cheaper than counting them in bins."""
    keys, start = space.picks, space.leaves[slot, START]
    m = space.leaves[slot, END] - start
    for f in range(table.order.shape[0]):
        for k in range(m):
            i = np.int64(space.place[SAMPLES, start + k])
            key = np.int64(table.rank[i, f]) << SHIFT | i
            q = k
            while q > 0 and keys[q - 1] > key:
                keys[q] = keys[q - 1]
                q -= 1
            keys[q] = key
        for v in range(rules.n_channels):
            space.left[v] = 0
        for k in range(m - 1):
            add_sample(space.left, ZERO, keys[k] & LOW_HALF, ADD, points, rules)
            here, following = keys[k] >> SHIFT, keys[k + 1] >> SHIFT
            if table.values[f, following] > table.values[f, here] + CLOSENESS:
                try_split(f, following, slot, rules, space)
