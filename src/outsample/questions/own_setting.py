"""The estimator's own setting beside the candidates of a search, so that the verdict can say whether tuning helped.

It is no candidate: it is never chosen and has no row in `cv_results_`. It is tried where that costs little next to the
search itself, on the rows and folds that the candidates were judged by; where it is not, the verdict says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.criteria.approximate import ApproximateLeaveOneOut
from outsample.criteria.base import Criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.criteria.out_of_bag import OutOfBag
from outsample.criteria.race import Race
from outsample.criteria.rows_and_labels import RowsAndLabels
from outsample.curve.left_out import LeftOut
from outsample.curve.race_record import RaceRecord
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import FitError, with_params
from outsample.evidence.rows import FoldFits, FoldJudge
from outsample.evidence.standings import standings
from outsample.problem import Problem, Question
from outsample.questions.contest import Outcome, problems_of
from outsample.running.arrays import Floats
from outsample.running.progress import silent

# Candidates beside which one more does not cost much.
FEW = 3
# Criteria that leave single rows out of all others, exactly or nearly, so that their losses can be compared.
SINGLE_ROWS = (LeaveOneOut.name, ApproximateLeaveOneOut.name)
# Parameters that say how much work an ensemble is, and how many times the work of the candidates is too much.
SIZES, TOO_LARGE = ("n_estimators", "max_iter", "iterations", "num_trees", "num_boost_round"), 2

BESIDE_FEW = "beside so few candidates it would cost half as much as they do"
LARGE = "it is so much larger than the candidates that it would cost as much as the whole search"
NO_LOSSES = "no losses of single rows were kept, by which it could be compared"
NOT_FITTED = "it cannot be fitted to these data"
NOT_ALIKE = "it takes other evidence than the candidates, with which it cannot be compared"


def with_reference(
    outcome: Outcome, question: Question, estimator: BaseEstimator, own: dict[str, Any], criterion: Criterion
) -> Outcome:
    """The outcome with what the estimator's own setting lost on rows left out, or with the reason why it has none."""
    question = replace(question, run=replace(question.run, progress=silent))
    reason = _objection(outcome.curve, own)
    if reason:
        return replace(outcome, untried=reason)
    with warnings.catch_warnings():
        # Nobody asked for this setting.
        warnings.simplefilter("ignore")
        try:
            problem = problems_of(question, with_params(estimator, own), [{}])[0][0]
            table, n_fits = _evidence(problem, criterion, outcome)
        except (FitError, ValueError, TypeError):
            return replace(outcome, untried=NOT_FITTED)
    spent = replace(outcome, curve=replace(outcome.curve, n_fits=outcome.curve.n_fits + n_fits))
    return replace(spent, untried=NOT_ALIKE) if table is None else replace(spent, reference=table)


def _objection(curve: RiskCurve, own: dict[str, Any]) -> str:
    """Why the own setting would cost too much; empty where it does not."""
    table = curve.left_out
    if table is None or (table.losses is None and table.fold_risks is None):
        return NO_LOSSES
    if any(_is_too_large(name, own[name], curve.params) for name in own if name.rpartition("__")[2] in SIZES):
        return LARGE
    single = curve.criterion in (LeaveOneOut.name, RowsAndLabels.name)
    return "" if single or len(curve) >= FEW else BESIDE_FEW


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


def _evidence(problem: Problem, criterion: Criterion, outcome: Outcome) -> tuple[LeftOut | None, int]:
    """(table of a single model on the rows and folds of the candidates, fits it took); None if it has another kind."""
    curve = outcome.curve
    if isinstance(curve.race, RaceRecord):
        race = criterion if isinstance(criterion, Race) else getattr(criterion, "race_taken", Race())
        return _until_clear(problem, race, outcome) if curve.race.unit == "fold" else _of(OutOfBag(), problem)
    if curve.criterion == RowsAndLabels.name:
        return RowsAndLabels(getattr(criterion, "episodes", RowsAndLabels.episodes)).rows_alone(problem)
    if curve.criterion in SINGLE_ROWS:
        if problem.design.abilities.leaves_out:
            return _of(LeaveOneOut(), problem)
        return (None, 0) if curve.criterion == LeaveOneOut.name else _of(ApproximateLeaveOneOut(), problem)
    return _of(OutOfBag() if curve.criterion == OutOfBag.name else CrossValidation(10, shuffle=True), problem)


def _of(criterion: Criterion, problem: Problem) -> tuple[LeftOut | None, int]:
    """What a criterion says of a single model; None where rows are left in doubt."""
    curve = criterion.curve(problem)
    in_doubt = curve.in_doubt is not None and bool((curve.in_doubt > 0).any())
    return None if in_doubt else curve.left_out, curve.n_fits


def _until_clear(problem: Problem, race: Race, outcome: Outcome) -> tuple[LeftOut | None, int]:
    """The same on the folds of a race, one after the other, until it is clear which of the two is better."""
    table = outcome.curve.left_out
    assert table is not None
    splits, n_fits = race.splits(problem), 0
    number, rival = splits.fold_of_rows(problem.n_samples), None
    if table.losses is not None and number is not None and table.fold is not None:
        rival = table.losses[outcome.best_model] if np.array_equal(number, table.fold) else None
    own, risks = np.full(problem.n_samples, np.nan), np.full((len(splits), 1), np.nan)
    fits = FoldFits(problem, splits.folds, FoldJudge(problem, splits), False, 0)
    for k, fold in enumerate(splits.folds):
        cost, risks[k], losses = fits(k)
        n_fits += int(cost)
        if not losses.size or rival is None:
            continue
        own[fold.test] = losses[0]
        if k and _is_clear(rival, own, table.weight, race.confidence):
            break
    known = None if np.isnan(own).all() else own[None]
    return LeftOut(known, table.weight, table.fold, risks, table.fold_sizes), n_fits


def _is_clear(rival: Floats, own: Floats, weight: Floats | None, confidence: float) -> bool:
    """Whether one of two models is better on the rows that both were tested on, as a race has it."""
    seen = np.flatnonzero(~np.isnan(own) & ~np.isnan(rival))
    if not len(seen):
        return False
    stand = standings(np.stack([rival[seen], own[seen]]), None if weight is None else weight[seen])
    return bool(stand.probability[1 - stand.leader] < 1 - confidence)
