"""Leave-one-out of a user's own objective, against refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from outsample import quadratic_leave_one_out

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
REAL = X[:, 0] + RNG.standard_t(3, size=60)
SIGN = np.where(X[:, 0] + RNG.normal(size=60) > 0, 1.0, 0.0)


def half_square(y, p):
    return (y - p) ** 2 / 2


def logistic(y, p):
    return np.logaddexp(0, p) - y * p


def pseudo_huber(y, p):
    return np.sqrt(1 + (y - p) ** 2) - 1


@pytest.mark.parametrize(("learner", "penalty"), [(LinearRegression(), 0.0), (Ridge(alpha=3.0), 3.0)])
def test_squared_loss_is_exact_against_refits(learner, penalty):
    found = quadratic_leave_one_out(half_square, X, REAL, penalty=penalty)
    np.testing.assert_allclose(found.left_out, cross_val_predict(learner, X, REAL, cv=LeaveOneOut()), atol=1e-6)
    np.testing.assert_allclose(found.coef, learner.fit(X, REAL).coef_, atol=1e-7)
    assert found.intercept == pytest.approx(learner.intercept_, abs=1e-7)


def test_given_derivatives_make_squared_loss_exact_to_rounding():
    derivatives = {"first": lambda y, p: p - y, "second": lambda y, p: np.ones_like(p)}
    found = quadratic_leave_one_out(half_square, X, REAL, **derivatives)
    expected = cross_val_predict(LinearRegression(), X, REAL, cv=LeaveOneOut())
    np.testing.assert_allclose(found.left_out, expected, atol=1e-11)


def test_logistic_fit_against_scikit_learn():
    found = quadratic_leave_one_out(logistic, X, SIGN, penalty=1.0)
    model = LogisticRegression(C=1.0, tol=1e-10).fit(X, SIGN)
    np.testing.assert_allclose(found.coef, model.coef_[0], atol=1e-5)
    exactly = LogisticRegression(C=1.0, tol=1e-8)
    refits = cross_val_predict(exactly, X, SIGN, cv=LeaveOneOut(), method="decision_function")
    assert np.abs(found.left_out - refits).max() < 0.1 * np.abs(found.fitted - refits).max()


def refit_without(i, loss, penalty):
    keep = np.arange(60) != i
    Z = np.column_stack([np.ones(60), X])

    def objective(beta):
        return loss(REAL[keep], Z[keep] @ beta).sum() + penalty / 2 * beta[1:] @ beta[1:]

    return Z[i] @ minimize(objective, np.zeros(4), tol=1e-12, method="BFGS", options={"gtol": 1e-8}).x


def test_own_loss_against_refits_by_scipy():
    found = quadratic_leave_one_out(pseudo_huber, X, REAL, penalty=0.5)
    refits = np.array([refit_without(i, pseudo_huber, 0.5) for i in range(0, 60, 6)])
    approximate, plain = found.left_out[::6], found.fitted[::6]
    assert np.abs(approximate - refits).max() < 0.15 * np.abs(plain - refits).max()


def test_loss_of_residuals_against_the_lecture():
    # β₋ᵢ minimises the quadratic with row i taken out, written out with its own Hessian and gradient.
    found = quadratic_leave_one_out(pseudo_huber, X, REAL, penalty=0.0, fit_intercept=False)
    residual = REAL - X @ found.coef
    slope, curvature = residual / np.sqrt(1 + residual**2), (1 + residual**2) ** -1.5
    for i in (0, 7, 33):
        keep = np.arange(60) != i
        A = (X[keep].T * curvature[keep]) @ X[keep]
        g = -(X[keep].T @ (slope[keep] + curvature[keep] * (X[keep] @ found.coef)))
        assert found.left_out[i] == pytest.approx(X[i] @ np.linalg.solve(A, -g), abs=1e-5)


def test_whole_weights_repeat_rows():
    weight = RNG.integers(1, 4, 60)
    again = np.repeat(np.arange(60), weight)
    weighted = quadratic_leave_one_out(pseudo_huber, X, REAL, sample_weight=weight)
    repeated = quadratic_leave_one_out(pseudo_huber, X[again], REAL[again])
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-5)
    assert weighted.in_sample == pytest.approx(repeated.in_sample, rel=1e-6)


def test_a_row_fitted_by_itself_alone_has_infinite_risk():
    alone = np.column_stack([X, np.eye(60)[:, 0]])
    found = quadratic_leave_one_out(half_square, alone, REAL, second=lambda y, p: np.ones_like(p))
    assert np.isnan(found.left_out[0])
    assert found.risk == np.inf


def test_judged_by_another_loss():
    found = quadratic_leave_one_out(logistic, X, SIGN, penalty=1.0, judged_by=lambda y, p: (y != (p > 0)).astype(float))
    assert found.risk == np.mean((found.left_out > 0) != SIGN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": lambda y, p: (y - p)[:3]}, "must return one number per row"),
        ({"penalty": -1.0}, "penalty must be"),
        ({"penalty": np.ones((2, 2))}, "symmetric matrix of shape"),
        ({"X": X[0]}, r"X must be \(n, p\)"),
        ({"loss": lambda y, p: y - p}, "no strict minimum|no minimum"),
        ({"X": np.column_stack([X, X])}, "no strict minimum"),
    ],
)
def test_bad_input_is_named(change, message):
    asked = {"loss": half_square, "X": X, "y": REAL} | change
    with pytest.raises(ValueError, match=message):
        quadratic_leave_one_out(**asked)
