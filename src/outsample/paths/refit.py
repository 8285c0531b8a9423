"""The path of any estimator and any grid: clone, fit, predict; and paths around other paths.

A mixed path refits the values that a fast path does not accept; a pipeline path puts leading steps that ignore y before
a fast path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from outsample.data.learners import FitError, constant_response, fit, respond, seeded, with_params
from outsample.data.scalers import is_exact, rescaling
from outsample.data.steps import alike, fit_leading_steps, last_scaler, split_pipeline, transformed, treats_rows_alone
from outsample.data.tables import Table, lend, n_rows, split_rows
from outsample.losses.base import Groups
from outsample.paths.base import Abilities, Design, GridPath, Path, RowBlocks, Smoother
from outsample.paths.order import complexity_of, simplest_first
from outsample.running.arrays import Array, Bools, Floats, Rows


class RefitPath(GridPath):
    """Every model is refitted to every label vector; the answers other paths must reproduce.

    The leading steps of a pipeline that ignore y are fitted once per distinct setting of theirs.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    refits = True

    @classmethod
    def over(cls, estimator: BaseEstimator, settings: Sequence[dict[str, Any]]) -> RefitPath:
        """A path over settings of several parameters, in the order given."""
        path = cls.__new__(cls)
        positions = np.arange(len(settings), dtype=np.float64)
        Path.__init__(path, estimator, [dict(s) for s in settings], positions, len(settings) < 2)
        return path

    @classmethod
    def of(cls, path: Path) -> RefitPath:
        """The models of another path, refitted by scikit-learn itself."""
        refitted = cls.over(path.estimator, path.params)
        refitted.complexity, refitted.ordered = path.complexity, path.ordered
        return refitted

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return RefitDesign(self, X, classes, weight)

    def pieces(self) -> list[tuple[Path, Rows]]:
        return [(RefitPath.over(self.estimator, [params]), np.array([m])) for m, params in enumerate(self.params)]


class RefitDesign(Design):
    """Refits the models one after the other; callers distribute draws over workers."""

    abilities = Abilities(batched=False, scores=True)

    def __init__(self, path: RefitPath, X: Table, classes: Array | None, weight: Floats | None) -> None:
        self.classes, self.weight = classes, weight
        self.n_models = self.fits_per_draw = len(path)
        self._models = _Models(path, X)
        self.n_samples = self._models.n_samples

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        draws = [self._responses(Y[d], None, response, None if seeds is None else seeds[d]) for d in range(len(Y))]
        return np.stack(draws)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._responses(y, self._models.transformed(X_new), response, seed)

    def scores(
        self, y: Array, seed: int | None, X_new: Table | None, y_new: Array, weight_new: Floats | None
    ) -> Floats:
        new = None if X_new is None else self._models.transformed(X_new)
        labels, asked = (codes if self.classes is None else self.classes[codes] for codes in (y, y_new))
        weighted = {} if weight_new is None else {"sample_weight": weight_new}
        scores = []
        for m, (learner, Z, own) in enumerate(self._models):
            try:
                model = fit(seeded(learner, seed), Z, labels, self.weight)
                target = own if new is None else new[m]
                scores.append(float(lend(model, partial(model.score, **weighted), target, asked)))
            except Exception as error:
                raise FitError(f"{type(learner).__name__} failed: {error}") from error
        if np.isnan(scores).any():
            raise FitError(f"{type(learner).__name__} failed: its score on {n_rows(asked)} rows is nan")
        return np.array(scores)

    def _responses(self, y: Array, new: list[Any] | None, response: str, seed: int | None) -> Array:
        """Answers of every model after fitting y: on the rows fitted, or on the transformed tables `new`."""
        answers = []
        for m, (learner, Z, own) in enumerate(self._models):
            target = own if new is None else new[m]
            if self.classes is not None and (y == y[0]).all():
                answers.append(constant_response(int(y[0]), n_rows(target), response, len(self.classes)))
                continue
            labels = y if self.classes is None else self.classes[y]
            model = seeded(learner, seed)
            try:
                fit(model, Z, labels, self.weight)
                answers.append(respond(model, target, response, self.classes))
                if answers[-1].ndim > 1 and self.classes is None and y.ndim == 1:
                    raise ValueError(f"it predicted {answers[-1].shape[1]} columns where y has one")
            except Exception as error:
                raise FitError(f"{type(learner).__name__} failed: {error}") from error
        return np.stack(answers)


