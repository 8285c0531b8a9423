"""New rows through a tree cut back to every size: the first 2s − 1 nodes are the tree of s leaves."""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import OPTIONS


@njit(**OPTIONS)
def thresholds_of(X, split, column, leaf):
    """Midpoint between the two sides of every split among the samples it was made on, (splits,) float64."""
    lowest = np.full(split.size, np.inf)
    highest = np.full(split.size, -np.inf)
    for i in range(X.shape[0]):
        node = np.int64(leaf[i])
        while node > 0:
            j = (node - 1) // 2
            value = np.float64(X[i, column[j]])
            if node % 2 == 1:
                highest[j] = max(highest[j], value)
            else:
                lowest[j] = min(lowest[j], value)
            node = split[j]
    return 0.5 * (lowest + highest)


@njit(**OPTIONS)
def wrong_answers(X, split, column, leaf, answers, X_new, y_new, wrong):
    """Add to wrong (sizes,) the number of new rows that the tree of 1, 2, … leaves gets wrong.

    A tree that stopped growing early answers for all larger sizes.

    Parameters
    ----------
    X : (n, d) float32 the samples the tree was grown on; leaf (n,) the node each ends in
    split, column : (leaves − 1,) the node and the column of each split, in the order of growth
    answers : (nodes,) class of each node
    X_new, y_new : (m, d) float32, (m,)
    """
    thresholds = thresholds_of(X, split, column, leaf)
    children = np.full(answers.size, -1, np.int64)
    for j in range(split.size):
        children[split[j]] = 2 * j + 1
    for i in range(X_new.shape[0]):
        node, size = np.int64(0), 1
        while True:
            following = children[node]
            # A node answers from the size that made it until the size that splits it.
            until = (following - 1) // 2 + 1 if following >= 0 else wrong.size
            if answers[node] != y_new[i]:
                for s in range(size - 1, min(until, wrong.size)):
                    wrong[s] += 1
            if following < 0 or until >= wrong.size:
                break
            j = (following - 1) // 2
            node = following if np.float64(X_new[i, column[j]]) <= thresholds[j] else following + 1
            size = until + 1


def warmup() -> None:
    """Compile the kernel, or load it from disk."""
    X = np.array([[0.0], [1.0]], np.float32)
    tree = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([1, 2], np.int32), np.array([0, 0, 1])
    wrong_answers(X, *tree, X, np.array([0, 1]), np.zeros(3, np.int64))
