"""Leave-one-out, hold-out and folds from one fit: against refits, R, statsmodels and the definitions."""

from __future__ import annotations

import json
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, PredefinedSplit, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch
from outsample.criteria.cross_validation import CrossValidation, HoldOut
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.paths.linear.ridge import KernelRidgePath, RidgeClassifierPath, RidgePath
from outsample.paths.neighbors.votes import NeighborsPath
from outsample.paths.refit import PipelinePath
from outsample.problem import pose

REFERENCE = Path(__file__).parents[1] / "reference"
R = json.loads((REFERENCE / "rows_r.json").read_text())
PRESS = json.loads((REFERENCE / "press.json").read_text())
CARS = {name: np.array([car[name] for car in R["cars"]]) for name in ("mpg", "wt", "hp", "qsec", "am")}
CARS_X = np.column_stack([CARS["wt"], CARS["hp"], CARS["qsec"]])
DIABETES = tuple(part[:80] for part in load_diabetes(return_X_y=True))
CLOUDS = make_classification(90, 5, n_informative=3, n_classes=3, n_redundant=0, random_state=2)
ALPHAS = [10.0, 1.0, 0.01]


def drawn_folds() -> list[tuple[np.ndarray, np.ndarray]]:
    number = np.array(R["folds"])
    return [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in np.unique(number)]


def test_least_squares_against_R():
    problem = pose(LinearRegression(), CARS_X, CARS["mpg"])
    assert LeaveOneOut().curve(problem).out_sample[0] == pytest.approx(R["loo"], rel=1e-12)
    assert CrossValidation(drawn_folds()).curve(problem).out_sample[0] == pytest.approx(R["kfold"], rel=1e-12)


def test_logistic_regression_against_R():
    model = make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000))
    problem = pose(model, CARS["wt"][:, None], CARS["am"])
    assert LeaveOneOut().curve(problem).out_sample[0] == pytest.approx(R["logistic_loo"], abs=1e-12)
    kfold = CrossValidation(drawn_folds()).curve(problem)
    assert kfold.out_sample[0] == pytest.approx(R["logistic_kfold"], abs=1e-12)


def test_neighbours_against_R():
    X, y = np.array(R["cloud"]), np.array(R["label"])
    problem = pose(KNeighborsClassifier(), X, y)
    fast = problem.over(NeighborsPath(KNeighborsClassifier(), "n_neighbors", R["k"]))
    curve = LeaveOneOut().curve(fast)
    np.testing.assert_allclose(curve.out_sample[::-1], R["knn_errors"], atol=1e-12)
    assert curve.n_fits == 1


def test_press_against_statsmodels():
    problem = pose(Ridge(alpha=0.0), CARS_X, CARS["mpg"])
    curve = LeaveOneOut(keep_predictions=True).curve(problem.over(RidgePath(Ridge(), "alpha", [0.0])))
    np.testing.assert_allclose(CARS["mpg"] - curve.out_of_fold[0], PRESS["resid_press"], rtol=1e-9)
    assert len(CARS["mpg"]) * curve.out_sample[0] == pytest.approx(PRESS["press"], rel=1e-10)


def shortcut_paths():
    squares = make_pipeline(PolynomialFeatures(2), Ridge())
    return {
        "ridge": (DIABETES, RidgePath(Ridge(), "alpha", ALPHAS)),
        "ridge, no intercept": (DIABETES, RidgePath(Ridge(fit_intercept=False), "alpha", ALPHAS)),
        "kernel ridge": (DIABETES, KernelRidgePath(KernelRidge(kernel="rbf", gamma=5.0), "alpha", ALPHAS)),
        "ridge classifier": (CLOUDS, RidgeClassifierPath(RidgeClassifier(), "alpha", ALPHAS)),
        "neighbours": (CLOUDS, NeighborsPath(KNeighborsClassifier(), "n_neighbors", [1, 4, 15])),
        "neighbours regression": (DIABETES, NeighborsPath(KNeighborsRegressor(), "n_neighbors", [1, 4, 15])),
        "behind a stateless head": (
            DIABETES,
            PipelinePath(squares, squares[:1], "ridge__", RidgePath(Ridge(), "alpha", ALPHAS)),
        ),
    }


SHORTCUTS = shortcut_paths()
FOLDS = {
    "loo": LeaveOneOut(keep_predictions=True),
    "some": LeaveOneOut(11, keep_predictions=True),
    "kfold": CrossValidation(KFold(7, shuffle=True, random_state=1), keep_predictions=True),
}


