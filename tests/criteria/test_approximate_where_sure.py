"""Approximate leave-one-out where it has no row in doubt, against refits without each row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import HuberRegressor, Lasso, LogisticRegression, PoissonRegressor
from sklearn.svm import LinearSVC, LinearSVR

from outsample import GridSearch, estimate

pytestmark = pytest.mark.filterwarnings("ignore")


def refitted(model, X, y, loss):
    risks = []
    for i in range(len(y)):
        model.fit(np.delete(X, i, 0), np.delete(y, i))
        log = -model.predict_log_proba(X[[i]])[0, y[i]] if loss == "log" else 0.0
        risks.append(log if loss == "log" else (model.predict(X[[i]])[0] - y[i]) ** 2)
    return np.mean(risks)


@pytest.mark.parametrize("kind", ["l1 by liblinear", "poisson"])
def test_risks_without_doubt_against_refits(kind):
    """liblinear's penalised constant may leave the model; lbfgs may stop early on columns of unlike scales."""
    rng, sure = np.random.default_rng(3), 0
    for k in range(12):
        n, C = int(rng.integers(8, 16)), 10 ** rng.uniform(-0.5, 1.5)
        X = rng.normal(size=(n, 2))
        y, loss = (rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int), "log"
        y[:4] = [0, 1, 0, 1]
        model, grid = LogisticRegression(penalty="l1", solver="liblinear", tol=1e-8, max_iter=20000), {"C": [C]}
        if kind == "poisson":
            X, y, loss = X * 10 ** rng.uniform(-2, 2, 2) ** (k % 2), rng.poisson(1.5, n) + 0.0, "squared"
            model, grid = PoissonRegressor(), {"alpha": [1 / C / n]}
        search = GridSearch(model, grid, criterion="alo", loss=loss, refit=False, random_state=0).fit(X, y)
        if search.curve_.in_doubt[0] == 0:
            sure += 1
            exact = refitted(model.set_params(**{name: values[0] for name, values in grid.items()}), X, y, loss)
            assert search.curve_.out_sample[0] == pytest.approx(exact, rel=0.01)
    assert sure > 4


def test_a_fit_that_is_not_at_its_minimum_is_in_doubt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1.0, 30.0, 0.1]
    y = rng.poisson(np.exp(X[:, 0])) + 0.0
    for tol, doubtful in ((1.0, True), (1e-9, False)):
        grid = {"alpha": [1e-3]}
        model = PoissonRegressor(tol=tol, max_iter=10000)
        search = GridSearch(model, grid, criterion="alo", refit=False, random_state=0).fit(X, y)
        assert (search.curve_.in_doubt[0] == 40) == doubtful


def test_huber_regression_with_more_columns_than_rows_has_an_estimate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(23, 55))
    y = X[:, 0] + rng.normal(size=23)
    assert np.isfinite(estimate(HuberRegressor(alpha=0.1, max_iter=5000), X, y, random_state=0).out_sample)


def test_weighted_medians_of_a_lasso_have_an_estimate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y, weight = X[:, 0] + rng.normal(size=30), rng.random(30)
    options = {"criterion": "alo", "loss": "neg_median_absolute_error", "sample_weight": weight}
    assert np.isfinite(estimate(Lasso(0.1), X, y, **options).out_sample)


def test_squared_tubes_without_doubt_against_refits():
    """Steps with one Hessian for all rows may stop shrinking where rows pass the edge of the tube."""
    rng, sure = np.random.default_rng(2), 0
    for _ in range(25):
        n, p, C = int(rng.integers(8, 15)), int(rng.integers(2, 6)), 10 ** rng.uniform(-0.5, 2)
        X = rng.normal(size=(n, p))
        y, width = X[:, 0] + rng.normal(size=n), rng.uniform(0.2, 1)
        model = LinearSVR(loss="squared_epsilon_insensitive", dual=False, epsilon=width, C=C, tol=1e-8, max_iter=50000)
        search = GridSearch(model, {"C": [C]}, criterion="alo", loss="squared", refit=False, random_state=0).fit(X, y)
        if search.curve_.in_doubt[0] == 0:
            sure += 1
            assert search.curve_.out_sample[0] == pytest.approx(refitted(model, X, y, "squared"), rel=0.01)
    assert sure > 15


def test_sparse_support_vectors_without_doubt_against_refits():
    """Without a row the L1 objective may have no curvature in some direction, and predictions no bounds."""
    rng, apart = np.random.default_rng(1), []
    for _ in range(20):
        n = int(rng.integers(8, 14))
        X, y = rng.normal(size=(n, 4)), np.arange(n) % 2
        model = LinearSVC(penalty="l1", dual=False, C=30.0, tol=1e-6, max_iter=20000, random_state=0)
        search = GridSearch(model, {"C": [30.0]}, criterion="alo", loss="zero-one", refit=False).fit(X, y)
        if search.curve_.in_doubt[0] == 0:
            wrong = np.mean(
                [model.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] != y[i] for i in range(n)]
            )
            apart.append(abs(search.curve_.out_sample[0] - wrong))
    assert len(apart) > 5
    assert max(apart) < 1e-9


def test_huber_regression_that_reproduces_its_labels_is_in_doubt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 30))
    y = X[:, 0] + rng.normal(size=15)
    model = HuberRegressor(alpha=1e-3, epsilon=1.1, max_iter=5000)
    search = GridSearch(model, {"alpha": [1e-3]}, criterion="alo", refit=False, random_state=0).fit(X, y)
    assert search.curve_.in_doubt[0] == 15
