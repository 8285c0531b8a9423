"""Least squares behind steps that ignore y: one decomposition gives what scikit-learn gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from brute_force import check_left_out, check_smoother
from contract import check_contract
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from outsample.estimators import LeadingColumns
from outsample.paths.dispatch import find_path
from outsample.paths.linear.least_squares import LeastSquaresPath
from outsample.paths.refit import RefitDesign, RefitPath


@pytest.fixture(autouse=True)
def _one_thread():
    """Tables this small only wait for each other's threads."""
    with threadpool_limits(1):
        yield


def polynomials(**options):
    return make_pipeline(PolynomialFeatures(**options), LinearRegression())


THROUGH_ORIGIN = LinearRegression(fit_intercept=False)
BASES = {
    "polynomials": (polynomials(), "polynomialfeatures__degree", [1, 3, 2]),
    "polynomials without bias": (polynomials(include_bias=False), "polynomialfeatures__degree", [1, 2]),
    "interactions": (
        make_pipeline(StandardScaler(), PolynomialFeatures(interaction_only=True), THROUGH_ORIGIN),
        "polynomialfeatures__degree",
        [0, 1, 2, 3],
    ),
    "scaled polynomials": (
        make_pipeline(PolynomialFeatures(include_bias=False), StandardScaler(), LinearRegression()),
        "polynomialfeatures__degree",
        [1, 2],
    ),
    "leading columns": (
        make_pipeline(LeadingColumns(), LinearRegression()),
        "leadingcolumns__n_columns",
        [1, 2, 3, 4],
    ),
    "leading columns through the origin": (
        make_pipeline(LeadingColumns(), THROUGH_ORIGIN),
        "leadingcolumns__n_columns",
        [1, 2, 3, 9],
    ),
    "components": (make_pipeline(PCA(), LinearRegression()), "pca__n_components", [1, 2, 4]),
    "knots": (make_pipeline(SplineTransformer(), LinearRegression()), "splinetransformer__n_knots", [2, 4]),
    "spline degree": (make_pipeline(SplineTransformer(3), LinearRegression()), "splinetransformer__degree", [1, 2]),
    "one pipeline": (make_pipeline(LeadingColumns(2), LinearRegression()), None, None),
    "one regression": (LinearRegression(), None, None),
}
STATELESS = ("polynomials", "polynomials without bias", "leading columns", "one pipeline", "one regression")


def path_of(name):
    estimator, parameter, values = BASES[name]
    path = find_path(estimator, parameter, values)
    assert isinstance(path, LeastSquaresPath)
    return path


def table(kind="plain", n=14, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X, X_new = rng.standard_normal((n, p)), rng.standard_normal((7, p))
    X[1] = X[0]
    if kind == "collinear":
        X[:, 2], X_new[:, 2] = X[:, 0], X_new[:, 0]
    if kind == "constant":
        X[:, 1] = X_new[:, 1] = 2.0
    return X, X_new, X[:, 0] - X[:, 3] ** 2 + rng.standard_normal(n) + 20.0


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("kind", ["plain", "collinear", "constant"])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_scikit_learn(name, kind, weighted):
    X, X_new, y = table(kind, n=60)
    weight = np.arange(60) % 3 * 1.0 if weighted else None
    check_contract(path_of(name), X, y, X_new, weight=weight, n_draws=2)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("n", [5, 14])
def test_fewer_rows_than_columns_against_scikit_learn(name, n):
    X, X_new, y = table(n=n, p=5 if n == 5 else 4)
    weight = np.linspace(0.5, 2.0, n)
    check_contract(path_of(name), X, y, X_new, n_draws=2)
    check_contract(path_of(name), X, np.column_stack([y, -y]), X_new, weight=weight, n_draws=1)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("kind", ["plain", "collinear"])
def test_smoother_against_unit_vectors(name, kind):
    X, _, _ = table(kind)
    check_smoother(path_of(name), X)
    check_smoother(path_of(name), X, np.arange(14) % 5 + 0.5)


@pytest.mark.parametrize("name", [*STATELESS, "scaled polynomials"])
@pytest.mark.parametrize("kind", ["plain", "collinear", "constant"])
def test_left_out_against_refits(name, kind):
    X, _, y = table(kind, n=24)
    for folds in (np.arange(24), np.arange(24) % 3):
        check_left_out(path_of(name), X, y, folds)
    check_left_out(path_of(name), X, y, np.arange(24) % 4, np.arange(24) % 3 * 1.0)


def test_steps_that_learn_from_the_rows_have_no_shortcut():
    X, _, y = table()
    for name in ("components", "knots"):
        assert path_of(name).bind(X).left_out_predictions(y, np.arange(14)) is None


def test_polynomials_so_steep_that_scikit_learn_drops_directions():
    x = np.linspace(0.0, 10.0, 50)[:, None]
    y = np.sin(x[:, 0])
    path = find_path(polynomials(), "polynomialfeatures__degree", list(range(1, 9)))
    # Columns of 1 to 10⁸: the linear algebra of one numpy and of another differ by more than 1e-9.
    check_contract(path, x, y, np.linspace(0.1, 9.9, 20)[:, None], within=1e-7)
    check_left_out(path, x, y, np.arange(50) % 5)


def test_left_out_row_that_alone_keeps_a_direction_above_the_cutoff():
    rng = np.random.default_rng(0)
    tiny = 2e-7 * rng.standard_normal(12)
    tiny[4] = 1e-4
    X = np.column_stack([rng.standard_normal(12), tiny])
    path = find_path(make_pipeline(LeadingColumns(), LinearRegression()), "leadingcolumns__n_columns", [1, 2])
    check_left_out(path, X, rng.standard_normal(12), np.arange(12))


def test_table_with_names():
    X, X_new, y = table(n=30)
    names = list("abcd")
    path = path_of("polynomials")
    check_contract(path, pd.DataFrame(X, columns=names), y, pd.DataFrame(X_new, columns=names))


def test_sampled_components_do_not_reproduce_themselves_and_are_refitted():
    X = np.random.default_rng(0).standard_normal((520, 60))
    pipeline = make_pipeline(PCA(svd_solver="randomized", random_state=3), LinearRegression())
    assert isinstance(find_path(pipeline, "pca__n_components", [2, 5]).bind(X), RefitDesign)


def test_served_or_left_to_refits():
    assert isinstance(find_path(LinearRegression(positive=True)), RefitPath)
    assert isinstance(find_path(LinearRegression(), "fit_intercept", [True, False]), RefitPath)
    subclass = type("Mine", (LinearRegression,), {})
    assert isinstance(find_path(make_pipeline(PCA(), subclass()), "pca__n_components", [1]), RefitPath)
    made_sparse = make_pipeline(SplineTransformer(sparse_output=True), LinearRegression())
    path = find_path(made_sparse, "splinetransformer__n_knots", [3, 4])
    assert isinstance(path.bind(table()[0]), RefitDesign)


def test_left_out_rows_of_a_wide_data_frame_against_an_array():
    X, y = np.random.default_rng(0).normal(size=(12, 20)), np.arange(12.0)
    designs = [find_path(LinearRegression()).bind(table) for table in (X, pd.DataFrame(X))]
    of_array, of_frame = (design.left_out_predictions(y, np.arange(12) // 3) for design in designs)
    np.testing.assert_array_equal(of_array, of_frame)
