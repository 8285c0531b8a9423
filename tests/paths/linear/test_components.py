"""Partial least squares and forward stepwise: one fit of the longest gives every shorter one."""

from __future__ import annotations

import numpy as np
import pytest
from contract import check_contract
from scipy import sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from outsample.estimators import ForwardStepwise
from outsample.paths.dispatch import find_path
from outsample.paths.linear.components import ForwardStepwisePath, PartialLeastSquaresPath
from outsample.paths.refit import RefitDesign


@pytest.fixture(autouse=True)
def _one_thread():
    """Tables this small only wait for each other's threads."""
    with threadpool_limits(1):
        yield


def table(kind="plain", n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) * [1, 2, 3, 1, 1, 10]
    X_new = rng.standard_normal((9, 6))
    if kind == "collinear":
        X[:, 2], X_new[:, 2] = X[:, 0], X_new[:, 0]
    if kind == "constant":
        X[:, 1] = X_new[:, 1] = 2.0
    return X, X_new, X[:, 0] - X[:, 3] + rng.standard_normal(n) + 5.0


@pytest.mark.parametrize("kind", ["plain", "collinear", "constant"])
@pytest.mark.parametrize("n", [40, 8])
@pytest.mark.parametrize("scale", [True, False])
def test_partial_least_squares_against_scikit_learn(kind, n, scale):
    X, X_new, y = table(kind, n)
    path = find_path(PLSRegression(scale=scale), "n_components", [3, 1, 2, 5])
    assert isinstance(path, PartialLeastSquaresPath)
    check_contract(path, X, y, X_new)
    check_contract(path, X, np.column_stack([y, X[:, 4] ** 2]), X_new)
    assert path.bind(X).smoother is None


@pytest.mark.parametrize("kind", ["plain", "collinear", "constant"])
@pytest.mark.parametrize("n", [40, 5])
def test_stepwise_path_against_its_estimator(kind, n):
    X, X_new, y = table(kind, n)
    path = find_path(ForwardStepwise(), "n_steps", [3, 1, 2, 6, 9])
    assert isinstance(path, ForwardStepwisePath)
    check_contract(path, X, y, X_new)


def test_stepwise_against_trying_every_column():
    X, _, y = table(seed=3)
    chosen = []
    for step in range(1, 6):
        left = [c for c in range(6) if c not in chosen]
        fits = {c: LinearRegression().fit(X[:, [*chosen, c]], y).predict(X[:, [*chosen, c]]) for c in left}
        chosen.append(min(left, key=lambda c: ((y - fits[c]) ** 2).sum()))
        model = ForwardStepwise(step).fit(X, y)
        assert model.selected_.tolist() == chosen
        np.testing.assert_allclose(model.predict(X), fits[chosen[-1]], rtol=1e-10)


def test_stepwise_ties_go_to_the_lowest_column():
    X, _, y = table(seed=4)
    doubled = np.column_stack([X[:, 1], X[:, 0], X[:, 0] * -3.0, X[:, 0]])
    assert ForwardStepwise(2).fit(doubled, X[:, 0] + 0.1 * y).selected_[0] == 1
    assert len(ForwardStepwise(4).fit(doubled, y).selected_) == 2


def test_stepwise_rejects_no_steps_and_sparse_tables_are_refitted():
    X, _, y = table()
    with pytest.raises(ValueError, match="n_steps"):
        ForwardStepwise(0).fit(X, y)
    path = find_path(ForwardStepwise(), "n_steps", [1, 2])
    assert isinstance(path.bind(sparse.csr_matrix(X)), RefitDesign)
