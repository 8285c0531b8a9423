"""The tree kernels: exact against brute force, and the same with the compiler switched off."""

from __future__ import annotations

import numpy as np
import pytest

from compiler_switch import printed_with_and_without_compiler
from outsample._kernels import trees
from outsample._kernels.trees_presort import CLOSENESS, presort
from outsample.paths.tree_growth import Grower, Stopping

KINDS = [(2, "gini"), (2, "entropy"), (4, "gini"), (4, "entropy"), (0, "squared_error")]
FREE = Stopping(max_leaves=2, max_depth=99, min_split=2, min_leaf=1, min_decrease=0.0)


def impurity_mass(y, weight, criterion):
    """Impurity × mass of a set of samples."""
    mass = weight.sum()
    if criterion == "squared_error":
        return weight @ (y - weight @ y / mass) ** 2
    share = np.bincount(y, weight) / mass
    if criterion == "gini":
        return mass * (1.0 - (share**2).sum())
    share = share[share > 0]
    return -mass * (share * np.log(share)).sum()


def best_by_brute_force(X, y, weight, criterion, min_leaf=1):
    """Largest decrease over every column and every position between values that may be parted."""
    best, whole = -1.0, impurity_mass(y, weight, criterion)
    for column in X.T:
        order = np.argsort(column, kind="stable")
        x = column[order]
        for cut in range(min_leaf, len(x) - min_leaf + 1):
            if cut < len(x) and x[cut] > x[cut - 1] + CLOSENESS:
                left, right = order[:cut], order[cut:]
                parts = (impurity_mass(y[part], weight[part], criterion) for part in (left, right))
                best = max(best, whole - sum(parts))
    return best


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_classes", "criterion"), KINDS)
def test_best_split_against_brute_force(n_classes, criterion, weighted):
    rng = np.random.default_rng(0)
    for trial in range(12):
        n = int(rng.integers(2, 180))
        X = rng.normal(size=(n, 3)).astype(np.float32)
        if trial % 3 == 0:
            X = np.round(X, 1)
        y = rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes))) if n_classes else rng.standard_t(2, n)
        weight = rng.uniform(0.1, 5.0, n) if weighted else None
        grower = Grower(X, criterion, FREE, n_classes, weight)
        (growth,) = grower.grow(y[None], with_leaves=True)
        held = np.ones(n) if weight is None else weight
        best = best_by_brute_force(X, y, held, criterion)
        if len(growth.split) == 0:
            assert best <= 1e-12
            continue
        parts = [growth.leaf == node for node in (1, 2)]
        found = impurity_mass(y, held, criterion) - sum(impurity_mass(y[p], held[p], criterion) for p in parts)
        assert found == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_bins_cover_the_table_and_part_no_ties():
    rng = np.random.default_rng(1)
    columns = [rng.normal(size=3000), rng.integers(0, 5, 3000), np.zeros(3000), rng.poisson(0.1, 3000)]
    X = np.column_stack(columns).astype(np.float32)
    table = presort(X, threads=2)
    for f in range(X.shape[1]):
        edges = table.edges[f, : table.offsets[f + 1] - table.offsets[f] + 1]
        values = table.values[f]
        assert (edges[0], edges[-1]) == (0, 3000)
        assert (np.diff(edges) > 0).all()
        assert (values[edges[1:-1]] > values[edges[1:-1] - 1]).all()
        np.testing.assert_array_equal(X[table.order[f], f], values)
        np.testing.assert_array_equal(table.order[f][table.rank[:, f]], np.arange(3000))
        np.testing.assert_array_equal(np.searchsorted(edges, table.rank[:, f], side="right") - 1, table.codes[:, f])
    assert table.offsets[3] - table.offsets[2] == 1


def test_wrong_shapes_never_reach_a_kernel():
    table = presort(np.zeros((5, 2), np.float32))
    rules = trees.Rules(True, 1, 2, False, False, 2, 9, 2, 1, 0.0, 0.0, 1.0, np.empty(0))
    space = trees.Workspace(table, rules, 2)
    with pytest.raises(ValueError, match="points"):
        trees.grow(table, np.ones((4, 1), np.int64), rules, space, with_leaf=True)
    with pytest.raises(ValueError, match="points"):
        trees.grow(table, np.ones((5, 1), np.float64), rules, space, with_leaf=True)


SCRIPT = """
import numpy as np
from outsample.paths.tree_growth import Grower, Stopping
rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(150, 3)), 1).astype(np.float32)
stopping = Stopping(max_leaves=9, max_depth=6, min_split=2, min_leaf=1, min_decrease=0.0)
for n_classes, criterion in ((2, "entropy"), (2, "gini"), (3, "entropy"), (3, "gini"), (0, "squared_error")):
    for weight in (None, rng.uniform(0.5, 2.0, 150)):
        Y = rng.integers(0, n_classes, (2, 150)) if n_classes else rng.normal(size=(2, 150))
        for growth in Grower(X, criterion, stopping, n_classes, weight).grow(Y, with_leaves=True):
            print(growth.split.tolist(), growth.sums.sum(axis=1).round(9).tolist(), growth.leaf.tolist())
"""


def test_same_trees_without_the_compiler():
    with_compiler, without = printed_with_and_without_compiler(SCRIPT)
    assert with_compiler == without
    assert with_compiler.count("\n") == 20


def test_warmup():
    trees.warmup()
