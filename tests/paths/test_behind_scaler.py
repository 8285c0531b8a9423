"""Rows left out behind a StandardScaler that is fitted anew without them, against refits of the whole pipeline."""

import numpy as np
import pandas as pd
import pytest
from brute_force import refitted_left_out
from contract import assert_equal_predictions, setting_id
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

from outsample import CrossValidation, GridSearch, estimate
from outsample.data.scalers import rescaling
from outsample.paths.dispatch import find_path

ALPHAS = [1e-2, 10.0, 1e4]


def _table(kind, n=40, p=5):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 10, p)
    if kind == "constant":
        X[:, 1] = 0.1
    elif kind == "large means":
        X += 1e6
    elif kind == "one row varies":
        X[:, 2], X[7, 2] = 0.3, 5.0
    elif kind == "dependent":
        X[:, 3] = X[:, 0] + X[:, 1]
    elif kind == "heavy tails":
        X = rng.standard_t(1.5, size=(n, p))
    elif kind == "nearly as many columns":
        X = rng.normal(size=(n, 28))
    return X


TABLES = ["plain", "constant", "large means", "one row varies", "dependent", "heavy tails", "nearly as many columns"]


def _folds(n):
    return [np.arange(n)[::-1].copy(), np.random.default_rng(0).integers(0, 5, n)]


def _check(path, X, y, folds, response="predict", classes=None, weight=None, within=1e-9):
    design = path.bind(X, classes, weight)
    assert design.abilities.leaves_out
    ours = design.left_out_predictions(y, folds, response)
    if ours is None:
        # A column that varies in one row alone: the whole table is refitted.
        assert np.ptp(X[:, 2]) > np.ptp(np.delete(X[:, 2], 7)) == 0
        return
    theirs = refitted_left_out(path, X, y, folds, response, classes, weight)
    assert_equal_predictions(ours, theirs, within=within)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_against_refits(kind, weighted):
    X = _table(kind)
    rng = np.random.default_rng(1)
    y = X @ rng.normal(size=(X.shape[1], 2)) + rng.normal(size=(len(X), 2)) + 100
    weight = rng.uniform(0.1, 3, len(X)) if weighted else None
    path = find_path(make_pipeline(StandardScaler(), Ridge()), "ridge__alpha", ALPHAS)
    for folds in _folds(len(X)):
        _check(path, X, y, folds, weight=weight)


@pytest.mark.parametrize("kind", TABLES)
def test_many_alphas_against_refits(kind):
    X = _table(kind)
    y = X.sum(axis=1) + np.random.default_rng(1).normal(size=len(X))
    path = find_path(make_pipeline(StandardScaler(), Ridge()), "ridge__alpha", np.logspace(-2, 5, 25).tolist())
    _check(path, X, y, np.arange(len(X)))


@pytest.mark.parametrize(
    ("scaler", "ridge"),
    [({"with_mean": False}, {}), ({"with_std": False}, {}), ({"with_mean": False}, {"fit_intercept": False})],
    ids=setting_id,
)
def test_options_against_refits(scaler, ridge):
    X = _table("constant")
    y = X.sum(axis=1) + np.random.default_rng(1).normal(size=len(X))
    path = find_path(make_pipeline(StandardScaler(**scaler), Ridge(**ridge)), "ridge__alpha", ALPHAS)
    for folds in [*_folds(len(X)), np.arange(len(X)) // 2]:
        _check(path, X, y, folds)


def test_steps_that_treat_rows_alone_before_the_scaler_against_refits():
    X = _table("plain", p=3)
    y = X[:, 0] ** 2 + X[:, 1]
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), Ridge())
    path = find_path(pipeline, "ridge__alpha", [0.1, 10.0])
    for folds in _folds(len(X)):
        _check(path, X, y, folds)


def test_single_rows_far_from_the_others_are_solved_directly_and_near_ones_in_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    X[:40] *= 8
    y = X @ rng.normal(size=6) + rng.normal(size=800)
    path = find_path(make_pipeline(StandardScaler(), Ridge()), "ridge__alpha", [1e-3, 1.0, 1e3, 1e6])
    few = np.where(np.arange(800) % 20 == 0)[0]
    ours = path.bind(X).left_out_predictions(y, np.arange(800))
    for row in few:
        train = np.delete(np.arange(800), row)
        models = [make_pipeline(StandardScaler(), Ridge(setting["ridge__alpha"])) for setting in path.params]
        theirs = [model.fit(X[train], y[train]).predict(X[[row]])[0] for model in models]
        np.testing.assert_allclose(ours[:, row], theirs, rtol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "values", "columns"),
    [
        (make_pipeline(StandardScaler(), Ridge(fit_intercept=False)), ALPHAS, 5),
        (make_pipeline(StandardScaler(), Ridge()), ALPHAS, 80),
        (make_pipeline(MinMaxScaler(), Ridge()), ALPHAS, 5),
    ],
)
def test_what_has_no_shortcut_is_refitted_fold_by_fold(estimator, values, columns):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, columns)), rng.normal(size=60)
    path = find_path(estimator, "ridge__alpha", values)
    assert not path.bind(X).abilities.leaves_out
    assert path.bind(X).left_out_predictions(y, np.arange(60) % 5) is None
    grid = {"ridge__alpha": values}
    ours = GridSearch(estimator, grid, criterion=CrossValidation(5), loss="r2", refit=False).fit(X, y)
    theirs = GridSearchCV(estimator, grid, cv=5, scoring="r2", refit=False).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-9)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()], ids=str)
