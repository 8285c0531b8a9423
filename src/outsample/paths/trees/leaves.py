"""Decision trees by number of leaves: best-first growth is nested, so one growth holds every smaller tree."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_array

from outsample.checks import is_integer
from outsample.data.tables import Table, n_rows
from outsample.losses.base import Groups
from outsample.paths.base import Abilities, Design, GridPath
from outsample.paths.trees.cuts import FittedTree, Kept, NodeTable, confusions_of, moments_of, nearest_kept
from outsample.paths.trees.growth import Grower, Growth, Stopping
from outsample.running.arrays import Array, Floats
from outsample.running.threads import cached_property

_GROWN_HERE = {
    DecisionTreeClassifier: frozenset({"gini", "entropy", "log_loss"}),
    DecisionTreeRegressor: frozenset({"squared_error"}),
}


# Ratio of the mean of the labels to their standard deviation above which scikit-learn's gains, differences of sums of
# squares, lose the digits that tell one split from another: all full trees agree at 1e4, six of seven at 1e5.
_FAR = 1e4


def far_from_zero(y: Array) -> bool:
    """Whether scikit-learn's trees lose digits on these real labels, so that its splits cannot be found here."""
    return bool(abs(np.mean(y)) > _FAR * np.std(y))


def is_grown_here(estimator: BaseEstimator) -> bool:
    """Whether `Grower` knows every option that a decision tree sets; otherwise scikit-learn fits the tree."""
    return (
        isinstance(estimator.criterion, str)
        and estimator.criterion in _GROWN_HERE[type(estimator)]
        and estimator.splitter == "best"
        and estimator.max_features is None
        and estimator.min_weight_fraction_leaf == 0.0
        and estimator.monotonic_cst is None
        and getattr(estimator, "class_weight", None) is None
    )


class TreePath(GridPath):
    """`DecisionTreeClassifier` and `DecisionTreeRegressor` along `max_leaf_nodes`.

    In-sample predictions come from trees grown here on presorted X, with the splits that scikit-learn makes. Where
    splits gain equally, scikit-learn decides by its random state, and here a fixed rule does: the lower column, then
    the lower threshold; of leaves with equal gains the older one is split first. Predictions on new X (unless
    `with_own_ties`) and options that are not known here (`max_features`, `splitter="random"`, `class_weight`, other
    criteria, missing values, sparse X, …) take one fit of scikit-learn's largest tree, cut back in the order in which
    its nodes were made. So do labels so far from zero that scikit-learn's sums of squares lose their digits: what is
    judged is the tree it grows, even where it no longer finds the best splits; subtract the mean from such labels.
    """

    responses = frozenset({"predict", "predict_proba"})
    from_one_fit = True
    same_digits = True
    _own_ties = False

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        return bool(estimator.ccp_alpha == 0.0)

    @classmethod
    def accepts(cls, value: object) -> bool:
        """Numbers of leaves only: without a limit scikit-learn grows in another order, so ties differ."""
        return is_integer(value, 2)

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[int]) -> None:
        super().__init__(estimator, parameter, [int(value) for value in values])
        self.sizes = np.array(self.values, dtype=np.intp)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        largest = int(self.sizes[-1])
        whole = clone(self.estimator).set_params(max_leaf_nodes=largest)
        return CutTreeDesign(self, whole, largest, X, classes, weight, self._own_ties)

    def with_own_ties(self) -> TreePath:
        path = copy(self)
        path._own_ties = True
        return path

    def kept(self, nodes: NodeTable) -> Kept:
        """Nodes are numbered in the order of growth: a tree of s leaves is the first 2s − 1 nodes."""
        kept: Kept = np.arange(len(nodes.parent)) < 2 * self.sizes[:, None] - 1
        return kept


def _single(X: Table) -> NDArray[np.float32]:
    """X as trees read it."""
    return np.asarray(check_array(X, dtype=np.float32, ensure_all_finite=False))


class NestedTrees(Protocol):
    """A path whose models are all cut back from one tree."""

    def __len__(self) -> int:
        """The number of models."""

    def kept(self, nodes: NodeTable) -> Kept:
        """Which nodes of the tree exist in which model, (models, nodes)."""


