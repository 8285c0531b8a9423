"""Criteria that are bounds: the out-sample error exceeds them with probability at most δ, model by model.

They are far above the error they bound, often vacuous; for choosing a model only their shape matters. Over a whole
path the probability is that of each model; a union bound over k models divides δ by k. Penalties by discrepancy are
bounds without their deviation: upper estimates in place of upper limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

import outsample.bounds as bounds
from outsample.bounds.margins import LINEAR as LINEAR_SPACE
from outsample.bounds.record import COUNTED, MAXIMISED, Certificate
from outsample.checks import one_of, probability, whole_number
from outsample.criteria.base import Criterion
from outsample.criteria.effective_vc import effective_vc_dimension
from outsample.criteria.labels import error_of_draws
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import fit, last_step, seeded, with_params
from outsample.data.parameters import unknown_settings
from outsample.data.tables import Table, n_columns
from outsample.docstrings import Thing, described, example_of
from outsample.evidence.labels import measured_draws
from outsample.hypotheses import HypothesisSet, StumpClassifier, minimises_training_error, stump_hypotheses
from outsample.losses.base import weighted_mean
from outsample.problem import Problem
from outsample.resampling.labels import FreePermutation, HalfFlips, LabelDraws, LabelScheme, RademacherSigns
from outsample.running.arrays import Floats
from outsample.running.run import LABEL_DRAWS, child_seed

LINEAR = (LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier, LinearDiscriminantAnalysis, LinearSVC)
NOT_PROVED = (
    "the learner is not known to minimise the training error: its complexity is a lower bound on that of its "
    "hypothesis set, and the limit is not proved"
)
VACUOUS = "every limit is at or above 1: vacuous as a guarantee, though it still ranks the models"

PerModel = float | Sequence[float] | Callable[[dict[str, Any]], float]
"""A number for every model of a path: the same for all, one each, simplest first, or a function of its parameters."""


def _is_linear(estimator: object) -> bool:
    """Whether the hypotheses of a learner are known to be all hyperplanes."""
    return type(estimator) in LINEAR and not unknown_settings(estimator)


def _documented(criterion: str = "", value: float = 0.0, learner: str = "stump") -> Callable[[Thing], Thing]:
    return described(
        {
            "delta": "probability with which the bound may fail.",
            "n_draws": "label vectors that measure the complexity.",
        },
        example=example_of(criterion, value, learner),
    )


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


def _drawn_fits(problem: Problem, scheme: LabelScheme, n_draws: int) -> tuple[LabelDraws, Floats]:
    """(the draws, 1 − 2 e' of every model fitted to each, (draws, models), fits), e' the error on the drawn labels."""
    draws = LabelDraws(scheme, problem.y, n_draws, child_seed(problem.seed, LABEL_DRAWS))
    errors = measured_draws(problem, draws, 0, len(draws))[1]
    return draws, 1 - 2 * errors


def _made_by(theorem: Callable[..., Certificate], problem: Problem, **measured: Any) -> Certificate:
    """What a theorem says of the models of a problem, from as much of what was measured as it takes."""
    known = {"in_sample": problem.in_sample, "n": problem.n_samples, "mean_label": 2 * float(np.mean(problem.y)) - 1}
    taken = {name: value for name, value in (known | measured).items() if name in signature(theorem).parameters}
    return theorem(**taken)


def _certificates(problem: Problem, bound: Certificate) -> tuple[Certificate, ...]:
    """The certificate of each model of a path, fitted to all rows."""
    known = bound.known({}, f"the model fitted to all {problem.n_samples} rows")
    return tuple(known.at(model) for model in range(len(problem.path)))


class _Discrepancy(Criterion):
    """In-sample error plus what labels say of the difference between two parts of the data."""

    theorem: ClassVar[Callable[..., Certificate]]
    scheme: ClassVar[LabelScheme]
    penalised_by: ClassVar[str]

    def check(self, problem: Problem) -> None:
        check_two_classes(self.name, problem)

    def _recorded(self, problem: Problem, drawn: LabelDraws, discrepancy: Floats, **more: Any) -> RiskCurve:
        penalty = discrepancy.mean(axis=0)
        certificates: tuple[Certificate, ...] = ()
        if problem.label_weight is None:
            # The theorem is one of equal weights.
            n_draws = np.inf if drawn.exhaustive else len(drawn)
            found = _made_by(type(self).theorem, problem, discrepancy=np.clip(penalty, -1, 1), n_draws=n_draws)
            proved = minimises_training_error(problem.path.estimator)
            certificates = _certificates(problem, found.known({MAXIMISED: proved}))
        return problem.curve(
            out_sample=problem.in_sample + penalty,
            limit=True,
            criterion=self.name,
            estimand=f"an upper estimate of {problem.loss.on_new_data}, penalised by {self.penalised_by}",
            certificates=certificates,
            **more,
        )


@described({}, example=example_of("MaximalDiscrepancy()", 0.197))
@dataclass(frozen=True)
class MaximalDiscrepancy(_Discrepancy):
    """In-sample error plus the maximal discrepancy of two halves (Bartlett, Boucheron & Lugosi, eq. 6).

    The labels of a random half are flipped; with e' the training error on those, the discrepancy is 1 − 2e'. For a
    learner that minimises the training error this is an upper estimate: its mean over data sets is at least the
    expected error on new data.
    """

    name: ClassVar[str] = "discrepancy"
    theorem = staticmethod(bounds.maximal_discrepancy_bound)
    penalised_by: ClassVar[str] = "the discrepancy of two halves"

    def _curve(self, problem: Problem) -> RiskCurve:
        return self._recorded(problem, *_drawn_fits(problem, HalfFlips(), 1))


@described({"n_draws": "label vectors drawn and fitted."}, example=example_of("ExpectedDiscrepancy()", 0.199))
@dataclass(frozen=True)
class ExpectedDiscrepancy(_Discrepancy):
    """In-sample error plus the expected discrepancy of random splits (Bartlett, Boucheron & Lugosi, §4.5).

    Labels are flipped where a coin says so; with n₊ flips and training error e' on those labels, a draw gives
    2(n₊/n − e'). An upper estimate as `MaximalDiscrepancy`, of less variance.
    """

    n_draws: int = 10

    name: ClassVar[str] = "expected-discrepancy"
    theorem = staticmethod(bounds.expected_discrepancy_bound)
    penalised_by: ClassVar[str] = "the expected discrepancy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws))

    def _curve(self, problem: Problem) -> RiskCurve:
        draws, correlation = _drawn_fits(problem, RademacherSigns(), self.n_draws)
        flipped = weighted_mean(draws[:] != problem.y, problem.weight)
        each = correlation + (2 * flipped - 1)[:, None]
        error = error_of_draws(each, draws.exhaustive)
        return self._recorded(problem, draws, each, monte_carlo_error=error, draws=each)


@dataclass(frozen=True)
class Measured:
    """What a bound is made of: arguments of its theorem, what is known of its assumptions."""

    arguments: Mapping[str, Any]
    known: Mapping[str, bool | None]
    notes: tuple[str, ...] = ()
    monte_carlo_error: Floats | None = None


@dataclass(frozen=True)
class BoundCriterion(Criterion):
    """A bound as a criterion.

    Parameters
    ----------
    delta : probability with which the limit may fail, for each model.

    Attributes
    ----------
    theorem : of `outsample.bounds`, the function that makes the limit from what `measured` returns.
    """

    delta: float = 0.05

    theorem: ClassVar[Callable[..., Certificate]]

    def __post_init__(self) -> None:
        probability("delta", self.delta)

    def check(self, problem: Problem) -> None:
        check_two_classes(self.name, problem)
        if problem.label_weight is not None:
            raise ValueError(
                f'criterion {self.name!r} is proved for equal weights; leave sample_weight out, or "kfold"'
            )

    def measured(self, problem: Problem) -> Measured:
        """The evidence for the bound."""
        raise NotImplementedError

    def _curve(self, problem: Problem) -> RiskCurve:
        found = self.measured(problem)
        bound = _made_by(type(self).theorem, problem, delta=self.delta, **found.arguments)
        return self._recorded(problem, bound, found)

    def _recorded(self, problem: Problem, bound: Certificate, found: Measured) -> RiskCurve:
        return problem.curve(
            out_sample=np.asarray(bound.value),
            limit=True,
            criterion=self.name,
            estimand=(
                f"an upper limit on {problem.loss.on_new_data}, right for each model with probability "
                f"{1 - self.delta:.4g} ({bound.theorem})"
            ),
            notes=(*found.notes, VACUOUS) if np.all(bound.vacuous) else found.notes,
            certificates=_certificates(problem, bound.known(found.known)),
            monte_carlo_error=found.monte_carlo_error,
        )


@dataclass(frozen=True)
class DrawnBound(BoundCriterion):
    """Bounds whose complexity is measured by fits to drawn labels; `n_draws` of them."""

    n_draws: int = 10

    scheme: ClassVar[LabelScheme]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws))

    def measured(self, problem: Problem) -> Measured:
        draws, correlation = _drawn_fits(problem, self.scheme, self.n_draws)
        mean, proved = correlation.mean(axis=0), minimises_training_error(problem.path.estimator)
        n_draws = np.inf if draws.exhaustive else len(draws)
        return Measured(
            {"complexity": mean, "discrepancy": mean, "n_draws": n_draws},
            {MAXIMISED: proved},
            () if proved else (NOT_PROVED,),
            error_of_draws(correlation, draws.exhaustive),
        )


@_documented("PermutationBound()", 0.92)
@dataclass(frozen=True)
class PermutationBound(DrawnBound):
    """The bound by permutation complexity, see `outsample.bounds.permutation_bound`."""

    name: ClassVar[str] = "permutation-bound"
    scheme: ClassVar[LabelScheme] = FreePermutation()
    theorem = staticmethod(bounds.permutation_bound)


@_documented("RademacherBound()", 0.36)
@dataclass(frozen=True)
class RademacherBound(DrawnBound):
    """The bound by Rademacher complexity, see `outsample.bounds.rademacher_bound`."""

    name: ClassVar[str] = "rademacher-bound"
    scheme: ClassVar[LabelScheme] = RademacherSigns()
    theorem = staticmethod(bounds.rademacher_bound)


@_documented("DiscrepancyBound()", 0.47)
@dataclass(frozen=True)
class DiscrepancyBound(DrawnBound):
    """The bound by maximal discrepancy, see `outsample.bounds.maximal_discrepancy_bound`; one draw is its own.

    Each draw is of its own halves, for which the theorem holds, and so for their mean.
    """

    n_draws: int = 1

    name: ClassVar[str] = "discrepancy-bound"
    scheme: ClassVar[LabelScheme] = HalfFlips()
    theorem = staticmethod(bounds.maximal_discrepancy_bound)


def _per_model(name: str, given: PerModel, problem: Problem) -> Floats:
    """A number for each model of the problem's path, (models,)."""
    models = len(problem.path)
    if callable(given):
        return np.array([float(given(dict(params))) for params in problem.path.params])
    numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if len(numbers) not in (1, models):
        raise ValueError(f"{name} has {len(numbers)} entries for {models} models; give one number, or one each")
    return np.broadcast_to(numbers, (models,))


@_documented("VCBound(dimension=6)", 0.35)
@dataclass(frozen=True, eq=False)
class VCBound(BoundCriterion):
    """The bound by VC dimension, see `outsample.bounds.vc_bound`.

    Parameters
    ----------
    dimension : the VC dimension of every model: a number, a function of a model's parameters, or one number per
        model, simplest first. None knows linear classifiers only: the number of columns plus one.
    """

    dimension: PerModel | None = None

    name: ClassVar[str] = "vc-bound"
    theorem = staticmethod(bounds.vc_bound)

    def check(self, problem: Problem) -> None:
        super().check(problem)
        self.measured(problem)

    def measured(self, problem: Problem) -> Measured:
        if self.dimension is not None:
            return Measured({"dimension": _per_model("dimension", self.dimension, problem)}, {COUNTED: None})
        if not _is_linear(problem.path.estimator):
            raise ValueError(
                f"criterion {self.name!r} does not know the VC dimension of {type(problem.path.estimator).__name__}; "
                'pass VCBound(dimension=…), measure it with effective_vc_dimension, or use "rademacher-bound"'
            )
        columns = np.full(len(problem.path), float(n_columns(problem.X) + 1))
        return Measured({"dimension": columns}, {COUNTED: True})


@_documented("VCEntropyBound(dimension=2)", 1.11)
@dataclass(frozen=True, eq=False)
class VCEntropyBound(BoundCriterion):
    """The bound by the labellings of *these* points, see `outsample.bounds.vc_entropy_bound` (m = n/80 for selection).

    ln S(X) is the empirical VC entropy: S(X) counts the ways in which a model's hypotheses label the rows of X. With
    the VC dimension D restricted to these rows, ln S(X) ≤ D ln(n + 1).

    Parameters
    ----------
    log_shatter : ln S(X) of every model, or an upper bound on it: a number, one per model, or a function of a model's
        parameters. None counts the labellings of `StumpClassifier`, and takes Cover's count for linear classifiers,
        with the rank of X and a column of ones as their dimension.
    dimension : D of every model in the same forms, in place of log_shatter; "effective" measures it on random labels
        with `effective_vc_dimension`, which is an estimate, so that the limit is not proved.
    n_draws : label vectors at each size for "effective".
    """

    log_shatter: PerModel | None = None
    dimension: PerModel | str | None = None
    n_draws: int = 50

    name: ClassVar[str] = "vc-entropy-bound"
    theorem = staticmethod(bounds.vc_entropy_bound)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("n_draws", self.n_draws)
        if self.log_shatter is not None and self.dimension is not None:
            raise ValueError("VCEntropyBound takes log_shatter or dimension, not both")
        if isinstance(self.dimension, str):
            one_of("dimension", self.dimension, ("effective",), instead=", a number, numbers or a function")

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if not isinstance(self.dimension, str):
            self.measured(problem)

    def measured(self, problem: Problem) -> Measured:
        estimator, log_n = problem.path.estimator, np.log(problem.n_samples + 1)
        if isinstance(self.dimension, str):
            return self._on_random_labels(problem)
        if self.dimension is not None:
            given = np.asarray(_per_model("dimension", self.dimension, problem) * log_n)
            return Measured({"log_shatter": given}, {COUNTED: None})
        if self.log_shatter is not None:
            return Measured({"log_shatter": _per_model("log_shatter", self.log_shatter, problem)}, {COUNTED: None})
        if isinstance(estimator, StumpClassifier):
            counted = float(np.log(stump_hypotheses(problem.X).shatter_coefficient))
        elif _is_linear(estimator):
            counted = bounds.log_dichotomies(problem.n_samples, empirical_vc_dimension(estimator, problem.X))
        else:
            raise ValueError(
                f"criterion {self.name!r} does not know in how many ways {type(estimator).__name__} labels these rows; "
                'pass VCEntropyBound(log_shatter=…) or (dimension=…), which may be "effective"'
            )
        return Measured({"log_shatter": np.full(len(problem.path), counted)}, {COUNTED: True})

    def _on_random_labels(self, problem: Problem) -> Measured:
        found = [
            effective_vc_dimension(
                with_params(problem.path.estimator, params),
                problem.X,
                n_draws=self.n_draws,
                random_state=problem.seed,
                n_jobs=problem.n_jobs,
            )
            for params in problem.path.params
        ]
        log_shatter = np.array([float(each) for each in found]) * np.log(problem.n_samples + 1)
        note = "the VC dimension is an estimate from random labels, and the limit is not proved"
        return Measured({"log_shatter": log_shatter}, {COUNTED: False}, (note,))


@_documented()
@dataclass(frozen=True)
class MarginBound(BoundCriterion):
    """The margin bound of linear classifiers and of kernel machines: refits every model.

    See `outsample.bounds.linear_margin_bound` and `kernel_margin_bound`.

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
        known = {LINEAR_SPACE: not isinstance(problem.path.estimator, Pipeline)}
        return self._recorded(problem, replace(limits[0], **numbers), Measured({}, known))


def empirical_vc_dimension(hypotheses: HypothesisSet | BaseEstimator, X: Table | None = None) -> int:
    """The VC dimension restricted to these points: the most of them that are labelled in every way.

    Parameters
    ----------
    hypotheses : a `HypothesisSet`, a `StumpClassifier`, for both of which all subsets of points are tried, so that they
        must be few, or a linear classifier, whose hyperplanes shatter as many points as the rank of X with a column of
        ones.
    X : the points, for a classifier.

    Returns
    -------
    int
        The dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from outsample import StumpClassifier
    >>> empirical_vc_dimension(StumpClassifier(), np.arange(6.0).reshape(-1, 1))
    2
    """
    if isinstance(hypotheses, HypothesisSet):
        return hypotheses.vc_dimension()
    if X is None:
        raise ValueError(f"X: the points are needed for {type(hypotheses).__name__}")
    if isinstance(hypotheses, StumpClassifier):
        return stump_hypotheses(X).vc_dimension()
    if not _is_linear(hypotheses):
        raise ValueError(
            f"hypotheses: the labellings of {type(hypotheses).__name__} are not known; use effective_vc_dimension"
        )
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    centred = table - table.mean(axis=0)
    return int(np.linalg.matrix_rank(centred)) + 1
