"""Left-out answers of penalised linear models from one fit each, improved for the rows where the loss depends on it.

Every row has a left-out linear predictor and an estimate of how far it may be off. What that may change of the row's
loss is its doubt. As long as the doubts of all rows together exceed a small share of the risk, the rows with the
largest doubts are improved: by further Newton steps, then by solving the objective without the row, then by refitting
a few rows. What is left is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from outsample.data.learners import FitError, fit, last_step, seeded, with_params
from outsample.data.tables import Table, lend, split_rows
from outsample.paths.dispatch import find_path
from outsample.paths.penalised.approximate import LocalObjective, SharedTable, reproduced_left_out
from outsample.paths.penalised.objectives import Labels, answer, objectives_of, squared_everywhere
from outsample.paths.penalised.refinement import LeaveOneOut
from outsample.problem import Problem
from outsample.running.arrays import Array, Bools, Floats, Rows
from outsample.running.threads import cached_property
from outsample.running.units import fingerprint

# Doubts of all rows together are reduced to this share of the risk, of which in `benchmarks/alo_study.py` the true
# error is a fraction.
TOLERANCE = 0.005
# Huber's scale is zero where it is this share of the spread of y.
LEAST_SCALE = 1e-4


class LastSteps:
    """The last steps of the models of a problem, unfitted, each with X as the earlier steps hand it on.

    Earlier steps with equal settings are fitted once. Where the path knows the coefficients of all
    models from one pass, they come along.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.behind_others = isinstance(problem.path.estimator, Pipeline) and len(problem.path.estimator.steps) > 1
        self._tables: dict[str, SharedTable] = {}

    def __iter__(self) -> Iterator[tuple[Any, SharedTable, Any]]:
        """(last step, X, (coefficients, constants) or None)."""
        if self._problem.design.abilities.coefficients:
            yield from self._solved
            return
        yield from (self._model(params) for params in self._problem.path.params)

    @property
    def richest(self) -> tuple[Any, SharedTable, Any]:
        """The same of the last model."""
        if self._problem.design.abilities.coefficients:
            return self._solved[-1]
        return self._model(self._problem.path.params[-1])

    def _model(self, params: dict[str, Any]) -> tuple[Any, SharedTable, Any]:
        *head, tail = _steps(seeded(with_params(self._problem.path.estimator, params), self._problem.real_seed))
        key = fingerprint(head)
        if key not in self._tables:
            self._tables[key] = SharedTable(_numbers(self._transformed(head), tail))
        return tail, self._tables[key], None

    @cached_property
    def _solved(self) -> list[tuple[Any, SharedTable, Any]]:
        problem, models = self._problem, []
        table, last = SharedTable(problem.design.table), seeded(last_step(problem.path.estimator), problem.real_seed)
        for params, found in zip(problem.path.params, problem.design.fitted_coefficients(problem.y), strict=True):
            # The models differ in one number only; `set_params` of scikit-learn would take longer than the work.
            tail = copy(last)
            for name, value in params.items():
                setattr(tail, name.rpartition("__")[2], value)
            models.append((tail, table, found))
        return models

    def _transformed(self, head: list[Any]) -> Any:
        if not head:
            return self._problem.X
        pipeline = Pipeline([(str(i), step) for i, step in enumerate(head)])
        return lend(pipeline, pipeline.fit_transform, self._problem.X, named_labels(self._problem))


def _steps(model: Any) -> list[Any]:
    """The steps of a pipeline and of pipelines inside it, or the model alone."""
    if not isinstance(model, Pipeline):
        return [model]
    *head, (_, tail) = model.steps
    return [*(step for _, step in head), *_steps(tail)]


def named_labels(problem: Problem) -> Array:
    """y in the labels of the user."""
    classes = problem.target.classes
    return problem.y if classes is None else np.asarray(classes[problem.y])


def _numbers(X: Any, tail: Any) -> Any:
    """X as numbers, or a `FitError` in the words that the learner would have for it."""
    try:
        return check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X", estimator=tail)
    except ValueError as error:
        raise FitError(f"{type(tail).__name__} failed: {error}") from error


