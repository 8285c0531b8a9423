"""No sudden rise of cost: processor time against a peer's in the same run, with wide margins."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import GridSearch, estimate
from outsample.data.steps import alike
from outsample.losses.base import Loss
from outsample.losses.pointwise import AbsoluteLoss, CallableLoss, LogLoss
from outsample.paths.trees.cuts import NodeTable, confusions_of

LEAVES = {"max_leaf_nodes": [2, 5, 10, 50, 100, 200, 400]}


def seconds(work):
    """Processor seconds of the faster of two runs; a first one compiles what is to be compiled."""
    work()
    return min(processor_time(work) for _ in range(2))


def processor_time(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def many_classes(n=800, n_classes=400):
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return 3 * rng.normal(size=(n_classes, 8))[y] + rng.normal(size=(n, 8)), y


def searching(learner, grid, X, y, criterion="permutation", **settings):
    return lambda: GridSearch(learner, grid, criterion=criterion, random_state=0, **settings).fit(X, y)


def test_eleven_trees_of_400_classes_cost_tens_of_fits_and_not_hundreds():
    X, y = many_classes()
    tree = DecisionTreeClassifier(random_state=0)
    assert seconds(searching(tree, LEAVES, X, y)) < 60 * seconds(lambda: tree.fit(X, y))


def most_memory(work):
    """The most bytes in use at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_neighbours_of_400_classes_take_no_memory_for_all_pairs_of_classes():
    work = searching(KNeighborsClassifier(), {"n_neighbors": list(range(1, 21))}, *many_classes())
    work()
    assert most_memory(work) < 100 * 2**20


def test_trees_of_many_leaves_take_no_memory_for_all_pairs_of_classes_in_every_leaf():
    rng = np.random.default_rng(0)
    n_leaves, n_classes = 2000, 80
    sums = np.vstack([np.zeros((1, n_classes)), rng.integers(0, 9, (n_leaves, n_classes))])
    sums[0] = sums[1:].sum(axis=0)
    nodes = NodeTable(np.zeros(n_leaves + 1, np.intp), sums.argmax(axis=1), sums.sum(axis=1), sums)
    kept = np.ones((1, n_leaves + 1), bool)
    assert most_memory(lambda: confusions_of(nodes, kept)) < 20 * 2**20
    right = sums[1:].max(axis=1).sum() / sums[0].sum()
    assert np.trace(confusions_of(nodes, kept)[0]) == pytest.approx(right)


@pytest.mark.parametrize("n_classes", [30, 60])
def test_many_classes_are_judged_like_few(n_classes):
    """Below and above the number of classes whose pairs are more than the rows."""
    X, y = many_classes(1500, n_classes)
    cost = 1.0 - np.eye(n_classes)
    by_matrix, by_name = (
        GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, loss=loss, criterion="permutation", random_state=0)
        .fit(X, y)
        .curve_
        for loss in (cost, "zero-one")
    )
    np.testing.assert_allclose(by_name.draws, by_matrix.draws, atol=1e-12)


def disagreement(y, prediction):
    return (y != prediction).astype(float)


def distance(y, prediction):
    return np.abs(y - prediction)


def test_a_function_of_class_labels_costs_about_what_zero_one_costs():
    X, y = many_classes(3000, 3)
    tree, grid = DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": list(range(2, 12))}
    named = np.array(["a", "b", "c"])[y]
    by_name, by_function = (searching(tree, grid, X, named, loss=loss) for loss in ("zero-one", disagreement))
    np.testing.assert_allclose(by_function().curve_.draws, by_name().curve_.draws, atol=1e-12)
    assert seconds(by_function) < 10 * seconds(by_name)


