"""Scores of a ranking summed corner by corner, as scikit-learn does, so that every digit is its own.

Each sum has the terms of scikit-learn in its order. Rankings whose scores are equal as fractions then tie, or differ
by rounding, just as they do there, and so do ranks and the choice of a search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from outsample.losses.scorers.order import Order
from outsample.running.arrays import Array, Bools, Floats

Cornerwise = Callable[[Bools, Order], Floats]


def area(positive: Bools, order: Order) -> Floats:
    """Area under the ROC curve by trapezia, (sets,), of labels (n,) and scores (sets, n); each class must occur.

    The curve runs from the highest score downwards. Points on a straight line of equal steps are left out.
    """
    above, hits = _from_above(positive, order)
    kept = _corners(above, hits)
    misses = above - hits
    x, y = misses[kept] / misses[0, -1], hits[kept] / hits[0, -1]
    terms = np.diff(x) * (y[1:] + y[:-1]) / 2.0
    return _summed(terms, kept)


def precision(positive: Bools, order: Order) -> Floats:
    """Average precision, (sets,), of labels (n,) and scores (sets, n); each class must occur."""
    above, hits = (sums[:, ::-1] for sums in _from_above(positive, order))
    kept = above > 0
    kept[:, 1:] |= kept[:, :-1]
    rows, found = above[kept], hits[kept]
    terms = np.diff(found / hits[0, 0]) * (found / np.where(rows > 0, rows, 1.0))[:-1]
    return np.maximum(0.0, -_summed(terms, kept))


def _from_above(positive: Bools, order: Order) -> tuple[Floats, Floats]:
    """(rows, positive rows) with the highest 0, 1, … scores, (sets, groups + 1 each).

    Sets with fewer groups than the largest number of them begin with more than one zero.
    """
    amounts = np.ones(len(positive)), positive
    below = [order.running(amount).held.reshape(-1, order.n_groups + 1) for amount in amounts]
    rows, hits = ((sums[:, -1:] - sums)[:, ::-1] for sums in below)
    return rows, hits


def _corners(above: Floats, hits: Floats) -> Bools:
    """Which points of the curves are kept, (sets, groups + 1): the first, the next one, corners and the last."""
    kept: Bools = np.ones(above.shape, dtype=bool)
    kept[:, 1:-1] = (np.diff(above, 2) != 0) | (np.diff(hits, 2) != 0)
    first, every = np.count_nonzero(above == 0, axis=1) - 1, np.arange(len(above))
    kept[:, 0] = first == 0
    kept[every, first], kept[every, first + 1] = True, True
    return kept


def _summed(terms: Floats, kept: Bools) -> Floats:
    """The sum of the terms of each set, (sets,), which come between the points that are kept of it."""
    ends = np.cumsum(np.count_nonzero(kept, axis=1))
    starts = np.concatenate([[0], ends[:-1]])
    return np.array([terms[start : end - 1].sum() for start, end in zip(starts, ends, strict=True)])


def over_classes(score: Cornerwise, y: Array, shares: Array, weighted: bool) -> Floats:
    """The mean score of each class against all others, (sets,), of codes (n,) and scores (sets, n, classes).

    `weighted` by the number of labels of each class.
    """
    n_classes = shares.shape[-1]
    scores = [score(y == c, Order(np.ascontiguousarray(shares[..., c]))) for c in range(n_classes)]
    weight = np.bincount(y, minlength=n_classes) if weighted else None
    return np.asarray(np.average(np.stack(scores, axis=-1), axis=-1, weights=weight))


def over_pairs(score: Cornerwise, y: Array, shares: Array, weighted: bool) -> Floats:
    """The mean score of each class against each other one, (sets,), of codes (n,) and scores (sets, n, classes).

    `weighted` by the share of rows of the two classes.
    """
    scores, weights = [], []
    for a, b in zip(*np.triu_indices(shares.shape[-1], 1), strict=True):
        both = (y == a) | (y == b)
        one, other = (score(y[both] == c, Order(shares[:, both, c])) for c in (a, b))
        scores.append((one + other) / 2)
        weights.append(both.mean())
    return np.asarray(np.average(np.stack(scores, axis=-1), axis=-1, weights=weights if weighted else None))
