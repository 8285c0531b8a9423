"""The estimator's own setting beside the candidates of a search, so that the verdict can say whether tuning helped.

It is no candidate: it is never chosen and has no row in `cv_results_`. It is tried on the rows and folds that the
candidates were judged by, where these came off one path and together they take no more fits than five folds of the
candidates; where it is not, the verdict says why.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.criteria.base import Criterion
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import FitError, with_params
from outsample.problem import Question
from outsample.questions.contest import NOT_FITTED, Outcome, problems_of
from outsample.running.fits import counted_fits
from outsample.running.progress import silent

# Names of the criteria that `Auto` takes for one path of trees, where the tree of the own setting may be much larger.
OF_ONE_PATH = ("rows-and-labels", "kfold")
# Parameters that say how much work an ensemble is, and how many times the work of the candidates is too much.
SIZES, TOO_LARGE = ("n_estimators", "max_iter", "iterations", "num_trees", "num_boost_round"), 2

# Parameters that limit a tree, and rows from which on a tree without limits takes many times the work of the search.
LIMITS, MANY_ROWS = ("max_leaf_nodes", "max_depth"), 10_000

LARGE = "it is so much larger than the candidates that it would cost as much as the whole search"
UNLIMITED = f"on more than {MANY_ROWS} rows a tree without limits would cost many times as much as the whole search"
BESIDE_FEW = "with it the search would take more fits than five folds of the grid do, so add it there to compare"
NO_LOSSES = "no losses of single rows were kept, by which it could be compared"
NOT_ALIKE = "it takes other evidence than the candidates, with which it cannot be compared"


def with_reference(
    outcome: Outcome, question: Question, estimator: BaseEstimator, own: dict[str, Any], criterion: Criterion
) -> Outcome:
    """The outcome with what the estimator's own setting lost on rows left out, or with the reason why it has none.

    A setting that is a candidate is left as it is; races fit their candidates alone.
    """
    if outcome.default is not None or outcome.curve.race is not None:
        return outcome
    question = replace(question, run=replace(question.run, progress=silent))
    reason = _objection(outcome.curve, own)
    if reason:
        return replace(outcome, untried=reason)
    start, curve = time.perf_counter(), outcome.curve
    with counted_fits() as spent, warnings.catch_warnings():
        # Nobody asked for this setting.
        warnings.simplefilter("ignore")
        try:
            problem = problems_of(question, with_params(estimator, own), [{}])[0][0]
            taken = criterion.for_one_more(problem, curve)
            if taken is None:
                return replace(outcome, untried=BESIDE_FEW)
            table = taken.left_out_alone(problem)
            untried = "" if table is not None else NOT_ALIKE
        except (FitError, ValueError, TypeError):
            table, untried = None, NOT_FITTED
    seconds = curve.seconds + time.perf_counter() - start
    curve = replace(curve, n_fits=curve.n_fits + spent.n_fits, seconds=seconds)
    return replace(outcome, curve=curve, untried=untried, reference=table)


def _objection(curve: RiskCurve, own: dict[str, Any]) -> str:
    """Why the own setting would cost too much; empty where it does not."""
    table = curve.left_out
    if table is None or (table.losses is None and table.fold_risks is None):
        return NO_LOSSES
    if any(_is_too_large(name, own[name], curve.params) for name in own if name.rpartition("__")[2] in SIZES):
        return LARGE
    unlimited = any(own[name] is None for name in own if name.rpartition("__")[2] in LIMITS)
    if unlimited and curve.criterion in OF_ONE_PATH and curve.n_samples > MANY_ROWS:
        return UNLIMITED
    return ""


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
