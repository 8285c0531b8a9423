"""Lasso and elastic net along their penalty: all models of which the first steps are exact enough, at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import ElasticNet

from outsample.evidence.approximations import TOLERANCE, LastSteps
from outsample.losses.base import Loss
from outsample.paths.penalised.approximate import MAX_GRAM, SharedTable
from outsample.paths.penalised.nested import ManySteps, NestedModels, Penalised
from outsample.paths.penalised.objectives import elastic_net_penalties
from outsample.problem import Problem
from outsample.running.arrays import Array, Floats
from outsample.running.threads import one_blas_thread


def settled_models(problem: Problem, models: LastSteps, weight: Floats) -> Iterator[tuple[int, Floats, Floats]]:
    """(place, predictions in sample, predictions of rows left out) of the models whose risk is beyond doubt.

    None of them where the models are others, a loss judges whole sets, or rows have a `weight` other than one.
    """
    found = _penalised(problem, models)
    if found is None:
        return
    table, penalised = found
    with one_blas_thread:
        for steps in NestedModels(table, problem.y, weight, penalised):
            losses = problem.loss.pointwise(problem.y, steps.left_out)
            for k, place in enumerate(steps.places):
                if steps.bounded[k] and _doubt(steps, k, losses[k], problem.y, problem.loss) <= TOLERANCE:
                    yield place, steps.predictors[k], steps.left_out[k]


def settles_together(problem: Problem, models: LastSteps) -> bool:
    """Whether `settled_models` looks at these models."""
    return _penalised(problem, models) is not None


def _penalised(problem: Problem, models: LastSteps) -> tuple[SharedTable, Penalised] | None:
    """(X, the models as minima of one kind); None where they are not, or there are weights or several outputs."""
    plain = problem.weight is None and problem.y.ndim == 1 and problem.target.classes is None
    if not plain or not problem.loss.per_row or not problem.design.abilities.coefficients:
        return None
    found = list(models)
    tail, table, _ = found[0]
    if not isinstance(tail, ElasticNet) or tail.positive or problem.design.table.shape[1] > MAX_GRAM:
        return None
    l1, ridge = np.array([elastic_net_penalties(tail, problem.n_samples) for tail, _, _ in found]).T
    coefficients, constants = (np.concatenate(parts) for parts in zip(*(known for _, _, known in found), strict=True))
    return table, Penalised(coefficients, constants, l1, ridge, bool(tail.fit_intercept))


def _doubt(steps: ManySteps, model: int, losses: Floats, y: Array, loss: Loss) -> float:
    """How much the risk of a model may change within the errors of its left-out predictions, as a share of it.

    `losses` are those of the left-out predictions, (n,).
    """
    rows, errors = steps.errors(model)
    if not len(rows):
        return 0.0
    around = steps.left_out[model, rows] + np.stack([-errors, errors])
    change = np.abs(loss.pointwise(y[rows], around) - losses[rows]).max(axis=0)
    sizes = np.abs(losses)
    # Losses that are nothing but doubt say nothing of the risk.
    total = sizes.sum() - np.minimum(sizes[rows], change).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        doubt = np.where(change > 0, np.minimum(change / total, 1.0), 0.0).sum()
    return float(doubt) if np.isfinite(doubt) else np.inf