@pytest.mark.parametrize("criterion", FOLDS)
@pytest.mark.parametrize("family", SHORTCUTS)
def test_left_out_rows_against_brute_force(family, criterion):
    (X, y), path = SHORTCUTS[family]
    problem = pose(path.estimator, X, y, random_state=3).over(path)
    curve = FOLDS[criterion].curve(problem)
    assert curve.n_fits == 1
    for m, setting in enumerate(curve.params):
        expected = np.full(len(y), -1 if problem.target.classes is not None else np.nan)
        for fold in FOLDS[criterion].splits(problem).folds:
            model = clone(path.estimator).set_params(**setting).fit(X[fold.train], y[fold.train])
            expected[fold.test] = model.predict(X[fold.test])
        np.testing.assert_allclose(curve.out_of_fold[m], expected, rtol=1e-8, err_msg=str(setting))


def test_weighted_leave_one_out_against_brute_force():
    X, y = DIABETES
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    problem = pose(Ridge(), X, y, sample_weight=weight)
    curve = LeaveOneOut().curve(problem.over(RidgePath(Ridge(), "alpha", ALPHAS)))
    for m, setting in enumerate(curve.params):
        losses = np.empty(len(y))
        for i in range(len(y)):
            rest = np.delete(np.arange(len(y)), i)
            model = Ridge(**setting).fit(X[rest], y[rest], sample_weight=weight[rest])
            losses[i] = (y[i] - model.predict(X[[i]])[0]) ** 2
        assert curve.out_sample[m] == pytest.approx(np.average(losses, weights=weight), rel=1e-8)


@pytest.mark.parametrize("head", [MinMaxScaler(), FunctionTransformer(lambda X: X - X.mean(axis=0))])
def test_a_head_that_sees_other_rows_is_refitted(head):
    X, y = DIABETES
    model = make_pipeline(head, Ridge())
    path = PipelinePath(model, model[:1], "ridge__", RidgePath(Ridge(), "alpha", [0.1, 1.0]))
    curve = CrossValidation(4).curve(pose(model, X, y).over(path))
    assert curve.n_fits == 5
    slow = CrossValidation(4).curve(pose(model, X, y, parameter="ridge__alpha", values=[0.1, 1.0], fast=False))
    np.testing.assert_allclose(curve.out_sample, slow.out_sample, rtol=1e-9)


def test_folds_that_drop_training_rows_are_refitted():
    X, y = DIABETES
    gap = [(np.setdiff1d(np.arange(80), np.r_[test, test[-1] + 1]), test) for test in np.split(np.arange(80), 4)]
    problem = pose(Ridge(), X, y)
    curve = CrossValidation(gap).curve(problem.over(RidgePath(Ridge(), "alpha", [1.0])))
    assert curve.n_fits == 5


def test_scorer_judges_left_out_predictions_together():
    X, y = DIABETES
    curve = LeaveOneOut(keep_predictions=True).curve(pose(Ridge(), X, y, loss="r2"))
    assert -curve.out_sample[0] == pytest.approx(r2_score(y, curve.out_of_fold[0]), rel=1e-12)
    assert curve.standard_error[0] == pytest.approx(error_of_r2(y, curve.out_of_fold[0]), rel=1e-9)


def error_of_r2(y, predicted):
    """By the delta method: r2 is one minus a ratio of two means."""
    base = np.square(y - y.mean())
    apart = (np.square(y - predicted) - (1 - r2_score(y, predicted)) * base) / base.mean()
    return apart.std(ddof=1) / np.sqrt(len(y))


def test_error_bars_against_their_definitions():
    X, y = DIABETES
    problem = pose(Ridge(), X, y, random_state=0)
    kept = LeaveOneOut(keep_predictions=True).curve(problem)
    losses = (y - kept.out_of_fold[0]) ** 2
    assert kept.standard_error[0] == pytest.approx(stats.sem(losses), rel=1e-12)
    some = LeaveOneOut(10, keep_predictions=True).curve(problem).estimate(0)
    assert np.hypot(some.standard_error, some.monte_carlo_error) == pytest.approx(
        stats.sem(losses[LeaveOneOut(10)._left_out(problem)]), rel=1e-9
    )
    naive, corrected = (CrossValidation(8, error=kind).curve(problem) for kind in ("naive", "nadeau-bengio"))
    variance = np.var(naive.fold_risks[:, 0], ddof=1)
    assert naive.standard_error[0] ** 2 == pytest.approx(variance / 8, rel=1e-12)
    assert corrected.standard_error[0] ** 2 == pytest.approx((1 / 8 + 10 / 70) * variance, rel=1e-12)
    low, high = naive.estimate(0).interval(0.9, method="normal")
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.95, 7) * naive.standard_error[0], rel=1e-12)


