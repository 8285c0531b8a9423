"""A family of models that its fast path serves at most values of the parameter, but not at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from outsample.data.tables import Table
from outsample.paths.base import Design, Path
from outsample.paths.order import complexity_of, simplest_first
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats


class MixedPath(Path):
    """One parameter: the values that a family serves, and the others, such as None for no limit, refitted."""

    def __init__(self, served: Path, refitted: RefitPath) -> None:
        self.parts = served, refitted
        self.estimator, self.solves_further = served.estimator, served.solves_further
        params = [*served.params, *refitted.params]
        (parameter,) = params[0]
        complexity, self.ordered = complexity_of(parameter, [setting[parameter] for setting in params])
        self.order = simplest_first(complexity)
        self.params, self.complexity = tuple(params[i] for i in self.order), complexity[self.order]

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        return None

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return _MixedDesign([part.bind(X, classes, weight) for part in self.parts], self.order)

    @property
    def name(self) -> str:
        return ", ".join(part.name for part in self.parts)


class _MixedDesign(Design):
    def __init__(self, parts: Sequence[Design], order: Array) -> None:
        self._parts, self._order = parts, order
        self.classes, self.weight, self.n_samples = parts[0].classes, parts[0].weight, parts[0].n_samples
        self.batched = all(part.batched for part in parts)
        self.n_models = sum(part.n_models for part in parts)
        self.fits_per_draw = sum(part.fits_per_draw for part in parts)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return self._along_models([part.fitted(Y, response, seeds) for part in self._parts], axis=1)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._along_models([part.predict(y, X_new, response, seed) for part in self._parts], axis=0)

    def confusions(self, Y: Array, seeds: Sequence[int] | None = None) -> Floats:
        return self._along_models([part.confusions(Y, seeds) for part in self._parts], axis=1)

    def moments(self, Y: Array, center: float, seeds: Sequence[int] | None = None) -> Floats:
        return self._along_models([part.moments(Y, center, seeds) for part in self._parts], axis=1)

    def lean(self, statistic: str | None) -> bool:
        return all(part.lean(statistic) for part in self._parts)

    @property
    def tied(self) -> bool:
        return any(part.tied for part in self._parts)

    def _along_models(self, answers: list[Array], axis: int) -> Array:
        return np.concatenate(answers, axis=axis).take(self._order, axis=axis)
