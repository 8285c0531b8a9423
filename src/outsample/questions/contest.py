"""From candidates to the chosen one: a curve over all of them, their order, and the choice of a rule.

Searches and comparisons of criteria both go this way.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning

from outsample.checks import is_integer
from outsample.criteria.base import Criterion
from outsample.curve.left_out import LeftOut
from outsample.curve.race_record import RaceRecord
from outsample.curve.risk_curve import RiskCurve, Rule
from outsample.data.learners import FitError, with_params
from outsample.losses.base import RELATIVE_ROUNDING, Loss
from outsample.losses.choice import choose_loss
from outsample.paths.base import Path
from outsample.paths.dispatch import find_path
from outsample.paths.order import simplest_first
from outsample.paths.refit import RefitPath
from outsample.problem import Problem, Question
from outsample.questions.candidates import Branch, Positions, branches
from outsample.rules import FirstLocalMinimum, minimum
from outsample.running.arrays import Floats
from outsample.running.fits import counted_fits
from outsample.running.threads import one_blas_thread

MEASURED_ORDER = (
    "These models have no natural order of complexity; they are ordered by their optimism on permuted labels."
)
# Candidates that are the same tree, beyond which they are refused.
MOST_ALIKE = 1000
# Why the estimator's own setting was not tried beside the candidates, where it was rejected.
NOT_FITTED = "it cannot be fitted to these data"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a search found.

    Attributes
    ----------
    curve : over all candidates, simplest first.
    positions : (models,) where each model of the curve stands in the user's order.
    best_model : the chosen model's place in the curve.
    error_score : the score of settings that could not be fitted.
    default : position of the estimator's own setting in the user's order; None where it did not take part.
    reference : what the estimator's own setting lost on rows left out, where it was tried beside the candidates.
    untried : why it was not tried, as the end of a sentence; empty where nobody asked for it.
    guessing : the least risk within reach of those who do not look at X; nan where it is not known.
    constant : what the best constant prediction lost on the rows that the candidates were judged by; None where there
        is none, or no rows were left out.
    """

    curve: RiskCurve
    positions: Positions
    best_model: int
    error_score: float | str = np.nan
    default: int | None = None
    reference: LeftOut | None = None
    untried: str = ""
    guessing: float = np.nan
    constant: LeftOut | None = None

    @property
    def best_position(self) -> int:
        """The chosen model's place in the user's order."""
        return int(self.positions[self.best_model])

    def model_at(self, position: int) -> int:
        """The place in the curve of the model that stands at a position in the user's order."""
        return int(np.flatnonzero(self.positions == position)[0])


def outcome_of(
    question: Question,
    estimator: BaseEstimator,
    settings: list[dict[str, Any]],
    criterion: Criterion,
    rule: Rule,
    fast: bool,
    error_score: float | str,
    default: int | None = None,
) -> Outcome:
    """Estimate every setting, and choose by the rule; the estimator's own setting is at position `default`."""
    with counted_fits() as spent:
        posed = problems_of(question, estimator, settings, fast)
        curve, positions, criterion = judged(posed, criterion, error_score, default)
        if not curve.ordered:
            curve, order = _ordered_by_optimism(question, estimator, curve, criterion, rule)
            positions = positions[order]
    curve = replace(curve, n_fits=spent.n_fits)
    return Outcome(curve, positions, choice(curve, positions, criterion, rule), error_score)


def judged(
    posed: list[tuple[Problem, Branch]], criterion: Criterion, error_score: float | str, default: int | None = None
) -> tuple[RiskCurve, Positions, Criterion]:
    """(curve over all settings, where each stands in the user's order, the criterion that was settled on)."""
    start = time.perf_counter()
    criterion, remarks = criterion.settled([problem for problem, _ in posed])
    seconds = time.perf_counter() - start
    # Every path asks for it; asking once for all is faster.
    with one_blas_thread:
        if criterion.joint:
            curve, positions = _raced(posed, criterion, error_score, default)
        else:
            curve, positions = _curve_over_all(posed, criterion, error_score)
    more: dict[str, Any] = {"seconds": seconds + curve.seconds, "written": positions.astype(np.float64)}
    return replace(curve, notes=(*remarks, *curve.notes), **more), positions, criterion


def choice(curve: RiskCurve, positions: Positions, criterion: Criterion, rule: Rule) -> int:
    """The place of the model that a rule chooses.

    Where the criterion stands for scikit-learn's own searches, ties for the minimum go to the first setting of the
    grid, as they do there.
    """
    curve = replace(curve, written=positions.astype(np.float64))
    if curve.race is not None:
        return _choice_of_remaining(curve, curve.race, rule)
    if rule is minimum and criterion.stands_for_scikit_learn:
        scores = np.nan_to_num(curve.scores, nan=-np.inf)
        tied = np.flatnonzero(scores == scores.max())
        return int(tied[np.argmin(positions[tied])])
    return checked_choice(rule(curve), curve)


