"""Criteria that are bounds: the out-sample error exceeds them with probability at most δ, model by model.

They are far above the error they bound, often vacuous; for choosing a model only their shape matters. Over a whole
path the probability is that of each model; a union bound over k models divides δ by k.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

import outsample.bounds as bounds
from outsample.bounds.margins import LINEAR as LINEAR_SPACE
from outsample.bounds.record import COUNTED, MAXIMISED, Certificate
from outsample.checks import probability, whole_number
from outsample.criteria.base import Criterion
from outsample.criteria.discrepancy import certificates_of, check_two_classes, drawn_fits, error_of_mean
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import fit, last_step, seeded, with_params
from outsample.data.tables import n_columns
from outsample.hypotheses import minimises_training_error
from outsample.problem import Problem
from outsample.resampling.labels import FreePermutation, HalfFlips, LabelScheme, RademacherSigns
from outsample.running.arrays import Floats

LINEAR = (LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier, LinearDiscriminantAnalysis, LinearSVC)
NOT_PROVED = (
    "the learner is not known to minimise the training error: its complexity is a lower bound on that of its "
    "hypothesis set, and the limit is not proved"
)


@dataclass(frozen=True)
class BoundCriterion(Criterion):
    """What all bounds share.

    Parameters
    ----------
    delta : probability with which the limit may fail, for each model.
    """

    delta: float = 0.05

    def __post_init__(self) -> None:
        probability("delta", self.delta)

    def check(self, problem: Problem) -> None:
        check_two_classes(self.name, problem)
        if problem.label_weight is not None:
            raise ValueError(
                f'criterion {self.name!r} is proved for equal weights; leave sample_weight out, or "kfold"'
            )

    def _recorded(self, problem: Problem, bound: Certificate, n_fits: int, **more: Any) -> RiskCurve:
        notes = more.pop("notes", ())
        if np.all(bound.vacuous):
            notes = (*notes, "every limit is at or above 1: vacuous as a guarantee, though it still ranks the models")
        return problem.curve(
            out_sample=np.asarray(bound.value),
            limit=True,
            criterion=self.name,
            estimand=(
                f"an upper limit on {problem.loss.on_new_data}, right for each model with probability "
                f"{1 - self.delta:.4g} ({bound.theorem})"
            ),
            n_fits=n_fits,
            notes=notes,
            certificates=certificates_of(problem, bound),
            **more,
        )


@dataclass(frozen=True)
class DrawnBound(BoundCriterion):
    """Bounds whose complexity is measured by fits to drawn labels; `n_draws` of them."""

    n_draws: int = 10

    scheme: ClassVar[LabelScheme]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws))

    @abstractmethod
    def bound(self, problem: Problem, complexity: Floats, n_draws: float) -> Certificate:
        """The limit of every model, (models,), from the mean of so many draws; infinity for all there are."""

    def _curve(self, problem: Problem) -> RiskCurve:
        draws, correlation = drawn_fits(problem, self.scheme, self.n_draws)
        proved = minimises_training_error(problem.path.estimator)
        bound = self.bound(problem, correlation.mean(axis=0), np.inf if draws.exhaustive else len(draws))
        bound = bound.known({MAXIMISED: proved})
        return self._recorded(
            problem,
            bound,
            (len(draws) + 1) * problem.design.fits_per_draw,
            notes=() if proved else (NOT_PROVED,),
            monte_carlo_error=error_of_mean(correlation, draws.exhaustive),
        )


@dataclass(frozen=True)
class PermutationBound(DrawnBound):
    """The bound by permutation complexity, see `outsample.bounds.permutation_bound`.

    Parameters
    ----------
    delta : probability with which the bound may fail.
    n_draws : label vectors that measure the complexity.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = outsample.StumpClassifier()
    >>> result = outsample.estimate(stump, X, y, criterion=outsample.PermutationBound(), random_state=0)
    >>> round(result.out_sample, 2)
    0.92
    """

    name: ClassVar[str] = "permutation-bound"
    scheme: ClassVar[LabelScheme] = FreePermutation()

    def bound(self, problem: Problem, complexity: Floats, n_draws: float) -> Certificate:
        return bounds.permutation_bound(
            in_sample=problem.in_sample,
            complexity=complexity,
            n=problem.n_samples,
            delta=self.delta,
            n_draws=n_draws,
            mean_label=2 * float(np.mean(problem.y)) - 1,
        )


@dataclass(frozen=True)
class RademacherBound(DrawnBound):
    """The bound by Rademacher complexity, see `outsample.bounds.rademacher_bound`.

    Parameters
    ----------
    delta : probability with which the bound may fail.
    n_draws : label vectors that measure the complexity.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = outsample.StumpClassifier()
    >>> result = outsample.estimate(stump, X, y, criterion=outsample.RademacherBound(), random_state=0)
    >>> round(result.out_sample, 2)
    0.36
    """

    name: ClassVar[str] = "rademacher-bound"
    scheme: ClassVar[LabelScheme] = RademacherSigns()

    def bound(self, problem: Problem, complexity: Floats, n_draws: float) -> Certificate:
        return bounds.rademacher_bound(
            in_sample=problem.in_sample, complexity=complexity, n=problem.n_samples, delta=self.delta, n_draws=n_draws
        )


@dataclass(frozen=True)
class DiscrepancyBound(DrawnBound):
    """The bound by maximal discrepancy, see `outsample.bounds.maximal_discrepancy_bound`; one draw is its own.

    Parameters
    ----------
    delta : probability with which the bound may fail.
    n_draws : label vectors that measure the complexity.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = outsample.StumpClassifier()
    >>> result = outsample.estimate(stump, X, y, criterion=outsample.DiscrepancyBound(), random_state=0)
    >>> round(result.out_sample, 2)
    0.47
    """

    n_draws: int = 1

    name: ClassVar[str] = "discrepancy-bound"
    scheme: ClassVar[LabelScheme] = HalfFlips()

    def bound(self, problem: Problem, complexity: Floats, n_draws: float) -> Certificate:
        # Each draw is of its own halves, for which the theorem holds, and so for their mean.
        return bounds.maximal_discrepancy_bound(
            in_sample=problem.in_sample, discrepancy=complexity, n=problem.n_samples, delta=self.delta
        )


PerModel = float | Sequence[float] | Callable[[dict[str, Any]], float]
"""A number for every model of a path: the same for all, one each, simplest first, or a function of its parameters."""


def per_model(name: str, given: PerModel, problem: Problem) -> Floats:
    """A number for each model of the problem's path, (models,)."""
    models = len(problem.path)
    if callable(given):
        return np.array([float(given(dict(params))) for params in problem.path.params])
    numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if len(numbers) not in (1, models):
        raise ValueError(f"{name} has {len(numbers)} entries for {models} models; give one number, or one each")
    return np.broadcast_to(numbers, (models,))


