"""Complexities of hypothesis sets: how well a learner, or a set of hypotheses, fits labels without information.

Each is the mean over drawn labels r of max_h (1/n) Σ r_i h(x_i), with labels and predictions ±1; they differ in how the
labels are drawn. For a learner the maximum is replaced by the fit to the drawn labels, 1 − 2e' with e' its training
error, which is a lower bound unless the learner minimises the training error.
"""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier

from outsample.checks import whole_number
from outsample.curve.error_estimate import numeral
from outsample.data.learners import check_learner
from outsample.data.tables import Table
from outsample.evidence.labels import measured_draws
from outsample.hypotheses import HypothesisSet, minimises_training_error
from outsample.losses.base import weighted_mean
from outsample.paths.base import Path
from outsample.problem import Problem, pose
from outsample.resampling.labels import (
    FreePermutation,
    HalfFlips,
    LabelDraws,
    LabelScheme,
    RademacherSigns,
    WithReplacement,
)
from outsample.running.arrays import Array, Floats
from outsample.running.run import LABEL_DRAWS, LEARNER_DRAWS, RandomState, child_integer, child_seed, seed_sequence
from outsample.running.workers import results_of

# Attributes of a result that `to_dict` takes as they are.
WORDS = ("kind", "lower_bound", "sentence", "n_samples", "n_fits", "seconds")


class Options(TypedDict, total=False):
    """Keyword arguments of all complexities; see `permutation_complexity`."""

    param: str | None
    values: Sequence[Any] | None
    n_draws: int
    random_state: RandomState
    n_jobs: int | None
    fast: bool
    absolute: bool


def permutation_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """P_in = E_π max_h (1/n) Σ y^π_i h(x_i), the fit to permuted labels (Magdon-Ismail & Mertsalov, §3.1).

    For a risk minimiser P_in = ½ ê_gen + ȳ E[ḡ^π] (Theorem 4), where ê_gen is the permutation estimate of the optimism
    in units of squared ±1 errors, four times the 0–1 units of `estimate`, and the last term is `mean_product`.

    Parameters
    ----------
    estimator : a classifier or pipeline, a path of them, or a `HypothesisSet`, for which X may be None.
    X, y : the data, with two classes.
    **options : `param`, `values`: a parameter of the estimator and its values, for the complexity of every model of a
        path. `n_draws`: number of label vectors drawn, 100 by default; all distinct ones where there are no more than
        that. `random_state`: the seed; with the same seed the criterion `Permutation` has the same draws. `n_jobs`,
        `fast`: as in `estimate`. `absolute`: take the maximum of absolute values, for hypothesis sets that are not
        closed under negation; every draw is then fitted twice, the second time with its labels exchanged.

    Returns
    -------
    Complexity
        Its `value` is the complexity, `monte_carlo_error` its error over draws.

    Examples
    --------
    >>> from outsample import StumpClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 0, 1, 1, 0]
    >>> round(float(permutation_complexity(StumpClassifier(), X, y, random_state=0).value), 3)
    0.567
    """
    return _complexity("permutation complexity", FreePermutation(), estimator, X, y, **options)


def label_bootstrap_complexity(
    estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]
) -> Complexity:
    """B_in, as the permutation complexity but with labels drawn with replacement.

    It is within 1/√n of P_in (Lemma 6).

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
    >>> from outsample import StumpClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 0, 1, 1, 0]
    >>> round(float(label_bootstrap_complexity(StumpClassifier(), X, y, random_state=0).value), 3)
    0.637
    """
    return _complexity("label-bootstrap complexity", WithReplacement(), estimator, X, y, **options)


def rademacher_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """R = E_r max_h (1/n) Σ r_i h(x_i) with independent r_i = ±1 of probability ½; y only names the classes.

    Criterion "rademacher" adds half of it as optimism; `rademacher_bound` takes all of it.

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
    >>> from outsample import StumpClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 0, 1, 1, 0]
    >>> round(float(rademacher_complexity(StumpClassifier(), X, y, random_state=0).value), 3)
    0.646
    """
    return _complexity("Rademacher complexity", RademacherSigns(), estimator, X, y, **options)


