"""Lasso and elastic net along `alpha`: one Gram matrix for all labels, one warm-started pass per label vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from outsample.data.tables import Table, n_rows
from outsample.paths.base import Abilities, Design, GridPath
from outsample.paths.penalised.newton import minimise
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats
from outsample.running.fits import count_fits

_MAX_TABLE_BYTES = 512 * 2**20
# A step along one coordinate reads a column of the Gram matrix here, and a column of X in scikit-learn. The Gram matrix
# is faster while it is small, or has at most ten entries per entry of X, and fits into the processor's cache.
_GRAM_PER_ENTRY, _SMALL_GRAM, _LARGE_GRAM = 10, 100_000, 2_000**2


class ElasticNetPath(GridPath):
    """Lasso and ElasticNet along `alpha`.

    Every model is solved to its optimum, whatever `tol` and `max_iter` say; scikit-learn's own solution is within its
    tolerance of it. Where the optimum is not unique (a column given twice) the predictions still are.
    Tables in single precision, which scikit-learn solves in single precision, `alpha=0`, and tables with a
    large Gram matrix (2000 columns, or ten times as many as a column has entries that are not zero) are refitted
    by scikit-learn itself.
    """

    solves_further = True

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        # What scikit-learn refuses only when it comes to use it, and Gram matrices of the user, are left to it.
        known = isinstance(estimator.precompute, bool) and estimator.max_iter is not None
        return known and not estimator.positive

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        checked = check_array(X, accept_sparse="csr")
        table = double_table(checked) if min(self.values) > 0 and _worth_a_gram_matrix(checked) else None
        if table is None:
            return RefitPath.of(self).bind(X, classes, weight)
        return ElasticNetDesign(self, table, weight)


class ElasticNetDesign(Design):
    """Centred X and its Gram matrix; all label vectors share them."""

    classes = None

    def __init__(self, path: ElasticNetPath, X: Floats, weight: Floats | None) -> None:
        self.weight, self.table = weight, X
        self.n_samples, self.n_models = len(X), len(path)
        self.fits_per_draw = len(path)
        self._alphas = [float(alpha) for alpha in path.values]
        self._l1_ratio = float(path.estimator.get_params().get("l1_ratio", 1.0))
        shares = np.full(len(X), 1.0 / len(X)) if weight is None else weight / weight.sum()
        self._shares = shares
        self._intercept = bool(path.estimator.fit_intercept)
        self._means = shares @ X if self._intercept else np.zeros(X.shape[1])
        self._centred = X - self._means
        self._gram = self._centred.T @ (shares[:, None] * self._centred)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return self._values(np.asarray(Y, dtype=np.float64), self._centred)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        table = check_array(X_new, dtype=np.float64, accept_sparse="csr")
        table = table.toarray() if sparse.issparse(table) else table
        return np.asarray(self._values(np.asarray(y, dtype=np.float64)[None], table - self._means)[0])

    @property
    def abilities(self) -> Abilities:
        return Abilities(coefficients=True)

    def fitted_coefficients(self, y: Array) -> Iterator[tuple[Floats, Floats]]:
        if y.ndim > 1:
            outputs = [list(self.fitted_coefficients(column)) for column in y.T]
            for one in zip(*outputs, strict=True):
                yield np.vstack([coefficients for coefficients, _ in one]), np.hstack([level for _, level in one])
            return
        linear, level, size = (found[0] for found in self._products(np.asarray(y, dtype=np.float64)[None]))
        for coef in self._pass(linear, size):
            yield coef[None], np.array([level - self._means @ coef])

    def _products(self, Y: Floats) -> tuple[Floats, Floats, Floats]:
        """(products of centred X with each label vector, mean of each, its spread)."""
        level = Y @ self._shares if self._intercept else np.zeros(len(Y))
        residual = (Y - level[:, None]) * self._shares
        sizes = np.sqrt(np.einsum("dn,dn->d", residual, Y - level[:, None]))
        return residual @ self._centred, level, sizes

    def _values(self, Y: Floats, centred: Floats) -> Array:
        """Values at centred rows after fitting each label vector, (draws, models, rows[, outputs])."""
        if Y.ndim == 3:
            outputs = [self._values(Y[:, :, o], centred) for o in range(Y.shape[2])]
            return np.stack(outputs, axis=-1)
        linear, level, sizes = self._products(Y)
        coefs = np.stack([self._pass(c, s) for c, s in zip(linear, sizes, strict=True)])
        return np.asarray(coefs @ centred.T + level[:, None, None])

    def _pass(self, linear: Floats, size: float) -> Floats:
        """Coefficients of every model, (models, p); each starts from those of the next larger alpha."""
        count_fits(len(self._alphas))
        coef = np.zeros(len(linear))
        coefs = []
        for alpha in self._alphas:
            l1, l2 = alpha * self._l1_ratio, alpha * (1.0 - self._l1_ratio)
            coef = minimise(self._gram, linear, l1, l2, coef, size)
            coefs.append(coef)
        return np.stack(coefs)


def _worth_a_gram_matrix(X: Any) -> bool:
    """Whether descent on the Gram matrix is faster than scikit-learn's descent on X."""
    gram, entries = X.shape[1] ** 2, X.nnz if sparse.issparse(X) else X.size
    return bool(gram <= min(_LARGE_GRAM, max(_SMALL_GRAM, _GRAM_PER_ENTRY * entries)))


def double_table(X: Table) -> Floats | None:
    """X as a dense table of doubles; None when it is too large to be made dense."""
    table = check_array(X, accept_sparse="csr")
    if n_rows(table) * table.shape[1] * 8 > _MAX_TABLE_BYTES:
        return None
    dense = table.toarray() if sparse.issparse(table) else table
    return np.asarray(dense, dtype=np.float64)
