"""Folds where classes are rare, and where the rows come sorted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_regression
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import CrossValidation, GridSearch
from outsample.cli.grammar import criterion_of
from outsample.criteria.base import as_criterion
from outsample.problem import pose

X, y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(0, 0.01, X.shape)
# Three rows of one class, one row of another.
RARE = np.where(np.arange(150) < 3, 3, y)
RARE[140] = 4
LEARNERS = {
    "tree": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 5, 9]}),
    "depth": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 4]}),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 4, 9]}),
    "ridge": (RidgeClassifier(), {"alpha": [0.1, 10.0]}),
    "logistic": (LogisticRegression(max_iter=2000), {"C": [0.1, 1.0]}),
    "Bayes": (GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_rare_classes_are_scored_with_a_warning_as_in_grid_search_cv(learner):
    estimator, grid = LEARNERS[learner]
    with pytest.warns(UserWarning, match="The least populated class in y has only 1 members"):
        ours = GridSearch(estimator, grid, criterion=CrossValidation(5)).fit(X, RARE).cv_results_
    with pytest.warns(UserWarning, match="The least populated class in y has only 1 members"):
        theirs = GridSearchCV(estimator, grid, cv=5).fit(X, RARE).cv_results_
    np.testing.assert_allclose(ours["mean_test_score"], theirs["mean_test_score"], rtol=0, atol=1e-12)


def test_rare_classes_under_a_permutation_test_are_warned_of():
    with pytest.warns(UserWarning, match="The least populated class"):
        outsample.permutation_test(GaussianNB(), X, RARE, cv=5, n_draws=2, random_state=0)


def test_the_name_means_shuffled_stratified_folds_seeded_with_the_problem():
    problem = pose(GaussianNB(), X, y, random_state=3)
    folds = as_criterion("kfold").splits(problem).folds
    theirs = StratifiedKFold(10, shuffle=True)
    assert [np.bincount(y[fold.test]).tolist() for fold in folds] == [[5, 5, 5]] * len(folds)
    assert len(folds) == theirs.n_splits
    assert any(np.ptp(fold.test) > 120 for fold in folds)
    again = as_criterion("kfold").splits(pose(GaussianNB(), X, y, random_state=3)).folds
    other = as_criterion("kfold").splits(pose(GaussianNB(), X, y, random_state=4)).folds
    assert all(np.array_equal(a.test, b.test) for a, b in zip(folds, again, strict=True))
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(folds, other, strict=True))


def test_a_sorted_file_is_no_harder_than_a_shuffled_one():
    rows, values = make_regression(120, 3, noise=20.0, random_state=0)
    order = np.argsort(values)
    tree = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0)
    shuffled = KFold(10, shuffle=True, random_state=0)
    usual = -cross_val_score(tree, rows, values, cv=shuffled, scoring="neg_mean_squared_error").mean()
    by_name, by_number = (
        outsample.estimate(tree, rows[order], values[order], criterion=criterion, random_state=0).out_sample
        for criterion in ("kfold", CrossValidation(10))
    )
    assert by_name == pytest.approx(usual, rel=0.25)
    assert by_number > 1.3 * usual


@pytest.mark.parametrize("classifier", [True, False])
def test_a_number_of_folds_keeps_those_of_scikit_learn(classifier):
    learner, labels = (GaussianNB(), y) if classifier else (DecisionTreeRegressor(), X[:, 0])
    ours = CrossValidation(5).splits(pose(learner, X, labels)).folds
    theirs = (StratifiedKFold(5) if classifier else KFold(5)).split(X, labels)
    assert all(np.array_equal(fold.test, test) for fold, (_, test) in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("learner", [GaussianNB(), DecisionTreeRegressor()])
def test_shuffled_folds_keep_groups_whole(learner):
    groups = np.arange(150) // 6
    problem = pose(learner, X, y, groups=groups, random_state=0)
    folds = CrossValidation(5, shuffle=True).splits(problem).folds
    assert not any(np.intersect1d(groups[fold.train], groups[fold.test]).size for fold in folds)
    plain = [test for _, test in GroupKFold(5).split(X, y, groups)]
    assert not all(np.array_equal(fold.test, test) for fold, test in zip(folds, plain, strict=True))


def test_the_command_line_shuffles_too():
    assert criterion_of("kfold:cv=5").shuffle
    assert criterion_of("kfold:5").shuffle
