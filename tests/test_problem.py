from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from outsample.data.tables import n_rows, rows
from outsample.paths.refit import RefitPath
from outsample.problem import pose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
BINARY = RNG.integers(0, 2, 30)
REAL = X[:, 0] + RNG.normal(size=30)
WEIGHT = RNG.uniform(0.2, 3, 30)


def posed(learner, y, **arguments):
    return pose(learner, X, y, random_state=0, fast=False, **arguments)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_in_sample_is_the_risk_of_the_fit_to_the_real_labels(weight):
    problem = posed(Ridge(), REAL, sample_weight=weight)
    fitted = Ridge().fit(X, REAL, sample_weight=weight).predict(X)
    np.testing.assert_allclose(problem.fitted[0], fitted)
    assert problem.in_sample[0] == pytest.approx(np.average((REAL - fitted) ** 2, weights=weight))


def test_effective_number_of_rows():
    assert posed(Ridge(), REAL).effective_n == 30
    assert posed(Ridge(), REAL, sample_weight=WEIGHT).effective_n == pytest.approx(
        WEIGHT.sum() ** 2 / (WEIGHT**2).sum()
    )
    assert posed(Ridge(), REAL, sample_weight=np.repeat([0.0, 2.0], 15)).effective_n == 15


def test_standard_error_of_zero_one_loss_is_binomial():
    problem = posed(DecisionTreeClassifier(max_depth=1), BINARY)
    out_sample = np.array([0.3])
    assert problem.standard_error(out_sample)[0] == pytest.approx(np.sqrt(0.3 * 0.7 / 30))
    assert problem.standard_error(np.array([1.2]))[0] == 0.0


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_standard_error_of_other_losses_is_that_of_the_mean_enlarged(weight):
    problem = posed(Ridge(), REAL, sample_weight=weight)
    losses = (REAL - problem.fitted[0]) ** 2
    mean = np.average(losses, weights=weight)
    spread = np.sqrt(np.average((losses - mean) ** 2, weights=weight) / problem.effective_n)
    assert problem.standard_error(problem.in_sample)[0] == pytest.approx(spread)
    assert problem.standard_error(2 * problem.in_sample)[0] == pytest.approx(2 * spread)


def test_no_standard_error_where_there_is_none():
    unknown = make_scorer(lambda y, predicted: -np.median(np.abs(y - predicted)))
    assert posed(Ridge(), REAL, loss=unknown).standard_error(np.array([0.0])) is None


@pytest.mark.parametrize("loss", ["squared", "absolute", lambda y, p: np.abs(y - p) ** 3])
def test_losses_that_are_rounding_make_no_standard_error(loss):
    flawless = posed(LinearRegression(), X @ np.ones(3), loss=loss)
    assert np.isnan(flawless.standard_error(np.array([0.5])))
    barely = posed(LinearRegression(), X @ np.ones(3) + 1e-8 * REAL, loss=loss)
    assert barely.standard_error(np.array([0.5])) > 0


def test_probabilities_of_one_make_no_standard_error():
    one_nn = pose(KNeighborsClassifier(1), X, BINARY, loss="log", fast=False)
    assert np.isnan(one_nn.standard_error(np.array([0.5])))


def test_an_infinite_risk_has_no_standard_error():
    assert np.isnan(posed(Ridge(), REAL).standard_error(np.array([np.inf])))


class Counted(LogisticRegression):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("loss", ["zero-one", "log", [[0, 1], [5, 0]], "roc_auc"])
def test_the_real_labels_are_fitted_once(loss):
    Counted.fits = 0
    problem = posed(Counted(), BINARY, loss=loss)
    problem.in_sample, problem.fitted, problem.standard_error(problem.in_sample)
    assert Counted.fits == 1


def test_nothing_is_fitted_before_it_is_needed():
    Counted.fits = 0
    posed(Counted(), BINARY)
    assert Counted.fits == 0


def test_the_same_problem_over_another_path():
    problem = posed(LogisticRegression(), BINARY)
    problem.in_sample
    other = problem.over(RefitPath(LogisticRegression(), "C", [0.1, 1.0, 10.0]))
    assert other.in_sample.shape == (3,)
    assert other.in_sample[1] == problem.in_sample[0]
    assert problem.in_sample.shape == (1,)


def test_a_curve_of_the_problem():
    problem = posed(LogisticRegression(), BINARY)
    curve = problem.curve(out_sample=problem.in_sample + 0.1, criterion="mine", estimand="a number", n_fits=3)
    assert curve.optimism[0] == pytest.approx(0.1)
    assert (curve.n_samples, curve.path, curve.loss.name) == (30, "RefitPath", "zero-one")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"sample_weight": np.ones(5)}, r"sample_weight must have one entry per row, shape \(30,\), got \(5,\)"),
        ({"sample_weight": -np.ones(30)}, "sample_weight must be finite, non-negative and not all zero"),
        ({"sample_weight": np.zeros(30)}, "sample_weight must be finite, non-negative and not all zero"),
        ({"sample_weight": np.full(30, np.nan)}, "sample_weight must be finite"),
        ({"groups": np.arange(29)}, r"groups must have one entry per row, shape \(30,\), got \(29,\)"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, of at most 32768, got 0"),
        ({"n_jobs": 1.5}, "n_jobs must be .* got 1.5"),
        ({"random_state": -1}, "random_state must be .* got -1"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        pose(LogisticRegression(), X, BINARY, **arguments)


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, sparse.csr_array, sparse.coo_array, np.ndarray.tolist])
def test_rows_of_any_table(table):
    Z = table(X)
    assert n_rows(Z) == 30
    part = rows(Z, np.array([4, 1]))
    part = part.toarray() if sparse.issparse(part) else np.asarray(part)
    np.testing.assert_array_equal(part, X[[4, 1]])


def test_rows_of_polars():
    pl = pytest.importorskip("polars")
    part = rows(pl.DataFrame(X), np.array([4, 1]))
    np.testing.assert_array_equal(part.to_numpy(), X[[4, 1]])


def test_no_table():
    with pytest.raises(TypeError, match="X must be a table of samples, got int"):
        n_rows(3)
