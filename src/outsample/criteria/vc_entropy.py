"""The bound by the number of ways in which these points can be labelled: empirical VC entropy and VC dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

import outsample.bounds as bounds
from outsample.bounds.record import COUNTED
from outsample.checks import one_of, whole_number
from outsample.criteria.bounds import LINEAR, BoundCriterion, PerModel, per_model
from outsample.criteria.effective_vc import effective_vc_dimension
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import with_params
from outsample.data.tables import Table
from outsample.hypotheses import HypothesisSet, StumpClassifier, stump_hypotheses
from outsample.problem import Problem
from outsample.running.arrays import Floats


@dataclass(frozen=True, eq=False)
class VCEntropyBound(BoundCriterion):
    """The bound by the labellings of *these* points, see `outsample.bounds.vc_entropy_bound` (m = n/80 for selection).

    ln S(X) is the empirical VC entropy: S(X) counts the ways in which a model's hypotheses label the rows of X. With
    the VC dimension D restricted to these rows, ln S(X) ≤ D ln(n + 1).

    Parameters
    ----------
    delta : probability with which the bound may fail.
    log_shatter : ln S(X) of every model, or an upper bound on it: a number, one per model, or a function of a model's
        parameters. None counts the labellings of `StumpClassifier`, and takes Cover's count for linear classifiers,
        with the rank of X and a column of ones as their dimension.
    dimension : D of every model in the same forms, in place of log_shatter; "effective" measures it on random labels
        with `effective_vc_dimension`, which is an estimate, so that the limit is not proved.
    n_draws : label vectors at each size for "effective".

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y, stump = X[:, :3], y, outsample.StumpClassifier()
    >>> result = outsample.estimate(stump, X, y, criterion=outsample.VCEntropyBound(), random_state=0)
    >>> round(result.out_sample, 2)
    1.03
    """

    log_shatter: PerModel | None = None
    dimension: PerModel | str | None = None
    n_draws: int = 50

    name: ClassVar[str] = "vc-entropy-bound"

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
            self._log_shatter(problem)

    def _curve(self, problem: Problem) -> RiskCurve:
        measured = isinstance(self.dimension, str)
        values, n_fits = self._measured(problem) if measured else (self._log_shatter(problem), 0)
        bound = bounds.vc_entropy_bound(
            in_sample=problem.in_sample, log_shatter=values, n=problem.n_samples, delta=self.delta
        )
        given = self.dimension is not None or self.log_shatter is not None
        bound = bound.known({COUNTED: False if measured else None if given else True})
        note = "the VC dimension is an estimate from random labels, and the limit is not proved"
        return self._recorded(problem, bound, problem.design.fits_per_draw + n_fits, notes=(note,) if measured else ())

    def _measured(self, problem: Problem) -> tuple[Floats, int]:
        """(ln S of every model from its effective dimension, the fits that it took)."""
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
        dimensions = np.array([float(each) for each in found])
        return dimensions * np.log(problem.n_samples + 1), sum(each.n_fits for each in found)

    def _log_shatter(self, problem: Problem) -> Floats:
        if self.dimension is not None:
            assert not isinstance(self.dimension, str)
            return np.asarray(per_model("dimension", self.dimension, problem) * np.log(problem.n_samples + 1))
        if self.log_shatter is not None:
            return per_model("log_shatter", self.log_shatter, problem)
        estimator = problem.path.estimator
        if isinstance(estimator, StumpClassifier):
            return np.full(len(problem.path), np.log(stump_hypotheses(problem.X).shatter_coefficient))
        if type(estimator) not in LINEAR:
            raise ValueError(
                f"criterion {self.name!r} does not know in how many ways {type(estimator).__name__} labels these rows; "
                'pass VCEntropyBound(log_shatter=…) or (dimension=…), which may be "effective"'
            )
        dimension = empirical_vc_dimension(estimator, problem.X)
        return np.full(len(problem.path), bounds.log_dichotomies(problem.n_samples, dimension))


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
    if type(hypotheses) not in LINEAR:
        raise ValueError(
            f"hypotheses: the labellings of {type(hypotheses).__name__} are not known; use effective_vc_dimension"
        )
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    centred = table - table.mean(axis=0)
    return int(np.linalg.matrix_rank(centred)) + 1