def maximal_discrepancy(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """max_h of the error on one half of the data minus the error on the other (Bartlett, Boucheron & Lugosi, §4.4).

    The labels of a random half are flipped; with e' the training error on the flipped data, the discrepancy is 1 − 2e'.
    Of an odd number of rows the smaller half is flipped, and the value differs from the discrepancy by at most 1/n, to
    either side. One draw by default.

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
    >>> from outsample import StumpClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 0, 1, 1, 0]
    >>> round(float(maximal_discrepancy(StumpClassifier(), X, y, random_state=0).value), 3)
    0.667
    """
    return _complexity("maximal discrepancy", HalfFlips(), estimator, X, y, **(Options(n_draws=1) | options))


def expected_discrepancy(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """M = E_σ sup_h (2/n) Σ σ_i ℓ_i with random signs σ_i (Bartlett, Boucheron & Lugosi, §4.5).

    The n₊ labels with σ_i = 1 are flipped; with e' the training error on the flipped data, a draw is 2(n₊/n − e').
    Its expectation is the Rademacher complexity.

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
    >>> from outsample import StumpClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 0, 1, 1, 0]
    >>> round(float(expected_discrepancy(StumpClassifier(), X, y, random_state=0).value), 3)
    0.646
    """
    return _complexity("expected discrepancy", RademacherSigns(), estimator, X, y, centred=True, **options)


@dataclass(frozen=True, eq=False)
class Complexity:
    """How well a learner or hypothesis set, or each model of a path, fits labels without information.

    Attributes
    ----------
    value : mean over draws of the largest correlation with the drawn labels, between −1 and 1; a float for one
        model, (models,) for a path, simplest first.
    monte_carlo_error : standard error of `value` over draws; 0.0 where all label vectors were used, None for a
        single draw.
    kind : the name of the complexity.
    lower_bound : whether the learner may have missed the maximum, so that the complexity of its hypothesis set
        may be larger than `value`.
    draws : (draws, models) the correlation of each draw.
    flipped : (draws,) share of rows whose drawn label is not the real one.
    n_samples, n_fits, seconds : number of rows and of fits, and time.
    single : whether it is of one model.
    exhaustive : whether all label vectors that can be drawn were used.
    params : the setting of each model.
    mean_product : ȳ E[ḡ], the mean label times the mean prediction of the fits.
    """

    value: Any
    monte_carlo_error: Any
    kind: str
    lower_bound: bool
    draws: Floats = field(repr=False)
    flipped: Floats = field(repr=False)
    n_samples: int
    n_fits: int
    single: bool
    exhaustive: bool
    params: Sequence[dict[str, Any]] = ()
    mean_product: Any = 0.0
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """What the number is, in words."""
        if self.lower_bound:
            return (
                "a lower bound on the complexity of the hypothesis set: the learner is not known to minimise the "
                "training error, so better fits to the drawn labels may exist"
            )
        return "the complexity of the hypothesis set: no hypothesis fits the drawn labels better"

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        numbers = {
            name: None if (value := getattr(self, name)) is None else np.asarray(value).tolist()
            for name in ("value", "monte_carlo_error", "mean_product")
        }
        words = {name: getattr(self, name) for name in WORDS}
        return numbers | words | {"n_draws": len(self.draws), "params": [dict(p) for p in self.params]}

    def plot(self, ax: Any = None) -> Any:
        """The values over draws, or the mean of each model; returns the matplotlib Axes."""
        from outsample.plots.results import complexity as drawn

        return drawn(self, ax)

    def __str__(self) -> str:
        values, errors = np.atleast_1d(self.value), self._errors()
        lines = [
            f"{self._setting(k)}{numeral(value)}"
            + ("" if errors is None else f" ± {numeral(errors[k], 2)} (Monte Carlo)")
            for k, value in enumerate(values)
        ]
        cost = f"n = {self.n_samples}, {len(self.draws)} draws, {self.n_fits} fits, {numeral(self.seconds, 2)} s"
        return "\n".join([f"{self.kind}: {lines[0]}", *lines[1:], cost, self.sentence])

    def _errors(self) -> Floats | None:
        return None if self.monte_carlo_error is None else np.atleast_1d(self.monte_carlo_error)

    def _setting(self, k: int) -> str:
        return "" if self.single else ", ".join(f"{name}={v}" for name, v in self.params[k].items()) + ": "

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in str(self).splitlines())
        return f"<p><strong>{first}</strong><br>{'<br>'.join(rest)}</p>"


def _of_draws(fits: Floats, negated: Floats | None, shift: Floats | None) -> Floats:
    """The correlation of each draw, (draws, models), from 1 − 2e' of the fits to the drawn labels.

    Parameters
    ----------
    negated : the same of the fits to the exchanged labels, where the maximum of absolute values is asked for.
    shift : (draws,) 2n₊/n − 1 with n₊/n the share of flipped labels, which turns 1 − 2e' into 2(n₊/n − e').
    """
    by = 0.0 if shift is None else shift[:, None]
    return np.asarray(fits + by if negated is None else np.maximum(fits + by, negated - by))


def _complexity(
    kind: str,
    scheme: LabelScheme,
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    param: str | None = None,
    values: Sequence[Any] | None = None,
    n_draws: int = 100,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    fast: bool = True,
    absolute: bool = False,
    centred: bool = False,
) -> Complexity:
    """The complexity of a learner, path or hypothesis set on labels drawn by a scheme.

    `centred` is for the expected discrepancy, see `_of_draws`.
    """
    start = time.perf_counter()
    count = whole_number("n_draws", n_draws)
    if absolute:
        kind = f"{kind} of absolute values"
    if isinstance(estimator, HypothesisSet):
        found = _complexity_of_hypotheses(kind, scheme, estimator, y, count, random_state, absolute, centred)
    else:
        problem = posed_problem(kind, estimator, X, y, param, values, random_state, n_jobs, fast)
        found = _complexity_of_problem(problem, kind, scheme, count, absolute, centred)
    return replace(found, seconds=time.perf_counter() - start)


def _complexity_of_problem(
    problem: Problem, kind: str, scheme: LabelScheme, n_draws: int, absolute: bool, centred: bool
) -> Complexity:
    """The complexity of every model of a problem's path; the problem has zero-one loss and two classes."""
    check_two_classes(kind, problem.target.n_classes)
    draws = LabelDraws(scheme, problem.y, n_draws, child_seed(problem.seed, LABEL_DRAWS))
    optimism, errors = measured_draws(problem, draws, 0, len(draws))
    flipped = np.array([np.mean(draws[i] != problem.y) for i in range(len(draws))])
    # The mean of the shift over all draws is zero, so that without absolute values it changes nothing there.
    shift = 2 * flipped - 1 if centred and (absolute or not draws.exhaustive) else None
    negated = 1 - 2 * _errors_on_exchanged(problem, draws) if absolute else None
    return complexity_record(
        kind,
        _of_draws(1 - 2 * errors, negated, shift),
        None,
        single=len(problem.path) == 1,
        exhaustive=draws.exhaustive,
        products=1 - 2 * (optimism + errors),
        flipped=flipped,
        minimised=minimises_training_error(problem.path.estimator),
        n_samples=problem.n_samples,
        n_fits=(1 + absolute) * len(draws) * problem.design.fits_per_draw,
        params=tuple(problem.path.params),
    )


def _errors_on_exchanged(problem: Problem, draws: LabelDraws) -> Floats:
    """Training error of the fits to the drawn labels with the two classes exchanged, (draws, models)."""
    fits = _ExchangedFits(problem, draws)
    n_jobs = 1 if problem.design.batched else problem.n_jobs
    return np.stack(list(results_of(fits, [(i,) for i in range(len(draws))], n_jobs)))


class _ExchangedFits:
    """Fits the exchanged labels of one draw; picklable."""

    def __init__(self, problem: Problem, draws: LabelDraws) -> None:
        self.design, self.draws, self.weight, self.seed = problem.design, draws, problem.weight, problem.seed

    def __call__(self, i: int) -> Floats:
        """Training error of every model, (models,)."""
        Y = 1 - self.draws[i : i + 1]
        fitted = self.design.fitted(Y, "predict", [child_integer(self.seed, LEARNER_DRAWS, i)])
        return np.asarray(weighted_mean(fitted[0] != Y[0], self.weight))


def posed_problem(
    kind: str,
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    param: str | None,
    values: Sequence[Any] | None,
    random_state: RandomState,
    n_jobs: int | None,
    fast: bool,
) -> Problem:
    """The problem of a classifier, or of the path along one of its parameters, with zero-one loss."""
    path = estimator if isinstance(estimator, Path) else None
    learner = estimator if path is None else path.estimator
    check_learner(learner)
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
    return problem if path is None else problem.over(path)


def check_two_classes(kind: str, n_classes: int | None) -> None:
    """Raise ValueError unless there are two classes."""
    if n_classes == 1:
        raise ValueError(f"{kind} is defined for two classes, y is constant: it has one class only")
    if n_classes != 2:
        raise ValueError(
            f"{kind} is defined for two classes, y has {n_classes}; with more classes use "
            'estimate(…, criterion="permutation"), which takes any number, or one class against the rest'
        )


def _complexity_of_hypotheses(
    kind: str,
    scheme: LabelScheme,
    hypotheses: HypothesisSet,
    y: ArrayLike,
    n_draws: int,
    random_state: RandomState,
    absolute: bool,
    centred: bool,
) -> Complexity:
    codes = two_class_codes(kind, y, hypotheses.n_samples)
    Y, weights, exhaustive = _labels(scheme, codes, n_draws, seed_sequence(random_state))
    signs = 2.0 * Y - 1
    means = hypotheses.signs[hypotheses.best(signs)].mean(axis=1)
    flipped = (codes != Y).mean(axis=1)
    shift = 2 * flipped - 1 if centred and (absolute or not exhaustive) else None
    negated = hypotheses.maxima(-signs)[:, None] if absolute else None
    return complexity_record(
        kind,
        _of_draws(hypotheses.maxima(signs)[:, None], negated, shift),
        weights,
        single=True,
        exhaustive=exhaustive,
        products=(2 * codes.mean() - 1) * means[:, None],
        flipped=flipped,
        minimised=True,
        n_samples=len(codes),
        n_fits=0,
        params=({},),
    )


def two_class_codes(kind: str, y: ArrayLike, n_samples: int) -> Array:
    """y as class codes 0 and 1, (n,)."""
    labels = np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise ValueError(f"{kind} is defined for two classes, y holds real values")
    if labels.shape != (n_samples,):
        raise ValueError(f"y must have one label per sample, shape ({n_samples},), got {labels.shape}")
    check_two_classes(kind, len(classes))
    return codes


def _labels(
    scheme: LabelScheme, y: Array, n_draws: int, seed: np.random.SeedSequence
) -> tuple[Array, Floats | None, bool]:
    """(label vectors, their probabilities or None where equal, whether these are all that can be drawn)."""
    if isinstance(scheme, WithReplacement) and 2.0 ** len(y) <= n_draws:
        Y = np.stack(list(RademacherSigns().arrangements(y)))
        share = y.mean()
        ones = Y.sum(axis=1)
        return Y, share**ones * (1 - share) ** (len(y) - ones), True
    draws = LabelDraws(scheme, y, n_draws, child_seed(seed, LABEL_DRAWS))
    return draws[:], None, draws.exhaustive


def complexity_record(
    kind: str,
    draws: Floats,
    weights: Floats | None,
    *,
    single: bool,
    exhaustive: bool,
    products: Floats,
    minimised: bool,
    most: Floats | float = 1.0,
    **more: Any,
) -> Complexity:
    """The record of draws, (draws, models), with probabilities `weights`; None where they are equally likely.

    `most` is the correlation of labels fitted perfectly: that of every draw, (draws, 1), where they differ.
    """
    is_maximum = minimised or bool((draws >= most - 1e-12).all())
    bare = Complexity(
        value=0.0,
        monte_carlo_error=None,
        kind=kind,
        lower_bound=not is_maximum,
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
    """Standard error of the mean over draws; None for a single draw."""
    if len(draws) < 2:
        return None
    return _entry(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)), record)


def _entry(values: Floats, record: Complexity) -> Any:
    """Values of models, (models,), as a float where the record is of a single model."""
    return float(values[0]) if record.single else values
