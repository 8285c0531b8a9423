"""Best-first trees by gain per node, against a growth written out in numpy, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from contract import check_contract
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from outsample import BestFirstTreeClassifier, GridSearch, Permutation
from outsample.paths.dispatch import find_path
from outsample.paths.refit import RefitPath
from outsample.paths.trees.best_first import BestFirstPath

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).astype(np.float32)
THREE = np.digitize(X[:, 0] + 0.7 * RNG.normal(size=60), [-0.5, 0.6])
TWO = (THREE > 0).astype(int)


def impurity(y, K, w):
    p = np.bincount(y, w, K) / w.sum()
    return -(p[p > 0] * np.log2(p[p > 0])).sum()


def best_split(rows, X, y, w, K):
    """(decrease of the impurity of these rows, left rows, right rows) of the best split."""
    found = (0.0, None, None)
    for j in range(X.shape[1]):
        for value in np.unique(X[rows, j])[:-1]:
            left, right = rows[X[rows, j] <= value], rows[X[rows, j] > value]
            within = sum(w[s].sum() / w[rows].sum() * impurity(y[s], K, w[s]) for s in (left, right))
            gain = impurity(y[rows], K, w[rows]) - within
            if gain > found[0] + 1e-12:
                found = gain, left, right
    return found


def grown(X, y, leaves, weigh, w=None):
    """Predicted codes after growing to `leaves` leaves; `weigh` says what a leaf's gain is multiplied by."""
    w, K = np.ones(len(y)) if w is None else w, y.max() + 1
    open_ = [np.arange(len(y))]
    while len(open_) < leaves:
        splits = [best_split(rows, X, y, w, K) for rows in open_]
        gains = [gain * weigh(w[rows].sum()) for (gain, *_), rows in zip(splits, open_, strict=True)]
        chosen = int(np.argmax(gains))
        if gains[chosen] <= 0:
            break
        open_[chosen : chosen + 1] = splits[chosen][1:]
    codes = np.empty(len(y), dtype=int)
    for rows in open_:
        codes[rows] = np.bincount(y[rows], w[rows], K).argmax()
    return codes


@pytest.mark.parametrize("leaves", [1, 2, 4, 7, 12])
@pytest.mark.parametrize("y", [TWO, THREE])
def test_gain_per_node_against_a_growth_in_numpy(leaves, y):
    tree = BestFirstTreeClassifier(leaves).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), grown(X, y, leaves, lambda size: 1.0))
    assert tree.n_leaves_ == leaves or (tree.score(X, y) == 1 and tree.n_leaves_ < leaves)


def test_weights_against_a_growth_in_numpy():
    w = RNG.uniform(0.2, 3, 60)
    tree = BestFirstTreeClassifier(6).fit(X, THREE, sample_weight=w)
    np.testing.assert_array_equal(tree.predict(X), grown(X, THREE, 6, lambda size: 1.0, w))


@pytest.mark.parametrize("leaves", [2, 5, 9])
def test_total_gain_against_scikit_learn(leaves):
    theirs = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=leaves, random_state=0).fit(X, THREE)
    ours = BestFirstTreeClassifier(leaves, gain="total").fit(X, THREE)
    new = RNG.normal(size=(200, 3))
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new))


def test_the_two_gains_differ():
    X, y = load_breast_cancer(return_X_y=True)
    by_node, by_total = (BestFirstTreeClassifier(8, gain=gain).fit(X, y) for gain in ("node", "total"))
    assert not np.array_equal(by_node.split_, by_total.split_)


def test_smaller_trees_are_the_first_splits_of_larger_ones():
    small, large = (BestFirstTreeClassifier(n).fit(X, THREE) for n in (4, 11))
    np.testing.assert_array_equal(small.split_, large.split_[:3])
    np.testing.assert_array_equal(small.threshold_, large.threshold_[:3])


@pytest.mark.parametrize("gain", ["node", "total"])
@pytest.mark.parametrize("y", [TWO, THREE])
@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2, 60)])
def test_path_against_single_fits(gain, y, weight):
    tree = BestFirstTreeClassifier(gain=gain)
    path = find_path(tree, "max_leaf_nodes", [2, 3, 6, 11, 500])
    assert isinstance(path, BestFirstPath)
    check_contract(path, X, y, RNG.normal(size=(20, 3)), classes=np.unique(y), weight=weight)


def test_search_costs_one_fit_per_draw():
    X, y = load_iris(return_X_y=True)
    grid = {"max_leaf_nodes": range(2, 12)}
    search = GridSearch(BestFirstTreeClassifier(), grid, criterion=Permutation(5), random_state=0).fit(X, y)
    slow = GridSearch(BestFirstTreeClassifier(), grid, criterion=Permutation(5), random_state=0, fast=False).fit(X, y)
    assert search.n_fits_ == 6
    np.testing.assert_allclose(search.curve_.out_sample, slow.curve_.out_sample)
    assert isinstance(find_path(BestFirstTreeClassifier(), "gain", ["node", "total"]), RefitPath)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": "nod"}, "gain must be one of node, total, got 'nod'"),
        ({"criterion": "mse"}, "criterion must be one of"),
        ({"max_leaf_nodes": 0}, "max_leaf_nodes must be a whole number"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        BestFirstTreeClassifier(**options).fit(X, TWO)


@parametrize_with_checks([BestFirstTreeClassifier(max_leaf_nodes=30)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
