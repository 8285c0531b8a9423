"""One tree, cut back in many ways: nested models share its nodes.

`kept` (models, nodes) tells which nodes exist in which model. Siblings are kept together and a node only with its
parent, so every sample belongs to the nearest kept ancestor of its leaf. Parents have smaller numbers than children.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from outsample.data.learners import FitError, encode, fit, seeded
from outsample.data.tables import Table
from outsample.running.arrays import Array, Floats

Kept = NDArray[np.bool_]


@dataclass(frozen=True)
class NodeTable:
    """The nodes of a tree: what each predicts, and the labels of the samples in it.

    Attributes
    ----------
    parent : (nodes,); the root is its own.
    answer : (nodes,) predicted codes or values, or (nodes, K or outputs)
    mass : (nodes,) weight of the samples
    sums : (nodes, K) weight of each class, or (nodes, 1) weighted sum of y − `center`
    center, squares : origin of the sums, and the weighted sum of (y − `center`)²
    risk : (nodes,) weighted impurity, where scikit-learn fitted the tree
    """

    parent: NDArray[np.intp]
    answer: Array
    mass: Floats
    sums: Floats
    center: float = 0.0
    squares: float = 0.0
    risk: Floats | None = None


def levels(parent: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """The nodes at depth 1, 2, …"""
    depth = depths(parent)
    order = np.argsort(depth, kind="stable")
    ends = np.cumsum(np.bincount(depth))
    for start, end in pairwise(ends):
        yield order[start:end]


def depths(parent: NDArray[np.intp]) -> NDArray[np.intp]:
    """Depth of every node."""
    depth = np.zeros(len(parent), np.intp)
    climbing = np.arange(len(parent))
    while climbing.any():
        depth += climbing > 0
        climbing = parent[climbing]
    return depth


def nearest_kept(parent: NDArray[np.intp], kept: Kept) -> NDArray[np.intp]:
    """The nearest kept ancestor of each node of the whole tree, or the node itself, in each model, (models, nodes)."""
    nearest = np.zeros(kept.shape, np.intp)
    for level in levels(parent):
        nearest[:, level] = np.where(kept[:, level], level, nearest[:, parent[level]])
    return nearest


def leaves_of(parent: NDArray[np.intp], kept: Kept) -> Kept:
    """Which nodes are leaves of which model, (models, nodes)."""
    inner = np.zeros(kept.shape, np.bool_)
    inner[:, parent[1:]] = kept[:, 1:]
    return kept & ~inner


def confusions_of(nodes: NodeTable, kept: Kept) -> Floats:
    """Shares of (label, prediction) of each model, (models, K, K), from the nodes alone."""
    n_classes = nodes.sums.shape[1]
    leaves = leaves_of(nodes.parent, kept).astype(np.float64)
    shares = np.zeros((len(kept), n_classes, n_classes))
    # Class by class: all classes at once would take nodes × classes² numbers.
    for c in np.unique(nodes.answer):
        own = np.flatnonzero(nodes.answer == c)
        shares[:, :, c] = leaves[:, own] @ nodes.sums[own]
    return np.asarray(shares / nodes.mass[0])


def moments_of(nodes: NodeTable, kept: Kept, center: float) -> Floats:
    """Means of (y − ĝ)² and (ĝ − center)² of each model, (models, 2)."""
    off = nodes.answer - nodes.center
    explained = off * (2.0 * nodes.sums[:, 0] - off * nodes.mass)
    around_center = nodes.mass * (nodes.answer - center) ** 2
    leaves = leaves_of(nodes.parent, kept).astype(np.float64)
    totals = leaves @ np.stack([explained, around_center], axis=1)
    totals[:, 0] = np.maximum(nodes.squares - totals[:, 0], 0.0)
    return np.asarray(totals / nodes.mass[0])


class FittedTree:
    """One scikit-learn tree, fitted to labels and then cut back.

    Parameters
    ----------
    estimator : the prototype with every parameter set
    X, y : training data, y as codes where `classes` is given
    classes, weight : as in `Path.bind`
    seed : for the random state, if it is not set
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        X: Table,
        y: Array,
        classes: Array | None,
        weight: Floats | None,
        seed: int | None,
    ) -> None:
        self._classes, self._weight, self._y = classes, weight, y
        self._model = with_integer_seed(estimator, seed)
        try:
            fit(self._model, X, y if classes is None else classes[y], weight)
        except Exception as error:
            raise FitError(f"{type(estimator).__name__} could not be fitted: {error}") from error
        self.tree = self._model.tree_
        self.parent = np.zeros(self.tree.node_count, np.intp)
        for children in (self.tree.children_left, self.tree.children_right):
            inner = np.flatnonzero(children >= 0)
            self.parent[children[inner]] = inner

    def leaf(self, X: Table) -> NDArray[np.intp]:
        """The node each row of X ends in."""
        return np.asarray(self._model.apply(X), np.intp)

    def answers(self, response: str) -> Array:
        """What each node predicts, (nodes[, K or outputs])."""
        values = self.tree.value
        if self._classes is None:
            return np.asarray(values[:, 0, 0] if values.shape[1] == 1 else values[:, :, 0])
        seen = encode(np.asarray(self._model.classes_), self._classes)
        if response == "predict":
            return np.asarray(seen[np.argmax(values[:, 0, :], axis=1)])
        shares = np.zeros((len(values), len(self._classes)))
        shares[:, seen] = values[:, 0, : len(seen)]
        return shares

    def nodes(self, response: str = "predict") -> NodeTable:
        """Table of the nodes, without the sums of labels."""
        held = self.tree.weighted_n_node_samples
        risk = held * self.tree.impurity / held[0]
        return NodeTable(self.parent, self.answers(response), np.empty(0), np.empty((0, 0)), risk=risk)

    def summed_nodes(self, X: Table) -> NodeTable:
        """Table of the nodes, with the sums of the training labels."""
        leaf, n_nodes = self.leaf(X), len(self.parent)
        weight = np.ones(len(leaf)) if self._weight is None else self._weight
        center, squares = 0.0, 0.0
        if self._classes is None:
            center = float(np.mean(self._y))
            squares = float(weight @ (self._y - center) ** 2)
            sums = np.bincount(leaf, weight * (self._y - center), n_nodes).astype(np.float64)[:, None]
        else:
            cells = leaf * len(self._classes) + self._y
            counted = np.bincount(cells, weight, n_nodes * len(self._classes))
            sums = counted.reshape(n_nodes, -1).astype(np.float64)
        mass = np.bincount(leaf, weight, n_nodes).astype(np.float64)
        for level in reversed(list(levels(self.parent))):
            np.add.at(sums, self.parent[level], sums[level])
            np.add.at(mass, self.parent[level], mass[level])
        return replace(self.nodes(), mass=mass, sums=sums, center=center, squares=squares)


def with_integer_seed(estimator: BaseEstimator, seed: int | None) -> Any:
    """A clone whose random state is an integer, so that one fit stands for all the models nested in it."""
    model = seeded(estimator, seed)
    state = model.random_state
    if not isinstance(state, int | np.integer):
        # The clone holds a copy of a generator the user passed: drawing from it leaves the original alone.
        model.set_params(random_state=int(check_random_state(state).randint(np.iinfo(np.int32).max)))
    return model
