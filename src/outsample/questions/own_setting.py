"""The estimator's own setting beside the candidates of a search, so that the verdict can say whether tuning helped.

It is no candidate: it is never chosen and has no row in `cv_results_`. It is tried where that costs little: where one
fit tells about all rows, and beside a race of several candidates, fold after fold until it is clear which is better.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.criteria.base import Criterion
from outsample.criteria.race import Race
from outsample.curve.race_record import RaceRecord
from outsample.data.learners import FitError
from outsample.evidence.rows import FoldFits, FoldJudge
from outsample.evidence.standings import standings
from outsample.problem import Problem, Question
from outsample.questions.contest import Outcome, problems_of
from outsample.running.arrays import Floats
from outsample.running.progress import silent

# Candidates beside which one more does not cost much.
FEW = 4
# Criteria that fit every setting once.
ONE_FIT = ("alo", "oob")


def with_reference(
    outcome: Outcome, question: Question, estimator: BaseEstimator, own: dict[str, Any], criterion: Criterion
) -> Outcome:
    """The outcome with the left-out losses of the estimator's own setting, where these cost little."""
    table, question = outcome.curve.left_out, replace(question, run=replace(question.run, progress=silent))
    if table is None or table.losses is None:
        return outcome
    with warnings.catch_warnings():
        # Nobody asked for this setting.
        warnings.simplefilter("ignore")
        try:
            problem = problems_of(question, estimator, [own])[0][0]
            losses, n_fits = _losses(problem, criterion, outcome, len(outcome.curve))
        except (FitError, ValueError, TypeError):
            return outcome
    if losses is None:
        return outcome
    curve = replace(outcome.curve, n_fits=outcome.curve.n_fits + n_fits)
    return replace(outcome, curve=curve, reference=losses)


def _losses(problem: Problem, criterion: Criterion, outcome: Outcome, n: int) -> tuple[Floats | None, int]:
    """(left-out losses of a single model, fits they took); None where they would cost too much."""
    curve = outcome.curve
    if curve.race is not None:
        race = criterion if isinstance(criterion, Race) else getattr(criterion, "race_taken", None)
        return _until_clear(problem, race, outcome) if n >= FEW and isinstance(race, Race) else (None, 0)
    if problem.design.abilities.leaves_out or (curve.criterion in ONE_FIT and n >= FEW):
        found = criterion.curve(problem)
        losses = None if found.left_out is None else found.left_out.losses
        return (None, 0) if losses is None or found.criterion != curve.criterion else (losses[0], found.n_fits)
    return None, 0


def _until_clear(problem: Problem, race: Race, outcome: Outcome) -> tuple[Floats | None, int]:
    """The same on the folds of a race, one after the other, until it is clear which of the two is better."""
    table, record = outcome.curve.left_out, outcome.curve.race
    assert table is not None
    assert isinstance(record, RaceRecord)
    if table.losses is None or table.fold is None:
        return None, 0
    rival, splits, n_fits = table.losses[outcome.best_model], race.splits(problem), 0
    number = splits.fold_of_rows(problem.n_samples)
    if number is None or not np.array_equal(number, table.fold):
        return None, 0
    fits = FoldFits(problem, splits.folds, FoldJudge(problem, splits), False, 0)
    own = np.full(problem.n_samples, np.nan)
    for k, fold in enumerate(splits.folds):
        cost, _, losses = fits(k)
        if not losses.size:
            return None, 0
        own[fold.test], n_fits = losses[0], n_fits + int(cost)
        seen = np.flatnonzero(~np.isnan(own) & ~np.isnan(rival))
        if k and len(seen):
            weight = None if table.weight is None else table.weight[seen]
            stand = standings(np.stack([rival[seen], own[seen]]), weight)
            if stand.probability[1 - stand.leader] < 1 - race.confidence:
                break
    return own, n_fits
