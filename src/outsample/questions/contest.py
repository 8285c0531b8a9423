"""From settings to a curve over all of them, and the model a rule chooses."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning

from outsample.criteria.base import Criterion
from outsample.criteria.labels import LabelCriterion, Permutation
from outsample.curve import RiskCurve
from outsample.data.learners import FitError, with_params
from outsample.losses.base import Loss
from outsample.losses.choice import choose_loss
from outsample.paths.base import Path
from outsample.paths.dispatch import find_path
from outsample.paths.order import is_whole, simplest_first
from outsample.paths.refit import RefitPath
from outsample.problem import Problem
from outsample.questions.candidates import Branch, Positions, branches, joined, least_first, reordered, unknown
from outsample.rules import Rule, minimum
from outsample.running.arrays import Floats
from outsample.running.threads import one_blas_thread

MEASURED_ORDER = (
    "These models have no natural order of complexity; they are ordered by their optimism on permuted labels."
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a search found.

    Attributes
    ----------
    curve : over all candidates, simplest first.
    positions : (models,) where each model of the curve stands in the user's order.
    best_model : the chosen model's place in the curve.
    error_score : the score of settings that could not be fitted.
    """

    curve: RiskCurve
    positions: Positions
    best_model: int
    error_score: Any = np.nan

    @property
    def best_position(self) -> int:
        """The chosen model's place in the user's order."""
        return int(self.positions[self.best_model])


def search_settings(
    problem: Problem,
    estimator: BaseEstimator,
    settings: list[dict[str, Any]],
    criterion: Criterion,
    rule: Rule,
    fast: bool,
    error_score: Any,
) -> Outcome:
    """Estimate every setting and choose by the rule."""
    parts = posed_branches(problem, estimator, settings, fast)
    # Every part asks for it; asking once for all is faster.
    with one_blas_thread:
        curve, positions = _judged(parts, criterion, error_score)
    if not curve.ordered:
        curve, order = _ordered_by_optimism(problem, estimator, curve, criterion, rule)
        positions = positions[order]
    return Outcome(curve, positions, chosen_model(curve, positions, criterion, rule), error_score)


def chosen_model(curve: RiskCurve, positions: Positions, criterion: Criterion, rule: Rule) -> int:
    """The model a rule chooses.

    Where the criterion stands for scikit-learn's own searches, ties for the minimum go to the first setting of the
    grid, as they do there.
    """
    if rule is minimum and criterion.stands_for_scikit_learn:
        scores = np.nan_to_num(mean_scores(curve), nan=-np.inf)
        tied = np.flatnonzero(scores == scores.max())
        return int(tied[np.argmin(positions[tied])])
    return checked_choice(rule(curve), curve)


def checked_choice(index: Any, curve: RiskCurve) -> int:
    """What a rule returned, if it is the place of a model."""
    if not is_whole(index, 0) or index >= len(curve):
        raise ValueError(
            f"rule must return the place of a model, a whole number from 0 to {len(curve) - 1}, it returned {index!r}"
        )
    return int(index)


def mean_scores(curve: RiskCurve) -> Floats:
    """Greater-is-better score of each model; the mean over splits where there are splits, as scikit-learn takes it."""
    scores = fold_scores(curve)
    return np.asarray(curve.loss.score(curve.out_sample) if scores is None else np.average(scores, axis=1))


def fold_scores(curve: RiskCurve) -> Floats | None:
    """Greater-is-better score of each model on each split, (models, splits), None where there are no splits."""
    if curve.fold_risks is None:
        return None
    # The order in memory decides in which order numbers are added up, and so the last digit of their mean.
    return np.ascontiguousarray(curve.loss.score(curve.fold_risks.T, curve.fold_sizes))


def posed_branches(
    problem: Problem, estimator: BaseEstimator, settings: Sequence[dict[str, Any]], fast: bool = True
) -> list[tuple[Problem, Branch]]:
    """The paths that together cover some settings, each with the problem it is to answer.

    Learners of one grid may offer different responses, of which a scorer reads the first it likes.
    """
    parts = []
    for posed, group in _by_response(problem, estimator, settings):
        weighted, some = problem.weight is not None, [settings[i] for i in group]
        for part in branches(estimator, some, response=posed.response, weighted=weighted, fast=fast):
            parts.append((posed.on(part.path), replace(part, positions=group[part.positions])))
    return parts


def _by_response(
    problem: Problem, estimator: BaseEstimator, settings: Sequence[dict[str, Any]]
) -> list[tuple[Problem, Positions]]:
    """(problem, positions of the settings whose learners are judged by its response)."""
    responses: dict[Any, tuple[Loss, str]] = {}
    groups: dict[str, tuple[Problem, list[int]]] = {}
    for i, setting in enumerate(settings):
        nested = tuple((name, id(value)) for name, value in setting.items() if hasattr(value, "get_params"))
        if nested not in responses:
            responses[nested] = _read(problem, estimator, setting) if nested else (problem.loss, problem.response)
        loss, response = responses[nested]
        groups.setdefault(response, (replace(problem, loss=loss, response=response), []))[1].append(i)
    return [(posed, np.array(group)) for posed, group in groups.values()]


def _read(problem: Problem, estimator: BaseEstimator, setting: dict[str, Any]) -> tuple[Loss, str]:
    """(loss, response it reads) of a setting; the problem's own where it fits no response, and fitting will fail."""
    try:
        return choose_loss(problem.loss, problem.target, with_params(estimator, setting), problem.weight is not None)
    except ValueError:
        return problem.loss, problem.response


