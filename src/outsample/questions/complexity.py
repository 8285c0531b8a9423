"""The record of a measured complexity."""

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
from outsample.data.learners import last_step
from outsample.data.tables import Table
from outsample.evidence.labels import measured_draws
from outsample.hypotheses import HypothesisSet
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
from outsample.running.seeds import LABEL_DRAWS, RandomState, child_seed, seed_sequence

WORDS = ("kind", "lower_bound", "sentence", "n_samples", "n_fits", "seconds")


@dataclass(frozen=True, eq=False)
class Complexity:
    """How well a hypothesis set, or each of a path, fits labels without information.

    Attributes
    ----------
    value : mean over draws of the largest correlation with the drawn labels, between −1 and 1; a float for one
        model, (models,) for a path, simplest first.
    monte_carlo_error : standard error of `value` over draws; 0.0 when all label vectors were used, None for a
        single draw.
    lower_bound : whether the learner may have missed the maximum, so that the complexity of its hypothesis set
        may be larger than `value`.
    mean_product : ȳ E[ḡ], the mean label times the mean prediction of the fits.
    draws : (draws, models) the correlation of each draw.
    exhaustive : whether every label vector that can be drawn was used.
    flipped : (draws,) share of rows where the drawn label is not the real one.
    n_samples, n_fits, seconds : what it cost.
    params : the setting of each model.
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


def around_flipped_share(found: Complexity) -> Complexity:
    """1 − 2e' becomes 2(n₊/n − e')."""
    draws = found.draws + (2 * found.flipped - 1)[:, None]
    return replace(found, value=_entry(draws.mean(axis=0), found), draws=draws, monte_carlo_error=_error(draws, found))


def measured(
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
    return problem if path is None else problem.over(path)


def _check_two_classes(kind: str, n_classes: int | None) -> None:
    if n_classes != 2:
        raise ValueError(
            f"{kind} is defined for two classes, y has {n_classes}; with more classes use "
            'estimate(…, criterion="permutation"), which takes any number, or one class against the rest'
        )


def _of_hypotheses(
    kind: str, scheme: LabelScheme, hypotheses: HypothesisSet, y: ArrayLike, n_draws: int, random_state: RandomState
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


def _codes(kind: str, y: ArrayLike, n_samples: int) -> Array:
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


class Options(TypedDict, total=False):
    """What all complexities take by name; see `permutation_complexity`."""

    param: str | None
    values: Sequence[Any] | None
    n_draws: int
    random_state: Any
    n_jobs: int | None
    fast: bool


def permutation_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """P_in = E_π max_h (1/n) Σ y^π_i h(x_i): fit to permuted labels (Magdon-Ismail & Mertsalov, §3.1).

    For a risk minimiser P_in = ½ ê_gen + ȳ E[ḡ^π] with ê_gen the permutation estimate of the optimism in squared
    units, four times the 0–1 units of `estimate` (Theorem 4); `mean_product` is the last term.

    Parameters
    ----------
    estimator : a classifier or pipeline, a path of them, or a `HypothesisSet` (X is then not needed: None).
    X, y : the data, two classes.
    param, values : a parameter of the estimator and its values: the complexity of every model of a path.
    n_draws : label vectors drawn, 100 unless told; all distinct ones when they are no more than that.
    random_state : the seed; with the same seed the criterion `Permutation` meets the same draws.
    n_jobs, fast : as in `estimate`.
    """
    return measured("permutation complexity", FreePermutation(), estimator, X, y, **options)


def label_bootstrap_complexity(
    estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]
) -> Complexity:
    """B_in, the permutation complexity's twin with labels drawn with replacement; |B_in − P_in| ≤ 1/√n (Lemma 6).

    Parameters as for `permutation_complexity`.
    """
    return measured("label-bootstrap complexity", WithReplacement(), estimator, X, y, **options)


def rademacher_complexity(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """R = E_r max_h (1/n) Σ r_i h(x_i) with coin flips r; y only names the classes.

    Parameters as for `permutation_complexity`. Half of it is the optimism that criterion "rademacher" adds; all
    of it enters `rademacher_bound`.
    """
    return measured("Rademacher complexity", RademacherSigns(), estimator, X, y, **options)


def maximal_discrepancy(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """max_h of the error on one half of the data minus the error on the other (Bartlett, Boucheron & Lugosi, §4.4).

    The labels of a random half are flipped; with e' the training error on those, the discrepancy is 1 − 2e'. Of an
    odd number of rows the smaller half is flipped, which errs by 1/n on the side of caution.

    Parameters as for `permutation_complexity`; one draw unless told.
    """
    return measured("maximal discrepancy", HalfFlips(), estimator, X, y, **(Options(n_draws=1) | options))


def expected_discrepancy(estimator: BaseEstimator, X: Table, y: ArrayLike, **options: Unpack[Options]) -> Complexity:
    """M = E_σ sup_h (2/n) Σ σ_i ℓ_i with coin flips σ (§4.5): flip where σ_i = 1, value 2(n₊/n − e').

    Its expectation is the Rademacher complexity. Parameters as for `permutation_complexity`.
    """
    found = measured("expected discrepancy", RademacherSigns(), estimator, X, y, **options)
    return found if found.exhaustive else around_flipped_share(found)