@dataclass(frozen=True, eq=False)
class VCBound(BoundCriterion):
    """The bound by VC dimension, see `outsample.bounds.vc_bound`.

    Parameters
    ----------
    delta : probability with which the bound may fail.
    dimension : the VC dimension of every model: a number, a function of a model's parameters, or one number per
        model, simplest first. None knows linear classifiers only: the number of columns plus one.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = outsample.StumpClassifier()
    >>> result = outsample.estimate(stump, X, y, criterion=outsample.VCBound(dimension=6), random_state=0)
    >>> round(result.out_sample, 2)
    0.35
    """

    dimension: PerModel | None = None

    name: ClassVar[str] = "vc-bound"

    def check(self, problem: Problem) -> None:
        super().check(problem)
        self._dimensions(problem)

    def _curve(self, problem: Problem) -> RiskCurve:
        bound = bounds.vc_bound(
            in_sample=problem.in_sample,
            dimension=self._dimensions(problem),
            n=problem.n_samples,
            delta=self.delta,
        )
        known = bound.known({COUNTED: True if self.dimension is None else None})
        return self._recorded(problem, known, problem.design.fits_per_draw)

    def _dimensions(self, problem: Problem) -> Floats:
        if self.dimension is not None:
            return per_model("dimension", self.dimension, problem)
        if type(problem.path.estimator) not in LINEAR:
            raise ValueError(
                f"criterion {self.name!r} does not know the VC dimension of {type(problem.path.estimator).__name__}; "
                'pass VCBound(dimension=…), measure it with effective_vc_dimension, or use "rademacher-bound"'
            )
        return np.full(len(problem.path), float(n_columns(problem.X) + 1))


@dataclass(frozen=True)
class MarginBound(BoundCriterion):
    """The margin bound of linear classifiers and of kernel machines: refits every model.

    See `outsample.bounds.linear_margin_bound` and `kernel_margin_bound`.

    Parameters
    ----------
    delta : probability with which the bound may fail.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = outsample.estimate(LogisticRegression(), scale(X), y, criterion=outsample.MarginBound())
    >>> result.out_sample > 1  # such bounds need far more than 569 rows
    True
    """

    name: ClassVar[str] = "margin-bound"

    def _curve(self, problem: Problem) -> RiskCurve:
        assert problem.target.classes is not None
        labels = problem.target.classes[problem.y]
        limits = []
        for params in problem.path.params:
            model = seeded(with_params(problem.path.estimator, params), problem.real_seed)
            fit(model, problem.X, labels)
            in_feature_space = getattr(last_step(model), "kernel", "linear") != "linear"
            find = bounds.kernel_margin_bound if in_feature_space else bounds.linear_margin_bound
            limits.append(find(model, problem.X, labels, self.delta))
        names = ("value", "in_sample", "gap", "printed", "risk")
        numbers: dict[str, Any] = {name: np.array([getattr(found, name) for found in limits]) for name in names}
        whole = replace(limits[0], **numbers).known({LINEAR_SPACE: not isinstance(problem.path.estimator, Pipeline)})
        return self._recorded(problem, whole, len(limits) + problem.design.fits_per_draw)
