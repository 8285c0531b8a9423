"""Ridge families: one decomposition gives what scikit-learn gives at every alpha."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import check_left_out, check_smoother, refitted_left_out
from contract import check_contract, setting_id
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, cross_val_predict
from threadpoolctl import threadpool_limits

from outsample.paths.base import Design
from outsample.paths.dispatch import find_path
from outsample.paths.linear.ridge import KernelRidgePath, RidgeClassifierPath, RidgePath
from outsample.paths.refit import RefitDesign, RefitPath

ALPHAS = [1.0, 0.01, 1e3, 1.0]
KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "poly", "degree": 2},
    {"kernel": "laplacian"},
    {"kernel": "sigmoid", "gamma": 0.01},
    {"kernel": lambda a, b: float(np.minimum(np.abs(a), np.abs(b)).sum())},
]


@pytest.fixture(autouse=True)
def _one_thread():
    """Tables this small only wait for each other's threads."""
    with threadpool_limits(1):
        yield


def table(n, p, seed=0):
    """(X, X_new, y): a duplicated row, a constant and a repeated column."""
    rng = np.random.default_rng(seed)
    X, X_new = rng.standard_normal((n, p)), rng.standard_normal((7, p))
    X[1] = X[0]
    X[:, 2] = X_new[:, 2] = 3.0
    X[:, 3], X_new[:, 3] = X[:, 0], X_new[:, 0]
    return X, X_new, 2.0 * X[:, 1] + rng.standard_normal(n) + 40.0


def weights(kind, n):
    rng = np.random.default_rng(9)
    return {"none": None, "real": rng.uniform(0.2, 3.0, n), "with zeros": np.arange(n) % 4 * 1.0}[kind]


SHAPES = [(16, 5), (8, 14), (6, 5)]
WEIGHTS = ["none", "real", "with zeros"]


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"solver": "svd"}], ids=setting_id)
def test_ridge_against_scikit_learn(n, p, weighted, options):
    X, X_new, y = table(n, p)
    path = RidgePath(Ridge(**options), "alpha", ALPHAS)
    check_contract(path, X, y, X_new, weight=weights(weighted, n))
    check_contract(path, X, np.column_stack([y, X[:, 1] ** 2]), X_new, weight=weights(weighted, n), n_draws=1)


@pytest.mark.parametrize("intercept", [True, False])
def test_alpha_zero_is_least_squares(intercept):
    X, X_new, y = table(30, 5)
    independent = [0, 1, 4] if intercept else [0, 1, 2, 4]
    path = RidgePath(Ridge(fit_intercept=intercept), "alpha", [0, 1e-6, 0.1])
    check_contract(path, X[:, independent], y, X_new[:, independent])


def test_alpha_zero_with_dependent_columns_has_minimum_norm():
    X, X_new, y = table(30, 5)
    offset = X.mean(axis=0)
    coefficients = np.linalg.pinv(X - offset) @ (y - y.mean())
    predicted = RidgePath(Ridge(), "alpha", [0.0]).bind(X).predict(y, X_new)
    np.testing.assert_allclose(predicted[0], y.mean() + (X_new - offset) @ coefficients, rtol=1e-10)


def test_columns_of_very_different_scale():
    X, X_new, y = table(40, 6)
    scale = 10.0 ** np.arange(-4, 5, 1.5)
    check_contract(RidgePath(Ridge(solver="svd"), "alpha", [1e-3, 1.0]), X * scale, y, X_new * scale)