def _choice_of_remaining(curve: RiskCurve, race: RaceRecord, rule: Rule) -> int:
    """The choice among the candidates of a race that remained, by what they lost on the rows that all have met."""
    if rule is minimum:
        return race.leader
    left = race.remaining
    remaining = replace(replace(curve, race=None).take(left), out_sample=race.standing[left])
    return int(left[checked_choice(rule(remaining), remaining)])


def checked_choice(index: int, curve: RiskCurve) -> int:
    """What a rule returned, if it is the place of a model."""
    if not is_integer(index, 0) or index >= len(curve):
        raise ValueError(
            f"rule must return the place of a model, a whole number from 0 to {len(curve) - 1}, it returned {index!r}"
        )
    return int(index)


def problems_of(
    question: Question, estimator: BaseEstimator, settings: Sequence[dict[str, Any]], fast: bool = True
) -> list[tuple[Problem, Branch]]:
    """The paths that together cover some settings, each with the problem it is to answer.

    Learners of one grid may offer different responses, of which a scorer reads the first it likes.
    """
    _check_leaves(question.n_samples, settings)
    posed = []
    for asked, group in _by_response(question, estimator, settings):
        weighted, some = question.weight is not None, [settings[i] for i in group]
        for branch in branches(estimator, some, response=asked.response, weighted=weighted, fast=fast):
            posed.append((asked.over(branch.path), replace(branch, positions=group[branch.positions])))
    return posed


def _check_leaves(n_samples: int, settings: Sequence[dict[str, Any]]) -> None:
    """Raise ValueError for many trees of more leaves than there are rows: they are one tree, and need much memory."""
    beyond = [
        name
        for setting in settings
        for name, value in setting.items()
        if name.rpartition("__")[2] == "max_leaf_nodes" and is_integer(value, n_samples + 1)
    ]
    if len(beyond) > MOST_ALIKE:
        raise ValueError(
            f"{len(beyond)} candidates have {beyond[0]} above {n_samples}, the number of rows, and no tree has more "
            "leaves than rows; leave them out"
        )


def _by_response(
    question: Question, estimator: BaseEstimator, settings: Sequence[dict[str, Any]]
) -> list[tuple[Question, Positions]]:
    """(question, positions of the settings whose learners are judged by its response)."""
    responses: dict[Any, tuple[Loss, str]] = {}
    groups: dict[str, tuple[Question, list[int]]] = {}
    for i, setting in enumerate(settings):
        nested = tuple((name, id(value)) for name, value in setting.items() if hasattr(value, "get_params"))
        if nested not in responses:
            responses[nested] = _read(question, estimator, setting) if nested else (question.loss, question.response)
        loss, response = responses[nested]
        if response not in groups:
            groups[response] = (replace(question, loss=loss, response=response), [])
        groups[response][1].append(i)
    return [(asked, np.array(group)) for asked, group in groups.values()]


def _read(question: Question, estimator: BaseEstimator, setting: dict[str, Any]) -> tuple[Loss, str]:
    """(loss, response it reads) of a setting; the question's own where it fits no response, and fitting will fail."""
    try:
        model = with_params(estimator, setting)
        return choose_loss(question.loss, question.target, model, question.weight is not None)
    except ValueError:
        return question.loss, question.response


def _curve_over_all(
    posed: list[tuple[Problem, Branch]], criterion: Criterion, error_score: float | str
) -> tuple[RiskCurve, Positions]:
    """(curve over all settings, where each stands in the user's order); settings that failed come last, unknown."""
    curves: list[tuple[Branch, RiskCurve]] = []
    failures: list[tuple[Branch, FitError]] = []
    for problem, whole in posed:
        for branch, found in _curves_of(problem, whole, criterion, error_score):
            if isinstance(found, RiskCurve):
                curves.append((branch, found))
            else:
                failures.append((branch, found))
    _report_failures(failures, all_of_them=not curves)
    ordered = len(posed) == 1 and posed[0][1].path.ordered
    curve = RiskCurve.joined([replace(curve, params=branch.settings) for branch, curve in curves])
    positions = np.concatenate([branch.positions for branch, _ in curves])
    if ordered:
        order = simplest_first(curve.complexity)
        curve, positions = curve.take(order), positions[order]
    for branch, _ in failures:
        curve = RiskCurve.joined([curve, curve.unknown(branch.settings, branch.path.complexity)])
        positions = np.concatenate([positions, branch.positions])
    return replace(curve, ordered=ordered), positions


