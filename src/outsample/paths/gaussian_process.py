"""Gaussian process regression with its kernel held fixed, along `alpha`: one decomposition serves every alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils import check_array

from outsample.data.tables import Table
from outsample.paths.base import Abilities, Design, GridPath, Smoother
from outsample.paths.refit import MixedDesign, RefitPath
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

# Ratio of the eigenvalues of K + alpha up to which scikit-learn's own solution has nine digits.
LARGEST_CONDITION = 1e6


class GaussianProcessPath(GridPath):
    """`GaussianProcessRegressor` along `alpha`, a number or one per row, with a kernel that is not optimised.

    Kernels of other things than vectors are refitted, and so are alphas so small that K + alpha is nearly singular.
    """

    takes_weight = False

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        kernel = estimator.kernel
        if kernel is None:
            fixed = estimator.optimizer is None
        else:
            fixed = kernel.requires_vector_input and (estimator.optimizer is None or kernel.n_dims == 0)
        return bool(fixed and estimator.n_targets is None)

    @classmethod
    def accepts(cls, value: object) -> bool:
        numbers = np.asarray(value)
        array = numbers.ndim == 0 or isinstance(value, np.ndarray)
        return bool(array and numbers.ndim < 2 and numbers.dtype.kind in "fiu" and (numbers >= 0).all())

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        design = None if classes is not None else self._design(X)
        return RefitPath.of(self).bind(X, classes, weight) if design is None else design

    def _design(self, X: Table) -> Design | None:
        """The models whose matrix is well conditioned in closed form, the others refitted; None where all are."""
        try:
            table = check_array(X)
        except (ValueError, TypeError):
            return None
        kernel = ConstantKernel() * RBF() if self.estimator.kernel is None else self.estimator.kernel
        matrix = kernel(table)
        if matrix.dtype != np.float64 or any(np.ndim(a) and len(a) != len(table) for a in self.values):
            return None
        blocks = _blocks(matrix, self.values)
        served = np.concatenate([block.models[block.well_posed] for block in blocks])
        others = np.setdiff1d(np.arange(len(self)), served)
        if not len(served):
            return None
        noise = np.diag(matrix) - np.diag(kernel(table, table))
        design = GaussianProcessDesign(
            kernel, table, [block.only() for block in blocks], noise, self.estimator.normalize_y
        )
        if not len(others):
            return design
        refits = RefitPath.over(self.estimator, [self.params[m] for m in others]).bind(X)
        return MixedDesign([design, refits], np.argsort(np.concatenate([served, others])))


class _Block:
    """Models that share the eigenvectors of their matrix: K + alpha for all numbers, or for one alpha per row.

    Attributes
    ----------
    models : their positions on the path.
    vectors : (n, n).
    values : (models, n) eigenvalues of K + alpha.
    alphas : (models, n).
    """

    def __init__(self, models: Rows, vectors: Floats, values: Floats, alphas: Floats) -> None:
        self.models, self.vectors, self.values, self.alphas = models, vectors, values, alphas

    @property
    def well_posed(self) -> Array:
        """Which models have nine digits, (models,)."""
        return np.asarray(self.values.max(axis=1) <= LARGEST_CONDITION * self.values.min(axis=1))

    def only(self) -> _Block:
        """The models that are well posed."""
        kept = self.well_posed
        return _Block(self.models[kept], self.vectors, self.values[kept], self.alphas[kept])

    def duals(self, targets: Floats) -> Floats:
        """(K + alpha)⁻¹ y of targets (n, outputs), (models, n, outputs)."""
        along = self.vectors.T @ targets
        return np.asarray(self.vectors @ (along / self.values[:, :, None]))

    @cached_property
    def diagonal(self) -> Floats:
        """The diagonal of the inverse, (models, n)."""
        return np.asarray((1.0 / self.values) @ np.square(self.vectors).T)

    def inverse(self, model: int, rows: Rows) -> Floats:
        """Rows and columns of the inverse, (rows, rows)."""
        own = self.vectors[rows]
        return np.asarray((own / self.values[model]) @ own.T)


def _blocks(matrix: Floats, alphas: Sequence[Any]) -> list[_Block]:
    """The models, those with one number for all rows together."""
    found, n = [], len(matrix)
    plain = np.array([m for m, alpha in enumerate(alphas) if np.ndim(alpha) == 0], np.intp)
    if len(plain):
        values, vectors = np.linalg.eigh(matrix)
        numbers = np.array([float(alphas[m]) for m in plain])[:, None]
        found.append(_Block(plain, vectors, values + numbers, np.repeat(numbers, n, axis=1)))
    for m, alpha in enumerate(alphas):
        if np.ndim(alpha):
            values, vectors = np.linalg.eigh(matrix + np.diag(alpha))
            found.append(_Block(np.array([m]), vectors, values[None], np.asarray(alpha, np.float64)[None]))
    return found


class GaussianProcessDesign(Design):
    """Gaussian process regression bound to one X: every fit is linear in y.

    With A = K + alpha, predictions of rows left out are y − (A⁻¹)_II⁻¹ (A⁻¹y)_I for the rows I of a fold (Rasmussen &
    Williams 2006, section 5.4.2). Scaling y changes nothing, so that `normalize_y` only takes its mean away.

    Parameters
    ----------
    kernel : not optimised.
    table : (n, p).
    noise : (n,) what the kernel adds to the diagonal for the rows fitted, but not for equal new ones.
    centred : whether the mean of y is taken away before the fit and added afterwards.
    """

    abilities = Abilities(smoother=True, leaves_out=True)

    def __init__(self, kernel: Any, table: Array, blocks: Sequence[_Block], noise: Floats, centred: bool) -> None:
        self._kernel, self._table, self._noise, self._centred = kernel, table, noise, centred
        self._parts = [block for block in blocks if len(block.models)]
        self._order = np.argsort(np.concatenate([block.models for block in self._parts]), kind="stable")
        self.classes, self.weight = None, None
        self.n_samples, self.n_models = len(table), len(self._order)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return np.stack([self._fitted(y) for y in Y])

    def _fitted(self, y: Array) -> Floats:
        self._learn(y)
        targets, mean = self._targets(y)
        own = targets - self._over((b.alphas + self._noise)[:, :, None] * b.duals(targets) for b in self._parts)
        return (own + mean).reshape(self.n_models, *y.shape)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        self._learn(y)
        targets, mean = self._targets(y)
        across = self._kernel(check_array(X_new), self._table)
        values = across @ self._over(block.duals(targets) for block in self._parts) + mean
        return np.asarray(values).reshape(self.n_models, len(across), *y.shape[1:])

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        targets = np.asarray(y, np.float64).reshape(self.n_samples, -1)
        _, fold, sizes = np.unique(folds, return_inverse=True, return_counts=True)
        if len(sizes) < 2:
            return None
        self._learn(y)
        single = bool((sizes == 1).all())
        # Centring moves y by a mean that differs from fold to fold: the answer to a constant one is taken along.
        both = np.column_stack([targets, np.ones(self.n_samples)]) if self._centred else targets
        leave = self._leave_one_out if single else self._leave_folds_out
        answers = self._over(leave(block, both, fold) for block in self._parts)
        if self._centred:
            sums = np.stack([np.bincount(fold, column) for column in targets.T], axis=1)
            mean = ((targets.sum(axis=0) - sums) / (self.n_samples - sizes)[:, None])[fold]
            answers = answers[:, :, :-1] + mean * (1.0 - answers[:, :, -1:])
        return np.ascontiguousarray(answers).reshape(self.n_models, *y.shape)

    def _leave_one_out(self, block: _Block, targets: Floats, fold: Array) -> Floats:
        return targets - block.duals(targets) / block.diagonal[:, :, None]

    def _leave_folds_out(self, block: _Block, targets: Floats, fold: Array) -> Floats:
        duals = block.duals(targets)
        order = np.argsort(fold, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(fold))[:-1]):
            for m in range(len(block.models)):
                duals[m, rows] = np.linalg.solve(block.inverse(m, rows), duals[m, rows])
        return targets - duals

    @cached_property
    def smoother(self) -> Smoother | None:
        n, ones = self.n_samples, np.ones((self.n_samples, 1))
        added = self._over(block.alphas + self._noise for block in self._parts)
        leverages = 1.0 - added * self._over(block.diagonal for block in self._parts)
        row_sums = 1.0 - added * self._over(block.duals(ones)[:, :, 0] for block in self._parts)
        if self._centred:
            leverages, row_sums = leverages + (1.0 - row_sums) / n, np.ones_like(row_sums)
        return Smoother(leverages, row_sums)

    def _targets(self, y: Array) -> tuple[Floats, Floats]:
        """(y less its mean where it is centred, (n, outputs), that mean, (outputs,))."""
        targets = np.asarray(y, np.float64).reshape(self.n_samples, -1)
        mean = targets.mean(axis=0) if self._centred else np.zeros(targets.shape[1])
        return targets - mean, mean

    def _over(self, answers: Any) -> Floats:
        """The answers of all blocks in the order of the path, (models, …)."""
        return np.concatenate(list(answers))[self._order]
