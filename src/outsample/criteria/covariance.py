"""The covariance penalty: labels drawn around a reference fit instead of permuted (Efron 2004).

ê_out = e_in + (2/n) Σ cov(y*_i, g*_i) for squared error, with y* drawn around the reference; for other losses the
same idea, the expected risk on labels drawn anew minus the risk on those fitted. What it estimates is the error on
new labels at the same X.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.checks import whole_number
from outsample.criteria.base import Criterion
from outsample.criteria.labels import Permutation
from outsample.curve.result import Result
from outsample.curve.risk_curve import RiskCurve
from outsample.data.tables import Table
from outsample.evidence.references import choose_reference, drawn_optimism, error_around
from outsample.problem import Problem, pose
from outsample.resampling.references import Reference, ValueReference
from outsample.running.arrays import Floats
from outsample.running.run import RandomState


@dataclass(frozen=True, eq=False)
class CovariancePenalty(Criterion):
    """In-sample error plus the optimism on labels drawn around a reference.

    Parameters
    ----------
    reference : where the labels are believed to come from. None is the constant: the permutation estimate itself.
        An estimator is fitted to the data (classifiers give probabilities); an array holds means, or probabilities
        (n, classes). "richest": the richest linear smoother of the path that leaves a degree of freedom over.
        "cross-fitted": predictions for left-out rows by the model cross-validation likes best, with the noise they
        show; where folds must be refitted, one more is fitted for the Monte-Carlo error. "auto": "richest" where the
        path is linear in y, else "cross-fitted".
    n_draws : label vectors drawn and refitted. Where the fit is linear in y and the loss is squared nothing is
        drawn: the penalty is 2 σ̂² tr(S)/n exactly, 2 σ̂² p/n for least squares.
    shrink : share of the way the reference is moved to the mean label: 0 believes it, 1 ignores it.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = outsample.estimate(Ridge(), X, y, criterion=outsample.CovariancePenalty(), random_state=0)
    >>> round(result.out_sample, 0)
    3328.0
    """

    reference: Any = "auto"
    n_draws: int | Literal["auto"] = 10
    shrink: float = 0.0

    name: ClassVar[str] = "covariance"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_draws", Permutation(n_draws=self.n_draws).n_draws)
        if self.reference is not None and self.n_draws == "auto":
            raise ValueError('n_draws="auto" goes with reference=None only; give a number of draws')
        if not 0 <= self.shrink <= 1:
            raise ValueError(f"shrink must be between 0 and 1, got {self.shrink!r}")

    def check(self, problem: Problem) -> None:
        if self.reference is not None and problem.groups is not None:
            raise ValueError(f"groups: criterion {self.name!r} draws every label on its own; use reference=None")

    def _curve(self, problem: Problem) -> RiskCurve:
        if self.reference is None:
            return replace(Permutation(n_draws=self.n_draws).curve(problem), criterion=self.name)
        reference = choose_reference(problem, self.reference, self.shrink)
        exact = _exact_optimism(problem, reference)
        if exact is not None:
            return self._record(problem, reference, exact[None], exhaustive=True, n_draws=0)
        draws = drawn_optimism(problem, reference, range(int(self.n_draws)))
        return self._record(problem, reference, draws, exhaustive=False, n_draws=len(draws))

    def _record(
        self, problem: Problem, reference: Reference, draws: Floats, exhaustive: bool, n_draws: int
    ) -> RiskCurve:
        optimism = draws.mean(axis=0)
        out_sample = problem.in_sample + optimism
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data} at the same X; its optimism is measured around a reference fit",
            standard_error=problem.standard_error(out_sample),
            monte_carlo_error=error_around(reference, draws, exhaustive),
            draws=None if exhaustive else draws,
            notes=_freedom_note(problem, reference, optimism),
        )


def _freedom_note(problem: Problem, reference: Reference, optimism: Floats) -> tuple[str, ...]:
    freedom = _degrees(problem, reference, optimism)
    if freedom is None:
        return ()
    listed = ", ".join(f"{value:.4g}" for value in freedom[:5]) + (", …" if len(freedom) > 5 else "")
    return (f"generalised degrees of freedom: {listed}",)


def _degrees(problem: Problem, reference: Reference, optimism: Floats) -> Floats | None:
    """Σ cov(y*_i, g*_i)/σ², (models,); None where the reference has no single noise variance."""
    if not isinstance(reference, ValueReference) or not problem.loss.quadratic:
        return None
    if reference.variance == 0:
        return None
    return problem.effective_n * optimism / (2 * reference.variance)


def _exact_optimism(problem: Problem, reference: Reference) -> Floats | None:
    """2 σ² tr(S)/n where the fit is linear in y: the mean over all labels the reference could draw, (models,)."""
    smoother = problem.design.smoother
    if smoother is None or not isinstance(reference, ValueReference) or not problem.loss.quadratic:
        return None
    return 2 * reference.variance * smoother.mean_leverage(problem.weight)


@dataclass(frozen=True, eq=False)
class DegreesOfFreedom(Result):
    """Generalised degrees of freedom, (models,) each: Σ_i cov(y_i, ŷ_i)/σ²; and the noise variance σ²."""

    value: Floats
    monte_carlo_error: Floats
    variance: float

    told: ClassVar[str] = "value monte_carlo_error variance"


def generalized_degrees_of_freedom(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    param: str | None = None,
    values: Any = None,
    reference: Any = "auto",
    shrink: float = 0.0,
    n_draws: int = 50,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> DegreesOfFreedom:
    """How many parameters a regression fit is worth (Ye 1998): how much it follows noise around a reference.

    tr S for a linear smoother, exactly; for any other learner from `n_draws` refits.

    Parameters
    ----------
    estimator : a regressor or pipeline.
    X, y : the data.
    param, values : a parameter of the estimator and its values, for every model of a path.
    reference, shrink : as in `CovariancePenalty`.
    n_draws : label vectors drawn and refitted where the learner is not linear in y.
    random_state, n_jobs : as in `estimate`.

    Returns
    -------
    DegreesOfFreedom
        Its `value` is one number per model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> freedom = generalized_degrees_of_freedom(Ridge(), X, y, param="alpha", values=[1.0, 0.01])
    >>> freedom.value.round(1)
    array([ 4.9, 10.2])
    """
    count = whole_number("n_draws", n_draws)
    problem = pose(
        estimator, X, y, parameter=param, values=values, loss="squared", random_state=random_state, n_jobs=n_jobs
    )
    source = choose_reference(problem, reference, shrink)
    exact = _exact_optimism(problem, source)
    draws = drawn_optimism(problem, source, range(count)) if exact is None else exact[None]
    value = _degrees(problem, source, draws.mean(axis=0))
    error = _degrees(problem, source, error_around(source, draws, exact is not None))
    if value is None or error is None or not isinstance(source, ValueReference):
        raise ValueError("reference: it leaves no noise, so degrees of freedom are not defined; use another reference")
    return DegreesOfFreedom(value, error, source.variance)
