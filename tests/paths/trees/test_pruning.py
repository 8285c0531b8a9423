"""Trees by depth and by cost-complexity pruning, against scikit-learn's own fits."""

from __future__ import annotations

import numpy as np
import pytest
from contract import check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights, with_holes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample.paths.base import Design
from outsample.paths.dispatch import find_path
from outsample.paths.refit import RefitPath
from outsample.paths.trees.pruning import DepthPath, PruningPath


@pytest.mark.parametrize("weighted", [False, True])
def test_depth_of_regressor(weighted):
    X, X_new = awkward_table(150)
    y = real(X) + 0.01 * np.arange(150)
    path = find_path(DecisionTreeRegressor(random_state=0, min_samples_leaf=2), "max_depth", [3, 1, None, 8])
    assert isinstance(path, DepthPath)
    check_contract(path, X, y, X_new, responses=["predict"], weight=weights(150) if weighted else None)


def test_depth_of_classifier():
    X, X_new = smooth_table(400)
    path = find_path(DecisionTreeClassifier(random_state=0, criterion="entropy"), "max_depth", [1, 2, 3])
    check_contract(path, X, binary(X), X_new)
    check_contract(path, X, three_classes(X), X_new, classes=np.array(["a", "b", "c"]))


def test_full_depth_fits_every_distinct_row():
    X, _ = smooth_table(300)
    y = np.random.default_rng(0).integers(0, 3, 300)
    design = find_path(DecisionTreeClassifier()).bind(X, np.arange(3))
    np.testing.assert_array_equal(design.fitted(y[None])[0, 0], y)


def test_depth_with_missing_values_is_refitted():
    X, X_new = awkward_table(80)
    path = find_path(DecisionTreeClassifier(random_state=0), "max_depth", [1, 3])
    check_contract(path, with_holes(X), binary(X), with_holes(X_new))


def test_depth_statistics():
    X, _ = awkward_table(90)
    Y = np.stack([np.random.default_rng(s).permutation(three_classes(X)) for s in range(3)])
    design = find_path(DecisionTreeClassifier(), "max_depth", [1, 2, 5, None]).bind(X, np.arange(3), weights(90))
    np.testing.assert_allclose(design.confusions(Y), Design.confusions(design, Y), atol=1e-12)
    values = find_path(DecisionTreeRegressor(), "max_depth", [1, 2, 5, None]).bind(X)
    np.testing.assert_allclose(values.moments(1.0 * Y, 0.4), Design.moments(values, 1.0 * Y, 0.4), atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_features=2),
        DecisionTreeClassifier(splitter="random"),
        DecisionTreeClassifier(max_leaf_nodes=5),
        DecisionTreeClassifier(ccp_alpha=0.1),
        DecisionTreeRegressor(criterion="absolute_error"),
    ],
)
def test_depths_that_are_not_nested_are_refitted(estimator):
    assert isinstance(find_path(estimator, "max_depth", [1, 2]), RefitPath)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(random_state=0, criterion="entropy", max_leaf_nodes=15),
        DecisionTreeClassifier(random_state=0, splitter="random", class_weight="balanced"),
        DecisionTreeRegressor(random_state=0),
        DecisionTreeRegressor(random_state=0, criterion="absolute_error", max_features=2),
    ],
)
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_pruning(estimator, table):
    X, X_new = table(90)
    is_classifier = isinstance(estimator, DecisionTreeClassifier)
    y = three_classes(X) if is_classifier else real(X)
    labels = np.array(["a", "b", "c"])[y] if is_classifier else y
    own = estimator.cost_complexity_pruning_path(X, labels).ccp_alphas
    alphas = [0.0, *own, *(0.5 * (own[1:] + own[:-1])), 1e3]
    path = find_path(estimator, "ccp_alpha", [abs(a) for a in alphas])
    assert isinstance(path, PruningPath)
    responses = ["predict", "predict_proba"] if is_classifier else ["predict"]
    classes = np.array(["a", "b", "c"]) if is_classifier else None
    check_contract(path, X, y, X_new, classes=classes, responses=responses, n_draws=2)


def test_pruning_statistics_and_weights():
    X, _ = awkward_table(90)
    y, weight = binary(X), weights(90)
    path = find_path(DecisionTreeClassifier(random_state=0), "ccp_alpha", [0.0, 0.01, 0.1])
    check_contract(path, X, y, weight=weight)
    design = path.bind(X, np.arange(2), weight)
    np.testing.assert_allclose(design.confusions(y[None]), Design.confusions(design, y[None]), atol=1e-12)


def test_single_settings_find_their_path():
    assert isinstance(find_path(DecisionTreeClassifier(ccp_alpha=0.1)), PruningPath)
    assert isinstance(find_path(DecisionTreeClassifier(max_depth=3)), DepthPath)
