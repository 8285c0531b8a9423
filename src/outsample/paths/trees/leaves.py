"""Decision trees by number of leaves: best-first growth is nested, so one growth holds every smaller tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_array

from outsample.data.tables import Table, n_rows
from outsample.paths.base import Design, Path
from outsample.paths.order import complexity_of, is_whole, simplest_first
from outsample.paths.trees.cuts import FittedTree, Kept, NodeTable, confusions_of, moments_of, nearest_kept
from outsample.paths.trees.growth import Grower, Growth, Stopping
from outsample.running.arrays import Array, Floats

_GROWN_HERE = {
    DecisionTreeClassifier: frozenset({"gini", "entropy", "log_loss"}),
    DecisionTreeRegressor: frozenset({"squared_error"}),
}


# Mean over standard deviation of labels from which on scikit-learn's gains, differences of sums of squares, lose the
# digits that tell one split from another: full trees agree at 1e4, and a seventh of them no longer do at 1e5.
_FAR = 1e4


def far_from_zero(y: Array) -> bool:
    """Whether scikit-learn's trees lose digits on these real labels, so that only its own fit tells its splits."""
    return bool(abs(np.mean(y)) > _FAR * np.std(y))


def is_tree(estimator: BaseEstimator) -> bool:
    """Whether this is exactly one of scikit-learn's two decision trees."""
    return type(estimator) in _GROWN_HERE


def is_grown_here(estimator: BaseEstimator) -> bool:
    """Whether `Grower` knows every option that is set; otherwise scikit-learn fits the tree."""
    return (
        is_tree(estimator)
        and isinstance(estimator.criterion, str)
        and estimator.criterion in _GROWN_HERE[type(estimator)]
        and estimator.splitter == "best"
        and estimator.max_features is None
        and estimator.min_weight_fraction_leaf == 0.0
        and estimator.monotonic_cst is None
        and getattr(estimator, "class_weight", None) is None
    )


