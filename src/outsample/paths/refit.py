"""The path of any estimator and any grid: clone, fit, predict."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.data.learners import FitError, constant_response, fit, respond, seeded, with_params
from outsample.data.lending import lend
from outsample.data.steps import fit_head, split_head, transformed
from outsample.data.tables import Table, n_rows
from outsample.paths.base import Design, Path
from outsample.paths.order import complexity_of, simplest_first
from outsample.running.arrays import Array, Floats


class RefitPath(Path):
    """Every model is refitted to every label vector; the answers other paths must reproduce.

    The leading steps of a pipeline that ignore y are fitted once per distinct setting of theirs.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        return parameter or ""

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity, ordered = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator = estimator
        self.params = tuple({parameter: values[i]} if parameter else {} for i in order)
        self.complexity = complexity[order]
        self.ordered = ordered

    @classmethod
    def over(cls, estimator: BaseEstimator, settings: Sequence[dict[str, Any]]) -> RefitPath:
        """A path over settings of several parameters, in the order given."""
        path = cls(estimator, "", list(range(len(settings))))
        path.params = tuple(dict(s) for s in settings)
        path.ordered = len(settings) < 2
        return path

    @classmethod
    def of(cls, path: Path) -> RefitPath:
        """The models of another path, refitted by scikit-learn itself."""
        refitted = cls.over(path.estimator, path.params)
        refitted.complexity, refitted.ordered = path.complexity, path.ordered
        return refitted

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return RefitDesign(self, X, classes, weight)


class RefitDesign(Design):
    """Refits in order; callers spread draws over workers."""

    batched = False

    def __init__(self, path: RefitPath, X: Table, classes: Array | None, weight: Floats | None) -> None:
        self.classes, self.weight = classes, weight
        self.n_models = self.fits_per_draw = len(path)
        self._members = _Members(path, X)
        self.n_samples = self._members.n_samples

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        draws = [self._responses(Y[d], None, response, None if seeds is None else seeds[d]) for d in range(len(Y))]
        return np.stack(draws)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._responses(y, self._members.transformed(X_new), response, seed)

    def scores(
        self, y: Array, seed: int | None, X_new: Table | None, y_new: Array, weight_new: Floats | None
    ) -> Floats:
        new = None if X_new is None else self._members.transformed(X_new)
        labels, asked = (part if self.classes is None else self.classes[part] for part in (y, y_new))
        weighted = {} if weight_new is None else {"sample_weight": weight_new}
        scores = []
        for m, (tail, Z, own) in enumerate(self._members):
            try:
                model = fit(seeded(tail, seed), Z, labels, self.weight)
                target = own if new is None else new[m]
                scores.append(float(lend(model, partial(model.score, **weighted), target, asked)))
            except Exception as error:
                raise FitError(f"{type(tail).__name__} failed: {error}") from error
        if np.isnan(scores).any():
            raise FitError(f"{type(tail).__name__} failed: its score on {n_rows(asked)} rows is nan")
        return np.array(scores)

    def _responses(self, y: Array, new: list[Any] | None, response: str, seed: int | None) -> Array:
        """Fit every model to y and answer on its own X, or on the transformed tables `new`."""
        answers = []
        for m, (tail, Z, own) in enumerate(self._members):
            target = own if new is None else new[m]
            if self.classes is not None and (y == y[0]).all():
                answers.append(constant_response(int(y[0]), n_rows(target), response, len(self.classes)))
                continue
            labels = y if self.classes is None else self.classes[y]
            model = seeded(tail, seed)
            try:
                fit(model, Z, labels, self.weight)
                answers.append(respond(model, target, response, self.classes))
                if answers[-1].ndim > 1 and self.classes is None and y.ndim == 1:
                    raise ValueError(f"it predicted {answers[-1].shape[1]} columns where y has one")
            except Exception as error:
                raise FitError(f"{type(tail).__name__} failed: {error}") from error
        return np.stack(answers)


def _identity(value: Any) -> Any:
    """What tells values of a grid apart; printed estimators are cut short, so objects count by identity."""
    return (type(value), value) if isinstance(value, str | int | float | bool | type(None)) else id(value)


class _Members:
    """The models of a path, each with its X after the steps that ignore y; equal heads are fitted once."""

    def __init__(self, path: RefitPath, X: Table) -> None:
        self._heads: list[tuple[Any, Any, Any]] = []
        self._members: list[tuple[int, Any]] = []
        known: dict[frozenset[tuple[str, Any]], int] = {}
        for params in path.params:
            model = with_params(path.estimator, params)
            head, tail, _ = split_head(model)
            steps = () if head is None else head.named_steps
            key = frozenset((k, _identity(v)) for k, v in params.items() if k.split("__")[0] in (*steps, "steps"))
            if key not in known:
                known[key] = len(self._heads)
                self._heads.append(fit_head(head, X))
            self._members.append((known[key], tail))
        self.n_samples = n_rows(X)

    def __iter__(self) -> Any:
        """(tail, X it is fitted to, X it answers on in-sample) of each model."""
        return ((tail, *self._heads[h][1:]) for h, tail in self._members)

    def transformed(self, X_new: Table) -> list[Any]:
        """X_new as each model's tail wants it."""
        per_head = [X_new if head is None else transformed(head, X_new) for head, *_ in self._heads]
        return [per_head[h] for h, _ in self._members]


class GridPath(Path):
    """A path over the values of one parameter, sorted from simple to rich."""

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity, self.ordered = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator, self.parameter = estimator, parameter
        self.values = tuple(values[i] for i in order)
        self.params = tuple({parameter: value} for value in self.values)
        self.complexity = complexity[order]

    def refitting(self, X: Table, classes: Array | None, weight: Floats | None) -> Design:
        """The same models refitted one by one, for an X this family has no fast way for."""
        return RefitPath(self.estimator, self.parameter, self.values).bind(X, classes, weight)
