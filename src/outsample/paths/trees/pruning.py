"""Decision trees by depth and by cost-complexity pruning: one whole tree, cut back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from outsample.data.learners import with_params
from outsample.data.tables import Table, n_rows
from outsample.paths.base import Design, Path
from outsample.paths.order import complexity_of, is_whole, simplest_first
from outsample.paths.refit import RefitPath
from outsample.paths.trees.cuts import Kept, NodeTable, depths
from outsample.paths.trees.leaves import CutTreeDesign, is_grown_here, is_tree
from outsample.running.arrays import Array, Floats

_DEEPEST = 60


class DepthPath(Path):
    """`DecisionTreeClassifier` and `DecisionTreeRegressor` along `max_depth`.

    In-sample predictions come from one exact growth, cut at each depth; ties between splits are resolved as in
    `TreePath`. Predictions on new X refit every depth: scikit-learn's random state resolves ties, and the
    nodes of a deeper tree use it up differently. Trees with options the growth does not know are not served.
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        if not is_grown_here(estimator) or estimator.ccp_alpha != 0.0 or estimator.max_leaf_nodes is not None:
            return None
        return "max_depth" if parameter in (None, "max_depth") else None

    @classmethod
    def accepts(cls, estimator: BaseEstimator, values: Sequence[Any]) -> bool:
        """Depths, or None for no limit; scikit-learn complains about anything else."""
        return all(v is None or is_whole(v, 1) for v in values)

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity, _ = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator = estimator
        self.params = tuple({parameter: values[i]} for i in order)
        self.complexity = complexity[order]

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return DepthDesign(self, X, classes, weight)

    def kept(self, nodes: NodeTable) -> Kept:
        """Nodes no deeper than the limit."""
        kept: Kept = depths(nodes.parent) <= self.complexity[:, None]
        return kept


class DepthDesign(CutTreeDesign):
    """In-sample from one growth, on new X from one scikit-learn fit per depth."""

    def __init__(self, path: DepthPath, X: Table, classes: Array | None, weight: Floats | None) -> None:
        whole = with_params(path.estimator, path.params[-1])
        deepest = whole.max_depth or _DEEPEST
        super().__init__(path, whole, min(n_rows(X), 2 ** min(deepest, _DEEPEST)), X, classes, weight)
        self._each = RefitPath(path.estimator, "max_depth", [p["max_depth"] for p in path.params]).bind(
            X, classes, weight
        )

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        if self._grower_for(Y) is None:
            return self._each.fitted(Y, response, seeds)
        return super().fitted(Y, response, seeds)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._each.predict(y, X_new, response, seed)

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        if self._prepared() is None:
            return self._each.confusions(Y, seeds)
        return super().confusions(Y, seeds)

    def moments(self, Y: Array, center: float, seeds: Sequence[int] | None = None) -> Floats:
        if self._grower_for(Y) is None:
            return self._each.moments(Y, center, seeds)
        return super().moments(Y, center, seeds)


class PruningPath(Path):
    """`DecisionTreeClassifier` and `DecisionTreeRegressor` along `ccp_alpha`.

    Growth does not depend on `ccp_alpha`: one whole fit by scikit-learn is pruned at its weakest links, in the
    order and with the sums scikit-learn uses, and each alpha finds its tree along the way.
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        if not is_tree(estimator) or (parameter is None and estimator.ccp_alpha == 0.0):
            return None
        return "ccp_alpha" if parameter in (None, "ccp_alpha") else None

    @classmethod
    def accepts(cls, estimator: BaseEstimator, values: Sequence[Any]) -> bool:
        """Numbers that are not negative; scikit-learn complains about anything else."""
        return all((isinstance(v, float | np.floating) and v >= 0.0) or is_whole(v, 0) for v in values)

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity, _ = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator = estimator
        self.params = tuple({parameter: values[i]} for i in order)
        self.complexity = complexity[order]
        self.alphas = np.array([values[i] for i in order], np.float64)

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
