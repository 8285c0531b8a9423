"""The tree kernels: exact against brute force, and the same with the compiler switched off."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import njit
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from compiler_switch import printed_with_and_without_compiler
from outsample._kernels import trees
from outsample._kernels.trees.leaves import n_listed
from outsample._kernels.trees.presort import CLOSENESS, presort
from outsample._kernels.trees.two_classes import allowance, exceeds, node_of
from outsample.paths.trees.growth import Grower, Stopping

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
    """Largest decrease over every column and every position between values that a split may separate."""
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_classes", "criterion"), [*KINDS, (7, "gini"), (7, "entropy")])
@pytest.mark.parametrize("min_leaf", [1, 4])
def test_every_split_of_a_tree_against_brute_force(n_classes, criterion, weighted, min_leaf):
    """Deep nodes lack some classes, the last one among them, and have few samples in many bins."""
    rng = np.random.default_rng(8)
    for n in (90, 400):
        X = rng.normal(size=(n, 2)).astype(np.float32)
        y = 2 * X[:, 0] + rng.normal(size=n)
        if n_classes:
            y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
        weight = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
        stopping = Stopping(max_leaves=25, max_depth=99, min_split=2 * min_leaf, min_leaf=min_leaf, min_decrease=0.0)
        grower = Grower(X, criterion, stopping, n_classes, weight if weighted else None)
        (growth,) = grower.grow(y[None], with_leaves=True)
        held = {node: growth.leaf == node for node in np.unique(growth.leaf)}
        for j in reversed(range(len(growth.split))):
            children = [held[2 * j + 1], held[2 * j + 2]]
            own = held[growth.split[j]] = children[0] | children[1]
            found = impurity_mass(y[own], weight[own], criterion)
            found -= sum(impurity_mass(y[part], weight[part], criterion) for part in children)
            best = best_by_brute_force(X[own], y[own], weight[own], criterion, min_leaf)
            assert found == pytest.approx(best, rel=1e-9, abs=1e-9)


def table_with_ties(n, levels):
    rng = np.random.default_rng(1)
    columns = [rng.normal(size=n), rng.integers(0, 5, n), np.zeros(n), rng.poisson(0.1, n)]
    columns += [np.where(rng.random(n) < 0.6, 0.0, -rng.exponential(size=n)), np.round(rng.normal(size=n), 1)]
    X = np.column_stack(columns).astype(np.float32)
    table = presort(X, threads=2)
    assert len(table.edges) == levels
    return X, table


SIZES_AND_LEVELS = [(20, 1), (3000, 2), (10_000, 3), (100_000, 4)]


def bin_edges(table, level, f):
    return table.edges[level, f, : table.offsets[level, f + 1] - table.offsets[level, f] + 1]


@pytest.mark.parametrize(("n", "levels"), SIZES_AND_LEVELS)
def test_bins_cover_the_table_and_part_no_ties(n, levels):
    X, table = table_with_ties(n, levels)
    for f in range(X.shape[1]):
        values = table.columns.values[f]
        np.testing.assert_array_equal(X[table.columns.order[f], f], values)
        assert (np.diff(values) >= 0).all()
        np.testing.assert_array_equal(table.columns.order[f][table.columns.rank[:, f]], np.arange(n))
        for level in range(len(table.edges)):
            edges = bin_edges(table, level, f)
            assert (edges[0], edges[-1]) == (0, n)
            assert (np.diff(edges) > 0).all()
            assert (values[edges[1:-1]] > values[edges[1:-1] - 1]).all()
            cell = table.cell_at[level][table.cells[:, f]]
            found = np.searchsorted(edges, table.columns.rank[:, f], side="right") - 1
            np.testing.assert_array_equal(found, cell.astype(int) - table.offsets[level, f])
    assert table.offsets[0, 3] - table.offsets[0, 2] == 1


@pytest.mark.parametrize(("n", "levels"), SIZES_AND_LEVELS)
def test_levels_join_whole_bins_and_are_solid_only_where_all_values_are_tied(n, levels):
    X, table = table_with_ties(n, levels)
    for level in range(1, len(table.edges)):
        for f in range(X.shape[1]):
            below, edges = bin_edges(table, level - 1, f), bin_edges(table, level, f)
            assert np.isin(edges, below).all()
            above = table.cell_above[level - 1][table.offsets[level - 1, f] : table.offsets[level - 1, f + 1]]
            found = np.searchsorted(edges, below[:-1], side="right") - 1
            np.testing.assert_array_equal(above - table.offsets[level, f], found)
            for b, (start, end) in enumerate(itertools.pairwise(edges)):
                tied = table.columns.values[f, end - 1] <= table.columns.values[f, start] + CLOSENESS
                assert table.solid[level, f, b] == tied
    n_bins = np.diff(table.offsets, axis=1)[:, 0]
    assert (n_bins[1:] < 0.45 * n_bins[:-1]).all()


def test_tables_with_many_bins():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(260, 2000)).astype(np.float32), rng.integers(0, 2, 260)
    assert presort(X).cells.dtype == np.uint32
    (growth,) = Grower(X, "gini", FREE, 2, None).grow(y[None], with_leaves=True)
    parts = [growth.leaf == node for node in (1, 2)]
    found = impurity_mass(y, np.ones(260), "gini") - sum(
        impurity_mass(y[part], np.ones(260)[part], "gini") for part in parts
    )
    left = np.cumsum(y[np.argsort(X, axis=0)], axis=0)[:-1].T
    size = np.arange(1, 260)
    weighed = left * (size - left) / size + (y.sum() - left) * (260 - size - y.sum() + left) / (260 - size)
    assert found == pytest.approx(impurity_mass(y, np.ones(260), "gini") - 2 * weighed.min(), rel=1e-9)


def test_limits_on_leaves_keep_the_best_split_that_obeys_them():
    rng = np.random.default_rng(3)
    for trial in range(20):
        n = int(rng.integers(60, 700))
        X = np.round(rng.normal(size=(n, 2)), 1 + trial % 3).astype(np.float32)
        y, min_leaf = rng.integers(0, 2, n), int(rng.integers(2, n // 4))
        for criterion in ("gini", "entropy"):
            stopping = Stopping(max_leaves=2, max_depth=99, min_split=2, min_leaf=min_leaf, min_decrease=0.0)
            (growth,) = Grower(X, criterion, stopping, 2, None).grow(y[None], with_leaves=True)
            best = best_by_brute_force(X, y, np.ones(n), criterion, min_leaf)
            parts = [growth.leaf == node for node in (1, 2)]
            assert min(part.sum() for part in parts) >= min_leaf
            found = impurity_mass(y, np.ones(n), criterion)
            found -= sum(impurity_mass(y[part], np.ones(n)[part], criterion) for part in parts)
            assert found == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [20, 150, 4000])
@pytest.mark.parametrize(("n_classes", "criterion"), KINDS)
def test_equal_gains_go_to_the_lower_column_then_to_the_lower_threshold(n_classes, criterion, n, weighted):
    column, y = np.arange(n, dtype=np.float32), np.zeros(n, int)
    y[: n // 7] = y[-(n // 7) :] = 1
    labels = y if n_classes else y - 0.5
    X = np.column_stack([np.random.default_rng(6).permutation(n), column, column[::-1], column]).astype(np.float32)
    grower = Grower(X, criterion, FREE, n_classes, np.full(n, 0.5) if weighted else None)
    (growth,) = grower.grow(labels[None], with_leaves=True)
    assert growth.column[0] == 1
    np.testing.assert_array_equal(growth.leaf == 1, column < n // 7)


@pytest.mark.parametrize(("n_classes", "criterion"), KINDS)
@pytest.mark.parametrize("per_node", [False, True])
def test_every_smaller_tree_is_the_start_of_a_larger_one(n_classes, criterion, per_node):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 4)).astype(np.float32)
    y = rng.integers(0, n_classes, 900) if n_classes else rng.normal(size=900)
    grown = []
    for leaves in (5, 23, 90):
        stopping = Stopping(max_leaves=leaves, max_depth=99, min_split=2, min_leaf=1, min_decrease=0.0)
        (growth,) = Grower(X, criterion, stopping, n_classes, None, per_node).grow(y[None])
        assert len(growth.split) == leaves - 1
        grown.append(growth)
    for smaller, larger in itertools.pairwise(grown):
        np.testing.assert_array_equal(smaller.split, larger.split[: len(smaller.split)])
        np.testing.assert_array_equal(smaller.sums, larger.sums[: len(smaller.sums)])


@pytest.mark.parametrize("per_node", [False, True])
@pytest.mark.parametrize(("n", "decimals"), [(30, 1), (400, 1), (2500, 2)])
def test_rows_left_out_against_growth_on_the_other_rows(n, decimals, per_node):
    rng = np.random.default_rng(n)
    X = np.round(rng.normal(size=(n, 3)), decimals).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + rng.normal(size=n) > 0).astype(np.int64)
    stopping = Stopping(max_leaves=25, max_depth=99, min_split=2, min_leaf=1, min_decrease=0.0)
    for folds in (rng.permutation(n), np.arange(n) % 2, np.arange(n) // (n - 4)):
        growths = Grower(X, "entropy", stopping, 2, None, per_node).grow_without(y, folds, 2)
        for fold, growth in enumerate(growths):
            kept = folds != fold
            (other,) = Grower(X[kept], "entropy", stopping, 2, None, per_node).grow(y[None, kept], with_leaves=True)
            np.testing.assert_array_equal(growth.split, other.split)
            np.testing.assert_array_equal(growth.column, other.column)
            np.testing.assert_array_equal(growth.sums, other.sums)
            np.testing.assert_array_equal(growth.leaf[kept], other.leaf)
            assert (growth.leaf[~kept] == -1).all()
    with pytest.raises(ValueError, match="two classes without weights"):
        next(Grower(X, "entropy", stopping, 3, None).grow_without(y, folds, 2))


@pytest.mark.parametrize("n_classes", [2, 3, 0])
def test_many_leaves_and_the_samples_they_hold(n_classes):
    rng = np.random.default_rng(3)
    n = 6000
    X = rng.normal(size=(n, 2)).astype(np.float32)
    signal = np.floor(8 * rng.random(n)) + 5 * np.sin(3 * X[:, 0]) + 5 * np.cos(4 * X[:, 1])
    y = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal) if n_classes else signal
    criterion = "gini" if n_classes else "squared_error"
    limits = {"max_leaf_nodes": 400, "min_samples_leaf": 3}
    grower = Grower(X, criterion, Stopping(400, 99, 2, 3, 0.0), n_classes, None)
    (growth,) = grower.grow(y[None], with_leaves=True)
    smaller = np.minimum(growth.mass[1::2], growth.mass[2::2])
    assert 2 * n < smaller.sum() <= n_listed(n, 400) - n
    peer = (DecisionTreeClassifier if n_classes else DecisionTreeRegressor)(**limits, random_state=0).fit(X, y)
    ones = np.ones(n)
    found = sum(impurity_mass(y[own], ones[own], criterion) for own in growth.leaf == np.unique(growth.leaf)[:, None])
    theirs = sum(
        impurity_mass(y[own], ones[own], criterion) for own in peer.apply(X) == np.unique(peer.apply(X))[:, None]
    )
    # scikit-learn breaks ties at random, and gains of classes, which are made of counts, are often tied.
    assert found == pytest.approx(theirs, rel=1e-2 if n_classes else 1e-9)
    nodes, sizes = np.unique(growth.leaf, return_counts=True)
    assert len(nodes) == 400
    assert growth.mass[nodes].tolist() == sizes.tolist()
    if n_classes:
        assert growth.sums[nodes].tolist() == [
            np.bincount(y[growth.leaf == k], None, n_classes).tolist() for k in nodes
        ]


def test_lists_of_samples_take_all_their_room_where_every_split_halves_a_leaf():
    n, leaves = 4096, 64
    X = np.random.default_rng(5).permutation(n).astype(np.float32)[:, None]
    (growth,) = Grower(X, "squared_error", Stopping(leaves, 99, 2, 1, 0.0), 0, None).grow(X.T.astype(float), True)
    smaller = np.minimum(growth.mass[1::2], growth.mass[2::2])
    assert smaller.sum() == n_listed(n, leaves) - n
    np.testing.assert_array_equal(np.unique(growth.leaf, return_counts=True)[1], n // leaves)


def test_same_trees_where_more_leaves_are_allowed_than_two_bytes_can_number():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 2)).astype(np.float32), rng.integers(0, 2, 60)
    few, many = (Grower(X, "gini", Stopping(limit, 99, 2, 1, 0.0), 2, None) for limit in (60, 2**15 + 1))
    (a,), (b,) = few.grow(y[None], with_leaves=True), many.grow(y[None], with_leaves=True)
    assert len(a.split) > 10
    for name in ("split", "column", "mass", "sums", "leaf"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_wrong_shapes_never_reach_a_kernel():
    table = presort(np.zeros((5, 2), np.float32))
    rules = trees.Rules(True, 1, 2, False, False, 2, 9, 2, 1, 0.0, 0.0, 1.0, np.empty(0))
    space, root = trees.Workspace(table, rules, 2), np.zeros(table.offsets[0, -1], np.int64)
    for points, counted in ((np.ones(4, np.uint8), root), (np.ones(5), root), (np.ones(5, np.uint8), root[1:])):
        with pytest.raises(ValueError, match="points"):
            trees.grow(table, points, rules, space, True, counted)


@njit
def allowed_but_exceeding(total, before, after, level, entropy):
    """(Splits between two edges that are within the allowance, those of them that may gain too much)."""
    node, size, ones = node_of(total, entropy), total >> 32, total & 0xFFFFFFFF
    allowed, growth = allowance(before, after, level, node)
    within, wrong = 0, 0
    for left in range(before >> 32, (after >> 32) + 1):
        for ones_left in range(min(left, ones) + 1):
            if abs(size * ones_left - left * ones) <= allowed + growth * (left - (before >> 32)):
                within += 1
                wrong += exceeds(float(left), float(ones_left), level, node)
    return within, wrong


@pytest.mark.parametrize("entropy", [True, False])
def test_no_split_within_the_allowance_gains_too_much(entropy):
    rng, within = np.random.default_rng(7), 0
    for _ in range(300):
        size = int(rng.integers(4, 2000))
        ones = int(rng.integers(1, size))
        first, last = np.sort(rng.integers(0, size + 1, 2)) if rng.random() < 0.8 else (0, size)
        scale = ones * (1 - ones / size) if entropy else size
        level = scale * 10.0 ** rng.uniform(-3, 2)
        edges = (int(first) << 32, int(last) << 32)
        found, wrong = allowed_but_exceeding((size << 32) + ones, *edges, level, entropy)
        within += found
        assert wrong == 0
    assert within > 100_000


@pytest.mark.parametrize(("largest", "lanes"), [(200, 8), (300, 4), (70_000, 2)])
def test_roots_of_several_label_vectors_at_once(largest, lanes):
    """However large the bins are, every vector gets its own histogram."""
    rng = np.random.default_rng(largest)
    X = np.column_stack([rng.integers(0, 3, 2 * largest), rng.normal(size=2 * largest)]).astype(np.float32)
    X[:largest, 0] = 3
    table = presort(X)
    sizes = trees.bin_sizes(table)
    assert trees.lanes_for(sizes) == lanes
    Y = rng.integers(0, 2, (lanes, len(X))).astype(np.uint8)
    for y, root in zip(Y, trees.roots_of(table, sizes, Y), strict=True):
        ones = sum(np.bincount(column, y, len(sizes)) for column in table.cells.T.astype(np.int64))
        np.testing.assert_array_equal(root & trees.LOW_HALF, ones)
        np.testing.assert_array_equal(root >> trees.SHIFT, np.bincount(table.cells.ravel().astype(np.int64)))


def test_the_root_without_labels_counts_samples_and_masses():
    rng = np.random.default_rng(0)
    table = presort(np.round(rng.normal(size=(400, 3)), 1).astype(np.float32))
    mass, cells = rng.integers(1, 2**40, 400), table.cells.T.astype(np.int64)
    root = trees.unlabelled_root(table, 4, mass).reshape(-1, 4)
    np.testing.assert_array_equal(root[:, 0], np.bincount(cells.ravel()))
    np.testing.assert_array_equal(root[:, 1], [mass[(cells == cell).any(axis=0)].sum() for cell in range(len(root))])
    assert not root[:, 2:].any()
    unweighted = trees.unlabelled_root(table, 3, np.empty(0, np.int64)).reshape(-1, 3)
    np.testing.assert_array_equal(unweighted[:, 0], root[:, 0])
    assert not unweighted[:, 1:].any()


SCRIPT = """
import numpy as np
from outsample.paths.trees.growth import Grower, Stopping
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
