"""Kernel ridge regression along `alpha`: one eigendecomposition of the Gram matrix serves every alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_array

from outsample.learners import with_params

from .base import Array, Design, Floats
from .grid import GridPath
from .linear import LinearFits
from .linear_design import LinearDesign, Part

# K + alpha I nearer to singular than this, relative to its size, has no solution worth comparing.
_SINGULAR = 1e-13


class KernelRidgePath(GridPath):
    """`KernelRidge` along `alpha`, any kernel, dense X.

    Refitted instead: sparse X, an alpha per output, rows of weight zero, and alphas so small that K + alpha I
    is numerically singular, where scikit-learn falls back to least squares.
    """

    @classmethod
    def recognise(cls, estimator: Any, parameter: str | None) -> str | None:
        return "alpha" if type(estimator) is KernelRidge and parameter in (None, "alpha") else None

    def bind(self, X: Any, classes: Array | None = None, weight: Floats | None = None) -> Design:
        alphas = [params["alpha"] for params in self.params]
        part = None
        plain = all(np.ndim(a) == 0 and a >= 0 for a in alphas) and not sparse.issparse(X)
        if plain and (weight is None or (weight > 0).all()):
            part = _kernel_part(self.estimator, X, np.array(alphas, dtype=np.float64), weight)
        if part is None:
            return self.refitting(X, classes, weight)

        def refitted(model: int) -> tuple[Any, Any]:
            return with_params(self.estimator, self.params[model]), X

        return LinearDesign([part], refitted, classes, weight)


def _kernel_part(estimator: Any, X: Any, alphas: Floats, weight: Floats | None) -> Part | None:
    """Fits of every alpha, or None when K + alpha I is singular or nearly so for one of them.

    √w K √w = Q Λ Qᵀ: direction k keeps λ/(λ + alpha), and the dual coefficients are √w Q (Λ + alpha)⁻¹ Qᵀ √w y.
    """
    table = check_array(X, dtype=[np.float64, np.float32])
    root = np.ones(len(table)) if weight is None else np.sqrt(weight)
    values, vectors = np.linalg.eigh(_kernel(estimator, table, None) * np.outer(root, root))
    shifted = values + alphas[:, None]
    if (shifted <= _SINGULAR * np.abs(shifted).max(axis=1, keepdims=True)).any():
        return None
    fits = LinearFits(vectors / root[:, None], values / shifted, alphas[:, None] / shifted, weight, constant=False)

    def evaluated(X_new: Any) -> Floats:
        new = check_array(X_new, dtype=[np.float64, np.float32])
        return np.asarray(_kernel(estimator, new, table) @ (root[:, None] * vectors))

    return Part(np.arange(len(alphas)), fits, evaluated, 1.0 / shifted, np.zeros(len(alphas)))


def _kernel(estimator: Any, X: Floats, fitted: Floats | None) -> Floats:
    """Kernel values between X and the fitted rows (X itself when None), with the estimator's parameters."""
    if estimator.kernel == "precomputed":
        return np.asarray(X, dtype=np.float64)
    if callable(estimator.kernel):
        params = estimator.kernel_params or {}
    else:
        params = {"gamma": estimator.gamma, "degree": estimator.degree, "coef0": estimator.coef0}
    kernel = pairwise_kernels(X, fitted, metric=estimator.kernel, filter_params=True, **params)
    return np.asarray(kernel, dtype=np.float64)
