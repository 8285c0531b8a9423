"""Growing trees of any number of classes, of weighted samples, and of real values; see `trees_channel_gains`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .options import LENT, LENT_INNER
from .trees_channel_gains import is_uniform, sum_members
from .trees_channel_search import look_into, pick_columns
from .trees_classes import pick_classes, prepare_metric
from .trees_histograms import count_child
from .trees_leaves import MINUS_ONE, NONE, ONE, ZERO, divide, least_wanted, release, wait
from .trees_rules import NO_SPLIT
from .trees_values import pick_values


class Scratch(NamedTuple):
    """Room for the search of one leaf.

    Attributes
    ----------
    sides, far, room : per edge what lies left of it, the squared distance and the product of the masses; for classes of
        all bins, for real values of all groups of bins, and then of the bins of marked groups
    marked : which groups or bins to look into
    exact : for real values, what lies left of each group as integers
    reach, near, corners : for classes, see `trees_classes`
    picks, lefts, bounds : bins that may hold the best split, the sums left of them, and their bounds
    left, metric : sums of two left sides; what `trees_classes.prepare_metric` writes, and room for sums
    keys : for listing members in the order of a column
    """

    exact: NDArray[np.int64]
    sides: NDArray[np.float64]
    far: NDArray[np.float64]
    room: NDArray[np.float64]
    marked: NDArray[np.bool_]
    reach: NDArray[np.float64]
    near: NDArray[np.float64]
    corners: NDArray[np.int64]
    picks: NDArray[np.int64]
    lefts: NDArray[np.int64]
    bounds: NDArray[np.float64]
    left: NDArray[np.int64]
    metric: NDArray[np.float64]
    keys: NDArray[np.int64]


def make_scratch(cells: int, columns: int, n_channels: int, n_classes: int, keys: NDArray[np.int64]) -> Scratch:
    """Room for so many cells; `n_classes` is 0 for real values."""
    edges, near = cells + columns, cells if n_classes else 0
    far, room, reach = np.empty((3, edges))
    return Scratch(
        exact=np.empty((0 if n_classes else edges, n_channels), np.int64),
        sides=np.empty((max(n_classes, 3) + 2, edges)),
        far=far,
        room=room,
        marked=np.empty(edges, np.bool_),
        reach=reach,
        near=np.empty((2 * n_classes + 7, near)),
        corners=np.empty(near, np.int64),
        picks=np.empty(cells, np.int64),
        lefts=np.empty((cells + 1, n_channels), np.int64),
        bounds=np.empty(cells),
        left=np.empty((2, n_channels), np.int64),
        metric=np.empty((4, max(n_classes, 2))),
        keys=keys,
    )


@njit(**LENT_INNER)
def count_labels(counts, cells, points, rules, of_classes, of_values):
    """Add the labels of all samples to a histogram that knows the rest of them."""
    n, d = cells.shape
    first, n_channels = rules.first, rules.n_channels
    for i in range(n):
        if of_values is not None:
            total, square = points[first, i], points[first + 1, i]
            for f in range(d):
                base = cells[i, f] * n_channels + first
                counts[np.uint32(base)] += total
                counts[np.uint32(base + 1)] += square
        if of_classes is not None:
            code, mass = points[0, i], points[1, i]
            if code < rules.n_classes - 1:
                for f in range(d):
                    counts[np.uint32(cells[i, f] * n_channels + first + code)] += mass


@njit(**LENT)
def grow_channels(
    table, points, rules, x_log_x, place, counts, sums, scratch, split, column, total, of_classes, of_values
):  # fmt: skip
    """Grow one tree of any kind; returns its number of leaves. See `trees.grow`."""
    n_channels, (d, n) = rules.n_channels, table.columns.order.shape
    n_free, used = counts.shape[0] - 2, np.int64(n)
    count_labels(counts[0], table.cells, points, rules, of_classes, of_values)
    for v in range(n_channels):
        sums[0, v] = 0
        for b in range(table.offsets[0, 1]):
            sums[0, v] += counts[0, b * n_channels + v]
        total[0, v] = sums[0, v]
    n_leaves, n_waiting, slot, new = ONE, ZERO, ZERO, ZERO
    while n_leaves < rules.max_leaves:
        shared, n_wanted = False, rules.max_leaves - n_leaves
        # After a split both children are looked at, the smaller one first; at the start the root is both.
        for child in range(new, slot - 1, min(slot - new, MINUS_ONE)):
            leaf, dropped = place.leaves[child], child
            leaf.gain = NO_SPLIT
            if not (
                leaf.n_samples < rules.min_split
                or leaf.depth >= rules.max_depth
                or is_uniform(child, points, rules, place, sums[child], of_classes, of_values)
            ):
                unit = float(sums[child, rules.first - 1]) if rules.per_node else 1.0
                bar = least_wanted(unit, n_waiting, n_wanted, place)
                if of_classes is not None:
                    prepare_metric(sums[child], rules, scratch.metric)
                h, level, n_picks = ZERO, NONE, np.int64(d)
                if leaf.n_samples <= rules.small:
                    n_free = release(child, n_free, place)
                    pick_columns(d, scratch)
                else:
                    level = ZERO
                    if n_leaves > 1:
                        h, level, shared, n_free = count_child(
                            child, slot, new, shared, n_free, counts, points, table, place, rules, None, of_classes,
                            of_values,
                        )  # fmt: skip
                    offsets, solid = table.offsets[level], table.solid[level]
                    if of_values is not None:
                        n_picks, bar = pick_values(
                            counts[h], sums[child], bar, level, n, rules, offsets, solid, scratch
                        )
                    if of_classes is not None:
                        n_picks, bar = pick_classes(
                            counts[h], sums[child], bar, rules, offsets, solid, scratch, x_log_x
                        )
                look_into(
                    n_picks, bar, counts[h], child, level, rules, table, points, place, sums[child], scratch, x_log_x,
                    of_classes, of_values,
                )  # fmt: skip
                if leaf.gain != NO_SPLIT and leaf.gain >= rules.least_gain:
                    leaf.gain /= unit
                    dropped = wait(child, n_waiting, n_wanted, place)
            if dropped == NONE:
                n_waiting += 1
            else:
                n_free = release(dropped, n_free, place)
        if n_waiting == 0:
            break
        n_waiting -= 1
        slot, new = place.waiting[n_waiting], n_leaves
        n_leaves += 1
        leaf = place.leaves[slot]
        split[new - 1], column[new - 1] = leaf.node, leaf.column
        left_slot, used = divide(slot, new, leaf.left, used, table.columns, place)
        sum_members(new, points, rules, place, sums[new], of_classes, of_values)
        for v in range(n_channels):
            sums[slot, v] -= sums[new, v]
            total[2 * new - 1, v] = sums[left_slot, v]
            total[2 * new, v] = sums[slot + new - left_slot, v]
    return n_leaves
