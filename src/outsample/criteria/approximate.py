"""Approximate leave-one-out for penalised linear models: one fit per model, made exact for the rows that need it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from outsample.checks import whole_number
from outsample.criteria.base import Criterion
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.curve.intervals import error_of_mean
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import last_step, with_params
from outsample.data.parameters import KNOWN_PARAMETERS, unknown_settings
from outsample.data.steps import step_that_reads_y
from outsample.evidence.approximations import Approximation, LastSteps
from outsample.evidence.rows import left_out_losses
from outsample.evidence.settled import settled_models, settles_together
from outsample.losses.base import weighted_mean
from outsample.paths.penalised.objectives import KNOWN, knows
from outsample.paths.refit import RefitPath
from outsample.problem import Problem
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.workers import results_of

# What is known of the richest model, by this key of `Problem.once`.
RICHEST = "richest model by approximate leave-one-out"


REFITTED = "a parameter is set whose part in the objective is not known here: every row was left out by a refit"


@dataclass(frozen=True)
class ApproximateLeaveOneOut(Criterion):
    """Leave-one-out by Newton steps from the fitted model, for penalised linear models.

    Serves LogisticRegression (two and more classes; l2, l1, elastic net), PoissonRegressor, GammaRegressor,
    TweedieRegressor, HuberRegressor, LinearRegression, Ridge, Lasso, ElasticNet, LinearSVC with squared hinge and
    LinearSVR with squared ε-insensitive loss, alone or at the end of a pipeline whose earlier steps ignore y, dense or
    sparse X, with weights.
    Exact for squared loss with a quadratic penalty, also where all rows together reproduce their labels (as many
    columns as rows, and a small penalty or none). Elsewhere every row has an estimate of how far its left-out
    prediction may be off. As long as that may change the risk by more than 0.5 %, the rows with the largest doubts are
    improved: by further Newton steps with the Hessian of all rows, by Newton's method on the other rows, by coordinate
    descent on the other rows where the penalty has an L1 part, at last by refitting up to `refits` rows. Fits are
    counted with the rows that were refitted; steps from the coefficients at hand are not fits. Rows that are still in
    doubt are counted in `in_doubt` of the curve and named in its notes: where it is zero, the risk was within 1 %
    of exact leave-one-out on simulated tables of many kinds.

    Estimates the loss on a new sample of a model fitted to all rows but one; the earlier steps of a pipeline are
    fitted once, to all rows, and not again: a scaler has seen the X of the row left out, but not its label.
    Steps that look at y are refused: they have seen the label as well. So are scores that rank rows: without a row its
    own class is rarer, and single rows left out are ranked below it.
    `standard_error` is the standard deviation of the left-out losses over √n: it takes them as independent, and its
    interval covers the error averaged over training sets; the error of this one fitted model a little less often.

    Parameters
    ----------
    refits : rows of each model that are refitted at most; where more are in doubt, none of them is.

    References
    ----------
    K. Rahnama Rad and A. Maleki (2020), A scalable estimate of the out-of-sample prediction error via approximate
    leave-one-out cross-validation, J. R. Statist. Soc. B 82; J. Duchi (2021), STATS 305A, lecture 16, §2.4.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = outsample.estimate(Ridge(), X, y, criterion=outsample.ApproximateLeaveOneOut(), random_state=0)
    >>> round(result.out_sample, 0)
    3328.0
    """

    refits: int = 10

    name: ClassVar[str] = "alo"

    def __post_init__(self) -> None:
        object.__setattr__(self, "refits", whole_number("refits", self.refits, 0))

    def check(self, problem: Problem) -> None:
        if problem.groups is not None:
            raise ValueError(
                'groups: criterion "alo" leaves out single rows; use "kfold", which leaves out whole groups'
            )
        if problem.path.pairwise:
            raise ValueError(
                'X: criterion "alo" cannot leave a row out of precomputed kernels and distances; use "loo" or "kfold"'
            )
        if problem.loss.ranks:
            raise ValueError(
                f'criterion "alo" leaves out single rows, and {problem.loss.name} ranks rows, which takes what one '
                'model says of several of them; use "auto" or "kfold" instead'
            )
        for model in _kinds(problem):
            tail = last_step(model)
            named = type(tail).__name__ in KNOWN.split(", ") and unknown_settings(tail)
            if not named and not knows(tail):
                raise ValueError(
                    f'criterion "alo" knows the objectives of {KNOWN} (LinearSVC and LinearSVR with their squared '
                    f'losses), not of {tail!r}; use "loo" or "kfold" instead'
                )
            reader = step_that_reads_y(model)
            if reader is not None:
                raise ValueError(
                    f'criterion "alo" fits the earlier steps of a pipeline once, to all rows, and '
                    f'{type(reader).__name__} may look at the labels of rows left out; use "kfold" or "race" instead'
                )

    def leaves_richest_in_doubt(self, problem: Problem) -> bool:
        """Whether rows of the richest model remain in doubt, which usually has most of them.

        One fit tells, which `curve` does not repeat. False where all models are settled at once, which takes less.
        """
        models = _last_steps(problem)
        if settles_together(problem, models):
            return False
        work = Approximation(problem, self.refits)
        _, _, counts = problem.once((RICHEST, self), lambda: next(results_of(work, [models.richest], 1)))
        return bool(counts[0] > 0)

    def _curve(self, problem: Problem) -> RiskCurve:
        if set_unknowingly(problem):
            found = LeaveOneOut().curve(problem.over(RefitPath.of(problem.path)))
            return replace(found, criterion=self.name, notes=(*found.notes, REFITTED))
        models = _last_steps(problem)
        in_sample, left_out, counts = self._answers(problem, models)
        left_out, unknown = _known_answers(problem, left_out)
        in_doubt = counts[:, 0] + unknown
        table = left_out_losses(problem, left_out, np.arange(problem.n_samples))
        head = ", the earlier steps of the pipeline fitted once to all rows" if models.behind_others else ""
        return problem.curve(
            in_sample=in_sample,
            # The risk of a model that says nothing of some row is not known, and certainly not small.
            out_sample=np.where(unknown > 0, np.inf, _risk(problem, left_out, table)),
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, of a model fitted to all rows but one{head}",
            standard_error=_standard_error(table),
            left_out=table,
            in_doubt=in_doubt.astype(np.float64),
            notes=_doubts(in_doubt),
        )

    def _answers(self, problem: Problem, models: LastSteps) -> tuple[Floats, Array, Rows]:
        """(in-sample risks, left-out answers, (models, 2) rows left in doubt and refits)."""
        results, alone = {}, Approximation(problem, self.refits)
        for k, fitted, left_out in settled_models(problem, models, alone.labels.weight):
            results[k] = _in_sample(problem, fitted), left_out, np.zeros(2, dtype=np.intp)
        if problem.knows((RICHEST, self)):
            fitted, left_out, counts = problem.once((RICHEST, self), tuple)
            results[len(problem.path) - 1] = _in_sample(problem, fitted), left_out, counts
        rest = [(k, model) for k, model in enumerate(models) if k not in results]
        tasks, finished = [model for _, model in rest], problem.finished("approximations", self.refits)
        for (k, _), result in zip(rest, results_of(alone, tasks, problem.n_jobs, finished), strict=True):
            fitted, left_out, counts = result
            results[k] = _in_sample(problem, fitted), left_out, counts
            problem.progress(len(results), len(problem.path))
        in_sample, answers, doubts = zip(*(results[k] for k in range(len(results))), strict=True)
        return np.array(in_sample), np.stack(answers), np.stack(doubts)


def _last_steps(problem: Problem) -> LastSteps:
    models: LastSteps = problem.once(LastSteps, lambda: LastSteps(problem))
    return models


def _known_answers(problem: Problem, left_out: Array) -> tuple[Array, Rows]:
    """(answers, the mean label where there is none; rows without an answer, (models,)).

    A row that fits itself, as one of rare categories may, leaves nothing to predict it by.
    """
    if not np.issubdtype(left_out.dtype, np.floating):
        return left_out, np.zeros(len(left_out), dtype=np.intp)
    missing = ~np.isfinite(left_out)
    rows = missing.reshape(*missing.shape[:2], -1).any(axis=-1)
    return np.where(missing, np.mean(problem.y), left_out), np.asarray(rows.sum(axis=1))


def _in_sample(problem: Problem, fitted: Array) -> float:
    """The risk of one model on the rows it was fitted to."""
    return float(problem.loss.risk(problem.y, fitted, problem.weight))


def _risk(problem: Problem, left_out: Array, table: LeftOut | None) -> Floats:
    """The risk of every model on rows left out, (models,): the mean of their losses where there are such."""
    if problem.loss.per_row and table is not None and table.losses is not None:
        return np.asarray(weighted_mean(table.losses, problem.weight))
    return np.asarray(problem.loss.risk(problem.y, left_out, problem.weight))


def set_unknowingly(problem: Problem) -> bool:
    """Whether parameters are set whose part in the objective is not known."""
    return any(unknown_settings(last_step(model)) for model in _kinds(problem))


def _kinds(problem: Problem) -> list[Any]:
    """The models that differ in more than numbers of known parameters, one of each kind."""
    known = KNOWN_PARAMETERS.get(type(last_step(problem.path.estimator)).__name__, frozenset())

    def is_number(name: str, value: Any) -> bool:
        return name.rpartition("__")[2] in known and isinstance(value, int | float | np.number)

    kinds = [{k: v for k, v in params.items() if not is_number(k, v)} for params in problem.path.params]
    return [with_params(problem.path.estimator, kind) for i, kind in enumerate(kinds) if i == 0 or kind]


def _standard_error(table: LeftOut | None) -> Floats | None:
    """Spread of the left-out losses over √n, (models,)."""
    if table is None or table.losses is None:
        return None
    with np.errstate(invalid="ignore"):
        return error_of_mean(table.losses, table.weight)


def _doubts(rows: Rows) -> tuple[str, ...]:
    """A note where models keep rows in doubt."""
    doubtful = int((rows > 0).sum())
    if not doubtful:
        return ()
    which = "this model" if len(rows) == 1 else f"{doubtful} of {len(rows)} models"
    return (
        f"the approximation is doubtful for {which}: without each of up to {rows.max()} rows the fit may change so "
        "much that its risk is off by more than 1 %, and these are too many to refit; "
        'check it against "loo" or "kfold"',
    )
