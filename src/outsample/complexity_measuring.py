"""Measuring complexities: drawn labels, the best fits to them, and the record of both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from outsample.checks import whole_number
from outsample.complexity_record import Complexity
from outsample.criteria.label_engine import measured_draws
from outsample.draws import LabelDraws, LabelScheme, RademacherSigns, WithReplacement
from outsample.hypotheses import HypothesisSet
from outsample.learners import last_step
from outsample.losses import Floats
from outsample.paths import Path
from outsample.problem import LABEL_DRAWS, Problem, pose
from outsample.running import child_seed, seed_sequence

Array = NDArray[Any]


def around_flipped_share(found: Complexity) -> Complexity:
    """1 − 2e' becomes 2(n₊/n − e')."""
    draws = found.draws + (2 * found.flipped - 1)[:, None]
    return replace(found, value=_entry(draws.mean(axis=0), found), draws=draws, monte_carlo_error=_error(draws, found))


def measured(
    kind: str,
    scheme: LabelScheme,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param: str | None = None,
    values: Sequence[Any] | None = None,
    n_draws: int = 100,
    random_state: Any = None,
    n_jobs: int | None = None,
    fast: bool = True,
) -> Complexity:
    start = time.perf_counter()
    count = whole_number("n_draws", n_draws)
    if isinstance(estimator, HypothesisSet):
        found = _of_hypotheses(kind, scheme, estimator, y, count, random_state)
    else:
        problem = _problem(kind, estimator, X, y, param, values, random_state, n_jobs, fast)
        found = complexity_on(problem, kind, scheme, count)
    return replace(found, seconds=time.perf_counter() - start)


def complexity_on(problem: Problem, kind: str, scheme: LabelScheme, n_draws: int) -> Complexity:
    """The complexity of every model of a problem's path; the problem counts zero-one loss of two classes."""
    _check_two_classes(kind, problem.target.n_classes)
    draws = LabelDraws(scheme, problem.y, n_draws, child_seed(problem.seed, LABEL_DRAWS))
    optimism, errors = measured_draws(problem, draws, 0, len(draws))
    flipped = np.array([np.mean(draws[i] != problem.y) for i in range(len(draws))])
    return _record(
        kind,
        1 - 2 * errors,
        None,
        single=len(problem.path) == 1,
        exhaustive=draws.exhaustive,
        products=1 - 2 * (optimism + errors),
        flipped=flipped,
        minimised=bool(getattr(last_step(problem.path.estimator), "minimises_training_error", False)),
        n_samples=problem.n_samples,
        n_fits=len(draws) * problem.design.fits_per_draw,
        params=tuple(problem.path.params),
    )


def _problem(
    kind: str, estimator: Any, X: Any, y: Any, param: Any, values: Any, random_state: Any, n_jobs: Any, fast: bool
) -> Problem:
    path = estimator if isinstance(estimator, Path) else None
    learner = estimator if path is None else path.estimator
    if not is_classifier(learner):
        raise ValueError(
            f"{kind} is defined for two classes, {type(learner).__name__} is no classifier; for regression use "
            'estimate(…, criterion="permutation") or generalized_degrees_of_freedom'
        )
    problem = pose(
        learner,
        X,
        y,
        parameter=param,
        values=values,
        loss="zero-one",
        random_state=random_state,
        n_jobs=n_jobs,
        fast=fast,
    )
    return problem if path is None else problem.on(path)


def _check_two_classes(kind: str, n_classes: int | None) -> None:
    if n_classes != 2:
        raise ValueError(
            f"{kind} is defined for two classes, y has {n_classes}; with more classes use "
            'estimate(…, criterion="permutation"), which takes any number, or one class against the rest'
        )


def _of_hypotheses(
    kind: str, scheme: LabelScheme, hypotheses: HypothesisSet, y: Any, n_draws: int, random_state: Any
) -> Complexity:
    codes = _codes(kind, y, hypotheses.n_samples)
    Y, weights, exhaustive = _labels(scheme, codes, n_draws, seed_sequence(random_state))
    signs = 2.0 * Y - 1
    means = hypotheses.signs[hypotheses.best(signs)].mean(axis=1)
    return _record(
        kind,
        hypotheses.maxima(signs)[:, None],
        weights,
        single=True,
        exhaustive=exhaustive,
        products=(2 * codes.mean() - 1) * means[:, None],
        flipped=(codes != Y).mean(axis=1),
        minimised=True,
        n_samples=len(codes),
        n_fits=0,
        params=({},),
    )


def _codes(kind: str, y: Any, n_samples: int) -> Array:
    """y as codes of two classes."""
    labels = np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise ValueError(f"{kind} is defined for two classes, y holds real values")
    if labels.shape != (n_samples,):
        raise ValueError(f"y must have one label per sample, shape ({n_samples},), got {labels.shape}")
    _check_two_classes(kind, len(classes))
    return codes


def _labels(
    scheme: LabelScheme, y: Array, n_draws: int, seed: np.random.SeedSequence
) -> tuple[Array, Floats | None, bool]:
    """(label vectors, their probabilities, None when equal, whether these are all labellings)."""
    if isinstance(scheme, WithReplacement) and 2.0 ** len(y) <= n_draws:
        Y = np.stack(list(RademacherSigns().arrangements(y)))
        share = y.mean()
        ones = Y.sum(axis=1)
        return Y, share**ones * (1 - share) ** (len(y) - ones), True
    draws = LabelDraws(scheme, y, n_draws, child_seed(seed, LABEL_DRAWS))
    return draws[:], None, draws.exhaustive


def _record(
    kind: str,
    draws: Floats,
    weights: Floats | None,
    *,
    single: bool,
    exhaustive: bool,
    products: Floats,
    minimised: bool,
    **more: Any,
) -> Complexity:
    at_most = minimised or bool((draws >= 1 - 1e-12).all())
    bare = Complexity(
        value=0.0,
        monte_carlo_error=None,
        kind=kind,
        lower_bound=not at_most,
        draws=draws,
        single=single,
        exhaustive=exhaustive,
        **more,
    )
    return replace(
        bare,
        value=_entry(_mean(draws, weights), bare),
        mean_product=_entry(_mean(products, weights), bare),
        monte_carlo_error=_entry(np.zeros(draws.shape[1]), bare) if exhaustive else _error(draws, bare),
    )


def _mean(values: Floats, weights: Floats | None) -> Floats:
    return np.asarray(values.mean(axis=0) if weights is None else weights @ values)


def _error(draws: Floats, record: Complexity) -> Any:
    if len(draws) < 2:
        return None
    return _entry(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)), record)


def _entry(values: Floats, record: Complexity) -> Any:
    return float(values[0]) if record.single else values
