"""Penalties and closed forms: by hand, against R, against refits."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from outsample import penalties
from outsample.paths.base import Smoother
from outsample.paths.linear.closed_forms import degrees_of_freedom, noise_variance

R = json.loads((Path(__file__).parent / "reference" / "rows_r.json").read_text())
PRESS = json.loads((Path(__file__).parent / "reference" / "press.json").read_text())
N = len(R["cars"])
COLUMNS = np.array([[car[name] for name in ("wt", "hp", "qsec")] for car in R["cars"]])
MPG = np.array([car["mpg"] for car in R["cars"]])
DOF = np.array([2, 3, 4])
IN_SAMPLE = np.array(R["rss"]) / N


def test_aic_and_bic_against_R():
    """R's AIC counts the noise as one more parameter and keeps the constant of the Gaussian density."""
    constant = N * (math.log(2 * math.pi) + 1)
    akaike = np.exp((np.array(R["aic"]) - constant - 2) / N)
    schwarz = np.exp((np.array(R["bic"]) - constant - math.log(N)) / N)
    np.testing.assert_allclose(penalties.aic(IN_SAMPLE, DOF, N), akaike, rtol=1e-12)
    np.testing.assert_allclose(penalties.bic(IN_SAMPLE, DOF, N), schwarz, rtol=1e-12)


def test_mallows_cp_against_R():
    textbook = np.array(R["cp"])
    ours = penalties.mallows_cp(IN_SAMPLE, DOF, N, R["sigma2"])
    np.testing.assert_allclose(N * ours / R["sigma2"] - N, textbook, rtol=1e-10)
    np.testing.assert_array_equal(penalties.aic(IN_SAMPLE, DOF, N, R["sigma2"]), ours)
    assert noise_variance(IN_SAMPLE, DOF, N)[-1] == pytest.approx(R["sigma2"], rel=1e-12)


def ridge_smoothers() -> np.ndarray:
    """(models, n, n) of ridge with a free intercept."""
    Z = StandardScaler().fit_transform(COLUMNS)
    hats = [Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(3), Z.T) for alpha in R["lambda"]]
    return np.stack(hats) + 1 / N


def test_gcv_against_R():
    """MASS::lm.ridge divides by n once more and does not count the intercept."""
    hats = ridge_smoothers()
    in_sample = ((MPG - hats @ MPG) ** 2).mean(axis=1)
    dof = np.trace(hats, axis1=1, axis2=2)
    np.testing.assert_allclose(penalties.gcv(in_sample, dof - 1, N) / N, R["ridge_gcv"], rtol=1e-10)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda: penalties.fpe(2.0, 5, 20), 2 * 1.25 / 0.75),
        (lambda: penalties.gcv(2.0, 5, 20), 2 / 0.75**2),
        (lambda: penalties.mallows_cp(2.0, 5, 20, 3.0), 2 + 2 * 3 * 5 / 20),
        (lambda: penalties.aic(2.0, 5, 20, 3.0), 2 + 2 * 3 * 5 / 20),
        (lambda: penalties.aic(2.0, 5, 20), 2 * math.exp(0.5)),
        (lambda: penalties.bic(2.0, 5, 20, 3.0), 2 + math.log(20) * 3 * 5 / 20),
        (lambda: penalties.bic(2.0, 5, 20), 2 * 20**0.25),
        (lambda: penalties.vc(2.0, 1, 100), 2 / (1 - math.sqrt(0.01 + 0.01 * math.log(100) + math.log(100) / 200))),
        (lambda: penalties.vc(2.0, 0, 100), 2 / (1 - math.sqrt(math.log(100) / 200))),
    ],
)
def test_penalties_by_hand(value, expected):
    assert float(value()) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("d", "n"), [(1, 15), (3.7, 40), (5, 2000)])
def test_fpe_and_vc_penalty_as_the_permutation_paper_writes_them(d, n):
    """§4.2, with p = n/d: (p + 1)/(p − 1) and √p/(√p − √(1 + ln p + ln n/(2d)))."""
    p = n / d
    assert penalties.fpe(1.0, d, n) == pytest.approx((p + 1) / (p - 1))
    by_paper = math.sqrt(p) / (math.sqrt(p) - math.sqrt(1 + math.log(p) + math.log(n) / (2 * d)))
    assert penalties.vc(1.0, d, n) == pytest.approx(by_paper)


@pytest.mark.parametrize("penalty", [penalties.fpe, penalties.gcv, penalties.vc])
@pytest.mark.parametrize("in_sample", [0.0, 1.0])
def test_as_many_parameters_as_samples_is_infinite(penalty, in_sample):
    values = penalty(in_sample, np.array([20, 25, 55]), 20)
    assert np.isposinf(values).all()


def test_vc_is_infinite_where_its_bracket_is_not_positive():
    values = penalties.vc(np.ones(3), np.array([1, 13, 15]), 20)
    assert np.isfinite(values[0])
    assert np.isposinf(values[1:]).all()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [((-1.0, 2, 10), "in_sample"), ((1.0, -2, 10), "dof"), ((1.0, math.nan, 10), "dof"), ((1.0, 2, 0), "n must")],
)
def test_impossible_arguments_are_named(arguments, word):
    for penalty in (penalties.fpe, penalties.gcv, penalties.vc, penalties.aic, penalties.bic):
        with pytest.raises(ValueError, match=word):
            penalty(*arguments)
    with pytest.raises(ValueError, match="sigma2"):
        penalties.mallows_cp(1.0, 2, 10, -1.0)


def test_one_impossible_number_among_many_is_named():
    for penalty in (penalties.fpe, penalties.gcv, penalties.vc, penalties.aic, penalties.bic):
        for given, word in (
            (([1.0, -1.0], 2, 10), "in_sample"),
            ((1.0, [2, -2], 10), "dof"),
            ((1.0, 2, [10, 0]), "n m"),
        ):
            with pytest.raises(ValueError, match=word):
                penalty(*given)
    with pytest.raises(ValueError, match="sigma2 must not be negative"):
        penalties.mallows_cp(1.0, 2, 10, [1.0, -1.0])
    # Nothing lost, no parameter, one row and no noise are possible.
    assert penalties.aic(0.0, 0, 1, 0.0) == penalties.mallows_cp(0.0, 0, 1, 0.0) == 0.0
    assert penalties.fpe(1.0, 0, 0.5) == 1.0


def test_few_degrees_of_freedom_left_are_not_none():
    """1 − d/n = .01: finite, and what the formula says."""
    assert penalties.gcv(1.0, 99, 100) == pytest.approx(1e4)
    assert penalties.fpe(1.0, 99, 100) == pytest.approx(199)


def smoother_of(hats: np.ndarray) -> Smoother:
    return Smoother(np.stack([np.diag(hat) for hat in hats]), hats.sum(axis=-1))


def test_degrees_of_freedom_are_the_trace():
    hats = ridge_smoothers()
    smoother = smoother_of(hats)
    np.testing.assert_allclose(degrees_of_freedom(smoother, N), smoother.trace, rtol=1e-14)
    np.testing.assert_allclose(degrees_of_freedom(smoother, N, np.full(N, 3.0)), smoother.trace, rtol=1e-14)
    assert np.isnan(noise_variance(np.zeros(1), np.array([float(N)]), N)).all()


@pytest.mark.parametrize("penalty", [penalties.fpe, penalties.gcv, penalties.vc])
def test_degrees_of_freedom_that_are_all_rows_up_to_rounding_leave_an_infinite_risk(penalty):
    assert np.isinf(penalty(1e-30, 20 - 4e-15, 20))
