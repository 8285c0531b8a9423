"""Classification by the sign of a linear smoother: classes as ±1 labels, one against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.learners import constant_response, fit, respond, with_params
from outsample.tables import n_rows

from .base import Array, Design, Floats, Path, confusion_shares
from .linear_design import LinearDesign, Part


class LinearClassifierDesign(Design):
    """Class codes in, signs of linear fits out; each label vector costs one product of its own.

    Label vectors that lack some classes are fitted to the classes they hold, as scikit-learn would.
    """

    def __init__(
        self,
        path: Path,
        part: Part,
        refitted: Callable[[int], tuple[Any, Any]],
        X: Floats,
        classes: Array,
        weight: Floats | None,
    ) -> None:
        self._linear = LinearDesign([part], refitted, None, weight)
        self._path, self._X = path, X
        self.classes, self.weight = classes, weight
        self._class_labels = classes
        self.n_samples, self.n_models = self._linear.n_samples, self._linear.n_models

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        fits = self._linear.parts[0].fits
        return np.stack([self._answers(y, fits.fitted, self.n_samples, response) for y in Y])

    def predict(self, y: Array, X_new: Any, response: str = "predict", seed: int | None = None) -> Array:
        return self._answers(
            y, lambda targets: self._linear.linear_predictions(targets, X_new), n_rows(X_new), response
        )

    def confusions(self, Y: Array, seeds: Sequence[int] | None = None) -> Floats:
        shares = [confusion_shares(y[None], self.fitted(y[None]), len(self._class_labels), self.weight) for y in Y]
        return np.concatenate(shares)

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        def values(targets: Floats) -> Floats:
            return np.asarray(self._linear.left_out_predictions(targets, folds))

        answers = self._answers(y, values, self.n_samples, response)
        for fold in _folds_holding_a_whole_class(y, folds):
            inside = folds == fold
            answers[:, inside] = self._refit(y, inside, response)
        return answers

    def _answers(self, y: Array, values: Callable[[Floats], Floats], n_answers: int, response: str) -> Array:
        """Responses of every model, (models, n_answers[, K]), from the real values of ±1 targets."""
        n_classes = len(self._class_labels)
        seen = np.unique(y)
        if len(seen) == 1:
            one = constant_response(int(seen[0]), n_answers, response, n_classes)
            return np.stack([one] * self.n_models)
        if len(seen) == 2:
            return _two_class_response(values(np.where(y == seen[1], 1.0, -1.0)), seen, response, n_classes)
        raw = values(np.where(y[:, None] == seen, 1.0, -1.0))
        if response == "predict":
            return np.asarray(seen[raw.argmax(axis=-1)])
        return _spread(raw, raw, seen, n_classes)

    def _refit(self, y: Array, inside: NDArray[np.bool_], response: str) -> Array:
        """Answers of every model on the rows `inside`, refitted to the others."""
        labels = y[~inside]
        if (labels == labels[0]).all():
            one = constant_response(int(labels[0]), int(inside.sum()), response, len(self._class_labels))
            return np.stack([one] * self.n_models)
        weight = None if self.weight is None else self.weight[~inside]
        answers = []
        for params in self._path.params:
            model = with_params(self._path.estimator, params)
            fit(model, self._X[~inside], self._class_labels[labels], weight)
            answers.append(respond(model, self._X[inside], response, self._class_labels))
        return np.stack(answers)


def _two_class_response(raw: Floats, seen: Array, response: str, n_classes: int) -> Array:
    if response == "predict":
        return np.asarray(seen[(raw > 0).astype(np.intp)])
    if n_classes == 2:
        return raw
    return _spread(raw, np.stack([-raw, raw], axis=-1), seen, n_classes)


def _spread(raw: Floats, columns: Floats, seen: Array, n_classes: int) -> Floats:
    """Decision values in the columns of the classes seen; classes unseen get less than any value."""
    full = np.empty((*columns.shape[:-1], n_classes))
    full[:] = raw.reshape(len(raw), -1).min(axis=1).reshape(-1, *[1] * (full.ndim - 1)) - 1.0
    full[..., seen] = columns
    return full


def _folds_holding_a_whole_class(y: Array, folds: Array) -> list[int]:
    """Folds without which the other rows lack a class."""
    whole = [np.unique(folds[y == code]) for code in np.unique(y)]
    return sorted({int(present[0]) for present in whole if len(present) == 1})