def test_hold_out_against_its_definition():
    X, y = CLOUDS
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    problem = pose(tree, X, y, random_state=5)
    curve = HoldOut(0.3).curve(problem)
    fold = HoldOut(0.3).splits(problem).folds[0]
    assert np.bincount(y[fold.test]).tolist() == [9, 9, 9]
    wrong = clone(tree).fit(X[fold.train], y[fold.train]).predict(X[fold.test]) != y[fold.test]
    assert curve.out_sample[0] == pytest.approx(wrong.mean(), abs=1e-15)
    assert curve.standard_error[0] == pytest.approx(stats.sem(wrong), rel=1e-12)
    assert curve.n_fits == 2
    low, high = curve.estimate(0).interval(0.95, method="hoeffding")
    assert (high - low) / 2 == pytest.approx(np.sqrt(np.log(2 / 0.05) / (2 * 27)), rel=1e-12)


def test_hold_out_keeps_groups_together():
    X, y = CLOUDS
    groups = np.arange(90) // 9
    fold = HoldOut(0.3).splits(pose(DecisionTreeClassifier(), X, y, groups=groups)).folds[0]
    assert len(np.unique(groups[fold.test])) == 3
    assert not set(groups[fold.train]) & set(groups[fold.test])


def test_in_sample_is_that_of_the_fit_to_all_rows():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    whole = 1 - clone(tree).fit(X, y).score(X, y)
    for criterion in (HoldOut(), CrossValidation(3), LeaveOneOut(5)):
        curve = criterion.curve(pose(tree, X, y, random_state=0))
        assert curve.in_sample[0] == pytest.approx(whole, abs=1e-15)
        np.testing.assert_allclose(curve.in_sample + curve.optimism, curve.out_sample, atol=1e-15)


CHANCY = {
    "shuffled": CrossValidation(StratifiedKFold(3, shuffle=True)),
    "random": CrossValidation(ShuffleSplit(3)),
    "holdout": HoldOut(),
    "loo": LeaveOneOut(6),
}


@pytest.mark.parametrize("criterion", CHANCY)
def test_the_seed_decides_every_random_split(criterion):
    X, y = CLOUDS
    tree = DecisionTreeClassifier(max_leaf_nodes=5, max_features=2)
    first, again, other = (CHANCY[criterion].curve(pose(tree, X, y, random_state=s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.fold_risks, again.fold_risks)
    assert first.fold_risks.shape != other.fold_risks.shape or (first.fold_risks != other.fold_risks).any()


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 2), ("threading", 5), ("loky", 2)])
def test_bits_do_not_depend_on_workers(backend, n_jobs):
    X, y = CLOUDS
    model = make_pipeline(StandardScaler(), LogisticRegression())
    curves = []
    for jobs in (1, n_jobs):
        problem = pose(model, X, y, parameter="logisticregression__C", values=[0.1, 1.0], loss="log", n_jobs=jobs)
        with joblib.parallel_backend(backend, n_jobs=jobs):
            curves.append(CrossValidation(6).curve(problem))
    np.testing.assert_array_equal(curves[0].fold_risks, curves[1].fold_risks)


def test_progress_counts_fits():
    X, y = CLOUDS
    seen = []
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    problem = pose(tree, X, y, progress=lambda done, planned: seen.append((done, planned)))
    curve = CrossValidation(4).curve(problem)
    assert seen[-1] == (curve.n_fits, curve.n_fits)
    assert [done for done, _ in seen] == [2, 3, 4, 5]


def test_a_single_fold_has_the_error_of_its_rows():
    """Folds cannot be compared with each other; the losses of the rows left out are there all the same."""
    X, y = make_classification(120, random_state=0)
    fold = PredefinedSplit(np.r_[np.full(80, -1), np.zeros(40)])
    grid = {"n_neighbors": [1, 5, 15]}
    search = GridSearch(KNeighborsClassifier(), grid, criterion=CrossValidation(fold)).fit(X, y)
    known = search.curve_.left_out.losses[:, 80:]
    assert search.curve_.standard_error == pytest.approx(known.std(axis=1, ddof=1) / np.sqrt(40))
    low, high = search.estimate_.interval()
    assert low < search.estimate_.out_sample < high
    search = GridSearch(KNeighborsClassifier(), grid, cv=fold, rule="one-standard-error").fit(X, y)
    risk = search.curve_.out_sample
    within = risk <= risk.min() + search.curve_.standard_error[risk.argmin()]
    assert search.best_params_ == search.curve_.params[int(np.flatnonzero(within)[0])]