class CutTreeDesign(Design):
    """One tree per label vector, cut back to every model of a path; X is sorted at the first growth.

    Parameters
    ----------
    whole : the estimator whose tree holds all models
    max_leaves : leaves of the trees grown here; with 0 scikit-learn fits all trees
    own_ties : whether predictions on new X may come from trees grown here
    """

    def __init__(
        self,
        path: NestedTrees,
        whole: BaseEstimator,
        max_leaves: int,
        X: Table,
        classes: Array | None,
        weight: Floats | None,
        own_ties: bool = False,
    ) -> None:
        self._path, self._whole, self._max_leaves, self._X, self._own_ties = path, whole, max_leaves, X, own_ties
        self.classes, self.weight = classes, weight
        self.n_samples, self.n_models = n_rows(X), len(path)
        positive = weight is None or bool((np.asarray(weight) > 0).all())
        self._may_grow = max_leaves > 0 and is_grown_here(whole) and positive and not sparse.issparse(X)
        self._grower: Grower | None = None

    @property
    def abilities(self) -> Abilities:
        return Abilities(
            batched=self._may_grow,
            sums=frozenset({"confusion", "moments"}),
            streams=self._grows,
            groups=self.classes is not None,
        )

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return np.stack([groups.answers[:, groups.group] for groups in self.grouped(Y, response, seeds)])

    def grouped(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Iterator[Groups]:
        for whole, leaf in self._trees(Y, response, seeds, with_leaves=True):
            nodes, nearest = self._cut(whole)
            leaves, number = np.unique(leaf), np.zeros(len(nodes.parent), np.intp)
            number[leaves] = np.arange(len(leaves))
            yield Groups(nodes.answer[nearest[:, leaves]], number[leaf])

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        if self._own_ties and self._may_grow_for(y[None]):
            return self._predicted_here(y, X_new, response)
        tree = FittedTree(self._whole, self._X, y, self.classes, self.weight, seed)
        nodes, nearest = self._cut(tree.nodes(response))
        return np.asarray(nodes.answer[nearest[:, tree.leaf(X_new)]])

    def _predicted_here(self, y: Array, X_new: Table, response: str) -> Array:
        """Predictions on new X by a tree grown here; its columns are shuffled, for the first of them wins ties.

        In small leaves most splits tie. Were the columns left as they are, the order in which they happen to stand
        would move the error on new data by some percent, to either side. The labels decide how they are shuffled, which
        differ from fold to fold and are the same from run to run.
        """
        order = y if self.classes is not None else np.argsort(y, kind="stable")  # the same in any unit
        columns = np.random.default_rng(zlib.crc32(order.tobytes())).permutation(self._table().shape[1])
        table = self._table()[:, columns]
        growth = next(self._grower_on(table).grow(y[None], with_leaves=True))
        nodes, nearest = self._cut(self._node_table(growth, response))
        leaf = growth.leaves_of(_single(X_new)[:, columns], table)
        return np.asarray(nodes.answer[nearest[:, leaf]])

    def _cut(self, nodes: NodeTable) -> tuple[NodeTable, NDArray[np.intp]]:
        """The nodes of a tree with the nearest one of each that a model keeps, (models, nodes)."""
        return nodes, nearest_kept(nodes.parent, self._path.kept(nodes))

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        self._n_classes  # noqa: B018 — raises for a regression
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
        """(nodes, leaf of each sample) of the tree of each label vector.

        Where scikit-learn fits the trees, the leaves are computed if asked for, otherwise the sums of labels.
        """
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
        return self._prepared() if self._may_grow_for(Y) else None

    def _may_grow_for(self, Y: Any) -> bool:
        """Whether the trees of these labels are grown here."""
        return Y.ndim == 2 and not (self.classes is None and far_from_zero(Y[0])) and self._grows

    @cached_property
    def _grows(self) -> bool:
        """Whether trees are grown here; scikit-learn fits them where X has missing values, among other reasons."""
        return self._may_grow and bool(np.isfinite(self._table()).all())

    def _table(self) -> NDArray[np.float32]:
        return _single(self._X)

    def _prepared(self) -> Grower | None:
        """X sorted, once; None when scikit-learn must fit the trees."""
        if self._grower is None and self._grows:
            self._grower = self._grower_on(self._table())
        return self._grower

    def _grower_on(self, table: NDArray[np.float32]) -> Grower:
        n_classes = 0 if self.classes is None else len(self.classes)
        stopping = Stopping.of(self._whole, self.n_samples, self._max_leaves)
        return Grower(table, self._whole.criterion, stopping, n_classes, self.weight)

    def _node_table(self, growth: Growth, response: str) -> NodeTable:
        """The nodes of a tree grown here."""
        parent = np.zeros(len(growth.mass), np.intp)
        parent[1::2] = parent[2::2] = growth.split
        if self.classes is None:
            answer = growth.center + growth.sums[:, 0] / growth.mass
        elif response == "predict":
            answer = np.argmax(growth.sums, axis=1)
        else:
            answer = growth.sums / growth.mass[:, None]
        return NodeTable(parent, answer, growth.mass, growth.sums, growth.center, growth.squares)
