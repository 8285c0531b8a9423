"""The error of a whole search. The least of many estimated errors is optimistic, and these methods correct for that.

Each estimates the error on new data of *searching and then using the chosen model*:

- "nested": the search is repeated in every fold of an outer cross-validation of five folds.
- "permutation": the search is repeated on permuted labels, and its optimism there is added to the chosen model's
  in-sample error. Criteria that draw labels already have all that is needed, without further fits.
- "bootstrap": bootstrap-bias-corrected cross-validation (Tsamardinos, Greasidou & Borboudakis 2018). Rows of the
  out-of-fold predictions are resampled, a model is chosen on the bag and judged on rows outside it. No further fits.
- "tibshirani": the correction of Tibshirani & Tibshirani (2009), (1/K) Σ_k [L_k(θ̂) − L_k(θ̂_k)]. No further fits; no
  interval, which would cover 62 % of the time where 90 % are asked for.

A search that names no method has the second to last of them, "bootstrap", wherever its criterion has left rows out:
`corrected_for_choice`.
"""

from __future__ import annotations

import warnings
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
from outsample.curve.left_out import NO_LOSSES, LeftOut, times_drawn
from outsample.curve.risk_curve import RiskCurve
from outsample.problem import Question, pose
from outsample.questions.contest import Outcome
from outsample.running.arrays import Array, Floats, Rows
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


def corrected_for_choice(
    curve: RiskCurve, best: int, rng: np.random.Generator, groups: Array | None = None
) -> ErrorEstimate | None:
    """The chosen model's error, corrected for having chosen it, from the losses of rows left out; None without them.

    Bags of rows are drawn; on each, the model of least mean loss is chosen and judged on the rows outside the bag. What
    it loses there more than the chosen model, on average over bags, is the correction. Where a race dropped a
    candidate, its loss on the rows it did not meet is taken as the chosen model's plus what it lost more on those that
    both met; where it lost less on those few, which was not enough to stay, it is taken to lose as much on average. The
    standard error is that of the chosen model, or of all choices if larger.

    Parameters
    ----------
    groups : (n,) rows that belong together, which bags take or leave together; None where each is alone.
    """
    table = _complete_losses(curve, best)
    if table is None:
        return None
    of_search, value = _outside_bags(*table, rng, None if groups is None else groups[_rows_of(curve, best)])
    found = _with_out_sample(curve, best, value, "bootstrap-bias-corrected cross-validation")
    return _with_spread(found, of_search)


def _with_spread(found: ErrorEstimate, of_search: LeftOut) -> ErrorEstimate:
    """The estimate with the standard error of the losses of the search, where it exceeds that of the chosen model.

    The search may choose other models on other data, and where some of them lose much more on some rows, so may it.
    """
    error, telling = float(of_search.standard_error[0]), of_search.rows_that_tell(0)
    if found.standard_error is None or not error > found.standard_error:
        return found
    return replace(found, standard_error=error, telling_rows=None if found.telling_rows is None else telling)


def _complete_losses(curve: RiskCurve, best: int) -> tuple[Floats, Floats, Floats] | None:
    """(losses (models, rows), of the chosen model (rows,), weights (rows,)) of the rows it left out, without holes."""
    left_out = curve.left_out
    if left_out is None or left_out.losses is None:
        return None
    rows = _rows_of(curve, best)
    losses = left_out.losses[~np.isnan(curve.out_sample)][:, rows]
    leader = left_out.losses[best, rows]
    if len(rows) < 2:
        return None
    holes = np.isnan(losses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        gap = np.nanmean(losses - leader, axis=1, keepdims=True)
    better = np.where(holes.any(axis=1, keepdims=True), np.minimum(gap, 0.0), 0.0)
    filled = np.where(holes, leader + gap, losses) - better
    weight = np.ones(len(rows)) if left_out.weight is None else left_out.weight[rows]
    return filled[~np.isnan(filled).any(axis=1)], leader, weight


def _rows_of(curve: RiskCurve, model: int) -> Rows:
    """The rows that a model left out, where their losses are known."""
    assert curve.left_out is not None
    assert curve.left_out.losses is not None
    return np.flatnonzero(~np.isnan(curve.left_out.losses[model]))


def _outside_bags(
    losses: Floats, leader: Floats, weight: Floats, rng: np.random.Generator, groups: Array | None
) -> tuple[LeftOut, float]:
    """(mean loss of each row by the models that are best on bags without it, the mean loss of the search).

    The latter is that of the chosen model plus the mean over bags of what the best model on a bag loses outside more
    than it. Rows that are in all bags, and bags without a row outside, count for nothing.
    """
    n = len(weight)
    sums, times, worse = np.zeros(n), np.zeros(n), []
    for _ in range(BAGS):
        drawn = times_drawn(n, groups, rng)
        chosen, outside = int(np.argmin(losses @ (drawn * weight))), drawn == 0
        sums[outside] += losses[chosen, outside]
        times += outside
        share = weight * outside
        worse.append(float((losses[chosen] - leader) @ share / share.sum()) if share.sum() > 0 else float("nan"))
    value = float(leader @ weight / weight.sum() + np.nanmean(worse))
    with np.errstate(invalid="ignore"):
        return LeftOut((sums / times)[None], weight, groups=groups), value


def tibshirani(curve: RiskCurve, best: int) -> ErrorEstimate:
    """The error of the whole search by the correction of Tibshirani & Tibshirani, from the risks on folds alone."""
    risks = _required(curve.fold_risks, "tibshirani", curve)
    correction = float(np.mean(risks[:, best] - np.nanmin(risks, axis=1)))
    name = "Tibshirani–Tibshirani correction"
    found = _with_out_sample(curve, best, float(curve.out_sample[best]) + correction, name)
    return replace(found, no_interval='what chance the correction leaves is not known; use honest="bootstrap"')


def _bootstrap(curve: RiskCurve, best: int, question: Question) -> ErrorEstimate:
    rng = child_generator(question.seed, BAG_STREAM)
    if question.loss.per_row or question.loss.ranks or curve.out_of_fold is None:
        found = corrected_for_choice(curve, best, rng, question.groups)
        if found is not None:
            return found
    if question.loss.ranks:
        raise ValueError(f"honest='bootstrap' cannot rank rows that several models predict; {NO_LOSSES}")
    risk_of_rows = _risk_of_rows(curve, question)
    n, outside = question.n_samples, []
    for _ in range(BAGS):
        often = times_drawn(n, question.groups, rng)
        bag, left = np.repeat(np.arange(n), often), np.flatnonzero(often == 0)
        chosen = int(np.nanargmin(risk_of_rows(bag, slice(None))))
        outside.append(float(risk_of_rows(left, [chosen])[0]))
    name = "bootstrap-bias-corrected cross-validation"
    return _with_out_sample(curve, best, float(np.mean(outside)), name, error=float(np.std(outside, ddof=1)))


def _risk_of_rows(curve: RiskCurve, question: Question) -> Callable[[Rows, Any], Floats]:
    """A function (rows, models) → risk of these models, (models,), on these rows, each predicted by fits without it."""
    predictions = _required(curve.out_of_fold, "bootstrap", curve)[~np.isnan(curve.out_sample)]
    if question.all_rows is not None:
        predictions = predictions[:, question.all_rows.counted]

    def risk(rows: Rows, models: Any) -> Floats:
        weight = None if question.weight is None else question.weight[rows]
        return np.asarray(question.loss.risk(question.y[rows], predictions[models][:, rows], weight))

    return risk


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
