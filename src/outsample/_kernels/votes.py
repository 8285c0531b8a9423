"""Votes of nearest neighbours: lists of neighbours in, predictions and error counts for every k out.

The lists hold, for each queried row, its neighbours from near to far: `neighbours` (rows, depth) int32, and the weights
of their votes `shares` (rows, depth) float64, ones for a uniform vote. `ks` (models,) int64 are the values of k in
ascending order, and `slots` (models,) their places in the output. Callers guarantee 1 ≤ k ≤ depth and valid rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import INNER, LENT, OPTIONS, lane, pack


@njit(**OPTIONS)
def order_ties(distances, neighbours):
    """Put neighbours at exactly the same distance in order of their row number, in place."""
    for i in range(distances.shape[0]):
        for j in range(1, distances.shape[1]):
            row, at = neighbours[i, j], j
            while at > 0 and distances[i, at - 1] == distances[i, j] and neighbours[i, at - 1] > row:
                neighbours[i, at] = neighbours[i, at - 1]
                at -= 1
            neighbours[i, at] = row


@njit(**OPTIONS)
def drop_same_fold(neighbours, distances, folds, own, kept_neighbours, kept_distances):
    """Copy the nearest neighbours of each row outside its fold `own[i]`; returns how many were found, (rows,)."""
    rows, depth = neighbours.shape
    wanted = kept_neighbours.shape[1]
    found = np.zeros(rows, np.int64)
    for i in range(rows):
        count = 0
        for j in range(depth):
            if count == wanted:
                break
            if folds[neighbours[i, j]] != own[i]:
                kept_neighbours[i, count] = neighbours[i, j]
                kept_distances[i, count] = distances[i, j]
                count += 1
        found[i] = count
    return found


@njit(**INNER)
def _row_classes(neighbours, shares, ks, codes, votes, winners):
    """Write the winning class of one row at every k into `winners`; ties go to the lowest class."""
    votes[:] = 0.0
    best, q = 0, 0
    for j in range(ks[-1]):
        code = codes[neighbours[j]]
        votes[code] += shares[j]
        if votes[code] > votes[best] or (votes[code] == votes[best] and code < best):
            best = code
        while q < len(ks) and ks[q] == j + 1:
            winners[q] = best
            q += 1


@njit(**OPTIONS)
def predicted_classes(neighbours, shares, ks, slots, codes, n_classes, out):
    """Write the winning classes, out (models, rows)."""
    votes = np.zeros(n_classes)
    winners = np.zeros(len(ks), np.int64)
    for i in range(len(neighbours)):
        _row_classes(neighbours[i], shares[i], ks, codes, votes, winners)
        for q in range(len(ks)):
            out[slots[q], i] = winners[q]


@njit(**OPTIONS)
def confusion_counts(neighbours, shares, ks, slots, Y, row_weight, out):
    """Add the weight of each (label, winning class) pair to out (draws, models, K, K)."""
    winners = np.zeros(len(ks), np.int64)
    votes = np.zeros(out.shape[2])
    for d in range(len(Y)):
        for i in range(len(neighbours)):
            _row_classes(neighbours[i], shares[i], ks, Y[d], votes, winners)
            for q in range(len(ks)):
                out[d, slots[q], Y[d, i], winners[q]] += row_weight[i]


@njit(**LENT)
def two_class_counts(neighbours, ks, Y, bits, words, raised, tally, out):
    """Count rows that a uniform vote gives label 1, and those among them that have it: out (2, models, draws).

    Y is (draws, n) uint8 of labels 0 and 1. All draws vote at once, in lanes of `bits` bits, at least one more than k
    takes. A constant per k (`raised`) is added to the votes such that the highest bit of a lane becomes 1 if and only
    if more than half of the neighbours vote for 1.

    words, raised, tally : uint64 memory for labels (n,) and for the constants (models,), and zeros (2, models)
    """
    pack(Y, bits, words)
    highest, full, ones = np.uint64(bits - 1), (1 << bits) - 1, np.uint64(0)
    for draw in range(len(Y)):
        ones |= np.uint64(1) << np.uint64(draw * bits)
    for q in range(len(ks)):
        raised[q] = ones * np.uint64(full // 2 - ks[q] // 2)
    for i in range(len(neighbours)):
        votes, own, j = np.uint64(0), words[i], 0
        for q in range(len(ks)):
            while j < ks[q]:
                votes += words[np.uint32(neighbours[i, np.uint32(j)])]
                j += 1
            winners = (votes + raised[q]) >> highest & ones
            tally[0, q] += winners
            tally[1, q] += winners & own
        if (i + 1) % full == 0 or i + 1 == len(neighbours):
            for row in range(2):
                for q in range(len(ks)):
                    for draw in range(len(Y)):
                        out[row, q, draw] += lane(tally[row, q], draw, bits)
                    tally[row, q] = np.uint64(0)


@njit(**OPTIONS)
def class_shares(neighbours, shares, ks, slots, codes, out):
    """Write the share of the votes of each class, out (models, rows, K)."""
    n_classes = out.shape[2]
    votes = np.zeros(n_classes)
    for i in range(len(neighbours)):
        votes[:] = 0.0
        q = 0
        for j in range(ks[-1]):
            votes[codes[neighbours[i, j]]] += shares[i, j]
            while q < len(ks) and ks[q] == j + 1:
                total = votes.sum()
                for c in range(n_classes):
                    out[slots[q], i, c] = votes[c] / total
                q += 1


@njit(**INNER)
def _row_means(neighbours, shares, ks, values, means):
    """Write the weighted mean of the neighbours' values of one row at every k into `means`."""
    total, weight = 0.0, 0.0
    q = 0
    for j in range(ks[-1]):
        total += shares[j] * values[neighbours[j]]
        weight += shares[j]
        while q < len(ks) and ks[q] == j + 1:
            means[q] = total / weight
            q += 1


