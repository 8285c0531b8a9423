"""Every linear path: leave-one-out, folds and formulas from one fit, against refits to 1e-8."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from outsample import penalties
from outsample.criteria.base import as_criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.labels import LabelBootstrap, Permutation
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.problem import pose

X, Y = (part[:36] for part in load_diabetes(return_X_y=True))
ONE = 20 * X[:, [2]]

# name: (estimator, X, parameter, values, fits of one curve over 4 folds)
SMOOTHERS = {
    "least squares": (LinearRegression(), X, None, None, 1),
    "polynomials": (
        make_pipeline(PolynomialFeatures(), LinearRegression()),
        ONE,
        "polynomialfeatures__degree",
        [1, 2, 4],
        1,
    ),
    "ridge": (Ridge(), X, "alpha", [1.0, 0.1], 1),
    "kernel ridge": (KernelRidge(kernel="rbf", gamma=3.0), X, "alpha", [1.0, 0.1], 1),
    "neighbours": (KNeighborsRegressor(), X, "n_neighbors", [8, 2], 1),
    "splines": (
        make_pipeline(SplineTransformer(), LinearRegression()),
        ONE,
        "splinetransformer__n_knots",
        [3, 5],
        5,
    ),
    "smoothing splines": (make_pipeline(SplineTransformer(8), Ridge()), ONE, "ridge__alpha", [1.0, 0.1], 5),
    "principal components": (
        make_pipeline(PCA(), LinearRegression()),
        X,
        "pca__n_components",
        [1, 4],
        5,
    ),
}


def posed(name: str, fast: bool = True):
    estimator, table, parameter, values, _ = SMOOTHERS[name]
    return pose(estimator, table, Y, parameter=parameter, values=values, fast=fast, random_state=0)


def smoothers(name: str) -> np.ndarray:
    """(models, n, n), column by column: the fit to a label vector that is one at a single row."""
    estimator, table, *_ = SMOOTHERS[name]
    hats = []
    for setting in posed(name).path.params:
        model = clone(estimator).set_params(**setting)
        hats.append(np.column_stack([model.fit(table, unit).predict(table) for unit in np.eye(len(Y))]))
    return np.stack(hats)


@pytest.mark.parametrize("name", SMOOTHERS)
@pytest.mark.parametrize("criterion", [CrossValidation(4), LeaveOneOut(9)], ids=["kfold", "loo"])
def test_left_out_rows_of_linear_paths_against_brute_force(name, criterion):
    fast, slow = criterion.curve(posed(name)), criterion.curve(posed(name, fast=False))
    np.testing.assert_allclose(fast.out_sample, slow.out_sample, rtol=1e-8)
    np.testing.assert_allclose(fast.standard_error, slow.standard_error, rtol=1e-8)
    if isinstance(criterion, CrossValidation):
        assert fast.n_fits == SMOOTHERS[name][-1]


@pytest.mark.parametrize("name", SMOOTHERS)
def test_formulas_of_linear_paths_against_brute_force(name):
    hats, n = smoothers(name), len(Y)
    in_sample = np.square(Y - hats @ Y).mean(axis=1)
    dof = np.trace(hats, axis1=1, axis2=2)
    noise = in_sample[-1] * n / (n - dof[-1])
    total = hats.sum(axis=(1, 2))
    expected = {
        "fpe": penalties.fpe(in_sample, dof, n),
        "gcv": penalties.gcv(in_sample, dof, n),
        "vc": penalties.vc(in_sample, dof, n),
        "cp": in_sample + 2 * noise * dof / n,
        "aic": in_sample + 2 * noise * dof / n,
        "bic": in_sample + np.log(n) * noise * dof / n,
        "permutation": in_sample + 2 * np.var(Y, ddof=1) / n * (dof - total / n),
        "label-bootstrap": in_sample + 2 * np.var(Y) * dof / n,
    }
    for formula, out_sample in expected.items():
        curve = as_criterion(formula).curve(posed(name))
        np.testing.assert_allclose(curve.out_sample, out_sample, rtol=1e-8, err_msg=formula)
        assert curve.n_fits == 1


def test_exact_label_criteria_have_no_monte_carlo_error():
    for criterion in (Permutation(), LabelBootstrap()):
        assert (criterion.curve(posed("ridge")).monte_carlo_error == 0).all()
