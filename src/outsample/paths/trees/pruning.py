"""Decision trees by depth and by cost-complexity pruning: one whole tree, cut back."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from outsample.checks import is_integer
from outsample.data.learners import with_params
from outsample.data.tables import Table, n_rows
from outsample.paths.base import Design, GridPath
from outsample.paths.refit import RefitPath
from outsample.paths.trees.cuts import Kept, NodeTable, depths
from outsample.paths.trees.leaves import CutTreeDesign, is_grown_here
from outsample.running.arrays import Array, Floats

# A depth that stands for no limit: 2⁶⁰ leaves are more than there are rows.
_DEEPEST = 60


class DepthPath(GridPath):
    """`DecisionTreeClassifier` and `DecisionTreeRegressor` along `max_depth`.

    In-sample predictions come from one tree grown here, cut at each depth; ties between splits are resolved as in
    `TreePath`. Predictions on new X refit every depth (unless `with_own_ties`): scikit-learn breaks ties by random
    numbers, which trees of different depths use in different order. Trees with options that are not known here are not
    served.
    """

    responses = frozenset({"predict", "predict_proba"})
    same_digits = True
    from_one_fit = True
    _own_ties = False

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        return is_grown_here(estimator) and estimator.ccp_alpha == 0.0 and estimator.max_leaf_nodes is None

    @classmethod
    def accepts(cls, value: object) -> bool:
        """Depths, or None for no limit; scikit-learn complains about anything else."""
        return value is None or is_integer(value, 1)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return DepthDesign(self, X, classes, weight, self._own_ties)

    def with_own_ties(self) -> DepthPath:
        path = copy(self)
        path._own_ties = True
        return path

    def kept(self, nodes: NodeTable) -> Kept:
        """Nodes no deeper than the limit."""
        kept: Kept = depths(nodes.parent) <= self.complexity[:, None]
        return kept


class DepthDesign(CutTreeDesign):
    """In-sample predictions from one tree grown here, those on new X from one scikit-learn fit per depth.

    With ties of our own the latter come from one tree grown here as well.
    """

    def __init__(
        self, path: DepthPath, X: Table, classes: Array | None, weight: Floats | None, own_ties: bool = False
    ) -> None:
        whole = with_params(path.estimator, path.params[-1])
        deepest = whole.max_depth or _DEEPEST
        super().__init__(path, whole, min(n_rows(X), 2 ** min(deepest, _DEEPEST)), X, classes, weight, own_ties)
        self._each = RefitPath.of(path).bind(X, classes, weight)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        if self._grower_for(Y) is None:
            return self._each.fitted(Y, response, seeds)
        return super().fitted(Y, response, seeds)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        if self._own_ties and self._may_grow_for(y[None]):
            return self._predicted_here(y, X_new, response)
        return self._each.predict(y, X_new, response, seed)

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        if self._prepared() is None:
            return self._each.confusions(Y, seeds)
        return super().confusions(Y, seeds)

    def moments(self, Y: Any, center: float, seeds: Sequence[int] | None = None) -> Floats:
        if self._grower_for(Y) is None:
            return self._each.moments(Y, center, seeds)
        return super().moments(Y, center, seeds)


class PruningPath(GridPath):
    """`DecisionTreeClassifier` and `DecisionTreeRegressor` along `ccp_alpha`.

    Growth does not depend on `ccp_alpha`: one whole tree of scikit-learn is pruned at its weakest links, in the order
    and with the sums scikit-learn uses, and the tree of each alpha is met on the way (Breiman et al. 1984).
    """

    responses = frozenset({"predict", "predict_proba"})
    same_digits = True
    from_one_fit = True

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        return bool(estimator.ccp_alpha != 0.0 or not alone)

    @classmethod
    def accepts(cls, value: object) -> bool:
        """Numbers that are not negative; scikit-learn complains about anything else."""
        return (isinstance(value, float | np.floating) and bool(value >= 0.0)) or is_integer(value, 0)

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[float]) -> None:
        super().__init__(estimator, parameter, values)
        self.alphas = np.array(self.values, np.float64)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        whole = clone(self.estimator).set_params(ccp_alpha=0.0)
        return CutTreeDesign(self, whole, 0, X, classes, weight)

    def kept(self, nodes: NodeTable) -> Kept:
        """Nodes that are not pruned away at each alpha; at zero nothing is pruned at all."""
        assert nodes.risk is not None, "pruning needs the impurities of a scikit-learn tree"
        alphas, removed = weakest_links(nodes.parent, nodes.risk, float(self.alphas.max()))
        steps = np.searchsorted(np.maximum.accumulate(alphas), self.alphas, side="right")
        steps[self.alphas == 0.0] = 0
        return removed >= steps[:, None]


def weakest_links(parent: Array, risk: Floats, largest: float) -> tuple[Floats, Array]:
    """Prune a tree at its weakest link until the links are stronger than `largest`.

    Sums run in scikit-learn's order, and of equally weak links the lowest node goes first, as there: the
    same alpha must find the same tree even where rounding decides.

    Returns
    -------
    alphas : (steps,)
        Strength of the link pruned at each step.
    removed : (nodes,)
        Step at which each node is pruned away; the number of nodes if it never is.
    """
    n_nodes = len(parent)
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for node in range(1, n_nodes):
        children[parent[node]].append(node)
    branch_risk, leaves = np.zeros(n_nodes), np.zeros(n_nodes, np.intp)
    for leaf in (node for node in range(n_nodes) if not children[node]):
        branch_risk[leaf] = risk[leaf]
        node = leaf
        while node != 0:
            node = parent[node]
            branch_risk[node] += risk[leaf]
            leaves[node] += 1
    inner = leaves > 0
    strength = np.full(n_nodes, np.inf)
    strength[inner] = (risk[inner] - branch_risk[inner]) / (leaves[inner] - 1)
    alphas: list[float] = []
    removed = np.full(n_nodes, n_nodes)
    while np.isfinite(strength[0]):
        weakest = int(np.argmin(strength))
        if strength[weakest] > largest:
            break
        _remove_below(weakest, len(alphas), children, removed, strength)
        alphas.append(float(strength[weakest]))
        fewer, more = leaves[weakest] - 1, risk[weakest] - branch_risk[weakest]
        strength[weakest] = np.inf
        node = weakest
        while node != 0:
            node = parent[node]
            leaves[node] -= fewer
            branch_risk[node] += more
            strength[node] = (risk[node] - branch_risk[node]) / (leaves[node] - 1)
    return np.asarray(alphas), removed


def _remove_below(top: int, step: int, children: list[list[int]], removed: Array, strength: Floats) -> None:
    """Mark everything below a node as pruned away at this step."""
    below = list(children[top])
    while below:
        node = below.pop()
        if removed[node] > step:
            removed[node], strength[node] = step, np.inf
            below.extend(children[node])