class TreePath(Path):
    """`DecisionTreeClassifier` and `DecisionTreeRegressor` along `max_leaf_nodes`.

    In-sample predictions come from an exact growth on presorted X, which makes the splits scikit-learn makes.
    Labels so far from zero that scikit-learn's sums of squares lose their digits are fitted by scikit-learn: what is
    judged is the tree it grows, even where it no longer finds the splits; subtract the mean from such labels.
    Where splits gain equally, scikit-learn lets its random state decide; here a fixed rule does: the lower column,
    then the lower threshold; of leaves with equal gains the older one is split first. Options the growth does not
    know (`max_features`, `splitter="random"`, `class_weight`, other criteria, missing values, sparse X, …) and
    predictions on new X take one fit of scikit-learn's largest tree, cut back in the order in which its nodes were
    made.
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        if not is_tree(estimator) or estimator.ccp_alpha != 0.0:
            return None
        if parameter is None and estimator.max_leaf_nodes is None:
            return None
        return "max_leaf_nodes" if parameter in (None, "max_leaf_nodes") else None

    @classmethod
    def accepts(cls, estimator: BaseEstimator, values: Sequence[Any]) -> bool:
        """Numbers of leaves only: without a limit scikit-learn grows in another order, so ties differ."""
        return all(is_whole(v, 2) for v in values)

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity, _ = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator = estimator
        self.params = tuple({parameter: int(values[i])} for i in order)
        self.complexity = complexity[order]
        self.sizes = self.complexity.astype(np.intp)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        largest = int(self.sizes[-1])
        whole = clone(self.estimator).set_params(max_leaf_nodes=largest)
        return CutTreeDesign(self, whole, largest, X, classes, weight)

    def kept(self, nodes: NodeTable) -> Kept:
        """Nodes are numbered in the order of growth: s leaves are the first 2s − 1 nodes."""
        kept: Kept = np.arange(len(nodes.parent)) < 2 * self.sizes[:, None] - 1
        return kept


class CutTreeDesign(Design):
    """One tree per label vector, cut back to every model of a path; X is sorted at the first growth.

    Parameters
    ----------
    path : has `kept(nodes)`
    whole : the estimator whose tree holds all models
    max_leaves : leaves to grow; 0 leaves all trees to scikit-learn
    """

    def __init__(
        self, path: Any, whole: Any, max_leaves: int, X: Table, classes: Array | None, weight: Floats | None
    ) -> None:
        self._path, self._whole, self._max_leaves, self._X = path, whole, max_leaves, X
        self.classes, self.weight = classes, weight
        self.n_samples, self.n_models = n_rows(X), len(path)
        positive = weight is None or bool((np.asarray(weight) > 0).all())
        self._may_grow = max_leaves > 0 and is_grown_here(whole) and positive and not sparse.issparse(X)
        self.batched = self._may_grow
        self._grower: Grower | None = None

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        answers = []
        for nodes, leaf in self._trees(Y, response, seeds, with_leaves=True):
            nearest = nearest_kept(nodes.parent, self._path.kept(nodes))
            answers.append(nodes.answer[nearest[:, leaf]])
        return np.stack(answers)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        tree = FittedTree(self._whole, self._X, y, self.classes, self.weight, seed)
        nearest = nearest_kept(tree.parent, self._path.kept(tree.nodes()))
        return np.asarray(tree.answers(response)[nearest[:, tree.leaf(X_new)]])

    @property
    def streams(self) -> bool:
        return self._prepared() is not None

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        if self.classes is None:
            raise TypeError("confusions need a classifier, this design was bound for regression")
        trees = self._trees(Y, "predict", seeds)
        return np.stack([confusions_of(nodes, self._path.kept(nodes)) for nodes, _ in trees])

    def moments(self, Y: Any, center: float, seeds: Sequence[int] | None = None) -> Floats:
        if Y.ndim > 2:
            return super().moments(Y, center, seeds)
        trees = self._trees(Y, "predict", seeds)
        return np.stack([moments_of(nodes, self._path.kept(nodes), center) for nodes, _ in trees])

    def _trees(
        self, Y: Any, response: str, seeds: Sequence[int] | None, with_leaves: bool = False
    ) -> Iterator[tuple[NodeTable, NDArray[Any]]]:
        """(nodes, leaf of each sample) of the tree of each label vector; without leaves the sums are there."""
        grower = self._grower_for(Y)
        if grower is not None:
            for growth in grower.grow(Y, with_leaves):
                yield self._node_table(growth, response), growth.leaf
            return
        for d, y in enumerate(Y):
            tree = FittedTree(self._whole, self._X, y, self.classes, self.weight, None if seeds is None else seeds[d])
            if with_leaves:
                yield tree.nodes(response), tree.leaf(self._X)
            else:
                yield tree.summed_nodes(self._X), np.empty(0, np.intp)

    def _grower_for(self, Y: Any) -> Grower | None:
        """What grows the trees of these labels; None when scikit-learn must fit them."""
        if Y.ndim > 2 or (self.classes is None and far_from_zero(Y[0])):
            return None
        return self._prepared()

    def _prepared(self) -> Grower | None:
        """X sorted, once; None when scikit-learn must fit the trees (missing values among the reasons)."""
        if self._grower is None and self._may_grow:
            table = check_array(self._X, dtype=np.float32, ensure_all_finite=False)
            self._may_grow = bool(np.isfinite(table).all())
            if self._may_grow:
                n_classes = 0 if self.classes is None else len(self.classes)
                stopping = Stopping.of(self._whole, self.n_samples, self._max_leaves)
                self._grower = Grower(table, self._whole.criterion, stopping, n_classes, self.weight)
        return self._grower

    def _node_table(self, growth: Growth, response: str) -> NodeTable:
        parent = np.zeros(len(growth.mass), np.intp)
        parent[1::2] = parent[2::2] = growth.split
        if self.classes is None:
            answer = growth.center + growth.sums[:, 0] / growth.mass
        elif response == "predict":
            answer = np.argmax(growth.sums, axis=1)
        else:
            answer = growth.sums / growth.mass[:, None]
        return NodeTable(parent, answer, growth.mass, growth.sums, growth.center, growth.squares)
