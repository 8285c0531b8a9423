"""Complexities of hypothesis sets: how well a learner, or a set of hypotheses, fits labels without information.

Each is the mean over draws r of max_h (1/n) Σ r_i h(x_i), with predictions ±1; they differ in how r is drawn (`Kind`).
For r = ±1 the maximum of a learner is its fit to the labels r, 1 − 2e' with e' its training error; for real r it is the
fit to the labels sign(r) with weights |r|. Both are lower bounds unless the learner minimises the training error.
Linear fits are as complex as the parameters that they are worth (`effective_parameters`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier

from outsample.checks import one_of, whole_number
from outsample.curve.error_estimate import numeral
from outsample.curve.result import Result
from outsample.data.learners import check_learner, fit, last_step, respond, seeded, takes_weight, with_params
from outsample.data.tables import Table
from outsample.docstrings import Thing, described
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
from outsample.running.fits import counted_fits
from outsample.running.run import (
    LABEL_DRAWS,
    LEARNER_DRAWS,
    RandomState,
    child_generator,
    child_integer,
    child_seed,
    seed_sequence,
)
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


@dataclass(frozen=True)
class Kind:
    """A complexity: its name, how r is drawn, and whether a draw is 2(n₊/n − e') for n₊ flipped labels."""

    words: str
    draw: LabelScheme | Multiplier
    counts_flips: bool = False


PERMUTATION = Kind("permutation complexity", FreePermutation())
LABEL_BOOTSTRAP = Kind("label-bootstrap complexity", WithReplacement())
RADEMACHER = Kind("Rademacher complexity", RademacherSigns())
MAXIMAL_DISCREPANCY = Kind("maximal discrepancy", HalfFlips())
EXPECTED_DISCREPANCY = Kind("expected discrepancy", RademacherSigns(), counts_flips=True)


class Options(TypedDict, total=False):
    """Keyword arguments of all complexities; see `permutation_complexity`."""

    param: str | None
    values: Sequence[Any] | None
    n_draws: int
    random_state: RandomState
    n_jobs: int | None
    fast: bool
    absolute: bool


def _documented(call: str, value: float) -> Callable[[Thing], Thing]:
    """Completes the docstring of a complexity, with a call of it as example."""
    return described(
        {
            "estimator": "a classifier or pipeline, a path of them, or a `HypothesisSet`, for which X may be None.",
            "X, y": "the data, with two classes.",
            "**options": """`param`, `values`, `n_draws`, `random_state`, `n_jobs`, `fast`, `absolute`, as for
    `permutation_complexity`.""",
        },
        "Complexity\n    Its `value` is the complexity, `monte_carlo_error` its error over draws.",
        f"""
>>> from outsample import StumpClassifier
>>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 0, 1, 1, 0]
>>> round(float({call.replace("(", "(StumpClassifier(), X, y, random_state=0", 1)}.value), 3)
{value}""",
    )


@_documented("permutation_complexity()", 0.567)
def permutation_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """P_in = E_π max_h (1/n) Σ y^π_i h(x_i), the fit to permuted labels (Magdon-Ismail & Mertsalov, §3.1).

    For a risk minimiser P_in = ½ ê_gen + ȳ E[ḡ^π] (Theorem 4), where ê_gen is the permutation estimate of the optimism
    in units of squared ±1 errors, four times the 0–1 units of `estimate`, and the last term is `mean_product`.

    Parameters
    ----------
    **options : `param`, `values`: a parameter of the estimator and its values, for the complexity of every model of a
        path. `n_draws`: number of label vectors drawn, 100 by default; all distinct ones where there are no more than
        that. `random_state`: the seed; with the same seed the criterion `Permutation` has the same draws. `n_jobs`,
        `fast`: as in `estimate`. `absolute`: take the maximum of absolute values, for hypothesis sets that are not
        closed under negation; every draw is then fitted twice, the second time with its labels exchanged.
    """
    return _complexity(PERMUTATION, estimator, X, y, **options)


@_documented("label_bootstrap_complexity()", 0.637)
def label_bootstrap_complexity(
    estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]
) -> Complexity:
    """B_in, as the permutation complexity but with labels drawn with replacement.

    It is within 1/√n of P_in (Lemma 6).
    """
    return _complexity(LABEL_BOOTSTRAP, estimator, X, y, **options)


@_documented("rademacher_complexity()", 0.646)
def rademacher_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """R = E_r max_h (1/n) Σ r_i h(x_i) with independent r_i = ±1 of probability ½; y only names the classes.

    Criterion "rademacher" adds half of it as optimism; `rademacher_bound` takes all of it.
    """
    return _complexity(RADEMACHER, estimator, X, y, **options)