def test_single_precision_is_computed_in_double():
    X, X_new, y = table(30, 5)
    single = RidgePath(Ridge(), "alpha", ALPHAS).bind(X.astype(np.float32)).predict(y, X_new.astype(np.float32))
    double = RidgePath(Ridge(), "alpha", ALPHAS).bind(X).predict(y, X_new)
    np.testing.assert_allclose(single, double, rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("intercept", [True, False])
def test_classifier_against_scikit_learn(n_classes, n, p, weighted, intercept):
    X, X_new, _ = table(n, p)
    y = np.arange(n) % n_classes
    classes = np.array(["ash", "elm", "oak"])[:n_classes]
    path = RidgeClassifierPath(RidgeClassifier(fit_intercept=intercept), "alpha", ALPHAS)
    check_contract(path, X, y, X_new, classes=classes, weight=weights(weighted, n))


@pytest.mark.parametrize("response", ["predict", "decision_function"])
def test_label_vectors_that_lack_classes_against_refits(response):
    X, X_new, _ = table(12, 5)
    classes = np.array(["ash", "elm", "oak"])
    Y = np.array([[0, 2] * 6, [1] * 12, [0, 1] * 6])
    path = RidgeClassifierPath(RidgeClassifier(), "alpha", ALPHAS)
    fast, slow = path.bind(X, classes), RefitPath.over(path.estimator, path.params).bind(X, classes)
    np.testing.assert_allclose(fast.fitted(Y, response), slow.fitted(Y, response), rtol=1e-9)
    for y in Y:
        np.testing.assert_allclose(fast.predict(y, X_new, response), slow.predict(y, X_new, response), rtol=1e-9)


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_smoother_and_left_out_against_brute_force(n, p, weighted, intercept):
    X, _, y = table(n, p)
    weight = weights(weighted, n)
    path = RidgePath(Ridge(fit_intercept=intercept, solver="svd"), "alpha", ALPHAS)
    check_smoother(path, X, weight)
    for folds in (np.arange(n), np.arange(n) % 3 + 5, np.arange(n) // (n // 2)):
        check_left_out(path, X, y, folds, weight)


def test_left_out_rows_that_are_nearly_interpolated():
    X, _, y = table(9, 20)
    path = RidgePath(Ridge(solver="svd"), "alpha", [1e-9, 1e-5])
    check_left_out(path, X[:, [0, 1, *range(4, 20)]], y, np.arange(9), tolerance=1e-7)


def test_left_out_row_that_least_squares_cannot_do_without():
    X, _, y = table(12, 5)
    X = np.column_stack([X[:, :2], np.arange(12) == 4])
    check_left_out(RidgePath(Ridge(solver="svd"), "alpha", [0.0, 1.0]), X, y, np.arange(12))


def test_left_out_several_outputs():
    X, _, y = table(20, 5)
    check_left_out(RidgePath(Ridge(), "alpha", ALPHAS), X, np.column_stack([y, -X[:, 1]]), np.arange(20) % 4)


@pytest.mark.parametrize("response", ["predict", "decision_function"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_left_out_against_refits(response, n_classes):
    X, _, _ = table(18, 5)
    classes = np.array([3, 5, 8])[:n_classes]
    y = np.arange(18) % n_classes
    path = RidgeClassifierPath(RidgeClassifier(fit_intercept=n_classes == 2), "alpha", ALPHAS)
    alone = np.where(y == 1, 7, np.arange(18))
    for folds in (np.arange(18), np.arange(18) % 4, alone if n_classes == 3 else np.arange(18) // 6):
        ours = path.bind(X, classes).left_out_predictions(y, folds, response)
        theirs = refitted_left_out(path, X, y, folds, response, classes)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


def test_counts_moments_and_bits():
    X, _, y = table(30, 5)
    rng = np.random.default_rng(0)
    design = RidgePath(Ridge(), "alpha", ALPHAS).bind(X)
    Y = np.stack([rng.permutation(y) for _ in range(4)])
    np.testing.assert_allclose(design.moments(Y, 1.0), Design.moments(design, Y, 1.0), rtol=1e-12)
    np.testing.assert_array_equal(design.fitted(Y)[2:3], design.fitted(Y[2:3]))
    np.testing.assert_array_equal(design.moments(Y, 1.0)[2:3], design.moments(Y[2:3], 1.0))
    design = RidgeClassifierPath(RidgeClassifier(), "alpha", ALPHAS).bind(X, np.arange(3))
    Y = rng.integers(0, 3, (4, 30))
    np.testing.assert_allclose(design.confusions(Y), Design.confusions(design, Y), rtol=1e-12)


@pytest.mark.parametrize("options", KERNELS, ids=setting_id)
@pytest.mark.parametrize("weighted", WEIGHTS)
def test_kernel_ridge_against_scikit_learn(options, weighted):
    X, X_new, y = table(20, 5)
    weight = weights(weighted, 20)
    path = KernelRidgePath(KernelRidge(**options), "alpha", ALPHAS)
    check_contract(path, X, y, X_new, weight=weight)
    if weighted == "with zeros":
        assert isinstance(path.bind(X, None, weight), RefitDesign)
        return
    check_smoother(path, X, weight)
    for folds in (np.arange(20), np.arange(20) % 3):
        check_left_out(path, X, y, folds, weight)


def test_kernel_given_as_a_matrix():
    X, X_new, y = table(20, 5)
    path = KernelRidgePath(KernelRidge(kernel="precomputed"), "alpha", ALPHAS)
    check_contract(path, rbf_kernel(X), y, rbf_kernel(X_new, X))
    kernel, left_out = rbf_kernel(X), path.bind(rbf_kernel(X)).left_out_predictions(y, np.arange(20) // 4)
    models = [KernelRidge(alpha, kernel="precomputed") for alpha in sorted(ALPHAS, reverse=True)]
    theirs = [cross_val_predict(model, kernel, y, cv=KFold(5)) for model in models]
    np.testing.assert_allclose(left_out, theirs, rtol=1e-9, atol=1e-9)


def test_served_or_left_to_refits():
    assert isinstance(find_path(Ridge(), "alpha", ALPHAS), RidgePath)
    assert isinstance(find_path(RidgeClassifier()), RidgeClassifierPath)
    assert isinstance(find_path(KernelRidge(), "alpha", ALPHAS), KernelRidgePath)
    for estimator in (Ridge(solver="lsqr"), Ridge(positive=True), RidgeClassifier(class_weight="balanced")):
        assert isinstance(find_path(estimator, "alpha", ALPHAS), RefitPath)
    assert isinstance(find_path(KernelRidge(), "gamma", [1.0]), RefitPath)
    X, _, _ = table(20, 5)
    assert isinstance(RidgePath(Ridge(), "alpha", ALPHAS).bind(sparse.csr_matrix(X)), RefitDesign)


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 21.0)])
def test_columns_that_are_all_constant_against_scikit_learn(weight):
    X, y = np.full((20, 3), 4.0), np.arange(20.0) ** 2
    fitted = RidgePath(Ridge(), "alpha", [0.1, 10.0]).bind(X, None, weight).fitted(y[None])[0]
    np.testing.assert_allclose(fitted, np.tile(Ridge().fit(X, y, sample_weight=weight).predict(X), (2, 1)))


@pytest.mark.parametrize("weight", [None, np.linspace(1.0, 3.0, 30)])
@pytest.mark.parametrize("n_folds", [10, 30])
def test_more_columns_than_rows_far_from_zero_left_out_against_scikit_learn(n_folds, weight):
    """Centring such columns leaves the rounding of their means, which must not count as a direction."""
    X, y = 10 + 1e-3 * np.random.default_rng(0).normal(size=(30, 40)), np.arange(30.0) % 7
    found = (
        RidgePath(Ridge(), "alpha", [0.1, 10.0]).bind(X, None, weight).left_out_predictions(y, np.arange(30) % n_folds)
    )
    for row, alpha in zip(found, [10.0, 0.1], strict=True):
        for k in range(n_folds):
            fold = np.arange(30) % n_folds == k
            model = Ridge(alpha).fit(X[~fold], y[~fold], None if weight is None else weight[~fold])
            np.testing.assert_allclose(row[fold], model.predict(X[fold]), rtol=1e-6)


def test_slack_of_rows_that_are_nearly_interpolated_keeps_its_digits():
    """Rows with a column each: 1 − leverage is alpha/(s² + alpha)."""
    scale = np.array([1.0, 2.0, 30.0])
    path = find_path(Ridge(fit_intercept=False), "alpha", [1e-18, 1e-9, 1.0])
    found = path.bind(np.diag(scale)).smoother.slack
    alphas = np.array([params["alpha"] for params in path.params])[:, None]
    np.testing.assert_allclose(found, alphas / (scale**2 + alphas), rtol=1e-12)
