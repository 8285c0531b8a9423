from __future__ import annotations

import numpy as np
import pytest
from contract import check_contract
from corner_cases import awkward_table, real, smooth_table, weights
from scipy import sparse
from sklearn.linear_model import ElasticNet, Lasso

from outsample._kernels.coordinate_descent import descend
from outsample.paths.dispatch import find_path
from outsample.paths.penalised.elastic_net import ElasticNetPath
from outsample.paths.penalised.newton import minimise, solved_on_support
from outsample.paths.refit import RefitDesign

pytestmark = pytest.mark.usefixtures("one_thread")

ALPHAS = [0.1, 0.001, 1.0, 50.0, 0.1, 0.02]
TIGHT = {"tol": 1e-14, "max_iter": 100_000}

ESTIMATORS = {
    "lasso": Lasso(**TIGHT),
    "lasso through the origin": Lasso(fit_intercept=False, **TIGHT),
    "lasso, random order": Lasso(selection="random", random_state=0, **TIGHT),
    "elastic net": ElasticNet(**TIGHT),
    "nearly ridge": ElasticNet(l1_ratio=0.05, **TIGHT),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_scikit_learn_solved_tightly(name, table, weighted):
    X, X_new = table()
    weight = weights(len(X)) if weighted else None
    check_contract(ElasticNetPath(ESTIMATORS[name], "alpha", ALPHAS), X, real(X), X_new, weight=weight)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(20, 50)), rng.normal(size=(5, 50))
    path = ElasticNetPath(Lasso(**TIGHT), "alpha", [0.5, 0.1, 0.03])
    check_contract(path, X, real(X), X_new)


def test_sparse_integer_and_tiny_tables():
    X, X_new = awkward_table()
    path = ElasticNetPath(ESTIMATORS["elastic net"], "alpha", ALPHAS)
    check_contract(path, sparse.csr_array(X), real(X), sparse.csr_array(X_new), n_draws=2)
    smooth, smooth_new = smooth_table()
    check_contract(path, np.rint(3 * smooth).astype(int), real(smooth), smooth_new, n_draws=2)
    check_contract(path, X[:3], real(X[:3]), X_new, n_draws=2)


def test_several_outputs():
    X, X_new = smooth_table()
    y = np.column_stack([real(X), real(X, seed=9)])
    check_contract(ElasticNetPath(ESTIMATORS["lasso"], "alpha", ALPHAS), X, y, X_new)


def test_constant_labels_give_the_constant():
    X, _ = smooth_table()
    fitted = ElasticNetPath(Lasso(), "alpha", ALPHAS).bind(X).fitted(np.full((1, len(X)), 4.0))
    np.testing.assert_allclose(fitted, 4.0, rtol=1e-12)


def test_objective_is_no_worse_than_scikit_learns_at_its_own_tolerance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30)) @ rng.normal(size=(30, 30))
    y = real(X)
    alphas = [1.0, 0.1, 0.01]
    fitted = ElasticNetPath(Lasso(), "alpha", alphas).bind(X).predict(y, X)
    basis = np.linalg.pinv(X - X.mean(axis=0))
    for alpha, values in zip(alphas, fitted, strict=True):
        model = Lasso(alpha, max_iter=100_000).fit(X, y)
        coef = basis @ (values - values.mean())

        def objective(values, coef, alpha=alpha):
            return 0.5 * np.mean((y - values) ** 2) + alpha * np.abs(coef).sum()

        assert objective(values, coef) <= objective(model.predict(X), model.coef_) + 1e-12


def test_no_penalty_is_left_to_scikit_learn():
    X, _ = smooth_table()
    assert isinstance(ElasticNetPath(Lasso(), "alpha", [1.0, 0.0]).bind(X), RefitDesign)


def test_served_or_left_to_refits():
    assert find_path(Lasso()).params == ({"alpha": 1.0},)
    assert find_path(ElasticNet(), "l1_ratio", [0.1, 0.2]).name == "RefitPath"
    assert find_path(Lasso(positive=True), "alpha", [0.1, 0.2]).name == "RefitPath"


def test_minimum_satisfies_the_conditions_of_optimality():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 12))
    gram, linear = A.T @ A, A.T @ rng.normal(size=30)
    b = minimise(gram, linear, 2.0, 0.5, np.zeros(12), 1.0)
    pull = linear - gram @ b - 0.5 * b
    active = b != 0
    assert 0 < active.sum() < 12
    np.testing.assert_allclose(pull[active], 2.0 * np.sign(b[active]), rtol=1e-12)
    assert (np.abs(pull[~active]) < 2.0).all()


def test_a_wrong_support_is_never_accepted():
    gram, linear = np.eye(2), np.array([3.0, 2.0])
    assert solved_on_support(gram, linear, 1.0, 0.0, np.array([1.0, 0.0])) is None
    assert solved_on_support(gram, linear, 1.0, 0.0, np.array([1.0, -1.0])) is None
    right = solved_on_support(gram, linear, 1.0, 0.0, np.array([1.0, 1.0]))
    np.testing.assert_allclose(right, [2.0, 1.0], rtol=1e-14)


def test_kernel_with_the_compiler_off():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 6))
    compiled, plain = np.zeros(6), np.zeros(6)
    arguments = (A.T @ A, A.T @ rng.normal(size=30), np.full(6, 2.0), np.full(6, 0.5))
    sweeps = descend(*arguments, compiled, 1e-10, 1000)
    assert getattr(descend, "py_func", descend)(*arguments, plain, 1e-10, 1000) == sweeps < 1000
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)
    assert descend(*arguments, np.ones(6), 0.0, 2) == 2
