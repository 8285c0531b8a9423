"""Complexities with real multipliers: how well hypotheses follow noise that is Gaussian, uniform, or your own.

max_h (1/n) Σ r_i h(x_i) with real r_i is the fit to the labels sign(r_i) with weights |r_i|.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.checks import one_of, whole_number
from outsample.data.learners import fit, last_step, respond, seeded, takes_weight, with_params
from outsample.data.tables import Table
from outsample.hypotheses import HypothesisSet, minimises_training_error
from outsample.problem import Problem
from outsample.questions.complexity import (
    Complexity,
    Options,
    check_two_classes,
    complexity_record,
    posed_problem,
    two_class_codes,
)
from outsample.running.arrays import Floats
from outsample.running.run import LABEL_DRAWS, LEARNER_DRAWS, child_generator, child_integer, seed_sequence
from outsample.running.workers import results_of

Multiplier = Callable[[np.random.Generator, int], ArrayLike]
"""A function of a generator and a number n that returns n independent multipliers, distributed symmetrically."""

MULTIPLIERS: dict[str, Multiplier] = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "rademacher": lambda rng, n: rng.choice([-1.0, 1.0], n),
    "uniform": lambda rng, n: rng.uniform(-math.sqrt(3), math.sqrt(3), n),
    "laplace": lambda rng, n: rng.laplace(0.0, math.sqrt(0.5), n),
}
"""Multipliers by name, all of variance one."""


def gaussian_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """G = E_g max_h (1/n) Σ g_i h(x_i) with independent standard normal g_i; y only names the classes.

    The Rademacher complexity R is at most √(π/2) G (Bartlett & Mendelson 2002). The learner must take weights; a draw
    is the fit to labels by the sign of g_i, weighted by its size.

    Parameters
    ----------
    estimator : a classifier or pipeline, a path of them, or a `HypothesisSet`, for which X may be None.
    X, y : the data, with two classes.
    **options : `param`, `values`, `n_draws`, `random_state`, `n_jobs`, `fast`, `absolute`, as for
        `permutation_complexity`.

    Returns
    -------
    Complexity
        Its `value` is the complexity, `monte_carlo_error` its error over draws.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    >>> 0 < gaussian_complexity(stump, X, y, n_draws=10, random_state=0).value < 1
    True
    """
    return multiplier_complexity(estimator, X, y, multiplier="gaussian", **options)


def multiplier_complexity(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    multiplier: str | Multiplier = "gaussian",
    **options: Unpack[Options],
) -> Complexity:
    """E_r max_h (1/n) Σ r_i h(x_i) with independent symmetric multipliers r_i (Fromont 2007).

    Parameters
    ----------
    estimator : a classifier or pipeline, a path of them, or a `HypothesisSet`, for which X may be None.
    X, y : the data, with two classes.
    multiplier : "gaussian", "rademacher", "uniform" or "laplace", all of variance one, or a function of (generator, n)
        that returns n multipliers.
    **options : `param`, `values`, `n_draws`, `random_state`, `n_jobs`, `fast`, `absolute`, as for
        `permutation_complexity`; `fast` has no effect, because fits with new weights share no work.

    Returns
    -------
    Complexity
        In units of the multipliers: it may exceed 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    >>> 0 < multiplier_complexity(stump, X, y, multiplier="uniform", n_draws=10, random_state=0).value < 1
    True
    """
    if callable(multiplier):
        name, draw = getattr(multiplier, "__name__", "own"), multiplier
    else:
        name, draw = multiplier, MULTIPLIERS[one_of("multiplier", multiplier, MULTIPLIERS, instead=" or a function")]
    return _complexity(f"{'Gaussian' if name == 'gaussian' else name} complexity", draw, estimator, X, y, **options)


def _complexity(
    kind: str,
    draw: Multiplier,
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    param: str | None = None,
    values: Sequence[Any] | None = None,
    n_draws: int = 100,
    random_state: Any = None,
    n_jobs: int | None = None,
    fast: bool = True,
    absolute: bool = False,
) -> Complexity:
    start, count, seed = time.perf_counter(), whole_number("n_draws", n_draws), seed_sequence(random_state)
    if isinstance(estimator, HypothesisSet):
        n = len(two_class_codes(kind, y, estimator.n_samples))
        R = _multipliers(draw, count, n, seed)
        signs = (1.0, -1.0) if absolute else (1.0,)
        found = np.max([estimator.maxima(sign * R) for sign in signs], axis=0)[:, None]
        params: tuple[dict[str, Any], ...] = ({},)
        minimised, n_fits, single = True, 0, True
    else:
        problem = posed_problem(kind, estimator, X, y, param, values, seed, n_jobs, fast=False)
        check_two_classes(kind, problem.target.n_classes)
        n, params, single = problem.n_samples, tuple(problem.path.params), len(problem.path) == 1
        R = _multipliers(draw, count, n, seed)
        fits = _WeightedFits(problem, R, absolute)
        found = np.stack(list(results_of(fits, [(i,) for i in range(count)], n_jobs)))
        minimised = minimises_training_error(problem.path.estimator)
        n_fits = (1 + absolute) * count * len(params)
    return replace(
        complexity_record(
            f"{kind} of absolute values" if absolute else kind,
            found,
            None,
            single=single,
            exhaustive=False,
            products=np.zeros_like(found),
            minimised=minimised,
            most=np.abs(R).mean(axis=1, keepdims=True),
            flipped=np.full(count, np.nan),
            n_samples=n,
            n_fits=n_fits,
            params=params,
        ),
        seconds=time.perf_counter() - start,
    )


def _multipliers(draw: Multiplier, count: int, n: int, seed: np.random.SeedSequence) -> Floats:
    """The multipliers of every draw, (draws, n)."""
    drawn = [np.asarray(draw(child_generator(seed, LABEL_DRAWS, i), n), dtype=np.float64) for i in range(count)]
    if any(r.shape != (n,) or not np.isfinite(r).all() for r in drawn):
        raise ValueError(f"multiplier must return {n} finite numbers, got shapes {sorted({r.shape for r in drawn})}")
    return np.stack(drawn)


class _WeightedFits:
    """Fits every model to the signs of one draw of multipliers, weighted by their size; picklable."""

    def __init__(self, problem: Problem, multipliers: Floats, absolute: bool) -> None:
        path, classes = problem.path, problem.target.classes
        assert classes is not None
        self.estimator, self.params, self.X, self.classes = path.estimator, path.params, problem.X, classes
        self.multipliers, self.absolute, self.seed = multipliers, absolute, problem.seed
        size = np.abs(multipliers)
        self.weighted = bool((size != size[0, 0]).any())
        if self.weighted and not takes_weight(path.estimator):
            raise ValueError(
                f"multiplier: {type(last_step(path.estimator)).__name__} takes no weights in fit, which multipliers of "
                "different size need; use rademacher_complexity"
            )

    def __call__(self, i: int) -> Floats:
        """The largest correlation that each model finds with draw i, (models,)."""
        signs = (1.0, -1.0) if self.absolute else (1.0,)
        return np.asarray(np.max([self._correlations(sign * self.multipliers[i], i) for sign in signs], axis=0))

    def _correlations(self, multipliers: Floats, i: int) -> Floats:
        codes, size = (multipliers > 0).astype(np.intp), np.abs(multipliers)
        if (codes == codes[0]).all():
            # Many classifiers refuse labels of one class, which a constant fits.
            return np.full(len(self.params), size.mean())
        found = []
        for params in self.params:
            model = seeded(with_params(self.estimator, params), child_integer(self.seed, LEARNER_DRAWS, i))
            fit(model, self.X, self.classes[codes], size if self.weighted else None)
            predicted = respond(model, self.X, "predict", self.classes)
            found.append(np.mean(multipliers * (2 * predicted - 1)))
        return np.array(found)
