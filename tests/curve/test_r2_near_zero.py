"""Near r2 = 0 the influence of rows vanishes, and what fits leave to chance is all there is."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge

import outsample

N = 60


def noise(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 5)), rng.normal(size=N)


def true_r2(model, X_new, y_new):
    return 1 - np.mean(np.square(model.predict(X_new) - y_new)) / np.mean(np.square(y_new))


@pytest.mark.parametrize("loss", ["r2", "explained_variance"])
def test_standard_error_of_a_constant_against_the_chi_square_of_its_mean(loss):
    """Its true r2 is −ȳ²/σ², so that n times that has χ²₁ and a standard deviation of √2."""
    X, y = noise(0)
    found = outsample.estimate(DummyRegressor(), X, y, loss=loss, criterion="loo")
    means = np.random.default_rng(1).normal(size=(20000, N)).mean(axis=1)
    assert found.standard_error == pytest.approx(np.std(np.square(means)), rel=0.1)


def test_standard_error_counts_the_parameters_that_were_fitted():
    """n (r2 left out − true r2) of least squares on noise is about 2 (χ²ₚ − p); rows tell half of its variance."""
    found, truth, told = [], [], []
    for seed in range(150):
        X, y = noise(seed)
        line = LinearRegression()
        estimate = outsample.estimate(line, X, y, loss="r2", criterion="loo")
        found.append(estimate.out_sample)
        told.append(estimate.variance_factor * estimate.standard_error**2)
        # For normal columns and noise of variance one, the error of a fitted line is 1 + |coefficients|².
        line.fit(X, y)
        truth.append(-np.square([*line.coef_, line.intercept_]).sum())
    assert np.mean(told) > 0.75 * np.var(np.subtract(found, truth))


def test_interval_of_r2_covers_where_there_is_nothing_to_find():
    hits, new = np.zeros(2), np.random.default_rng(99)
    X_new, y_new = new.normal(size=(4000, 5)), new.normal(size=4000)
    for seed in range(40):
        X, y = noise(seed)
        search = outsample.GridSearch(Ridge(), {"alpha": [0.1, 10, 1000]}, scoring="r2", random_state=0).fit(X, y)
        line = outsample.estimate(LinearRegression(), X, y, loss="r2", random_state=0)
        for k, (estimate, model) in enumerate(
            [(line, LinearRegression().fit(X, y)), (search.honest_score_, search.best_estimator_)]
        ):
            low, high = estimate.interval(0.95)
            hits[k] += low < true_r2(model, X_new, y_new) < high
    assert (hits >= 36).all(), hits
