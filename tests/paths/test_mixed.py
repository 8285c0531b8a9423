"""Values that a fast path does not accept are refitted, beside those it accepts."""

from __future__ import annotations

import numpy as np
import pytest
from contract import check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import CrossValidation, GridSearch
from outsample.paths.dispatch import find_path
from outsample.paths.refit import MixedPath, RefitPath

LEAVES = [9, None, 2, 40, 5]


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (DecisionTreeClassifier(random_state=0), binary),
        (DecisionTreeClassifier(criterion="entropy", random_state=0), three_classes),
        (DecisionTreeRegressor(random_state=0), real),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_predictions_as_scikit_learn(estimator, labels, weighted):
    X, X_new = smooth_table(50)
    # Real values and real weights leave no two splits with the same gain; without, one draw has none.
    draws = 3 if labels is real or weighted else 1
    path = find_path(estimator, "max_leaf_nodes", LEAVES)
    assert isinstance(path, MixedPath)
    assert [params["max_leaf_nodes"] for params in path.params] == [2, 5, 9, 40, None]
    assert path.complexity.tolist() == [2, 5, 9, 40, np.inf]
    responses = ["predict"] if labels is real else None
    weight = weights(50) if weighted else None
    check_contract(path, X, labels(X), X_new, responses=responses, weight=weight, n_draws=draws)


@pytest.mark.parametrize("labels", [binary, real])
def test_counts_and_moments_follow_the_predictions(labels):
    X, _ = smooth_table(50)
    estimator = (DecisionTreeRegressor if labels is real else DecisionTreeClassifier)(random_state=0)
    classes = None if labels is real else np.arange(2)
    design = find_path(estimator, "max_leaf_nodes", LEAVES).bind(X, classes)
    Y = np.stack([labels(X), np.random.default_rng(0).permutation(labels(X))])
    fitted = design.fitted(Y)
    if labels is real:
        np.testing.assert_allclose(design.moments(Y, 0.5)[..., 0], ((Y[:, None] - fitted) ** 2).mean(axis=2))
        np.testing.assert_allclose(design.moments(Y, 0.5)[..., 1], ((fitted - 0.5) ** 2).mean(axis=2))
    else:
        right = np.trace(design.confusions(Y), axis1=2, axis2=3)
        np.testing.assert_allclose(right, (Y[:, None] == fitted).mean(axis=2))


@pytest.mark.parametrize("piped", [False, True])
def test_cross_validation_equals_grid_search_to_the_last_digit(piped):
    X, _ = awkward_table(60)
    y, tree = three_classes(X), DecisionTreeClassifier(random_state=0)
    estimator = make_pipeline(StandardScaler(), tree) if piped else tree
    grid = {"decisiontreeclassifier__max_leaf_nodes" if piped else "max_leaf_nodes": LEAVES}
    folds = KFold(5, shuffle=True, random_state=0)
    ours = GridSearch(estimator, grid, criterion=CrossValidation(folds), random_state=0).fit(X, y)
    theirs = GridSearchCV(estimator, grid, cv=folds).fit(X, y)
    assert ours.path_ == "TreePath, RefitPath"
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_one_value_served_is_not_worth_it():
    assert isinstance(find_path(DecisionTreeClassifier(), "max_leaf_nodes", [None, 3]), RefitPath)


def test_values_without_an_order_are_all_refitted():
    assert isinstance(find_path(DecisionTreeClassifier(), "max_leaf_nodes", [2, 3, "many"]), RefitPath)