def test_a_function_of_numbers_costs_about_what_the_absolute_loss_costs():
    X = np.random.default_rng(0).normal(size=(4000, 5))
    y = X[:, 0] + np.random.default_rng(1).normal(size=4000)
    tree, grid = DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": list(range(2, 12))}
    by_name, by_function = (searching(tree, grid, X, y, loss=loss) for loss in ("absolute", distance))
    np.testing.assert_allclose(by_function().curve_.out_sample, by_name().curve_.out_sample, rtol=0.01)
    assert seconds(by_function) < 20 * seconds(by_name)


@pytest.mark.parametrize(("n", "pool_size"), [(3000, 3000), (3000, 700), (20_000, 20_000), (3000, 3)])
def test_sampled_pairs_are_close_to_all_pairs(n, pool_size):
    rng = np.random.default_rng(0)
    pool, prediction, weight = rng.exponential(size=pool_size), rng.exponential(size=(2, n)), rng.uniform(size=n)
    sampled = CallableLoss(distance).crossed_mean(pool, prediction, weight)
    np.testing.assert_allclose(sampled, AbsoluteLoss().crossed_mean(pool, prediction, weight), rtol=0.005)


def test_expected_log_loss_looks_at_every_probability_once():
    rng = np.random.default_rng(0)
    shares, prediction = rng.dirichlet(np.ones(30), 20), rng.dirichlet(np.ones(30), (4, 20))
    np.testing.assert_array_equal(LogLoss().expected(shares, prediction), Loss.expected(LogLoss(), shares, prediction))


def test_labels_drawn_around_a_reference_cost_what_permuted_ones_do_for_log_loss():
    knn, grid = KNeighborsClassifier(), {"n_neighbors": list(range(1, 11))}
    permuted, drawn = (
        seconds(searching(knn, grid, *many_classes(600, 200), loss="log", criterion=criterion))
        for criterion in ("permutation", "two-stage")
    )
    assert drawn < 4 * permuted


def test_approximate_leave_one_out_of_150_classes_costs_a_hundred_fits_at_most():
    X, y = many_classes(600, 150)
    learner = LogisticRegression(max_iter=1000)
    assert seconds(lambda: estimate(learner, X, y, loss="log", criterion="alo")) < 100 * seconds(
        lambda: learner.fit(X, y)
    )


@pytest.mark.parametrize("lengths", [np.ones(30), np.logspace(0, 9, 30)], ids=["in many units", "beyond all digits"])
def test_quadratic_discriminants_cost_about_what_the_search_they_replace_does(lengths):
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"reg_param": np.linspace(0.02, 1.0, 20)}
    theirs = GridSearchCV(QuadraticDiscriminantAnalysis(), grid, cv=5, refit=False)
    ours = searching(QuadraticDiscriminantAnalysis(), grid, X * lengths, y, "auto", refit=False)
    assert seconds(ours) < 3 * seconds(lambda: theirs.fit(X * lengths, y))


@pytest.mark.parametrize(
    ("learner", "grid"), [(LogisticRegression(), {"C": [0.01, 0.1, 1, 10]}), (Lasso(), {"alpha": [0.001, 0.002, 0.01]})]
)
@pytest.mark.parametrize("criterion", ["permutation", "kfold"])
def test_wide_sparse_text_is_not_slower_on_its_path(learner, grid, criterion):
    X = sparse.random(300, 6000, 0.003, format="csr", random_state=0)
    total = np.asarray(X[:, :600].sum(axis=1)).ravel()
    y = (total > np.median(total)).astype(int) if isinstance(learner, LogisticRegression) else total
    on, off = (seconds(searching(learner, grid, X, y, criterion, fast=fast)) for fast in (True, False))
    assert on < 2 * off


def test_sparse_tables_are_compared_as_dense_ones_are():
    first = sparse.random(50, 40, 0.1, format="csr", random_state=0)
    second, third = first.copy(), first.copy()
    second.data[0] *= 1 + 1e-12
    third.data[0] *= 1 + 1e-6
    for other in (second, third, first[:-1], sparse.csr_matrix(first.shape)):
        assert alike(first, other) == alike(first.toarray(), other.toarray())