def test_least_squares_against_refits(kind, scaler):
    X = _table(kind)
    rng = np.random.default_rng(1)
    y, weight = X.sum(axis=1) + rng.normal(size=len(X)), rng.uniform(0.1, 3, len(X))
    path = find_path(make_pipeline(scaler, LinearRegression()))
    singles, five = _folds(len(X))
    _check(path, X, y, singles)
    _check(path, X, y, five, weight=weight)


def test_clipped_columns_are_no_change_of_units():
    X = _table("plain")
    design = find_path(make_pipeline(MinMaxScaler(clip=True), LinearRegression())).bind(X)
    assert not design.abilities.leaves_out


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_ridge_classifier_against_refits(n_classes):
    X, rng = _table("constant"), np.random.default_rng(2)
    classes = np.array(["a", "b", "c", "d"])[:n_classes]
    y = rng.integers(0, min(n_classes, 3), len(X))
    if n_classes == 4:
        # The only row of its class: without it the other models lack the class.
        y[5] = 3
    X[:, 0] += 3 * y
    path = find_path(
        make_pipeline(StandardScaler(), RidgeClassifier()), "ridgeclassifier__alpha", ALPHAS, response="predict"
    )
    for folds, weight in zip(_folds(len(X)), (None, rng.uniform(0.1, 3, len(X))), strict=True):
        _check(path, X, y, folds, classes=classes, weight=weight)
        if n_classes < 4:
            _check(path, X, y, folds, "decision_function", classes, weight)


@pytest.mark.parametrize("kind", ["constant", "one row varies", "heavy tails"])
def test_neighbours_of_single_rows_against_refits(kind):
    X, rng = _table(kind), np.random.default_rng(4)
    codes = rng.integers(0, 3, len(X))
    voting = make_pipeline(StandardScaler(), KNeighborsClassifier())
    path = find_path(voting, "kneighborsclassifier__n_neighbors", [1, 5, 39])
    _check(path, X, codes, np.arange(len(X))[::-1], "predict_proba", np.arange(3))


@pytest.mark.parametrize(
    ("scaler", "options"),
    [({}, {"weights": "distance"}), ({"with_mean": False}, {"algorithm": "kd_tree"}), ({"with_std": False}, {})],
    ids=setting_id,
)
def test_options_of_neighbours_of_single_rows_against_refits(scaler, options):
    X = _table("one row varies")
    y = np.random.default_rng(4).normal(size=(len(X), 2))
    averaging = make_pipeline(StandardScaler(**scaler), KNeighborsRegressor(**options))
    path = find_path(averaging, "kneighborsregressor__n_neighbors", [1, 7, 30])
    _check(path, X, y, np.arange(len(X)))


def test_neighbours_by_other_metrics_have_no_shortcut():
    X = _table("plain")
    path = find_path(make_pipeline(StandardScaler(), KNeighborsRegressor(p=1)), "kneighborsregressor__n_neighbors", [3])
    assert not path.bind(X).abilities.leaves_out


@pytest.mark.parametrize("kind", ["plain", "constant", "one row varies"])
def test_the_scaler_without_each_fold_against_scikit_learn(kind):
    X = _table(kind)
    scaler = StandardScaler().fit(X)
    for folds in _folds(len(X)):
        scales = rescaling(scaler, scaler.transform(X), folds)
        for k in range(len(scales.scale)):
            theirs = StandardScaler().fit(X[scales.fold != k])
            np.testing.assert_allclose(scales.scale[k] * scaler.scale_, theirs.scale_, rtol=1e-12)
            np.testing.assert_array_equal(scales.constant[k], np.ptp(X[scales.fold != k], axis=0) == 0)


def test_searches_equal_grid_search_cv_for_data_frames_weights_and_classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 4)) * [1, 10, 100, 0], columns=list("abcd"))
    y = X.to_numpy() @ [1, 0.5, 0.01, 0] + rng.normal(size=120)
    labels, weight = np.array(["u", "v", "w"])[np.digitize(y, [-1, 1])], rng.uniform(0.5, 2, 120)
    for learner, target in ((Ridge(), y), (RidgeClassifier(), labels)):
        name = type(learner).__name__.lower()
        pipeline, grid = make_pipeline(StandardScaler(), learner), {f"{name}__alpha": [0.01, 1, 100]}
        ours = GridSearch(pipeline, grid, criterion=CrossValidation(5), refit=False).fit(X, target)
        theirs = GridSearchCV(pipeline, grid, cv=5, refit=False).fit(X, target)
        for column in ("mean_test_score", "std_test_score"):
            np.testing.assert_allclose(ours.cv_results_[column], theirs.cv_results_[column], rtol=1e-9)
        assert ours.n_fits_ == 1
    weighted = estimate(make_pipeline(StandardScaler(), Ridge()), X, y, sample_weight=weight, criterion="loo")
    losses = []
    for i in range(120):
        train = np.delete(np.arange(120), i)
        model = make_pipeline(StandardScaler(), Ridge())
        model.fit(X.iloc[train], y[train], ridge__sample_weight=weight[train])
        losses.append((model.predict(X.iloc[[i]])[0] - y[i]) ** 2)
    np.testing.assert_allclose(weighted.out_sample, np.average(losses, weights=weight), rtol=1e-9)


def test_auto_leaves_single_rows_out_behind_a_scaler():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    grid = {"kneighborsclassifier__n_neighbors": [1, 5]}
    search = GridSearch(make_pipeline(StandardScaler(), KNeighborsClassifier()), grid, criterion="auto", random_state=0)
    search.fit(X, y)
    assert search.curve_.criterion == "loo"
    assert search.curve_.n_fits == 1
