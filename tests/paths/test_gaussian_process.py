"""Gaussian processes with a fixed kernel against scikit-learn's refits."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import check_smoother, refitted_left_out
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, real, smooth_table
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel

import outsample
from outsample.paths.dispatch import find_path
from outsample.paths.gaussian_process import GaussianProcessDesign, GaussianProcessPath
from outsample.paths.refit import MixedDesign, RefitDesign, RefitPath

pytestmark = pytest.mark.usefixtures("one_thread")

N, ALPHAS = 24, [1e-3, 0.1, 10.0]
KERNELS = [None, 2.0 * RBF(0.7) + WhiteKernel(0.3), DotProduct() + WhiteKernel(1.0), Matern(nu=1.5)]


def fixed(kernel, **options):
    return GaussianProcessRegressor(kernel, optimizer=None, **options)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_equal_to_refitting(table, kernel, normalize_y):
    X, X_new = table(N)
    y = real(X)
    path = find_path(fixed(kernel, normalize_y=normalize_y), "alpha", ALPHAS)
    assert isinstance(path.bind(X), GaussianProcessDesign)
    check_contract(path, X, y, X_new, n_draws=2)
    check_smoother(path, X)
    for folds in (np.arange(N), np.arange(N) % 5):
        ours = path.bind(X).left_out_predictions(y, folds)
        assert_equal_predictions(ours, refitted_left_out(path, X, y, folds))


def test_several_outputs():
    X, _ = smooth_table(N)
    Y = np.column_stack([real(X), real(X, 8) ** 2])
    path = find_path(fixed(RBF(), normalize_y=True), "alpha", ALPHAS)
    for folds in (np.arange(N), np.arange(N) % 5):
        assert_equal_predictions(path.bind(X).left_out_predictions(Y, folds), refitted_left_out(path, X, Y, folds))


def test_one_alpha_per_row():
    """The rows of a training set keep their own alphas."""
    X, X_new = smooth_table(N)
    y, alpha = real(X), np.random.default_rng(0).uniform(0.1, 2.0, N)
    model = fixed(RBF(), alpha=alpha, normalize_y=True)
    design = find_path(model).bind(X)
    assert_equal_predictions(design.predict(y, X_new)[0], clone(model).fit(X, y).predict(X_new))
    left_out = design.left_out_predictions(y, np.arange(N) % 4)[0]
    for fold in range(4):
        train = np.arange(N) % 4 != fold
        refitted = fixed(RBF(), alpha=alpha[train], normalize_y=True).fit(X[train], y[train])
        assert_equal_predictions(left_out[~train], refitted.predict(X[~train]))


def test_nearly_singular_kernels_are_refitted():
    X, _ = smooth_table(N, 1)
    assert isinstance(find_path(fixed(RBF(5.0)), "alpha", [1e-10, 1e-9]).bind(X), RefitDesign)
    path = find_path(fixed(RBF(5.0)), "alpha", [1e-10, 1.0, 1e-9, 0.1])
    assert isinstance(path.bind(X), MixedDesign)
    check_contract(path, X, real(X), n_draws=1, within=1e-6)


def test_served_or_left_to_refits():
    assert isinstance(find_path(fixed(RBF())), GaussianProcessPath)
    assert isinstance(find_path(GaussianProcessRegressor(RBF(1.0, "fixed"))), GaussianProcessPath)
    assert isinstance(find_path(GaussianProcessRegressor(RBF())), RefitPath)
    assert isinstance(find_path(fixed(RBF(), alpha=-1.0)), RefitPath)


def test_a_search_by_leave_one_out():
    X, _ = smooth_table(N)
    y = real(X)
    grid = {"alpha": ALPHAS}
    search = outsample.GridSearch(fixed(RBF()), grid, criterion="loo", loss="squared", random_state=0).fit(X, y)
    path = find_path(fixed(RBF()), "alpha", ALPHAS)
    expected = np.mean((refitted_left_out(path, X, y, np.arange(N)) - y) ** 2, axis=1)
    np.testing.assert_allclose(search.curve_.out_sample, expected, rtol=1e-9)