def _raced(
    posed: list[tuple[Problem, Branch]], criterion: Criterion, error_score: float | str, default: int | None
) -> tuple[RiskCurve, Positions]:
    """The same by a criterion that judges all paths together; settings that failed stay in their places, unknown."""
    positions = np.concatenate([branch.positions for _, branch in posed])
    first = None if default is None else int(np.flatnonzero(positions == default)[0])
    try:
        curve, failures = criterion.together([problem for problem, _ in posed], first)
    except FitError as error:
        if error_score == "raise":
            raise
        raise _rejection(error, "all settings; the first") from error
    settings = [setting for _, branch in posed for setting in branch.settings]
    if failures and error_score == "raise":
        raise next(iter(failures.values()))
    _warn_of_failures([(settings[place], reason) for place, reason in failures.items()])
    race = None if curve.race is None else replace(curve.race, params=settings)
    ordered = len(posed) == 1 and posed[0][1].path.ordered
    return replace(curve, params=tuple(settings), race=race, ordered=ordered), positions


def _report_failures(failures: list[tuple[Branch, FitError]], all_of_them: bool) -> None:
    """Raise where every setting failed, warn where some did."""
    if not failures:
        return
    reason = failures[0][1]
    if all_of_them:
        raise _rejection(reason, "all settings; the first" if len(failures) > 1 else "the only setting,")
    _warn_of_failures([(branch.settings[0], reason) for branch, reason in failures])


def _rejection(reason: FitError, which: str) -> Exception:
    """What to raise where no setting could be fitted."""
    root = _root(reason)
    kind = TypeError if isinstance(root, TypeError) and not isinstance(root, ValueError) else ValueError
    return kind(f"param_grid: the estimator rejected {which} because {reason}")


def _warn_of_failures(failures: Sequence[tuple[dict[str, Any], FitError]]) -> None:
    if failures:
        (setting, reason), *more = failures
        others = f", and {len(more)} more" if more else ""
        warnings.warn(f"{setting} was rejected{others}: {reason}", FitFailedWarning, stacklevel=2)


def _curves_of(
    problem: Problem, branch: Branch, criterion: Criterion, error_score: float | str
) -> list[tuple[Branch, RiskCurve | FitError]]:
    """The curve of a branch; where it fails and failures have a score, the curve or the error of each model."""
    if error_score == "raise":
        return [(branch, criterion.curve(problem))]
    alone = len(branch.settings) == 1 and branch.path.refits
    reason = _why_unbound(problem)
    if alone and reason is not None:
        return [(branch, reason)]
    try:
        if reason is None:
            return [(branch, criterion.curve(problem))]
    except FitError as error:
        if alone:
            return [(branch, error)]
    except ValueError:
        if alone:
            raise
    return [
        found
        for piece in _pieces(problem, branch)
        for found in _curves_of(problem.over(piece.path), piece, criterion, error_score)
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


def _pieces(problem: Problem, branch: Branch) -> list[Branch]:
    """A branch cut into pieces, so that one bad setting does not spoil the others.

    Halves as long as a fast path serves them: most of its models stay together. Refitted models are taken apart at
    once.
    """
    n = len(branch.settings)
    alone = n == 1 or branch.path.refits
    cuts = range(n + 1) if alone else (0, n // 2, n)
    return [_piece(problem, branch, slice(*ends), alone) for ends in pairwise(cuts)]


def _piece(problem: Problem, branch: Branch, models: slice, refitted: bool) -> Branch:
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
    question: Question, estimator: BaseEstimator, curve: RiskCurve, criterion: Criterion, rule: Rule
) -> tuple[RiskCurve, Positions]:
    """Models without a natural order, simplest first by their optimism on permuted labels.

    Label criteria have measured it already. Others are spared the fits when the rule does not look at the order.
    """
    if criterion.draws_labels:
        optimism = curve.optimism
    elif rule is minimum or isinstance(rule, FirstLocalMinimum):
        return curve, np.arange(len(curve))
    else:
        if question.response == "score":
            loss, response = choose_loss(None, question.target, estimator)
            question = replace(question, loss=loss, response=response)
        posed = problems_of(question, estimator, curve.params)
        optimism = permutation_optimism(posed)
    order = least_first(optimism, curve.scale)
    ordered = replace(curve, complexity=optimism).take(order)
    return replace(ordered, notes=(*ordered.notes, MEASURED_ORDER)), order


def permutation_optimism(posed: Sequence[tuple[Problem, Branch]]) -> Floats:
    """Optimism of every setting on permuted labels, in the user's order, (settings,)."""
    optimism = np.empty(sum(len(branch.positions) for _, branch in posed))
    for problem, branch in posed:
        from outsample.criteria.labels import Permutation

        optimism[branch.positions] = Permutation().curve(problem).optimism
    return optimism


def least_first(optimism: Floats, scale: float) -> Positions:
    """Positions from the least optimism to the largest; those that differ by rounding alone keep their order.

    `scale` is the risk that rounding is small against.
    """
    known = np.where(np.isnan(optimism), np.inf, optimism)
    order = np.argsort(known, kind="stable")
    with np.errstate(invalid="ignore"):
        larger = np.diff(known[order]) > RELATIVE_ROUNDING * scale
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.concatenate([[0], np.cumsum(larger)])
    return np.argsort(rank, kind="stable")
