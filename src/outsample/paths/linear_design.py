"""A design whose fits are linear in y: closed forms and left-out predictions need no refit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from outsample.cached import cached_property
from outsample.learners import fit, is_pairwise, respond
from outsample.tables import split_rows

from .base import Array, Design, Floats, Smoother
from .left_out import left_out
from .linear import LinearFits, as_targets, combined


@dataclass(frozen=True)
class Part:
    """Models that share one basis.

    Attributes
    ----------
    models : (models of this part,), their positions in the path.
    fits : their fits.
    evaluated : new X → (n_new, r), the basis at new rows.
    gains : (models of this part, r), what multiplies the coefficients at new rows.
    least_slack : (models of this part,), the slack below which left-out rows are refitted; infinite where the
        formula does not hold at all.
    """

    models: NDArray[np.intp]
    fits: LinearFits
    evaluated: Callable[[Any], Floats]
    gains: Floats
    least_slack: Floats


class LinearDesign(Design):
    """Regression by fits linear in y, bound to one X.

    Left-out predictions are exact: rows for which the closed form would lose digits (a row or fold that the
    model cannot do without, a basis whose numerical rank depends on the rows) are refitted with
    scikit-learn.

    Parameters
    ----------
    parts : the models, grouped by basis.
    refitted : (estimator, X) of each model, to refit on part of the rows; None when left-out predictions
        have no closed form because the basis itself depends on the rows.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        refitted: Callable[[int], tuple[Any, Any]] | None,
        classes: Array | None,
        weight: Floats | None,
    ) -> None:
        self.parts = tuple(parts)
        self.classes, self.weight = classes, weight
        self.n_models = sum(len(part.models) for part in self.parts)
        self.n_samples = len(self.parts[0].fits.basis)
        self._refitted = refitted

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        if len(Y) == 1:
            return self._fitted_to(as_targets(Y[0]))[None]
        return np.stack([self._fitted_to(as_targets(y)) for y in Y])

    def _fitted_to(self, targets: Floats) -> Floats:
        return self._gathered(lambda part: part.fits.fitted(targets))

    def predict(self, y: Array, X_new: Any, response: str = "predict", seed: int | None = None) -> Array:
        return self.linear_predictions(as_targets(y), X_new)

    def linear_predictions(self, targets: Floats, X_new: Any) -> Floats:
        """Real-valued predictions on X_new, (models, n_new[, outputs])."""

        def answer(part: Part) -> Floats:
            return combined(part.gains, part.fits.coefficients(targets), part.evaluated(X_new))

        return self._gathered(answer)

    @cached_property
    def smoother(self) -> Smoother | None:
        return Smoother(
            self._gathered(lambda part: part.fits.smoother.leverages),
            self._gathered(lambda part: part.fits.smoother.row_sums),
            self._squared_norms,
        )

    def _squared_norms(self) -> Floats:
        return self._gathered(lambda part: part.fits.squared_norms)

    def moments(self, Y: Array, center: float, seeds: Sequence[int] | None = None) -> Floats:
        if Y.ndim > 2:
            return super().moments(Y, center, seeds)
        return np.stack([self._moments_of(as_targets(y), center) for y in Y])

    def _moments_of(self, targets: Floats, center: float) -> Floats:
        return self._gathered(lambda part: part.fits.moments(targets, center))

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        if self._refitted is None:
            return None
        targets = as_targets(y)
        if targets.ndim == 1:
            return self.left_out_values(targets, folds)
        return np.stack([self.left_out_values(column, folds) for column in targets.T], axis=-1)

    def left_out_values(self, targets: Floats, folds: Array) -> Floats:
        """Left-out predictions of one output, (models, n)."""

        def answer(part: Part) -> Floats:
            predictions, doubtful = left_out(part.fits, targets, folds, part.least_slack)
            for m, fold in doubtful:
                inside = folds == fold
                predictions[m, inside] = self._refit(part.models[m], targets, inside)
            return predictions

        return self._gathered(answer)

    def _refit(self, model: int, targets: Floats, inside: NDArray[np.bool_]) -> Floats:
        assert self._refitted is not None
        estimator, X = self._refitted(model)
        train, test = np.flatnonzero(~inside), np.flatnonzero(inside)
        weight = None if self.weight is None else self.weight[train]
        X_train, X_test = split_rows(X, train, test, pairwise=is_pairwise(estimator))
        learner = fit(clone(estimator), X_train, targets[train], weight)
        return respond(learner, X_test, "predict", None)

    def _gathered(self, answer: Callable[[Part], Floats]) -> Floats:
        """Each part's answer, in the order of the path."""
        if len(self.parts) == 1:
            return answer(self.parts[0])
        answers = [answer(part) for part in self.parts]
        gathered = np.empty((self.n_models, *answers[0].shape[1:]))
        for part, values in zip(self.parts, answers, strict=True):
            gathered[part.models] = values
        return gathered
