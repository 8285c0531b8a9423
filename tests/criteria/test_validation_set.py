"""A given validation set, the variance over folds and bags, and Burman's correction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import Bootstrap, CrossValidation, GridSearch, estimate, validate
from outsample.criteria.base import as_criterion
from outsample.problem import pose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
NAMES = np.array(["no", "yes"])[(X[:, 0] + 0.8 * RNG.normal(size=90) > 0).astype(int)]
REAL = X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=90)
T, V = np.arange(60), np.arange(60, 90)


@pytest.mark.parametrize(
    ("learner", "grid"),
    [
        (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 3, 5, 9]}),
        (KNeighborsClassifier(), {"n_neighbors": [1, 3, 9]}),
        (RandomForestClassifier(4), {"max_depth": [1, 3]}),
    ],
)
def test_validation_against_fits_to_the_training_set(learner, grid):
    found = validate(learner, grid, X[T], NAMES[T], X[V], NAMES[V])
    assert found.risk == np.mean(found.predictor.predict(X[V]) != NAMES[V]) == found.curve.out_sample.min()
    again = found.curve.params.index(found.best_params)
    assert found.curve.in_sample[again] == np.mean(found.predictor.predict(X[T]) != NAMES[T])


def test_the_chosen_predictor_is_the_fit_to_the_training_set_and_the_refit_has_both():
    found = validate(Ridge(), {"alpha": [0.01, 1.0, 100.0]}, X[T], REAL[T], X[V], REAL[V])
    alpha = found.best_params["alpha"]
    risks = {a: np.mean((Ridge(alpha=a).fit(X[T], REAL[T]).predict(X[V]) - REAL[V]) ** 2) for a in (0.01, 1.0, 100.0)}
    assert alpha == min(risks, key=risks.get)
    assert found.risk == pytest.approx(risks[alpha])
    np.testing.assert_allclose(found.predictor.coef_, Ridge(alpha=alpha).fit(X[T], REAL[T]).coef_)
    np.testing.assert_allclose(found.refitted.coef_, Ridge(alpha=alpha).fit(X, REAL).coef_)


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse.csr_matrix, np.ndarray.tolist])
def test_tables_of_any_kind(kind):
    found = validate(LogisticRegression(), {"C": [0.1, 10.0]}, kind(X[T]), list(NAMES[T]), kind(X[V]), list(NAMES[V]))
    assert found.refitted.predict(kind(X)).shape == (90,)


def test_predefined_split_gives_the_same_risks():
    fold = np.where(np.arange(90) < 60, -1, 0)
    grid = {"max_leaf_nodes": [2, 3, 5, 9]}
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearch(tree, grid, criterion=CrossValidation(PredefinedSplit(fold))).fit(X, NAMES)
    found = validate(tree, grid, X[T], NAMES[T], X[V], NAMES[V])
    np.testing.assert_allclose(search.curve_.out_sample, found.curve.out_sample)


def test_bad_validation_sets_are_named():
    with pytest.raises(ValueError, match="X has 30 rows and y has 60 labels"):
        validate(Ridge(), {"alpha": [1.0]}, X[T], REAL[T], X[V], REAL[T])
    with pytest.raises(ValueError, match="not among the classes"):
        validate(LogisticRegression(), {"C": [1.0]}, X[T], NAMES[T], X[V], ["maybe"] * 30)


@pytest.mark.parametrize(
    ("learner", "grid"),
    [
        (Ridge(), {"alpha": [0.1, 1.0]}),
        (Lasso(), {"alpha": [0.1, 1.0]}),
        (LinearRegression(), {"fit_intercept": [True]}),
        (DecisionTreeRegressor(), {"max_leaf_nodes": [2, 3]}),
    ],
)
def test_validation_sets_with_other_columns_are_refused(learner, grid):
    asked = {"refit": False, "random_state": 0}
    with pytest.raises(ValueError, match=f"ValidationSet: X has 1 columns, the data have {X.shape[1]}"):
        validate(learner, grid, X[T], REAL[T], X[V][:, :1], REAL[V], **asked)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    turned = frame[frame.columns[::-1]]
    with pytest.raises(ValueError, match=r"ValidationSet: X has columns .* in this order"):
        validate(learner, grid, frame.iloc[T], REAL[T], turned.iloc[V], REAL[V], **asked)


def test_variance_over_folds_against_the_algorithm():
    # Algorithm 2 of the notes: sums of risks and of their squares.
    K = 15
    folds = list(KFold(K, shuffle=True, random_state=3).split(X))
    total, squares = 0.0, 0.0
    for train, test in folds:
        risk = np.mean((LinearRegression().fit(X[train], REAL[train]).predict(X[test]) - REAL[test]) ** 2)
        total, squares = total + risk, squares + risk**2
    found = estimate(LinearRegression(), X, REAL, criterion=CrossValidation(folds))
    assert found.out_sample == pytest.approx(total / K)
    assert found.fold_variance == pytest.approx((squares - total**2 / K) / (K - 1))
    assert found.standard_error == pytest.approx(np.sqrt(found.fold_variance / K))


def test_bootstrap_over_bags_against_a_loop():
    problem = pose(DecisionTreeClassifier(max_depth=2, random_state=0), X, NAMES, random_state=1)
    by_bags = Bootstrap(20, "bags").curve(problem)
    # The same bags, so that their risks can be had one by one from scikit-learn.
    from outsample.criteria.bootstrap import BAGS
    from outsample.resampling.bags import draw_bags, drawing_units
    from outsample.running.run import ROW_SPLITS, child_seed

    bags = draw_bags(drawing_units(90, None), 20, child_seed(problem.seed, ROW_SPLITS, BAGS))
    risks = []
    for bag in bags:
        inside, out = np.repeat(np.arange(90), bag), bag == 0
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[inside], NAMES[inside])
        risks.append(np.mean(tree.predict(X[out]) != NAMES[out]))
    assert by_bags.out_sample[0] == pytest.approx(np.mean(risks))
    assert by_bags.fold_variance[0] == pytest.approx(np.var(risks, ddof=1))
    assert by_bags.out_sample[0] != Bootstrap(20).curve(problem).out_sample[0]
    assert as_criterion("bag-bootstrap").name == "bag-bootstrap"


def burman(learner, X, y, folds):
    """The formula, written out with scikit-learn."""
    whole = learner.fit(X, y).predict(X)
    cv, over_all = [], []
    for train, test in folds:
        predicted = learner.fit(X[train], y[train]).predict(X)
        cv.append(np.mean((predicted[test] - y[test]) ** 2))
        over_all.append(np.mean((predicted - y) ** 2))
    return np.mean(cv) + np.mean((whole - y) ** 2) - np.mean(over_all)


@pytest.mark.parametrize("learner", [LinearRegression(), Ridge(alpha=5.0)])
def test_corrected_cross_validation_against_the_formula(learner):
    folds = list(KFold(5).split(X))
    found = estimate(learner, X, REAL, criterion=CrossValidation(folds, correct_bias=True))
    assert found.out_sample == pytest.approx(burman(learner, X, REAL, folds))
    assert found.n_fits == 6
    plain = estimate(learner, X, REAL, criterion=CrossValidation(folds))
    assert found.fold_variance == pytest.approx(plain.fold_variance)


def test_correction_removes_the_bias_of_two_folds_by_simulation():
    # Least squares, p normal columns, n rows: the expected error is (1 + 1/n)(n − 2)/(n − p − 2), far more at n/2 rows.
    rng = np.random.default_rng(2)
    n, p, reps = 40, 5, 300
    plain, corrected = [], []
    for _ in range(reps):
        Z = rng.normal(size=(n, p))
        y = rng.normal(size=n)
        options = {"loss": "squared", "random_state": 0}
        plain.append(estimate(LinearRegression(), Z, y, criterion=CrossValidation(2), **options).out_sample)
        with_correction = CrossValidation(2, correct_bias=True)
        corrected.append(estimate(LinearRegression(), Z, y, criterion=with_correction, **options).out_sample)
    truth = (1 + 1 / n) * (n - 2) / (n - p - 2)
    error = np.std(corrected) / np.sqrt(reps)
    assert np.mean(plain) - truth > 0.1
    assert abs(np.mean(corrected) - truth) < abs(np.mean(plain) - truth) / 2 + 3 * error


def test_a_corrected_search_scores_by_the_corrected_risk():
    grid = {"alpha": [0.1, 10.0]}
    search = GridSearch(Ridge(), grid, criterion=CrossValidation(3, correct_bias=True), loss="squared").fit(X, REAL)
    assert search.best_score_ == pytest.approx(-search.curve_.out_sample.min())


def test_names_are_public():
    assert {"validate", "Validation", "ValidationSet"} <= set(dir(outsample))
