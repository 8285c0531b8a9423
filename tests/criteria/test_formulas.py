"""Criteria by formula: one fit, the trace of the smoother, and a sentence where there is no smoother."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import penalties
from outsample.criteria.base import as_criterion
from outsample.criteria.formulas import AIC, BIC, FPE, GCV, MallowsCp, VCPenalty
from outsample.paths.linear.ridge import RidgePath
from outsample.paths.neighbors.votes import NeighborsPath
from outsample.problem import pose

X, Y = load_diabetes(return_X_y=True)
ALPHAS = [10.0, 1.0, 0.1, 1e-3]
ALL = ("fpe", "aic", "bic", "cp", "gcv", "vc")


def ridge_problem(**options):
    return pose(Ridge(), X, Y, **options).over(RidgePath(Ridge(), "alpha", ALPHAS))


def traces(weight=None) -> np.ndarray:
    w = np.ones(len(Y)) if weight is None else weight
    Z = X - np.average(X, axis=0, weights=w)
    dof = []
    for alpha in ALPHAS:
        hat = Z @ np.linalg.solve((Z.T * w) @ Z + alpha * np.eye(10), Z.T * w) + w / w.sum()
        dof.append(len(Y) * np.average(np.diag(hat), weights=w))
    return np.array(dof)


@pytest.mark.parametrize("name", ALL)
def test_formulas_against_the_smoother_written_out(name):
    dof, n = traces(), len(Y)
    in_sample = np.array([np.mean((Y - Ridge(alpha=a).fit(X, Y).predict(X)) ** 2) for a in ALPHAS])
    sigma2 = in_sample[-1] * n / (n - dof[-1])
    function = getattr(penalties, "mallows_cp" if name == "cp" else name)
    more = (sigma2,) if name in ("aic", "bic", "cp") else ()
    curve = as_criterion(name).curve(ridge_problem())
    np.testing.assert_allclose(curve.out_sample, function(in_sample, dof, n, *more), rtol=1e-9)
    assert curve.n_fits == 1
    assert np.isfinite(curve.standard_error).all()
    assert curve.criterion == name


def test_noise_can_be_given():
    curve = MallowsCp(sigma2=100.0).curve(ridge_problem())
    np.testing.assert_allclose(curve.optimism, 200 * traces() / len(Y), rtol=1e-9)
    np.testing.assert_array_equal(AIC(100.0).curve(ridge_problem()).out_sample, curve.out_sample)
    assert (BIC(100.0).curve(ridge_problem()).optimism > curve.optimism).all()


def test_equal_weights_change_nothing():
    plain, weighted = (GCV().curve(ridge_problem(sample_weight=w)) for w in (None, np.full(len(Y), 1.0)))
    np.testing.assert_allclose(plain.out_sample, weighted.out_sample, rtol=1e-9)


def test_weights_weigh_the_leverages():
    weight = np.random.default_rng(0).random(len(Y)) + 0.5
    curve = FPE().curve(ridge_problem(sample_weight=weight))
    effective = weight.sum() ** 2 / (weight**2).sum()
    expected = penalties.fpe(curve.in_sample, effective * traces(weight) / len(Y), effective)
    np.testing.assert_allclose(curve.out_sample, expected, rtol=1e-9)


def test_neighbours_have_n_over_k_degrees_of_freedom():
    path = NeighborsPath(KNeighborsRegressor(), "n_neighbors", [50, 10, 2])
    curve = GCV().curve(pose(KNeighborsRegressor(), X, Y).over(path))
    np.testing.assert_allclose(curve.out_sample, curve.in_sample / (1 - 1 / np.array([50, 10, 2])) ** 2, rtol=1e-9)


def test_an_interpolating_model_is_never_the_best():
    path = NeighborsPath(KNeighborsRegressor(), "n_neighbors", [10, 1])
    problem = pose(KNeighborsRegressor(), X, Y).over(path)
    for criterion in (GCV(), FPE(), VCPenalty()):
        assert np.isposinf(criterion.curve(problem).out_sample[-1])
    with pytest.raises(ValueError, match="leaves no noise to measure; pass sigma2="):
        MallowsCp().curve(problem)


@pytest.mark.parametrize("name", ALL)
def test_what_is_missing_is_said(name):
    tree = pose(DecisionTreeRegressor(), X, Y)
    with pytest.raises(ValueError, match=f"'{name}' needs a linear smoother; DecisionTreeRegressor"):
        as_criterion(name).curve(tree)
    classifier = pose(DecisionTreeClassifier(), *load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="formula for squared loss, the loss is 'zero-one'"):
        as_criterion(name).curve(classifier)


def test_sigma2_is_checked():
    with pytest.raises(ValueError, match="sigma2 must be a variance or None, got -1"):
        MallowsCp(sigma2=-1)
