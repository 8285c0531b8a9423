"""Ridge regression and classification along `alpha`: one singular value decomposition serves every alpha."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_array

from outsample.data.learners import with_params
from outsample.data.tables import Table
from outsample.paths.base import Design, GridPath
from outsample.paths.linear.design import LinearClassifierDesign, LinearDesign, ModelBlock
from outsample.paths.linear.fits import CentredRows, Directions, LinearFits, limit_of, scaled_rows, with_constant
from outsample.paths.linear.rescaled import RescaledRidge
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats

# Solvers that give the exact minimum; iterative ones stop within their tolerance of it.
DIRECT_SOLVERS = frozenset({"auto", "svd", "cholesky"})
# Where the smallest singular value is below this share of the largest, the whole table is decomposed: the directions
# X V / s of so small an s would not be orthonormal to the digits wanted.
_WELL_SEPARATED = 1e-6
# Down to this share XᵀX, whose singular values are the squares, still gives twelve digits.
_SAFE_TO_SQUARE = 1e-2


class RidgePath(GridPath):
    """`Ridge` along `alpha`, dense X, direct solvers.

    Computed in double precision: on single-precision X the answers differ from scikit-learn's by its own
    rounding. With alpha = 0 and columns that are linearly dependent the answer is the least-squares fit of
    minimum norm; scikit-learn's own answer there depends on rounding.
    Sparse X and an alpha per output are refitted.
    """

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        direct = estimator.solver in DIRECT_SOLVERS and not estimator.positive
        return direct and getattr(estimator, "class_weight", None) is None

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        if sparse.issparse(X) or not all(np.ndim(a) == 0 and a >= 0 for a in self.values):
            return RefitPath.of(self).bind(X, classes, weight)
        table = check_array(X, dtype=np.float64 if classes is not None else [np.float64, np.float32])
        fixed = {k: v for k, v in self.estimator.get_params().items() if k != "class_weight"}

        def refitted(model: int) -> tuple[Any, Any]:
            return Ridge(**{**fixed, **self.params[model]}), np.asarray(table, dtype=np.float64)

        settings = table, np.array(self.values, dtype=np.float64), weight, self.estimator.fit_intercept
        block, rescaled = ridge_block(*settings), partial(RescaledRidge, *settings)
        if classes is None:
            return LinearDesign([block], refitted, classes, weight, rescaled)
        return LinearClassifierDesign(self, block, refitted, table, classes, weight, rescaled)


class RidgeClassifierPath(RidgePath):
    """`RidgeClassifier` along `alpha`: the sign of a linear smoother of ±1 labels, one against the rest.

    `class_weight` is not served: it makes the weights depend on the labels.
    """

    responses = frozenset({"predict", "decision_function"})


def ridge_block(X: Floats, alphas: Floats, weight: Floats | None, intercept: bool) -> ModelBlock:
    """Ridge fits of every alpha: of the direction with singular value s the share s²/(s² + alpha) is kept."""
    rows = CentredRows.of(X, weight, intercept)
    means = rows.means
    basis, singular, axes = singular_directions(rows, constant=intercept)
    squared = singular**2
    lost = alphas[:, None] / (squared + alphas[:, None])
    kept = squared / (squared + alphas[:, None])
    if intercept:
        kept = np.column_stack([np.ones(len(alphas)), kept])
        lost = np.column_stack([np.zeros(len(alphas)), lost])

    def evaluated(X_new: Table) -> Floats:
        new = (check_array(X_new, dtype=np.float64) - means) @ (axes / singular)
        return with_constant(new, weight, len(X)) if intercept else new

    def limit() -> Floats:
        return limit_of(np.diag(np.square(singular.min(initial=np.inf) / singular)), intercept)

    fits = LinearFits(basis, kept, lost, weight, intercept, limit)
    return ModelBlock(np.arange(len(alphas)), fits, evaluated, kept, np.zeros(len(alphas)))


def singular_directions(rows: CentredRows, constant: bool) -> tuple[Floats | Directions, Floats, Floats]:
    """(L, s, V) of √w rows = (√w L) diag(s) Vᵀ: (n, r), (r,), (p, r), r the numerical rank.

    Columns minus their means carry the rounding of the largest mean. A singular value no larger than that is not
    counted as a direction: it may well be the constant, which is in the basis already.

    The cheapest decomposition that keeps its digits is used: that of XᵀX when the columns are well conditioned, else
    that of the triangle of a QR decomposition, else that of the whole table. Rows of weight zero get the value the
    directions have there.

    Parameters
    ----------
    constant : whether to put the constant direction in front of L, which then has r + 1 columns.
    """
    n, p = rows.X.shape
    weight = rows.weight
    rounding = max(n, p) * float(np.finfo(np.float64).eps)
    largest_mean = float(np.abs(rows.means).max(initial=0.0))
    of_means = rounding * largest_mean * (1.0 if weight is None else float(np.sqrt(weight.max())))
    if n > p:
        singular, axes = _small_decomposition(rows)
        if len(singular) and singular[-1] >= _WELL_SEPARATED * singular[0] and singular[-1] > of_means:
            return Directions(rows, axes / singular, constant), singular, axes
    left, singular, rotation = np.linalg.svd(scaled_rows(rows[:], weight), full_matrices=False)
    rank = int((singular > max(rounding * singular.max(initial=0.0), of_means)).sum())
    left, singular, axes = left[:, :rank], singular[:rank], rotation[:rank].T
    if weight is not None and not (weight > 0).all():
        return Directions(rows, axes / singular, constant), singular, axes
    left = left if weight is None else left / np.sqrt(weight)[:, None]
    return with_constant(left, weight, n) if constant else left, singular, axes


def _small_decomposition(rows: CentredRows) -> tuple[Floats, Floats]:
    """Singular values, largest first, and right singular vectors (p, p) of a tall table."""
    products = np.zeros((rows.X.shape[1],) * 2)
    for scaled in rows.scaled_blocks():
        products += scaled.T @ scaled
    squares, axes = np.linalg.eigh(products)
    if len(squares) and squares[0] >= _SAFE_TO_SQUARE**2 * squares[-1] > 0:
        return np.sqrt(squares[::-1]), axes[:, ::-1]
    triangle = np.zeros((0, rows.X.shape[1]))
    for scaled in rows.scaled_blocks():
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, scaled]), mode="r"))
    _, singular, rotation = np.linalg.svd(triangle)
    return singular, rotation.T


# Ratio of the smallest to the largest eigenvalue of K + alpha I below which the solution is mostly rounding.
_SINGULAR = 1e-13


class KernelRidgePath(GridPath):
    """`KernelRidge` along `alpha`, any kernel, dense X.

    Refitted instead: sparse X, an alpha per output, rows of weight zero, and alphas so small that K + alpha I
    is numerically singular, where scikit-learn falls back to least squares.
    """

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        block = None
        plain = all(np.ndim(a) == 0 and a >= 0 for a in self.values) and not sparse.issparse(X)
        if plain and (weight is None or (weight > 0).all()):
            block = _kernel_block(self.estimator, X, np.array(self.values, dtype=np.float64), weight)
        if block is None:
            return RefitPath.of(self).bind(X, classes, weight)

        def refitted(model: int) -> tuple[Any, Any]:
            return with_params(self.estimator, self.params[model]), X

        return LinearDesign([block], refitted, classes, weight)


def _kernel_block(estimator: BaseEstimator, X: Table, alphas: Floats, weight: Floats | None) -> ModelBlock | None:
    """Fits of every alpha, or None when K + alpha I is singular or nearly so for one of them.

    √w K √w = Q Λ Qᵀ: direction k keeps λ/(λ + alpha), and the dual coefficients are √w Q (Λ + alpha)⁻¹ Qᵀ √w y.
    """
    table = check_array(X, dtype=[np.float64, np.float32])
    root = np.ones(len(table)) if weight is None else np.sqrt(weight)
    values, vectors = np.linalg.eigh(_kernel(estimator, table, None) * np.outer(root, root))
    shifted = values + alphas[:, None]
    if (shifted <= _SINGULAR * np.abs(shifted).max(axis=1, keepdims=True)).any():
        return None
    lost = alphas[:, None] / shifted

    def limit() -> Floats:
        return np.diag(values.min() / values)

    fits = LinearFits(vectors / root[:, None], values / shifted, lost, weight, constant=False, limit=limit)

    def evaluated(X_new: Table) -> Floats:
        new = check_array(X_new, dtype=[np.float64, np.float32])
        return np.asarray(_kernel(estimator, new, table) @ (root[:, None] * vectors))

    return ModelBlock(np.arange(len(alphas)), fits, evaluated, 1.0 / shifted, np.zeros(len(alphas)))


def _kernel(estimator: BaseEstimator, X: Floats, fitted: Floats | None) -> Floats:
    """Kernel values between X and the fitted rows (X itself when None), with the estimator's parameters."""
    if estimator.kernel == "precomputed":
        return np.asarray(X, dtype=np.float64)
    if callable(estimator.kernel):
        params = estimator.kernel_params or {}
    else:
        params = {"gamma": estimator.gamma, "degree": estimator.degree, "coef0": estimator.coef0}
    kernel = pairwise_kernels(X, fitted, metric=estimator.kernel, filter_params=True, **params)
    return np.asarray(kernel, dtype=np.float64)