def _judged(parts: list[tuple[Problem, Branch]], criterion: Criterion, error_score: Any) -> tuple[RiskCurve, Positions]:
    curves: list[RiskCurve] = []
    kept: list[Branch] = []
    failed: list[Branch] = []
    reasons: list[FitError] = []
    for problem, part in parts:
        for branch, curve in _curves_of(problem, part, criterion, error_score):
            if isinstance(curve, RiskCurve):
                kept.append(branch)
                curves.append(curve)
            else:
                failed.append(branch)
                reasons.append(curve)
    if not curves:
        root = _root(reasons[0])
        kind = TypeError if isinstance(root, TypeError) and not isinstance(root, ValueError) else ValueError
        which = "all settings; the first" if len(failed) > 1 else "the only setting,"
        raise kind(f"param_grid: the estimator rejected {which} because {reasons[0]}")
    if failed:
        others = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        warnings.warn(f"{failed[0].settings[0]} was rejected{others}: {reasons[0]}", FitFailedWarning, stacklevel=2)
    whole = joined(curves, [branch.settings for branch in kept])
    positions = np.concatenate([branch.positions for branch in kept])
    ordered = len(parts) == 1 and parts[0][1].path.ordered
    if ordered:
        order = simplest_first(whole.complexity)
        whole, positions = reordered(whole, order), positions[order]
    for branch in failed:
        whole = joined([whole, unknown(whole, branch)], [tuple(whole.params), branch.settings])
        positions = np.concatenate([positions, branch.positions])
    return replace(whole, ordered=ordered), positions


def _curves_of(
    posed: Problem, branch: Branch, criterion: Criterion, error_score: Any
) -> list[tuple[Branch, RiskCurve | FitError]]:
    """The curve of a branch; where it fails and failures have a score, the curve or the error of each model."""
    if error_score == "raise":
        return [(branch, criterion.curve(posed))]
    alone = len(branch.settings) == 1 and isinstance(branch.path, RefitPath)
    reason = _why_unbound(posed)
    if alone and reason is not None:
        return [(branch, reason)]
    try:
        if reason is None:
            return [(branch, criterion.curve(posed))]
    except FitError as error:
        if alone:
            return [(branch, error)]
    except ValueError:
        if alone:
            raise
    return [
        found
        for part in _parts(posed, branch)
        for found in _curves_of(posed.on(part.path), part, criterion, error_score)
    ]


def _why_unbound(problem: Problem) -> FitError | None:
    """Why the path cannot read all its values, if it cannot; the estimator itself will reject some."""
    try:
        problem.design  # noqa: B018 — bound here, used by the criterion
    except (ValueError, TypeError) as error:
        reason = FitError(f"{type(problem.path.estimator).__name__} failed: {error}")
        reason.__cause__ = error
        return reason
    return None


def _root(error: BaseException) -> BaseException:
    """The error a chain of errors began with."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _parts(problem: Problem, branch: Branch) -> list[Branch]:
    """A branch cut into parts, so that one bad setting does not spoil the others.

    Halves as long as a family serves them: most of its models stay together. Refitted models are taken apart at once.
    """
    n = len(branch.settings)
    alone = n == 1 or isinstance(branch.path, RefitPath)
    cuts = range(n + 1) if alone else (0, n // 2, n)
    return [_part(problem, branch, slice(*ends), alone) for ends in pairwise(cuts)]


def _part(problem: Problem, branch: Branch, models: slice, refitted: bool) -> Branch:
    whole, weighted = branch.path, problem.weight is not None
    if refitted:
        path: Path = RefitPath.over(whole.estimator, whole.params[models])
    else:
        (parameter,) = whole.params[0]
        values = [params[parameter] for params in whole.params[models]]
        path = find_path(whole.estimator, parameter, values, response=problem.response, weighted=weighted)
    path.complexity, path.ordered = whole.complexity[models], whole.ordered
    return Branch(path, branch.settings[models], branch.positions[models])


def _ordered_by_optimism(
    problem: Problem, estimator: BaseEstimator, curve: RiskCurve, criterion: Criterion, rule: Rule
) -> tuple[RiskCurve, Positions]:
    """Models without a natural order, simplest first by their optimism on permuted labels.

    Label criteria have measured it already. Others are spared the fits when the rule does not look at the order.
    """
    if isinstance(criterion, LabelCriterion):
        optimism, extra_fits = curve.optimism, 0
    elif rule is minimum:
        return curve, np.arange(len(curve))
    else:
        optimism, extra_fits = _permutation_optimism(problem, estimator, curve.params)
    order = least_first(optimism, curve.scale)
    sorted_curve = reordered(replace(curve, complexity=optimism, n_fits=curve.n_fits + extra_fits), order)
    return replace(sorted_curve, notes=(*sorted_curve.notes, MEASURED_ORDER)), order


def _permutation_optimism(
    problem: Problem, estimator: BaseEstimator, settings: Sequence[dict[str, Any]]
) -> tuple[Floats, int]:
    if problem.response == "score":
        loss, response = choose_loss(None, problem.target, estimator)
        problem = replace(problem, loss=loss, response=response)
    optimism, n_fits = np.empty(len(settings)), 0
    for posed, part in posed_branches(problem, estimator, settings):
        curve = Permutation().curve(posed)
        optimism[part.positions] = curve.optimism
        n_fits += curve.n_fits
    return optimism, n_fits
