"""Paths whose every model is read off one fit per label vector.

What such paths share is here: drawn labels may lack a class, or hold one class only; labels go in and come
out as codes; a learner that cannot be fitted is named in the error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.checks import is_integer
from outsample.data.learners import FitError, constant_response, encode, fit, in_class_order, seeded, with_params
from outsample.data.tables import Table, n_rows
from outsample.paths.base import Abilities, Design, GridPath, Path
from outsample.running.arrays import Array, Floats


class DrawByDraw(Design):
    """A design that handles label vectors one after the other; callers distribute draws over workers."""

    abilities = Abilities(batched=False)

    def __init__(self, path: Path, X: Table, classes: Array | None, weight: Floats | None) -> None:
        self.classes, self.weight = classes, weight
        self.n_models, self.n_samples = len(path), n_rows(X)
        self._X: Any = X

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        each = [None] * len(Y) if seeds is None else seeds
        return np.stack([self._draw(y, None, response, seed) for y, seed in zip(Y, each, strict=True)])

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._draw(y, X_new, response, seed)

    def _draw(self, y: Array, X_new: Table | None, response: str, seed: int | None) -> Array:
        """Answers of every model after fitting y; X_new None is the design's own X."""
        if self.classes is None:
            values = self._answers(y, None, X_new, response, seed)
            return np.stack([np.asarray(v, dtype=np.float64) for v in values])
        n_classes = len(self.classes)
        seen = np.flatnonzero(np.bincount(y, minlength=n_classes))
        if len(seen) == 1:
            n = self.n_samples if X_new is None else n_rows(X_new)
            one = constant_response(int(seen[0]), n, response, n_classes)
            return np.stack([one] * self.n_models)
        codes = y if len(seen) == n_classes else np.searchsorted(seen, y)
        answers = self._answers(codes, self.classes[seen], X_new, response, seed)
        if response == "predict":
            return np.stack([seen[codes] for codes in answers])
        return np.stack([in_class_order(raw, seen, response, n_classes) for raw in answers])

    @abstractmethod
    def _answers(
        self, y: Array, classes: Array | None, X_new: Table | None, response: str, seed: int | None
    ) -> Iterable[Array]:
        """One answer per model after fitting y.

        For a classifier y are codes of `classes`, every one of which occurs, at least two; labels are
        answered as codes too, and columns follow `classes`.
        """


class OneFitPath(GridPath):
    """A path whose richest model, once fitted, holds all the others.

    The models must be nested: a fit with the same labels and the same random state, stopped at a smaller
    size, is the beginning of a longer one. With `random_state=None` and no seeds the models of one draw
    share one random fit, where scikit-learn would draw anew for each.
    """

    same_digits = True
    from_one_fit = True

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        if not all(self.accepts(value) for value in values):
            raise ValueError(f"{parameter} must be whole numbers of at least 1, got {list(values)}")
        super().__init__(estimator, parameter, values)

    @classmethod
    def accepts(cls, value: object) -> bool:
        """Numbers of stages or of estimators."""
        return is_integer(value, 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of stages or of estimators, ascending."""
        return tuple(int(v) for v in self.values)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return OneFitDesign(self, X, classes, weight)

    def first_models(self, n_models: int) -> Path:
        return type(self)(self.estimator, self.parameter, self.values[:n_models])

    def richest(self) -> Any:
        """An unfitted estimator with the settings of the richest model."""
        return with_params(self.estimator, self.params[-1])

    @abstractmethod
    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterable[Array]:
        """What each model of the path answers on X, read off the richest one after its fit."""


class OneFitDesign(DrawByDraw):
    """One fit of the richest model per label vector."""

    def __init__(self, path: OneFitPath, X: Table, classes: Array | None, weight: Floats | None) -> None:
        super().__init__(path, X, classes, weight)
        self._path = path
        self._codes_suffice = codes_suffice(path.estimator)

    def _answers(
        self, y: Array, classes: Array | None, X_new: Table | None, response: str, seed: int | None
    ) -> Iterable[Array]:
        by_name = None if self._codes_suffice else classes
        labels = y if by_name is None else by_name[y]
        model = fit_or_say(seeded(self._path.richest(), seed), self._X, labels, self.weight)
        answers = self._path.answers(model, self._X if X_new is None else X_new, response)
        if by_name is not None and response == "predict":
            return (encode(predicted, by_name) for predicted in answers)
        return answers


def fit_or_say(model: BaseEstimator, X: Table, y: Array, weight: Floats | None) -> Any:
    """The fitted model, or a `FitError` that names it."""
    try:
        return fit(model, X, y, weight)
    except Exception as error:
        raise FitError(f"{type(model).__name__} could not be fitted: {error}") from error


def codes_suffice(estimator: BaseEstimator) -> bool:
    """Whether a classifier may be fitted to codes in place of the labels themselves.

    Only the order of the labels matters to it, unless a setting names labels or another estimator inside it might
    look at them.
    """
    settings = estimator.get_params(deep=True)
    nested = any("__" in name for name in settings)
    by_name = isinstance(settings.get("class_weight"), dict)
    return not nested and not by_name and settings.get("scoring", "loss") in (None, "loss")


def at_sizes(stages: Iterable[Array], sizes: Sequence[int]) -> Iterator[Array]:
    """The stages numbered `sizes` (from one, in ascending order); the last one where stages ended early."""
    numbered = iter(stages)
    reached, stage = 0, None
    for size in sizes:
        while reached < size:
            following = next(numbered, None)
            if following is None:
                break
            reached, stage = reached + 1, following
        if stage is None:
            raise FitError("the ensemble is empty")
        yield stage