def _identity(value: Any) -> Any:
    """What tells values of a grid apart; printed estimators are cut short, so objects count by identity."""
    return (type(value), value) if isinstance(value, str | int | float | bool | type(None)) else id(value)


class _Models:
    """The models of a path, each with its X behind the leading steps that ignore y; equal steps are fitted once."""

    def __init__(self, path: RefitPath, X: Table) -> None:
        self._leading: list[tuple[Any, Any, Any]] = []
        self._learners: list[tuple[int, Any]] = []
        known: dict[frozenset[tuple[str, Any]], int] = {}
        for params in path.params:
            learner, leading = with_params(path.estimator, params), None
            if type(learner) is Pipeline:
                leading, learner, _ = split_pipeline(learner)
            steps = () if leading is None else leading.named_steps
            key = frozenset((k, _identity(v)) for k, v in params.items() if k.split("__")[0] in (*steps, "steps"))
            if key not in known:
                known[key] = len(self._leading)
                self._leading.append((None, X, X) if leading is None else fit_leading_steps(leading, X))
            self._learners.append((known[key], learner))
        self.n_samples = n_rows(X)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        """(learner, X it is fitted to, X it answers on in-sample) of each model."""
        return ((learner, *self._leading[i][1:]) for i, learner in self._learners)

    def transformed(self, X_new: Table) -> list[Any]:
        """X_new as the learner of each model reads it."""
        tables = [transformed(steps, X_new) for steps, *_ in self._leading]
        return [tables[i] for i, _ in self._learners]


class MixedPath(Path):
    """One parameter: the values that a fast path accepts, and the others, such as None for no limit, refitted."""

    def __init__(self, served: GridPath, refitted: RefitPath) -> None:
        self.paths: tuple[Path, ...] = served, refitted
        params = [*served.params, *refitted.params]
        complexity, ordered = complexity_of(served.parameter, [setting[served.parameter] for setting in params])
        self.order = simplest_first(complexity)
        super().__init__(served.estimator, [params[i] for i in self.order], complexity[self.order], ordered)
        self.responses, self.takes_weight = served.responses, served.takes_weight
        self.solves_further, self.same_digits = served.solves_further, served.same_digits
        self.from_one_fit = served.from_one_fit and len(refitted) == 1

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return MixedDesign([path.bind(X, classes, weight) for path in self.paths], self.order)

    def pieces(self) -> list[tuple[Path, Rows]]:
        places, start, found = np.argsort(self.order), 0, []
        for path in self.paths:
            found += [(piece, places[start + models]) for piece, models in path.pieces()]
            start += len(path)
        return found

    @property
    def name(self) -> str:
        return ", ".join(path.name for path in self.paths)


class MixedDesign(Design):
    """Several designs on the same X, their models put in the order of the whole path."""

    abilities = Abilities()

    def __init__(self, designs: Sequence[Design], order: Array) -> None:
        self._designs, self._order = designs, order
        self.classes, self.weight, self.n_samples = designs[0].classes, designs[0].weight, designs[0].n_samples
        self.abilities = Abilities(
            batched=all(design.abilities.batched for design in designs),
            sums=frozenset.intersection(*(design.abilities.sums for design in designs)),
        )
        self.n_models = sum(design.n_models for design in designs)
        self.fits_per_draw = sum(design.fits_per_draw for design in designs)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return self._along_models([design.fitted(Y, response, seeds) for design in self._designs], axis=1)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._along_models([design.predict(y, X_new, response, seed) for design in self._designs], axis=0)

    def confusions(self, Y: Array, seeds: Sequence[int] | None = None) -> Floats:
        return self._along_models([design.confusions(Y, seeds) for design in self._designs], axis=1)

    def moments(self, Y: Array, center: float, seeds: Sequence[int] | None = None) -> Floats:
        return self._along_models([design.moments(Y, center, seeds) for design in self._designs], axis=1)

    @property
    def tied(self) -> bool:
        return any(design.tied for design in self._designs)

    def _along_models(self, answers: list[Array], axis: int) -> Array:
        return np.concatenate(answers, axis=axis).take(self._order, axis=axis)


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
        self.leading, self.prefix, self.last = leading, prefix, last
        self.responses, self.takes_weight = last.responses, last.takes_weight
        self.solves_further, self.same_digits = last.solves_further, last.same_digits
        self.from_one_fit = last.from_one_fit

    def first_models(self, n_models: int) -> Path:
        return PipelinePath(self.estimator, self.leading, self.prefix, self.last.first_models(n_models))

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        leading, Z, own = fit_leading_steps(self.leading, X)
        if not alike(Z, own):
            return RefitPath.of(self).bind(X, classes, weight)
        return _PipelineDesign(self, X, leading, Z, self.last.bind(Z, classes, weight))

    def pieces(self) -> list[tuple[Path, Rows]]:
        return [(self._piece(path, models), models) for path, models in self.last.pieces()]

    def with_own_ties(self) -> Path:
        return self._piece(self.last.with_own_ties(), np.arange(len(self)))

    def _piece(self, path: Path, models: Rows) -> Path:
        if path.refits:
            return RefitPath.over(self.estimator, [self.params[m] for m in models])
        return self if path is self.last else PipelinePath(self.estimator, self.leading, self.prefix, path)

    @property
    def name(self) -> str:
        return self.last.name


