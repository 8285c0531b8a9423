"""Grids with an endless parameter, such as `itertools.count(1)`: models are tried until the rule stops.

`endless_parameter` finds the parameter, `scan` estimates its models in blocks until the first significant local
minimum, and `restartable` gives values that can be read from the first one again.
"""

from __future__ import annotations

import ast
import copy
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.criteria.base import Criterion
from outsample.curve.risk_curve import RiskCurve, Rule
from outsample.data.learners import FitError, with_params
from outsample.problem import Question
from outsample.questions.candidates import ParamGrid, branches
from outsample.questions.contest import Outcome
from outsample.rules import FirstLocalMinimum, significant_minimum


@dataclass(frozen=True)
class CountFrom:
    """The values of `itertools.count(start, step)`, from the first one on whenever they are asked for."""

    start: Any = 0
    step: Any = 1

    def __iter__(self) -> Iterator[Any]:
        return itertools.count(self.start, self.step)


@dataclass(frozen=True, eq=False)
class Endless:
    """A grid along one parameter without a last value; the other parameters are fixed.

    Attributes
    ----------
    values : the values, from the first one on.
    spent : the user's own iterator if reading `values` advances it, else None.
    """

    parameter: str
    values: Iterator[Any]
    fixed: dict[str, Any]
    spent: object = None


def endless_parameter(grids: Sequence[Mapping[str, Any]], rule: object) -> Endless:
    """The endless parameter of a grid that has one; ValueError where it has two, or others have several values."""
    endless = [(grid, name) for grid in grids for name, values in grid.items() if is_endless(values)]
    grid, name = endless[0]
    if not isinstance(grid[name], Iterable):
        raise ValueError(f"param_grid: {name} needs a list of values, got {grid[name]!r}")
    if rule != "first-local-minimum" and not isinstance(rule, FirstLocalMinimum):
        raise ValueError(
            f'param_grid: {name} has no last value; only rule "first-local-minimum" can stop on it, got rule {rule!r}'
        )
    several = [other for other, values in grid.items() if other != name and not is_endless(values) and len(values) != 1]
    if len(endless) > 1 or len(grids) > 1 or several:
        raise ValueError(f"param_grid: {name} has no last value; every other parameter must have exactly one value")
    again = restartable(grid[name])
    fixed = {k: v[0] for k, v in grid.items() if k != name}
    return Endless(name, iter(again), fixed, grid[name] if again is grid[name] and iter(again) is again else None)


def is_endless(values: object) -> bool:
    """Whether the values of a parameter have no length."""
    return not hasattr(values, "__len__")


def restartable(values: Any) -> Any:
    """A copy that yields the same values from the same place on; the object itself where it cannot be copied.

    Iterators of itertools cannot be copied since Python 3.14, but a counter can be read from its printed form.
    """
    if isinstance(values, itertools.count):
        counted = _count_from(values)
        if counted is not None:
            return counted
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return copy.deepcopy(values)
    except TypeError:
        return values


def _count_from(counter: itertools.count[Any]) -> CountFrom | None:
    """The counter from its `repr`, which alone shows its state; None for numbers that are no Python literals."""
    try:
        return CountFrom(*ast.literal_eval(repr(counter).removeprefix("count").removesuffix(")") + ",)"))
    except (ValueError, SyntaxError):
        return None


def restartable_grid(param_grid: ParamGrid) -> ParamGrid:
    """A grid whose endless values are copies that can be pickled, where that is possible; other values unchanged."""
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    copies = [
        {name: restartable(values) if is_endless(values) else values for name, values in grid.items()} for grid in grids
    ]
    return copies[0] if isinstance(param_grid, Mapping) else copies


def has_endless_values(param_grid: ParamGrid) -> bool:
    """Whether a grid, or one of several, has a parameter without a last value."""
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    return isinstance(grids, Sequence) and any(
        is_endless(values) for grid in grids if isinstance(grid, Mapping) for values in grid.values()
    )


# Models in the first block, and models after which a search that finds no minimum ends.
FIRST_BLOCK = 8
MOST_MODELS = 1000

_NEVER_ROSE = "The risk never rose significantly over the first {} models; the least of these was taken."


def scan(question: Question, estimator: BaseEstimator, endless: Endless, criterion: Criterion, rule: Rule) -> Outcome:
    """The outcome of a walk over the values as they are written, until the rule stops or the estimator rejects one.

    Models are estimated in blocks, each twice as long as the one before. A block with a value that is rejected, such as
    more neighbours than rows, is halved until that value stands alone, which ends the walk.
    """
    assert isinstance(rule, FirstLocalMinimum)
    prototype = with_params(estimator, endless.fixed)
    curves: list[RiskCurve] = []
    values, size, growing, found, note = endless.values, FIRST_BLOCK, True, False, ""
    while not found and not note:
        block = list(itertools.islice(values, size))
        if not block:
            break
        try:
            curves.append(_of_block(question, prototype, endless.parameter, block, criterion))
        except (FitError, ValueError) as error:
            if len(block) > 1:
                values, size, growing = itertools.chain(block, values), len(block) // 2, False
                continue
            if not curves:
                raise
            note = f"The walk ended at {endless.parameter}={block[0]!r}, which was rejected: {error}"
            break
        size *= 2 if growing else 1
        found = significant_minimum(RiskCurve.joined(curves), rule.patience) is not None
        if not found and sum(map(len, curves)) >= MOST_MODELS:
            note = _NEVER_ROSE.format(sum(map(len, curves)))
    if not curves:
        raise ValueError(f"param_grid: {endless.parameter} has no value the estimator accepts")
    whole = RiskCurve.joined(curves)
    settings = tuple({**endless.fixed, **params} for params in whole.params)
    notes = (*whole.notes, note) if note else whole.notes
    written = np.arange(len(whole), dtype=np.float64)
    order = np.argsort(whole.complexity, kind="stable")
    curve = replace(whole, params=settings, ordered=True, notes=notes, written=written).take(order)
    return Outcome(curve, order, rule(curve))


def _of_block(
    question: Question, prototype: BaseEstimator, parameter: str, values: list[Any], criterion: Criterion
) -> RiskCurve:
    """The curve of a block, in the order of its values."""
    candidates = [{parameter: value} for value in values]
    branch = branches(prototype, candidates, response=question.response, weighted=question.weight is not None)[0]
    curve = replace(criterion.curve(question.over(branch.path)), params=branch.settings)
    return curve.take(np.argsort(branch.positions, kind="stable"))
