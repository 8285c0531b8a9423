"""A fast path behind the leading steps of a pipeline that ignore y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from outsample.data.steps import alike, fit_leading_steps, transformed, treats_rows_alone
from outsample.data.tables import Table
from outsample.paths.base import Abilities, Design, Path, Smoother
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats


class PipelinePath(Path):
    """The path of a pipeline's last step, on X transformed once by the steps before it.

    Parameters
    ----------
    estimator : the whole pipeline.
    leading : its steps before the last one, which ignore y; None where there are none.
    prefix : what the parameters of the last step begin with, "step__".
    last : the path of the last step.
    """

    def __init__(self, estimator: Pipeline, leading: Pipeline | None, prefix: str, last: Path) -> None:
        params = [{prefix + k: v for k, v in params.items()} for params in last.params]
        super().__init__(estimator, params, last.complexity, last.ordered)
        self.leading, self.last = leading, last
        self.responses, self.takes_weight = last.responses, last.takes_weight
        self.solves_further = last.solves_further

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        leading, Z, own = fit_leading_steps(self.leading, X)
        if not alike(Z, own):
            return RefitPath.of(self).bind(X, classes, weight)
        return _PipelineDesign(leading, self.last.bind(Z, classes, weight))

    @property
    def name(self) -> str:
        return self.last.name


class _PipelineDesign(Design):
    """The design of the last step; rows left out are predicted where the steps before it learn nothing from the rows.

    Steps that learn from X, such as scalers, would learn something else from fewer rows.
    """

    def __init__(self, leading: Pipeline | None, last: Design) -> None:
        self._leading, self._last = leading, last
        self._stateless = leading is None or treats_rows_alone(leading)
        self.classes, self.weight, self.fits_per_draw = last.classes, last.weight, last.fits_per_draw
        self.n_samples, self.n_models = last.n_samples, last.n_models

    @property
    def abilities(self) -> Abilities:
        own = self._last.abilities
        return replace(own, leaves_out=own.leaves_out and self._stateless, scores=False)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return self._last.fitted(Y, response, seeds)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._last.predict(y, transformed(self._leading, X_new), response, seed)

    @property
    def smoother(self) -> Smoother | None:
        return self._last.smoother

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        return self._last.left_out_predictions(y, folds, response) if self._stateless else None

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        return self._last.confusions(Y, seeds)

    def moments(self, Y: Any, center: float, seeds: Sequence[int] | None = None) -> Floats:
        return self._last.moments(Y, center, seeds)

    @property
    def tied(self) -> bool:
        return self._last.tied
