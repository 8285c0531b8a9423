"""What bins and groups of bins of a two-class node may hide, many at a time.

Between two edges the left side goes from (size, ones) to (size, ones), sample by sample: it stays inside the
parallelogram whose other two corners meet all ones first, or all zeros first. A gain is convex in (size, ones), so
nothing inside gains more than the best corner does.

Edges of groups are listed column after column, each column with the edge before its first bin: group e lies between
edges e − 1 and e. The loops have no branches, so that the compiler does several edges at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from .options import LENT_INNER
from .trees_rules import LOW_HALF, SHIFT


class Node(NamedTuple):
    """A node that is searched, as floats.

    Attributes
    ----------
    mass, ones : its samples, and those of class 1
    scale : distance² / (scale · left · right) is at least the gain
    rare, flat : for entropy the samples of the rarer class and 0, else 0 and 1; see `exceeds`
    """

    mass: float
    ones: float
    scale: float
    rare: float
    flat: float


@njit(**LENT_INNER)
def node_of(total, entropy):
    """The node with these packed sums."""
    mass, ones = float(total >> SHIFT), float(total & LOW_HALF)
    if entropy:
        return Node(mass, ones, ones * (1.0 - ones / mass), min(ones, mass - ones), 0.0)
    return Node(mass, ones, mass, 0.0, 1.0)


@njit(**LENT_INNER)
def distance_and_room(left, ones_left, node):
    """(distance of a left side from the node's mean, times mass; product of the masses; unit of the distance)."""
    right = node.mass - left
    distance = abs(node.mass * ones_left - left * node.ones)
    return distance, left * right, (left if left < right else right) * node.rare + node.flat


@njit(**LENT_INNER)
def exceeds(left, ones_left, level, node):
    """Whether the gain of a left side may exceed level / scale.

    Entropy gains about half of the chi-square where that is small: (1 + t) ln(1 + t) − t ≤ t²/2 · (1 + 2|t|/3) for
    t ≥ −1/2, where |t| is at most distance / unit. Gini's gain is the chi-square: there the unit is below any distance.
    """
    distance, room, unit = distance_and_room(left, ones_left, node)
    about_half = 0.5 * unit + 0.335 * distance
    return (about_half if distance < 0.5 * unit else unit) * distance * distance > level * room * unit


@njit(**LENT_INNER)
def room_and_share(left, level, node):
    """(product of the masses; share of its chi-square that a left side gains at most, 1 if there is no closer bound).

    Follows from `exceeds`, for gains up to level / scale.
    """
    _, room, unit = distance_and_room(left, 0.0, node)
    about = np.sqrt(2.0 * level * room)
    return room, 0.5 + 0.335 * about / unit if about < 0.5 * unit else 1.0


@njit(**LENT_INNER)
def allowance(before, after, level, node):
    """(distance allowed at the first edge, its growth per sample): a left side within it gains at most level / scale.

    What is allowed is a concave function of the size, as long as the share does not jump to 1, so between two edges
    it lies above the straight line.
    """
    if not level > 0.0:
        return np.int64(-1), np.int64(0)
    first, last = float(before >> SHIFT), float(after >> SHIFT)
    first_room, first_share = room_and_share(first, level, node)
    last_room, last_share = room_and_share(last, level, node)
    if max(first_share, last_share) == 1.0:
        first_share, last_share = 1.0, 1.0
    at_first, at_last = np.sqrt(level * first_room / first_share), np.sqrt(level * last_room / last_share)
    growth = np.floor((at_last - at_first) / (last - first)) if last > first else 0.0
    return np.int64(at_first * (1.0 - 1e-12)), np.int64(growth)


@njit(**LENT_INNER)
def may_exceed(before, after, level, node):
    """Whether any gain from the one edge, excluded, to the other, included, may exceed level / scale."""
    left, ones_left = float(np.int32(before >> SHIFT)), float(np.int32(before & LOW_HALF))
    end, ones_end = float(np.int32(after >> SHIFT)), float(np.int32(after & LOW_HALF))
    ones = ones_end - ones_left
    return (
        exceeds(end, ones_end, level, node)
        | exceeds(left + ones, ones_end, level, node)
        | exceeds(end - ones, ones_left, level, node)
    )


@njit(**LENT_INNER)
def sum_groups(counts, step, offsets, lefts):
    """Sums left of the edge of every group of `step` bins; returns the number of edges."""
    e = 0
    for f in range(offsets.size - 1):
        running, first, end = np.int64(0), offsets[f], offsets[f + 1]
        lefts[np.uint32(e)] = running
        e += 1
        while first < end:
            # Nearly always: no loop for two.
            if step == 2 and first + 1 < end:
                running += counts[np.uint32(first)] + counts[np.uint32(first + 1)]
            else:
                for cell in range(first, min(first + step, end)):
                    running += counts[np.uint32(cell)]
            lefts[np.uint32(e)] = running
            first += step
            e += 1
    return e


@njit(**LENT_INNER)
def best_edge(lefts, node, size, min_leaf, worth):
    """The edge of the largest chi-square, −1 where none may be split at."""
    for e in range(lefts.size):
        left = float(np.int32(lefts[e] >> SHIFT))
        distance, room, _ = distance_and_room(left, float(np.int32(lefts[e] & LOW_HALF)), node)
        worth[e] = distance * distance / (room + 1e-300)
    best, most = -1, -1.0
    for e in range(lefts.size):
        if worth[e] > most:
            left = lefts[e] >> SHIFT
            if min(left, size - left) >= max(min_leaf, 1):
                best, most = e, worth[e]
    return best


@njit(**LENT_INNER)
def mark(befores, afters, level, node, marked):
    """Mark where a gain above level / scale may be found after the one edge, up to the other."""
    for e in range(befores.size):
        marked[e] = may_exceed(befores[e], afters[e], level, node)
