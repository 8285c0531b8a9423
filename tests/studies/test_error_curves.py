"""Error curves of trees and neighbours against scikit-learn's own fits, and against growth by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from outsample._kernels.trees.leaves import wrong_answers
from outsample.studies.error_curves import Neighbors, Trees
from outsample.studies.splits import (
    Budget,
    Regrets,
    estimates,
    last_minimum,
    one_split,
    permutation_optimism,
    rademacher_optimism,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=160) > 1).astype(np.int64)
    return X, y, rng.normal(size=(50, 3)).astype(np.float32), rng.integers(2, size=50)


def tree_of(size, X, y):
    """scikit-learn's tree of a given size; one leaf is the majority."""
    if size == 1:
        majority = int(2 * y.sum() > len(y))
        return lambda X_new: np.full(len(X_new), majority)
    return DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=size, random_state=0).fit(X, y).predict


def test_weighted_trees_against_scikit_learn(data):
    X, y, X_new, y_new = data
    curves = Trees(per_node=False, max_leaves=12).on(X, y)
    in_sample, positive = curves.fits(y[None])
    folds = np.arange(160) % 40
    found = curves.error_on(X_new, y_new), in_sample[0], positive[0], curves.left_out(folds, 2)
    for size in range(1, 13):
        predict = tree_of(size, X, y)
        left = [np.mean(tree_of(size, X[folds != f], y[folds != f])(X[folds == f]) != y[folds == f]) for f in (0, 1)]
        expected = np.mean(predict(X_new) != y_new), np.mean(predict(X) != y), np.mean(predict(X)), np.mean(left)
        assert [curve[size - 1] for curve in found] == pytest.approx(expected)


def entropy(y):
    share = np.bincount(y, minlength=2) / len(y)
    return -sum(p * np.log(p) for p in share if p > 0)


def best_cut(X, y):
    """(information gain per sample, mask of the left side) of the best cut of a node."""
    cuts = (X[:, [f]] <= value for f in range(X.shape[1]) for value in np.unique(X[:, f])[:-1])
    sides = [cut[:, 0] for cut in cuts]
    gains = [entropy(y) - side.mean() * entropy(y[side]) - (~side).mean() * entropy(y[~side]) for side in sides]
    best = int(np.argmax(gains))
    return gains[best], sides[best]


def errors_of_growth_by_hand(X, y, max_leaves):
    """In-sample errors while the leaf with the largest gain of its own samples is split."""
    leaves, errors = [np.arange(len(y))], []
    while len(leaves) <= max_leaves:
        errors.append(sum(min(np.sum(y[leaf] == 0), np.sum(y[leaf] == 1)) for leaf in leaves) / len(y))
        cuts = [best_cut(X[leaf], y[leaf]) if 0 < y[leaf].sum() < len(leaf) else (-1.0, None) for leaf in leaves]
        chosen = int(np.argmax([gain for gain, _ in cuts]))
        leaf, side = leaves.pop(chosen), cuts[chosen][1]
        leaves += [leaf[side], leaf[~side]]
    return errors


def test_gain_per_node_against_growth_by_hand(data):
    X, y = data[0][:130], data[1][:130]
    (in_sample,), _ = Trees(per_node=True, max_leaves=12).on(X, y).fits(y[None])
    assert in_sample == pytest.approx(errors_of_growth_by_hand(X, y, 12))
    (weighted,), _ = Trees(per_node=False, max_leaves=12).on(X, y).fits(y[None])
    assert not np.allclose(in_sample, weighted)


def test_neighbours_against_scikit_learn(data):
    X, y, X_new, y_new = data
    curves = Neighbors(2, 9).on(X, y)
    (in_sample,), (positive,) = curves.fits(y[None])
    left_out = curves.left_out(np.arange(len(y)), 3)
    for k in range(2, 10):
        model = KNeighborsClassifier(k).fit(X, y)
        assert in_sample[k - 2] == pytest.approx(1 - model.score(X, y))
        assert positive[k - 2] == pytest.approx(model.predict(X).mean())
        assert curves.error_on(X_new, y_new)[k - 2] == pytest.approx(1 - model.score(X_new, y_new))
        without = [KNeighborsClassifier(k).fit(np.delete(X, i, 0), np.delete(y, i)) for i in range(3)]
        wrong = [without[i].predict(X[[i]])[0] != y[i] for i in range(3)]
        assert left_out[k - 2] == pytest.approx(np.mean(wrong))


