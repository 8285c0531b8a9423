"""Best-first trees that split next the leaf of largest information gain per row of its own, and their path.

scikit-learn weighs the gain of a leaf by its size, so that large leaves are split first. Magdon-Ismail & Mertsalov
(§4.1) split "the node which produces the maximum information gain over all leaf node splits"; here both readings are
options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from outsample.checks import is_integer, one_of, whole_number
from outsample.data.samples import as_weight
from outsample.data.tables import Table, n_rows
from outsample.paths.base import Abilities, Design, GridPath
from outsample.paths.trees.cuts import NodeTable, confusions_of, nearest_kept
from outsample.paths.trees.growth import Grower, Growth, Stopping
from outsample.running.arrays import Array, Floats, Integers
from outsample.running.threads import cached_property

GAINS = ("node", "total")
CRITERIA = ("entropy", "gini")


class BestFirstTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree that splits one leaf after the other, the one of largest gain first.

    Trees are nested: that of s leaves is the first s − 1 splits of any larger one, so that a search over
    `max_leaf_nodes` grows one tree per label vector. Ties go to the lower column, then the lower threshold, then the
    older leaf; nothing is drawn at random.

    Parameters
    ----------
    max_leaf_nodes : number of leaves at which growth stops.
    criterion : "entropy" or "gini".
    gain : which leaf is split next: "node", of the largest decrease of its own impurity, or "total", of the largest
        decrease times its weight, as in scikit-learn's `DecisionTreeClassifier(max_leaf_nodes=…)`.
    min_samples_leaf : least number of rows in a leaf.

    Attributes
    ----------
    classes_ : (K,)
    split_, column_, threshold_ : (leaves − 1,) split j turned node split_[j] into nodes 2j + 1, where column column_[j]
        is at most threshold_[j], and 2j + 2.
    weight_ : (nodes, K) weight of each class in every node.
    n_leaves_ : number of leaves grown.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = BestFirstTreeClassifier(3).fit(X, y)
    >>> tree.column_.tolist(), round(tree.score(X, y), 2)
    ([2, 3], 0.96)
    """

    def __init__(
        self, max_leaf_nodes: int = 8, *, criterion: str = "entropy", gain: str = "node", min_samples_leaf: int = 1
    ) -> None:
        self.max_leaf_nodes, self.criterion, self.gain = max_leaf_nodes, criterion, gain
        self.min_samples_leaf = min_samples_leaf

    def fit(self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree."""
        table, labels = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        weight = as_weight(sample_weight, len(table))
        if weight is not None:
            counted = weight > 0
            table, codes, weight = table[counted], codes[counted], weight[counted]
        grown = _Grown.on(table, codes, _grower(self, table, len(self.classes_), weight))
        self.split_, self.column_, self.threshold_ = grown.growth.split, grown.growth.column, grown.thresholds
        self.weight_ = grown.growth.sums
        self.n_leaves_ = len(self.split_) + 1
        return self

    def apply(self, X: Table) -> NDArray[np.intp]:
        """The node of the leaf that each row ends in, (n,)."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float32, reset=False)
        return _leaves(table, self.split_, self.column_, self.threshold_)

    def predict_proba(self, X: Table) -> Floats:
        """Shares of the classes in the leaf of each row, (n, K)."""
        leaves = self.apply(X)
        weight = self.weight_[leaves]
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def predict(self, X: Table) -> Array:
        """The most frequent class of the leaf of each row, the first of equals."""
        leaves = self.apply(X)
        return np.asarray(self.classes_[self.weight_[leaves].argmax(axis=1)])


@dataclass(frozen=True, eq=False)
class _Grown:
    """A tree and the thresholds of its splits."""

    growth: Growth
    thresholds: Floats

    @staticmethod
    def on(table: NDArray[np.float32], y: Array, grower: Grower) -> _Grown:
        from outsample._kernels.trees.leaves import thresholds_of

        (growth,) = grower.grow(np.asarray(y)[None], with_leaves=True)
        if len(growth.split) == 0:
            return _Grown(growth, np.empty(0))
        return _Grown(growth, thresholds_of(table, growth.split, growth.column, growth.leaf))


def _grower(estimator: Any, table: NDArray[np.float32], n_classes: int, weight: Floats | None) -> Grower:
    """What grows the trees of an estimator on this table, after checking its parameters."""
    one_of("criterion", estimator.criterion, CRITERIA)
    per_node = one_of("gain", estimator.gain, GAINS) == "node"
    least = whole_number("min_samples_leaf", estimator.min_samples_leaf)
    leaves = whole_number("max_leaf_nodes", estimator.max_leaf_nodes)
    stopping = Stopping(
        max_leaves=max(1, min(leaves, len(table) // least)),
        max_depth=np.iinfo(np.int32).max,
        min_split=2 * least,
        min_leaf=least,
        min_decrease=0.0,
    )
    # A single class leaves nothing to split; the kernels count two.
    return Grower(np.ascontiguousarray(table), estimator.criterion, stopping, max(n_classes, 2), weight, per_node)


def _leaves(table: NDArray[np.float32], split: Integers, column: Integers, threshold: Floats) -> NDArray[np.intp]:
    """The node that each row ends in, (n,)."""
    node = np.zeros(len(table), dtype=np.intp)
    for j, parent in enumerate(split):
        inside = np.flatnonzero(node == parent)
        below = table[inside, column[j]].astype(np.float64) <= threshold[j]
        node[inside] = np.where(below, 2 * j + 1, 2 * j + 2)
    return node


class BestFirstPath(GridPath):
    """`BestFirstTreeClassifier` along `max_leaf_nodes`: one growth per label vector holds every smaller tree."""

    responses = frozenset({"predict", "predict_proba"})
    from_one_fit = True

    @classmethod
    def accepts(cls, value: object) -> bool:
        return is_integer(value, 1)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        assert classes is not None
        return BestFirstDesign(self, X, classes, weight)


class BestFirstDesign(Design):
    """Trees of all sizes on one X, which is sorted once."""

    def __init__(self, path: BestFirstPath, X: Table, classes: Array, weight: Floats | None) -> None:
        self._path, self._X = path, X
        self.classes, self.weight = classes, weight
        self.n_samples, self.n_models = n_rows(X), len(path)
        self._sizes = np.array(path.values, dtype=np.intp)

    @property
    def abilities(self) -> Abilities:
        return Abilities(batched=True, sums=frozenset({"confusion"}))

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(check_array(self._X, dtype=np.float32))

    @cached_property
    def _grower(self) -> Grower:
        largest = {self._path.parameter: int(self._sizes[-1])}
        estimator = type(self._path.estimator)(**(self._path.estimator.get_params() | largest))
        return _grower(estimator, self._table, self._n_classes, self.weight)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        answers = []
        for growth in self._grower.grow(Y, with_leaves=True):
            nodes = self._nodes(growth, response)
            answers.append(nodes.answer[nearest_kept(nodes.parent, self._kept(nodes))[:, growth.leaf]])
        return np.stack(answers)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        grown = _Grown.on(self._table, y, self._grower)
        nodes = self._nodes(grown.growth, response)
        new = check_array(X_new, dtype=np.float32)
        leaf = _leaves(new, grown.growth.split, grown.growth.column, grown.thresholds)
        return np.asarray(nodes.answer[nearest_kept(nodes.parent, self._kept(nodes))[:, leaf]])

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        tables = (self._nodes(growth, "predict") for growth in self._grower.grow(Y))
        return np.stack([confusions_of(nodes, self._kept(nodes)) for nodes in tables])

    def _kept(self, nodes: NodeTable) -> NDArray[np.bool_]:
        return np.asarray(np.arange(len(nodes.parent)) < 2 * self._sizes[:, None] - 1)

    def _nodes(self, growth: Growth, response: str) -> NodeTable:
        parent = np.zeros(len(growth.mass), np.intp)
        parent[1::2] = parent[2::2] = growth.split
        shares = growth.sums / growth.mass[:, None]
        answer = np.argmax(growth.sums, axis=1) if response == "predict" else shares
        return NodeTable(parent, answer, growth.mass, growth.sums)
