"""Support vector machines along `C`: the kernel matrix is computed once for all labels and all C."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from outsample.data.learners import encode, seeded, with_params
from outsample.data.tables import Table, n_rows
from outsample.paths.base import Design, GridPath, Path
from outsample.paths.one_fit import DrawByDraw, codes_suffice, fit_or_say
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

KERNELS = ("linear", "poly", "rbf", "sigmoid")
_MAX_GRAM_BYTES = 512 * 2**20
_BLOCK_BYTES = 64 * 2**20


class SupportVectorPath(GridPath):
    """SVC and SVR along `C`, by scikit-learn's own solver on a precomputed kernel matrix.

    The solver rounds the kernel to single precision, so it takes the same steps as with its own kernel unless
    an entry lies within 1e-16 of the border between two rounded values; answers then agree to the solver's `tol`.
    Not served: `probability=True` and kernels given as functions. A table whose kernel matrix would not fit
    into 512 MB (more than 8192 rows) is refitted with the kernel computed anew.
    """

    responses = frozenset({"predict", "decision_function"})

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        plain = getattr(estimator, "probability", False) in (False, "deprecated")
        return plain and estimator.kernel in KERNELS

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        if n_rows(X) ** 2 * 8 > _MAX_GRAM_BYTES:
            return RefitPath.of(self).bind(X, classes, weight)
        return SupportVectorDesign(self, X, classes, weight)

    def pieces(self) -> list[tuple[Path, Rows]]:
        return RefitPath.of(self).pieces()


class SupportVectorDesign(DrawByDraw):
    """X and its kernel matrix, computed once, for the first fit; every C is fitted to it."""

    def __init__(self, path: SupportVectorPath, X: Table, classes: Array | None, weight: Floats | None) -> None:
        super().__init__(path, X, classes, weight)
        self.fits_per_draw = len(path)
        self._X = double(X)
        self._kernel = Kernel(path.estimator, self._X)
        self._path = path
        self._codes_suffice = codes_suffice(path.estimator)

    @cached_property
    def _gram(self) -> Floats:
        return self._kernel(self._X, self._X)

    def _answers(
        self, y: Array, classes: Array | None, X_new: Table | None, response: str, seed: int | None
    ) -> Iterator[Array]:
        by_name = None if self._codes_suffice else classes
        labels = y if by_name is None else by_name[y]
        rows = None if X_new is None else double(X_new)
        for params in self._path.params:
            machine = seeded(with_params(self._path.estimator, {"kernel": "precomputed", **params}), seed)
            model = fit_or_say(machine, self._gram, labels, self.weight)
            answer = np.concatenate([getattr(model, response)(block) for block in self._blocks(rows)])
            yield answer if by_name is None or response != "predict" else encode(answer, by_name)

    def _blocks(self, rows: Any) -> Iterator[Floats]:
        """Kernel values between `rows` (None: the design's own) and X, some rows at a time."""
        if rows is None:
            yield self._gram
            return
        height = max(1, _BLOCK_BYTES // (8 * self.n_samples))
        for start in range(0, rows.shape[0], height):
            yield self._kernel(rows[start : start + height], self._X)


class Kernel:
    """One of libsvm's kernels; `gamma` is computed from X where it is "scale" or "auto"."""

    def __init__(self, estimator: BaseEstimator, X: Table) -> None:
        self.name, self.degree, self.coef0 = estimator.kernel, estimator.degree, estimator.coef0
        self.gamma = _width(estimator.gamma, X)

    def __call__(self, A: Any, B: Any) -> Floats:
        """Kernel values of all pairs of rows, (rows of A, rows of B)."""
        product = A @ B.T
        dots = np.asarray(product.toarray() if sparse.issparse(product) else product, order="C")
        values = self._of_distances(dots, A, B) if self.name == "rbf" else self._of_dots(dots)
        if A is B:
            np.fill_diagonal(values, self._own(A))
        return values

    def _of_distances(self, dots: Floats, A: Any, B: Any) -> Floats:
        """exp(−γ‖a − b‖²) of all pairs; the dots are written over."""
        squares = _squares(B)
        values = (squares if A is B else _squares(A))[:, None] + squares
        dots *= 2.0
        values -= dots
        values *= -self.gamma
        return np.exp(values, out=values)

    def _of_dots(self, dots: Floats) -> Floats:
        if self.name == "linear":
            return dots
        inner = self.gamma * dots + self.coef0
        return np.asarray(np.tanh(inner)) if self.name == "sigmoid" else _power(inner, int(self.degree))

    def _own(self, A: Any) -> Floats:
        """Kernel values of rows with themselves, to libsvm's last digit.

        The solver keeps these in double precision and breaks ties by them. So equal rows need equal values, which a
        product of matrices does not guarantee, and the last digit of tanh must be that of the C library, not numpy's.
        """
        if self.name == "rbf":
            return np.ones(A.shape[0])
        if self.name == "sigmoid":
            return np.array([math.tanh(self.gamma * s + self.coef0) for s in _squares(A)])
        return self._of_dots(_squares(A))


def _power(base: Floats, exponent: int) -> Floats:
    """Powers by repeated squaring, as libsvm takes them."""
    result = np.ones_like(base)
    while exponent:
        if exponent % 2:
            result *= base
        base = base * base
        exponent //= 2
    return result


def _squares(A: Any) -> Floats:
    """Squared length of every row."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.array([row @ row for row in A])


def _width(gamma: Any, X: Any) -> float:
    """The number that gamma="scale" or "auto" stands for."""
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma != "scale":
        return float(gamma)
    variance = X.multiply(X).mean() - X.mean() ** 2 if sparse.issparse(X) else X.var()
    return 1.0 / (int(X.shape[1]) * float(variance)) if variance != 0 else 1.0


def double(X: Table) -> Any:
    """X as a support vector machine reads it: numbers of double precision, an array or sparse rows."""
    return check_array(X, dtype=np.float64, order="C", accept_sparse="csr", accept_large_sparse=False)
