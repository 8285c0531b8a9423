"""Approximate leave-one-out for penalised linear models: one fit and one factorisation per model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from outsample.criteria.base import Criterion
from outsample.curve.left_out import LeftOut, error_of_mean
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import FitError, fit, last_step, respond, seeded, with_params
from outsample.data.tables import Table, lend
from outsample.evidence.rows import left_out_losses
from outsample.paths.penalised.approximate import left_out_predictors, reproduced_left_out
from outsample.paths.penalised.objectives import KNOWN, Labels, answer, knows, objectives_of, squared_everywhere
from outsample.problem import Problem
from outsample.running.arrays import Array, Floats
from outsample.running.units import fingerprint
from outsample.running.workers import results_of

DOUBTFUL_LEVERAGE = 0.8


@dataclass(frozen=True)
class ApproximateLeaveOneOut(Criterion):
    """Leave-one-out by one Newton step per row from the fitted model, for penalised linear models.

    Serves LogisticRegression (two and more classes; l2, l1, elastic net), PoissonRegressor, GammaRegressor,
    TweedieRegressor, HuberRegressor, LinearRegression, Ridge, Lasso, ElasticNet, LinearSVC with squared hinge and
    LinearSVR with squared ε-insensitive loss, alone or at the end of a pipeline, dense or sparse X, with weights.
    Exact for squared loss with a quadratic penalty, also where all rows together reproduce their labels (as many
    columns as rows, and a small penalty or none); under an L1 penalty it takes the active columns as given.
    Class weights "balanced" are those of all rows.

    Estimates the loss on a new sample of a model fitted to all rows but one; the earlier steps of a pipeline are
    fitted once, to all rows, and not again. `standard_error` is the standard deviation of the left-out losses over
    √n: it takes them as independent, and its interval covers the error averaged over training sets; the error of
    this one fitted model a little less often. Models where some row has a leverage l''h above 0.8 are named in the
    notes of the curve: there the approximation is doubtful.

    References
    ----------
    K. Rahnama Rad and A. Maleki (2020), A scalable estimate of the out-of-sample prediction error via approximate
    leave-one-out cross-validation, J. R. Statist. Soc. B 82; J. Duchi (2021), STATS 305A, lecture 16, §2.4.
    """

    name: ClassVar[str] = "alo"

    def check(self, problem: Problem) -> None:
        if problem.groups is not None:
            raise ValueError(
                'groups: criterion "alo" leaves out single rows; use "kfold", which leaves out whole groups'
            )
        if problem.path.pairwise:
            raise ValueError(
                'X: criterion "alo" cannot leave a row out of precomputed kernels and distances; use "loo" or "kfold"'
            )
        for params in problem.path.params:
            tail = last_step(with_params(problem.path.estimator, params))
            if not knows(tail):
                raise ValueError(
                    f'criterion "alo" knows the objectives of {KNOWN} (LinearSVC and LinearSVR with their squared '
                    f'losses), not of {tail!r}; use "loo" or "kfold" instead'
                )

    def _curve(self, problem: Problem) -> RiskCurve:
        models = _LastSteps(problem)
        results = []
        for result in results_of(_Approximation(problem), models, problem.n_jobs, problem.finished("approximations")):
            results.append(result)
            problem.progress(len(results), len(problem.path))
        in_sample, left_out, leverage = (np.stack(values) for values in zip(*results, strict=True))
        table = left_out_losses(problem, left_out, np.arange(problem.n_samples))
        head = ", the earlier steps of the pipeline fitted once to all rows" if models.behind_others else ""
        return problem.curve(
            in_sample=np.asarray(problem.loss.risk(problem.y, in_sample, problem.weight)),
            out_sample=np.asarray(problem.loss.risk(problem.y, left_out, problem.weight)),
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, of a model fitted to all rows but one{head}",
            n_fits=len(problem.path),
            standard_error=_standard_error(table),
            left_out=table,
            notes=_doubts(leverage),
        )


class _LastSteps:
    """The last steps of the models, unfitted, each with X as the earlier steps of its pipeline hand it on.

    Earlier steps with equal settings are fitted once; they may look at y.
    """

    def __init__(self, problem: Problem) -> None:
        self._X, self._y = problem.X, _named_labels(problem)
        models = [with_params(problem.path.estimator, params) for params in problem.path.params]
        self._steps = [_steps(seeded(model, problem.real_seed)) for model in models]
        self.behind_others = any(len(steps) > 1 for steps in self._steps)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        known: dict[str, Any] = {}
        for *head, tail in self._steps:
            key = fingerprint(head)
            if key not in known:
                known[key] = check_array(self._transformed(head), accept_sparse="csr", dtype=np.float64)
            yield tail, known[key]

    def _transformed(self, head: list[Any]) -> Any:
        if not head:
            return self._X
        pipeline = Pipeline([(str(i), step) for i, step in enumerate(head)])
        return lend(pipeline, pipeline.fit_transform, self._X, self._y)


def _steps(model: BaseEstimator) -> list[Any]:
    """The steps of a pipeline and of pipelines inside it, or the model alone."""
    if not isinstance(model, Pipeline):
        return [model]
    *head, (_, tail) = model.steps
    return [*(step for _, step in head), *_steps(tail)]


def _named_labels(problem: Problem) -> Array:
    classes = problem.target.classes
    return problem.y if classes is None else np.asarray(classes[problem.y])


class _Approximation:
    """Fits one model and leaves every row out of it."""

    def __init__(self, problem: Problem) -> None:
        self.y, self.weight, self.response = _named_labels(problem), problem.weight, problem.response
        weight = np.ones(problem.n_samples) if problem.weight is None else problem.weight
        self.labels = Labels(problem.y, problem.target.classes, weight)

    def __call__(self, tail: Any, X: Table) -> tuple[Array, Array, float]:
        """(in-sample answers, approximate left-out answers, largest leverage that casts doubt)."""
        try:
            model = fit(clone(tail), X, self.y, self.weight)
        except Exception as error:
            raise FitError(f"{type(tail).__name__} could not be fitted: {error}") from error
        found = [left_out_predictors(objective) for objective in objectives_of(model, X, self.labels)]
        predictors, doubt = np.hstack([predictors for predictors, _ in found]), 0.0
        if squared_everywhere(model):
            self._complete(predictors, model, X)
        else:
            doubt = max(float(leverage.max()) for _, leverage in found)
        left_out = answer(model, predictors, self.response)
        return respond(model, X, self.response, self.labels.classes), left_out, doubt

    def _complete(self, predictors: Floats, model: BaseEstimator, X: Table) -> None:
        """Write down what a fit of minimum norm predicts where one Newton step divides zero by zero, in place."""
        Y = self.labels.values.reshape(len(predictors), -1)
        alphas = np.broadcast_to(getattr(model, "alpha", 0.0), Y.shape[1])
        for k in np.flatnonzero(np.isinf(predictors).any(axis=0)):
            known = reproduced_left_out(X, Y[:, k], self.labels.weight, float(alphas[k]), model.fit_intercept)
            predictors[:, k] = np.where(np.isinf(predictors[:, k]), known, predictors[:, k])


def _standard_error(table: LeftOut | None) -> Floats | None:
    """Spread of the left-out losses over √n, (models,)."""
    if table is None or table.losses is None:
        return None
    with np.errstate(invalid="ignore"):
        return error_of_mean(table.losses, table.weight)


def _doubts(leverage: Floats) -> tuple[str, ...]:
    doubtful = int((leverage > DOUBTFUL_LEVERAGE).sum())
    if not doubtful:
        return ()
    which = "this model" if len(leverage) == 1 else f"{doubtful} of {len(leverage)} models"
    return (
        f"the approximation is doubtful for {which}: some row has a leverage of {leverage.max():.2f} "
        f'(above {DOUBTFUL_LEVERAGE}); check it against "loo" or "kfold"',
    )
