"""Paths that add one component or column per step, chosen by looking at y: partial least squares, forward stepwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import pinv
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array

from outsample.checks import is_integer
from outsample.data.learners import fit
from outsample.data.tables import Table
from outsample.estimators import greedy_steps, step_coefficients
from outsample.paths.base import Abilities, Design, GridPath
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats
from outsample.running.fits import count_fits


class _StepsPath(GridPath):
    """Models that take different numbers of the same steps: one fit of the longest."""

    takes_weight = False
    from_one_fit = True

    @classmethod
    def accepts(cls, value: object) -> bool:
        """Numbers of steps; the estimator complains about anything else."""
        return is_integer(value, 1)

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[int]) -> None:
        super().__init__(estimator, parameter, sorted(values))
        self.complexity, self.ordered = np.array(self.values, dtype=np.float64), True

    @property
    def steps(self) -> list[int]:
        """Number of steps of each model, ascending."""
        return [int(value) for value in self.values]

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        if sparse.issparse(X):
            return RefitPath.of(self).bind(X, classes, weight)
        return self._design(check_array(X, dtype=np.float64))

    def _design(self, X: Floats) -> Design:
        raise NotImplementedError


class PartialLeastSquaresPath(_StepsPath):
    """`PLSRegression` along `n_components`: deflation is nested, one fit of the largest number serves all."""

    def _design(self, X: Floats) -> Design:
        return _PartialLeastSquaresDesign(self, X)


class ForwardStepwisePath(_StepsPath):
    """`ForwardStepwise` along `n_steps`: the columns chosen first stay chosen."""

    def _design(self, X: Floats) -> Design:
        return _ForwardStepwiseDesign(self, X)


class _CoefficientsDesign(Design):
    """Every model is linear in X: columns minus their means, times coefficients, plus the mean label."""

    abilities = Abilities(batched=False)

    def __init__(self, path: _StepsPath, X: Floats) -> None:
        self._path, self._steps = path, path.steps
        self.classes = self.weight = None
        self.n_samples, self.n_models = len(X), len(path)
        self._means = X.mean(axis=0)
        self._X, self._centred = X, X - self._means

    def coefficients(self, y: Floats) -> Floats:
        """Coefficients of every model, (models, p, outputs), for y (n, outputs)."""
        raise NotImplementedError

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return np.stack([self._values(y, self._centred) for y in Y])

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._values(y, check_array(X_new, dtype=np.float64) - self._means)

    def _values(self, y: Array, centred: Floats) -> Floats:
        targets = np.asarray(y, dtype=np.float64).reshape(self.n_samples, -1)
        values = centred @ self.coefficients(targets) + targets.mean(axis=0)
        return np.asarray(values[..., 0] if y.ndim == 1 else values)


class _PartialLeastSquaresDesign(_CoefficientsDesign):
    """The coefficients for k components, from the weights and loadings of the first k of the largest fit."""

    def __init__(self, path: _StepsPath, X: Floats) -> None:
        super().__init__(path, X)
        self._scale = _scale(X) if path.estimator.scale else np.ones(X.shape[1])

    def coefficients(self, y: Floats) -> Floats:
        model = fit(clone(self._path.estimator).set_params(n_components=self._steps[-1]), self._X, y)
        scale = _scale(y) if model.scale else np.ones(y.shape[1])
        weights, loadings, answers = model.x_weights_, model.x_loadings_, model.y_loadings_
        coefficients = np.empty((self.n_models, len(weights), y.shape[1]))
        for m, k in enumerate(self._steps):
            rotations = weights[:, :k] @ pinv(loadings[:, :k].T @ weights[:, :k])
            coefficients[m] = rotations @ answers[:, :k].T
        return np.asarray(coefficients * scale / self._scale[:, None])


class _ForwardStepwiseDesign(_CoefficientsDesign):
    """The coefficients after k steps, from the columns chosen in the first k steps."""

    def coefficients(self, y: Floats) -> Floats:
        if y.shape[1] > 1:
            raise ValueError("ForwardStepwise takes one output")
        count_fits()
        steps = greedy_steps(self._centred, y[:, 0] - y[:, 0].mean(), self._steps[-1])
        each = [step_coefficients(self._centred, steps, k) for k in self._steps]
        return np.stack(each)[..., None]


def _scale(columns: Floats) -> Floats:
    """Standard deviation (÷ n − 1) of each column, 1 where it is constant."""
    deviation = columns.std(axis=0, ddof=1)
    return np.where(deviation == 0.0, 1.0, deviation)