@pytest.mark.parametrize("models", [Trees(max_leaves=10), Neighbors(2, 9)], ids=["trees", "neighbours"])
def test_weights_of_new_rows(models, data):
    X, y, X_new, y_new = data
    weight = np.where(y_new == 1, 3.0, 1.0)
    weight /= weight.sum()
    curves = models.on(X, y)
    share = weight[y_new == 1].sum()
    parts = [curves.error_on(X_new[y_new == c], y_new[y_new == c]) for c in (0, 1)]
    assert curves.error_on(X_new, y_new, weight) == pytest.approx((1 - share) * parts[0] + share * parts[1])


def test_optimism_of_labels_against_their_definitions(data):
    """All pairs of label and prediction for permutations, half the correlation for signs."""
    X, y, _, _ = data
    rng = np.random.default_rng(1)
    curves = Neighbors(3, 5).on(X, y)
    permuted, signs = np.stack([rng.permutation(y) for _ in range(3)]), rng.integers(2, size=(3, len(y)))
    for k, found in enumerate(permutation_optimism(curves, y, permuted)):
        fitted = [KNeighborsClassifier(k + 3).fit(X, labels).predict(X) for labels in permuted]
        pairs = [
            np.mean(f[:, None] != y[None]) - np.mean(f != labels) for f, labels in zip(fitted, permuted, strict=True)
        ]
        assert found == pytest.approx(np.mean(pairs))
    for k, found in enumerate(rademacher_optimism(curves, signs)):
        fitted = [KNeighborsClassifier(k + 3).fit(X, labels).predict(X) for labels in signs]
        correlation = [np.mean((2 * f - 1) * (2 * s - 1)) for f, s in zip(fitted, signs, strict=True)]
        assert found == pytest.approx(np.mean(correlation) / 2)


def test_a_tree_that_stops_early_answers_for_larger_sizes():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    curves = Trees(max_leaves=5).on(X, y)
    assert curves.error_on(X, y).tolist() == [0.5, 0, 0, 0, 0]
    assert curves.fits(y[None])[0].tolist() == [[0.5, 0, 0, 0, 0]]


def test_routes_without_the_compiler():
    X = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 3.0]], np.float32)
    tree = np.array([0, 2]), np.array([0, 1]), np.array([1, 4, 3], np.int32), np.array([0, 0, 1, 1, 0])
    rows, labels = np.array([[0.4, 0], [0.6, 9], [9, 3.4]], np.float32), np.array([0, 0, 1])
    for route in (wrong_answers, wrong_answers.py_func):
        wrong = np.zeros(4, np.int64)
        route(X, *tree, rows, labels, wrong)
        assert wrong.tolist() == [1, 1, 0, 0]


def test_ties_go_to_the_last():
    assert last_minimum(np.array([3.0, 1.0, 2.0, 1.0 + 1e-15, 4.0])) == 3


def test_regret_is_a_ratio_of_means():
    regrets = Regrets(("A", "B"), np.array([[0.1, 0.2, 0.1], [0.3, 0.3, 0.5]]))
    assert regrets.regret("A")[0] == pytest.approx(0.1 / 0.4)
    assert regrets.lead("A", "B")[0] == pytest.approx(0.1 / 0.4)
    many = Regrets(("A",), np.random.default_rng(0).uniform(0.5, 1.0, (4000, 2)))
    ratios = [Regrets(("A",), part).regret("A")[0] for part in np.split(many.errors, 40)]
    assert many.regret("A")[1] == pytest.approx(np.std(ratios, ddof=1) / np.sqrt(40), rel=0.35)


def test_estimates_have_one_curve_per_method(data):
    X, y, _, _ = data
    episodes = Budget(labels=3, left_out=4)
    curves = estimates(Trees(max_leaves=6).on(X, y), y, episodes, np.random.default_rng(0))
    assert curves.shape == (len(episodes.methods), 6)
    errors, chosen = one_split(X, y, Trees(max_leaves=6), episodes, np.random.default_rng(0))
    assert errors.shape == (5,)
    assert (errors >= errors[0]).all()
    assert (chosen < 6).all()
