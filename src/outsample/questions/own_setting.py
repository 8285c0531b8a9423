"""The estimator's own setting beside the candidates of a search, so that the verdict can say whether tuning helped.

It is no candidate: it is never chosen and has no row in `cv_results_`. It is tried where that costs little next to the
search itself, on the rows and folds that the candidates were judged by; where it is not, the verdict says why.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.criteria.base import CRITERIA, Criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.race import Race
from outsample.curve.left_out import LeftOut
from outsample.curve.paired import difference_of_rows
from outsample.curve.plausible import WIDENING
from outsample.curve.race_record import ALIKE, CLOSE, WORSE, RaceRecord
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import FitError, with_params
from outsample.evidence.rows import FoldFits, FoldJudge
from outsample.problem import Problem, Question
from outsample.questions.contest import NOT_FITTED, Outcome, problems_of
from outsample.running.arrays import Floats
from outsample.running.progress import silent

# Candidates beside which one more does not cost much.
FEW = 3
# Names of the criteria that `Auto` takes beside races and folds; the losses of the first two can be compared.
EXACT, NEARLY, OUT_OF_BAG, ONE_PATH, FOLDED = "loo", "alo", "oob", "rows-and-labels", "kfold"
# Parameters that say how much work an ensemble is, and how many times the work of the candidates is too much.
SIZES, TOO_LARGE = ("n_estimators", "max_iter", "iterations", "num_trees", "num_boost_round"), 2

# Parameters that limit a tree, and rows from which on a tree without limits takes many times the work of the search.
LIMITS, MANY_ROWS = ("max_leaf_nodes", "max_depth"), 10_000

# p-value below which further folds are spared; small, because it is looked at after every fold.
BEYOND_DOUBT = 1e-3
# Standard errors of all folds below which the difference is expected to stay, as it is after half of them, when the
# others are spared: twice as many would be needed to call it one.
FUTILE = 1.0

BESIDE_FEW = "beside so few candidates it would cost half as much as they do"
LARGE = "it is so much larger than the candidates that it would cost as much as the whole search"
UNLIMITED = f"on more than {MANY_ROWS} rows a tree without limits would cost many times as much as the whole search"
BUDGET = "the race has a budget, which is for the grid"
NO_LOSSES = "no losses of single rows were kept, by which it could be compared"
NOT_ALIKE = "it takes other evidence than the candidates, with which it cannot be compared"


def with_reference(
    outcome: Outcome, question: Question, estimator: BaseEstimator, own: dict[str, Any], criterion: Criterion
) -> Outcome:
    """The outcome with what the estimator's own setting lost on rows left out, or with the reason why it has none.

    A setting that is a candidate is left as it is, unless a race dropped it before it met all folds, or had all trees.
    """
    model = None if outcome.default is None else outcome.model_at(outcome.default)
    if model is not None and not _was_dropped(outcome, model):
        return outcome
    question = replace(question, run=replace(question.run, progress=silent))
    reason = _objection(outcome.curve, own, criterion)
    if reason:
        return replace(outcome, untried=reason)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Nobody asked for this setting.
        warnings.simplefilter("ignore")
        try:
            problem = problems_of(question, with_params(estimator, own), [{}])[0][0]
            table, n_fits = _evidence(problem, criterion, outcome, model)
        except (FitError, ValueError, TypeError):
            return replace(outcome, untried=NOT_FITTED)
    curve, seconds = outcome.curve, time.perf_counter() - start
    spent = replace(outcome, curve=replace(curve, n_fits=curve.n_fits + n_fits, seconds=curve.seconds + seconds))
    return replace(spent, untried=NOT_ALIKE) if table is None else replace(spent, reference=table)


def _was_dropped(outcome: Outcome, model: int) -> bool:
    race = outcome.curve.race
    return isinstance(race, RaceRecord) and race.reason[model] in (WORSE, ALIKE, CLOSE) and model != outcome.best_model


def _race_of(criterion: Criterion) -> Race:
    """The race that a criterion is, or takes."""
    return criterion if isinstance(criterion, Race) else getattr(criterion, "race_taken", Race())


def _objection(curve: RiskCurve, own: dict[str, Any], criterion: Criterion) -> str:
    """Why the own setting would cost too much; empty where it does not."""
    table, race = curve.left_out, _race_of(criterion)
    if curve.race is not None and (race.max_fits is not None or race.max_seconds is not None):
        return BUDGET
    if table is None or (table.losses is None and table.fold_risks is None):
        return NO_LOSSES
    if any(_is_too_large(name, own[name], curve.params) for name in own if name.rpartition("__")[2] in SIZES):
        return LARGE
    unlimited = any(own[name] is None for name in own if name.rpartition("__")[2] in LIMITS)
    if unlimited and curve.criterion in (ONE_PATH, FOLDED) and curve.n_samples > MANY_ROWS:
        return UNLIMITED
    return "" if curve.criterion in (EXACT, ONE_PATH, FOLDED) or len(curve) >= FEW else BESIDE_FEW


def _is_too_large(name: str, own: Any, settings: Sequence[dict[str, Any]]) -> bool:
    """Whether a size is far beyond those of the candidates; what is not a number is a default of its library.

    Of candidates that differ in size alone the largest has the work of all.
    """
    largest: dict[str, int] = {}
    for params in settings:
        others = repr(sorted((other, repr(value)) for other, value in params.items() if other != name))
        if not isinstance(params[name], int | np.integer) or not isinstance(own, int | np.integer):
            return False
        largest[others] = max(int(params[name]), largest.get(others, 0))
    return bool(own > TOO_LARGE * sum(largest.values()))


def _evidence(
    problem: Problem, criterion: Criterion, outcome: Outcome, model: int | None
) -> tuple[LeftOut | None, int]:
    """(table of a single model on the rows and folds of the candidates, fits it took); None if it has another kind.

    `model` is its place among the candidates, None where it is none of them.
    """
    race, taken = outcome.curve.race, outcome.curve.criterion
    if isinstance(race, RaceRecord):
        if race.unit == "fold":
            return _until_clear(problem, _race_of(criterion), outcome, model)
        taken = OUT_OF_BAG
    if taken in (EXACT, NEARLY):
        exact = problem.design.abilities.leaves_out
        if taken == EXACT and not exact:
            return None, 0
        taken = EXACT if exact else NEARLY
    if taken == FOLDED:
        return _like(outcome.curve.left_out).left_out_alone(problem)
    if taken == ONE_PATH:
        return criterion.on_one_path(problem).left_out_alone(problem)
    return CRITERIA[taken]().left_out_alone(problem)


def _like(table: LeftOut | None) -> Criterion:
    """Random folds, as many as the candidates were judged by, and judged together if those were."""
    assert table is not None
    assert table.fold is not None
    return CrossValidation(int(table.fold.max()) + 1, shuffle=True, pooled=table.fold_risks is None)


def _until_clear(problem: Problem, race: Race, outcome: Outcome, model: int | None) -> tuple[LeftOut | None, int]:
    """The same on those folds of a race that it has not met.

    Until it is beyond doubt which of the two is better, or after half of the folds unlikely to become clear.
    """
    table = outcome.curve.left_out
    assert table is not None
    splits, n_fits = race.splits(problem), 0
    own, rival, risks = _standing_so_far(table, len(splits), outcome.best_model, model)
    number = splits.fold_of_rows(problem.n_samples)
    by_rows = rival is not None and number is not None and table.fold is not None and bool((number == table.fold).all())
    fits = FoldFits(problem, splits.folds, FoldJudge(problem, splits), False, 0)
    for k in np.flatnonzero(np.isnan(risks)).tolist():
        cost, risks[k : k + 1], losses = fits(k)
        n_fits += int(cost)
        if by_rows and losses.size:
            own[splits.folds[k].test] = losses[0]
        if rival is not None and (~np.isnan(own) & ~np.isnan(rival)).sum() > 1:
            apart = difference_of_rows(own, rival, table.weight, problem.groups, WIDENING)
            share = 1 - float(np.isnan(risks).mean())
            futile = share >= 0.5 and abs(apart.value) <= FUTILE * apart.error * math.sqrt(share)
            if futile or (apart.pvalue < BEYOND_DOUBT and apart.error > 0):
                break
    known = None if np.isnan(own).all() else own[None]
    return replace(table, losses=known, fold_risks=risks[:, None], predictions=None), n_fits


def _standing_so_far(
    table: LeftOut, n_folds: int, best: int, model: int | None
) -> tuple[Floats, Floats | None, Floats]:
    """(losses of the own setting, those of its rival or None, risks on folds of the own one); nan where not tested."""
    rows = 0 if table.losses is None else table.losses.shape[1]
    own, risks = np.full(rows, np.nan), np.full(n_folds, np.nan)
    if model is not None:
        own = own if table.losses is None else table.losses[model].copy()
        risks = risks if table.fold_risks is None else table.fold_risks[:, model].copy()
    return own, None if table.losses is None else table.losses[best], risks
