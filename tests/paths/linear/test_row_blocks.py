"""Closed forms at scale: the same numbers a few rows at a time, and memory that does not grow with models × rows."""

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from outsample import GridSearch, estimate
from outsample.curve import left_out
from outsample.curve.intervals import error_of_mean
from outsample.curve.left_out import LeftOut, moments_of_losses
from outsample.estimators import LeadingColumns
from outsample.losses.pointwise import SquaredLoss
from outsample.paths.dispatch import find_path
from outsample.paths.linear import fits

ALPHAS = np.logspace(-2, 4, 12)


def _data(n=2500, p=6, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) + 3
    y = X @ rng.normal(size=p) + rng.standard_t(4, size=n)
    X[7, 2] = 1e4
    return X.astype(dtype), y, rng.uniform(0.1, 2, n)


@pytest.mark.parametrize("criterion", ["loo", "auto", "two-stage", "permutation", "gcv", "covariance"])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_problems_get_the_same_numbers(criterion, weighted, monkeypatch):
    X, y, weight = _data()
    weight = weight if weighted else None

    def curve():
        search = GridSearch(Ridge(), {"alpha": ALPHAS}, criterion=criterion, refit=False, random_state=0)
        return search.fit(X, y, sample_weight=weight).curve_

    whole = curve()
    monkeypatch.setattr(left_out, "LARGEST_TABLE", 1000)
    monkeypatch.setattr("outsample.problem.LARGEST_TABLE", 1000)
    in_blocks = curve()
    assert in_blocks.left_out is None or in_blocks.left_out.losses is None
    for name in ("in_sample", "out_sample", "standard_error"):
        np.testing.assert_allclose(getattr(in_blocks, name), getattr(whole, name), rtol=1e-10, err_msg=name)


def test_some_models_of_several_tables_a_few_rows_at_a_time_get_the_same_numbers():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(2100, 1))
    y = np.sin(X[:, 0]) + rng.normal(size=2100)
    pipeline = make_pipeline(PolynomialFeatures(), LinearRegression())
    design = find_path(pipeline, "polynomialfeatures__degree", [1, 2, 4, 5]).bind(X)
    whole = design.left_out_predictions(y, np.arange(len(y)))
    for models in (slice(None), slice(1, 3)):
        blocks = np.concatenate([values for _, values in design.left_out_blocks(y, models)], axis=1)
        np.testing.assert_allclose(blocks, whole[models], rtol=1e-9)
        fitted = np.concatenate([values for _, values in design.fitted_blocks(y, models)], axis=1)
        np.testing.assert_allclose(fitted, design.fitted(y[None])[0, models], rtol=1e-9)


def test_bases_of_their_own_and_rows_in_doubt_get_the_same_numbers():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    X[:, 3], X[5, 3] = 0.0, 1.0
    pipeline = make_pipeline(LeadingColumns(2), StandardScaler(), LinearRegression())
    for model, parameter in ((pipeline, "standardscaler__with_mean"), (make_pipeline(LinearRegression()), None)):
        design = find_path(model, parameter, None if parameter is None else [True, False]).bind(X)
        whole = design.left_out_predictions(y, np.arange(60))
        blocks = np.concatenate([values for _, values in design.left_out_blocks(y)], axis=1)
        np.testing.assert_allclose(blocks, whole, rtol=1e-9)


def test_single_precision_is_read_a_few_rows_at_a_time():
    X, y, weight = _data(dtype=np.float32)
    for w in (None, weight):
        single, double = (
            estimate(Ridge(), table, y, criterion="loo", sample_weight=w) for table in (X, X.astype(np.float64))
        )
        assert single.out_sample == pytest.approx(double.out_sample, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_against_the_table_of_losses(weighted):
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=100), rng.normal(size=(3, 100)) + 50
    weight = rng.uniform(0.1, 2, 100) if weighted else None
    blocks = ((slice(k, k + 30), predicted[:, k : k + 30]) for k in range(0, 100, 30))
    mean, deviation, error = moments_of_losses(SquaredLoss(), y, weight, blocks)
    losses = np.square(y - predicted)
    np.testing.assert_allclose(mean, np.average(losses, axis=1, weights=weight), rtol=1e-12)
    around = np.square(losses - mean[:, None])
    np.testing.assert_allclose(deviation, np.sqrt(np.average(around, axis=1, weights=weight)), rtol=1e-10)
    np.testing.assert_allclose(error, error_of_mean(losses, weight), rtol=1e-10)


def test_tables_beyond_the_limit_do_not_keep_losses_under_another_name(monkeypatch):
    monkeypatch.setattr(left_out, "LARGEST_TABLE", 10)
    losses = np.ones((2, 6))
    kept = LeftOut(losses, fold_risks=losses.T, fold_sizes=np.ones(6, np.intp)).within_size()
    assert kept.losses is None
    assert kept.fold_risks is None


@pytest.mark.parametrize("criterion", ["loo", "auto"])
def test_memory_grows_with_the_table_and_not_with_the_number_of_models(criterion, monkeypatch):
    monkeypatch.setattr("outsample.problem.LARGEST_TABLE", 2**16)
    X, y, _ = _data(n=200_000, p=10)

    def peak(n_models):
        tracemalloc.start()
        estimates = GridSearch(
            Ridge(), {"alpha": np.logspace(-2, 3, n_models)}, criterion=criterion, refit=False, random_state=0
        )
        estimates.fit(X, y)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = peak(10), peak(60)
    assert many < 2 * X.nbytes
    assert many - few < 0.5 * X.nbytes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_basis_that_is_not_held_against_one_that_is(monkeypatch, weighted, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 4)) + 3
    y = X @ rng.normal(size=4) + rng.normal(size=5000)
    # The first row determines its own fit nearly.
    X[0] *= 1e3
    weight = rng.uniform(0.5, 2, 5000) if weighted else None
    path = find_path(Ridge(fit_intercept=intercept), "alpha", [1e-3, 1.0, 1e4])
    held = path.bind(X, None, weight)
    monkeypatch.setattr(fits, "_WORTH_KEEPING", 0)
    made = path.bind(X, None, weight)
    assert isinstance(made.blocks[0].fits._source, fits.Directions)
    for ours, theirs in [
        (made.fitted(y[None]), held.fitted(y[None])),
        (made.left_out_predictions(y, np.arange(5000)), held.left_out_predictions(y, np.arange(5000))),
        (made.left_out_predictions(y, np.arange(5000) % 7), held.left_out_predictions(y, np.arange(5000) % 7)),
        (made.moments(y[None], 0.0), held.moments(y[None], 0.0)),
        *((getattr(made.smoother, name), getattr(held.smoother, name)) for name in ("leverages", "row_sums", "slack")),
        (made.smoother.mean_row_sum(weight), held.smoother.mean_row_sum(weight)),
        (np.stack(made.smoother.norms()), np.stack(held.smoother.norms())),
    ]:
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-9 * np.abs(theirs).max())
