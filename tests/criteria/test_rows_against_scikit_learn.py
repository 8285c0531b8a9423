"""Cross-validation gives the numbers of scikit-learn's own searches, for any splitter and any kind of data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.model_selection import LeaveOneOut as OneOut
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.problem import pose

CANCER = tuple(part[:200] for part in load_breast_cancer(return_X_y=True))
IRIS = load_iris(return_X_y=True)
DIABETES = tuple(part[:60] for part in load_diabetes(return_X_y=True))
CLOUDS = make_classification(150, 6, n_informative=4, n_classes=3, random_state=1)
FOLDS_BY_HAND = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]

CASES = {
    "tree": (DecisionTreeClassifier(random_state=0), CANCER, "max_leaf_nodes", [2, 3, 8], "accuracy", 10),
    "tree, probabilities": (
        DecisionTreeClassifier(random_state=0),
        IRIS,
        "max_leaf_nodes",
        [2, 3, 8],
        "neg_log_loss",
        StratifiedKFold(3),
    ),
    "tree, default": (DecisionTreeClassifier(random_state=0), IRIS, "max_depth", [1, 2, 4], "balanced_accuracy", None),
    "regression tree": (
        DecisionTreeRegressor(random_state=0),
        DIABETES,
        "max_leaf_nodes",
        [2, 5],
        "neg_mean_absolute_error",
        KFold(4, shuffle=True, random_state=3),
    ),
    "neighbours": (KNeighborsClassifier(), CLOUDS, "n_neighbors", [1, 5, 20], "accuracy", 5),
    "neighbours, probabilities": (KNeighborsClassifier(), CLOUDS, "n_neighbors", [5, 20], "roc_auc_ovr", 5),
    "neighbours regression": (KNeighborsRegressor(), DIABETES, "n_neighbors", [1, 5], "r2", 5),
    "ridge": (Ridge(), DIABETES, "alpha", [0.1, 1.0, 10.0], "r2", 7),
    "ridge, one out": (Ridge(), DIABETES, "alpha", [0.1, 1.0], "neg_mean_squared_error", OneOut()),
    "ridge, time": (Ridge(), DIABETES, "alpha", [0.1, 1.0], "neg_mean_squared_error", TimeSeriesSplit(4)),
    "ridge, random": (Ridge(), DIABETES, "alpha", [0.1, 1.0], "r2", ShuffleSplit(3, random_state=0)),
    "pipeline": (
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        CLOUDS,
        "kneighborsclassifier__n_neighbors",
        [1, 5, 20],
        "accuracy",
        5,
    ),
    "pipeline without state": (
        make_pipeline(PolynomialFeatures(2), Ridge()),
        DIABETES,
        "ridge__alpha",
        [0.1, 1.0],
        "r2",
        5,
    ),
    "pipeline with a grid in its head": (
        make_pipeline(PolynomialFeatures(), StandardScaler(), Ridge()),
        DIABETES,
        "polynomialfeatures__degree",
        [1, 2],
        "r2",
        3,
    ),
    "sparse": (
        LogisticRegression(max_iter=500),
        (sparse.csr_matrix(np.where(np.abs(CLOUDS[0]) > 1, CLOUDS[0], 0)), CLOUDS[1]),
        "C",
        [0.1, 1.0],
        "accuracy",
        4,
    ),
    "multiclass, repeated": (
        DecisionTreeClassifier(random_state=0),
        IRIS,
        "max_leaf_nodes",
        [2, 3],
        "accuracy",
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    ),
    "by hand": (Ridge(), DIABETES, "alpha", [1.0], "r2", FOLDS_BY_HAND),
}


@pytest.mark.parametrize("case", CASES)
def test_cross_validation_against_scikit_learn(case):
    estimator, (X, y), parameter, values, scoring, cv = CASES[case]
    problem = pose(estimator, X, y, parameter=parameter, values=values, loss=scoring)
    curve = CrossValidation(cv).curve(problem)
    theirs = GridSearchCV(estimator, {parameter: values}, cv=cv, scoring=scoring).fit(X, y).cv_results_
    at = [theirs["params"].index(setting) for setting in curve.params]
    scale = 1e-9 if "ridge" in case or "state" in case or "hand" in case or "sparse" in case else 0.0
    np.testing.assert_allclose(-curve.out_sample, theirs["mean_test_score"][at], rtol=scale, atol=scale)
    K = len(curve.fold_risks)
    for k in range(K):
        np.testing.assert_allclose(
            -curve.fold_risks[k], theirs[f"split{k}_test_score"][at], rtol=scale, atol=scale, err_msg=f"fold {k}"
        )
    spread = theirs["std_test_score"][at] / np.sqrt(K - 1) if K > 1 else np.nan
    np.testing.assert_allclose(curve.standard_error, spread, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(), DecisionTreeRegressor(max_depth=2, random_state=0)])
def test_data_frames_against_scikit_learn(estimator):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    ours = CrossValidation(4).curve(pose(estimator, X, y, loss="r2"))
    np.testing.assert_allclose(-ours.fold_risks[:, 0], cross_val_score(estimator, X, y, cv=4), rtol=1e-9)


def test_nested_path_costs_one_fit_per_fold():
    problem = pose(DecisionTreeClassifier(random_state=0), *CANCER, parameter="max_leaf_nodes", values=range(2, 12))
    assert CrossValidation(5).curve(problem).n_fits == 6


@pytest.mark.parametrize("splitter", [GroupKFold(4), LeaveOneGroupOut()])
def test_groups_against_scikit_learn(splitter):
    X, y = CLOUDS
    groups = np.arange(len(y)) // 20
    tree = DecisionTreeClassifier(random_state=0)
    problem = pose(tree, X, y, groups=groups, loss="accuracy")
    ours = CrossValidation(splitter).curve(problem)
    theirs = cross_val_score(tree, X, y, groups=groups, cv=splitter)
    np.testing.assert_array_equal(-ours.fold_risks[:, 0], theirs)
    assert ours.notes == ("8 groups are taken as independent, not their rows",)


def test_a_number_of_folds_keeps_groups_together():
    X, y = CLOUDS
    groups = np.repeat(np.arange(30), 5)
    for estimator, labels in ((DecisionTreeClassifier(), y), (Ridge(), X[:, 0])):
        problem = pose(estimator, X, labels, groups=groups, random_state=0)
        for fold in CrossValidation(5).splits(problem).folds:
            assert not set(groups[fold.train]) & set(groups[fold.test])


def test_torn_groups_are_noted():
    X, y = CLOUDS
    problem = pose(KNeighborsClassifier(), X, y, groups=np.repeat(np.arange(30), 5))
    for criterion in (CrossValidation(KFold(4)), LeaveOneOut()):
        assert "both sides" in criterion.curve(problem).notes[0]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("estimator", [Ridge(), DecisionTreeRegressor(max_leaf_nodes=5, random_state=0)])
def test_weights_against_scikit_learn(estimator, fast):
    X, y = DIABETES
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    curve = CrossValidation(5).curve(pose(estimator, X, y, sample_weight=weight, fast=fast))
    means = []
    for train, test in KFold(5).split(X):
        model = clone(estimator).fit(X[train], y[train], sample_weight=weight[train])
        means.append(mean_squared_error(y[test], model.predict(X[test]), sample_weight=weight[test]))
    np.testing.assert_allclose(curve.fold_risks[:, 0], means, rtol=1e-10)
    np.testing.assert_allclose(curve.out_sample, np.mean(means), rtol=1e-10)


def test_weighted_classifier_against_scikit_learn():
    X, y = IRIS
    weight = np.random.default_rng(0).random(len(y))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    curve = CrossValidation(StratifiedKFold(4)).curve(pose(model, X, y, sample_weight=weight))
    accuracies = []
    for train, test in StratifiedKFold(4).split(X, y):
        fitted = clone(model).fit(X[train], y[train], logisticregression__sample_weight=weight[train])
        accuracies.append(accuracy_score(y[test], fitted.predict(X[test]), sample_weight=weight[test]))
    np.testing.assert_allclose(1 - curve.fold_risks[:, 0], accuracies, rtol=1e-12)


@pytest.mark.parametrize("response", ["zero-one", "log"])
def test_out_of_fold_predictions_against_scikit_learn(response):
    X, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    tree = DecisionTreeClassifier(random_state=0)
    values = [2, 3, 6]
    problem = pose(tree, X, names, parameter="max_leaf_nodes", values=values, loss=response)
    kept = CrossValidation(5, keep_predictions=True).curve(problem).out_of_fold
    method = "predict" if response == "zero-one" else "predict_proba"
    for m, value in enumerate(values):
        theirs = cross_val_predict(clone(tree).set_params(max_leaf_nodes=value), X, names, cv=5, method=method)
        ours = problem.target.classes[kept[m]] if response == "zero-one" else kept[m]
        np.testing.assert_array_equal(ours, theirs)


def test_rows_never_tested_have_no_prediction():
    X, y = IRIS
    tree = pose(DecisionTreeClassifier(random_state=0), X, y)
    codes = CrossValidation(TimeSeriesSplit(3), keep_predictions=True).curve(tree).out_of_fold
    assert (codes[0, :38] == -1).all()
    assert (codes[0, 39:] >= 0).all()
    ridge = pose(Ridge(), X, y.astype(float))
    values = LeaveOneOut(7, keep_predictions=True).curve(ridge).out_of_fold
    assert np.isfinite(values).sum() == 7


@pytest.mark.parametrize(("loss", "score"), [("r2", r2_score), ("squared", mean_squared_error)])
@pytest.mark.parametrize("learner", [DecisionTreeRegressor(max_leaf_nodes=5, random_state=0), Ridge()])
def test_pooled_folds_against_scikit_learn(learner, loss, score):
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(4, shuffle=True, random_state=3)
    pooled = CrossValidation(folds, pooled=True)
    found = outsample.estimate(learner, X, y, criterion=pooled, loss=loss, random_state=0)
    assert found.out_sample == pytest.approx(score(y, cross_val_predict(learner, X, y, cv=folds)), rel=1e-9)


def test_pooled_folds_need_every_row_once():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="pooled=True needs folds that leave out every row once, and these do not"):
        outsample.estimate(Ridge(), X, y, criterion=CrossValidation(ShuffleSplit(3), pooled=True))
    with pytest.raises(ValueError, match="pooled=True and correct_bias=True exclude each other"):
        outsample.estimate(Ridge(), X, y, criterion=CrossValidation(3, pooled=True, correct_bias=True))
