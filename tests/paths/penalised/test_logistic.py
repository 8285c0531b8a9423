from __future__ import annotations

import numpy as np
import pytest
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, binary, smooth_table, three_classes, weights
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from outsample.paths.dispatch import find_path
from outsample.paths.penalised.logistic import LogisticPath
from outsample.paths.refit import RefitDesign, RefitPath

pytestmark = pytest.mark.usefixtures("one_thread")

CS = [0.1, 0.001, 100.0, 1.0, 0.1]
NEWTON = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
SAGA = {"solver": "saga", "tol": 1e-14, "max_iter": 1_000_000, "random_state": 0}


@pytest.mark.parametrize("labels", [binary, three_classes])
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
@pytest.mark.parametrize("weighted", [False, True])
def test_l2_against_scikit_learn_solved_tightly(labels, table, weighted):
    X, X_new = table()
    path = LogisticPath(LogisticRegression(**NEWTON), "C", CS)
    check_contract(path, X, labels(X), X_new, weight=weights(len(X)) if weighted else None, n_draws=2)


@pytest.mark.parametrize("labels", [binary, three_classes])
def test_l2_through_the_origin(labels):
    X, X_new = smooth_table()
    through_origin = LogisticRegression(solver="newton-cg", fit_intercept=False, tol=1e-13, max_iter=1000)
    check_contract(LogisticPath(through_origin, "C", CS), X, labels(X), X_new, n_draws=2)


@pytest.mark.parametrize("labels", [binary, three_classes])
def test_l2_close_to_the_default_solver(labels):
    """Its line search ends where the objective no longer changes, some 1e-7 from the optimum."""
    X, X_new = smooth_table()
    y = labels(X)
    classes = np.unique(y)
    default = LogisticRegression(tol=1e-10, max_iter=10_000)
    ours = LogisticPath(default, "C", CS).bind(X, classes).predict(y, X_new, "predict_proba")
    theirs = RefitPath(default, "C", CS).bind(X, classes).predict(y, X_new, "predict_proba")
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("mix", [1.0, 0.5])
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_l1_against_scikit_learn_solved_tightly(mix, table):
    X, X_new = table()
    # Stronger penalties leave no coefficient, and saga then stops before its intercept has converged.
    path = LogisticPath(LogisticRegression(l1_ratio=mix, **SAGA), "C", [10.0, 1.0, 2.0])
    check_contract(path, X, binary(X), X_new, n_draws=2, responses=["predict", "decision_function"])


def test_l1_without_any_coefficient_is_the_share_of_each_class():
    X, _ = smooth_table()
    y = np.arange(60) % 4 // 3
    path = LogisticPath(LogisticRegression(l1_ratio=1.0, solver="saga"), "C", [1e-4])
    fitted = path.bind(X, np.array([0, 1])).predict(y, X, "predict_proba")
    np.testing.assert_allclose(fitted[0, :, 1], 0.25, rtol=1e-12)


@pytest.mark.parametrize("labels", [binary, three_classes])
def test_more_columns_than_rows_separable_labels(labels):
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(25, 60)), rng.normal(size=(7, 60))
    solver = LogisticRegression(solver="newton-cg", tol=1e-13, max_iter=10_000)
    path = LogisticPath(solver, "C", [0.01, 1.0, 1000.0])
    check_contract(path, X, labels(X), X_new, n_draws=2, responses=["predict", "predict_proba"])


def test_string_labels_and_sparse():
    X, X_new = smooth_table()
    path = LogisticPath(LogisticRegression(**NEWTON), "C", CS)
    names = np.array(["amber", "blue", "cyan"])
    check_contract(path, X, three_classes(X), X_new, classes=names, n_draws=2)
    newton_cg = LogisticRegression(solver="newton-cg", tol=1e-13, max_iter=1000)
    check_contract(LogisticPath(newton_cg, "C", CS), sparse.csr_array(X), binary(X), sparse.csr_array(X_new), n_draws=2)


def test_draws_that_lack_a_class():
    X, _ = smooth_table(n=30)
    classes = np.array(["a", "b", "c"])
    Y = np.stack([three_classes(X), np.where(binary(X) == 1, 2, 0), np.full(30, 1)])
    estimator = LogisticRegression(**NEWTON)
    ours = LogisticPath(estimator, "C", CS).bind(X, classes)
    theirs = RefitPath(estimator, "C", CS).bind(X, classes)
    for response in sorted(LogisticPath.responses):
        assert_equal_predictions(ours.fitted(Y, response), theirs.fitted(Y, response), response)


@pytest.mark.parametrize("case", ["l1, three classes", "no penalty", "wide"])
def test_what_is_left_to_scikit_learn(case):
    X, _ = smooth_table()
    estimator = LogisticRegression(solver="saga", l1_ratio=1.0 if case.startswith("l1") else 0.0)
    Cs = [1.0, np.inf] if case == "no penalty" else [1.0]
    table = {"wide": np.ones((70, 70))}.get(case, X)
    assert isinstance(LogisticPath(estimator, "C", Cs).bind(table, np.arange(3)), RefitDesign)


def test_served_or_left_to_refits():
    assert find_path(LogisticRegression()).params == ({"C": 1.0},)
    assert find_path(LogisticRegression(solver="saga", l1_ratio=1.0), "C", [1, 2]).name == "LogisticPath"
    for options in ({"solver": "liblinear"}, {"class_weight": "balanced"}, {"l1_ratio": 1.0}):
        assert find_path(LogisticRegression(**options), "C", [1, 2]).name == "RefitPath"
    assert find_path(LogisticRegression(), "tol", [1e-3, 1e-4]).name == "RefitPath"
