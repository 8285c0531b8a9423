"""Paths nested in what they add step by step, but not linear in y: partial least squares, forward stepwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import pinv
from sklearn.base import BaseEstimator, clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.utils import check_array

from outsample.data.learners import fit
from outsample.data.tables import Table
from outsample.estimators import ForwardStepwise, greedy_steps, step_coefficients
from outsample.paths.base import Design, Path
from outsample.paths.order import is_whole, simplest_first
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats


class _StepsPath(Path):
    """Models that each go a number of steps further on the same way: one fit of the longest."""

    takes_weight = False
    learner: Any
    parameter: str

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        return cls.parameter if type(estimator) is cls.learner and parameter in (None, cls.parameter) else None

    @classmethod
    def accepts(cls, estimator: BaseEstimator, values: Sequence[Any]) -> bool:
        """Numbers of steps; the estimator complains about anything else."""
        return all(is_whole(v, 1) for v in values)

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity = np.array([float(value) for value in values])
        order = simplest_first(complexity)
        self.estimator = estimator
        self.params = tuple({parameter: values[i]} for i in order)
        self.complexity = complexity[order]

    @property
    def steps(self) -> list[int]:
        """Number of steps of each model, ascending."""
        return [int(params[self.parameter]) for params in self.params]

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        if sparse.issparse(X):
            return RefitPath.over(self.estimator, self.params).bind(X, classes, weight)
        return self._design(check_array(X, dtype=np.float64))

    def _design(self, X: Floats) -> Design:
        raise NotImplementedError


class PartialLeastSquaresPath(_StepsPath):
    """`PLSRegression` along `n_components`: deflation is nested, one fit of the largest number serves all."""

    learner = PLSRegression
    parameter = "n_components"

    def _design(self, X: Floats) -> Design:
        return _PartialLeastSquaresDesign(self, X)


class ForwardStepwisePath(_StepsPath):
    """`ForwardStepwise` along `n_steps`: the columns chosen first stay chosen."""

    learner = ForwardStepwise
    parameter = "n_steps"

    def _design(self, X: Floats) -> Design:
        return _ForwardStepwiseDesign(self, X)


class _CoefficientsDesign(Design):
    """Every model is a line: columns minus their means, times coefficients, plus the mean label."""

    batched = False

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
    def __init__(self, path: _StepsPath, X: Floats) -> None:
        super().__init__(path, X)
        self._scale = _scale(X) if path.estimator.scale else np.ones(X.shape[1])

    def coefficients(self, y: Floats) -> Floats:
        model = fit(clone(self._path.estimator).set_params(n_components=self._steps[-1]), self._X, y)
        spread = _scale(y) if model.scale else np.ones(y.shape[1])
        weights, loadings, answers = model.x_weights_, model.x_loadings_, model.y_loadings_
        coefficients = np.empty((self.n_models, len(weights), y.shape[1]))
        for m, k in enumerate(self._steps):
            rotations = weights[:, :k] @ pinv(loadings[:, :k].T @ weights[:, :k])
            coefficients[m] = rotations @ answers[:, :k].T
        return np.asarray(coefficients * spread / self._scale[:, None])


class _ForwardStepwiseDesign(_CoefficientsDesign):
    def coefficients(self, y: Floats) -> Floats:
        if y.shape[1] > 1:
            raise ValueError("ForwardStepwise takes one output")
        steps = greedy_steps(self._centred, y[:, 0] - y[:, 0].mean(), self._steps[-1])
        each = [step_coefficients(self._centred, steps, k) for k in self._steps]
        return np.stack(each)[..., None]


def _scale(columns: Floats) -> Floats:
    """Standard deviation (÷ n − 1) of each column, 1 where it is constant."""
    spread = columns.std(axis=0, ddof=1)
    return np.where(spread == 0.0, 1.0, spread)