@_documented("maximal_discrepancy()", 0.667)
def maximal_discrepancy(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """max_h of the error on one half of the data minus the error on the other (Bartlett, Boucheron & Lugosi, §4.4).

    The labels of a random half are flipped; with e' the training error on the flipped data, the discrepancy is 1 − 2e'.
    Of an odd number of rows the smaller half is flipped, and the value differs from the discrepancy by at most 1/n, to
    either side. One draw by default.
    """
    return _complexity(MAXIMAL_DISCREPANCY, estimator, X, y, **(Options(n_draws=1) | options))


@_documented("expected_discrepancy()", 0.646)
def expected_discrepancy(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """M = E_σ sup_h (2/n) Σ σ_i ℓ_i with random signs σ_i (Bartlett, Boucheron & Lugosi, §4.5).

    The n₊ labels with σ_i = 1 are flipped; with e' the training error on the flipped data, a draw is 2(n₊/n − e').
    Its expectation is the Rademacher complexity.
    """
    return _complexity(EXPECTED_DISCREPANCY, estimator, X, y, **options)


@_documented("gaussian_complexity()", 0.592)
def gaussian_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """G = E_g max_h (1/n) Σ g_i h(x_i) with independent standard normal g_i; y only names the classes.

    The Rademacher complexity R is at most √(π/2) G (Bartlett & Mendelson 2002). The learner must take weights; a draw
    is the fit to labels by the sign of g_i, weighted by its size.
    """
    return multiplier_complexity(estimator, X, y, multiplier="gaussian", **options)


@_documented('multiplier_complexity(, multiplier="uniform")', 0.583)
def multiplier_complexity(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    multiplier: str | Multiplier = "gaussian",
    **options: Unpack[Options],
) -> Complexity:
    """E_r max_h (1/n) Σ r_i h(x_i) with independent symmetric multipliers r_i (Fromont 2007).

    It is in units of the multipliers, and may exceed 1. `fast` has no effect, because fits with new weights share no
    work.

    Parameters
    ----------
    multiplier : "gaussian", "rademacher", "uniform" or "laplace", all of variance one, or a function of (generator, n)
        that returns n multipliers.
    """
    if callable(multiplier):
        name, draw = getattr(multiplier, "__name__", "own"), multiplier
    else:
        name, draw = multiplier, MULTIPLIERS[one_of("multiplier", multiplier, MULTIPLIERS, instead=" or a function")]
    kind = Kind(f"{'Gaussian' if name == 'gaussian' else name} complexity", draw)
    return _complexity(kind, estimator, X, y, **(options | Options(fast=False)))


def effective_parameters(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    param: str | None = None,
    values: Sequence[Any] | None = None,
) -> Floats:
    """tr S + 1 − 1ᵀS1/n of a linear smoother ŷ = S y, for each model of a path (Magdon-Ismail & Mertsalov, §2.2.1).

    The constant counts as one parameter however much a penalty shrinks it: the permutation estimate adds
    (2σ̂²_y/n)(this − 1). For least squares with an intercept it is the number of columns plus one; for smoothers that
    reproduce constants, S1 = 1, it is tr S. `generalized_degrees_of_freedom` serves learners that are not linear in y.

    Parameters
    ----------
    estimator : least squares, ridge, kernel ridge, splines, nearest neighbours, … for regression.
    X, y : the data; y only says how many outputs there are.
    param, values : a parameter of the estimator and its values, simplest first in the result.

    Returns
    -------
    (models,)
        One number per model, simplest first.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> import numpy as np
    >>> X = np.eye(6)[:, :2]
    >>> effective_parameters(Ridge(), X, np.arange(6.0), param="alpha", values=[1e9, 1e-9]).round(3)
    array([1., 3.])
    """
    problem = pose(estimator, X, y, parameter=param, values=values, loss="squared", random_state=0)
    smoother = problem.design.smoother if problem.design.abilities.smoother else None
    if smoother is None:
        raise ValueError(
            f"estimator: {type(estimator).__name__} is not known to be linear in y; use generalized_degrees_of_freedom"
        )
    return np.asarray(smoother.trace + 1 - smoother.total / problem.n_samples)


@dataclass(frozen=True, eq=False)
class Complexity(Result):
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

    told: ClassVar[str] = (
        "value monte_carlo_error mean_product kind lower_bound sentence n_samples n_fits seconds n_draws params"
    )

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

    @property
    def n_draws(self) -> int:
        """Number of label vectors."""
        return len(self.draws)

    def plot(self, ax: Any = None) -> Any:
        """The values over draws, or the mean of each model; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import complexity_drawing

        return plotted(complexity_drawing(self), ax)

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


def _complexity(
    kind: Kind,
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
) -> Complexity:
    """The complexity of a learner, path or hypothesis set."""
    start, count, seed = time.perf_counter(), whole_number("n_draws", n_draws), seed_sequence(random_state)
    kind = replace(kind, words=f"{kind.words} of absolute values") if absolute else kind
    with counted_fits() as spent:
        if isinstance(estimator, HypothesisSet):
            source: _Learner | _Hypotheses = _Hypotheses(kind, estimator, y, count, seed)
        else:
            problem = _posed(
                kind.words, estimator, X, y, parameter=param, values=values, random_state=seed, n_jobs=n_jobs, fast=fast
            )
            source = _Learner(kind, problem, count)
        fits = source.fits
        # The mean of the shift over all draws is zero, so that without absolute values it changes nothing there.
        shifted = kind.counts_flips and (absolute or not source.exhaustive)
        shift = (2 * source.flipped - 1)[:, None] if shifted else 0.0
        draws = np.maximum(fits + shift, source.exchanged() - shift) if absolute else fits + shift
    single = draws.shape[1] == 1

    def entry(values: Floats) -> Any:
        """Values of models, (models,), as a float where there is a single model."""
        return float(values[0]) if single else values

    def mean(values: Floats) -> Any:
        return entry(values.mean(axis=0) if source.chances is None else source.chances @ values)

    error = np.zeros(draws.shape[1]) if source.exhaustive else None
    if error is None and len(draws) > 1:
        error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    return Complexity(
        value=mean(draws),
        monte_carlo_error=None if error is None else entry(error),
        kind=kind.words,
        lower_bound=not (source.minimised or bool((draws >= source.most - 1e-12).all())),
        draws=draws,
        flipped=source.flipped,
        n_samples=source.n_samples,
        n_fits=spent.n_fits,
        single=single,
        exhaustive=source.exhaustive,
        params=source.params,
        mean_product=mean(source.products),
        seconds=time.perf_counter() - start,
    )


class _Hypotheses:
    """The largest correlations that hypotheses of a finite set have with each draw.

    Attributes
    ----------
    fits, products : (draws, models) the correlations, and the mean label times the mean prediction of each fit.
    chances : (draws,) probabilities of the draws, None where they are equally likely.
    most : the correlation of labels fitted perfectly, (draws, 1) where it differs.
    """

    minimised = True
    params: tuple[dict[str, Any], ...] = ({},)

    def __init__(
        self, kind: Kind, hypotheses: HypothesisSet, y: ArrayLike, count: int, seed: np.random.SeedSequence
    ) -> None:
        codes = _two_class_codes(kind.words, y, hypotheses.n_samples)
        self.hypotheses, self.n_samples = hypotheses, len(codes)
        self.chances: Floats | None = None
        self.most: Floats | float = 1.0
        if isinstance(kind.draw, LabelScheme):
            Y, self.exhaustive = self._labels(kind.draw, codes, count, seed)
            self.signs, self.flipped = 2.0 * Y - 1, (codes != Y).mean(axis=1)
            means = hypotheses.signs[hypotheses.best(self.signs)].mean(axis=1)
            self.products = (2 * codes.mean() - 1) * means[:, None]
        else:
            self.signs, self.exhaustive = _multipliers(kind.draw, count, len(codes), seed), False
            self.flipped, self.products = np.full(count, np.nan), np.zeros((count, 1))
        self.fits = hypotheses.maxima(self.signs)[:, None]

    def exchanged(self) -> Floats:
        """As `fits`, of the draws with their signs turned around."""
        return np.asarray(self.hypotheses.maxima(-self.signs)[:, None])

    def _labels(self, scheme: LabelScheme, y: Array, count: int, seed: np.random.SeedSequence) -> tuple[Array, bool]:
        """(label vectors, whether these are all that can be drawn)."""
        if isinstance(scheme, WithReplacement) and 2.0 ** len(y) <= count:
            Y = np.stack(list(RademacherSigns().arrangements(y)))
            share, ones = y.mean(), Y.sum(axis=1)
            self.chances = share**ones * (1 - share) ** (len(y) - ones)
            return Y, True
        draws = LabelDraws(scheme, y, count, child_seed(seed, LABEL_DRAWS))
        return draws[:], draws.exhaustive


class _Learner:
    """The correlations that the models of a problem's path find with each draw, see `_Hypotheses`."""

    chances: Floats | None = None

    def __init__(self, kind: Kind, problem: Problem, count: int) -> None:
        _check_two_classes(kind.words, problem.target.n_classes)
        self.problem, self.n_samples = problem, problem.n_samples
        self.params = tuple(problem.path.params)
        self.minimised = minimises_training_error(problem.path.estimator)
        self.most: Floats | float = 1.0
        if isinstance(kind.draw, LabelScheme):
            draws = LabelDraws(kind.draw, problem.y, count, child_seed(problem.seed, LABEL_DRAWS))
            optimism, errors = measured_draws(problem, draws, 0, len(draws))
            self.fits, self.products = 1 - 2 * errors, 1 - 2 * (optimism + errors)
            self.flipped = np.array([np.mean(draws[i] != problem.y) for i in range(len(draws))])
            self.exhaustive = draws.exhaustive
            self._again: _ExchangedFits | _WeightedFits = _ExchangedFits(problem, draws)
        else:
            R = _multipliers(kind.draw, count, self.n_samples, problem.seed)
            self.fits = self._of_all(_WeightedFits(problem, R), problem.n_jobs)
            self.products, self.flipped = np.zeros_like(self.fits), np.full(count, np.nan)
            self.exhaustive = False
            self.most = np.abs(R).mean(axis=1, keepdims=True)
            self._again = _WeightedFits(problem, -R)

    def exchanged(self) -> Floats:
        """As `fits`, of the draws with their signs turned around."""
        in_one = isinstance(self._again, _ExchangedFits) and self.problem.design.batched
        return self._of_all(self._again, 1 if in_one else self.problem.n_jobs)

    def _of_all(self, fits: _ExchangedFits | _WeightedFits, n_jobs: int | None) -> Floats:
        return np.stack(list(results_of(fits, [(i,) for i in range(len(fits))], n_jobs)))


class _ExchangedFits:
    """The fits to the labels of a draw with the two classes exchanged; picklable."""

    def __init__(self, problem: Problem, draws: LabelDraws) -> None:
        self.design, self.draws, self.weight, self.seed = problem.design, draws, problem.weight, problem.seed

    def __len__(self) -> int:
        return len(self.draws)

    def __call__(self, i: int) -> Floats:
        """The correlation of every model with the exchanged labels, (models,)."""
        Y = 1 - self.draws[i : i + 1]
        fitted = self.design.fitted(Y, "predict", [child_integer(self.seed, LEARNER_DRAWS, i)])
        return np.asarray(1 - 2 * weighted_mean(fitted[0] != Y[0], self.weight))


class _WeightedFits:
    """The fits of every model to the signs of multipliers, weighted by their size; picklable."""

    def __init__(self, problem: Problem, multipliers: Floats) -> None:
        path, classes = problem.path, problem.target.classes
        assert classes is not None
        self.estimator, self.params, self.X, self.classes = path.estimator, path.params, problem.X, classes
        self.multipliers, self.seed = multipliers, problem.seed
        size = np.abs(multipliers)
        self.weighted = bool((size != size[0, 0]).any())
        if self.weighted and not takes_weight(path.estimator):
            raise ValueError(
                f"multiplier: {type(last_step(path.estimator)).__name__} takes no weights in fit, which multipliers of "
                "different size need; use rademacher_complexity"
            )

    def __len__(self) -> int:
        return len(self.multipliers)

    def __call__(self, i: int) -> Floats:
        """The correlation that each model finds with draw i, (models,)."""
        multipliers = self.multipliers[i]
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


def _multipliers(draw: Multiplier, count: int, n: int, seed: np.random.SeedSequence) -> Floats:
    """The multipliers of every draw, (draws, n)."""
    drawn = [np.asarray(draw(child_generator(seed, LABEL_DRAWS, i), n), dtype=np.float64) for i in range(count)]
    if any(r.shape != (n,) or not np.isfinite(r).all() for r in drawn):
        raise ValueError(f"multiplier must return {n} finite numbers, got shapes {sorted({r.shape for r in drawn})}")
    return np.stack(drawn)


def _posed(kind: str, estimator: BaseEstimator, X: Table, y: ArrayLike, **arguments: Any) -> Problem:
    """The problem of a classifier, or of the path along one of its parameters, with zero-one loss."""
    path = estimator if isinstance(estimator, Path) else None
    learner = estimator if path is None else path.estimator
    check_learner(learner)
    if not is_classifier(learner):
        raise ValueError(
            f"{kind} is defined for two classes, {type(learner).__name__} is no classifier; for regression use "
            'estimate(…, criterion="permutation") or generalized_degrees_of_freedom'
        )
    problem = pose(learner, X, y, loss="zero-one", **arguments)
    return problem if path is None else problem.over(path)


def _two_class_codes(kind: str, y: ArrayLike, n_samples: int) -> Array:
    """y as class codes 0 and 1, (n,)."""
    labels = np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise ValueError(f"{kind} is defined for two classes, y holds real values")
    if labels.shape != (n_samples,):
        raise ValueError(f"y must have one label per sample, shape ({n_samples},), got {labels.shape}")
    _check_two_classes(kind, len(classes))
    return codes


def _check_two_classes(kind: str, n_classes: int | None) -> None:
    if n_classes == 1:
        raise ValueError(f"{kind} is defined for two classes, y is constant: it has one class only")
    if n_classes != 2:
        raise ValueError(
            f"{kind} is defined for two classes, y has {n_classes}; with more classes use "
            'estimate(…, criterion="permutation"), which takes any number, or one class against the rest'
        )