class Approximation:
    """Fits one model and leaves every row out of it; picklable.

    Parameters
    ----------
    refits : where more rows than these are in doubt, none is refitted: for that price folds answer without doubts.
    """

    def __init__(self, problem: Problem, refits: int) -> None:
        self.refits = refits
        self.y, self.weight, self.response = named_labels(problem), problem.weight, problem.response
        self.loss = problem.loss
        weight = np.ones(problem.n_samples) if problem.weight is None else problem.weight
        self.labels = Labels(problem.y, problem.target.classes, weight)

    def __call__(
        self, tail: Any, X: SharedTable, known: tuple[Floats, Floats] | None = None
    ) -> tuple[Array, Array, Array]:
        """(in-sample answers, left-out answers, (rows left in doubt, refits))."""
        model = self._fitted(tail, X.X) if known is None else _as_fitted(tail, known[0], known[1], self.labels.classes)
        objectives = objectives_of(model, X, self.labels)
        left_out = _LeftOutOfModel(self, model, [LeaveOneOut(objective) for objective in objectives])
        if squared_everywhere(model):
            left_out.complete(X.X)
        away = known is None and (_without_scale(model, self.labels.values) or left_out.begins_off_the_minimum())
        in_sample = answer(model, np.hstack([objective.predictor for objective in objectives]), self.response)
        answers, (in_doubt, n_refits) = left_out.answers(tail, X.X)
        if known is None and (_stopped_early(model) or away or self._separated(model, objectives)):
            # There is no minimum, or the fit is not there, and everything here starts from it.
            in_doubt = len(answers)
        return in_sample, answers, np.array([in_doubt, n_refits])

    def _fitted(self, tail: Any, X: Table) -> Any:
        try:
            return fit(clone(tail), X, self.y, self.weight)
        except Exception as error:
            raise FitError(f"{type(tail).__name__} could not be fitted: {error}") from error

    def _separated(self, model: Any, objectives: list[LocalObjective]) -> bool:
        """Whether classes are separated without a penalty, so that coefficients grow until the solver gives up."""
        free = all(objective.ridge == 0.0 and objective.l1 == 0.0 for objective in objectives)
        if self.labels.classes is None or not free:
            return False
        labels = answer(model, np.hstack([objective.predictor for objective in objectives]), "predict")
        return bool((labels == self.labels.values).all())

    def refitted(self, tail: Any, X: Table, row: int) -> Array:
        """What the model answers for a row after a fit to all others."""
        others = np.delete(np.arange(len(self.y)), row)
        weight = None if self.weight is None else self.weight[others]
        path = find_path(tail, response=self.response, weighted=weight is not None)
        try:
            train, test = split_rows(X, others, np.array([row]), pairwise=False)
            design = path.bind(train, self.labels.classes, weight)
            return np.asarray(design.predict(self.labels.values[others], test, self.response)[0][0])
        except Exception as error:
            raise FitError(f"{type(tail).__name__} could not be fitted without row {row}: {error}") from error


def _stopped_early(model: Any) -> bool:
    """Whether the solver ended for the number of its iterations."""
    taken, allowed = getattr(model, "n_iter_", None), getattr(model, "max_iter", None)
    return taken is not None and allowed is not None and bool(np.max(taken) >= allowed)


def _without_scale(model: Any, y: Array) -> bool:
    """Whether Huber's regression reproduces its labels, so that its scale goes to zero and nothing has a minimum."""
    return bool(getattr(model, "scale_", np.inf) <= LEAST_SCALE * np.std(y))


def _as_fitted(tail: Any, coefficients: Floats, constants: Floats, classes: Array | None) -> Any:
    """The estimator with these coefficients, in the shapes that scikit-learn gives them."""
    model = copy(tail)
    if classes is None:
        model.coef_, model.intercept_ = coefficients[0], float(constants[0])
    else:
        model.coef_, model.intercept_, model.classes_ = coefficients, constants, classes
    return model