class _PipelineDesign(Design):
    """The design of the last step; rows left out are predicted where the steps before it learn nothing from the rows.

    Steps that learn from X would learn something else from fewer rows. What a `StandardScaler` would have learned is
    known without refitting, and some designs know what follows from it.

    Parameters
    ----------
    leading : the fitted steps, which have made Z of X.
    last : the last step bound to Z.
    """

    def __init__(self, path: PipelinePath, X: Table, leading: Pipeline | None, Z: Any, last: Design) -> None:
        self._path, self._X, self._Z = path, X, Z
        self._leading, self._last = leading, last
        self._stateless = leading is None or treats_rows_alone(leading)
        scaler = None if self._stateless else last_scaler(leading)
        self._scaler = scaler if is_exact(scaler, Z) else None
        self.classes, self.weight, self.fits_per_draw = last.classes, last.weight, last.fits_per_draw
        self.n_samples, self.n_models = last.n_samples, last.n_models
        self.table = getattr(last, "table", None)

    @property
    def abilities(self) -> Abilities:
        own = self._last.abilities
        leaves_out = own.leaves_out and (self._stateless or self._rescales)
        rows_too = self._stateless or (self._scaler is not None and self._last.leaves_rows_out_behind(self._scaler))
        return replace(
            own,
            leaves_out=leaves_out,
            leaves_folds_out_only=own.leaves_folds_out_only or not rows_too,
            scores=False,
            row_blocks=own.row_blocks and self._stateless,
        )

    @property
    def _rescales(self) -> bool:
        return self._scaler is not None and self._last.leaves_out_behind(self._scaler)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return self._last.fitted(Y, response, seeds)

    def grouped(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Iterator[Groups]:
        return self._last.grouped(Y, response, seeds)

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._last.predict(y, transformed(self._leading, X_new), response, seed)

    @property
    def smoother(self) -> Smoother | None:
        return self._last.smoother

    def fitted_coefficients(self, y: Array) -> Iterator[tuple[Floats, Floats]]:
        return self._last.fitted_coefficients(y)

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        if self._stateless:
            return self._last.left_out_predictions(y, folds, response)
        if not self._rescales:
            return None
        scales = rescaling(self._scaler, self._Z, folds)
        found = self._last.left_out_behind(scales, y, response)
        if found is None:
            return None
        answers, doubtful = found
        for k in doubtful:
            inside = scales.fold == k
            answers[:, inside] = self._refit(y, inside, response)
        return answers

    def knows_rows_left_out(self, y: Array, response: str = "predict") -> bool:
        if self._stateless:
            return self._last.knows_rows_left_out(y, response)
        return super().knows_rows_left_out(y, response)

    def fitted_blocks(self, y: Array, models: slice = slice(None)) -> RowBlocks:
        return self._last.fitted_blocks(y, models)

    def left_out_blocks(self, y: Array, models: slice = slice(None)) -> RowBlocks:
        return self._last.left_out_blocks(y, models)

    def _refit(self, y: Array, inside: Bools, response: str) -> Array:
        """Answers of every model on the rows `inside`, with the whole pipeline fitted to the others."""
        train, test = np.flatnonzero(~inside), np.flatnonzero(inside)
        weight = None if self.weight is None else self.weight[train]
        X_train, X_test = split_rows(self._X, train, test, pairwise=self._path.pairwise)
        return self._path.bind(X_train, self.classes, weight).predict(y[train], X_test, response)

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        return self._last.confusions(Y, seeds)

    def moments(self, Y: Any, center: float, seeds: Sequence[int] | None = None) -> Floats:
        return self._last.moments(Y, center, seeds)

    @property
    def tied(self) -> bool:
        return self._last.tied