@njit(**OPTIONS)
def predicted_values(neighbours, shares, ks, slots, values, out):
    """Write the means of the neighbours' values, out (models, rows)."""
    means = np.zeros(len(ks))
    for i in range(len(neighbours)):
        _row_means(neighbours[i], shares[i], ks, values, means)
        for q in range(len(ks)):
            out[slots[q], i] = means[q]


@njit(**OPTIONS)
def value_moments(neighbours, shares, ks, slots, Y, center, row_weight, out):
    """Add weighted (y − prediction)² and (prediction − center)² to out (draws, models, 2)."""
    means = np.zeros(len(ks))
    for d in range(len(Y)):
        for i in range(len(neighbours)):
            _row_means(neighbours[i], shares[i], ks, Y[d], means)
            for q in range(len(ks)):
                out[d, slots[q], 0] += row_weight[i] * (Y[d, i] - means[q]) ** 2
                out[d, slots[q], 1] += row_weight[i] * (means[q] - center) ** 2


def warmup() -> None:
    """Compile every kernel, or load it from disk."""
    neighbours = np.zeros((1, 1), np.int32)
    shares = np.ones((1, 1))
    one = np.ones(1, np.int64)
    codes = np.zeros((1, 1), np.int64)
    order_ties(shares, neighbours)
    drop_same_fold(neighbours, shares, one, one, neighbours.copy(), shares.copy())
    lists = (neighbours, shares, one, one - 1)
    predicted_classes(*lists, codes[0], 2, np.zeros((1, 1), np.int64))
    confusion_counts(*lists, codes, np.ones(1), np.zeros((1, 1, 2, 2)))
    words, tally = np.zeros(1, np.uint64), np.zeros((2, 1), np.uint64)
    two_class_counts(neighbours, one, np.ones((1, 1), np.uint8), 8, words, words, tally, np.zeros((2, 1, 1), np.int64))
    class_shares(*lists, codes[0], np.zeros((1, 1, 2)))
    predicted_values(*lists, np.ones(1), np.zeros((1, 1)))
    value_moments(*lists, np.ones((1, 1)), 0.0, np.ones(1), np.zeros((1, 1, 2)))
