from __future__ import annotations

import pickle

import numpy as np
import pytest
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights, with_holes
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from outsample.data.learners import FitError
from outsample.paths.dispatch import find_path
from outsample.paths.ensembles import StagedPath
from outsample.paths.refit import RefitPath

pytestmark = pytest.mark.usefixtures("one_thread")

SIZES = [8, 1, 3, 3]
SMALL_LEAVES = {"min_samples_leaf": 4, "random_state": 0}

CLASSIFIERS = {
    "gradient boosting": (GradientBoostingClassifier(random_state=0, max_depth=2), "n_estimators"),
    "stochastic": (
        GradientBoostingClassifier(random_state=0, subsample=0.6, max_features=2, max_depth=2),
        "n_estimators",
    ),
    "stopped early": (
        GradientBoostingClassifier(random_state=0, n_iter_no_change=2, learning_rate=0.5),
        "n_estimators",
    ),
    "from zero": (GradientBoostingClassifier(random_state=0, init="zero", max_depth=2), "n_estimators"),
    "from a model": (
        GradientBoostingClassifier(random_state=0, init=LogisticRegression(), max_depth=2),
        "n_estimators",
    ),
    "histograms": (HistGradientBoostingClassifier(early_stopping=False, **SMALL_LEAVES), "max_iter"),
    "histograms, columns drawn": (
        HistGradientBoostingClassifier(max_features=0.5, **SMALL_LEAVES),
        "max_iter",
    ),
    "histograms stopped early": (
        HistGradientBoostingClassifier(early_stopping=True, n_iter_no_change=2, learning_rate=0.5, **SMALL_LEAVES),
        "max_iter",
    ),
    "histograms stopped by accuracy": (
        HistGradientBoostingClassifier(early_stopping=True, scoring="accuracy", n_iter_no_change=3, **SMALL_LEAVES),
        "max_iter",
    ),
    "balanced histograms": (
        HistGradientBoostingClassifier(class_weight="balanced", **SMALL_LEAVES),
        "max_iter",
    ),
    "adaboost": (AdaBoostClassifier(random_state=0), "n_estimators"),
    "adaboost of random trees": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, splitter="random"), random_state=0),
        "n_estimators",
    ),
}
REGRESSORS = {
    "gradient boosting": (GradientBoostingRegressor(random_state=0, max_depth=2), "n_estimators"),
    "quantile": (
        GradientBoostingRegressor(random_state=0, loss="quantile", subsample=0.7, max_depth=2),
        "n_estimators",
    ),
    "histograms": (HistGradientBoostingRegressor(**SMALL_LEAVES), "max_iter"),
    "histograms, absolute error": (
        HistGradientBoostingRegressor(loss="absolute_error", **SMALL_LEAVES),
        "max_iter",
    ),
    "adaboost": (AdaBoostRegressor(random_state=0), "n_estimators"),
    "adaboost, square": (AdaBoostRegressor(random_state=0, loss="square", learning_rate=0.5), "n_estimators"),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    ("table", "labels", "responses"),
    [(smooth_table, three_classes, None), (awkward_table, binary, ["predict"])],
    ids=["smooth, three classes", "awkward, two classes"],
)
def test_classifiers_against_scikit_learn(name, table, labels, responses):
    estimator, parameter = CLASSIFIERS[name]
    X, X_new = table()
    check_contract(StagedPath(estimator, parameter, SIZES), X, labels(X), X_new, responses=responses, n_draws=2)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_regressors_against_scikit_learn(name, table):
    estimator, parameter = REGRESSORS[name]
    X, X_new = table()
    check_contract(StagedPath(estimator, parameter, SIZES), X, real(X), X_new, responses=["predict"])


@pytest.mark.parametrize("name", ["stochastic", "histograms", "adaboost"])
def test_weights_and_string_labels(name):
    estimator, parameter = CLASSIFIERS[name]
    X, X_new = smooth_table()
    check_contract(
        StagedPath(estimator, parameter, SIZES),
        X,
        three_classes(X),
        X_new,
        classes=np.array(["amber", "blue", "cyan"]),
        weight=weights(len(X)),
    )


@pytest.mark.parametrize("name", ["quantile", "histograms", "adaboost"])
def test_weighted_regressors(name):
    estimator, parameter = REGRESSORS[name]
    X, X_new = smooth_table()
    path = StagedPath(estimator, parameter, SIZES)
    check_contract(path, X, real(X), X_new, responses=["predict"], weight=weights(len(X)))


