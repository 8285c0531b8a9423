"""Penalties by discrepancy: how different the errors on two halves of the data can be made (two classes).

Flip the labels of one half and fit: a learner that fits those labels well is right on one half and wrong on the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from outsample.bounds.record import MAXIMISED, Certificate
from outsample.bounds.uniform import expected_discrepancy_bound, maximal_discrepancy_bound
from outsample.checks import whole_number
from outsample.criteria.base import Criterion
from outsample.curve.risk_curve import RiskCurve
from outsample.evidence.labels import measured_draws
from outsample.hypotheses import minimises_training_error
from outsample.losses.base import weighted_mean
from outsample.problem import Problem
from outsample.resampling.labels import HalfFlips, LabelDraws, LabelScheme, RademacherSigns
from outsample.running.arrays import Floats
from outsample.running.run import LABEL_DRAWS, child_seed


def check_two_classes(name: str, problem: Problem) -> None:
    """Raise ValueError unless the problem counts wrong labels of two classes."""
    if problem.target.n_classes != 2:
        n_classes = problem.target.n_classes
        kind = "real values" if n_classes is None else f"{n_classes} classes"
        raise ValueError(f'criterion {name!r} is for two classes, y has {kind}; use "permutation" or "kfold"')
    if not problem.loss.unit_interval:
        raise ValueError(f'criterion {name!r} is for zero-one loss, the loss is {problem.loss.name!r}; use "kfold"')
    if problem.groups is not None:
        raise ValueError(f'groups: criterion {name!r} draws every label on its own; use "permutation"')


def drawn_fits(problem: Problem, scheme: LabelScheme, n_draws: int) -> tuple[LabelDraws, Floats]:
    """(the draws, 1 − 2 e' of every model fitted to each, (draws, models)), e' the error on the drawn labels."""
    draws = LabelDraws(scheme, problem.y, n_draws, child_seed(problem.seed, LABEL_DRAWS))
    errors = measured_draws(problem, draws, 0, len(draws))[1]
    return draws, 1 - 2 * errors


def certificates_of(problem: Problem, bound: Certificate) -> tuple[Certificate, ...]:
    """The certificate of each model of a path, fitted to all rows."""
    known = bound.known({}, f"the model fitted to all {problem.n_samples} rows")
    return tuple(known.at(model) for model in range(len(problem.path)))


def _certified(problem: Problem, bound: Callable[..., Certificate], discrepancy: Floats) -> tuple[Certificate, ...]:
    """What a theorem for equal weights says of the models, as far as their learner minimises the training error."""
    if problem.label_weight is not None:
        return ()
    found = bound(in_sample=problem.in_sample, discrepancy=discrepancy, n=problem.n_samples)
    return certificates_of(problem, found.known({MAXIMISED: minimises_training_error(problem.path.estimator)}))


@dataclass(frozen=True)
class MaximalDiscrepancy(Criterion):
    """In-sample error plus the maximal discrepancy of two halves (Bartlett, Boucheron & Lugosi, eq. 6).

    The labels of a random half are flipped; with e' the training error on those, the discrepancy is 1 − 2e'. For a
    learner that minimises the training error this is an upper estimate: its mean over data sets is at least the
    expected error on new data.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.estimate(tree, X, y, criterion=outsample.MaximalDiscrepancy(), random_state=0)
    >>> round(result.out_sample, 3)
    0.197
    """

    name: ClassVar[str] = "discrepancy"

    def check(self, problem: Problem) -> None:
        check_two_classes(self.name, problem)

    def _curve(self, problem: Problem) -> RiskCurve:
        _, correlation = drawn_fits(problem, HalfFlips(), 1)
        return problem.curve(
            out_sample=problem.in_sample + correlation[0],
            limit=True,
            criterion=self.name,
            estimand=f"an upper estimate of {problem.loss.on_new_data}, penalised by the discrepancy of two halves",
            n_fits=2 * problem.design.fits_per_draw,
            certificates=_certified(problem, maximal_discrepancy_bound, correlation[0]),
        )


@dataclass(frozen=True)
class ExpectedDiscrepancy(Criterion):
    """In-sample error plus the expected discrepancy of random splits (Bartlett, Boucheron & Lugosi, §4.5).

    Labels are flipped where a coin says so; with n₊ flips and training error e' on those labels, a draw gives
    2(n₊/n − e'). An upper estimate as `MaximalDiscrepancy`, of less variance.

    Parameters
    ----------
    n_draws : label vectors drawn and fitted.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.estimate(tree, X, y, criterion=outsample.ExpectedDiscrepancy(), random_state=0)
    >>> round(result.out_sample, 3)
    0.199
    """

    n_draws: int = 10

    name: ClassVar[str] = "expected-discrepancy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws))

    def check(self, problem: Problem) -> None:
        check_two_classes(self.name, problem)

    def _curve(self, problem: Problem) -> RiskCurve:
        draws, correlation = drawn_fits(problem, RademacherSigns(), self.n_draws)
        flipped = weighted_mean(draws[:] != problem.y, problem.weight)
        discrepancy = correlation + (2 * flipped - 1)[:, None]
        return problem.curve(
            out_sample=problem.in_sample + discrepancy.mean(axis=0),
            limit=True,
            criterion=self.name,
            estimand=f"an upper estimate of {problem.loss.on_new_data}, penalised by the expected discrepancy",
            n_fits=(len(draws) + 1) * problem.design.fits_per_draw,
            monte_carlo_error=error_of_mean(discrepancy, draws.exhaustive),
            draws=discrepancy,
            certificates=_certified(
                problem,
                partial(expected_discrepancy_bound, n_draws=np.inf if draws.exhaustive else len(draws)),
                np.clip(discrepancy.mean(axis=0), -1, 1),
            ),
        )


def error_of_mean(draws: Floats, exhaustive: bool) -> Floats:
    """Monte-Carlo error of the mean over draws, (models,): zero when these are all, nan for a single one."""
    if exhaustive:
        return np.zeros(draws.shape[1])
    if len(draws) < 2:
        return np.full(draws.shape[1], np.nan)
    return np.asarray(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))