class _LeftOutOfModel:
    """The left-out predictors of one model and what is in doubt of them.

    Parameters
    ----------
    parts : the predictors of each objective of the model.
    """

    def __init__(self, asked: Approximation, model: Any, parts: list[LeaveOneOut]) -> None:
        self._asked, self._model, self._parts = asked, model, parts
        self._alone = _last_of_class(asked.labels)
        for part in parts:
            part.errors[self._alone] = np.inf

    def complete(self, X: Table) -> None:
        """Write down what a fit of minimum norm predicts where one Newton step divides zero by zero."""
        model, labels = self._model, self._asked.labels
        Y = labels.values.reshape(len(labels.weight), -1)
        alphas = np.broadcast_to(getattr(model, "alpha", 0.0), Y.shape[1])
        for k, part in enumerate(self._parts):
            reproduced = np.isinf(part.predictors[:, 0])
            if reproduced.any():
                known = reproduced_left_out(X, Y[:, k], labels.weight, float(alphas[k]), model.fit_intercept)
                part.predictors[reproduced, 0], part.errors[reproduced] = known[reproduced], 0.0

    def begins_off_the_minimum(self) -> bool:
        """Whether a Newton step from the coefficients of the fit, with all rows, would still change the risk."""
        model, change = self._model, 0.0
        coefficients, constants = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
        for k, part in enumerate(self._parts):
            own = slice(None) if len(self._parts) == 1 else slice(k, k + 1)
            move = part.move_to_minimum(coefficients[own], constants[own])
            here, there = (self._losses(part, part.predictors + step) for step in (0.0, move))
            known = np.isfinite(here) & np.isfinite(there)
            change += np.abs(there - here)[known].sum() / max(np.abs(here[known]).sum(), np.finfo(np.float64).tiny)
        return bool(not change <= TOLERANCE)

    def answers(self, tail: Any, X: Table) -> tuple[Array, Array]:
        """(left-out answers, (rows left in doubt, refits))."""
        rows = self._worst(np.sum([self._improved(part) for part in self._parts], axis=0))
        answers = self._answers([part.predictors for part in self._parts])
        if len(rows) > self._asked.refits:
            return answers, np.array([len(rows), 0])
        for row in rows:
            answers[row] = self._asked.refitted(tail, X, int(row))
        return answers, np.array([0, len(rows)])

    def _improved(self, part: LeaveOneOut) -> Floats:
        """What is left in doubt after the improvements that one part needs, (n,)."""
        doubts = self._doubts(part)
        for left, (improve, cost) in zip(range(len(part.improvements))[::-1], part.improvements, strict=True):
            rows = self._worst(doubts)
            rows, affordable = rows[~self._alone[rows]], max(1, int(part.work // cost))
            if left == 0 and len(rows) > affordable + self._asked.refits:
                # The last and dearest improvement of some of them would not end the doubt.
                break
            rows = rows[:affordable]
            if len(rows):
                improve(rows)
                doubts = self._doubts(part)
        return doubts

    def _answers(self, predictors: list[Floats]) -> Array:
        return answer(self._model, np.hstack(predictors), self._asked.response)

    def _losses(self, part: LeaveOneOut, predictors: Floats) -> Floats:
        """Loss of every row, times its weight, if the predictors of one part were these, (n,).

        That of the learner itself where the user's loss judges whole sets.
        """
        asked = self._asked
        if not asked.loss.per_row:
            return part.objective.losses.value(predictors)
        answers = self._answers([predictors if one is part else one.predictors for one in self._parts])
        return np.asarray(asked.labels.weight * asked.loss.pointwise(asked.labels.values, answers))

    def _doubts(self, part: LeaveOneOut) -> Floats:
        """How much the loss of each row may change within the error of its predictor, in units of the risk, (n,)."""
        away = np.where(np.isfinite(part.errors), part.errors, 0.0)[:, None] * part.direction
        here, lower, upper = (self._losses(part, part.predictors + sign * away) for sign in (0.0, -1.0, 1.0))
        with np.errstate(invalid="ignore"):
            change = np.maximum(np.abs(lower - here), np.abs(upper - here))
        known = np.isfinite(part.errors) & np.isfinite(part.predictors).all(axis=1)
        change = np.where(known & np.isfinite(change), change, np.inf)
        # Losses that are nothing but doubt say nothing of the risk.
        known = np.isfinite(change)
        total = np.maximum(np.abs(here[known]) - change[known], 0.0).sum()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.where(change > 0, np.minimum(change / total, 1.0), 0.0)

    def _worst(self, doubts: Floats) -> Rows:
        """The fewest rows without which doubts add up to no more than the tolerance, the largest doubt first."""
        if doubts.sum() <= TOLERANCE:
            return np.empty(0, dtype=np.intp)
        order = np.argsort(-doubts, kind="stable")
        rest = np.cumsum(doubts[order][::-1])[::-1]
        return np.asarray(order[: int((rest > TOLERANCE).sum())])


def _last_of_class(labels: Labels) -> Bools:
    """Rows without which their class would be empty, (n,)."""
    if labels.classes is None:
        return np.zeros(len(labels.weight), dtype=bool)
    return np.asarray(np.bincount(labels.values, minlength=len(labels.classes))[labels.values] == 1)
