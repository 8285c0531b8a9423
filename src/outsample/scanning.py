"""Open-ended families: walk up in complexity until the first significant minimum, however far that is."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from outsample.criteria.base import Criterion
from outsample.curve import RiskCurve
from outsample.endless import Endless
from outsample.families import branches, joined, reordered
from outsample.learners import FitError, with_params
from outsample.problem import Problem
from outsample.rules import Rule, first_local_minimum, significant_minimum
from outsample.searching import Outcome

FIRST_BLOCK = 8
MOST_MODELS = 1000

_NEVER_ROSE = "The risk never rose significantly over the first {} models; the least of these was taken."


def scan(problem: Problem, estimator: Any, endless: Endless, criterion: Criterion, rule: Rule) -> Outcome:
    """Estimate models in blocks, each twice as long as the one before, until the rule stops."""
    prototype = with_params(estimator, endless.fixed)
    curves: list[RiskCurve] = []
    size, whole, found, ended_by_data = FIRST_BLOCK, None, None, False
    while found is None and not ended_by_data and (whole is None or len(whole) < MOST_MODELS):
        values = list(itertools.islice(endless.values, size))
        block, rejected = _block(problem, prototype, endless.parameter, values, criterion, len(curves))
        ended_by_data = rejected or len(values) < size
        if block is not None:
            curves.append(block)
        if not curves:
            raise ValueError(f"param_grid: {endless.parameter} has no value the estimator accepts")
        whole = replace(joined(curves, [tuple(c.params) for c in curves]), ordered=True)
        found = significant_minimum(whole)
        size *= 2
    assert whole is not None
    if found is None and not ended_by_data:
        whole = replace(whole, notes=(*whole.notes, _NEVER_ROSE.format(len(whole))))
    walked = first_local_minimum(whole) if found is None else found
    order = np.argsort(whole.complexity, kind="stable")
    settings = tuple({**endless.fixed, **params} for params in whole.params)
    return Outcome(reordered(replace(whole, params=settings), order), order, int(np.flatnonzero(order == walked)[0]))


def _block(
    problem: Problem, prototype: Any, parameter: str, values: list[Any], criterion: Criterion, number: int
) -> tuple[RiskCurve | None, bool]:
    """(curve of a block in the order of its values, whether the family ended inside it).

    A family ends where the estimator rejects a value: more neighbours than rows, say.
    """
    ended = False
    while values:
        candidates = [{parameter: value} for value in values]
        part = branches(prototype, candidates, response=problem.response, weighted=problem.weight is not None)[0]
        try:
            curve = criterion.curve(problem.on(part.path))
        except (FitError, ValueError):
            if number == 0 and len(values) == 1:
                raise
            values, ended = values[: len(values) // 2], True
            continue
        curve = replace(curve, params=part.settings)
        return reordered(curve, np.argsort(part.positions, kind="stable")), ended
    return None, True
