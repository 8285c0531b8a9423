"""A fast path behind the steps of a pipeline that ignore y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from outsample.data.steps import alike, fit_head, transformed, treats_rows_alone
from outsample.data.tables import Table
from outsample.paths.base import Design, Path, Smoother
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats


class HeadedPath(Path):
    """The path of a pipeline's last step, served on X transformed once."""

    def __init__(self, estimator: BaseEstimator, head: Any, prefix: str, inner: Path) -> None:
        self.estimator, self.head, self.inner = estimator, head, inner
        self.params = tuple({prefix + k: v for k, v in params.items()} for params in inner.params)
        self.complexity, self.ordered = inner.complexity, inner.ordered
        self.solves_further = inner.solves_further

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        return None

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        head, Z, own = fit_head(self.head, X)
        if not alike(Z, own):
            return RefitPath.of(self).bind(X, classes, weight)
        return _HeadedDesign(head, self.inner.bind(Z, classes, weight))

    @property
    def name(self) -> str:
        return self.inner.name


class _HeadedDesign(Design):
    def __init__(self, head: Any, inner: Design) -> None:
        self._head, self._inner = head, inner
        self.classes, self.weight = inner.classes, inner.weight
        self.batched, self.fits_per_draw = inner.batched, inner.fits_per_draw
        self.n_samples, self.n_models = inner.n_samples, inner.n_models

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return self._inner.fitted(Y, response, seeds)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._inner.predict(y, transformed(self._head, X_new), response, seed)

    @property
    def smoother(self) -> Smoother | None:
        return self._inner.smoother

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        """A head that learns from X would learn something else from fewer rows: then there is no shortcut."""
        if self._head is not None and not treats_rows_alone(self._head):
            return None
        return self._inner.left_out_predictions(y, folds, response)

    @property
    def streams(self) -> bool:
        return self._inner.streams

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        return self._inner.confusions(Y, seeds)

    def moments(self, Y: Array, center: float, seeds: Sequence[int] | None = None) -> Floats:
        return self._inner.moments(Y, center, seeds)

    def lean(self, statistic: str | None) -> bool:
        return self._inner.lean(statistic)

    @property
    def tied(self) -> bool:
        return self._inner.tied