def test_missing_values_in_histograms():
    X, X_new = smooth_table()
    estimator = HistGradientBoostingClassifier(**SMALL_LEAVES)
    check_contract(StagedPath(estimator, "max_iter", SIZES), with_holes(X), binary(X), with_holes(X_new), n_draws=2)


@pytest.mark.parametrize("name", ["gradient boosting", "adaboost"])
def test_sparse_and_single_precision(name):
    estimator, parameter = CLASSIFIERS[name]
    X, X_new = awkward_table()
    for cast in (sparse.csr_array, lambda t: t.astype(np.float32)):
        check_contract(StagedPath(estimator, parameter, SIZES), cast(X), binary(X), cast(X_new), n_draws=2)


def test_more_rows_than_automatic_early_stopping_allows():
    X, X_new = smooth_table(n=10_050, p=3)
    estimator = HistGradientBoostingRegressor(random_state=0, n_iter_no_change=1, max_leaf_nodes=4)
    path = StagedPath(estimator, "max_iter", [4, 30])
    check_contract(path, X, real(X), X_new, n_draws=2, responses=["predict"])


def test_perfect_fit_ends_adaboost_before_the_smallest_model():
    X = np.arange(8.0)[:, None]
    y = (X[:, 0] > 3).astype(int)
    check_contract(StagedPath(AdaBoostClassifier(random_state=0), "n_estimators", [2, 5]), X, y, n_draws=1)
    path = StagedPath(AdaBoostRegressor(random_state=0), "n_estimators", [2, 5])
    check_contract(path, X, X[:, 0], n_draws=1, responses=["predict"])


def test_draws_that_lack_a_class_are_aligned_as_refitting_aligns_them():
    X, X_new = smooth_table(n=30)
    classes = np.array(["a", "b", "c"])
    Y = np.stack([three_classes(X), np.where(binary(X) == 1, 2, 0), np.full(30, 1)])
    estimator = GradientBoostingClassifier(random_state=0, max_depth=1)
    ours = StagedPath(estimator, "n_estimators", [1, 4]).bind(X, classes)
    theirs = RefitPath(estimator, "n_estimators", [1, 4]).bind(X, classes)
    for response in sorted(StagedPath.responses):
        assert_equal_predictions(ours.fitted(Y, response), theirs.fitted(Y, response), response)
        for y in Y:
            assert_equal_predictions(ours.predict(y, X_new, response), theirs.predict(y, X_new, response), response)


def test_seeds_reach_an_unset_random_state():
    X, _ = smooth_table()
    estimator = GradientBoostingClassifier(subsample=0.5, max_depth=2)
    Y = np.stack([binary(X)] * 2)
    ours = StagedPath(estimator, "n_estimators", SIZES).bind(X, np.array([0, 1]))
    theirs = RefitPath(estimator, "n_estimators", SIZES).bind(X, np.array([0, 1]))
    first = ours.fitted(Y, "predict_proba", seeds=[7, 8])
    assert_equal_predictions(first, theirs.fitted(Y, "predict_proba", seeds=[7, 8]))
    assert not np.array_equal(first[0], first[1])


def test_design_survives_pickling():
    X, X_new = smooth_table()
    design = StagedPath(GradientBoostingRegressor(random_state=0), "n_estimators", [2, 4]).bind(X)
    copy = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(copy.predict(real(X), X_new), design.predict(real(X), X_new))


def test_served_or_left_to_refits():
    class Own(AdaBoostClassifier):
        pass

    assert find_path(AdaBoostClassifier()).params == ({"n_estimators": 50},)
    assert find_path(HistGradientBoostingRegressor(), "max_iter", [3, 4]).name == "StagedPath"
    assert find_path(HistGradientBoostingRegressor(), "learning_rate", [0.1, 0.2]).name == "RefitPath"
    assert find_path(Own(), "n_estimators", [2, 3]).name == "RefitPath"


def test_sizes_are_sorted_and_must_be_whole_numbers():
    path = StagedPath(AdaBoostClassifier(), "n_estimators", [9, 2, 9])
    assert [p["n_estimators"] for p in path.params] == [2, 9, 9]
    with pytest.raises(ValueError, match="at least 1"):
        StagedPath(AdaBoostClassifier(), "n_estimators", [0, 2])


def test_a_learner_that_fails_says_so():
    X, _ = smooth_table()
    design = StagedPath(GradientBoostingRegressor(learning_rate=-1.0), "n_estimators", [2]).bind(X)
    with pytest.raises(FitError, match="GradientBoostingRegressor"):
        design.predict(real(X), X)
