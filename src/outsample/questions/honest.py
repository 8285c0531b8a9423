"""The error of a whole search. The least of many estimated errors is optimistic, and these methods correct for that.

Each estimates the error on new data of *searching and then using the chosen model*:

- "nested": the search is repeated in every fold of an outer cross-validation of five folds.
- "permutation": the search is repeated on permuted labels, and its optimism there is added to the chosen model's
  in-sample error. Criteria that draw labels already have all that is needed, without further fits.
- "bootstrap": bootstrap-bias-corrected cross-validation (Tsamardinos, Greasidou & Borboudakis 2018). Rows of the
  out-of-fold predictions are resampled, a model is chosen on the bag and judged on rows outside it. No further fits.
- "tibshirani": the correction of Tibshirani & Tibshirani (2009), (1/K) Σ_k [L_k(θ̂) − L_k(θ̂_k)]. No further fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from outsample.checks import one_of
from outsample.criteria.base import Criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.labels import Permutation
from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.risk_curve import RiskCurve
from outsample.losses.base import weighted_mean
from outsample.problem import Question, pose
from outsample.questions.contest import Outcome
from outsample.running.arrays import Floats, Rows
from outsample.running.run import child_generator

METHODS = ("nested", "permutation", "bootstrap", "tibshirani")
OUTER_FOLDS = 5
SEARCHES_ON_PERMUTED_LABELS = 5
BAGS = 500
BAG_STREAM = 77


def as_honesty(honest: object) -> str | None:
    """The name of a method after checking it; None for none."""
    return None if honest is None else one_of("honest", honest, METHODS, instead=" or None")


def honest_score(
    method: str, search: BaseEstimator, learner: BaseEstimator, question: Question, outcome: Outcome
) -> ErrorEstimate:
    """The error of the whole search, on the scale of the user's loss; its `criterion` names the method.

    `learner` is the estimator that is searched, with placeholder steps of pipelines filled in.
    """
    curve = outcome.curve
    if method == "tibshirani":
        return tibshirani(curve, outcome.best_model)
    if method == "bootstrap":
        return _bootstrap(curve, outcome.best_model, question)
    if method == "permutation" and curve.draws is not None and curve.draw_in_sample is not None:
        return _search_on_drawn_labels(curve, outcome.best_model)
    return _search_as_learner(method, search, learner, question)


def tibshirani(curve: RiskCurve, best: int) -> ErrorEstimate:
    """The error of the whole search by the correction of Tibshirani & Tibshirani, from the risks on folds alone."""
    risks = _required(curve.fold_risks, "tibshirani", curve)
    correction = float(np.mean(risks[:, best] - np.nanmin(risks, axis=1)))
    return _with_out_sample(curve, best, float(curve.out_sample[best]) + correction, "Tibshirani–Tibshirani correction")


def _bootstrap(curve: RiskCurve, best: int, question: Question) -> ErrorEstimate:
    risk_of_rows = _risk_of_rows(curve, question)
    rng = child_generator(question.seed, BAG_STREAM)
    rows, outside = _rows_left_out(curve, question), []
    for _ in range(BAGS):
        bag = rows[rng.integers(len(rows), size=len(rows))]
        left = np.setdiff1d(rows, bag)
        chosen = int(np.nanargmin(risk_of_rows(bag, slice(None))))
        outside.append(float(risk_of_rows(left, [chosen])[0]))
    name = "bootstrap-bias-corrected cross-validation"
    return _with_out_sample(curve, best, float(np.mean(outside)), name, error=float(np.std(outside, ddof=1)))


def _rows_left_out(curve: RiskCurve, question: Question) -> Rows:
    """The rows that every model left out: out of bag, some may have been seen by all trees of a small forest."""
    losses = None if curve.left_out is None else curve.left_out.losses
    if losses is None:
        return np.arange(question.n_samples)
    return np.flatnonzero(~np.isnan(losses[~np.isnan(curve.out_sample)]).any(axis=0))


def _risk_of_rows(curve: RiskCurve, question: Question) -> Callable[[Rows, Any], Floats]:
    """A function (rows, models) → risk of these models, (models,), on these rows, each predicted by fits without it."""
    known, table = ~np.isnan(curve.out_sample), curve.left_out
    losses = None if table is None or table.fold_risks is None else table.losses
    weight = question.weight

    def share(rows: Rows) -> Floats | None:
        return None if weight is None else weight[rows]

    # Of a loss of whole sets, rows have the risk plus their influence, whose means are its risks to first order.
    if losses is not None and (question.loss.per_row or curve.out_of_fold is None):
        complete = losses[known]
        return lambda rows, models: np.asarray(weighted_mean(complete[models][:, rows], share(rows)))
    predictions = _required(curve.out_of_fold, "bootstrap", curve)[known]
    if question.all_rows is not None:
        predictions = predictions[:, question.all_rows.counted]

    def of_sets(rows: Rows, models: Any) -> Floats:
        return np.asarray(question.loss.risk(question.y[rows], predictions[models][:, rows], share(rows)))

    return of_sets


def _search_on_drawn_labels(curve: RiskCurve, best: int) -> ErrorEstimate:
    """The search on each drawn label vector, which chooses by in-sample risk plus the optimism of the other draws."""
    draws, in_sample = curve.draws, curve.draw_in_sample
    assert draws is not None
    assert in_sample is not None
    others = (draws.sum(axis=0) - draws) / max(len(draws) - 1, 1)
    chosen = np.nanargmin(in_sample + others, axis=1)
    optimism = draws[np.arange(len(draws)), chosen]
    value = float(curve.in_sample[best] + optimism.mean())
    monte_carlo = float(optimism.std(ddof=1) / np.sqrt(len(draws))) if len(draws) > 1 else None
    found = _with_out_sample(curve, best, value, "permutation of the whole search")
    return replace(found, monte_carlo_error=monte_carlo)


def _search_as_learner(method: str, search: BaseEstimator, learner: BaseEstimator, question: Question) -> ErrorEstimate:
    """The error of the search as a learner, by nested cross-validation or by permutation."""
    plain = clone(search).set_params(honest=None, store=None, refit=True, progress=None, verbose=0, estimator=learner)
    data = question.data
    posed = pose(
        plain,
        data.X,
        data.labels,
        loss=question.loss,
        sample_weight=data.weight,
        groups=data.groups,
        random_state=question.seed,
        fast=False,
    )
    posed = replace(posed, run=replace(posed.run, store=question.run.store))
    if method == "nested":
        criterion: Criterion = CrossValidation(OUTER_FOLDS, shuffle=True)
        name = "nested cross-validation of the whole search"
    else:
        criterion, name = Permutation(SEARCHES_ON_PERMUTED_LABELS), "permutation of the whole search"
    found = criterion.curve(posed).estimate(0)
    return replace(found, criterion=name, estimand=_estimand(question.loss.on_new_data))


def _with_out_sample(curve: RiskCurve, best: int, value: float, name: str, error: float | None = None) -> ErrorEstimate:
    """The chosen model's estimate with `value` as its out-sample risk."""
    plain = curve.estimate(best)
    out_sample = float(curve.loss.reported(np.clip(value, *curve.loss.range)))
    return replace(
        plain,
        out_sample=out_sample,
        optimism=out_sample - plain.in_sample,
        standard_error=plain.standard_error if error is None else error,
        criterion=name,
        estimand=_estimand(curve.loss.on_new_data),
        draws=None,
    )


def _estimand(what: str) -> str:
    return f"{what}, of searching the grid and using the chosen model"


def _required(values: Any, method: str, curve: RiskCurve) -> Any:
    if values is None and curve.fold_risks is not None:
        raise ValueError(
            f"honest={method!r} needs predictions of one kind, the learners of this grid are judged by different ones; "
            'use honest="tibshirani", "permutation" or "nested"'
        )
    if values is None:
        raise ValueError(
            f"honest={method!r} needs cross-validation, criterion {curve.criterion!r} has no folds; "
            'use criterion="kfold", or honest="permutation" or "nested"'
        )
    return values
